/** Evaluates the searches of a schema by judged questions, in a group or in the groups that the questions name. */
import {
  type AnySchema,
  type Client,
  type Group,
  invalidArgument,
  madeVector,
  refuseUnknown,
  type SearchOptions,
} from "@brooklet/client";
import { suggestion } from "@brooklet/wire";
import { compare, type Evaluation, type MeasureOptions, type Ranking } from "./comparison.ts";
import { checkedQuestions, type JudgedQuestion } from "./judged.ts";

/** What a search of an evaluation is asked. */
export interface AskedRanking {
  readonly question: string;
  readonly group: Group;
  /** How many ids are looked at. */
  readonly depth: number;
  readonly signal: AbortSignal | undefined;
}

/** Options of a search, whatever its profile. */
export type RankedSearch<S extends AnySchema> = SearchOptions<S, never, S["profiles"][number]>;

/**
 * A search to evaluate: options beside the question, which is its text unless they have one; or a function that makes them
 * of the question, or ranks ids itself.
 */
export type EvaluatedSearch<S extends AnySchema> =
  | RankedSearch<S>
  | ((asked: AskedRanking) => RankedSearch<S> | readonly string[] | Promise<RankedSearch<S> | readonly string[]>);

/** What to evaluate, and how. */
export interface EvaluateOptions<S extends AnySchema> extends MeasureOptions {
  /**
   * Names of rank profiles, each of which ranks a search by words; or searches by a name each. Unless it is said, one search
   * by words and by the vector that the server makes, if the schema has one, with the profile that fits.
   */
  readonly profiles?: readonly S["profiles"][number][] | Readonly<Record<string, EvaluatedSearch<S>>>;
}

const OPTIONS = ["profiles", "depth", "samples", "seed", "signal"];

/**
 * Measures how well searches rank: nDCG@10, recall@k and MRR of each, with confidence intervals. As a text it is a table.
 *
 * @example
 * ```ts
 * import { evaluate } from "brooklet/evaluation";
 * const judged = [{ question: "unpaid invoice", answers: { m1: 2, m7: 1 } }];
 * const evaluation = await evaluate(alice, mail, judged, {
 *   profiles: { words: {}, newest: { orderBy: "sentAt desc" } },
 * });
 * console.log(String(evaluation), evaluation.profiles["words"]?.ndcg.mean);
 * ```
 */
export async function evaluate<S extends AnySchema>(
  place: Group | Client,
  schema: S,
  judged: readonly JudgedQuestion[],
  options: EvaluateOptions<S> = {},
): Promise<Evaluation> {
  refuseUnknown("an evaluation", options, OPTIONS);
  const questions = checkedQuestions(judged, "judged");
  const lonely = isGroup(place) ? -1 : questions.findIndex(({ group }) => group === undefined);
  if (lonely >= 0)
    throw invalidArgument(`judged[${lonely}] has no \`group\`: name one, or evaluate a group instead of a database`);
  const groupOf = (name: string | undefined): Group => {
    if (!isGroup(place)) return place.group(name ?? "");
    if (name === undefined || name === place.name) return place;
    throw invalidArgument(`a judged question is about group '${name}', and '${place.name}' is evaluated`);
  };
  const rankings = new Map(
    searchesOf(schema, options.profiles).map(([name, search]): [string, Ranking] => [
      name,
      async ({ question, group }, depth, signal) =>
        await rankQuestion(schema, search, { question, group: groupOf(group), depth, signal }),
    ]),
  );
  return await compare(questions, rankings, options);
}

function isGroup(place: Group | Client): place is Group {
  return "search" in place;
}

function searchesOf<S extends AnySchema>(
  schema: S,
  profiles: EvaluateOptions<S>["profiles"],
): readonly (readonly [string, EvaluatedSearch<S>])[] {
  if (profiles === undefined) return [["default", (asked) => searchOf(schema, asked)]];
  if (!Array.isArray(profiles)) return Object.entries(profiles as Readonly<Record<string, EvaluatedSearch<S>>>);
  return (profiles as readonly string[]).map((profile) => {
    if (!schema.profiles.includes(profile))
      throw invalidArgument(`schema ${schema.name} has no profile '${profile}'${suggestion(profile, schema.profiles)}`);
    return [profile, { profile } as RankedSearch<S>];
  });
}

function searchOf<S extends AnySchema>(schema: S, { question }: AskedRanking): RankedSearch<S> {
  const field = madeVector(schema);
  const near = field === undefined ? {} : { near: { field, text: question } };
  return { text: question, ...near } as RankedSearch<S>;
}

async function rankQuestion<S extends AnySchema>(
  schema: S,
  search: EvaluatedSearch<S>,
  asked: AskedRanking,
): Promise<string[]> {
  const made = typeof search === "function" ? await search(asked) : search;
  if (Array.isArray(made)) return [...(made as readonly string[])];
  const { question, group, depth, signal } = asked;
  const options = {
    text: question,
    ...(made as RankedSearch<S>),
    limit: depth,
    ...(signal === undefined ? {} : { signal }),
  };
  const { hits } = await group.search(schema as AnySchema, options as unknown as SearchOptions<AnySchema>);
  return hits.map(({ id }) => id);
}
