/** The web server: the page, its searches, and answers as events. A real application takes the person from its session. */
import { readFileSync } from "node:fs";
import { BrookletError } from "brooklet";
import { type Context, Hono } from "hono";
import { streamSSE } from "hono/streaming";
import type { Assistant, MailQuery } from "./assistant.ts";
import type { FacetName } from "./schema.ts";

/** What the page is made of, by path. */
const FILES: Readonly<Record<string, readonly [name: string, type: string]>> = {
  "/": ["index.html", "text/html; charset=utf-8"],
  "/app.js": ["app.js", "text/javascript; charset=utf-8"],
  "/app.css": ["app.css", "text/css; charset=utf-8"],
};

/** Nothing but the page's own files is loaded, whatever a mail or an answer says. */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const QUESTION_MAX = 500;
const PAGE_MAX = 1_000;
/** This machine. Another name in a request means that a page elsewhere has made a browser ask here. */
const HOSTS: readonly string[] = ["127.0.0.1", "localhost", "[::1]"];
const [WRONG, TOO_LARGE, BUSY] = [400, 413, 503] as const;

/** What is told of the model to people. */
export interface ServerOptions {
  readonly people: readonly string[];
  readonly modelName: string;
  /** Names that the server may be asked by; those of this machine unless it is said. */
  readonly hosts?: readonly string[];
}

/** Makes the server. */
export function createServer(assistant: Assistant, { people, modelName, hosts = HOSTS }: ServerOptions): Hono {
  const app = new Hono();
  app.use(async (context, next) => {
    const { host, hostname } = new URL(`http://${context.req.header("host") ?? new URL(context.req.url).host}`);
    const origin = context.req.header("origin");
    const isOwn = origin === undefined || (URL.canParse(origin) && new URL(origin).host === host);
    if (!hosts.includes(hostname) || !isOwn)
      return context.json({ message: "This server is not asked from there." }, 403);
    return await next();
  });
  app.use(async (context, next) => {
    await next();
    context.header("content-security-policy", POLICY);
    context.header("x-content-type-options", "nosniff");
    context.header("referrer-policy", "no-referrer");
  });
  for (const [path, [name, type]] of Object.entries(FILES)) {
    const content = readFileSync(new URL(`../page/${name}`, import.meta.url), "utf8");
    app.get(path, (context) => context.body(content, 200, { "content-type": type }));
  }
  app.get("/api/people", (context) => context.json({ people, model: modelName }));
  app.use("/api/:person/*", async (context, next) => {
    if (!people.includes(context.req.param("person")))
      return context.json({ message: "There is no such mailbox." }, 404);
    return await next();
  });
  app.get("/api/:person/search", async (context) => {
    const query = queryOf(context);
    const { page } = query;
    if (!Number.isInteger(page) || page < 1 || page > PAGE_MAX)
      return context.json({ message: `There are pages from 1 to ${PAGE_MAX}.` }, 400);
    return context.json(await assistant.search(context.req.param("person"), query));
  });
  app.get("/api/:person/why-not", async (context) => {
    const about = (context.req.query("about") ?? "").trim();
    if (about === "" || about.length > QUESTION_MAX)
      return context.json({ message: `Say in 1 to ${QUESTION_MAX} characters which mail is missing.` }, 400);
    return context.json(await assistant.whyNot(context.req.param("person"), queryOf(context), about));
  });
  app.get("/api/:person/mail", async (context) => {
    const found = await assistant.read(context.req.param("person"), context.req.query("id") ?? "");
    if (found === undefined) return context.json({ message: "This mail is gone." }, 404);
    return context.json(found);
  });
  app.get("/api/:person/ask", (context) => {
    const question = (context.req.query("q") ?? "").trim();
    if (question === "" || question.length > QUESTION_MAX) {
      return context.json({ message: `Ask in 1 to ${QUESTION_MAX} characters.` }, 400);
    }
    return answerEvents(context, assistant, context.req.param("person"), question);
  });
  app.onError((error, context) => {
    if (!BrookletError.is(error)) return context.json({ message: "Something went wrong." }, 500);
    return context.json({ message: error.message }, statusOf(error));
  });
  return app;
}

/** What a caller got wrong is theirs to mend; anything else may go away. */
function statusOf({ code, status }: BrookletError): typeof WRONG | typeof TOO_LARGE | typeof BUSY {
  if (status === TOO_LARGE) return TOO_LARGE;
  return code === "INVALID_ARGUMENT" || status === WRONG ? WRONG : BUSY;
}

/** What is looked for, as the page has it in its address. */
function queryOf({ req }: Context): MailQuery & { readonly page: number } {
  const valuesOf = (name: FacetName): readonly string[] => req.queries(name) ?? [];
  return {
    text: req.query("q") ?? "",
    asYouType: req.query("typing") !== undefined,
    chosen: { sender: valuesOf("sender"), folder: valuesOf("folder"), month: valuesOf("month") },
    page: Number(req.query("page") ?? "1"),
  };
}

/** The parts of an answer as events. When the reader goes away, so does the question. */
function answerEvents(context: Context, assistant: Assistant, person: string, question: string): Response {
  return streamSSE(context, async (stream) => {
    const leaving = new AbortController();
    stream.onAbort(() => leaving.abort());
    const send = (event: string, data: unknown): Promise<void> =>
      stream.writeSSE({ event, data: JSON.stringify(data) });
    try {
      for await (const part of assistant.ask(person, question, leaving.signal)) {
        if (part.type === "passages") await send("passages", part.passages);
        else if (part.type === "text") await send("text", part.text);
        else if (part.type === "end") await send("end", { cited: part.citations.map(({ number }) => number) });
      }
    } catch (error) {
      if (!leaving.signal.aborted)
        await send("failed", BrookletError.is(error) ? error.message : "Something went wrong.");
    }
  });
}
