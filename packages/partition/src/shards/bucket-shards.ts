/**
 * The shards that stand in the buckets of one thread: partitions like others, under names of their own, each with a guard that says
 * which documents are its. What a group has in other threads is not known here; who asks says which shard is meant, and is told what
 * that one is.
 */
import type { Load, ShardBits } from "@brooklet/core";
import { type Bucket, StoreError } from "@brooklet/store";
import type { Gone as Caller } from "../cancellation.ts";
import type {
  Answer,
  Erasure,
  GetRequest,
  GroupUsage,
  LoadOutcome,
  OperationRequest,
  Outcome,
  PartitionKey,
  Visit,
  VisitPage,
  VisitStep,
} from "../cluster.ts";
import { serviceError } from "../failure.ts";
import type { Maintenance } from "../maintenance.ts";
import type { Partition } from "../partition.ts";
import type { BucketFound } from "../query/bucket-search.ts";
import type { Gone } from "../upkeep/erased-blocks.ts";
import { MOVED } from "./moved.ts";
import type { Moved } from "./route.ts";
import {
  allFrom,
  filling,
  isShardName,
  offspring,
  readObjectName,
  readRecord,
  recordToFill,
  SHARD_BITS_MAX,
  type ShardName,
  type ShardRecord,
  StaleAttempt,
  serves,
  WHOLE,
} from "./shard.ts";
import { ShardGuard } from "./shard-guard.ts";
import type { ShardStore } from "./shard-store.ts";
import type { MovedPage, SplitParent, Touched } from "./split.ts";
import { shownPartition } from "./stored-shards.ts";
import type { BucketMark, MeanwhileFound, MeanwhileLook, WrittenMeanwhile } from "./written-meanwhile.ts";

/** What a shard answers, with what it is; or that it has not got what is asked for. */
export type ShardReply<Result> = { readonly result: Result; readonly shard: ShardRecord } | Moved;

/** What the shards of a thread are asked: what with, and what comes back. */
export interface ShardWork {
  readonly apply: {
    readonly with: { readonly made: number; readonly request: OperationRequest; readonly timeoutMs: number };
    readonly gives: ShardReply<Outcome>;
  };
  readonly load: {
    readonly with: { readonly made: number; readonly load: Load; readonly timeoutMs: number };
    readonly gives: ShardReply<readonly LoadOutcome[]>;
  };
  readonly get: {
    readonly with: { readonly made: number; readonly request: GetRequest; readonly timeoutMs: number };
    readonly gives: ShardReply<Answer>;
  };
  readonly visit: {
    readonly with: {
      readonly made: number;
      readonly visit: Visit;
      readonly step: Omit<VisitStep, "bucket" | "key">;
      readonly timeoutMs: number;
    };
    readonly gives: ShardReply<VisitPage>;
  };
  /** What is stored of a shard. */
  readonly record: { readonly with: undefined; readonly gives: ShardRecord | undefined };
  /** Shards of the thread that were heard of since it was asked before, homes left out. The name is not looked at. */
  readonly met: { readonly with: undefined; readonly gives: readonly string[] };
  /** Nobody may read a partition from here on: a shard came from it that it does not know of, so it is older than that. */
  readonly refuse: { readonly with: undefined; readonly gives: undefined };
  /** Partitions with so many bytes that may be split, of those that changed since it was asked before. The name is not looked at. */
  readonly large: { readonly with: { readonly bytes: number }; readonly gives: readonly string[] };
  readonly begin: { readonly with: { readonly attempt: number }; readonly gives: undefined };
  readonly page: { readonly with: { readonly after: string }; readonly gives: MovedPage };
  readonly touched: { readonly with: undefined; readonly gives: Touched };
  readonly hold: { readonly with: undefined; readonly gives: undefined };
  readonly commit: { readonly with: { readonly after: ShardRecord }; readonly gives: undefined };
  readonly end: { readonly with: undefined; readonly gives: undefined };
  readonly prepare: {
    readonly with: { readonly shard: ShardBits; readonly attempt: number };
    readonly gives: undefined;
  };
  readonly copy: {
    readonly with: { readonly attempt: number; readonly number: number } & Pick<Touched, "operations">;
    readonly gives: undefined;
  };
  readonly open: { readonly with: { readonly attempt: number }; readonly gives: undefined };
  /** Erases a group that is one partition. Of one with shards: notes that it is being erased, and says which have to go first. */
  readonly erase: {
    readonly with: undefined;
    readonly gives: { readonly erasure: Erasure } | { readonly offspring: readonly ShardName[] };
  };
  /** The same of a shard; nothing: there is none of that attempt, or of one before. */
  readonly drop: { readonly with: { readonly made: number }; readonly gives: readonly ShardName[] | undefined };
  /** Waits until what was erased in the bucket of a partition is gone from the files; what of it is. */
  readonly purge: { readonly with: undefined; readonly gives: Gone };
  /** What is stored of a partition; the shards that it was split into have to be asked too. Nothing: there is none of that attempt. */
  readonly usage: {
    readonly with: { readonly made: number | undefined };
    readonly gives: { readonly usage: GroupUsage; readonly offspring: readonly ShardName[] } | undefined;
  };
  /** Erases a partition whose shards are gone. */
  readonly remove: { readonly with: undefined; readonly gives: Erasure };
  /** How far the buckets of the thread are; what was written since, as `WrittenMeanwhile` tells it. The name is not looked at. */
  readonly marks: { readonly with: undefined; readonly gives: readonly BucketMark[] };
  readonly meanwhile: { readonly with: MeanwhileLook; readonly gives: MeanwhileFound };
  readonly release: { readonly with: undefined; readonly gives: undefined };
}

