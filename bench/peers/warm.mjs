/**
 * How long who is asked is warmed before it is measured, and it is one rule for all of them: until what its searches take stands still,
 * for a bounded time. What V8 compiles, JavaScript and WebAssembly alike, is compiled better while it is used: a peer that is run by
 * it takes two to three times as long for its first two thousand searches. A library in machine code stands still after as many windows
 * as have to be compared at least, which fill its caches.
 */
import { median } from "../goals/figures.mjs";

/** Windows that have to be as good as those before them. */
const LAST = 5;
/** What is no gain any more. */
const HARDLY = 0.97;

/** Whether the best of the last windows is hardly better than what there was before them. */
export function standsStill(medians) {
  if (medians.length <= LAST) return false;
  return Math.min(...medians.slice(-LAST)) > HARDLY * Math.min(...medians.slice(0, -LAST));
}

/**
 * Asks for windows of `windowMs` until their medians stand still or `mostMs` have passed; all of a hundred queries are asked in any case.
 * `ask(from, count)` answers with the milliseconds of each search. The median of the last window.
 */
export async function warmed(ask, { windowMs, mostMs }) {
  const until = performance.now() + mostMs;
  const medians = [];
  let [from, count] = [0, 20];
  do {
    const { ms } = await ask(from, count);
    from += count;
    medians.push(median(ms));
    count = Math.max(20, Math.min(5_000, Math.round(windowMs / medians.at(-1))));
  } while (from < 100 || (performance.now() < until && !standsStill(medians)));
  return medians.at(-1);
}
