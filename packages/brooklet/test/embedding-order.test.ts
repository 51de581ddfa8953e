/** Whose texts are embedded when: nobody's who does not wait for them any more. Told by events alone. */
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import http from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type EmbedRequest, HashEmbedder } from "@brooklet/models";
import { expect, onTestFinished, test } from "vitest";
import { serve } from "../src/index.ts";
import { applicationFiles, asking, writeFiles } from "./served.ts";

const NOTE = `schema note { document note { field title type string { indexing: summary | index } }
  field vector type tensor<float>(x[8]) { indexing: input title | embed e | attribute }
  rank-profile near { inputs { query(q) tensor<float>(x[8]) } first-phase { expression: closeness(field, vector) } }
}`;

/** Embeds what it is let embed; who does not wait any longer is gone. */
class Held extends HashEmbedder {
  readonly held: { readonly texts: readonly string[]; readonly go: () => void }[] = [];
  readonly gone: string[] = [];
  /** Settles when one more was asked or went. */
  changed: Promise<void> = Promise.resolve();
  #tell = (): void => {};

  constructor() {
    super("e");
    this.#renew();
  }

  override async embed(request: EmbedRequest): ReturnType<HashEmbedder["embed"]> {
    const { texts, deadline } = request;
    await new Promise<void>((go, leave) => {
      deadline.signal?.addEventListener("abort", () => {
        this.gone.push(...texts);
        leave(deadline.signal?.reason);
        this.#renew();
      });
      this.held.push({ texts, go });
      this.#renew();
    });
    return await super.embed(request);
  }

  #renew(): void {
    this.#tell();
    this.changed = new Promise((resolve) => {
      this.#tell = resolve;
    });
  }
}

/** Waits for events until `is` so. */
async function until(embedder: Held, is: () => boolean): Promise<void> {
  while (!is()) await embedder.changed;
}

async function served(): Promise<{ readonly port: number; readonly embedder: Held }> {
  const home = mkdtempSync(join(tmpdir(), "brooklet-order-"));
  const embedder = new Held();
  const application = writeFiles(join(home, "application"), applicationFiles({ note: NOTE }));
  const service = await serve({ application, port: 0, models: { embedders: [embedder], onNotice: () => {} } });
  onTestFinished(async () => {
    await service.close();
    rmSync(home, { recursive: true, force: true });
  });
  return { port: service.port, embedder };
}

const post = (port: number, path: string, headers: http.OutgoingHttpHeaders = {}): http.ClientRequest => {
  const request = http.request({ host: "127.0.0.1", port, path, method: "POST", headers });
  request.on("error", () => {});
  return request;
};

test.each(["application/jsonl", "application/json"])(
  "a feed (%s) whose client went is embedded no more",
  async (accept) => {
    const { port, embedder } = await served();
    const OPERATIONS = 600;
    const lines = Array.from({ length: OPERATIONS }, (_, at) =>
      JSON.stringify({ put: `id:n:note:g=a:${at}`, fields: { title: `t${at}` } }),
    );
    const feed = post(port, "/brooklet/v1/feed", { accept });
    feed.end(lines.join("\n"));
    await until(embedder, () => embedder.held.length > 0);
    // Some of them at a time, not all.
    await until(embedder, () => embedder.held.length >= 256);
    embedder.held[0]?.go();
    await until(embedder, () => embedder.held.length > 256);
    const asked = embedder.held.length;
    expect(asked).toBeLessThan(OPERATIONS);
    feed.destroy();
    await until(embedder, () => embedder.gone.length >= asked - 1);
    // What comes after is served, and nothing of the feed with it.
    const put = post(port, "/document/v1/n/note/group/b/1");
    put.end('{"fields":{"title":"after"}}');
    await until(embedder, () => embedder.held.some(({ texts }) => texts.includes("after")));
    expect(embedder.held.length).toBe(asked + 1);
    embedder.held.at(-1)?.go();
    const [answer] = (await once(put, "response")) as [http.IncomingMessage];
    expect(answer.statusCode).toBe(200);
    answer.resume();
    const found = await asking(port)("GET", "/document/v1/n/note/group/a?wantedDocumentCount=1000");
    expect(JSON.parse(found.text)).toMatchObject({ documentCount: 1 });
  },
);

test("a put and a query whose clients went are embedded no more, and the put is not done", async () => {
  const { port, embedder } = await served();
  const put = post(port, "/document/v1/n/note/group/a/1");
  put.end('{"fields":{"title":"gone"}}');
  const query = post(port, "/search/", { "content-type": "application/json" });
  const yql = "select * from note where true";
  query.end(
    JSON.stringify({
      yql,
      "streaming.groupname": "a",
      ranking: "near",
      timeout: "60s",
      "input.query(q)": 'embed(e, "asked")',
    }),
  );
  await until(embedder, () => embedder.held.length === 2);
  put.destroy();
  query.destroy();
  await until(embedder, () => embedder.gone.length === 2);
  expect(embedder.gone.sort()).toEqual(["asked", "gone"]);
  expect((await asking(port)("GET", "/document/v1/n/note/group/a/1")).status).toBe(404);
});
