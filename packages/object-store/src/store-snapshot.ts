/**
 * Snapshots of a whole store: what every bucket was at a moment, under an id. Nothing is copied but what buckets would replace: the files
 * of segments and pages, which never change, stay as long as a snapshot names them. Anybody takes one, whoever owns the buckets.
 *
 * First it is said that one is being taken, then buckets are read: whoever replaces a bucket's snapshot after it was read here looks for
 * that before anything is removed, and whoever did so before has nothing to remove that is read. That a snapshot is whole, and that it is
 * removed, are places of a log, each of which one wins.
 */
import { type StoredBackup, StoreError } from "@brooklet/store";
import { type BucketFiles, type BucketState, filesOf, inOrder, PageGone, readBucketState } from "./bucket-state.ts";
import { damagedError, decodeFrame, encodeFrame, type Framed } from "./log-object.ts";
import type { ObjectFiles, ObjectStore } from "./object-store.ts";
import { integer, text } from "./record.ts";
import {
  type About,
  type Again,
  againWith,
  demandAbout,
  namesBelow,
  randomName,
  readNewest,
  sleep,
} from "./store-records.ts";

/** A snapshot of a store. */
export interface StoreSnapshot {
  /** Its name, which begins with the time it was taken: texts that sort as the times do. */
  readonly id: string;
  readonly takenAt: Date;
  /** From when on the next that is taken removes it; nothing: it stays until it is removed. */
  readonly expiresAt?: Date;
  /** Whether all of it is there. One that is being taken is not whole, nor is one whose taker ended before: that one can be removed. */
  readonly isWhole: boolean;
}

/** How a snapshot is taken. */
export interface SnapshotOptions {
  /** After how many days the next that is taken removes it; never, unless it is said. */
  readonly keepDays?: number;
}

/** A bucket as a snapshot has it. */
export interface KeptBucket extends BucketState {
  /** The names of all files that it needs. */
  readonly files: ReadonlySet<string>;
}

const FORMAT = 1;
const DAY_MS = 86_400_000;
/** Places of the log of a snapshot: it is whole; it is removed. */
const WHOLE = 0;
const REMOVED = 1;
/** Files that say that a snapshot is there, or is being taken; and what it has. */
const BEGUN = "kept/";
const SNAPSHOTS = "snapshot/";
const BUCKETS_AT_ONCE = 4;
/** A bucket whose pages are replaced again and again while they are read gives up: its owner removes what is left. */
const ATTEMPTS = 5;
const ID_BYTES = 4;
const encoder = new TextEncoder();

/**
 * Takes a snapshot of a store, which may be read and written meanwhile: each bucket as it is at one moment after the call began, so that
 * everything that was acknowledged before is in it. Snapshots whose time is over are removed.
 *
 * @example
 * ```ts
 * const { id } = await takeSnapshot(store, { keepDays: 30 });
 * await forkStore(store, other, { snapshot: id });
 * ```
 */
export async function takeSnapshot(store: ObjectStore, { keepDays }: SnapshotOptions = {}): Promise<StoreSnapshot> {
  const takenAt = new Date();
  const expiresAt = keepDays === undefined ? undefined : expiryOf(takenAt, keepDays);
  const again = againWith(sleep);
  const about = await demandAbout(store, again);
  const id = `${takenAt.toISOString().replaceAll(":", "-")}-${randomName(ID_BYTES)}`;
  const taken = { id, takenAt, ...(expiresAt && { expiresAt }) };
  const begun = await encodeFrame({ value: sayingOf(taken), blobs: [] });
  await again(() => store.files.put(`${BEGUN}${id}`, begun));
  try {
    await takeBuckets(store, id, about, again);
    await finish(store, id, again);
  } catch (error) {
    // What is left of it keeps files that nobody needs.
    await removeSnapshot(store, id).catch(() => undefined);
    throw error;
  }
  await removeOldSnapshots(store, takenAt, again);
  return { ...taken, isWhole: true };
}

