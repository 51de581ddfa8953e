/**
 * The object of one group: its partition, over the database that the platform gave it. It is listed before its first write is
 * committed, so that a group that is stored is listed too; it folds and settles when an alarm says that nothing came for a while.
 */
import type { FloorBytes, Load, Merged, ShardBits } from "@brooklet/core";
import type { BucketHost } from "../bucket-host.ts";
import type {
  Answer,
  Erasure,
  GetRequest,
  LoadOutcome,
  MassOperation,
  MassOutcome,
  OperationRequest,
  Outcome,
  PartitionKey,
  Visit,
  VisitPage,
} from "../cluster.ts";
import type { SentQuery } from "../query/open-queries.ts";
import { filling, recordToFill, type ShardRecord, StaleAttempt, serves, WHOLE } from "../shards/shard.ts";
import { ShardGuard } from "../shards/shard-guard.ts";
import { errorFields } from "../thread-messages.ts";
import { Fence } from "./fence.ts";
import type { GroupObjectOptions, Served } from "./group-options.ts";
import { isRestless, type RestingObject, restGroup } from "./group-rest.ts";
import { type GroupSearch, searchGroup, searchGroupPart, searchGroupPlain } from "./group-search.ts";
import { dropOffspring, isDivisible, lastAttemptOf, readUnlessLater, splitObject } from "./group-split.ts";
import { leftOfDropped, noteErasure, readToErase, type ShardToErase, serveGroup } from "./group-stored.ts";
import { ObjectAdmission } from "./object-admission.ts";
import { checked, doneReply, hasAnyMoved, isMoved, movedReply, replyOf, stepEnd } from "./object-answer.ts";
import {
  type GroupCalls,
  MESSAGES,
  type ObjectReply,
  type ObjectStep,
  type ObjectWaiting,
  otherMessages,
} from "./object-calls.ts";
import { ObjectExpiry } from "./object-expiry.ts";
import { endedOutcome, failedReply, isClosed } from "./object-failure.ts";
import { steadyPort } from "./platform-failure.ts";
import { REST_MS, RestAlarm } from "./rest-alarm.ts";

/** The object of a group. */
export class GroupObject implements GroupCalls {
  readonly #options: GroupObjectOptions;
  readonly #admission: ObjectAdmission;
  #served: Served | undefined;
  #application = 0;
  readonly #alarm: RestAlarm;
  readonly #fence: Fence;
  #rests = 0;
  #erasing: Promise<void> | undefined;
  /** Of a group that was split or is being split. */
  #guard: ShardGuard | undefined;
  #splitting: Promise<boolean> | undefined;
  /** Somebody asked for it as the shard that it is: the one that it came from has committed that it is there. */
  #isKnown = false;
  /** How often documents were taken from another shard. */
  #copies: number | undefined;

  constructor(options: GroupObjectOptions) {
    this.#options = { ...options, port: steadyPort(options.port) };
    this.#admission = new ObjectAdmission(options.admission);
    this.#alarm = new RestAlarm(options.alarm, options.onProblem);
    this.#fence = new Fence(this.#options.port, (application) => this.#ready(application));
  }

