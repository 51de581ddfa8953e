/** What is told of a model to whoever operates it: whether it can be asked, why not, and what it was asked. */
import type { CallFigures, Calls, WaitingItems } from "@brooklet/wire";

/**
 * What a model is: an `embedder` in this process, an embedder behind an `endpoint`, an `onnx` model of a rank profile, or a `generator`,
 * a language model that makes values of fields.
 */
export type ModelKind = "embedder" | "endpoint" | "onnx" | "generator";

/**
 * `ready`: it is loaded, or needs no loading. `unloaded`: it is here, and the first who needs it loads it. `failed`: it is not here, is
 * another one than was meant, or the runtime refuses it.
 */
export type Standing = "ready" | "unloaded" | "failed";

/** What a model tells of itself. What it does not know is not there. */
export interface ModelFigures {
  /** Sessions of the runtime that hold it; none: it is not loaded. Nothing: it needs no session. */
  readonly sessions?: number;
  /** Those of them whose run does not return. */
  readonly sessionsGivenUp?: number;
  /** Why no session could be opened when that was last tried. */
  readonly problem?: string;
  /** How many values its vectors have. */
  readonly dimensions?: number;
  /** Runs of the runtime, or requests of an endpoint. */
  readonly batches?: number;
  /** Tokens that were read. */
  readonly tokens?: number;
  /** Items that wait, by purpose. */
  readonly waits?: WaitingItems;
}

/** The state of one model. */
export interface ModelState {
  /** The component id; of a model of a rank profile its file, or its address. */
  readonly id: string;
  readonly kind: ModelKind;
  /** The type of its component. */
  readonly type?: string;
  readonly state: Standing;
  /** Why it failed, in a sentence. */
  readonly problem?: string;
  /** How many values its vectors have, once that is known. */
  readonly dimensions?: number;
  readonly sessions?: number;
  readonly sessionsGivenUp?: number;
  readonly batches?: number;
  readonly tokens?: number;
  /** Of queries and of documents. */
  readonly calls: readonly CallFigures[];
}

/** What an embedder is whose component has this type. */
export function kindOf(type: string): ModelKind {
  return type === "openai-embedder" ? "endpoint" : "embedder";
}

/** What is known of a model before it says anything itself. */
export type ModelName = Pick<ModelState, "id" | "kind" | "type">;

/** The state of a model that there is. */
export function stateOf(name: ModelName, { waits, problem, ...counts }: ModelFigures, calls: Calls): ModelState {
  const told = { ...counts, calls: calls.figures(waits) };
  if (counts.sessions !== 0) return { ...name, state: "ready", ...told };
  return problem === undefined
    ? { ...name, state: "unloaded", ...told }
    : { ...name, state: "failed", problem, ...told };
}

/** The state of a model that was not opened, or could not be. */
export function stateOfUnopened(name: ModelName, problem: string | undefined): ModelState {
  if (problem === undefined) return { ...name, state: "unloaded", calls: [] };
  return { ...name, state: "failed", problem, calls: [] };
}
