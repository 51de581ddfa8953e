/** Fields of tensors: vectors to search near to, and tensors for ranking. Hits leave them out unless they are asked for. */

import { demandKind, invalidArgument, type Kind, refuseUnknown } from "../error.ts";
import { type Chunking, chunkerOf } from "./chunk.ts";
import type { CellType, Dimensions, DistanceMetric } from "./data-type.ts";
import { checkEmbedderName } from "./embedder-component.ts";
import { type Field, makeField } from "./field.ts";
import type { VectorConditions } from "./field-condition.ts";
import { type Numbers, type TensorValue, tensorCodec } from "./tensor.ts";

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

/**
 * A vector of so many numbers, to search near to.
 *
 * @example
 * ```ts
 * const note = schema("note", { body: text(), vec: vector(384) });
 * await alice.search(note, { near: { field: "vec", vector: new Float32Array(384) } });
 * ```
 */
export function vector(dimensions: number, options: VectorOptions = {}): VectorField {
  refuseUnknown("vector", options, ["cell", "metric"]);
  const { cell = "float", metric = "angular" } = options;
  return tensorField(cell, { x: dimensions }, metric);
}

/** A field of vectors that the server makes. Hits have it if it is asked for; documents do not. */
export type EmbeddingField = Field<{
  readonly kind: "vector";
  readonly output: readonly number[];
  readonly input: never;
  readonly optional: true;
  readonly inHits: false;
  readonly conditions: VectorConditions;
}>;

/** What a vector is made of, and by which embedder. */
export interface EmbeddingOptions extends VectorOptions {
  /** The text or string field that is embedded; of several, their texts one after another. */
  readonly from: string | readonly string[];
  /** The embedder, by its name in the application. */
  readonly model: string;
  /** How many numbers the vector has: as many as the model gives, or fewer if it is made for that. 384 by default. */
  readonly dimensions?: number;
}

/** A vector for each piece of a text, by the number of the piece. */
export type ChunkEmbeddingField = Field<{
  readonly kind: "vector";
  readonly output: Readonly<Record<string, readonly number[]>>;
  readonly input: never;
  readonly optional: true;
  readonly inHits: false;
  readonly conditions: VectorConditions;
}>;

/** What the vectors of a text's pieces are made of. */
export interface ChunkEmbeddingOptions extends EmbeddingOptions {
  readonly from: string;
  /** How the text is cut: as in a field of `chunks()`, so that its pieces are found in what hits show. */
  readonly chunk: Chunking;
}

/** Numbers of a vector of most small models for sentences. */
const DIMENSIONS_DEFAULT = 384;

/**
 * A vector that an embedder makes of other fields when a document is put, to search near to by text:
 * `near: { field: "vec", text: "unpaid invoice" }`. With `chunk` each piece of the text has a vector of its own, and a document
 * is as near as its nearest piece.
 *
 * @example
 * ```ts
 * const note = schema("note", { body: text(), vec: embedding({ from: "body", model: "minilm" }) });
 * await alice.search(note, { near: { field: "vec", text: "unpaid invoice" } });
 * ```
 */
export function embedding(options: ChunkEmbeddingOptions): ChunkEmbeddingField;
export function embedding(options: EmbeddingOptions): EmbeddingField;
export function embedding(
  options: EmbeddingOptions & { readonly chunk?: Chunking },
): EmbeddingField | ChunkEmbeddingField {
  refuseUnknown("embedding", options, ["from", "model", "dimensions", "cell", "metric", "chunk"]);
  const { from, model, dimensions = DIMENSIONS_DEFAULT, cell = "float", metric = "angular" } = options;
  checkEmbedderName(model);
  const sources = Array.isArray(from) ? from : [from];
  if (sources.length === 0) throw invalidArgument("embedding needs a field to be made from");
  const { chunk } = options;
  const shape: Dimensions = chunk === undefined ? { x: dimensions } : { chunk: "mapped", x: dimensions };
  const plain = tensorField(cell, shape, metric);
  const cut = chunk === undefined ? {} : { chunker: chunkerOf(chunk) };
  const codec = chunk === undefined ? plain.codec : { ...plain.codec, near: tensorCodec(cell, { x: dimensions }) };
  return makeField({ ...plain.definition, made: { from: sources, ...cut, embedder: model } }, codec, true);
}

/**
 * A tensor with named dimensions: sizes, or `"mapped"` for one whose labels are texts; as in
 * `tensor("float", { chunk: "mapped", x: 384 })`.
 *
 * @example
 * ```ts
 * const page = schema("page", { tokens: tensor("float", { token: "mapped", x: 128 }) });
 * ```
 */
export function tensor<const D extends Dimensions>(
  cell: CellType,
  dimensions: D,
): TensorField<"other", TensorValue<D, readonly number[]>, TensorValue<D>> {
  return tensorField(cell, dimensions);
}

const CELLS: Kind = ["float", "double", "bfloat16", "int8"] satisfies readonly CellType[];

function tensorField<F extends Field>(cell: CellType, dimensions: Dimensions, metric?: DistanceMetric): F {
  demandKind("the dimensions of a tensor", dimensions, "an object");
  demandKind("cell", cell, CELLS);
  for (const [name, size] of Object.entries(dimensions)) {
    if (size !== "mapped" && !(Number.isInteger(size) && size > 0)) {
      throw invalidArgument(`dimension '${name}' has size ${size}: give a positive integer, or "mapped"`);
    }
  }
  const type = { kind: "tensor", cell, dimensions } as const;
  const measured = metric === undefined ? {} : { metric };
  const settings = metric === undefined ? [] : [`attribute { distance-metric: ${metric} }`];
  return makeField({ type, indexing: ["attribute"], settings, ...measured }, tensorCodec(cell, dimensions));
}
