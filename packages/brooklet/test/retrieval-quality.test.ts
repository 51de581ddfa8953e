/**
 * How good search and retrieval are on the judged sets, with the real model (BROOKLET_MINILM): by words, by vectors, by both,
 * and with a reranker; and what Vespa's own statistics of words would give. The measured numbers are printed; what is
 * asserted leaves a margin below them. No default loses to either side alone by more than LOSS_MAX, on any set.
 */
import { join } from "node:path";
import process from "node:process";
import { deadlineIn } from "@brooklet/models";
import { openComponent } from "@brooklet/models/node";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ndcg, recall } from "../src/evaluation/measures.ts";
import type * as Brooklet from "../src/index.ts";
import { type JudgedSet, judgedSets } from "./judged-set.ts";

/** What was built: packages of the project are tested as they are installed. */
const built = new URL("../dist/index.js", import.meta.url).href;
const { open, schema, text, vector } = (await import(built)) as typeof Brooklet;

const folder = process.env["BROOKLET_MINILM"];
const DIMENSIONS = 384;
const DEPTH = 100;
const LOSS_MAX = 0.005;
/** What two sums of the same values may differ by. */
const ROUNDING = 1e-9;
/** What the floor of neighbours may take of the hundred best. A floor that takes nothing keeps two thirds of strangers. */
const FLOOR_LOSS_MAX = 0.035;

/** Passages of eight that the floor leaves, at most, a question. */
const GIVEN_MAX: Readonly<Record<string, number>> = { notes: 7.5, conversations: 7.9, abstracts: 7.2 };

const fields = { text: text(), vec: vector(DIMENSIONS, { metric: "prenormalized-angular" }) };
const vespa = { firstPhase: "bm25(text)", properties: { "brooklet.statistics": "reference" } };
const note = schema("note", fields, { stemming: "english", profiles: { vespa } });

test("the judged sets are large enough, and each answer is there", () => {
  for (const { name, texts, questions } of judgedSets) {
    expect(new Set(texts.values()).size, name).toBe(texts.size);
    expect(new Set(questions.map(({ question }) => question)).size, name).toBe(questions.length);
    const strangers = questions.filter(({ answers }) => Object.keys(answers).some((id) => !texts.has(id)));
    expect(strangers, name).toEqual([]);
  }
  const [, ...further] = judgedSets;
  expect(further.reduce((sum, { questions }) => sum + questions.length, 0)).toBeGreaterThanOrEqual(300);
  expect(further.reduce((sum, { texts }) => sum + texts.size, 0)).toBeGreaterThanOrEqual(600);
});

/** Means over all questions. */
interface Quality {
  /** Documents that were found. */
  readonly count: number;
  /** How many of them are any good. */
  readonly judged: number;
  readonly ndcg: number;
  readonly recall10: number;
  readonly recall100: number;
}

function qualityOf(set: JudgedSet, found: readonly (readonly string[])[]): Quality {
  const mean = (value: (ids: readonly string[], answers: Readonly<Record<string, number>>) => number): number =>
    set.questions.reduce((sum, { answers }, index) => sum + value(found[index] ?? [], answers), 0) / found.length;
  return {
    ndcg: mean((ids, answers) => ndcg(ids, answers, 10)),
    count: mean(({ length }) => length),
    judged: mean((ids, answers) => ids.filter((id) => id in answers).length),
    recall10: mean((ids, answers) => recall(ids, answers, 10)),
    recall100: mean((ids, answers) => recall(ids, answers, 100)),
  };
}

