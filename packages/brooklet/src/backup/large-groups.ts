/** What a backup has of groups with several shards: all of each, or nothing. */
import { type StoredShards, shownPartition, storedShards } from "@brooklet/partition";
import type { NotedPartition } from "@brooklet/store";
import { BackupFailure } from "./backup-failure.ts";

/** What of large groups is in a backup. */
export interface LargeGroups {
  /** How many there are, and how many shards they have together. */
  readonly counts: { readonly largeGroups: number; readonly shards: number };
  /** Whether a partition is left out: it answers nobody, it is of a group whose keys are going, or its own key is gone. */
  readonly isLeftOut: (partition: string) => boolean;
}

/**
 * Looks at what is noted in all buckets. `hasKey`: of an encrypted directory, whether a partition has a key; a group of which one is gone is
 * being erased. Throws where a shard is not there.
 */
export function largeGroups(
  noted: readonly NotedPartition[],
  hasKey: (partition: string) => boolean = () => true,
): LargeGroups {
  const stored = storedShards(noted);
  demandWhole(stored);
  // Nothing was encrypted for what is empty, so there is no key.
  const empty = new Set(noted.filter(({ isEmpty }) => isEmpty).map(({ key }) => key));
  const isReadable = (partition: string): boolean => empty.has(partition) || hasKey(partition);
  const [leftOut, taken] = [new Set(stored.unreached), new Set<string>()];
  const counts = { largeGroups: 0, shards: 0 };
  for (const names of stored.groups.values()) {
    const isWhole = names.every(isReadable);
    for (const name of names) (isWhole ? taken : leftOut).add(name);
    if (!isWhole) continue;
    counts.largeGroups += 1;
    counts.shards += names.length;
  }
  // Of a group that is taken a key may go from here on: it was decided for all of its shards.
  const isGone = (partition: string): boolean => !taken.has(partition) && !isReadable(partition);
  return { counts, isLeftOut: (partition) => leftOut.has(partition) || isGone(partition) };
}

function demandWhole({ faults }: StoredShards): void {
  const [fault] = faults;
  if (fault !== undefined)
    throw new BackupFailure(`${shownPartition(fault.name)}: ${fault.what}: brooklet check says more`);
}
