/**
 * How good retrieval is on the judged set, with the real model (BROOKLET_MINILM): by words, by vectors, by both, and with a
 * reranker. The measured numbers are printed; what is asserted leaves a margin below them.
 */
import { join } from "node:path";
import process from "node:process";
import { deadlineIn } from "@brooklet/models";
import { openComponent } from "@brooklet/models/node";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type * as Brooklet from "../src/index.ts";
import { judged, notes } from "./judged-set.ts";

/** What was built: packages of the project are tested as they are installed. */
const built = new URL("../dist/index.js", import.meta.url).href;
const { open, schema, text, vector } = (await import(built)) as typeof Brooklet;

const folder = process.env["BROOKLET_MINILM"];
const DIMENSIONS = 384;
const DEPTH = 10;

const note = schema("note", { text: text(), vec: vector(DIMENSIONS, { metric: "prenormalized-angular" }) });

test("the judged set is large enough, and each answer is there", () => {
  expect(judged.length).toBeGreaterThanOrEqual(60);
  expect(notes.size).toBeGreaterThanOrEqual(300);
  expect(new Set(notes.values()).size).toBe(notes.size);
  expect(judged.filter(({ answer }) => !notes.has(answer))).toEqual([]);
});

/** Means over all questions; with one right answer, nDCG is `1 / log2(1 + rank)`. */
interface Quality {
  readonly recall: number;
  readonly ndcg: number;
}

function qualityOf(ranks: readonly (number | undefined)[]): Quality {
  const mean = (value: (rank: number) => number): number =>
    ranks.reduce<number>((sum, rank) => sum + (rank === undefined ? 0 : value(rank)), 0) / ranks.length;
  return { recall: mean(() => 1), ndcg: mean((rank) => 1 / Math.log2(1 + rank)) };
}

describe.runIf(folder !== undefined)("retrieval with all-MiniLM-L6-v2", () => {
  let embedder: Brooklet.Embedder;
  let database: Brooklet.Database;
  let group: Brooklet.Group;

  async function embed(texts: readonly string[], purpose: "document" | "query"): Promise<readonly Float32Array[]> {
    const embeddings = await embedder.embed({ texts, purpose, dimensions: DIMENSIONS, deadline: deadlineIn(120_000) });
    return embeddings.map(({ values }) => values);
  }

  beforeAll(async () => {
    const settings = [
      ["transformer-model@path", "model.onnx"],
      ["tokenizer-model@path", "tokenizer.json"],
      ["normalize", "true"],
      ["max-tokens", "128"],
    ] as const;
    const file = async (where: { readonly path: string } | { readonly url: string }): Promise<string> =>
      join(folder ?? "", "path" in where ? where.path : "");
    embedder = await openComponent(
      { id: "minilm", type: "hugging-face-embedder", settings },
      { file, secret: () => undefined },
    );
    database = await open({ schemas: [note], models: { embedders: [embedder] } });
    group = database.group("me");
    const vectors = await embed([...notes.values()], "document");
    await group.feed(
      note,
      [...notes].map(([id, content], index) => ({ id, fields: { text: content, vec: vectors[index] ?? [] } })),
    );
  }, 180_000);

  afterAll(async () => {
    await database?.close();
    await embedder?.close();
  });

  async function measure(options: Brooklet.RetrieveOptions<typeof note>): Promise<Quality> {
    const ranks: (number | undefined)[] = [];
    for (const { question, answer } of judged) {
      const asked = { ...options, passages: DEPTH, passagesOfDocument: 1, tokens: 100_000 };
      const { passages } = await group.retrieve(note, question, asked);
      const place = passages.findIndex(({ documentId }) => documentId.endsWith(`:${answer}`));
      ranks.push(place < 0 ? undefined : place + 1);
    }
    return qualityOf(ranks);
  }

  /** Meaning and words, each of the passage alone. */
  const rerank: Brooklet.Reranker = async (question, passages) => {
    const [asked = new Float32Array()] = await embed([question], "query");
    const codes = question.match(/\p{Lu}+\d+/gu) ?? [];
    const vectors = await embed(passages, "document");
    return passages.map((passage, index) => {
      const cosine = asked.reduce((sum, value, at) => sum + value * (vectors[index]?.[at] ?? 0), 0);
      return cosine + (codes.some((code) => passage.includes(code)) ? 1 : 0);
    });
  };

  test("hybrid is at least as good as either alone", async () => {
    const near = { field: "vec", embedder: "minilm" } as const;
    const measured = {
      text: await measure({}),
      vector: await measure({ text: false, near }),
      hybrid: await measure({ near }),
      "hybrid + rerank": await measure({ near, rerank }),
    };
    const shown = Object.entries(measured).map(([name, { recall, ndcg }]) => ({
      search: name,
      "recall@10": recall.toFixed(3),
      "nDCG@10": ndcg.toFixed(3),
    }));
    console.log(`${judged.length} questions, ${notes.size} notes`);
    console.table(shown);
    // Measured: 0.388, 0.726, 0.761, 0.794.
    const least = { text: 0.36, vector: 0.7, hybrid: 0.74, "hybrid + rerank": 0.77 };
    for (const [name, { ndcg }] of Object.entries(measured)) {
      expect(ndcg, name).toBeGreaterThanOrEqual(least[name as keyof typeof least]);
    }
    const { text: words, vector: meaning, hybrid } = measured;
    expect(hybrid.recall).toBeGreaterThanOrEqual(Math.max(words.recall, meaning.recall));
    expect(hybrid.ndcg).toBeGreaterThanOrEqual(Math.max(words.ndcg, meaning.ndcg));
    expect(measured["hybrid + rerank"].ndcg).toBeGreaterThanOrEqual(hybrid.ndcg);
  }, 300_000);
});
