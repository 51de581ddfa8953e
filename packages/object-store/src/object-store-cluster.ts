/**
 * A cluster whose partitions are in an object store that several gateways share. Each bucket is a log there; who writes a bucket has
 * taken it over, and anybody reads it. What a process has of it is a cache: an operation waits until it is there and new enough, is
 * done in one turn as everywhere, and is answered when what it wrote, or read, is in the log.
 */
import {
  type Cluster,
  type ClusterEngine,
  type DeployReport,
  deploymentUnderWay,
  type Gate,
  type GateKind,
  type GateTarget,
  LocalCluster,
  type LocalClusterOptions,
  type PartitionKey,
  type SharedStoreFigures,
  serviceError,
} from "@brooklet/partition";
import { bucketOf, type SqlConnection, type Storage, type StoredApplication, StoreError } from "@brooklet/store";
import { BucketLog, Fenced } from "./bucket-log.ts";
import { BucketReplica, Outdated } from "./bucket-replica.ts";
import { deployOn, makeRounds, makeTurns, type Settling, settle, writtenByAll } from "./deployments.ts";
import { type LoggedPartitions, partitionsOf } from "./logged-partitions.ts";
import type { ObjectStore, ObjectStoreCosts } from "./object-store.ts";
import {
  beforeOf,
  begunInTime,
  certain,
  closeBucket,
  closeInTime,
  isInvalid,
  isOutdated,
  lossOf,
  meaningOf,
  Refusals,
  stepInTime,
  toldOf,
  unlessFenced,
  withoutInvalid,
} from "./outcomes.ts";
import { type PeerCall, type PeerPort, type PeerReply, Peers } from "./peers.ts";
import {
  type About,
  againWith,
  pauseMs,
  putApplication,
  randomName,
  readAbout,
  readNewest,
  sleep,
} from "./store-records.ts";
import { backupsOf, HeldFiles, removeOldSnapshots } from "./store-snapshot.ts";
import { removeStrayFiles } from "./stray-files.ts";

/** How a cluster over an object store is opened. */
export interface ObjectStoreClusterOptions
  extends Pick<
    LocalClusterOptions,
    "surroundings" | "keepRemovesSeconds" | "onApplication" | "onProblem" | "embedder" | "modelRunner" | "objections"
  > {
  readonly store: ObjectStore;
  /** Makes a core. `secret` stays the same as long as the store: what cores seal is of all gateways. */
  readonly makeEngine: (secret: Uint8Array) => ClusterEngine;
  /** Opens an empty database of this process, in memory or in a file that nobody needs to find again. */
  readonly openCache: () => SqlConnection;
  /** Bytes of blocks that are kept of all buckets; 1 GiB by default. */
  readonly cacheBytes?: number;
  /** Of a store that is empty: how many buckets it will have, for good; 8 by default. */
  readonly buckets?: number;
  /** How other gateways reach this one, and it them; without it, whoever is asked to write takes the bucket over. */
  readonly peers?: PeerPort;
  /** How long closing waits for a store that does not answer, milliseconds, twice at most; 10 s by default. */
  readonly closeMs?: number;
  /** Waits; a test has time of its own. */
  readonly wait?: (milliseconds: number) => Promise<void>;
}

const BUCKETS_DEFAULT = 8;
const CACHE_BYTES = 1 << 30;
/** An operation whose bucket is taken over again and again gives up. */
const ATTEMPTS = 5;
/** How often it is looked whether another gateway has deployed something. */
const APPLICATION_MS = 1_000;
/** How often it is looked for files that servers left which were killed. */
const STRAY_MS = 3_600_000;
const WRITER_BYTES = 12;
/** How often gateways say that they are there. */
const PEERS_MS = 5_000;
/** Who is content with what was known a moment ago has it looked for something newer so often. */
const EVENTUAL_MS = 1_000;

interface SharedBucket {
  readonly log: BucketLog;
  readonly replica: BucketReplica;
  /** When it was last looked for something newer on behalf of those. */
  lookedMs: number;
}

