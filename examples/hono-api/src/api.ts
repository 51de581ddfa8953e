/** An API of notes for many users. Who has a session reaches the group of its user: no route can name another. */
import { BrookletError, type Database, type Group, type Infer, schema, string, text, timestamp } from "brooklet";
import { type Context, Hono } from "hono";
import { bodyLimit } from "hono/body-limit";
import { deleteCookie, getCookie, setCookie } from "hono/cookie";
import type { ContentfulStatusCode } from "hono/utils/http-status";

/** One note of one user. */
export const note = schema("note", {
  title: text(),
  body: text(),
  folder: string(),
  changedAt: timestamp(),
});

/** What a client writes; the rest is the server's to say. */
type Written = Omit<Infer<typeof note>, "changedAt">;

/** What a request has when it came through its session. */
type NotesApi = Hono<{ Variables: { mine: Group } }>;

const COOKIE = "session";
const SESSION_SECONDS = 8 * 60 * 60;
const BODY_BYTES = 1 << 20;

/** Makes the API. `isPassword` is your own login; sessions end with the process. */
export function notesApi(
  database: Database,
  isPassword: (user: string, password: string) => Promise<boolean>,
): NotesApi {
  const sessions = new Map<string, { readonly user: string; readonly untilMs: number }>();
  const api: NotesApi = new Hono();
  // Every failure of a call has a code, a sentence for people, and the HTTP status that it is.
  api.onError((error, c) => {
    if (error instanceof SyntaxError) return c.json({ code: "BAD_JSON", message: error.message }, 400);
    if (!BrookletError.is(error)) throw error;
    const status = error.code === "INVALID_ARGUMENT" ? 400 : error.status || 500;
    return c.json({ code: error.code, message: error.message }, status as ContentfulStatusCode);
  });
  const tooLarge = { code: "TOO_LARGE", message: `A request has ${BODY_BYTES} bytes at most` };
  api.use(bodyLimit({ maxSize: BODY_BYTES, onError: (c) => c.json(tooLarge, 413) }));

  api.post("/session", async (c) => {
    const { user, password } = await objectIn<{ user: unknown; password: unknown }>(c);
    // What is no text would be a session of nobody.
    const isLogin = typeof user === "string" && typeof password === "string";
    if (!isLogin || !(await isPassword(user, password)))
      return c.json({ code: "WRONG_PASSWORD", message: "Try again" }, 401);
    const id = crypto.randomUUID();
    sessions.set(id, { user, untilMs: Date.now() + SESSION_SECONDS * 1000 });
    setCookie(c, COOKIE, id, { httpOnly: true, sameSite: "Strict", secure: !isLocal(c), maxAge: SESSION_SECONDS });
    return c.json({ user });
  });
  api.delete("/session", (c) => {
    sessions.delete(deleteCookie(c, COOKIE) ?? "");
    return c.body(null, 204);
  });

  api.use("/notes/*", async (c, next) => {
    const session = sessions.get(getCookie(c, COOKIE) ?? "");
    if (session === undefined || session.untilMs < Date.now())
      return c.json({ code: "NO_SESSION", message: "Log in with POST /session" }, 401);
    c.set("mine", database.group(session.user));
    return next();
  });
  api.get("/notes", async (c) => {
    const { text: words = "", folder, limit = "20", offset = "0" } = c.req.query();
    return c.json(
      await c.var.mine.search(note, {
        text: words,
        limit: Number(limit),
        offset: Number(offset),
        ...(folder === undefined ? {} : { where: (it) => it.folder.is(folder) }),
        ...(words === "" ? { orderBy: "changedAt desc" } : {}),
      }),
    );
  });
  api.put("/notes/:id", async (c) => {
    const { title, body, folder } = await objectIn<Written>(c);
    await c.var.mine.put(note, c.req.param("id"), { title, body, folder, changedAt: new Date() });
    return c.body(null, 204);
  });
  api.get("/notes/:id", async (c) => {
    const found = await c.var.mine.get(note, c.req.param("id"));
    return found === undefined ? c.json({ code: "NOT_FOUND", message: "No such note" }, 404) : c.json(found);
  });
  api.delete("/notes/:id", async (c) => {
    await c.var.mine.remove(note, c.req.param("id"));
    return c.body(null, 204);
  });
  // Everything of the user, for good, with a receipt.
  api.delete("/notes", async (c) => c.json(await c.var.mine.erase()));
  return api;
}

async function objectIn<Body>({ req }: Context): Promise<Body> {
  const json: unknown = await req.json();
  if (typeof json === "object" && json !== null) return json as Body;
  throw new SyntaxError("the body has to be an object");
}

/** Where no TLS is needed to keep a cookie from others. */
function isLocal({ req }: Context): boolean {
  return new URL(req.url).hostname === "127.0.0.1";
}