/** From when on a snapshot may go. Throws where that is no later moment, or none that a clock can say. */
function expiryOf(takenAt: Date, keepDays: number): Date {
  const expiresAt = new Date(takenAt.getTime() + keepDays * DAY_MS);
  if (keepDays > 0 && !Number.isNaN(expiresAt.getTime())) return expiresAt;
  const allowed = "give more than 0, until a date that there is, or nothing for good";
  throw new RangeError(`keepDays: a snapshot is kept for ${keepDays} days: ${allowed}`);
}

/** Removes snapshots whose time is over, and what is left of those whose removal did not come to its end, or came before a request. */
export async function removeOldSnapshots(store: ObjectStore, now: Date, again: Again): Promise<void> {
  for (const { id, expiresAt, state } of await readAll(store, again))
    if (state === "removed" || (expiresAt !== undefined && expiresAt < now)) await removeSnapshot(store, id);
  const left = await namesBelow(store.files, SNAPSHOTS, again);
  // Listed after them: each of theirs is written after it was said that it is being taken.
  const known = new Set(await idsIn(store.files, again));
  for (const name of left) if (!known.has(name.split("/")[1] ?? "")) await again(() => store.files.remove(name));
}

async function takeBuckets(store: ObjectStore, id: string, { buckets }: About, again: Again): Promise<void> {
  const numbers = Array.from({ length: buckets }, (_, bucket) => bucket);
  await inOrder(numbers, BUCKETS_AT_ONCE, async (bucket) => {
    const state = await readBucketState(store.log, `bucket/${bucket}`, again);
    const bytes = await encodeFrame(encodeBucket(state, await filesOf(state, store.files, again)));
    await again(() => store.files.put(bucketName(id, bucket), bytes));
  });
  // After the buckets: what they were written with is there by then.
  const application = await readNewest(store, 0, again);
  if (application === undefined) return;
  const { number, bytes } = application;
  const kept = await encodeFrame({ value: { number }, blobs: [bytes] });
  await again(() => store.files.put(applicationName(id), kept));
}

/** Says that all of a snapshot is there. */
async function finish({ log }: ObjectStore, id: string, again: Again): Promise<void> {
  const whole = await encodeFrame({ value: { format: FORMAT }, blobs: [] });
  await again(() => log.append(logName(id), WHOLE, whole));
  if ((await again(() => log.read(logName(id), REMOVED))) !== undefined)
    throw new StoreError("refused", `snapshot ${id} was removed while it was taken`);
}

/** The snapshots of a store, the latest last; those that are not whole among them. Throws a `StoreError` of the kind "refused" where there is no store. */
export async function listSnapshots(store: ObjectStore): Promise<readonly StoreSnapshot[]> {
  const again = againWith(sleep);
  await demandAbout(store, again);
  return await readSnapshots(store, again);
}

async function readSnapshots(store: ObjectStore, again: Again): Promise<readonly StoreSnapshot[]> {
  const all = await readAll(store, again);
  return all.flatMap(({ state, ...one }) => (state === "removed" ? [] : [{ ...one, isWhole: state === "whole" }]));
}

type State = "begun" | "whole" | "removed";

async function readAll(
  { files, log }: ObjectStore,
  again: Again,
): Promise<readonly (Omit<StoreSnapshot, "isWhole"> & { readonly state: State })[]> {
  const all: (Omit<StoreSnapshot, "isWhole"> & { readonly state: State })[] = [];
  for (const id of await idsIn(files, again)) {
    const bytes = await again(() => files.read(`${BEGUN}${id}`));
    // Removed meanwhile.
    if (bytes === undefined) continue;
    const said = (await decodeFrame(bytes)).value as Readonly<Record<string, unknown>>;
    const expiresAt = said["expiresAt"] === undefined ? undefined : new Date(text(said, "expiresAt"));
    const takenAt = new Date(text(said, "takenAt"));
    all.push({ id, takenAt, ...(expiresAt && { expiresAt }), state: await stateOf(log, id, again) });
  }
  return all;
}

