/**
 * Everything stored for one group: the isolation and ordering unit. Reads are one uninterrupted turn between the core
 * and the store; a write is decided and queued in one turn, and acknowledged after the commit that holds it.
 */

import {
  asOperation,
  type Engine,
  type FloorBytes,
  type Load,
  type Mutation,
  type PartialBytes,
  type Place,
  type Query,
  type ServiceError,
  type Task,
  WANTS_EMBEDDINGS,
} from "@brooklet/core";
import type { Bucket } from "@brooklet/store";
import type { BegunRun } from "./bucket-visit.ts";
import { clock } from "./clock.ts";
import type { Answer, GetRequest, LoadOutcome, OperationRequest, Outcome } from "./cluster.ts";
import { Deadline } from "./deadline.ts";
import { drive, driveInTurns } from "./drive.ts";
import { failedOutcome, isOperators, serviceError, tailFull, tooLate } from "./failure.ts";
import { SLICE_MS, TAIL_OPERATIONS_MAX } from "./limits.ts";
import { loadPartition } from "./loading.ts";
import type { Maintenance } from "./maintenance.ts";
import { placeOf, sourceOf } from "./place.ts";
import { OpenSearch, type SearchedPartition } from "./query/open-search.ts";
import { ownTime, type Waiting } from "./query/query-models.ts";
import { MOVED, MOVED_ANSWER, MOVED_OUTCOME } from "./shards/moved.ts";
import type { ShardGuard } from "./shards/shard-guard.ts";

/** What a write came to: its outcome, if what it waits for is committed. */
interface Begun {
  readonly outcome: Outcome;
  readonly committed: Promise<void>;
  /** It is in the queue itself. */
  readonly isWrite?: true;
}

/** What a write comes to, or why it is refused; `base` settles with the write that it was decided on. */
type Decided = { readonly base: Promise<void> } & ({ readonly mutation: Mutation } | { readonly refused: Outcome });

/** A write that was decided: what with, and what it will have come to. */
interface Started {
  readonly decided: number;
  readonly outcome: Promise<Outcome>;
}

const NOT_FOUND = 404;
/** A write that finds no room after so many folds gives up: others fill the tail as fast as it is folded. */
const FOLDS_MAX = 16;

/** A part of a query that addresses several partitions. */
export interface PartSearch {
  /** What a hit has to be better than, by what was found before. */
  readonly floor: FloorBytes;
  readonly deadline: Deadline;
  /** When the caller began to wait. */
  readonly startMs: number;
  /** Called before it is waited for what a deployment left to be rewritten here: partitions beside this one may be rewritten with it. */
  readonly renewBeside?: (() => void) | undefined;
}

/** A partition of a bucket in this thread. */
export class Partition implements SearchedPartition {
  readonly #key: string;
  readonly #bucket: Bucket;
  readonly #engine: Engine;
  readonly #maintenance: Maintenance;
  readonly #tell: (problem: unknown) => void;
  readonly #guard: () => ShardGuard | undefined;

  /** `tell` is told of failures that the operator has to know; `guard` says which documents are the partition's, if it is a shard. */
  constructor(
    key: string,
    bucket: Bucket,
    engine: Engine,
    maintenance: Maintenance,
    tell: (problem: unknown) => void = () => undefined,
    guard: () => ShardGuard | undefined = () => undefined,
  ) {
    this.#key = key;
    this.#bucket = bucket;
    this.#engine = engine;
    this.#maintenance = maintenance;
    this.#tell = tell;
    this.#guard = guard;
  }