/** The name of something that shards are asked. */
export type ShardTask = keyof ShardWork;

/** How something is asked of the partition of a name. */
export type AskShard = <Task extends ShardTask>(
  name: string,
  task: Task,
  given: ShardWork[Task]["with"],
  gone?: AbortSignal,
) => Promise<ShardWork[Task]["gives"]>;

/** Where shards stand. */
export interface ShardHost {
  readonly maintenance: Maintenance;
  readonly meanwhile: WrittenMeanwhile;
  bucketFor(name: string): Bucket;
  partition(name: string): Partition;
  shard(name: string): ShardStore;
  visit(visit: Visit, step: VisitStep, timeoutMs: number, gone?: Caller): Promise<VisitPage>;
  erasePartition(name: string): Erasure;
  usage(name: string): GroupUsage;
  /** Tells the operator. */
  tell(problem: unknown): void;
}

/** What is known of one shard in this thread. */
interface Known {
  readonly guard: ShardGuard;
  splitting: SplitParent | undefined;
  /** Somebody asked for it as the shard that it is: the one that it came from has committed that it is there. */
  isKnown: boolean;
  /** How often documents were taken from another shard. */
  copies: number | undefined;
}

/** The shards of the buckets of one thread. */
export class BucketShards {
  readonly #host: ShardHost;
  /** Erasures that wait for a turn, by the names of their partitions. */
  readonly #toErase = new Map<string, () => void>();
  #isErasing = false;
  readonly #known = new Map<string, Known>();
  #met = new Set<string>();

  constructor(host: ShardHost) {
    this.#host = host;
  }

  /** The guard of a partition; nothing: all documents of its group are its. */
  active(name: string): ShardGuard | undefined {
    const guard = this.#of(name)?.guard;
    return guard?.isActive === true ? guard : undefined;
  }

  /** Whether a group has several shards, or is being erased with them: then who asks for it has to ask all of them. */
  isLarge(key: string): boolean {
    try {
      const record = this.active(key)?.record;
      return record !== undefined && (record.children.length > 0 || record.isErased === true);
    } catch (error) {
      // Whoever reads it is told.
      if (isDamage(error)) return false;
      throw error;
    }
  }

