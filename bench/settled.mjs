/** Waits until the partitions of a data directory are settled: one segment each. That is how one stands that rests. */
import { readdirSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

// It belongs to the package that stores.
const Database = createRequire(new URL("../packages/brooklet/package.json", import.meta.url))("better-sqlite3");
const PATIENCE_MS = 180_000;

/** How many segments there are in a data directory. */
function segmentsOf(path) {
  const buckets = join(path, "buckets");
  const counts = readdirSync(buckets).filter((name) => name.endsWith(".sqlite"));
  return counts.reduce((sum, name) => {
    const database = new Database(join(buckets, name), { readonly: true });
    try {
      return sum + database.prepare("SELECT count(*) AS count FROM segment").get().count;
    } finally {
      database.close();
    }
  }, 0);
}

/** Settles when there are `partitions` segments. `meanwhile` is done over and over until then. */
export async function settled(path, partitions, meanwhile) {
  const until = performance.now() + PATIENCE_MS;
  for (;;) {
    const lookAgain = performance.now() + 1_000;
    while (performance.now() < lookAgain) {
      await meanwhile();
      // Without threads a search never waits, and the timers of maintenance would starve.
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    const segments = segmentsOf(path);
    if (segments === partitions) return;
    if (performance.now() > until) throw new Error(`${segments} segments of ${partitions} partitions`);
  }
}
