import type { Found, Notes, Refused, SentNote } from "./notes.ts";

export { Notes } from "./notes.ts";

interface Env {
  NOTES: DurableObjectNamespace<Notes>;
}

/** Who asks, by the token of a session. A real application looks it up where its sessions are. */
const SESSIONS: ReadonlyMap<string, string> = new Map([
  ["alice-token", "alice"],
  ["bob-token", "bob"],
]);

/** The id of the note that a path names; nothing: it names none, or is not encoded as paths are. */
function idOf(pathname: string): string | undefined {
  const [, id] = /^\/notes\/([^/]+)$/.exec(pathname) ?? [];
  try {
    return id && decodeURIComponent(id);
  } catch {
    return undefined;
  }
}

function answerOf(told: { id: string } | Found | Refused): Response {
  if ("refused" in told) return Response.json({ message: told.refused }, { status: told.status });
  return Response.json(told);
}

export default {
  async fetch(request, env) {
    const user = SESSIONS.get(request.headers.get("authorization")?.replace(/^Bearer /, "") ?? "");
    if (user === undefined) return Response.json({ message: "Who are you?" }, { status: 401 });
    const notes = env.NOTES.getByName(user);
    const { pathname, searchParams } = new URL(request.url);
    const id = idOf(pathname);
    if (request.method === "PUT" && id !== undefined) {
      const sent = await request.json<SentNote>().catch(() => undefined);
      if (sent === undefined) return Response.json({ message: "The body is no JSON" }, { status: 400 });
      return answerOf(await notes.write(id, { ...sent }));
    }
    if (request.method === "GET" && pathname === "/search")
      return answerOf(await notes.find(searchParams.get("q") ?? ""));
    return Response.json({ message: "There is PUT /notes/ID and GET /search?q=" }, { status: 404 });
  },
} satisfies ExportedHandler<Env>;