  /** Takes note of partitions of a bucket of which something is noted. */
  meet(names: Iterable<string>): void {
    for (const name of names) if (isShardName(name)) this.#met.add(name);
  }

  /** Does what is asked of a shard; a visit ends when nobody waits for it any more. */
  async work<Task extends ShardTask>(
    name: string,
    task: Task,
    given: ShardWork[Task]["with"],
    gone?: Caller,
  ): Promise<ShardWork[Task]["gives"]> {
    const tasks: { readonly [One in ShardTask]: (with_: ShardWork[One]["with"]) => Promise<ShardWork[One]["gives"]> } =
      {
        apply: ({ made, request, timeoutMs }) =>
          this.#asked(name, made, () => this.#host.partition(name).apply(request, timeoutMs), isMoved),
        load: ({ made, load, timeoutMs }) => {
          const hasMoved = (told: readonly LoadOutcome[]): boolean =>
            told.some((one) => "outcome" in one && isMoved(one.outcome));
          return this.#asked(name, made, () => this.#host.partition(name).load(load, timeoutMs), hasMoved);
        },
        get: ({ made, request, timeoutMs }) =>
          this.#asked(name, made, () => this.#host.partition(name).get(request, timeoutMs), isMoved),
        visit: ({ made, visit, step, timeoutMs }) =>
          this.steady(name, made, () =>
            this.#host.visit(visit, { ...step, bucket: -1, key: name as PartitionKey, isShard: true }, timeoutMs, gone),
          ),
        record: async () => this.#record(name),
        met: async () => this.#takeMet(),
        refuse: async () => await nothing(this.#refuse(name)),
        large: async ({ bytes }) => this.#large(bytes),
        begin: ({ attempt }) => nothing(this.#begin(name, attempt)),
        page: async ({ after }) => await this.#splitting(name).page(after),
        touched: async () => await this.#splitting(name).takeTouched(),
        hold: async () => await nothing(this.#splitting(name).hold()),
        commit: async ({ after }) => await nothing(this.#splitting(name).commit(after)),
        end: async () => await nothing(this.#end(name)),
        prepare: async ({ shard, attempt }) => await nothing(this.#prepare(name, shard, attempt)),
        copy: async ({ attempt, number, operations }) => await nothing(this.#copy(name, attempt, number, operations)),
        open: async ({ attempt }) =>
          await nothing(this.#keep(name, { ...filling(this.#record(name), attempt), isOpen: true })),
        erase: () => this.#inTurn(name, () => this.#erase(name)),
        drop: async ({ made }) => this.#drop(name, made),
        purge: () => this.#host.maintenance.erased(this.#host.bucketFor(name)).gone(),
        usage: async ({ made }) => this.#usage(name, made),
        remove: () => this.#inTurn(name, () => this.#remove(name)),
        marks: async () => this.#host.meanwhile.marks(),
        meanwhile: async (look) => await this.#host.meanwhile.look(look),
        release: async () => await nothing(this.#host.meanwhile.release()),
      };
    try {
      return await tasks[task](given);
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      this.#host.tell(error);
      throw serviceError(error);
    }
  }

  /** What is asked of one shard among others, done again if half of it was given away meanwhile. */
  async steady<Result>(name: string, made: number, work: () => Promise<Result>): Promise<ShardReply<Result>> {
    return await this.#asked(name, made, async () => {
      for (;;) {
        const bits = this.#bits(name);
        const result = await work();
        if (this.#bits(name) === bits) return result;
      }
    });
  }

  /** What a shard finds for a query. */
  async search(
    name: string,
    made: number,
    search: () => Promise<BucketFound>,
    nothing: () => BucketFound,
  ): Promise<BucketFound> {
    const reply = await this.steady(name, made, search);
    return "result" in reply ? { ...reply.result, shard: reply.shard } : { ...nothing(), hasMoved: true };
  }

  #bits(name: string): number {
    return this.#of(name)?.guard.record.bits ?? 0;
  }

  #of(name: string): Known | undefined {
    const known = this.#known.get(name);
    if (known !== undefined) return known;
    const note = this.#host.bucketFor(name).store.noted(name);
    return note === undefined ? undefined : this.#made(name, readRecord(note));
  }

  #made(name: string, record: ShardRecord): Known {
    const known = { guard: new ShardGuard(record), splitting: undefined, isKnown: false, copies: undefined };
    this.#known.set(name, known);
    return known;
  }

  /** What is stored of a shard; of a home that was never split, nothing. */
  #record(name: string): ShardRecord | undefined {
    return this.#of(name)?.guard.record;
  }

  #keep(name: string, record: ShardRecord): void {
    this.#host.shard(name).keep(record);
    (this.#of(name) ?? this.#made(name, record)).guard.record = record;
  }

  /** What a shard answers, if it is the one that is meant. */
  async #asked<Result>(
    name: string,
    made: number,
    work: () => Promise<Result>,
    hasMoved: (result: Result) => boolean = () => false,
  ): Promise<ShardReply<Result>> {
    const known = this.#of(name);
    const now = (): ShardRecord | undefined => this.#record(name) ?? (isShardName(name) ? undefined : WHOLE);
    if (!serves(now(), { made })) return { moved: undefined };
    if (known !== undefined) known.isKnown = true;
    const result = await work();
    const shard = now();
    // It may be erased since.
    if (!serves(shard, { made })) return { moved: undefined };
    return hasMoved(result) ? { moved: shard } : { result, shard };
  }

  #takeMet(): readonly string[] {
    const met = [...this.#met];
    this.#met = new Set();
    return met;
  }

  #refuse(name: string): void {
    const why = `${shownPartition(name)}: it is older than what came from it, or lost`;
    this.#end(name);
    this.#known.delete(name);
    this.#host.bucketFor(name).refuse(name, why);
    this.#host.tell(new StoreError("damaged", why));
  }

  #large(bytes: number): readonly string[] {
    const { maintenance } = this.#host;
    return maintenance.folded.take((bucket, name) => {
      const { guard, isKnown = false } = this.#of(name) ?? {};
      const { isOpen, isErased, bits } = guard?.record ?? WHOLE;
      const mayBe = isOpen && isErased !== true && bits < SHARD_BITS_MAX && (isKnown || !isShardName(name));
      return mayBe && bucket.store.storedBytes(name) >= bytes;
    });
  }

  async #begin(name: string, attempt: number): Promise<void> {
    // A shard that was erased since it was found to be large is none: as a whole group it would have another one thrown away.
    const record = this.#record(name) ?? (isShardName(name) ? undefined : WHOLE);
    if (record === undefined || !record.isOpen || record.isErased === true) throw new StaleAttempt(attempt);
    const known = this.#of(name) ?? this.#made(name, record);
    if (known.splitting !== undefined) throw new StaleAttempt(attempt);
    known.splitting = this.#host.shard(name).splitting(known.guard);
    await known.splitting.begin(attempt);
  }

