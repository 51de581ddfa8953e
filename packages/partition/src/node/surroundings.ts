/** Node's turns and timers; Bun and Deno have the same. */
import { foldTogether } from "../maintenance/together.ts";
import type { Surroundings } from "../surroundings.ts";

/** What a process gives. */
export const nodeSurroundings: Surroundings = {
  schedule: (work) => {
    setImmediate(work);
  },
  turn: () => new Promise((resolve) => setImmediate(resolve)),
  every: (milliseconds, work) => {
    const timer = setInterval(work, milliseconds);
    timer.unref();
    return () => clearInterval(timer);
  },
  foldTogether,
  sharedMs: () => {
    const [seconds, nanoseconds] = process.hrtime();
    return seconds * 1_000 + nanoseconds / 1_000_000;
  },
};