  apply(request: OperationRequest, timeoutMs: number): Promise<Outcome> {
    const deadline = Deadline.in(timeoutMs);
    // There nearly always is room: then nothing is waited for but the commit.
    if (this.#hasRoomNow(deadline) && this.#guard() === undefined) return this.#start(request, deadline).outcome;
    return this.#begin(request, deadline).then(({ outcome }) => outcome);
  }

  /**
   * Begins operations in their order, which belong to a run: none is begun after the first whose status `ends` it, and none of the run is
   * done after one that could not be committed. What comes of each that was begun settles when it is committed. Never rejects.
   */
  async beginRun(
    requests: readonly OperationRequest[],
    timeoutMs: number,
    ends: (status: number) => boolean,
    run: object,
  ): Promise<BegunRun> {
    const deadline = Deadline.in(timeoutMs);
    const outcomes: Promise<Outcome>[] = [];
    for (const request of requests) {
      const { outcome, decided } = await this.#begin(request, deadline, run);
      outcomes.push(outcome);
      if (ends(decided)) return { outcomes, isEnded: true };
    }
    return { outcomes, isEnded: false };
  }

  /** Starts a write as soon as there is room. */
  async #begin(request: OperationRequest, deadline: Deadline, run?: object): Promise<Started> {
    try {
      for (;;) {
        await this.#room(deadline);
        const admission = this.#guard()?.admission([request.id]) ?? "here";
        if (admission === "here") break;
        if (admission === "moved") return { decided: MOVED, outcome: Promise.resolve(MOVED_OUTCOME) };
        await deadline.wait(admission, tooLate);
      }
    } catch (error) {
      return failedStart(this.#failure(error));
    }
    return this.#start(request, deadline, run);
  }

  /** Decides a write and queues it in one turn. What was decided is known before it is committed. */
  #start(request: OperationRequest, deadline: Deadline, run?: object): Started {
    try {
      const { outcome, committed, isWrite } = this.#queue(request, deadline, run);
      const done = (): Outcome => {
        if (isWrite) this.#maintenance.written(this.#bucket, this.#key);
        return outcome;
      };
      return { decided: outcome.status, outcome: committed.then(done, (error) => failedOutcome(this.#failure(error))) };
    } catch (error) {
      return failedStart(this.#failure(error));
    }
  }

  #queue(request: OperationRequest, deadline: Deadline, run: object | undefined): Begun {
    const ids = request.isStored === true ? undefined : this.#engine.storedIds?.(request.id);
    if (ids === undefined) return this.#write(request, this.#decided(request, deadline, run), run);
    // In several content clusters: nothing is queued before all is decided, and all of it is one transaction.
    const decided = ids.map((id) => {
      const own = { ...request, id, isStored: true as const };
      return { own, decided: this.#decided(own, deadline, run) };
    });
    const wanting = decided.find((one) => "mutation" in one.decided && one.decided.mutation.wanted !== undefined);
    if (wanting !== undefined) return this.#write(wanting.own, wanting.decided, run);
    return together(decided.map((one) => this.#write(one.own, one.decided, run, request.id)));
  }

  #decided(request: OperationRequest, deadline: Deadline, run: object | undefined): Decided {
    const base = this.#bucket.settled(this.#key, request.id, run);
    try {
      return { base, mutation: this.#decide(request, deadline) };
    } catch (refusal) {
      // A condition may have been refused for a write that nobody else can see yet.
      return { base, refused: failedOutcome(this.#failure(refusal)) };
    }
  }

  /** Queues what a write was decided to be. What is queued of one `unit` in a row is one transaction. */
  #write(request: OperationRequest, decided: Decided, run: object | undefined, unit?: string): Begun {
    const { base } = decided;
    if ("refused" in decided) return { outcome: decided.refused, committed: base };
    const { operation, ignoredFields, ignoredOperation, wanted } = decided.mutation;
    if (wanted !== undefined) return { outcome: { status: WANTS_EMBEDDINGS, wanted }, committed: Promise.resolve() };
    const outcome = {
      status: 200,
      ...(ignoredFields && { ignoredFields }),
      ...(ignoredOperation && { ignoredOperation }),
    };
    if (operation === undefined || request.trial === true) return { outcome, committed: base };
    const removes = request.kind === "remove";
    const about = { id: request.id, decided: true, removes, ...(run && { run }), ...(unit && { unit }) };
    return { outcome, committed: this.#bucket.write(this.#key, operation, about), isWrite: true };
  }

  /** Loads operations of a feed; what comes of each, but for those that are simply done. Never rejects. */
  load(load: Load, timeoutMs: number): Promise<readonly LoadOutcome[]> {
    const deadline = Deadline.in(timeoutMs);
    const [key, bucket, engine, maintenance] = [this.#key, this.#bucket, this.#engine, this.#maintenance];
    const guarding = { guard: this.#guard, room: () => this.#room(deadline) };
    const place = { key, bucket, engine, maintenance, ...guarding };
    return loadPartition({ ...place, failure: (error) => this.#failure(error) }, load, deadline);
  }

  /** What a write comes to. Its caller queues that in the same turn: nothing may come in between. */
  #decide(request: OperationRequest, deadline: Deadline): Mutation {
    const store = this.#bucket.store;
    const nowMicros = Date.now() * 1_000;
    const queued = this.#bucket.queued(this.#key, request.id);
    const newest = queued === undefined ? undefined : asOperation(queued);
    const task = this.#engine.mutate(placeOf(store.state(this.#key)), nowMicros, newest, request);
    return drive(task, sourceOf(store, this.#key), deadline);
  }

  async get(request: GetRequest, timeoutMs: number): Promise<Answer> {
    const start = clock.now();
    try {
      if (this.#guard()?.holds(request.id) === false) return MOVED_ANSWER;
    } catch (error) {
      throw this.#failure(error);
    }
    const deadline = Deadline.in(timeoutMs, start);
    const ids = request.isStored === true ? undefined : this.#engine.storedIds?.(request.id);
    const [own = request, ...others] = (ids ?? []).map((id) => ({ ...request, id }));
    let answer = await this.#read((place) => this.#engine.get(place, own), deadline, start);
    // Of several content clusters the first that has it.
    for (const other of others) {
      if (answer.status !== NOT_FOUND) break;
      answer = await this.#read((place) => this.#engine.get(place, other), deadline, start);
    }
    return answer;
  }

  /** A search of this partition alone, which its caller disposes of. */
  search(query: Query, { timeoutMs, startMs, gone }: Waiting): OpenSearch {
    const deadline = Deadline.in(ownTime(query, timeoutMs), startMs, gone);
    return new OpenSearch(query, {
      partition: this,
      source: sourceOf(this.#bucket.store, this.#key),
      deadline,
      startMs,
    });
  }

  ready(deadline: Deadline): Promise<void> | undefined {
    return this.#outdated() ? this.#rewritten(deadline) : undefined;
  }

  isLarge(): boolean {
    return (this.#guard()?.record.bits ?? 0) > 0;
  }

  place(): Place {
    return placeOf(this.#bucket.store.state(this.#key));
  }

  failure(thrown: unknown): ServiceError {
    return this.#failure(thrown);
  }

  /** What this partition alone finds for a query that addresses several. Nothing: it does not exist. */
  async searchPart(query: Query, search: PartSearch): Promise<PartialBytes | undefined> {
    if (!this.#outdated()) return this.#findPart(query, search);
    try {
      // Most deployments leave nothing that would be found otherwise once it is rewritten; the core refuses what may be.
      return this.#findPart(query, search);
    } catch {
      search.renewBeside?.();
      await this.#rewritten(search.deadline);
      return this.#findPart(query, search);
    }
  }

  #findPart(query: Query, { floor, deadline, startMs }: PartSearch): PartialBytes | undefined {
    const store = this.#bucket.store;
    const state = store.state(this.#key);
    if (state.number === 0) return undefined;
    const shard = this.#guard()?.record;
    const number = shard === undefined || shard.bits === 0 ? undefined : shard.number;
    return drive(query.part(placeOf(state), floor, number), sourceOf(store, this.#key), deadline, startMs);
  }

  /** Begins to rewrite what another application wrote. A search that needs it waits for it, and is told what keeps it from being done. */
  renew(): void {
    try {
      if (this.#outdated()) this.#maintenance.fold(this.#bucket, this.#key).catch(() => undefined);
    } catch {
      // What is damaged is told by itself.
    }
  }

  /** Folds the tail now. */
  maintain(): Promise<void> {
    return this.#maintenance.fold(this.#bucket, this.#key);
  }

  /** Whether another application wrote the segments than the deployed one. */
  #outdated(): boolean {
    const { number, application } = this.#bucket.store.state(this.#key);
    return number !== 0 && application !== this.#bucket.application;
  }

  /**
   * Waits until the segments have the columns that the deployed application asks for. A search over others would miss
   * matches; there is nothing to wait for but after a deployment that changed how fields are stored or matched.
   */
  async #rewritten(deadline: Deadline): Promise<void> {
    while (this.#outdated()) {
      if (deadline.passed) throw tooLate();
      await deadline.wait(this.#maintenance.fold(this.#bucket, this.#key), tooLate);
    }
  }

  /** What is read is the partition as it was at its beginning: it is read in one turn, and written in more of them if it is long. */
  async #read(open: (place: Place) => Task<Answer>, deadline: Deadline, start: number): Promise<Answer> {
    try {
      const store = this.#bucket.store;
      const task = open(placeOf(store.state(this.#key)));
      const { turn } = this.#maintenance;
      return await driveInTurns(task, sourceOf(store, this.#key), { deadline, start, sliceMs: SLICE_MS, turn });
    } catch (error) {
      throw this.#failure(error);
    }
  }

  /** What a caller sees of a failure, of which the operator is told where it is theirs. */
  #failure(thrown: unknown): ServiceError {
    const error = serviceError(thrown);
    // Of what is a service error already, a trap for one, the operator was told where it was made.
    if (error !== thrown && isOperators(error)) this.#tell(error.cause ?? error);
    return error;
  }

  /** Whether the tail takes one more operation. Throws if the database cannot be opened. */
  #hasRoom(): boolean {
    return this.#maintenance.takesMore(this.#bucket.store.state(this.#key));
  }

  /** What stands against it is told by `#room`. */
  #hasRoomNow(deadline: Deadline): boolean {
    try {
      return !deadline.passed && this.#hasRoom();
    } catch {
      return false;
    }
  }

  /** Waits until the tail takes one more operation. */
  async #room(deadline: Deadline): Promise<void> {
    for (let folds = 0; ; folds += 1) {
      if (deadline.passed) throw tooLate();
      if (this.#hasRoom()) return;
      try {
        if (folds === FOLDS_MAX) throw new Error(`${folds} folds made no room`);
        await this.#maintenance.fold(this.#bucket, this.#key);
      } catch (error) {
        throw tailFull(TAIL_OPERATIONS_MAX, error);
      }
    }
  }
}

/** What one operation comes to that was done in several content clusters: what was refused in one is told. */
function together(all: readonly Begun[]): Begun {
  const outcomes = all.map(({ outcome }) => outcome);
  const committed = Promise.all(all.map((one) => one.committed)).then(() => undefined);
  const isWrite = all.some((one) => one.isWrite) ? ({ isWrite: true } as const) : {};
  const refused = outcomes.find(({ status }) => status !== 200);
  if (refused !== undefined) {
    const isDone = all.some((one) => one.isWrite);
    return { outcome: isDone ? { ...refused, outcome: "unknown" } : refused, committed, ...isWrite };
  }
  const ignoredFields = outcomes.some((one) => one.ignoredFields);
  const ignoredOperation = outcomes.every((one) => one.ignoredOperation);
  const ignored = { ...(ignoredFields && { ignoredFields }), ...(ignoredOperation && { ignoredOperation }) };
  return { outcome: { status: 200, ...ignored }, committed, ...isWrite };
}

function failedStart(error: unknown): Started {
  const outcome = failedOutcome(error);
  return { decided: outcome.status, outcome: Promise.resolve(outcome) };
}
