/** The loop between a task of the core and a store: what the task wants it is given, until it finishes. */
import { type BlockRef, encodeManifest, encodeZoneOffset, type Manifest, type Task } from "@brooklet/core";
import type { Deadline } from "./deadline.ts";
import { zoneOffset } from "./time-zone.ts";

/** Where the answers come from. */
export interface Source {
  manifest(layout: number, operation: number): Manifest;
  operation(number: number): Uint8Array;
  read(blocks: readonly BlockRef[]): readonly Uint8Array[];
}

/** Of a task that knows nothing of a partition: it wants nothing. */
export const NOWHERE: Source = {
  manifest: () => {
    throw new Error("a task without a partition wanted a manifest");
  },
  operation: () => {
    throw new Error("a task without a partition wanted an operation");
  },
  read: () => {
    throw new Error("a task without a partition wanted blocks");
  },
};

/**
 * Runs a task in one turn. When the deadline passes it is finished early, and its output says so. `start` is when the caller
 * began to wait: a task that knows its own time refuses what that was too long for, before it begins and when it is done.
 */
export function drive<Output>(task: Task<Output>, source: Source, deadline: Deadline, start?: number): Output {
  const startMs = start ?? performance.now();
  try {
    if (start !== undefined) task.elapsed(performance.now() - startMs);
    let more = true;
    while (more && !deadline.passed) {
      more = step(task, source);
      // A task that may answer with less knows by this when to stop.
      task.elapsed(performance.now() - startMs);
    }
    return task.finish();
  } finally {
    task[Symbol.dispose]();
  }
}

/** Runs a task in slices of about `sliceMs`, with a turn for others after each. `stop` is asked before each slice. */
export async function driveInSlices<Output>(
  task: Task<Output>,
  source: Source,
  pace: { readonly sliceMs: number; readonly turn: () => Promise<void>; readonly stop: () => boolean },
): Promise<Output | undefined> {
  try {
    for (let more = true; more; ) {
      if (pace.stop()) return undefined;
      const start = performance.now();
      do more = step(task, source);
      while (more && performance.now() - start < pace.sliceMs);
      if (more) await pace.turn();
    }
    return task.finish();
  } finally {
    task[Symbol.dispose]();
  }
}

/** Answers one want. Returns whether there was one. */
function step(task: Task<unknown>, source: Source): boolean {
  const want = task.wants();
  if (want === undefined) return false;
  if (want.kind === "manifest") task.give(encodeManifest(source.manifest(want.layout, want.operation)));
  if (want.kind === "zone") task.give(encodeZoneOffset(zoneOffset(want.name, want.at)));
  if (want.kind === "operation") task.give(source.operation(want.number));
  if (want.kind === "blocks") for (const block of source.read(want.blocks)) task.give(block);
  return true;
}
