/**
 * A fork: another store, made of a snapshot of one, with which it shares nothing from then on. Everything that is read is verified: objects
 * by their digests, blocks of segments by their seals. The place where the target says that it is a store is written last: before that
 * nobody opens it.
 */
import { Core, instantiate } from "@brooklet/core";
import { StoreError } from "@brooklet/store";
import { filesOf, inOrder } from "./bucket-state.ts";
import { damagedError, decodeFrame, encodeFrame } from "./log-object.ts";
import { openSnapshot, sameBytes } from "./log-reader.ts";
import type { ObjectStore } from "./object-store.ts";
import { cut, type NamedSegment, readSegmentFile } from "./segment-file.ts";
import {
  ABOUT,
  type Again,
  APPLICATION,
  againWith,
  demandAbout,
  FORK,
  foundAbout,
  newAbout,
  sleep,
} from "./store-records.ts";
import {
  demandSnapshot,
  type KeptBucket,
  keptApplication,
  readKept,
  removeSnapshot,
  takeSnapshot,
} from "./store-snapshot.ts";

/** What is forked. */
export interface ForkOptions {
  /** The id of a snapshot; what the store is now, unless it is said. */
  readonly snapshot?: string;
  /** Told of what is done, for who waits. */
  readonly onProgress?: (line: string) => void;
}

/** What was copied. */
export interface ForkReport {
  /** The moment that the fork is of. */
  readonly takenAt: Date;
  readonly buckets: number;
  readonly segments: number;
  /** Of all objects. */
  readonly bytes: number;
}

const CACHE_BYTES = 1 << 20;
const FILES_AT_ONCE = 4;

/**
 * Makes a store at `target`, where there is none, of what `source` is or was at a snapshot. The source may be read and written meanwhile,
 * and the two may be of different kinds. A fork of a snapshot that broke off is finished by another call.
 *
 * @example
 * ```ts
 * const report = await forkStore(s3({ …, prefix: "live" }), s3({ …, prefix: "trial" }));
 * const trial = await open({ store: s3({ …, prefix: "trial" }), schemas: [mail] });
 * ```
 */
export async function forkStore(
  source: ObjectStore,
  target: ObjectStore,
  { snapshot, onProgress = () => undefined }: ForkOptions = {},
): Promise<ForkReport> {
  const again = againWith(sleep);
  const { buckets } = await demandAbout(source, again);
  if ((await foundAbout(target, again)) !== undefined)
    throw new StoreError("refused", "there is a store at the target: a fork replaces nothing");
  const taken = snapshot === undefined ? await takeSnapshot(source) : await demandSnapshot(source, snapshot, again);
  try {
    const fork = new Fork(source, target, taken.id, again);
    await fork.begin();
    for (let bucket = 0; bucket < buckets; bucket += 1) {
      onProgress(`bucket ${bucket + 1} of ${buckets}`);
      await fork.bucket(bucket);
    }
    await fork.application();
    await fork.finish(buckets);
    return { takenAt: taken.takenAt, buckets, segments: fork.segments, bytes: fork.bytes };
  } finally {
    if (snapshot === undefined) await removeSnapshot(source, taken.id);
  }
}

class Fork {
  readonly #source: ObjectStore;
  readonly #target: ObjectStore;
  readonly #id: string;
  readonly #again: Again;
  readonly #core = new Core({ instantiate, cacheBytes: CACHE_BYTES, onTrap: () => undefined });
  segments = 0;
  bytes = 0;

  constructor(source: ObjectStore, target: ObjectStore, id: string, again: Again) {
    this.#source = source;
    this.#target = target;
    this.#id = id;
    this.#again = again;
  }

