/**
 * Files of a bucket that nothing names: a server that was killed, or lost the bucket, stored them, and never what would have named them;
 * or they came when their server had given them up. What is there when it is looked may still come to be named by its writer, if that one
 * owns the bucket; so the owner looks, stores a snapshot, and has it proven that it owned the bucket all the while: who wrote it before
 * cannot name anything any more, neither in the log nor in a snapshot of its own. What the owner itself stored before it looked was
 * submitted before that snapshot was taken, or is of one before it: it is named by then, or never will be.
 */
import type { BucketLog } from "./bucket-log.ts";
import type { BucketReplica } from "./bucket-replica.ts";
import type { ObjectFiles } from "./object-store.ts";
import { type Again, namesBelow } from "./store-records.ts";

/** Where it is looked. */
export interface StrayFilesOptions {
  readonly files: ObjectFiles;
  readonly log: BucketLog;
  readonly replica: BucketReplica;
  /** What the names of the bucket's files begin with. */
  readonly prefix: string;
  /** Files of the bucket that snapshots of the store name; nothing: that is not known. */
  readonly held: () => Promise<ReadonlySet<string> | undefined>;
  readonly again: Again;
}

/** Removes them, if this process owns the bucket all the while. How many there were. */
export async function removeStrayFiles({
  files,
  log,
  replica,
  prefix,
  held,
  again,
}: StrayFilesOptions): Promise<number> {
  const { epoch } = log;
  if (!log.isOwner) return 0;
  const there = await namesBelow(files, prefix, again);
  const known = await replica.named();
  const found = there.filter((name) => !known.has(name));
  if (found.length === 0) return 0;
  await log.collect();
  const named = await replica.named();
  // A snapshot is kept of what was confirmed, by who owned the bucket when it was: that nobody else owns it now is asked for.
  await log.fresh();
  if (!log.isOwner || log.epoch !== epoch) return 0;
  // After the bucket's snapshot: whoever begins to take one of the store from here on finds that one, or a later.
  const kept = await held();
  if (kept === undefined) return 0;
  const stray = found.filter((name) => !named.has(name) && !kept.has(name));
  for (const name of stray) await again(() => files.remove(name));
  return stray.length;
}
