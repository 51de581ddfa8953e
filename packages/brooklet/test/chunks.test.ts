/**
 * Chunks in hits: a text cut by the indexing language, each chunk with its own bm25 and its own vector, the best chosen by
 * a function of the rank profile, and shown alone; folded and not, in process and with a thread.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Writer } from "@brooklet/core";
import { HashEmbedder } from "@brooklet/models";
import { type Cluster, searchOnce } from "@brooklet/partition";
import { afterEach, describe, expect, test } from "vitest";
import type * as Brooklet from "../src/index.ts";

/** What was built: threads are started from there. */
const built = new URL("../dist/node/threads.js", import.meta.url).href;
const { openCluster } = (await import(built)) as typeof import("../src/node/threads.ts");

const builtIndex = new URL("../dist/index.js", import.meta.url).href;

const schema = (chunker: string): string => `schema note {
  document note {
    field title type string { indexing: summary | index }
    field body type string { indexing: summary | index }
  }
  field chunks type array<string> {
    indexing: input body | ${chunker} | summary | index
    index: enable-bm25
    summary: select-elements-by: best_chunks
  }
  field all_chunks type array<string> { indexing: input body | ${chunker} | summary }
  field vectors type tensor<float>(chunk{},x[64]) {
    indexing: input body | ${chunker} | embed e | attribute
    attribute { distance-metric: prenormalized-angular }
  }
  rank-profile words {
    function chunk_words() { expression: elementwise(bm25(chunks), chunk, float) }
    function best_chunks() { expression: top(2, chunk_words) }
    first-phase { expression: reduce(chunk_words, max, chunk) }
    summary-features: best_chunks
  }
  rank-profile near {
    inputs { query(q) tensor<float>(x[64]) }
    function chunk_nearness() { expression: reduce(query(q) * attribute(vectors), sum, x) }
    function best_chunks() { expression: top(1, chunk_nearness) }
    first-phase { expression: closeness(field, vectors) }
    summary-features: best_chunks closest(vectors) chunk_nearness
  }
  rank-profile hybrid inherits near {
    function chunk_words() { expression: elementwise(bm25(chunks), chunk, float) }
    function both() { expression: merge(chunk_words * 0.1, chunk_nearness, f(a,b)(a + b)) }
    function best_chunks() { expression: top(2, both) }
    first-phase { expression: reduce(both, max, chunk) }
    summary-features: best_chunks chunk_words chunk_nearness
  }
  rank-profile plain {}
}`;

const BODY =
  "The flat is on the third floor. The deposit of two months is paid back in May! Bicycles stand in the cellar. " +
  "Is the deposit lower for students? Nobody answered.";
const SENTENCES = [
  "The flat is on the third floor.",
  " The deposit of two months is paid back in May!",
  " Bicycles stand in the cellar.",
  " Is the deposit lower for students?",
  " Nobody answered.",
];

const closing: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

async function opened(threads: number, chunker: string): Promise<Cluster> {
  const folder = mkdtempSync(join(tmpdir(), "brooklet-chunks-"));
  const cluster = openCluster({ path: folder, threads, models: { embedders: [new HashEmbedder("e")] } });
  closing.push(
    () => rmSync(folder, { recursive: true, force: true }),
    () => cluster.close(),
  );
  const services = `<services version="1.0"><container id="c" version="1.0"/><content id="note" version="1.0">
    <redundancy>1</redundancy><documents><document type="note" mode="streaming"/></documents>
    <nodes><node hostalias="n" distribution-key="0"/></nodes></content></services>`;
  const files = ["services.xml", services, "schemas/note.sd", schema(chunker)];
  const writer = new Writer().varint(2);
  for (const text of files) writer.text(text);
  await cluster.deploy(writer.finish());
  for (const [id, fields] of Object.entries({
    lease: { title: "Lease", body: BODY },
    walk: { title: "Walk", body: "We walked along the sea. It rained." },
    empty: { title: "Deposit" },
  })) {
    const body = new TextEncoder().encode(JSON.stringify({ fields }));
    const put = { kind: "put", rawPath: "", id: `id:n:note:g=a:${id}`, create: false, condition: "", body } as const;
    expect(await cluster.partition("g:a").apply(put, 30_000)).toEqual({ status: 200 });
  }
  return cluster;
}

type Fields = Readonly<Record<string, unknown>> & {
  readonly summaryfeatures?: Readonly<Record<string, { readonly cells: unknown }>>;
};

async function ask(cluster: Cluster, properties: Record<string, string>): Promise<readonly Fields[]> {
  const request = {
    properties: Object.entries({ "streaming.groupname": "a", timeout: "60s", ...properties }),
    body: new Uint8Array(),
  };
  const answer = await searchOnce(cluster, request, 60_000);
  const { root } = JSON.parse(new TextDecoder().decode(answer.body)) as {
    readonly root: { readonly errors?: unknown; readonly children?: readonly { readonly fields: Fields }[] };
  };
  expect(root.errors).toBeUndefined();
  return (root.children ?? []).map(({ fields }) => fields);
}

