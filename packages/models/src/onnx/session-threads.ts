/** Threads of sessions, as services.xml and schemas write them. */
import { availableParallelism } from "node:os";
import type { SessionThreads } from "./recipe.ts";

/** A number of threads; a negative one is that part of the cores: -4 is a quarter. */
export function shareOfCores(threads: number): number {
  return threads < 0 ? Math.max(1, Math.ceil(availableParallelism() / -threads)) : Math.max(1, threads);
}

/** The threads that an `onnx-model` of a schema asks for; nothing: the pool adapts. */
export function threadsOfModel(settings: ReadonlyMap<string, string>): SessionThreads | undefined {
  const isParallel = settings.get("execution-mode") === "parallel";
  const [intraOp, interOp] = [settings.get("intraop-threads"), settings.get("interop-threads")];
  if (intraOp === undefined && interOp === undefined && !isParallel) return undefined;
  return {
    intraOp: shareOfCores(Number(intraOp ?? -4)),
    interOp: shareOfCores(Number(interOp ?? (isParallel ? -4 : 1))),
    executionMode: isParallel ? "parallel" : "sequential",
  };
}
