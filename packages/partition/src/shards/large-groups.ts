/**
 * Groups that are several partitions in the buckets of a cluster (docs/decisions/0102): who asks for one is answered as by one
 * partition. Most groups are none of them: those are asked as ever, and say when they have become one. Groups that grow are split one
 * after the other, while they are read and written.
 */
import type { Load, Query } from "@brooklet/core";
import { type Storage, StoreError } from "@brooklet/store";
import { joinedBodies } from "../bucket-visit.ts";
import type {
  Answer,
  Erasure,
  GetRequest,
  GroupUsage,
  LoadOutcome,
  MassOperation,
  MassOutcome,
  OperationRequest,
  Outcome,
  PartitionKey,
  Purge,
  SearchStep,
  Visit,
  VisitPage,
  VisitPosition,
  VisitStep,
  WrittenDocuments,
} from "../cluster.ts";
import { Deadline } from "../deadline.ts";
import { writtenIn } from "../deployment.ts";
import type { EmbeddingHandle } from "../embedding.ts";
import { DAMAGED, serviceError, tellingOnce } from "../failure.ts";
import { SPLIT_LOOK_MS } from "../limits.ts";
import type { BucketFound } from "../query/bucket-search.ts";
import { FoundParts } from "../query/found-parts.ts";
import type { Surroundings } from "../surroundings.ts";
import type { AskShard, ShardReply } from "./bucket-shards.ts";
import { gather, type ShardAnswer } from "./gather.ts";
import { MOVED } from "./moved.ts";
import { learn, type Moved, route } from "./route.ts";
import { groupOf, movingHalf, objectName, parentOf, readObjectName, type ShardName, WHOLE } from "./shard.ts";
import { loadShards, toSend } from "./shard-load.ts";
import { ShardMaps } from "./shard-map.ts";
import { applyToShards, visitShards } from "./shard-visit.ts";
import { split } from "./split.ts";
import { shownPartition } from "./stored-shards.ts";

/** Where the shards of groups are. */
export interface LargeGroupsOptions {
  /** Asks the partition of a name. */
  readonly ask: AskShard;
  /** Names of which each belongs to another of the threads there are. */
  readonly threads: readonly string[];
  readonly bucketOf: (name: string) => number;
  /** Bytes from which on a group is split, and a shard of one; nothing: none is. */
  readonly shardBytes: number | undefined;
  readonly surroundings: Surroundings;
  /** Told of splits that failed; they are tried again. */
  readonly onProblem: (error: unknown) => void;
}

/** A split that is given up, to be tried again when there is time for it, or never, as its group was erased. */
class Halt extends Error {
  constructor() {
    super("nothing is split now");
  }
}

type SearchBucket = (step: SearchStep) => Promise<BucketFound>;

/** The large groups of one cluster. */
export class LargeGroups {
  readonly #options: LargeGroupsOptions;
  readonly #maps = new ShardMaps();
  readonly #erasing = new Map<string, Promise<Erasure>>();
  readonly #endLooking: () => void;
  readonly #endComparing: () => void;
  #comparing: Promise<void> | undefined;
  /** One of the shards that are compared with those that they came from. */
  #compared: { readonly key: PartitionKey; readonly done: Promise<void> } | undefined;
  #looking: Promise<void> | undefined;
  /** The last split that was begun. */
  #last: Promise<void> = Promise.resolve();
  /** The group of which a shard is split, until it is erased. */
  #divided: PartitionKey | undefined;
  /** How many want that no group is split. */
  #halts = 0;

  constructor(options: LargeGroupsOptions) {
    this.#options = { ...options, onProblem: tellingOnce(options.onProblem) };
    const { shardBytes, surroundings } = options;
    this.#endLooking =
      shardBytes === undefined ? () => undefined : surroundings.every(SPLIT_LOOK_MS, () => this.look());
    this.#endComparing = surroundings.every(SPLIT_LOOK_MS, () => this.compare());
  }