/** Cells of a tensor with one mapped dimension, in the short form. */
const labels = (fields: Fields | undefined, feature: string): readonly string[] =>
  Object.keys((fields?.summaryfeatures?.[feature]?.cells ?? {}) as object);

describe.each([0, 1])("with %i threads", (threads) => {
  test("words choose the chunks a hit shows", async () => {
    const cluster = await opened(threads, "chunk sentence");
    const yql = 'select * from note where chunks contains "deposit"';
    const [hit, ...others] = await ask(cluster, { yql, "ranking.profile": "words" });
    expect(others).toEqual([]);
    expect(hit?.["all_chunks"]).toEqual(SENTENCES);
    // The shorter of the two has the higher bm25; elements are shown in their order.
    expect(labels(hit, "best_chunks")).toEqual(["1", "3"]);
    expect(hit?.["chunks"]).toEqual([SENTENCES[1], SENTENCES[3]]);
  });

  test("vectors choose the chunks a hit shows, and the nearest is told", async () => {
    const cluster = await opened(threads, "chunk sentence");
    const hits = await ask(cluster, {
      yql: "select * from note where {targetHits: 5}nearestNeighbor(vectors, q)",
      "ranking.profile": "near",
      "input.query(q)": 'embed(e, "bicycles in the cellar")',
    });
    expect(hits.map(({ title }) => title)).toEqual(["Lease", "Walk"]);
    expect(labels(hits[0], "closest(vectors)")).toEqual(["2"]);
    expect(labels(hits[0], "chunk_nearness")).toEqual(["0", "1", "2", "3", "4"]);
    expect(hits[0]?.["chunks"]).toEqual([SENTENCES[2]]);
  });

  test("both choose together", async () => {
    const cluster = await opened(threads, "chunk sentence");
    const hits = await ask(cluster, {
      yql: 'select * from note where ({targetHits: 5}nearestNeighbor(vectors, q)) or chunks contains "students"',
      "ranking.profile": "hybrid",
      "input.query(q)": 'embed(e, "bicycles in the cellar")',
    });
    expect(hits[0]?.["chunks"]).toEqual([SENTENCES[2], SENTENCES[3]]);
  });

  test("chunks of a length are cut at words, and together are the text", async () => {
    const cluster = await opened(threads, "chunk fixed-length 60");
    const yql = 'select * from note where title contains "lease"';
    const [hit] = await ask(cluster, { yql, "ranking.profile": "words" });
    const all = hit?.["all_chunks"] as readonly string[];
    expect(all.length).toBe(3);
    expect(all.join("")).toBe(BODY);
    expect(hit).not.toHaveProperty("chunks");
  });
});

test("the SDK declares chunks, and finds the passages that matched in the text they are of", async () => {
  const { chunks, embedding, open, schema: makeSchema, text } = (await import(builtIndex)) as typeof Brooklet;
  const by = { length: 60 } as const;
  const note = makeSchema("note", {
    title: text(),
    body: text(),
    parts: chunks("body", by),
    vec: embedding({ from: "body", chunk: by, model: "e", dimensions: 64, metric: "prenormalized-angular" }),
  });
  const database = await open({ schemas: [note], models: { embedders: [new HashEmbedder("e")] } });
  closing.push(() => database.close());
  const group = database.group("a");
  await group.put(note, "lease", { title: "Lease", body: BODY });
  await group.put(note, "walk", { title: "Walk", body: "We walked along the sea. It rained." });
  const near = { field: "vec", text: "bicycles in the cellar" } as const;
  const { hits } = await group.search(note, { near, fields: ["parts", "vec"] });
  const { parts, vec } = hits[0]?.fields ?? {};
  expect(parts?.join("")).toBe(BODY);
  expect(Object.keys(vec ?? {})).toEqual(Object.keys(parts ?? []));
  expect(await group.get(note, "lease")).toEqual({ title: "Lease", body: BODY });
  const { passages } = await group.retrieve(note, "bicycles in the cellar", { passagesOfDocument: 1 });
  expect(passages[0]).toMatchObject({ documentId: "lease", field: "body" });
  expect(passages[0]?.text).toContain("Bicycles stand in the cellar.");
  expect(BODY.slice(passages[0]?.start, passages[0]?.end)).toBe(passages[0]?.text);
  expect(passages[0]?.scores.relevances).toHaveProperty("hybrid");
});

test("a profile that does not select shows all elements, and says so", async () => {
  const cluster = await opened(0, "chunk sentence");
  const properties: [string, string][] = [
    ["streaming.groupname", "a"],
    ["timeout", "60s"],
    ["yql", 'select * from note where chunks contains "deposit"'],
    ["ranking.profile", "plain"],
  ];
  const answer = await searchOnce(cluster, { properties, body: new Uint8Array() }, 60_000);
  const { root } = JSON.parse(new TextDecoder().decode(answer.body)) as {
    readonly root: { readonly errors: readonly { readonly message: string }[]; readonly children: readonly unknown[] };
  };
  expect(root.errors[0]?.message).toContain("'plain' does not list 'best_chunks' in summary-features");
  expect(root.children).toMatchObject([{ fields: { chunks: SENTENCES } }]);
});