/**
 * Removes a snapshot, and the files that nothing else names. Also one that is not whole: who is still taking it is refused. Whether there
 * was one.
 */
export async function removeSnapshot(store: ObjectStore, id: string): Promise<boolean> {
  const { files, log } = store;
  const again = againWith(sleep);
  const { buckets } = await demandAbout(store, again);
  if ((await again(() => files.read(`${BEGUN}${id}`))) === undefined) return false;
  const removed = await encodeFrame({ value: { format: FORMAT }, blobs: [] });
  // From here on it holds nothing. The place stays: whoever is late finds it taken.
  await again(() => log.append(logName(id), REMOVED, removed));
  const others = new HeldFiles(store, again);
  for (let bucket = 0; bucket < buckets; bucket += 1) {
    const kept = await readKept(files, id, bucket, again);
    if (kept === undefined) continue;
    const named = await namedNow(store, bucket, again);
    const held = await others.of(bucket);
    // Where either is not known, the bucket's owner removes them when it next looks for what nothing names.
    if (named !== undefined && held !== undefined)
      for (const name of kept.files) if (!named.has(name) && !held.has(name)) await again(() => files.remove(name));
    await again(() => files.remove(bucketName(id, bucket)));
  }
  await again(() => files.remove(applicationName(id)));
  await again(() => log.remove(logName(id), WHOLE));
  await again(() => files.remove(`${BEGUN}${id}`));
  return true;
}

/** The files that a bucket names now; nothing: it is replaced again and again while it is read. */
async function namedNow(store: ObjectStore, bucket: number, again: Again): Promise<ReadonlySet<string> | undefined> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    try {
      const state = await readBucketState(store.log, `bucket/${bucket}`, again);
      return namesOf(await filesOf(state, store.files, again));
    } catch (error) {
      if (!(error instanceof PageGone)) throw error;
    }
  }
  return undefined;
}

/** Snapshots as receipts of erasures name them: they have what is erased now until they are removed. */
export async function backupsOf(store: ObjectStore): Promise<readonly StoredBackup[]> {
  return (await readSnapshots(store, againWith(sleep))).map(({ id, takenAt, expiresAt }) => {
    const until = expiresAt && { expiresAt: expiresAt.toISOString() };
    return { id, takenAt: takenAt.toISOString(), ...until };
  });
}

/** A snapshot of which all is there. Throws a `StoreError` of the kind "refused" if there is none. */
export async function demandSnapshot(store: ObjectStore, id: string, again: Again): Promise<StoreSnapshot> {
  const found = (await readSnapshots(store, again)).find((one) => one.id === id);
  if (found === undefined) throw new StoreError("refused", `there is no snapshot ${id}`);
  if (!found.isWhole) throw new StoreError("refused", `snapshot ${id} is not whole: it is being taken, or never was`);
  return found;
}

/** The application of a snapshot. */
export async function keptApplication(
  files: ObjectFiles,
  id: string,
  again: Again,
): Promise<{ readonly number: number; readonly bytes: Uint8Array } | undefined> {
  const stored = await again(() => files.read(applicationName(id)));
  if (stored === undefined) return undefined;
  const { value, blobs } = await decodeFrame(stored);
  const [bytes] = blobs;
  if (bytes === undefined) throw damagedError("an application without a package");
  return { number: integer(value as Readonly<Record<string, unknown>>, "number"), bytes };
}

/** A bucket of a snapshot; nothing: it is not there. */
export async function readKept(
  files: ObjectFiles,
  id: string,
  bucket: number,
  again: Again,
): Promise<KeptBucket | undefined> {
  const bytes = await again(() => files.read(bucketName(id, bucket)));
  return bytes === undefined ? undefined : decodeBucket(await decodeFrame(bytes));
}

/** The files that snapshots hold. What a snapshot names is read once. */
export class HeldFiles {
  readonly #store: ObjectStore;
  readonly #again: Again;
  /** By bucket and snapshot. */
  readonly #known = new Map<string, ReadonlySet<string>>();