  /** Applies an operation; `whole` asks the group as if it were one partition. */
  async apply(
    key: PartitionKey,
    request: OperationRequest,
    timeoutMs: number,
    whole: () => Promise<Outcome>,
  ): Promise<Outcome> {
    if (this.#maps.of(key) === undefined) {
      const outcome = await whole();
      if (outcome.status !== MOVED) return outcome;
    }
    return await route(this.#maps, key, request.id, (shard) =>
      this.#asked(key, shard, (name, { made }) => this.#options.ask(name, "apply", { made, request, timeoutMs })),
    );
  }

  async get(key: PartitionKey, request: GetRequest, timeoutMs: number, whole: () => Promise<Answer>): Promise<Answer> {
    if (this.#maps.of(key) === undefined) {
      const answer = await whole();
      if (answer.status !== MOVED) return answer;
    }
    return await route(this.#maps, key, request.id, (shard) =>
      this.#asked(key, shard, (name, { made }) => this.#options.ask(name, "get", { made, request, timeoutMs })),
    );
  }

  /** Loads operations of a feed. What `whole` is given stays as it is. */
  async load(
    key: PartitionKey,
    load: Load,
    timeoutMs: number,
    whole: (load: Load) => Promise<readonly LoadOutcome[]>,
  ): Promise<readonly LoadOutcome[]> {
    return await loadShards(this.#maps, key, load, async (shard, sent) => {
      if (this.#maps.of(key) === undefined) {
        const outcomes = await whole(sent);
        if (!outcomes.some((told) => "outcome" in told && told.outcome.status === MOVED)) return { result: outcomes };
        return { moved: await this.#options.ask(key, "record", undefined) };
      }
      return await this.#asked(key, shard, (name, { made }) =>
        this.#options.ask(name, "load", { made, load: toSend(sent), timeoutMs }),
      );
    });
  }

  /** What partitions of a bucket find, with the shards of those that have some. */
  async searchBucket(query: Query, step: SearchStep, search: SearchBucket): Promise<BucketFound> {
    const known = (step.keys ?? []).filter((key) => this.#maps.of(key) !== undefined);
    const others = step.keys?.filter((key) => !known.includes(key));
    const nothing = others !== undefined && others.length === 0;
    const { large = [], ...first } = nothing
      ? { ...new FoundParts(query, step.floor).merged(), large: [] }
      : await search({ ...step, ...(others && { keys: others }) });
    if (known.length === 0 && large.length === 0) return first;
    const found = new FoundParts(query, step.floor);
    found.add(first.partial, first.over);
    for (const key of [...known, ...large]) {
      if (found.over) break;
      const part = async (shard: ShardName): Promise<ShardAnswer<BucketFound>> =>
        await this.#answered(key, shard, async (name, { made }) => {
          const of = { bucket: this.#options.bucketOf(name), keys: [name as PartitionKey], floor: found.floor, made };
          const { shard: record, hasMoved, ...result } = await search(of);
          if (hasMoved !== true && record !== undefined) {
            // Others that are asked later need not find what is below.
            return { result, shard: record };
          }
          return { moved: undefined };
        });
      try {
        for (const { partial } of await gather(this.#maps, key, part)) found.add(partial);
      } catch (error) {
        found.passDamage(error, 1);
        this.#options.onProblem(error);
      }
    }
    return found.merged();
  }

  /** A step of a visit; `through` is one through the bucket, which ends before a large group. */
  async visit(
    visit: Visit,
    step: VisitStep,
    timeoutMs: number,
    through: (step: VisitStep, timeoutMs: number) => Promise<VisitPage>,
    gone?: AbortSignal,
  ): Promise<VisitPage> {
    const deadline = Deadline.in(timeoutMs);
    const { large, ...page } = await through(step, timeoutMs);
    if (large === undefined || page.next === undefined) return page;
    if (page.documents > 0 || page.damage !== undefined) return page;
    const { next: from } = page;
    const { isFirstOnly = false } = step;
    const bounds = { from, documentsMax: isFirstOnly ? 1 : step.documentsMax, bytesMax: step.bytesMax };
    const visiting = this.#visiting(large, bounds, deadline, gone);
    try {
      const { next, ...of } = await visitShards(this.#maps, large, visit, bounds, visiting);
      return { ...of, ...after(step, from, isFirstOnly && of.documents > 0 ? undefined : next) };
    } catch (error) {
      const { code, message } = serviceError(error);
      if (code !== DAMAGED) throw error;
      // Others are no worse for it.
      const nothing = { documents: 0, body: joinedBodies([], visit.format), damage: message };
      return { ...nothing, ...after(step, from, undefined) };
    }
  }

  /** A step of an operation on many documents, likewise. */
  async applyWhere(
    visit: Visit,
    step: VisitStep,
    operation: MassOperation,
    timeoutMs: number,
    group: {
      readonly through: (step: VisitStep, timeoutMs: number) => Promise<MassOutcome>;
      readonly partition: (key: PartitionKey) => EmbeddingHandle;
    },
    gone?: AbortSignal,
  ): Promise<MassOutcome> {
    const deadline = Deadline.in(timeoutMs, undefined, gone);
    const { large, ...outcome } = await group.through(step, timeoutMs);
    if (large === undefined || outcome.next === undefined) return outcome;
    if (outcome.documents > 0 || outcome.apart !== undefined || outcome.failure !== undefined) return outcome;
    const { next: from } = outcome;
    const bounds = { from, documentsMax: step.documentsMax, bytesMax: step.bytesMax };
    const { next, ...applied } = await applyToShards(visit, bounds, operation, deadline, {
      ids: (of, within) => visitShards(this.#maps, large, of, within, this.#visiting(large, within, deadline)),
      partition: group.partition(large),
    });
    // Others are no worse for it.
    if (applied.failure?.code === DAMAGED) return { ...applied, ...after(step, from, undefined) };
    // Where it failed is gone on after the documents before.
    return { ...applied, ...(applied.failure === undefined ? after(step, from, next) : { next: at(from, next) }) };
  }

  /** Erases a group: its shards from the leaves on, itself at last. */
  async erase(key: PartitionKey): Promise<Erasure> {
    const known = this.#erasing.get(key);
    if (known !== undefined) return await known;
    const erasing = this.#erase(key).finally(() => this.#erasing.delete(key));
    this.#erasing.set(key, erasing);
    return await erasing;
  }

  async #erase(key: PartitionKey): Promise<Erasure> {
    const { ask } = this.#options;
    if (this.#compared?.key === key) await this.#compared.done;
    this.#maps.forget(key);
    if (this.#divided === key) this.#divided = undefined;
    const told = await ask(key, "erase", undefined);
    if ("erasure" in told) return told.erasure;
    const partitions: string[] = [key];
    let counts: (number | undefined)[] = [];
    for (const child of told.offspring) counts = [...counts, ...(await this.#drop(key, child, partitions))];
    const erasure = await ask(key, "remove", undefined);
    this.#maps.forget(key);
    const all = [...counts, erasure.documents];
    const isCounted = all.every((count) => count !== undefined);
    const { documents: _, ...rest } = erasure;
    const receipt = { ...rest, partitions };
    return isCounted ? { ...receipt, documents: all.reduce((sum: number, count) => sum + (count ?? 0), 0) } : receipt;
  }

  /** Erases a shard and those it was split into; how many documents each had. */
  async #drop(key: PartitionKey, { number, made }: ShardName, partitions: string[]): Promise<(number | undefined)[]> {
    const { ask } = this.#options;
    const name = objectName(key, number);
    partitions.push(name);
    const offspring = await ask(name, "drop", { made });
    if (offspring === undefined) return [];
    const counts: (number | undefined)[] = [];
    for (const child of offspring) counts.push(...(await this.#drop(key, child, partitions)));
    const { documents } = await ask(name, "remove", undefined);
    return [...counts, documents];
  }

  /** What is stored of a group, in whatever shards it has. */
  async usage(key: PartitionKey): Promise<GroupUsage> {
    let [documents, bytes]: [number | undefined, number] = [0, 0];
    const add = async (name: string, made: number | undefined): Promise<void> => {
      const told = await this.#options.ask(name, "usage", { made });
      if (told === undefined) return;
      const { documents: own } = told.usage;
      documents = documents === undefined || own === undefined ? undefined : documents + own;
      bytes += told.usage.bytes;
      for (const child of told.offspring) await add(objectName(key, child.number), child.made);
    };
    await add(key, undefined);
    return { ...(documents !== undefined && { documents }), bytes };
  }

  /** Waits until what was erased is gone from the files. */
  async purge({ key, partitions = [key] }: Erasure, storage: Storage): Promise<Purge> {
    const { ask, bucketOf } = this.#options;
    const gone = await Promise.all(partitions.map((name) => ask(name, "purge", undefined)));
    const buckets = [...new Set(partitions.map(bucketOf))].sort((one, other) => one - other);
    return {
      ...(gone.every(({ bytes }) => bytes) && { goneAt: Date.now() }),
      files: buckets.flatMap((bucket) => storage.filesOf?.(bucket) ?? []),
      keyDestroyed: storage.isEncrypted === true && gone.every(({ keys }) => keys),
    };
  }

  /** Splits the groups and shards that have become large, unless it is under way. */
  look(): void {
    this.#looking ??= this.#look()
      .catch(this.#options.onProblem)
      .finally(() => {
        this.#looking = undefined;
      });
  }

  async #look(): Promise<void> {
    const { ask, threads, shardBytes = Number.POSITIVE_INFINITY } = this.#options;
    for (const thread of threads) {
      if (this.#halts > 0) return;
      for (const name of await ask(thread, "large", { bytes: shardBytes })) {
        if (this.#halts > 0) return;
        await this.split(name).catch((error: unknown) => {
          if (!(error instanceof Halt)) this.#options.onProblem(error);
        });
      }
    }
  }

  /** Gives half of the documents of a partition to a new shard, after those that are being split. */
  split(name: string): Promise<void> {
    const splitting = this.#last.then(() => this.#split(name));
    this.#last = splitting.catch(() => undefined);
    return splitting;
  }

  async #split(name: string): Promise<void> {
    const { ask } = this.#options;
    const { key } = readObjectName(name);
    const record = (await ask(name, "record", undefined)) ?? WHOLE;
    const child = objectName(key, movingHalf(record).number);
    // Attempts are told apart by time: one of a group that was erased is older than any of the group after it.
    const number = Math.max(Date.now(), record.attempt + 1, record.made + 1);
    const parent = {
      record,
      begin: (attempt: number) => ask(name, "begin", { attempt }),
      page: (from: string) => ask(name, "page", { after: from }),
      takeTouched: () => ask(name, "touched", undefined),
      hold: () => ask(name, "hold", undefined),
      commit: (to: typeof record) => ask(name, "commit", { after: to }),
      end: () => ask(name, "end", undefined).catch(() => undefined),
    };
    this.#divided = key;
    const splitting = split(
      parent,
      {
        prepare: (shard, attempt) => ask(child, "prepare", { shard, attempt }),
        copy: async (attempt, count, operations) => {
          if (this.#halts > 0) throw new Halt();
          await ask(child, "copy", { attempt, number: count, operations });
        },
        open: (attempt) => ask(child, "open", { attempt }),
      },
      number,
    );
    await splitting.catch((error: unknown) => {
      throw this.#divided === key ? error : new Halt();
    });
  }

  /** Does something while no group is split. What is under way is given up. */
  async without<Result>(work: () => Promise<Result>): Promise<Result> {
    this.#halts += 1;
    try {
      await this.#looking;
      await this.#last;
      return await work();
    } finally {
      this.#halts -= 1;
    }
  }

  /** What is written in all threads while a deployment looks through what is stored. */
  written(): WrittenDocuments {
    return writtenIn(this.#options.threads, this.#options.ask);
  }

  /** Settles when nothing is being split, and nothing will be. */
  async stop(): Promise<void> {
    this.#halts += 1;
    this.#endLooking();
    this.#endComparing();
    await this.#comparing;
    await this.#looking;
    await this.#last;
    await Promise.allSettled(this.#erasing.values());
  }

  /** Compares shards that were heard of as buckets were opened with the partitions that they came from, unless it is under way. */
  compare(): void {
    this.#comparing ??= this.#compare().finally(() => {
      this.#comparing = undefined;
    });
  }

  async #compare(): Promise<void> {
    const { ask, threads } = this.#options;
    for (const thread of threads) {
      // A thread that ended is asked when it is there again.
      for (const name of await ask(thread, "met", undefined).catch(() => [])) {
        const { key } = readObjectName(name);
        if (this.#erasing.has(key)) continue;
        // What is damaged is told to who reads it.
        this.#compared = { key, done: this.#compareShard(name).catch(() => undefined) };
        await this.#compared.done;
        this.#compared = undefined;
      }
    }
  }

  /**
   * A shard is noted where it came from before anything of it is stored, and erased before that. Where it is not, the bucket that
   * should say so is of before, with the file that says how far it is.
   */
  async #compareShard(name: string): Promise<void> {
    const { ask } = this.#options;
    const { key, number } = readObjectName(name);
    const from = objectName(key, parentOf(number));
    const parent = await ask(from, "record", undefined);
    const shard = await ask(name, "record", undefined);
    if (shard !== undefined && shard.made > (parent?.attempt ?? 0)) await ask(from, "refuse", undefined);
  }

  #visiting(
    key: PartitionKey,
    bounds: Omit<VisitStep, "bucket" | "key">,
    deadline: Deadline,
    gone?: AbortSignal,
  ): (shard: ShardName, visit: Visit) => Promise<ShardAnswer<VisitPage>> {
    const step = { ...bounds, from: { partition: 0, after: bounds.from.after } };
    return (shard, visit) =>
      this.#answered(key, shard, (name, { made }) => {
        const given = { made, visit, step, timeoutMs: Math.max(deadline.remainingMs, 1) };
        return this.#options.ask(name, "visit", given, gone);
      });
  }

  /** What a shard says, or that it has not got what is asked for. */
  async #asked<Result>(
    key: PartitionKey,
    shard: ShardName,
    ask: (name: string, shard: ShardName) => Promise<ShardReply<Result>>,
  ): Promise<ShardReply<Result>> {
    await this.#erasing.get(key);
    const reply = await ask(objectName(key, shard.number), shard);
    const isGone = "moved" in reply && reply.moved === undefined;
    if (!isGone) return reply;
    if (shard.number > 0) {
      await this.#demandErased(key, shard);
      return reply;
    }
    // Its erasure was begun, by a process that ended: until it is done there is no such group.
    await this.erase(groupOf(key) as PartitionKey);
    return await ask(objectName(key, shard.number), shard);
  }

  /** Throws unless a shard that is not there was erased with its group: then the one that it came from is, or is another one by now. */
  async #demandErased(key: PartitionKey, { number, made }: ShardName): Promise<void> {
    const from = objectName(key, parentOf(number));
    const parent = await this.#options.ask(from, "record", undefined);
    const isLost = parent?.children.some((child) => child.number === number && child.made === made) === true;
    if (!isLost || parent.isErased === true) return;
    const name = shownPartition(objectName(key, number));
    const problem = new StoreError("damaged", `${name}: it is missing, or not the shard that documents were given to`);
    this.#options.onProblem(problem);
    throw serviceError(problem);
  }

  async #answered<Result>(
    key: PartitionKey,
    shard: ShardName,
    ask: (name: string, shard: ShardName) => Promise<ShardReply<Result>>,
  ): Promise<ShardAnswer<Result>> {
    const reply = await this.#asked(key, shard, ask);
    if ("result" in reply) return reply;
    if (reply.moved !== undefined) learn(this.#maps, key, reply as Moved);
    return undefined;
  }
}

/** Where a step goes on that went through a large group: in it, or with what comes after it. */
function after(
  step: VisitStep,
  from: VisitPosition,
  next: VisitPosition | undefined,
): { readonly next?: VisitPosition } {
  if (next !== undefined) return { next: at(from, next) };
  return step.key === undefined ? { next: { partition: from.partition + 1, after: "" } } : {};
}

/** A position of shards, as one of the bucket in which their group is listed. */
function at({ partition, after: before }: VisitPosition, next: VisitPosition | undefined): VisitPosition {
  return { partition, after: next?.after ?? before };
}
