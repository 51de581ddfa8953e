/** What all objects of an isolate share: one core, small enough for the 128 MB that an isolate has. */
import { Core, instantiate } from "@brooklet/core";
import { Isolate, type Surroundings } from "@brooklet/partition";

/** Budget of the blocks that stay in memory. */
const CACHE_BYTES = 16 << 20;

/** Told of every failure that no caller sees. */
export function onProblem(problem: unknown): void {
  console.error(problem instanceof Error ? (problem.stack ?? problem.message) : String(problem));
}

/** A core that keeps nothing in memory: a package is validated in it. */
export function makeValidator(): Core {
  return new Core({ instantiate, cacheBytes: 0 });
}

/** The core of this isolate, made at its first request. */
export const isolate: Isolate = new Isolate(
  () =>
    new Core({
      instantiate,
      cacheBytes: CACHE_BYTES,
      sealKey: crypto.getRandomValues(new Uint8Array(16)),
      onTrap: onProblem,
    }),
);

/** A Worker's turns. It wakes by alarms: an interval would keep an object in memory, and be paid for. */
export const surroundings: Surroundings = {
  schedule: (work) => queueMicrotask(work),
  turn: () => scheduler.wait(0),
  every: () => () => undefined,
  sharedMs: () => performance.now(),
};