/** Opens a cluster. An empty store is made one. */
export async function openObjectStoreCluster(options: ObjectStoreClusterOptions): Promise<ObjectStoreCluster> {
  const again = againWith(options.wait ?? sleep);
  const about = await readAbout(options.store, options.buckets ?? BUCKETS_DEFAULT, again);
  const application = await readNewest(options.store, 0, again);
  const cluster = new ObjectStoreCluster(options, about, application);
  await cluster.meet();
  return cluster;
}

/** A cluster over an object store. */
export class ObjectStoreCluster implements Cluster {
  readonly #options: ObjectStoreClusterOptions;
  readonly #inner: LocalCluster;
  readonly #buckets = new Map<number, SharedBucket>();
  readonly #writer = randomName(WRITER_BYTES);
  readonly #about: About;
  readonly #wait: (milliseconds: number) => Promise<void>;
  readonly #endLooking: (() => void)[];
  readonly #peers: Peers | undefined;
  #application: StoredApplication | undefined;
  readonly #held: HeldFiles;
  readonly #refusals: Refusals;
  readonly #settling: Settling;
  #files = 0;
  readonly #deploying = makeTurns();
  #closing: Promise<void> | undefined;

  constructor(options: ObjectStoreClusterOptions, about: About, application: StoredApplication | undefined) {
    this.#refusals = new Refusals(options.onProblem);
    this.#options = { ...options, onProblem: this.#refusals.tell };
    this.#about = about;
    this.#application = application;
    this.#wait = options.wait ?? sleep;
    const gate: Gate = {
      pass: (target, kind, timeoutMs, work) => this.#passInTime(target, kind, timeoutMs, work),
      hold: (key) => this.#bucketAt(this.#numberOf(key)).replica.hold(key),
      maintains: (bucket) => this.#buckets.get(bucket)?.log.isOwner === true,
      written: (own) => {
        const logs = () => Array.from({ length: about.buckets }, (_, number) => this.#bucketAt(number).log);
        const application = this.#number + 1;
        return writtenByAll(own, { logs, application, settle: (number, ms) => settle(number, this.#settling, ms) });
      },
      elsewhere: (key) => this.#peers?.writerOf(this.#numberOf(key))?.(key),
    };
    this.#inner = new LocalCluster({
      ...options,
      makeEngine: () => options.makeEngine(about.secret),
      storage: this.#storage(),
      gate,
      partitions: (_, { bucket }) => this.#partitionsOf(bucket),
    });
    const { surroundings, peers, store, onProblem = () => undefined } = this.#options;
    const [again, { files }, now] = [againWith(this.#wait), store, surroundings.sharedMs];
    this.#settling = {
      newest: () => this.#takeNewest(),
      put: (application) => putApplication(store, application, this.#writer, again),
      now,
      wait: this.#wait,
    };
    this.#held = new HeldFiles(store, again);
    this.#peers = peers && new Peers({ files, name: this.#writer, port: peers, again, now });
    const round = makeRounds(surroundings.every);
    this.#endLooking = [
      round(APPLICATION_MS, () => this.#look(), onProblem),
      round(STRAY_MS, () => this.removeStrayFiles(), unlessFenced(onProblem)),
      round(PEERS_MS, () => this.meet(), onProblem),
    ];
  }

  /** Hears which gateways are there, and says that this one is. */
  async meet(): Promise<void> {
    await this.#peers?.look();
  }

  /** Does what another gateway sent here. */
  answer(call: PeerCall): Promise<PeerReply> {
    const here = this.#inner.here(call.key);
    return call.kind === "apply" ? here.apply(call.request, call.timeoutMs) : here.load(call.load, call.timeoutMs);
  }

  partition: Cluster["partition"] = (key) => this.#inner.partition(key);
  query: Cluster["query"] = (request) => this.#inner.query(request);
  evaluate: Required<Cluster>["evaluate"] = (...asked) => this.#inner.evaluate(...asked);
  feed: Cluster["feed"] = (input, options) => this.#inner.feed(input, options);
  checkVisit: Cluster["checkVisit"] = (visit, operation) => this.#inner.checkVisit(visit, operation);
  visit: Cluster["visit"] = (...asked) => this.#inner.visit(...asked);
  applyWhere: Cluster["applyWhere"] = (...asked) => this.#inner.applyWhere(...asked);
  bucketOf: Cluster["bucketOf"] = (key) => this.#inner.bucketOf(key);
  applicationPackage: Cluster["applicationPackage"] = () => this.#inner.applicationPackage();
  application: Cluster["application"] = () => this.#inner.application();

  get buckets(): number {
    return this.#about.buckets;
  }

  get secret(): Uint8Array {
    return this.#about.secret;
  }

  /** The number of the application that is served. */
  get #number(): number {
    return this.#application?.number ?? 0;
  }

  /** What was asked of the store until now. */
  get costs(): ObjectStoreCosts {
    return this.#options.store.costs;
  }

  /** How many buckets this gateway owns. */
  get owned(): number {
    return [...this.#buckets.values()].filter(({ log }) => log.isOwner).length;
  }

  sharedStore(): SharedStoreFigures {
    const { puts, gets, lists, removes, bytesWritten, bytesRead } = this.costs;
    return { puts, gets, lists, removes, bytesWritten, bytesRead, bucketsOwned: this.owned };
  }

  health: NonNullable<Cluster["health"]> = () => this.#refusals.health();
  figures: NonNullable<Cluster["figures"]> = () => this.#inner.figures();
  models: NonNullable<Cluster["models"]> = () => this.#inner.models();

  /** The receipt is given when the snapshot, the log and all files are without the group. */
  erase: Cluster["erase"] = async (key) => {
    const erased = await this.#inner.erase(key);
    const { log, replica } = this.#bucketAt(this.#numberOf(key));
    try {
      const before = await backupsOf(this.#options.store);
      await stepInTime(log.collect(), "unknown");
      await stepInTime(replica.removed(), "unknown");
      // One that was there before may be on its way out, one that is there now may have been begun before.
      const backups = new Map(
        [...before, ...(await backupsOf(this.#options.store))].map((backup) => [backup.id, backup]),
      );
      return backups.size === 0 ? erased : { ...erased, backups: [...backups.values()] };
    } catch (error) {
      throw serviceError(meaningOf(error));
    }
  };

  /** One after the other here, and of several gateways one at a time. */
  deploy: Cluster["deploy"] = (...asked) => toldOf(this.#deploying(() => this.#deploy(...asked)));

  checkDeployment: Cluster["checkDeployment"] = (applicationPackage) =>
    toldOf(this.#look().then(() => this.#inner.checkDeployment(applicationPackage)));

  applicationNumber: Cluster["applicationNumber"] = () => toldOf(this.#look().then(() => this.#number));

  async #deploy(applicationPackage: Uint8Array, base?: number): Promise<DeployReport> {
    const deploy = (on?: number): Promise<DeployReport> => this.#inner.deploy(applicationPackage, on);
    return await deployOn(base, () => this.#takeNewest(), deploy);
  }

  /** Serves what another gateway has deployed, if anything. */
  async #look(): Promise<void> {
    if (this.#closing === undefined) await this.#deploying(() => this.#takeNewest());
    await this.#refusals.end(this.#options.store.files, `file/0/${this.#writer}-0`, againWith(this.#wait));
  }

  /** Serves the newest application. Nothing: there is none, or nothing is served any more. */
  async #takeNewest(): Promise<StoredApplication | undefined> {
    const reading = readNewest(this.#options.store, this.#number, againWith(this.#wait));
    const newest = await stepInTime(reading, "not_applied");
    if (this.#closing !== undefined) return undefined;
    // Of two that ask at once the slower may have read less.
    if (newest === undefined || newest.number <= this.#number) return this.#application;
    this.#application = newest;
    this.#inner.restore(newest);
    return newest;
  }

  /** Removes files that servers which were killed left in buckets that are this one's, and snapshots whose time is over. How many files. */
  async removeStrayFiles(): Promise<number> {
    const [again, { store }] = [againWith(this.#wait), this.#options];
    await removeOldSnapshots(store, new Date(), again);
    let removed = 0;
    for (const [number, { log, replica }] of this.#buckets) {
      if (this.#closing !== undefined) break;
      const prefix = `file/${number}/`;
      await replica.removeLeft();
      removed += await removeStrayFiles({
        files: store.files,
        log,
        replica,
        prefix,
        held: () => this.#held.of(number),
        again,
      });
    }
    return removed;
  }

  /** Folds the tail of a partition now. */
  maintain(key: PartitionKey): Promise<void> {
    return this.#passInTime({ keys: [key] }, "write", Number.POSITIVE_INFINITY, () => this.#inner.maintain(key));
  }

  /** Settles when no maintenance is queued or running. */
  idle(): Promise<void> {
    return this.#inner.idle();
  }

  close(): Promise<void> {
    this.#closing ??= Promise.resolve().then(() => this.#close());
    return this.#closing;
  }

  async #close(): Promise<void> {
    for (const end of this.#endLooking) end();
    const { closeMs, onProblem } = this.#options;
    await closeInTime(this.#finish(), closeMs, onProblem);
    await closeInTime(Promise.all(Array.from(this.#buckets.values(), closeBucket)), closeMs, onProblem);
    await this.#inner.close();
    for (const { replica } of this.#buckets.values()) replica.close();
    await this.#options.store.close?.();
  }

  async #finish(): Promise<void> {
    await this.#peers?.leave().catch(() => undefined);
    await this.#deploying(async () => undefined);
    await this.#inner.idle();
    for (const { log } of this.#buckets.values()) await log.finish();
  }

  /** A store that does not answer keeps nobody waiting longer than they would. */
  async #passInTime<Result>(
    target: GateTarget,
    kind: GateKind,
    timeoutMs: number,
    work: (leftMs: number) => Promise<Result>,
  ): Promise<Result> {
    return await begunInTime(kind, timeoutMs, (begin) => this.#pass(target, kind, begin), work);
  }

  /** Brings what an operation needs, and answers when that is known to be true. */
  async #pass<Result>(target: GateTarget, kind: GateKind, work: () => Promise<Result>): Promise<Result> {
    const keys = "keys" in target ? target.keys : undefined;
    const numbers =
      keys === undefined ? [(target as { readonly bucket: number }).bucket] : keys.map((key) => this.#numberOf(key));
    const shared = Array.from(new Set(numbers), (number) => this.#bucketAt(number));
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.#passOnce(shared, keys, kind, work);
      } catch (error) {
        const isFenced = error instanceof Fenced && (kind !== "write" || error.outcome === "not_applied");
        const isWorthAnother = isFenced || isOutdated(error);
        if (!isWorthAnother || attempt === ATTEMPTS || this.#closing !== undefined)
          throw serviceError(meaningOf(error));
      }
    }
  }

  async #passOnce<Result>(
    shared: readonly SharedBucket[],
    keys: readonly string[] | undefined,
    kind: GateKind,
    work: () => Promise<Result>,
  ): Promise<Result> {
    const isEventual = kind === "eventual";
    const newEnough = isEventual ? "begun" : "fresh";
    const wanted = kind === "write" || this.#isOutdated(shared, keys) ? "own" : newEnough;
    if (isEventual) this.#lookBeside(shared);
    // Whoever owns a bucket reads while it is asked whether that is still so.
    const proofs =
      kind === "write" || isEventual ? [] : shared.filter(({ log }) => log.isOwner).map(({ log }) => log.fresh());
    for (const { log } of shared) if (!log.isOwner) await log[wanted]();
    const held = await this.#hold(shared, keys);
    try {
      const [before, number] = [shared.map(beforeOf), this.#number];
      try {
        const result = await work();
        const unwritten = before.filter(({ log, submitted }) => kind !== "write" || log.submitted === submitted);
        // What was refused wrote nothing: it has to be asked whether what it was refused for was the newest.
        if (kind === "write") proofs.push(...unwritten.map(({ log }) => log.fresh()));
        for (const { log } of shared) await log.confirmed();
        await Promise.all(proofs);
        if (before.some(({ log, epoch }) => log.epoch !== epoch)) throw new Fenced("not_applied", lossOf(before));
        // What is wrong here may be right by what another gateway has deployed.
        const isBehind = isInvalid(result) && ((await this.#takeNewest())?.number ?? 0) !== number;
        if (isBehind && unwritten.length > 0) throw new Fenced("not_applied");
        // Who owns a bucket no more may have refused for that alone, or by an application that is none any more.
        if (kind === "write" && unwritten.some(({ log }) => !log.isOwner)) throw new Fenced("not_applied");
        // What another wrote until this was asked was not here yet when it was read.
        if (!isEventual && unwritten.some(({ log, followed }) => log.followed !== followed)) throw new Outdated();
        return isBehind ? withoutInvalid(result) : result;
      } catch (error) {
        throw before.some(({ log, epoch }) => log.epoch !== epoch) ? certain(error, before) : error;
      }
    } finally {
      for (const release of held) release();
    }
  }

  /** Looks for something newer beside those who do not wait for it. */
  #lookBeside(shared: readonly SharedBucket[]): void {
    const nowMs = this.#options.surroundings.sharedMs();
    for (const bucket of shared) {
      if (nowMs - bucket.lookedMs < EVENTUAL_MS) continue;
      bucket.lookedMs = nowMs;
      // A store that is away is heard of by who has to wait for it.
      void bucket.log.fresh();
    }
  }

  /** Whether segments have to be written anew before they can be searched: only who owns the bucket may. */
  #isOutdated(shared: readonly SharedBucket[], keys: readonly string[] | undefined): boolean {
    if (keys === undefined) return false;
    return keys.some((key) => {
      const replica = shared.find(({ replica: one }) => one.isWarm(key))?.replica;
      if (replica === undefined) return false;
      const { number, application } = replica.store.state(key);
      return number !== 0 && application !== this.#number;
    });
  }

  async #hold(shared: readonly SharedBucket[], keys: readonly string[] | undefined): Promise<(() => void)[]> {
    if (keys !== undefined) {
      const held: (() => void)[] = [];
      try {
        for (const key of keys) held.push(await this.#bucketAt(this.#numberOf(key)).replica.hold(key));
        return held;
      } catch (error) {
        for (const release of held) release();
        throw error;
      }
    }
    // Their blocks are brought one partition after the other.
    await Promise.all(shared.map(({ replica }) => replica.warmAll()));
    return [];
  }

  #numberOf(key: string): number {
    return bucketOf(key, this.#about.buckets);
  }

  #bucketAt(number: number): SharedBucket {
    if (this.#closing !== undefined) throw new StoreError("closed", "nothing is read or written after close()");
    const known = this.#buckets.get(number);
    if (known !== undefined) return known;
    const made = this.#makeBucket(number);
    this.#buckets.set(number, made);
    return made;
  }

  #makeBucket(number: number): SharedBucket {
    const { store, openCache, cacheBytes = CACHE_BYTES, onProblem = () => undefined } = this.#options;
    const replica = new BucketReplica({
      bucket: number,
      buckets: this.#about.buckets,
      files: store.files,
      held: () => this.#held.of(number),
      open: openCache,
      cacheBytes: Math.ceil(cacheBytes / this.#about.buckets),
      nameFile: () => this.#newFile(number),
      again: againWith(this.#wait),
      onBegin: () => this.#inner.forget(number),
      onProblem,
    });
    const log = new BucketLog({
      log: store.log,
      name: `bucket/${number}`,
      writer: this.#writer,
      replica,
      settled: (application) => (application > this.#number ? settle(application, this.#settling) : undefined),
      pause: (attempt) => this.#wait(pauseMs(attempt)),
      onProblem,
    });
    return { log, replica, lookedMs: Number.NEGATIVE_INFINITY };
  }

  #newFile(bucket: number): string {
    this.#files += 1;
    return `file/${bucket}/${this.#writer}-${this.#files}`;
  }

  /** What the inner cluster has of a bucket: each time that it begins anew, another. */
  #partitionsOf(number: number): LoggedPartitions {
    return partitionsOf(this.#bucketAt(number), this.#number);
  }

  /** What the inner cluster takes for its storage: databases that are there already, and an application that is kept elsewhere. */
  #storage(): Storage {
    const { buckets, secret } = this.#about;
    return {
      buckets,
      secret,
      openBucket: (number) => ({ ...this.#bucketAt(number).replica.sql, close: () => undefined }),
      readApplication: () => this.#application,
      storeApplication: async (application) => {
        if (!(await stepInTime(this.#settling.put(application), "unknown"))) {
          await this.#takeNewest();
          throw deploymentUnderWay();
        }
        this.#application = application;
      },
      close: () => undefined,
    };
  }
}
