/** Fields of tensors: vectors to search near to, and tensors for ranking. Hits leave them out unless they are asked for. */
import type { CellType, Dimensions } from "./data-type.ts";
import { invalidArgument } from "./error.ts";
import { type Field, makeField } from "./field.ts";
import type { VectorConditions } from "./field-condition.ts";
import { type Numbers, type TensorValue, tensorCodec } from "./tensor.ts";

/** How far two vectors are apart. */
export type DistanceMetric =
  | "euclidean"
  | "angular"
  | "dotproduct"
  | "prenormalized-angular"
  | "hamming"
  | "geodegrees";

type TensorField<Kind extends "vector" | "other", Output, Input> = Field<{
  readonly kind: Kind;
  readonly output: Output;
  readonly input: Input;
  readonly optional: false;
  readonly inHits: false;
  readonly conditions: Kind extends "vector" ? VectorConditions : unknown;
}>;

/** A field of vectors. */
export type VectorField = TensorField<"vector", readonly number[], Numbers>;

/** Settings of a vector. */
export interface VectorOptions {
  /** What its numbers are stored as; `float` by default. */
  readonly cell?: CellType;
  /** How far two are apart; `angular` by default, which is right for most embeddings. */
  readonly metric?: DistanceMetric;
}

/** A vector of so many numbers, to search near to. */
export function vector(dimensions: number, options: VectorOptions = {}): VectorField {
  const { cell = "float", metric = "angular" } = options;
  return tensorField(cell, { x: dimensions }, [`attribute { distance-metric: ${metric} }`]);
}

/**
 * A tensor with named dimensions: sizes, or `"mapped"` for one whose labels are texts; as in
 * `tensor("float", { chunk: "mapped", x: 384 })`.
 */
export function tensor<const D extends Dimensions>(
  cell: CellType,
  dimensions: D,
): TensorField<"other", TensorValue<D, readonly number[]>, TensorValue<D>> {
  return tensorField(cell, dimensions, []);
}

function tensorField<F extends Field>(cell: CellType, dimensions: Dimensions, settings: readonly string[]): F {
  for (const [name, size] of Object.entries(dimensions)) {
    if (size !== "mapped" && !(Number.isInteger(size) && size > 0)) {
      throw invalidArgument(`dimension '${name}' has size ${size}: give a positive integer, or "mapped"`);
    }
  }
  const type = { kind: "tensor", cell, dimensions } as const;
  return makeField({ type, indexing: ["attribute"], settings }, tensorCodec(dimensions));
}
