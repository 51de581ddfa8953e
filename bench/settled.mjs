/** Waits until the partitions of a data directory are settled. */
import { readdirSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

// It belongs to the package that stores.
const Database = createRequire(new URL("../packages/brooklet/package.json", import.meta.url))("better-sqlite3");
const PATIENCE_MS = 180_000;
const PATIENCE_OF_LARGE_MS = 600_000;
/**
 * How many seconds nothing may be merged or split for partitions that have more than a segment each to be at rest: what is small is merged when
 * it rested for twenty seconds (`SETTLE_MS`), and until then nothing happens to it either.
 */
const QUIET_SECONDS = 40;

/** The segments of a data directory, each as `BUCKET/PARTITION:NUMBER:DOCUMENTS`. */
function segmentsOf(path) {
  const buckets = join(path, "buckets");
  const names = readdirSync(buckets).filter((name) => name.endsWith(".sqlite"));
  return names.flatMap((name) => {
    const database = new Database(join(buckets, name), { readonly: true });
    try {
      const segments = database.prepare("SELECT partition || ':' || number || ':' || documents FROM segment").pluck();
      return segments.all().map((segment) => `${name}/${segment}`);
    } finally {
      database.close();
    }
  });
}

/** How many partitions these segments are of. */
const partitionCount = (segments) => new Set(segments.map((segment) => segment.split(":", 1)[0])).size;

/** In how many partitions of a data directory there are documents that are no tail any more. */
export function partitionsOf(path) {
  return partitionCount(segmentsOf(path));
}

/**
 * Waits until nothing was merged or split for so many seconds: for groups so large that they have several segments. Returns when the last
 * was, by the clock of `performance`.
 */
export async function rested(path, seconds) {
  const until = performance.now() + PATIENCE_OF_LARGE_MS;
  let [seen, quiet, sinceMs] = ["", 0, performance.now()];
  while (quiet < seconds) {
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    const now = segmentsOf(path).join();
    if (now !== seen) [seen, quiet, sinceMs] = [now, 0, performance.now()];
    else quiet += 1;
    if (performance.now() > until) throw new Error(`it does not come to rest in ${PATIENCE_OF_LARGE_MS} ms`);
  }
  return sinceMs;
}

/**
 * Settles when `partitions` have one segment each, which is how a small one rests, or have segments that nothing happens to any more, as those
 * that are larger than one segment: one with two may stand beside one that has none yet. `meanwhile` is done over and over until then.
 */
export async function settled(path, partitions, meanwhile) {
  const until = performance.now() + PATIENCE_MS;
  let [seen, quiet] = ["", 0];
  for (;;) {
    const lookAgain = performance.now() + 1_000;
    while (performance.now() < lookAgain) {
      await meanwhile();
      // Without threads a search never waits, and the timers of maintenance would starve.
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    const segments = segmentsOf(path);
    const now = segments.join();
    if (now === seen) quiet += 1;
    else [seen, quiet] = [now, 0];
    const count = partitionCount(segments);
    if (count === partitions && (segments.length === partitions || quiet >= QUIET_SECONDS)) return;
    if (performance.now() > until)
      throw new Error(`${segments.length} segments, in ${count} of ${partitions} partitions`);
  }
}