  #splitting(name: string): SplitParent {
    const splitting = this.#of(name)?.splitting;
    if (splitting === undefined) throw new StaleAttempt(0);
    return splitting;
  }

  #end(name: string): void {
    const known = this.#known.get(name);
    if (known === undefined) return;
    void known.splitting?.end();
    known.splitting = undefined;
    // A home of which nothing was stored is one partition, as before.
    if (this.#host.bucketFor(name).store.noted(name) === undefined) this.#known.delete(name);
  }

  #prepare(name: string, shard: ShardBits, attempt: number): void {
    // What an attempt before left is nobody's, and need not be readable.
    const left = this.#recordOfErased(name);
    const record = recordToFill(left === "damaged" ? undefined : left, shard, attempt);
    this.#remove(name);
    this.#keep(name, record);
    const known = this.#of(name);
    if (known !== undefined) known.copies = 0;
  }

  async #copy(name: string, attempt: number, number: number, operations: Uint8Array): Promise<void> {
    const known = this.#of(name);
    filling(known?.guard.record, attempt);
    if (known === undefined || known.copies !== number) throw new StaleAttempt(attempt);
    // None other is taken until this one is stored.
    known.copies = undefined;
    await this.#host.shard(name).append(operations);
    known.copies = number + 1;
  }

  #erase(name: string): ShardWork["erase"]["gives"] {
    const record = this.#recordOfErased(name);
    if (record === "damaged") return { offspring: this.#allFrom(name) };
    if (record === undefined) return { erasure: this.#remove(name) };
    this.#keep(name, { ...record, isErased: true });
    this.#end(name);
    return { offspring: offspring(record) };
  }

  #drop(name: string, made: number): readonly ShardName[] | undefined {
    const record = this.#recordOfErased(name);
    if (record === "damaged") return this.#allFrom(name);
    // What is there may be of an attempt before: that of `made` was begun, and ended before it threw that away.
    if (record === undefined || record.made > made) return undefined;
    this.#keep(name, { ...record, isErased: true });
    this.#end(name);
    return offspring(record);
  }

  /** What is stored of a shard that is to be erased, also if it is damaged. */
  #recordOfErased(name: string): ShardRecord | "damaged" | undefined {
    try {
      const bucket = this.#host.bucketFor(name);
      if (bucket.refuses(name)) return "damaged";
      const { store } = bucket;
      // Of a group that was never split nothing is noted: whether that is so is told by the partition.
      if (!isShardName(name)) store.state(name);
      return this.#record(name);
    } catch (error) {
      if (isDamage(error)) return "damaged";
      throw error;
    }
  }

  /** Whatever may have come from a shard of which it is not known. */
  #allFrom(name: string): readonly ShardName[] {
    this.#end(name);
    return allFrom(readObjectName(name).number);
  }

  #usage(name: string, made: number | undefined): ShardWork["usage"]["gives"] {
    const record = this.#record(name);
    if (made !== undefined && record?.made !== made) return undefined;
    return { usage: this.#host.usage(name), offspring: record === undefined ? [] : offspring(record) };
  }

  /** Erases, with a turn for others before the next: each waits for the device, and many may come at once, or one after the other. */
  #inTurn<Result>(name: string, erase: () => Result): Promise<Result> {
    this.eraseNow(name);
    return new Promise((resolve, reject) => {
      const run = (): void => {
        this.#toErase.delete(name);
        try {
          resolve(erase());
        } catch (error) {
          reject(error);
        }
      };
      this.#toErase.set(name, run);
      if (this.#isErasing) return;
      run();
      void this.#eraseOthers();
    });
  }

  async #eraseOthers(): Promise<void> {
    this.#isErasing = true;
    for (let isLeft = true; isLeft; ) {
      await this.#host.maintenance.turn();
      const [next] = this.#toErase.values();
      next?.();
      // One that comes soon after the last waits for a turn too.
      isLeft = next !== undefined;
    }
    this.#isErasing = false;
  }

  /** Has an erasure wait no longer: what is written after it was asked for stays. */
  eraseNow(name: string): void {
    this.#toErase.get(name)?.();
  }

  #remove(name: string): Erasure {
    const erasure = this.#host.erasePartition(name);
    this.#known.get(name)?.guard.release();
    this.#known.delete(name);
    return erasure;
  }
}

/** Waits for work of which nothing comes. */
async function nothing(work: unknown): Promise<undefined> {
  await work;
  return undefined;
}

/** Whether what is stored is damaged. */
function isDamage(error: unknown): boolean {
  return error instanceof StoreError && error.kind === "damaged";
}

/** Whether a document is another shard's. */
function isMoved({ status }: { readonly status: number }): boolean {
  return status === MOVED;
}
