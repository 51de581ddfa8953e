/**
 * The buckets of one thread, with the core and the maintenance they share. Which thread has which buckets, and where
 * they are stored, is decided by who makes this.
 */
import type {
  DeploymentFacts,
  DeployReport,
  Engine,
  ModelAddresses,
  PackageBytes,
  Query,
  QueryBytes,
} from "@brooklet/core";
import { asPackage } from "@brooklet/core";
import {
  Bucket,
  hasErased,
  hasPartitionBefore,
  type PartitionsOf,
  type Reserve,
  type SqlConnection,
  type StoredApplication,
  StoreError,
  storedNotes,
} from "@brooklet/store";
import { applyToSelected, type VisitPlace, visitBucket } from "./bucket-visit.ts";
import type { Gone } from "./cancellation.ts";
import type {
  Erasure,
  GroupUsage,
  MassOperation,
  MassOutcome,
  PartitionKey,
  SearchStep,
  Visit,
  VisitPage,
  VisitStep,
} from "./cluster.ts";
import { Deadline } from "./deadline.ts";
import { erasePartition } from "./erasing.ts";
import { closedError, tellingOnce } from "./failure.ts";
import type { ThreadFigures } from "./health/figures.ts";
import { KEEP_REMOVES_SECONDS, SWEEP_MS, UNSEEN_SECONDS } from "./limits.ts";
import { Maintenance } from "./maintenance.ts";
import { Partition } from "./partition.ts";
import { type BucketFound, searchBucket } from "./query/bucket-search.ts";
import { FoundParts } from "./query/found-parts.ts";
import { ownTime, type Waiting } from "./query/query-models.ts";
import { usageOf } from "./quotas/stored-count.ts";
import { BucketShards } from "./shards/bucket-shards.ts";
import { bucketOfName } from "./shards/shard.ts";
import type { ShardGuard } from "./shards/shard-guard.ts";
import { ShardStore } from "./shards/shard-store.ts";
import { WrittenMeanwhile } from "./shards/written-meanwhile.ts";
import type { Surroundings } from "./surroundings.ts";

/** An engine that can be given an application. */
export interface DeployableEngine extends Engine {
  /** What it holds: its memory, and what of that is resident. */
  statistics?(): Readonly<Record<string, unknown>>;
  models(applicationPackage: PackageBytes): ModelAddresses;
  deploy(applicationPackage: PackageBytes, facts?: DeploymentFacts): DeployReport;
  /** Activates a package that was stored: its form may be one that is refused by now. */
  restore(applicationPackage: PackageBytes): DeployReport;
  /** What has to be kept of the deployed application beside its package; nothing or empty: nothing. */
  history?(): Uint8Array;
}

/** What a host needs. */
export interface BucketHostOptions {
  readonly engine: DeployableEngine;
  /** How many buckets there are in all; every key belongs to one of them. */
  readonly buckets: number;
  readonly openBucket: (bucket: number) => SqlConnection;
  /** Makes what keeps the partitions of an open bucket. */
  readonly partitions: PartitionsOf;
  /** Which of them are this host's; all of them by default. */
  readonly owns?: (bucket: number) => boolean;
  /** Whether those that nobody asks for are looked into for what is gone; so by default. */
  readonly isSwept?: boolean;
  /** What is kept back on the device for what gives space. */
  readonly reserve?: Reserve | undefined;
  /** Which documents are a partition's, if it is a shard of a large group; what is noted of it by default. */
  readonly guard?: (key: string) => ShardGuard | undefined;
  /** Brings what is stored of a partition, where that is not all here, and holds it until what it gives is called. */
  readonly hold?: (key: string) => Promise<() => void>;
  /** How to be the only one of those who share the core's memory that writes segments (`MaintenanceOptions`). */
  readonly enter?: (isOver: () => boolean) => Promise<() => void>;
  readonly application: StoredApplication | undefined;
  readonly surroundings: Surroundings;
  /** How long it is known that a document was removed; two weeks by default. */
  readonly keepRemovesSeconds?: number;
  /** Bytes of a tail that takes no more before it is folded, if fewer than a machine has memory for. */
  readonly tailBytesMax?: number;
  /** Told of every failure that no caller sees, for the operator's log. */
  readonly onProblem: (error: unknown) => void;
}

