/**
 * What matches where words and a vector are asked for together (docs/decisions/0038). Hits, counts, facets and pages are all
 * of these documents, so nothing here depends on the page but its size.
 */
import { invalidArgument } from "./error.ts";
import type { AnySchema } from "./schema.ts";
import { distanceOf } from "./similarity.ts";

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

/**
 * How similar a document must be to match beside words, unless it is said. With all-MiniLM-L6-v2 texts about different
 * things are mostly below it; a model whose cosines are all high needs a floor of its own.
 */
const SIMILARITY_MIN = 0.15;

/** What of a vector to be near to decides what matches. */
export interface Neighbours {
  readonly field: string;
  readonly targetHits?: number;
  readonly distanceMax?: number;
  readonly similarityMin?: number;
}

/** What decides what matches, of the options of a search. */
export interface Matching {
  readonly near?: Neighbours;
  readonly matchBy?: MatchBy;
  readonly limit: number;
}

/** The condition for what is relevant, from that for the text; nothing if nothing is asked for. */
export function relevantText(
  schema: AnySchema,
  words: string | undefined,
  { near, matchBy, limit }: Matching,
): string | undefined {
  if (matchBy !== undefined && !WAYS.includes(matchBy)) {
    throw invalidArgument(`matchBy is '${String(matchBy)}': give ${WAYS.map((way) => `'${way}'`).join(", ")}`);
  }
  if (near === undefined) {
    if (matchBy === undefined) return words;
    throw invalidArgument("matchBy says which of text and near decides what matches: give near too");
  }
  const targetHits = near.targetHits ?? Math.max(TARGET_HITS_MIN, limit);
  if (words === undefined) return nearestNeighbor(near, targetHits, thresholdOf(schema, near));
  if (matchBy === "words") return `rank(${words}, ${nearestNeighbor(near, targetHits, undefined)})`;
  const neighbours = nearestNeighbor(near, targetHits, thresholdOf(schema, near, SIMILARITY_MIN));
  if (matchBy === "neighbours") return `rank(${neighbours}, ${words})`;
  return matchBy === "both" ? `${words} and ${neighbours}` : `(${words} or ${neighbours})`;
}

/** How far away neighbours may be. What is usual counts if nothing is said, and where the metric can tell it. */
function thresholdOf(schema: AnySchema, near: Neighbours, usual?: number): number | undefined {
  const { field, distanceMax, similarityMin } = near;
  if (distanceMax !== undefined && similarityMin !== undefined) {
    throw invalidArgument(`near '${field}' has both distanceMax and similarityMin: give one of them`);
  }
  if (distanceMax !== undefined) return distanceMax;
  const wanted = similarityMin ?? usual;
  if (wanted === undefined) return undefined;
  if (wanted === -1) return undefined;
  if (!(wanted > -1 && wanted <= 1)) {
    throw invalidArgument(`similarityMin is ${wanted}: give a cosine, from -1 (all) to 1 (the same)`);
  }
  const { type, metric } = schema.fields[field]?.definition ?? {};
  const sizes = type?.kind === "tensor" ? Object.values(type.dimensions).filter((size) => size !== "mapped") : [];
  const [size] = sizes;
  const distance =
    type?.kind !== "tensor" || size === undefined ? undefined : distanceOf(wanted, { cell: type.cell, size, metric });
  if (distance !== undefined || similarityMin === undefined) return distance;
  throw invalidArgument(
    `similarityMin needs a metric of angles or bits, and '${field}' has ${metric ?? "none"}: give distanceMax`,
  );
}

function nearestNeighbor({ field }: Neighbours, targetHits: number, threshold: number | undefined): string {
  const annotations = [`targetHits: ${targetHits}`];
  if (threshold !== undefined) annotations.push(`distanceThreshold: ${threshold}`);
  return `({${annotations.join(", ")}}nearestNeighbor(${field}, ${field}))`;
}
