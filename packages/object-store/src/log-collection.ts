/** The collection of a log: what its snapshot holds is removed from it, but where the writer changes. */
import { openObject, type Snapshot } from "./log-reader.ts";
import type { ObjectLog } from "./object-store.ts";
import type { Again } from "./store-records.ts";

/**
 * Removes the places behind the snapshot before, up to the last that the one which is stored now holds. Places are never used again: what
 * is written to one that was removed is under the snapshot, and counts for nobody (docs/decisions/0194).
 */
export async function collectLog(
  log: ObjectLog,
  name: string,
  before: Snapshot,
  upTo: number,
  again: Again,
): Promise<void> {
  let { writer } = before;
  for (let at = before.upTo + 1; at <= upTo; at += 1) {
    const bytes = await again(() => log.read(name, at));
    // Another collector was here.
    if (bytes === undefined) continue;
    const previous = writer;
    writer = (await openObject(bytes)).written.writer;
    // Where the writer changes the one before may still want to write: that place, which is a seal, stays taken for ever.
    if (writer === previous) await again(() => log.remove(name, at));
  }
}
