/** The page: who is asked for first, then the notes, which the server has searched already. */
import { logIn, logOut } from "../actions.ts";
import { findNotes, refusalOf } from "../found.ts";
import { Notes } from "../notes.tsx";
import { notesOf } from "../server.ts";
import { userOfRequest } from "../session.ts";

/** Parameters of the address; what stands there twice is a list. */
type Asked = Promise<Readonly<Record<string, string | string[] | undefined>>>;

/** The page. */
export default async function Page({ searchParams }: { readonly searchParams: Asked }) {
  const user = await userOfRequest();
  if (user === undefined) return <Door />;
  const { q = "", tag = "" } = await searchParams;
  const wanted = { words: [q].flat().join(" "), tag: [tag].flat()[0] ?? "" };
  const group = await notesOf(user);
  // Who asks for too many words is told so, on the page.
  const found = await findNotes(group, wanted).then(
    (initial) => ({ initial }),
    (error: unknown) => ({ refusal: refusalOf(error) }),
  );
  return (
    <main>
      <header>
        <h1>Notes of {user}</h1>
        <form action={logOut}>
          <button type="submit">Leave</button>
        </form>
      </header>
      <Notes user={user} wanted={wanted} {...found} />
    </main>
  );
}

function Door() {
  return (
    <main>
      <h1>Notes</h1>
      <p>Whoever says a name has the notes of that name. A real application asks for a password.</p>
      <form action={logIn} className="pen">
        <label>
          Name <input name="user" required pattern="[a-z]{1,20}" placeholder="alice" />
        </label>
        <button type="submit">Enter</button>
      </form>
    </main>
  );
}
