/** Searches compared by judged questions: each question is ranked by each search, and the measures are put together. */
import { invalidArgument, shownId } from "@brooklet/client";
import { type Mean, meanOf } from "./interval.ts";
import type { CheckedQuestion } from "./judged.ts";
import { ndcg, recall, reciprocalRank } from "./measures.ts";

/** How an evaluation measures. */
export interface MeasureOptions {
  /** Hits that are looked at, which is the `k` of recall@k and where MRR ends; 100 by default, 400 at most. */
  readonly depth?: number;
  /** Samples that the intervals are made of; 2,000 by default. */
  readonly samples?: number;
  /** Of the samples: the same seed gives the same intervals; 1 by default. */
  readonly seed?: number;
  readonly signal?: AbortSignal;
}

/** How one search did. */
export interface SearchMeasures {
  /** nDCG@10: the good ones, best first. */
  readonly ndcg: Mean;
  /** recall@k: how many of the good ones are there at all. */
  readonly recall: Mean;
  /** MRR: how far one has to read to the first good one. */
  readonly reciprocalRank: Mean;
  /**
   * By how much its nDCG@10 is above that of the first search, question by question. Where the interval has 0 in it, the
   * questions do not tell which is better. Not there for the first.
   */
  readonly ndcgGain?: Mean;
  /** Every question, as it was found. */
  readonly questions: readonly QuestionMeasures[];
}

/** How one search did for one question. */
export interface QuestionMeasures {
  readonly question: string;
  readonly ndcg: number;
  readonly recall: number;
  readonly reciprocalRank: number;
  /** The good documents that were not found. */
  readonly missed: readonly string[];
}

/** What came of an evaluation. As a text it is a table; `JSON.stringify` gives all of it. */
export interface Evaluation {
  /** The `k` of recall@k. */
  readonly depth: number;
  readonly questionCount: number;
  readonly profiles: Readonly<Record<string, SearchMeasures>>;
  /** The table. */
  toString(): string;
}

/** Ranks documents for a question: ids, the best first. */
export type Ranking = (asked: CheckedQuestion, depth: number, signal: AbortSignal | undefined) => Promise<string[]>;

/** Ranks of nDCG. */
const NDCG_DEPTH = 10;
const DEPTH_DEFAULT = 100;
/** Hits of one search at most. */
const DEPTH_MAX = 400;
const SAMPLES_DEFAULT = 2_000;
const SAMPLES_MAX = 100_000;
/** Questions under way at a time. */
const CONCURRENCY = 8;

/** Compares rankings. */
export async function compare(
  judged: readonly CheckedQuestion[],
  rankings: ReadonlyMap<string, Ranking>,
  options: MeasureOptions,
): Promise<Evaluation> {
  const { signal } = options;
  const depth = whole("depth", options.depth ?? DEPTH_DEFAULT, NDCG_DEPTH, DEPTH_MAX);
  const samples = whole("samples", options.samples ?? SAMPLES_DEFAULT, 1, SAMPLES_MAX);
  const seed = whole("seed", options.seed ?? 1, 0, 2 ** 32 - 1);
  if (rankings.size === 0) throw invalidArgument("profiles is empty: name one, or leave it out");
  const profiles: [string, SearchMeasures][] = [];
  for (const [name, ranking] of rankings) {
    const questions = await rankQuestions(judged, depth, signal, ranking);
    const mean = (of: (measured: QuestionMeasures) => number): Mean => meanOf(questions.map(of), samples, seed);
    const first = profiles[0]?.[1].questions;
    const gains = first?.map((before, index) => (questions[index]?.ndcg ?? 0) - before.ndcg);
    const measures = {
      ndcg: mean((it) => it.ndcg),
      recall: mean((it) => it.recall),
      reciprocalRank: mean((it) => it.reciprocalRank),
      ...(gains === undefined ? {} : { ndcgGain: meanOf(gains, samples, seed) }),
    };
    profiles.push([name, { ...measures, questions }]);
  }
  const evaluation = { depth, questionCount: judged.length, profiles: Object.fromEntries(profiles) };
  return Object.defineProperty(evaluation, "toString", { value: () => tableOf(evaluation) });
}

async function rankQuestions(
  judged: readonly CheckedQuestion[],
  depth: number,
  signal: AbortSignal | undefined,
  ranking: Ranking,
): Promise<QuestionMeasures[]> {
  const measured: QuestionMeasures[] = [];
  for (let start = 0; start < judged.length; start += CONCURRENCY) {
    signal?.throwIfAborted();
    const some = judged.slice(start, start + CONCURRENCY);
    const rankings = await Promise.all(some.map((question) => ranking(question, depth, signal)));
    some.forEach(({ question, grades }, index) => {
      // A document that is named twice is found once.
      const ids = [...new Set(rankings[index]?.map((id) => shownId(id)))].slice(0, depth);
      measured.push({
        question,
        ndcg: ndcg(ids, grades, NDCG_DEPTH),
        recall: recall(ids, grades, depth),
        reciprocalRank: reciprocalRank(ids, grades),
        missed: Object.keys(grades).filter((id) => (grades[id] ?? 0) > 0 && !ids.includes(id)),
      });
    });
  }
  return measured;
}

function whole(name: string, value: number, least: number, most: number): number {
  if (Number.isInteger(value) && value >= least && value <= most) return value;
  throw invalidArgument(`${name} of an evaluation is ${String(value)}: give a whole number from ${least} to ${most}`);
}

/** Three digits; what rounds to nothing has no sign. */
const shown = (value: number): string => value.toFixed(3).replace(/^-(0\.0+)$/, "$1");

function tableOf({ depth, questionCount, profiles }: Evaluation): string {
  const cell = ({ mean, low, high }: Mean): string => `${shown(mean)} [${shown(low)}, ${shown(high)}]`;
  const hasGain = Object.keys(profiles).length > 1;
  const heads = ["profile", `nDCG@${NDCG_DEPTH}`, `recall@${depth}`, "MRR", ...(hasGain ? ["nDCG gain"] : [])];
  const rows = Object.entries(profiles).map(([name, it]) => {
    const gain = it.ndcgGain === undefined ? "" : cell(it.ndcgGain);
    return [name, cell(it.ndcg), cell(it.recall), cell(it.reciprocalRank), ...(hasGain ? [gain] : [])];
  });
  const widths = heads.map((head, at) => Math.max(head.length, ...rows.map((row) => row[at]?.length ?? 0)));
  const line = (row: readonly string[]): string =>
    row
      .map((text, at) => text.padEnd(widths[at] ?? 0))
      .join("  ")
      .trimEnd();
  const questions = questionCount === 1 ? "1 question" : `${questionCount} questions`;
  return [line(heads), ...rows.map(line), `${questions}; in brackets the 95 % intervals`].join("\n");
}
