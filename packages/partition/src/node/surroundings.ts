/**
 * Node's turns and timers; Bun and Deno have the same. A turn is Node's own, also where a test has put another clock in the place of the
 * global timers, or jsdom has taken `setImmediate` away: work goes on while such a clock stands still. What waits for a time goes by that clock.
 */
import { setImmediate } from "node:timers";
import { foldTogether } from "../maintenance/together.ts";
import type { Surroundings } from "../surroundings.ts";
import { Turns } from "./turns.ts";

const { hrtime } = process;

function monotonicMs([seconds, nanoseconds]: [number, number]): number {
  return seconds * 1_000 + nanoseconds / 1_000_000;
}

/** All of this thread: the commits of many buckets, and whoever gave others a turn. */
const turns = new Turns({ immediate: setImmediate, nowMs: () => monotonicMs(hrtime()) });

/** What a process gives. */
export const nodeSurroundings: Surroundings = {
  schedule: (work) => turns.add(work),
  turn: () => new Promise((resolve) => turns.add(resolve)),
  every: (milliseconds, work) => {
    const timer: NodeJS.Timeout | number = setInterval(work, milliseconds);
    // A page's are numbers, and so are those of jsdom.
    if (typeof timer === "object") timer.unref();
    return () => clearInterval(timer);
  },
  foldTogether,
  sharedMs: () => monotonicMs(process.hrtime()),
};
