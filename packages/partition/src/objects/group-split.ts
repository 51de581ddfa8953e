/** The split of a group's object: half of its documents go to another object, which is called as any is. */
import type { BucketHost } from "../bucket-host.ts";
import type { PartitionKey } from "../cluster.ts";
import {
  ANY_ATTEMPT,
  movingHalf,
  objectName,
  offspring,
  parentOf,
  SHARD_BITS_MAX,
  type ShardRecord,
  StaleAttempt,
} from "../shards/shard.ts";
import type { ShardGuard } from "../shards/shard-guard.ts";
import { type SplitChild, split } from "../shards/split.ts";
import type { GroupObjectOptions } from "./group-options.ts";
import type { ShardToErase } from "./group-stored.ts";
import { MESSAGES, type ObjectPort } from "./object-calls.ts";

/** The object that is split. */
export interface SplitObject {
  readonly key: PartitionKey;
  readonly host: BucketHost;
  readonly guard: ShardGuard;
  readonly port: ObjectPort;
  /** The application that it has by now. */
  readonly application: () => number;
  readonly onProblem: (error: unknown) => void;
}

/** Whether a shard may give half of its documents away. */
export function isDivisible({ isOpen, isErased, bits }: ShardRecord): boolean {
  return isOpen && isErased !== true && bits < SHARD_BITS_MAX;
}

/** Erases the shards that came from one. */
export async function dropOffspring(
  { key, port }: Pick<SplitObject, "key" | "port">,
  record: ShardRecord,
): Promise<void> {
  for (const { number, made } of offspring(record)) await port.group(objectName(key, number)).dropShard(made);
}

/** The last attempt to split a shard that stays; 0: there was none. */
export function lastAttemptOf(record: ShardRecord | undefined): number {
  return record === undefined || record.isErased === true ? 0 : record.attempt;
}

/**
 * Reads what an attempt may throw away. Whether a shard that cannot be read is of a later one is known by the shard that it came from; then
 * nothing of it is lost: another release may read it, or what it was is brought back.
 */
export async function readUnlessLater(
  { key, shard = 0, port }: Pick<GroupObjectOptions, "key" | "shard" | "port">,
  read: () => ShardToErase,
  attempt: number,
): Promise<ShardToErase> {
  const found = read();
  if (found.damage === undefined || attempt === ANY_ATTEMPT) return found;
  const last = await port.group(objectName(key, parentOf(shard))).lastAttempt();
  if (last > attempt) throw new StaleAttempt(attempt);
  return read();
}

/** Gives half of the documents to a new shard. Whether it did; why not is told to the operator. */
export async function splitObject({ key, host, guard, port, application, onProblem }: SplitObject): Promise<boolean> {
  const { record } = guard;
  const name = objectName(key, movingHalf(record).number);
  const child: SplitChild = {
    prepare: (shard, attempt) => port.group(name).prepareShard(shard, attempt, application(), MESSAGES),
    copy: (attempt, number, operations) => port.group(name).copyShard(attempt, number, operations, application()),
    open: (attempt) => port.group(name).openShard(attempt),
  };
  try {
    // Attempts are told apart by time: one of a group that was erased is older than any of the group after it.
    const attempt = Math.max(Date.now(), record.attempt + 1, record.made + 1);
    await split(host.shard(key).splitting(guard), child, attempt);
    return true;
  } catch (error) {
    onProblem(error);
    return false;
  }
}