describe.runIf(folder !== undefined)("with all-MiniLM-L6-v2", () => {
  let embedder: Brooklet.Embedder;
  let database: Brooklet.Database;

  async function embed(texts: readonly string[], purpose: "document" | "query"): Promise<readonly Float32Array[]> {
    const embeddings = await embedder.embed({ texts, purpose, dimensions: DIMENSIONS, deadline: deadlineIn(300_000) });
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
  });

  afterAll(async () => {
    await database?.close();
    await embedder?.close();
  });

  /** Meaning and codes, each of the passage alone. */
  const rerank: Brooklet.Reranker = async (question, passages) => {
    const [asked = new Float32Array()] = await embed([question], "query");
    const codes = question.match(/\p{Lu}+\d+/gu) ?? [];
    const vectors = await embed(passages, "document");
    return passages.map((passage, index) => {
      const cosine = asked.reduce((sum, value, at) => sum + value * (vectors[index]?.[at] ?? 0), 0);
      return cosine + (codes.some((code) => passage.includes(code)) ? 1 : 0);
    });
  };

  const local = (id: string): string => id.replace(/^.*:/, "");

  async function measure(set: JudgedSet): Promise<Readonly<Record<string, Quality>>> {
    const group = database.group(set.name);
    const vectors = await embed([...set.texts.values()], "document");
    await group.feed(
      note,
      [...set.texts].map(([id, content], index) => ({ id, fields: { text: content, vec: vectors[index] ?? [] } })),
    );
    const asked = await embed(
      set.questions.map(({ question }) => question),
      "query",
    );
    type Ask = (question: string, near: { readonly field: "vec"; readonly vector: Float32Array }) => Promise<string[]>;
    const quality = async (ask: Ask): Promise<Quality> => {
      const found: string[][] = [];
      for (const [index, { question }] of set.questions.entries()) {
        found.push(await ask(question, { field: "vec", vector: asked[index] ?? new Float32Array() }));
      }
      return qualityOf(set, found);
    };
    const search = (options: object): Promise<string[]> =>
      group.search(note, { limit: DEPTH, ...options }).then(({ hits }) => hits.map(({ id }) => local(id)));
    const retrieve = async (question: string, options: Brooklet.RetrieveOptions<typeof note>): Promise<string[]> => {
      const limits = { passages: DEPTH, passagesOfDocument: 1, tokens: 1_000_000 };
      const { passages } = await group.retrieve(note, question, { ...limits, ...options });
      return [...new Set(passages.map(({ documentId }) => local(documentId)))];
    };
    const passages = 8;
    return {
      "words as in Vespa": await quality((it) => search({ text: it, profile: "vespa" })),
      "search, text": await quality((it) => search({ text: it })),
      "search, near": await quality((_, near) => search({ near })),
      "search, hybrid": await quality((it, near) => search({ text: it, near })),
      "search, no floor": await quality((it, near) => search({ text: it, near: { ...near, similarityMin: -1 } })),
      "retrieve, text": await quality((it) => retrieve(it, { near: false })),
      retrieve: await quality((it, near) => retrieve(it, { near })),
      "retrieve, no floor": await quality((it, near) => retrieve(it, { near, floor: 0 })),
      "retrieve, 8": await quality((it, near) => retrieve(it, { near, passages })),
      "retrieve, 8, no floor": await quality((it, near) => retrieve(it, { near, passages, floor: 0 })),
      "reciprocal ranks": await quality((it, near) => retrieve(it, { near, fusion: "reciprocalRank" })),
      ...(set.name === "notes"
        ? { rerank: await quality((it, near) => retrieve(it, { near, rerank, passages })) }
        : {}),
    };
  }

  const LEAST: Readonly<Record<string, { readonly text: number; readonly near: number; readonly hybrid: number }>> = {
    notes: { text: 0.36, near: 0.71, hybrid: 0.71 },
    conversations: { text: 0.59, near: 0.79, hybrid: 0.79 },
    abstracts: { text: 0.91, near: 0.97, hybrid: 0.96 },
  };

  test.each(judgedSets.map((set) => [set.name, set] as const))(
    "no default is worse than either side alone: %s",
    async (name, set) => {
      const measured = await measure(set);
      console.log(`${name}: ${set.questions.length} questions, ${set.texts.size} texts`);
      const shown = (value: number): string => value.toFixed(3);
      console.table(
        Object.fromEntries(
          Object.entries(measured).map(([of, { ndcg, recall10, recall100, count, judged }]) => [
            of,
            {
              "nDCG@10": shown(ndcg),
              "recall@10": shown(recall10),
              "recall@100": shown(recall100),
              found: shown(count),
              judged: shown(judged),
            },
          ]),
        ),
      );
      const none: Quality = { ndcg: 0, recall10: 0, recall100: 0, count: 0, judged: 0 };
      const of = (search: string): Quality => measured[search] ?? none;
      const [words, nearest, hybrid] = [of("search, text"), of("search, near"), of("search, hybrid")];
      const least = LEAST[name] ?? { text: 1, near: 1, hybrid: 1 };
      expect(words.ndcg).toBeGreaterThanOrEqual(least.text);
      expect(nearest.ndcg).toBeGreaterThanOrEqual(least.near);
      expect(hybrid.ndcg).toBeGreaterThanOrEqual(least.hybrid);
      for (const both of [hybrid, of("retrieve")]) {
        expect(both.ndcg).toBeGreaterThanOrEqual(Math.max(words.ndcg, nearest.ndcg) - LOSS_MAX);
      }
      // The floor of passages takes nothing from a ranking.
      expect(of("retrieve").ndcg).toBeGreaterThanOrEqual(hybrid.ndcg - ROUNDING);
      for (const whole of ["search, no floor", "retrieve, no floor"]) {
        expect(of(whole).recall100, whole).toBeGreaterThanOrEqual(nearest.recall100 - LOSS_MAX);
      }
      expect(hybrid.recall100).toBeGreaterThanOrEqual(nearest.recall100 - FLOOR_LOSS_MAX);
      // The floor of passages keeps from a model what is unrelated, and nothing else.
      expect(of("retrieve, 8").recall10).toBeGreaterThanOrEqual(of("retrieve, 8, no floor").recall10 - LOSS_MAX);
      expect(of("retrieve, 8").count).toBeLessThan(GIVEN_MAX[name] ?? 0);
      expect(of("retrieve, 8").judged).toBeGreaterThanOrEqual(of("retrieve, 8, no floor").judged - 0.01);
      const alone = of("retrieve, text");
      expect(alone.ndcg).toBeGreaterThanOrEqual(words.ndcg - ROUNDING);
      expect(words.ndcg).toBeGreaterThanOrEqual(of("words as in Vespa").ndcg - LOSS_MAX);
      if (name === "notes") expect(of("rerank").ndcg).toBeGreaterThanOrEqual(hybrid.ndcg);
    },
    1_800_000,
  );
});
