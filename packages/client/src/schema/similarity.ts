/**
 * How similar two vectors are, from 0 to 1: the cosine of the angle between them, whatever metric their field has, so that
 * it can be added to what words say and held against a floor. Written in the ranking language, as any Vespa has it.
 */
import type { CellType, DistanceMetric } from "./data-type.ts";

/** What is known of the vectors of a field. */
export interface VectorKind {
  readonly cell: CellType;
  readonly size: number;
  /** Euclidean, if the field says nothing. */
  readonly metric: DistanceMetric | undefined;
}

const BITS_OF_CELL = 8;

/**
 * The expression. A vector that is turned away, or a document without one, is not similar at all: 0. Of several vectors of a
 * document the nearest counts, as it does for `distance`.
 *
 * - `angular`: the distance is the angle. `prenormalized-angular`: it is what the cosine lacks to 1.
 * - `hamming` of bits: the share of bits that differ, times π, is about the angle of the vectors that the bits are signs of;
 *   of other cells: the share of cells that are equal.
 * - `dotproduct`: the product as a share of that of the query's vector with itself: the cosine where lengths are the same,
 *   more for longer vectors, as the metric has it.
 * - `euclidean`: for vectors as long as the query's, `1 - distance² / (2 length²)` is the cosine; from ½ on it falls more
 *   slowly, so that what is far stays in order.
 * - `geodegrees`: there is no angle; the closeness.
 */
export function similarityOf(field: string, { cell, size, metric = "euclidean" }: VectorKind): string {
  const distance = `distance(field, ${field})`;
  const closeness = `closeness(field, ${field})`;
  const squaredLength = `max(reduce(query(${field}) * query(${field}), sum), 1e-30)`;
  switch (metric) {
    case "angular":
      return `cos(min(${distance}, ${Math.PI / 2}))`;
    case "prenormalized-angular":
      return `max(0, 1 - ${distance})`;
    case "hamming":
      if (cell !== "int8") return `max(0, 1 - ${distance} / ${size})`;
      return `cos(min(${distance} * ${Math.PI / (BITS_OF_CELL * size)}, ${Math.PI / 2}))`;
    case "dotproduct":
      return `max(0, ${closeness} / ${squaredLength})`;
    case "euclidean": {
      const lack = `${distance} * ${distance} / (2 * ${squaredLength})`;
      return `if (${lack} < 0.5, 1 - ${lack}, 0.25 / (${lack}))`;
    }
    case "geodegrees":
      return closeness;
  }
}
