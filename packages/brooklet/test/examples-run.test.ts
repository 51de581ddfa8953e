/**
 * The examples in the documentation of what people import, run: each with a database of its own that has a few mails, in which the
 * schemas of the example are deployed as soon as it asks for something; servers and models are where the test has them.
 */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { examplesOfPackages } from "./compiled.ts";
import { run } from "./ran.ts";

type Brooklet = typeof import("../src/index.ts");

/** What was built: an example sees what people install. */
const built = (await import(new URL("../dist/index.js", import.meta.url).href)) as Brooklet;
const { array, bool, connect, HashEmbedder, int, open, schema, serve, string, text, timestamp, vector } = built;

const mail = schema("mail", {
  subject: text(),
  body: text(),
  tags: array(string()).optional(),
  sender: string(),
  size: int(),
  isUnread: bool(),
  sentAt: timestamp(),
  vec: vector(384).optional(),
});
const MAILS = [1, 2, 3].map((number) => ({
  id: `m${number}`,
  fields: {
    subject: `Invoice ${number}`,
    body: "The invoice is due on Friday",
    tags: ["work"],
    sender: "shop",
    size: number,
    isUnread: number > 1,
    sentAt: new Date(Date.UTC(2026, 0, number)),
  },
}));
const SAID = ["It is due", " on Friday [1]."];

/** A stand-in for endpoints of models: one that answers, one that reranks. */
function models(): Server {
  return createServer(async (request, response) => {
    let asked = "";
    for await (const part of request) asked += part;
    if (request.url?.endsWith("/chat/completions")) {
      response.writeHead(200, { "content-type": "text/event-stream" });
      for (const content of SAID)
        response.write(`data: ${JSON.stringify({ choices: [{ index: 0, delta: { content } }] })}\n\n`);
      response.end("data: [DONE]\n\n");
      return;
    }
    const { documents } = JSON.parse(asked) as { readonly documents: readonly string[] };
    const results = documents.map((_, index) => ({ index, relevance_score: 1 / (index + 1) }));
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ results }));
  });
}

/** The same object, before whose methods something is waited for while there is something to wait for. */
function preparing<Target extends object>(target: Target, pending: () => boolean, before: () => Promise<void>): Target {
  return new Proxy(target, {
    get: (of, name) => {
      const member: unknown = Reflect.get(of, name, of);
      if (typeof member !== "function") return member;
      return (...words: unknown[]) => {
        const call = (): unknown => Reflect.apply(member, of, words);
        return pending() && name !== "group" ? before().then(call) : call();
      };
    },
  });
}

const stopping: (() => unknown)[] = [];
const places: Map<string, string> = new Map();
beforeAll(async () => {
  const service = await serve({ port: 0 });
  stopping.push(() => service.close());
  await connect({ url: service.url }).deploy([mail]);
  const server = models();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  stopping.push(() => server.close());
  places.set("http://localhost:8080", service.url);
  places.set("http://localhost:8000", `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});
afterAll(async () => {
  for (const stop of stopping) await stop();
});

const examples = examplesOfPackages(["client", "brooklet", "answers", "models"]).filter(
  ({ code }) => !/"brooklet\//.test(code),
);

describe("examples run", () => {
  test.each(examples)("$of", async (example) => {
    const made: ReturnType<typeof schema>[] = [];
    const languageModel = { url: `${places.get("http://localhost:8000")}/v1`, model: "small" };
    const db = await open({ schemas: [mail], models: { embedders: [new HashEmbedder("minilm")] }, languageModel });
    try {
      await db.group("alice").feed(mail, MAILS);
      const deploy = async (): Promise<void> => {
        const schemas = made.splice(0);
        await db.deploy([mail, ...schemas]);
      };
      const isPending = (): boolean => made.length > 0;
      const given = {
        ...built,
        schema: (...words: Parameters<typeof schema>) => {
          const one = schema(...words);
          made.push(one);
          return one;
        },
        mail,
        client: preparing(db, isPending, deploy),
        alice: preparing(db.group("alice"), isPending, deploy),
        console: { ...console, log: () => undefined },
      };
      await run(example, given, { brooklet: given }, places);
    } finally {
      await db.close();
    }
  });

  test("and one that is wrong fails", async () => {
    const wrong = { of: "wrong", code: 'await alice.get(mail, "");' };
    const db = await open({ schemas: [mail] });
    const ran = run(wrong, { alice: db.group("alice"), mail }, {}, places);
    await expect(ran).rejects.toThrow("may not be empty");
    await db.close();
  });
});
