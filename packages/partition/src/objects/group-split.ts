/** The split of a group's object: half of its documents go to another object, which is called as any is. */
import type { BucketHost } from "../bucket-host.ts";
import type { PartitionKey } from "../cluster.ts";
import { movingHalf, objectName, offspring, SHARD_BITS_MAX, type ShardRecord } from "../shards/shard.ts";
import type { ShardGuard } from "../shards/shard-guard.ts";
import { type SplitChild, split } from "../shards/split.ts";
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
