import { addNote, logIn, logOut } from "../actions";
import { refused } from "../refusal";
import { note } from "../schema";
import { mine, USERS } from "../session";

export default async function Page({ searchParams }: { searchParams: Promise<{ q?: string | string[] }> }) {
  const me = await mine();
  if (me === undefined)
    return (
      <main>
        <h1>Who are you?</h1>
        <form action={logIn}>
          {USERS.map((user) => (
            <button key={user} type="submit" name="user" value={user}>
              {user}
            </button>
          ))}
        </form>
      </main>
    );
  const q = [(await searchParams).q ?? ""].flat().join(" ");
  const search = me.group.search(note, {
    text: q,
    limit: 20,
    // Without words the newest come first.
    ...(q === "" && { orderBy: "writtenAt desc" }),
  });
  // Who asks for too many words is told so, on the page.
  const found = await search.catch((error: unknown) => ({ hits: [], ...refused(error) }));
  return (
    <main>
      <h1>Notes of {me.user}</h1>
      <search>
        <form>
          <input name="q" type="search" defaultValue={q} aria-label="Words" /> <button type="submit">Search</button>
        </form>
      </search>
      {"message" in found ? <p role="alert">{found.message}</p> : <p>{found.totalCount} found</p>}
      <ul>
        {found.hits.map(({ id, fields }) => (
          <li key={id}>
            <b>{fields.title}</b> {fields.body}
          </li>
        ))}
      </ul>
      <form action={addNote}>
        <input name="title" aria-label="Title" placeholder="Title" required />{" "}
        <input name="body" aria-label="Text" placeholder="Text" /> <button type="submit">Write</button>
      </form>
      <form action={logOut}>
        <button type="submit">Leave</button>
      </form>
    </main>
  );
}
