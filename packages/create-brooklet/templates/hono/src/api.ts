import { BrookletError, type Database } from "brooklet";
import { Hono } from "hono";
import { note } from "./schema.ts";

/** Who asks, by the token of a session. A real application looks it up where its sessions are. */
const SESSIONS: ReadonlyMap<string, string> = new Map([
  ["alice-token", "alice"],
  ["bob-token", "bob"],
]);

/** A note as it is sent. */
interface SentNote {
  title: string;
  body: string;
  tags?: string[];
}

export function api(db: Database): Hono<{ Variables: { user: string } }> {
  const app = new Hono<{ Variables: { user: string } }>();
  // What a caller got wrong is told to them; anything else is a failure of this server.
  app.onError((error, c) => {
    if (error instanceof SyntaxError) return c.json({ message: "The body is no JSON" }, 400);
    if (!BrookletError.is(error)) throw error;
    if (error.status === 413) return c.json({ message: error.message }, 413);
    if (error.code === "INVALID_ARGUMENT" || error.status === 400) return c.json({ message: error.message }, 400);
    throw error;
  });
  app.use(async (c, next) => {
    const user = SESSIONS.get(c.req.header("authorization")?.replace(/^Bearer /, "") ?? "");
    if (user === undefined) return c.json({ message: "Who are you?" }, 401);
    c.set("user", user);
    return await next();
  });
  app.put("/notes/:id", async (c) => {
    const { title, body, tags = [] } = { ...(await c.req.json<SentNote | null>()) } as SentNote;
    await db.group(c.get("user")).put(note, c.req.param("id"), { title, body, tags, writtenAt: new Date() });
    return c.json({ id: c.req.param("id") });
  });
  app.get("/search", async (c) => {
    const { hits, totalCount } = await db.group(c.get("user")).search(note, { text: c.req.query("q") ?? "" });
    return c.json({ totalCount, hits: hits.map(({ id, fields }) => ({ id, ...fields })) });
  });
  return app;
}
