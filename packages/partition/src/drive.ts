/** The loop between a task of the core and a store: what the task wants it is given, until it finishes. */

import {
  type BlockRef,
  encodeManifest,
  encodeZoneOffset,
  type Manifest,
  type RunsWanted,
  type Task,
  type Want,
} from "@brooklet/core";
import type { BlockReceiver } from "@brooklet/store";
import { clock, type Work } from "./clock.ts";
import type { Deadline } from "./deadline.ts";
import { zoneOffset } from "./time-zone.ts";

/** Where the answers come from. */
export interface Source {
  manifest(layout: number, operation: number): Manifest;
  operation(number: number): Uint8Array;
  deliver(blocks: readonly BlockRef[], receiver: BlockReceiver): void;
}

/** Of a task that knows nothing of a partition: it wants nothing. */
export const NOWHERE: Source = {
  manifest: () => {
    throw new Error("a task without a partition wanted a manifest");
  },
  operation: () => {
    throw new Error("a task without a partition wanted an operation");
  },
  deliver: () => {
    throw new Error("a task without a partition wanted blocks");
  },
};

/**
 * Runs a task in one turn. When the deadline passes it is finished early, and its output says so. `start` is when the caller
 * began to wait: a task that knows its own time refuses what that was too long for, before it begins and when it is done.
 */
export function drive<Output>(task: Task<Output>, source: Source, deadline: Deadline, start?: number): Output {
  try {
    if (advance(task, source, deadline, start) !== undefined) throw noModels();
    return task.finish();
  } finally {
    task[Symbol.dispose]();
  }
}

/**
 * Runs a task in one turn, as far as it comes: until it can be finished, which it is early when the deadline passes, or until
 * it lacks outputs of models. The task stays the caller's.
 */
export function advance(
  task: Task<unknown>,
  source: Source,
  deadline: Deadline,
  start?: number,
): RunsWanted | undefined {
  const startMs = start ?? clock.now();
  if (start !== undefined) task.elapsed(clock.now() - startMs);
  while (!deadline.passed) {
    const want = task.wants();
    if (want === undefined) return undefined;
    if (want.kind === "models") return want.wanted;
    clock.worked(answer(want, task, source));
    // A task that may answer with less knows by this when to stop.
    task.elapsed(clock.now() - startMs);
  }
  return undefined;
}

/**
 * Runs a task that reads in one turn, and then writes what it has read: from its first pause on it wants nothing of the source, so
 * that others may have a turn in each, after slices of about `sliceMs`.
 */
export async function driveInTurns<Output>(
  task: Task<Output>,
  source: Source,
  pace: {
    readonly deadline: Deadline;
    readonly start: number;
    readonly sliceMs: number;
    readonly turn: () => Promise<void>;
  },
): Promise<Output> {
  try {
    let sliceStart = clock.now();
    task.elapsed(sliceStart - pace.start);
    while (!pace.deadline.passed) {
      const want = task.wants();
      if (want === undefined) break;
      if (want.kind === "models") throw noModels();
      clock.worked(answer(want, task, source));
      if (want.kind === "pause" && clock.now() - sliceStart >= pace.sliceMs) {
        await pace.turn();
        sliceStart = clock.now();
      }
      task.elapsed(clock.now() - pace.start);
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
      const start = clock.now();
      do more = step(task, source);
      while (more && clock.now() - start < pace.sliceMs);
      if (more) await pace.turn();
    }
    return task.finish();
  } finally {
    task[Symbol.dispose]();
  }
}

const noModels = (): Error => new Error("a task that may not wait wanted models to be run");

/** Answers one want. Returns whether there was one. */
function step(task: Task<unknown>, source: Source): boolean {
  const want = task.wants();
  if (want === undefined) return false;
  clock.worked(answer(want, task, source));
  return true;
}

/** Gives a task what it wants; what it had to do with. */
function answer(want: Want, task: Task<unknown>, source: Source): Work {
  let bytes = 0;
  const give = (answer: Uint8Array): void => {
    bytes += answer.length;
    task.give(answer);
  };
  if (want.kind === "manifest") give(encodeManifest(source.manifest(want.layout, want.operation)));
  if (want.kind === "zone") give(encodeZoneOffset(zoneOffset(want.name, want.at)));
  if (want.kind === "operation") give(source.operation(want.number));
  if (want.kind === "blocks") {
    const fill = (length: number, write: (room: Uint8Array) => boolean): boolean => {
      const isFilled = task.fill(length, write);
      if (isFilled) bytes += length;
      return isFilled;
    };
    source.deliver(want.blocks, { give, fill });
  }
  return { bytes, paused: want.kind === "pause" };
}
