/**
 * Where a model runtime plugs in. An embedder turns texts into numbers; what a schema makes of them (cell type, bits,
 * labels of a tensor) is decided by the core.
 */
import type { ModelFigures } from "./model-state.ts";
import type { Purpose } from "./purpose.ts";

export type { Purpose } from "./purpose.ts";

/** What an embedder makes of one text. */
export type Embedding =
  /** One vector: the first values of what the model gives, as many as were asked for. */
  | { readonly shape: "vector"; readonly values: Float32Array }
  /** One vector of `width` values for each token, one after another; the label of a row is its number. */
  | { readonly shape: "rows"; readonly width: number; readonly values: Float32Array }
  /** A weight for each label. */
  | { readonly shape: "weights"; readonly labels: readonly string[]; readonly values: Float32Array };

/** Texts to embed together. */
export interface EmbedRequest {
  readonly texts: readonly string[];
  readonly purpose: Purpose;
  /** How many values of each vector are wanted. No meaning for an embedder of shape `weights`. */
  readonly dimensions: number;
  readonly deadline: Deadline;
}

/** Until when an answer is of use. */
export interface Deadline {
  /** Milliseconds left; none or fewer: it has passed. */
  leftMs(): number;
  /** Aborted when nobody waits any longer. */
  readonly signal?: AbortSignal;
}

/** A deadline `ms` milliseconds from now. */
export function deadlineIn(ms: number, signal?: AbortSignal): Deadline {
  const end = performance.now() + ms;
  return { leftMs: () => end - performance.now(), ...(signal === undefined ? {} : { signal }) };
}

/** A model that embeds texts, under the component id by which schemas and queries name it. */
export interface Embedder {
  /** The component id. */
  readonly id: string;
  /** What it gives for a text. */
  readonly shape: Embedding["shape"];
  /** How many values its vectors have at most, if that is known before it is asked. */
  readonly dimensionsMax?: number;
  /** What the operator should know: that it knows no meaning, or that texts leave the machine. */
  readonly notice?: string;
  /** Whether texts are sent to somebody else's machine: it is told as an endpoint. */
  readonly isRemote?: boolean;
  /**
   * Embeds texts; the answer has an embedding for each, in order, and that of a text does not depend on the others.
   *
   * @throws ServiceError `OVERLOADED` (429) when it would come too late, `TIMED_OUT` (504) when it did,
   *   `BAD_REQUEST` when more dimensions are asked for than the model has, `INTERNAL` when the model failed.
   */
  embed(request: EmbedRequest): Promise<readonly Embedding[]>;
  /**
   * Gets ready for the first text, if that takes time: a model is read. No text of anybody is embedded for it, and nothing leaves
   * the machine.
   */
  warm?(): Promise<void>;
  /** What it knows of itself, for metrics: sessions, batches, tokens. Calls, failures and times are counted around it. */
  figures?(): ModelFigures;
  /** Ends what runs and frees the model. Nothing may be asked afterwards. */
  close(): Promise<void>;
}

const SHAPES: readonly unknown[] = ["vector", "rows", "weights"] satisfies Embedding["shape"][];

/** What something lacks to be an embedder; nothing: it is one. */
export function lackOf(given: unknown): keyof Embedder | undefined {
  const { id, shape, embed, close } = Object(given) as Readonly<Record<keyof Embedder, unknown>>;
  if (typeof id !== "string" || id === "") return "id";
  if (!SHAPES.includes(shape)) return "shape";
  if (typeof embed !== "function") return "embed";
  return typeof close === "function" ? undefined : "close";
}
