/**
 * The split of a shard: it gives half of its documents to a new one, while it serves all of them. It alone decides: until its
 * own commit the new shard serves nobody, and nobody is told of it; from that commit on it refuses what is not its own, and
 * says who has it. Whatever fails before is thrown away by the next attempt (docs/decisions/0079).
 */
import type { ShardBits } from "@brooklet/core";
import { afterSplit, movingHalf, type ShardRecord } from "./shard.ts";

/** Operations, each `text` id and `bytes` operation. */
export type MovedOperations = Uint8Array;

/** A page of documents that move. */
export interface MovedPage {
  readonly operations: MovedOperations;
  readonly documents: number;
  /** Where the next page begins. */
  readonly last: string;
  readonly complete: boolean;
}

/** What was written on documents that move. */
export type Touched = Pick<MovedPage, "operations" | "documents">;

/** The shard that is split. */
export interface SplitParent {
  readonly record: ShardRecord;
  /** Stores the number of the attempt, and keeps from here on what is committed on documents that move. */
  begin(attempt: number): Promise<void>;
  /** Documents that move, as they are now, in the order of their ids. */
  page(after: string): Promise<MovedPage>;
  /** What was committed since this was asked before; none of it is kept any more. */
  takeTouched(): Touched | Promise<Touched>;
  /** Has writes on documents that move wait; settles when those before are committed. */
  hold(): Promise<void>;
  /** In one transaction: what moves is not alive here any more, and the shard is this. Whoever waited is refused. */
  commit(after: ShardRecord): Promise<void>;
  /** Ends an attempt, however it went: nothing is kept, nobody waits. */
  end(): void | Promise<void>;
}

/** The shard that is made. It refuses an attempt that is not the last that it heard of, and is filled only until it is open. */
export interface SplitChild {
  /** Throws away whatever is there, and begins to be this. */
  prepare(shard: ShardBits, attempt: number): Promise<void>;
  /** Stores operations after those that came before: `number` is how many times that was. What comes out of turn is refused. */
  copy(attempt: number, number: number, operations: MovedOperations): Promise<void>;
  /** Takes no more: all of it is on stable storage. */
  open(attempt: number): Promise<void>;
}

/** Few enough to be waited for. */
const REST_DOCUMENTS = 256;
/** So often what was written meanwhile is copied before writers have to wait. */
const ROUNDS = 16;

/** Splits a shard. What it is afterwards. */
export async function split(parent: SplitParent, child: SplitChild, attempt: number): Promise<ShardRecord> {
  let copies = 0;
  const copy = async ({ documents, operations }: Touched): Promise<void> => {
    if (documents === 0) return;
    await child.copy(attempt, copies, operations);
    copies += 1;
  };
  try {
    const after = afterSplit(parent.record, attempt);
    await parent.begin(attempt);
    await child.prepare(movingHalf(parent.record), attempt);
    for (let from = "", more = true; more; ) {
      const page = await parent.page(from);
      await copy(page);
      // What was written since then: it is not held for longer than a page takes.
      await copy(await parent.takeTouched());
      [from, more] = [page.last, !page.complete];
    }
    for (let round = 0; round < ROUNDS; round += 1) {
      const touched = await parent.takeTouched();
      await copy(touched);
      if (touched.documents <= REST_DOCUMENTS) break;
    }
    await parent.hold();
    await copy(await parent.takeTouched());
    await child.open(attempt);
    await parent.commit(after);
    return after;
  } finally {
    await parent.end();
  }
}