  constructor(store: ObjectStore, again: Again) {
    this.#store = store;
    this.#again = again;
  }

  /** Files of a bucket; nothing: a snapshot is being taken, and which ones it will need is not known. */
  async of(bucket: number): Promise<ReadonlySet<string> | undefined> {
    const { files, log } = this.#store;
    const held = new Set<string>();
    const seen = new Set<string>();
    for (const id of await idsIn(files, this.#again)) {
      const name = bucketName(id, bucket);
      const named = this.#known.get(name) ?? (await this.#namesIn(id, bucket));
      // Asked in any case: who removes it looks at what buckets name after that, and does not come back.
      if ((await this.#again(() => log.read(logName(id), REMOVED))) !== undefined) continue;
      if (named === undefined) return undefined;
      seen.add(name);
      this.#known.set(name, named);
      for (const file of named) held.add(file);
    }
    for (const name of this.#known.keys()) if (!seen.has(name) && name.endsWith(`/${bucket}`)) this.#known.delete(name);
    return held;
  }

  async #namesIn(id: string, bucket: number): Promise<ReadonlySet<string> | undefined> {
    if ((await stateOf(this.#store.log, id, this.#again)) !== "whole") return undefined;
    return (await readKept(this.#store.files, id, bucket, this.#again))?.files;
  }
}

async function stateOf(log: ObjectStore["log"], id: string, again: Again): Promise<State> {
  const isWhole = (await again(() => log.read(logName(id), WHOLE))) !== undefined;
  // Read after it: a removed one may have been whole.
  if ((await again(() => log.read(logName(id), REMOVED))) !== undefined) return "removed";
  return isWhole ? "whole" : "begun";
}

async function idsIn(files: ObjectFiles, again: Again): Promise<readonly string[]> {
  return (await namesBelow(files, BEGUN, again)).map((name) => name.slice(BEGUN.length));
}

function namesOf({ pages, segments }: BucketFiles): ReadonlySet<string> {
  return new Set([...pages, ...segments.map(({ file }) => file.name)]);
}

function encodeBucket(state: BucketState, files: BucketFiles): Framed {
  const { snapshot, first, objects } = state;
  // Thousands of names are a text of their own: a head is read whole.
  const names = encoder.encode([...namesOf(files)].join("\n"));
  return {
    value: { format: FORMAT, first, hasSnapshot: snapshot !== undefined },
    blobs: [names, ...(snapshot === undefined ? [] : [snapshot]), ...objects],
  };
}

function decodeBucket({ value, blobs }: Framed): KeptBucket {
  const said = value as Readonly<Record<string, unknown>>;
  const format = integer(said, "format");
  if (format !== FORMAT)
    throw new StoreError("refused", `a snapshot has format ${format}; this release reads ${FORMAT}`);
  const [names, ...rest] = blobs;
  if (names === undefined) throw damagedError("a snapshot does not say which files it needs");
  const [snapshot] = said["hasSnapshot"] === true ? rest : [];
  if (said["hasSnapshot"] === true && snapshot === undefined)
    throw damagedError("a bucket of a snapshot has none itself");
  const files = new Set(new TextDecoder().decode(names).split("\n"));
  files.delete("");
  return { snapshot, first: integer(said, "first"), objects: snapshot === undefined ? rest : rest.slice(1), files };
}

function sayingOf({ takenAt, expiresAt }: Pick<StoreSnapshot, "takenAt" | "expiresAt">): object {
  return { takenAt: takenAt.toISOString(), ...(expiresAt && { expiresAt: expiresAt.toISOString() }) };
}

function logName(id: string): string {
  return `snapshot-log/${id}`;
}

function bucketName(id: string, bucket: number): string {
  return `${SNAPSHOTS}${id}/${bucket}`;
}

function applicationName(id: string): string {
  return `${SNAPSHOTS}${id}/application`;
}