  apply(request: OperationRequest, waiting: ObjectWaiting): Promise<ObjectReply<Outcome>> {
    const apply = (host: BucketHost): Promise<Outcome> => host.partition(this.#key).apply(request, waiting.timeoutMs);
    return this.#call(waiting, (served) => this.#written(served, apply), isMoved, request.body.length);
  }

  load(load: Load, waiting: ObjectWaiting): Promise<ObjectReply<readonly LoadOutcome[]>> {
    const write = (host: BucketHost): Promise<readonly LoadOutcome[]> =>
      host.partition(this.#key).load(load, waiting.timeoutMs);
    return this.#call(waiting, (served) => this.#written(served, write), hasAnyMoved, load.operations.length);
  }

  get(request: GetRequest, waiting: ObjectWaiting): Promise<ObjectReply<Answer>> {
    const get = ({ host }: Served): Promise<Answer> => host.partition(this.#key).get(request, waiting.timeoutMs);
    return this.#call(waiting, (served) => get(served).then<Answer>(checked), isMoved);
  }

  search(query: SentQuery, waiting: ObjectWaiting): Promise<ObjectReply<Answer>> {
    return this.#whole(waiting, searchGroup, query);
  }

  searchPlain(query: SentQuery, waiting: ObjectWaiting): Promise<ObjectReply<Answer | null>> {
    return this.#whole(waiting, searchGroupPlain, query);
  }

  searchPart(query: SentQuery, floor: FloorBytes, waiting: ObjectWaiting): Promise<ObjectReply<Merged>> {
    return this.#steady(waiting, (served) => searchGroupPart(served, this.#key, query, floor, waiting));
  }

  visit(visit: Visit, step: ObjectStep, waiting: ObjectWaiting): Promise<ObjectReply<VisitPage>> {
    const inside = { ...step, bucket: 0, key: this.#key };
    return this.#steady(waiting, ({ host }) => host.visit(visit, inside, waiting.timeoutMs, stepEnd()).then(checked));
  }

  applyWhere(
    visit: Visit,
    step: ObjectStep,
    operation: MassOperation,
    waiting: ObjectWaiting,
  ): Promise<ObjectReply<MassOutcome>> {
    const inside = { ...step, bucket: 0, key: this.#key };
    const work = async (host: BucketHost): Promise<MassOutcome | undefined> => {
      const apply = async (): Promise<MassOutcome | undefined> =>
        this.#isSplit ? undefined : await host.applyWhere(visit, inside, operation, waiting.timeoutMs, stepEnd());
      // While it goes through all documents none is given away.
      const outcome = await this.#guardOf(host).throughAll(apply);
      return outcome && this.#isPast(host) ? endedOutcome(outcome) : outcome;
    };
    // What is not there is not listed by this: it may have been erased a moment ago.
    const write = async (served: Served): Promise<MassOutcome | undefined> =>
      !served.host.shard(this.#key).isStored ? { documents: 0 } : await this.#written(served, work);
    return this.#call(waiting, write, (outcome) => outcome === undefined) as Promise<ObjectReply<MassOutcome>>;
  }

  async prepareShard(shard: ShardBits, attempt: number, application: number, messages: number): Promise<void> {
    if (messages !== MESSAGES) throw otherMessages();
    await this.#opening();
    await this.#take(application);
    // What an attempt before left is nobody's, and need not be readable.
    const { record: left, damage } = await readUnlessLater(this.#options, this.#toErase, attempt);
    const record = recordToFill(damage === undefined ? left : undefined, shard, attempt);
    await this.#empty();
    this.#keep(this.#opened().host, record);
    this.#copies = 0;
  }

  async copyShard(attempt: number, number: number, operations: Uint8Array, application: number): Promise<void> {
    // Folded by an earlier application, documents of a later one would be lost.
    const { host } = await this.#ready(application);
    filling(this.#record(host), attempt);
    if (this.#copies !== number) throw new StaleAttempt(attempt);
    // None other is taken until this one is stored.
    this.#copies = undefined;
    await this.#alarm.set();
    await host.shard(this.#key).append(operations);
    // A later attempt counts its own.
    if (this.#served?.host !== host) throw new StaleAttempt(attempt);
    this.#copies = number + 1;
    await this.#alarm.set();
  }

  async openShard(attempt: number): Promise<void> {
    const { host } = await this.#ready(0);
    this.#keep(host, { ...filling(this.#record(host), attempt), isOpen: true });
  }

  async dropShard(made: number): Promise<void> {
    await this.#opening();
    const toErase = await readUnlessLater(this.#options, this.#toErase, made);
    const left = leftOfDropped(toErase, this.number, made);
    if (left === undefined) return;
    await this.#noteErasure(toErase);
    await this.#empty();
    this.#keep(this.#opened().host, left);
  }

  async lastAttempt(): Promise<number> {
    await this.#opening();
    return lastAttemptOf(this.#record(this.#opened().host));
  }

  readonly #toErase = (): ShardToErase => readToErase(this.#options, () => this.#opened().host);

  /** Notes that it is being erased, and erases what came from it. Whether it is noted, or nothing is there. */
  async #noteErasure(toErase: ShardToErase): Promise<boolean> {
    const how = noteErasure(this.#options, toErase, (noted) => this.#keep(this.#opened().host, noted));
    if (how === "replaced") await this.#close();
    const isNoted = how !== "not noted";
    if (toErase.record === undefined) return isNoted;
    this.#guard?.release();
    await this.#splitting;
    const { record = toErase.record } = this.#toErase();
    await dropOffspring(this.#options, record);
    return isNoted;
  }

  /** Gives half of its documents to a new shard. Whether it did. */
  async split(): Promise<boolean> {
    this.#splitting ??= this.#split().finally(() => {
      this.#splitting = undefined;
    });
    return await this.#splitting;
  }

  async #split(): Promise<boolean> {
    // Not after an erasure, which waits for the end of this.
    const { host } = this.#opened();
    const [guard, application] = [this.#guardOf(host), (): number => this.#application];
    return this.#isDivisible(guard) && (await splitObject({ ...this.#options, host, guard, application }));
  }

  /** A shard that nobody asked for yet may be one that its parent knows nothing of. */
  #isDivisible({ record }: ShardGuard): boolean {
    return (this.number === 0 || this.#isKnown) && isDivisible(record);
  }

  async erase(): Promise<ObjectReply<Erasure>> {
    if (this.number > 0) throw new Error("a shard is erased with its group");
    try {
      await this.#erased();
      return doneReply({ key: this.#key, erasedAt: Date.now() }, undefined, this.#application);
    } catch (thrown) {
      return failedReply(thrown, this.#application, this.#options.onProblem, "unknown");
    }
  }

  async #erased(): Promise<void> {
    this.#erasing ??= this.#erase().finally(() => {
      this.#erasing = undefined;
    });
    await this.#erasing;
  }

  /** In an order in which it goes on from wherever it ended, though nobody asks again: what was noted goes last. */
  async #erase(): Promise<void> {
    await this.#opening();
    // An alarm that rings is rung again, or was set before.
    if (this.#rests === 0) await this.#alarm.set();
    const isNoted = await this.#noteErasure(this.#toErase());
    await this.#close();
    // What is there and not listed would be in no search of all groups.
    if (!isNoted) {
      await this.#empty();
      await this.#alarm.set();
    }
    await this.#options.port.directory(this.#options.directory).remove(this.#key);
    await this.#empty();
    // Of these some may be listing it: whether there is anything to list is seen when it rests.
    if (!this.#admission.isIdle) await this.#alarm.set();
  }

  async #close(): Promise<void> {
    const served = this.#served;
    [this.#served, this.#guard] = [undefined, undefined];
    await served?.host.close();
  }

  /** Removes everything that is stored. */
  async #empty(): Promise<void> {
    const { alarm, removeAll } = this.#options;
    await this.#close();
    try {
      await removeAll();
      await alarm.clear();
    } finally {
      // What was opened or noted meanwhile is of what is gone.
      this.#alarm.forget();
      [this.#served, this.#guard, this.#isKnown] = [undefined, undefined, false];
    }
  }

  /** What is done when the alarm rings: the partition is folded and settled, unless more was written a moment ago. */
  ring(retries = 0): Promise<void> {
    return this.#alarm.ring(() => this.rest(), retries);
  }

  /** Folds and settles the partition now. */
  async rest(): Promise<void> {
    this.#rests += 1;
    try {
      await this.#alarm.rest(() => this.#rest());
    } finally {
      this.#rests -= 1;
    }
  }

  async #rest(): Promise<number> {
    const served = await this.#ready(0);
    const waitMs =
      this.number === 0 && !served.host.shard(this.#key).isStored
        ? await this.#unlist()
        : await restGroup(this.#resting(served), () => this.split());
    // A directory that was restored to a time before knows nothing of it: the next write has it listed.
    served.isListed = false;
    return this.#erasing === undefined ? waitMs : Math.min(waitMs, REST_MS);
  }

  /** Has a group not be listed of which nothing is stored: its first write was refused, or came too late. */
  async #unlist(): Promise<number> {
    if (!this.#admission.isIdle) return REST_MS;
    await this.#erased();
    return Number.POSITIVE_INFINITY;
  }

  #resting({ host, expiry }: Served): RestingObject {
    const guard = this.#guardOf(host);
    return { ...this.#options, host, expiry, guard, isDivisible: this.#isDivisible(guard) };
  }

  /** Has the alarm set of what did not rest though it should have: the one that was set for it may have failed for good. */
  #watch(served: Served): Promise<void> {
    served.isWatched = true;
    return this.#alarm.watch(() => isRestless(this.#resting(served), this.number > 0));
  }

  /** Whether nothing is under way in it, for a caller or by itself: then it can be put out of memory. */
  get isIdle(): boolean {
    const isAtRest = this.#rests === 0 && this.#erasing === undefined && this.#served?.host.isIdle !== false;
    return isAtRest && this.#admission.isIdle;
  }

  get #key(): PartitionKey {
    return this.#options.key;
  }

  /** Which of the shards of its group it is; 0: the home. */
  get number(): number {
    return this.#options.shard ?? 0;
  }

  /** What is stored of the shard; of a home that was never split, nothing. */
  #record(host: BucketHost): ShardRecord | undefined {
    return host.shard(this.#key).record;
  }

  /** Stores what the shard is. */
  #keep(host: BucketHost, record: ShardRecord): void {
    host.shard(this.#key).keep(record);
    this.#guardOf(host).record = record;
  }

  get #isSplit(): boolean {
    return this.#guard !== undefined && this.#guard.record.bits > 0;
  }

  #guardOf(host: BucketHost): ShardGuard {
    this.#guard ??= new ShardGuard(this.#record(host) ?? WHOLE);
    return this.#guard;
  }

  /**
   * What is asked of a group that is one partition; one that has shards says so. `work` stands in a file and is no closure of this one search:
   * the code of those does not stay (docs/decisions/0187).
   */
  async #whole<Result>(
    waiting: ObjectWaiting,
    work: GroupSearch<Result>,
    query: SentQuery,
  ): Promise<ObjectReply<Result>> {
    const refusal = this.#admission.enter(0, waiting);
    if (refusal !== undefined) return { failed: errorFields(refusal), application: this.#application };
    let served: Served | undefined;
    try {
      served = await this.#ready(waiting.application);
      if (!this.#isMeant(waiting)) return { moved: null, application: this.#application };
      if (!served.isWatched) await this.#watch(served);
      if (this.#isSplit) return movedReply(this.#guard?.record, this.#application);
      const result = await work(served, this.#key, query, waiting);
      if (this.#isBehind) return await this.#whole(waiting, work, query);
      // What was found while half of it was given away is not of all documents.
      return replyOf(result, this.#isSplit, this.#guard?.record, this.#application);
    } catch (thrown) {
      if (this.#isPast(served?.host) && isClosed(thrown)) return await this.#whole(waiting, work, query);
      return failedReply(thrown, this.#application, this.#options.onProblem);
    } finally {
      this.#admission.leave(0);
    }
  }

  /** What is asked of one shard among others: done again if half of it was given away meanwhile, or another application came. */
  async #steady<Result>(
    waiting: ObjectWaiting,
    work: (served: Served) => Promise<Result>,
  ): Promise<ObjectReply<Result>> {
    return await this.#call(waiting, async (served) => {
      for (;;) {
        const bits = this.#guard?.record.bits;
        const result = await work(served);
        const isBehind = this.#isBehind && this.#served === served;
        if (!isBehind && (this.#guard?.record.bits ?? 0) === (bits ?? 0)) return result;
        if (isBehind) this.#opened();
      }
    });
  }

  async #written<Result>(served: Served, work: (host: BucketHost) => Promise<Result>): Promise<Result> {
    // What is listed has an alarm, by which it is seen whether there is anything of it.
    await this.#alarm.writing();
    await this.#list(served);
    const result = await work(served.host);
    await this.#alarm.written();
    return result;
  }

  async #call<Result>(
    waiting: ObjectWaiting,
    work: (served: Served) => Promise<Result>,
    hasMoved: (result: Result) => boolean = () => false,
    bytes?: number,
  ): Promise<ObjectReply<Result>> {
    if (waiting.fence) this.#fence.raise(waiting.fence);
    const refusal = this.#admission.enter(bytes ?? 0, waiting);
    if (refusal !== undefined) return { failed: errorFields(refusal), application: this.#application };
    let served: Served | undefined;
    try {
      served = await this.#ready(waiting.application);
      if (!this.#isMeant(waiting)) return { moved: null, application: this.#application };
      if (!served.isWatched) await this.#watch(served);
      const result = await work(served);
      return replyOf(result, hasMoved(result), this.#guard?.record, this.#application);
    } catch (thrown) {
      if (bytes === undefined && this.#isPast(served?.host) && isClosed(thrown))
        return await this.#call(waiting, work, hasMoved);
      return failedReply(thrown, this.#application, this.#options.onProblem);
    } finally {
      this.#admission.leave(bytes ?? 0);
    }
  }

  /** Whether the core was given another application than what is stored here was made ready for: it may have found nothing in that. */
  get #isBehind(): boolean {
    const { report, number } = this.#options.isolate;
    return report !== undefined && number !== this.#application;
  }

  /** Whether a group was erased meanwhile: what failed for that is asked of the one after it, as if it had come later. */
  #isPast(host: BucketHost | undefined): boolean {
    return host !== undefined && this.#served?.host !== host;
  }

  /** Whether it is the shard that a caller means. */
  #isMeant({ made = 0 }: ObjectWaiting): boolean {
    if (this.number === 0) return made === 0;
    this.#isKnown ||= serves(this.#guard?.record, { made });
    return serves(this.#guard?.record, { made });
  }

  /** The host, with at least the application that the caller knows. */
  async #ready(application: number): Promise<Served> {
    // What comes meanwhile is of the group that comes after it.
    await this.#erasing;
    const opening = this.#opening();
    if (opening !== undefined) await opening;
    // What was begun before the object lost its memory is done first.
    this.#opened();
    while (this.number === 0 && this.#guard?.record.isErased === true) {
      await this.#erased();
      this.#opened();
    }
    await this.#take(application);
    if (this.#erasing !== undefined) return await this.#ready(application);
    return this.#opened();
  }

  /** Has the isolate go on with at least the application of a number. */
  async #take(application: number): Promise<void> {
    const { isolate, port } = this.#options;
    if (isolate.number >= Math.max(application, 1)) return;
    const newest = await port.registry().application();
    if (newest !== undefined) isolate.deploy(newest);
  }

  /** Has the core of the isolate made: whatever an object is asked may be the first that is asked there. Nothing: it is. */
  #opening(): Promise<void> | undefined {
    return this.#options.isolate.open?.(() => this.#options.port.registry().secret());
  }

  /** The host, with the application that is here. */
  #opened(): Served {
    const { isolate } = this.#options;
    this.#served ??= this.#serve();
    if (isolate.report !== undefined && this.#application !== isolate.number) {
      this.#application = isolate.number;
      this.#served.host.activate(isolate.number, isolate.report);
      this.#served.isWatched = false;
      this.#served.expiry = new ObjectExpiry(isolate.report.schemas);
    }
    return this.#served;
  }

  #serve(): Served {
    const guard = (): ShardGuard | undefined =>
      this.#fence.guard(this.#guard?.isActive === true ? this.#guard : undefined, this.#application);
    const served = serveGroup(this.#options, guard);
    this.#application = 0;
    const record = this.#record(served.host);
    this.#guard = record === undefined ? undefined : new ShardGuard(record);
    return served;
  }

  /** Has the group listed, before anything of it is stored. */
  async #list(served: Served): Promise<void> {
    if (served.isListed) return;
    const listing = this.#options.port.directory(this.#options.directory);
    // A group is listed by its home.
    this.#fence.raise(await (this.number > 0 ? listing.fence(0) : listing.add(this.#key)));
    // Of no group that came after it was erased meanwhile.
    served.isListed = true;
  }
}
