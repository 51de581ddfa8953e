import type { Notes, SentNote } from "./notes.ts";

export { Notes } from "./notes.ts";

interface Env {
  NOTES: DurableObjectNamespace<Notes>;
}

/** Who asks, by the token of a session. A real application looks it up where its sessions are. */
const SESSIONS: Readonly<Record<string, string>> = { "alice-token": "alice", "bob-token": "bob" };

/** The id of the note that a path names; nothing: it names none, or is not encoded as paths are. */
function idOf(pathname: string): string | undefined {
  const [, id] = /^\/notes\/([^/]+)$/.exec(pathname) ?? [];
  try {
    return id && decodeURIComponent(id);
  } catch {
    return undefined;
  }
}

export default {
  async fetch(request, env) {
    const user = SESSIONS[request.headers.get("authorization")?.replace(/^Bearer /, "") ?? ""];
    if (user === undefined) return Response.json({ message: "Who are you?" }, { status: 401 });
    const notes = env.NOTES.getByName(user);
    const { pathname, searchParams } = new URL(request.url);
    const id = idOf(pathname);
    if (request.method === "PUT" && id !== undefined) {
      const sent = await request.json<SentNote>().catch(() => undefined);
      if (sent === undefined) return Response.json({ message: "The body is no JSON" }, { status: 400 });
      const written = await notes.write(id, { ...sent });
      return "refused" in written
        ? Response.json({ message: written.refused }, { status: 400 })
        : Response.json(written);
    }
    if (request.method === "GET" && pathname === "/search")
      return Response.json(await notes.find(searchParams.get("q") ?? ""));
    return Response.json({ message: "There is PUT /notes/ID and GET /search?q=" }, { status: 404 });
  },
} satisfies ExportedHandler<Env>;