  /** Keeps others from making a store of what is only in part there. */
  async begin(): Promise<void> {
    const bytes = await encodeFrame({ value: { of: this.#id }, blobs: [] });
    const there = await this.#again(() => this.#target.files.read(FORK));
    if (there !== undefined && !sameBytes(there, bytes)) throw takenError("another fork was begun there");
    await this.#again(() => this.#target.files.put(FORK, bytes));
  }

  async bucket(bucket: number): Promise<void> {
    const kept = await readKept(this.#source.files, this.#id, bucket, this.#again);
    if (kept === undefined) throw damagedError(`bucket ${bucket} of snapshot ${this.#id} is gone`);
    const { pages, segments } = await filesOf(kept, this.#source.files, this.#again);
    await inOrder(segments, FILES_AT_ONCE, (segment) => this.#segment(segment));
    await inOrder(pages, FILES_AT_ONCE, (page) => this.#page(page));
    await this.#log(`bucket/${bucket}`, kept);
  }

  async #segment({ key, number, file }: NamedSegment): Promise<void> {
    const bytes = await readSegmentFile(this.#source.files, file, this.#again);
    if (bytes === undefined) throw damagedError(`segment ${number} is gone: ${file.name}`);
    cut(bytes, file.blocks).forEach((block, index) => {
      if (!this.#core.isSealed(key, number, index, block))
        throw damagedError(`block ${index} of segment ${number} is not what was written: ${file.name}`);
    });
    await this.#put(file.name, bytes);
    this.segments += 1;
  }

  async #page(name: string): Promise<void> {
    const bytes = await this.#again(() => this.#source.files.read(name));
    if (bytes === undefined) throw damagedError(`${name} is gone`);
    await decodeFrame(bytes);
    await this.#put(name, bytes);
  }

  async #put(name: string, bytes: Uint8Array): Promise<void> {
    await this.#again(() => this.#target.files.put(name, bytes));
    this.bytes += bytes.length;
  }

  /** The snapshot of a bucket and its log behind that, as they are: what follows goes on behind them. */
  async #log(name: string, { snapshot, first, objects }: KeptBucket): Promise<void> {
    const { log } = this.#target;
    if (snapshot !== undefined) {
      const outcome = await this.#again(() => log.replaceSnapshot(name, snapshot, undefined));
      if (outcome === "taken" && !sameBytes((await this.#again(() => log.snapshot(name)))?.bytes ?? NOTHING, snapshot))
        throw takenError(`a snapshot of ${name} is there`);
    } else if ((await this.#again(() => log.snapshot(name))) !== undefined)
      throw takenError(`a snapshot of ${name} is there`);
    for (const [index, bytes] of objects.entries()) await this.#append(name, first + index, bytes);
    const { upTo } = await openSnapshot(await this.#again(() => log.snapshot(name)));
    const places = await this.#again(() => log.after(name, upTo + 1 + objects.length));
    if (places.length > 0) throw takenError(`${name} goes on there`);
    this.bytes += snapshot?.length ?? 0;
  }

  async #append(name: string, place: number, bytes: Uint8Array): Promise<void> {
    const { log } = this.#target;
    const outcome = await this.#again(() => log.append(name, place, bytes));
    if (outcome === "taken" && !sameBytes((await this.#again(() => log.read(name, place))) ?? NOTHING, bytes))
      throw takenError(`place ${place} of ${name} is another's`);
    this.bytes += bytes.length;
  }

  async application(): Promise<void> {
    const kept = await keptApplication(this.#source.files, this.#id, this.#again);
    const places = await this.#again(() => this.#target.log.after(APPLICATION, 0));
    if (places.some((place) => place !== kept?.number)) throw takenError("an application is there");
    if (kept === undefined) return;
    const value = { number: kept.number, writer: `fork of ${this.#id}` };
    await this.#append(APPLICATION, kept.number, await encodeFrame({ value, blobs: [kept.bytes] }));
  }

  /** From here on it is a store. */
  async finish(buckets: number): Promise<void> {
    const bytes = await newAbout(buckets);
    const outcome = await this.#again(() => this.#target.log.append(ABOUT, 0, bytes));
    if (outcome === "taken" && !sameBytes((await this.#again(() => this.#target.log.read(ABOUT, 0))) ?? NOTHING, bytes))
      throw takenError("a store was made there meanwhile");
    await this.#again(() => this.#target.files.remove(FORK));
  }
}

const NOTHING = new Uint8Array();

function takenError(why: string): StoreError {
  return new StoreError("refused", `the target is not empty: ${why}. Take another place, or remove what is there`);
}
