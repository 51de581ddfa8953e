/**
 * How good retrieval is on the judged set, with the real model (BROOKLET_MINILM): by words, by vectors, by both, and with a
 * reranker. The measured numbers are printed; what is asserted leaves a margin below them. How much words and meaning count
 * is held against questions that had no part in choosing it: each half of the set is measured with the weight that is best
 * for the other half.
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

/** How much meaning counts, where it is chosen. */
const SHARES = [0.1, 0.3, 0.5, 0.6, 0.7, 0.8, 0.9];

/** Ranks of all questions, each under the share that is best for the half of the questions it is not of. */
function heldOut(byShare: ReadonlyMap<number, readonly Rank[]>): {
  readonly ranks: readonly Rank[];
  readonly shares: number[];
} {
  const isOf = (half: number) => (_: Rank, index: number) => index % 2 === half;
  const bestFor = (half: number): number => {
    const ndcg = (share: number): number => qualityOf((byShare.get(share) ?? []).filter(isOf(half))).ndcg;
    return SHARES.reduce((best, share) => (ndcg(share) > ndcg(best) ? share : best));
  };
  const shares = [bestFor(1), bestFor(0)];
  return { ranks: judged.map((_, index) => byShare.get(shares[index % 2] ?? 0)?.[index]), shares };
}

/** Means over all questions; with one right answer, nDCG is `1 / log2(1 + rank)`. */
interface Quality {
  readonly recall: number;
  readonly ndcg: number;
}

/** The place of an answer, if it was found. */
type Rank = number | undefined;

function qualityOf(ranks: readonly Rank[]): Quality {
  const mean = (value: (rank: number) => number): number =>
    ranks.reduce<number>((sum, rank) => sum + (rank === undefined ? 0 : value(rank)), 0) / ranks.length;
  return { recall: mean(() => 1), ndcg: mean((rank) => 1 / Math.log2(1 + rank)) };
}

describe.runIf(folder !== undefined)("retrieval with all-MiniLM-L6-v2", () => {
  let embedder: Brooklet.Embedder;
  let database: Brooklet.Database;
  let group: Brooklet.Group;
  /** The vectors of the questions, which are the same whatever is weighed. */
  let asked: readonly Float32Array[];

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
    asked = await embed(
      judged.map(({ question }) => question),
      "query",
    );
    await group.feed(
      note,
      [...notes].map(([id, content], index) => ({ id, fields: { text: content, vec: vectors[index] ?? [] } })),
    );
  }, 180_000);

  afterAll(async () => {
    await database?.close();
    await embedder?.close();
  });

  /** The place of the answer to each question, if it is among the first ten. */
  async function ranksOf(options: Brooklet.RetrieveOptions<typeof note>): Promise<readonly Rank[]> {
    const ranks: Rank[] = [];
    for (const [index, { question, answer }] of judged.entries()) {
      const { near = false } = options;
      const nearAsked = near === false ? {} : { near: { ...near, vector: asked[index] ?? [] } };
      const limits = { passages: DEPTH, passagesOfDocument: 1, tokens: 100_000 };
      const { passages } = await group.retrieve(note, question, { ...options, ...nearAsked, ...limits });
      const place = passages.findIndex(({ documentId }) => documentId === answer);
      ranks.push(place < 0 ? undefined : place + 1);
    }
    return ranks;
  }

  const near = { field: "vec" } as const;
  /** Ranks where meaning counts so much and words the rest. */
  const weighted = (share: number): Promise<readonly Rank[]> =>
    ranksOf({ text: { weight: 1 - share }, near: { ...near, weight: share } });

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

  test("hybrid is at least as good as either alone, also on questions that did not choose its weights", async () => {
    const byShare = new Map<number, readonly Rank[]>();
    for (const share of SHARES) byShare.set(share, await weighted(share));
    const chosen = heldOut(byShare);
    const measured = {
      text: qualityOf(await ranksOf({})),
      vector: qualityOf(await ranksOf({ text: false, near })),
      "hybrid, held out": qualityOf(chosen.ranks),
      hybrid: qualityOf(await ranksOf({ near })),
      "hybrid, reciprocal ranks": qualityOf(await ranksOf({ near, fusion: "reciprocalRank" })),
      "hybrid + rerank": qualityOf(await ranksOf({ near, rerank })),
    };
    const shown = Object.entries(measured).map(([name, { recall, ndcg }]) => ({
      search: name,
      "recall@10": recall.toFixed(3),
      "nDCG@10": ndcg.toFixed(3),
    }));
    console.log(
      `${judged.length} questions, ${notes.size} notes; the halves chose ${chosen.shares.join(" and ")} for meaning`,
    );
    console.table(shown);
    const least = { text: 0.36, vector: 0.7, hybrid: 0.74, "hybrid + rerank": 0.77 };
    for (const name of Object.keys(least) as (keyof typeof least)[]) {
      expect(measured[name].ndcg, name).toBeGreaterThanOrEqual(least[name]);
    }
    const { text: words, vector: meaning, hybrid } = measured;
    for (const both of [hybrid, measured["hybrid, held out"]]) {
      expect(both.recall).toBeGreaterThanOrEqual(Math.max(words.recall, meaning.recall));
      expect(both.ndcg).toBeGreaterThanOrEqual(Math.max(words.ndcg, meaning.ndcg));
    }
    expect(measured["hybrid + rerank"].ndcg).toBeGreaterThanOrEqual(hybrid.ndcg);
  }, 600_000);
});