/** Buckets that are opened when they are first needed. */
export class BucketHost {
  readonly #options: BucketHostOptions;
  readonly #maintenance: Maintenance;
  readonly #meanwhile: WrittenMeanwhile;
  readonly #open = new Map<number, Bucket>();
  readonly #unseen: UnseenBuckets;
  readonly #endSweeping: () => void;
  readonly #tell: (problem: unknown) => void;
  /** The shards of large groups, unless who made this looks after them. */
  readonly shards: BucketShards;
  #application: number;
  #looks: Promise<void> = Promise.resolve();
  #isClosed = false;

  constructor(options: BucketHostOptions) {
    const {
      engine,
      application,
      keepRemovesSeconds = KEEP_REMOVES_SECONDS,
      onProblem,
      hold,
      enter,
      tailBytesMax,
    } = options;
    const { turn, foldTogether } = options.surroundings;
    this.#options = options;
    this.#tell = tellingOnce(onProblem);
    this.#application = application?.number ?? 0;
    this.#maintenance = new Maintenance({
      engine,
      keepRemovesSeconds,
      turn,
      onProblem,
      ...(foldTogether && { foldTogether }),
      ...(hold && { hold }),
      ...(enter && { enter }),
      ...(tailBytesMax !== undefined && { tailBytesMax }),
    });
    const { buckets, owns = () => true, isSwept = true } = options;
    this.#meanwhile = new WrittenMeanwhile({
      buckets: Array.from({ length: buckets }, (_, number) => number).filter(owns),
      bucketAt: (number) => this.#bucketAt(number),
      visit: (...asked) => this.visit(...asked),
    });
    this.shards = new BucketShards({
      maintenance: this.#maintenance,
      meanwhile: this.#meanwhile,
      bucketFor: (name) => this.#bucketFor(name),
      partition: (name) => this.partition(name),
      shard: (name) => this.shard(name),
      visit: (...asked) => this.visit(...asked),
      erasePartition: (name) => this.#erase(name as PartitionKey),
      usage: (name) => this.#usage(name),
      tell: (problem) => this.#tell(problem),
    });
    this.#unseen = new UnseenBuckets(isSwept ? buckets : 0, owns);
    if (application !== undefined) this.deploy(application);
    this.#endSweeping = options.surroundings.every(SWEEP_MS, () => this.#sweep());
  }

  /** The partition of `key`; it need not exist. */
  partition(key: string): Partition {
    this.shards.eraseNow(key);
    const bucket = this.#bucketFor(key);
    const { engine, guard = (name) => this.shards.active(name) } = this.#options;
    return new Partition(key, bucket, engine, this.#maintenance, this.#tell, () => this.#meanwhile.guard(guard(key)));
  }

  /** What is stored of the shard of `key`; it need not exist. */
  shard(key: string): ShardStore {
    return new ShardStore(key, this.#bucketFor(key), this.#options.engine, this.#maintenance);
  }

  /** Whether a group has several shards, each of which has to be asked. */
  isLarge(key: string): boolean {
    return this.#options.guard === undefined && this.shards.isLarge(key);
  }

  /** Opens a query, which its caller disposes of. Throws if nothing is deployed. */
  query(bytes: QueryBytes): Query {
    if (this.#isClosed) throw closedError();
    return this.#options.engine.query(bytes);
  }

  /** What partitions of a bucket find for a query, in turns between which others are served. */
  async searchBucket(query: Query, step: SearchStep, { timeoutMs, startMs, gone }: Waiting): Promise<BucketFound> {
    const partition = (key: string): Partition => this.partition(key);
    const { surroundings, onProblem, hold } = this.#options;
    const [shard = ""] = step.made === undefined ? [] : (step.keys ?? []);
    const bucket = shard === "" ? this.#bucketAt(step.bucket) : this.#bucketFor(shard);
    const isLarge = (key: string): boolean => this.isLarge(key);
    const place = { bucket, partition, turn: surroundings.turn, onProblem, isLarge, ...(hold && { hold }) };
    const deadline = Deadline.in(ownTime(query, timeoutMs), startMs, gone);
    const search = (): Promise<BucketFound> => searchBucket(place, query, step, { deadline, startMs });
    if (step.made === undefined) return await search();
    return await this.shards.search(shard, step.made, search, () => new FoundParts(query, step.floor).merged());
  }

  /** Documents of a bucket, in turns between which others are served. */
  visit(visit: Visit, step: VisitStep, timeoutMs: number, gone?: Gone): Promise<VisitPage> {
    return visitBucket(this.#placeOf(step), visit, step, timeoutMs, gone);
  }

  /** Applies an operation to the documents that a visit selects. */
  applyWhere(
    visit: Visit,
    step: VisitStep,
    operation: MassOperation,
    timeoutMs: number,
    gone?: Gone,
  ): Promise<MassOutcome> {
    const partition = (key: string): Partition => this.partition(key);
    return applyToSelected({ ...this.#placeOf(step), partition }, visit, step, operation, timeoutMs, gone);
  }

  #placeOf({ bucket: number, key, isShard }: VisitStep): VisitPlace {
    const { engine, onProblem, surroundings, hold } = this.#options;
    const bucket = isShard === true && key !== undefined ? this.#bucketFor(key) : this.#bucketAt(number);
    const isLarge = (name: string): boolean => this.isLarge(name);
    return { bucket, engine, turn: surroundings.turn, onProblem, isLarge, ...(hold && { hold }) };
  }

  /** Erases a partition, in this turn. */
  async erase(key: PartitionKey): Promise<Erasure> {
    return this.#erase(key);
  }

  #erase(key: PartitionKey): Erasure {
    const bucket = this.#bucketFor(key);
    const { engine } = this.#options;
    return erasePartition({ bucket, engine, maintenance: this.#maintenance, onProblem: this.#tell }, key);
  }

  #usage(name: string): GroupUsage {
    const { engine } = this.#options;
    return usageOf({ bucket: this.#bucketFor(name), engine, onProblem: this.#tell }, name as PartitionKey);
  }

  /**
   * Whether the device is full. Where it is not, something that changes nothing is committed in a bucket if that is wanted, on stable
   * storage as any write; and wanted or not in those that could only be read.
   */
  probe(bucket: number, isWanted: boolean): boolean {
    if (this.#options.reserve?.isGivenUp === true) return true;
    for (const open of this.#open.values()) if (open.isReadOnly) open.probe();
    if (isWanted) this.#bucketAt(bucket).probe();
    return false;
  }

  /** What was done since the start, and what is held. */
  get figures(): ThreadFigures {
    const buckets = [...this.#open.values()].filter(({ isOpen }) => isOpen);
    const { tally } = this.#maintenance;
    const statistics = this.#options.engine.statistics?.() ?? {};
    const of = (name: string): number => Number(statistics[name] ?? 0);
    const sum = (part: (bucket: Bucket) => number): number => buckets.reduce((all, bucket) => all + part(bucket), 0);
    return {
      buckets: buckets.length,
      commits: sum(({ commits }) => commits),
      logBytes: sum(({ logBytes, keptBytes }) => logBytes + keptBytes),
      fileBytes: sum(({ size }) => size.fileBytes),
      freeBytes: sum(({ size }) => size.freeBytes),
      folds: tally.folds,
      foldMs: tally.foldMs,
      foldsFailed: tally.failed,
      foldsQueued: this.#maintenance.queued,
      memoryBytes: of("memoryBytes"),
      residentBytes: of("blockBytes"),
      blockHits: of("hits"),
      blockMisses: of("misses"),
    };
  }

  /** The number of the application that is active. */
  get application(): number {
    return this.#application;
  }

  /** Activates an application that was validated and stored. */
  deploy(application: StoredApplication): DeployReport {
    try {
      if (this.#isClosed) throw closedError();
      // What was decided by the application before is committed before there is another.
      for (const bucket of this.#open.values()) bucket.flush();
      const report = this.#options.engine.restore(asPackage(application.bytes));
      this.activate(application.number, report);
      return report;
    } finally {
      // Those that waited for it are decided by it.
      this.#meanwhile.release();
    }
  }

  /** Goes on with an application that the engine has already. */
  activate(application: number, report: DeployReport): void {
    this.#application = application;
    this.#maintenance.stored = report.stored;
    for (const bucket of this.#open.values()) {
      bucket.application = application;
      this.#maintenance.deployed(bucket);
    }
    this.#unseen.deployed(report.erasedFrom ?? 0);
  }

  /**
   * Lets go of a bucket, of which nothing is true any more. Who is at work on it fails, with nothing done; whoever comes next
   * opens it anew.
   */
  forget(number: number): void {
    const bucket = this.#open.get(number);
    if (bucket === undefined) return;
    this.#open.delete(number);
    this.#maintenance.forget(bucket);
    bucket.abandon();
  }

  /** Does for a partition now what is else done when it rests: folds, joins small segments, drops what was removed. */
  rest(key: string): Promise<void> {
    return this.#maintenance.rest(this.#bucketFor(key), key);
  }

  /** Whether a partition was not gone through since schemas were removed of which it may have documents. */
  mayHoldErased(key: string): boolean {
    const { number, application } = this.#bucketFor(key).store.state(key);
    return number !== 0 && application < this.#unseen.erasedFrom;
  }

  #sweep(): void {
    this.#maintenance.sweep();
    for (const number of this.#unseen.next()) {
      const look = (): void => this.#lookInto(number);
      // Each in a turn of its own: that opens a file, and may wait for the device.
      this.#looks = this.#looks.then(this.#options.surroundings.turn).then(look);
    }
  }

  #lookInto(number: number): void {
    if (this.#maintenance.stopped || this.#open.get(number)?.isOpen) return;
    try {
      // From here on it is maintained.
      if (this.#hasRest(number)) void this.#bucketAt(number).store;
    } catch (error) {
      if (isPassing(error)) this.#unseen.again(number);
      this.#tell(error);
    }
  }

  /** Whether a bucket that nobody asked for has anything to be maintained. What an earlier process left in the log goes with this, unless somebody reads it. */
  #hasRest(number: number): boolean {
    const connection = this.#opened(number);
    try {
      const hasRest = hasPartitionBefore(connection, this.#unseen.erasedFrom) || hasErased(connection);
      const isWhole = connection.checkpoint?.(true) ?? true;
      return hasRest || !isWhole;
    } finally {
      connection.close();
    }
  }

  /** Whether no maintenance is queued or running. */
  get isIdle(): boolean {
    return this.#maintenance.isIdle;
  }

  /** Settles when no maintenance is queued or running, and what was to be looked into was. */
  async idle(): Promise<void> {
    await this.#looks;
    await this.#maintenance.idle();
  }

  /** Finishes the writes that were accepted, and closes all databases. */
  async close(): Promise<void> {
    this.#endSweeping();
    // Writes that are being encoded in this turn reach the queue of their bucket first.
    await this.#options.surroundings.turn();
    await this.#maintenance.stop();
    // A bucket that was opened again would be written without the lock.
    this.#isClosed = true;
    for (const bucket of this.#open.values()) bucket.close();
    this.#open.clear();
  }

  /** Opens the database of a bucket. What is noted in it tells of partitions in others, too. */
  #opened(number: number): SqlConnection {
    const connection = this.#options.openBucket(number);
    try {
      if (this.#options.guard === undefined) this.shards.meet(storedNotes(connection).keys());
    } catch (error) {
      connection.close();
      throw error;
    }
    return connection;
  }

  #bucketFor(name: string): Bucket {
    return this.#bucketAt(bucketOfName(name, this.#options.buckets));
  }

  #bucketAt(number: number): Bucket {
    const { buckets, partitions, reserve, surroundings } = this.#options;
    if (this.#isClosed) throw closedError();
    if (!(number >= 0 && number < buckets)) throw new RangeError(`bucket ${number} of ${buckets}`);
    let bucket = this.#open.get(number);
    if (bucket === undefined) {
      const identity = { bucket: number, buckets };
      const open = (): SqlConnection => this.#opened(number);
      const how = { schedule: surroundings.schedule, reserve, partitions };
      bucket = new Bucket({ ...identity, open, application: this.#application, ...how });
      this.#open.set(number, bucket);
      this.#maintenance.attend(bucket);
    }
    return bucket;
  }
}

/** Whether what failed may be done later: no bucket is damaged or another's by then. */
function isPassing(error: unknown): boolean {
  return error instanceof StoreError && ["busy", "full", "io", "readonly", "spent"].includes(error.kind);
}

/** Buckets that were not looked into for what is gone, since that was needed: from the start on, and after deployments. */
class UnseenBuckets {
  readonly #own: readonly number[];
  #waiting: number[];
  /** Partitions that were last written with an earlier application may hold some. */
  erasedFrom = 0;

  constructor(buckets: number, owns: (bucket: number) => boolean) {
    this.#own = Array.from({ length: buckets }, (_, number) => number).filter(owns);
    this.#waiting = [...this.#own];
  }

  /** Notes from which application on nothing is gone. */
  deployed(erasedFrom: number): void {
    if (erasedFrom > this.erasedFrom) this.#waiting = [...this.#own];
    this.erasedFrom = erasedFrom;
  }

  /** Notes one that could not be looked into for the moment. */
  again(number: number): void {
    if (!this.#waiting.includes(number)) this.#waiting.push(number);
  }

  /** Those to look into now: few at a time, all of them soon. */
  next(): number[] {
    return this.#waiting.splice(0, Math.ceil(this.#own.length / UNSEEN_SECONDS));
  }
}
