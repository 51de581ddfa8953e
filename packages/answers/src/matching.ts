/**
 * What matches where words and a vector are asked for together (docs/decisions/0038). Hits, counts, facets and pages are all
 * of these documents, so nothing here depends on the page but its size.
 */
import { knownField, type SearchedField, type SearchedSchema } from "./searched-schema.ts";

/**
 * Which documents match where both `text` and `near` are given; both rank, whatever it is.
 *
 * - `either`: those that the text finds, and neighbours that are similar enough.
 * - `words`: those that the text finds.
 * - `neighbours`: neighbours that are similar enough.
 * - `both`: neighbours that are similar enough, of those that the text finds.
 */
export type MatchBy = "either" | "words" | "neighbours" | "both";

const WAYS: readonly MatchBy[] = ["either", "words", "neighbours", "both"];
const TARGET_HITS_MIN = 100;
/** As many as a server takes, where a floor decides. */
const FLOOR_TARGET_HITS = 10_000;

/**
 * How similar a document must be to match beside words, unless it is said. With all-MiniLM-L6-v2 texts about different
 * things are mostly below it; a model whose cosines are all high needs a floor of its own.
 */
const SIMILARITY_MIN = 0.15;

/** What of a vector to be near to decides what matches. */
export interface Neighbours {
  readonly field: string;
  /** The input of the profile that has the vector; the field's name unless it is said. */
  readonly input?: string;
  /**
   * How many of the nearest match at most. All (10,000 at most) where a floor is said; else 100, or as many as a page has hits, and
   * deeper pages have no more; where a search by a vector alone only shows a page, as many as that page takes and one more.
   */
  readonly targetHits?: number;
  /** How far away they may be, in the field's metric. */
  readonly distanceMax?: number;
  /**
   * How similar they must be, as the cosine of the angle: -1 for all. 0.15 by default where a `text` is given too, and nothing
   * where not. For the metrics angular, prenormalized-angular and hamming.
   */
  readonly similarityMin?: number;
}

/** What decides what matches, of the options of a search. */
export interface Matching {
  readonly near?: Neighbours;
  readonly matchBy?: MatchBy;
  readonly limit: number;
}

/**
 * The condition for what is relevant, from that for the text; nothing if nothing is asked for. Throws a `RangeError` where a
 * floor or a way to match cannot be.
 */
export function relevantText(
  schema: SearchedSchema,
  words: string | undefined,
  { near, matchBy, limit }: Matching,
): string | undefined {
  if (matchBy !== undefined && !WAYS.includes(matchBy)) {
    throw new RangeError(`matchBy is '${String(matchBy)}': give ${WAYS.map((way) => `'${way}'`).join(", ")}`);
  }
  if (near === undefined) {
    if (matchBy === undefined) return words;
    throw new RangeError("matchBy says which of text and near decides: give near too");
  }
  const floor = thresholdOf(schema, near);
  const targetHits = near.targetHits ?? (floor === undefined ? Math.max(TARGET_HITS_MIN, limit) : FLOOR_TARGET_HITS);
  if (words === undefined) return nearestNeighbor(near, targetHits, floor);
  if (matchBy === "words") return `rank(${words}, ${nearestNeighbor(near, targetHits, undefined)})`;
  const neighbours = nearestNeighbor(near, targetHits, floor ?? thresholdOf(schema, near, SIMILARITY_MIN));
  if (matchBy === "neighbours") return `rank(${neighbours}, ${words})`;
  return matchBy === "both" ? `${words} and ${neighbours}` : `(${words} or ${neighbours})`;
}

/** How far away neighbours may be. What is usual counts if nothing is said, and where the metric can tell it. */
function thresholdOf(schema: SearchedSchema, near: Neighbours, usual?: number): number | undefined {
  const { field, distanceMax, similarityMin } = near;
  if (distanceMax !== undefined && similarityMin !== undefined) {
    throw new RangeError(`near '${field}' has both distanceMax and similarityMin: give one of them`);
  }
  if (distanceMax !== undefined) return distanceMax;
  const wanted = similarityMin ?? usual;
  if (wanted === undefined || wanted === -1) return undefined;
  if (!(wanted > -1 && wanted <= 1)) {
    throw new RangeError(`similarityMin is ${wanted}: give a cosine, from -1 (all) to 1 (the same)`);
  }
  const known = knownField(schema, field);
  const distance = distanceOf(wanted, known);
  if (distance !== undefined || similarityMin === undefined) return distance;
  const metric = known.metric ?? "none";
  throw new RangeError(
    `similarityMin needs a metric of angles or bits, and '${field}' has ${metric}: give distanceMax`,
  );
}

const BITS_OF_CELL = 8;

/**
 * How far away a vector that is so similar is, in the metric of its field; nothing where that depends on the lengths of
 * vectors, or where there is no angle.
 */
function distanceOf(similarity: number, { type, metric }: SearchedField): number | undefined {
  if (metric === "angular") return Math.acos(similarity);
  if (metric === "prenormalized-angular") return 1 - similarity;
  const size = Number(/\[(\d+)\]/.exec(type)?.[1]);
  if (metric !== "hamming" || Number.isNaN(size)) return undefined;
  if (!type.startsWith("tensor<int8>")) return Math.floor((1 - similarity) * size);
  return Math.floor((Math.acos(similarity) / Math.PI) * BITS_OF_CELL * size);
}

/** A name of an input as YQL takes it. */
const INPUT = /^[A-Za-z_]\w*$/;

/** What is spliced into the query is of the kind that it has to be, whoever calls: it may be what a user typed. */
function nearestNeighbor(
  { field, input = field }: Neighbours,
  targetHits: number,
  threshold: number | undefined,
): string {
  if (!Number.isInteger(targetHits) || targetHits < 1)
    throw new RangeError(`targetHits is ${targetHits}: give a positive integer`);
  if (threshold !== undefined && !(typeof threshold === "number" && !Number.isNaN(threshold)))
    throw new RangeError(`distanceMax is ${String(threshold)}: give a number`);
  if (!INPUT.test(input)) throw new RangeError(`${JSON.stringify(input)} cannot be the name of an input`);
  const annotations = [`targetHits: ${targetHits}`];
  if (threshold !== undefined) annotations.push(`distanceThreshold: ${threshold}`);
  return `({${annotations.join(", ")}}nearestNeighbor(${field}, ${input}))`;
}
