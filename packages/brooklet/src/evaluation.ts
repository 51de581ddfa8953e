/** `brooklet/evaluation`: how well searches rank, measured by judged questions. Needs no other library. */
export type {
  Evaluation,
  MeasureOptions,
  QuestionMeasures,
  SearchMeasures,
} from "./evaluation/comparison.ts";
export {
  type AskedRanking,
  type EvaluatedSearch,
  type EvaluateOptions,
  evaluate,
  type RankedSearch,
} from "./evaluation/evaluate.ts";
export type { Mean } from "./evaluation/interval.ts";
export type { JudgedQuestion } from "./evaluation/judged.ts";
export { type Grades, ndcg, recall, reciprocalRank } from "./evaluation/measures.ts";
