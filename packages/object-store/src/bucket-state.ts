/**
 * What a bucket is at a moment, as anybody can read it who owns nothing: its snapshot, the objects of its log behind that, and the files
 * that either names. What another gateway replaces or collects meanwhile is read anew.
 */
import { StoreError } from "@brooklet/store";
import { decodeDirectory, decodePage } from "./directory.ts";
import { damagedError, decodeFrame } from "./log-object.ts";
import { isInDoubt, openObject, openSnapshot } from "./log-reader.ts";
import type { ObjectFiles, ObjectLog } from "./object-store.ts";
import { decodeRecord, type EncodedRecord } from "./record.ts";
import type { NamedSegment } from "./segment-file.ts";
import type { Again } from "./store-records.ts";

/** A bucket at a moment. */
export interface BucketState {
  /** Its snapshot, as it is stored; nothing: none was taken yet. */
  readonly snapshot: Uint8Array | undefined;
  /** The place of the first object. */
  readonly first: number;
  /** What is in the log behind the snapshot, one place after the other. */
  readonly objects: readonly Uint8Array[];
}

/** The files of a bucket: pages of its directory, and segments. */
export interface BucketFiles {
  readonly pages: readonly string[];
  readonly segments: readonly NamedSegment[];
}

/** A page that is not there any more: another snapshot has another. */
export class PageGone extends StoreError {
  constructor(name: string) {
    super("damaged", `an object of the store is damaged: ${name} is gone`);
    this.name = "PageGone";
  }
}

/** Of a log that grows while it is listed so much is asked for: what comes later was written later. */
const LISTINGS_MAX = 64;
const AT_ONCE = 16;

/** Reads a bucket: everything that was acknowledged before the call is in it. */
export async function readBucketState(log: ObjectLog, name: string, again: Again): Promise<BucketState> {
  for (;;) {
    const stored = await again(() => log.snapshot(name));
    const first = (await openSnapshot(stored)).upTo + 1;
    const places = await placesFrom(log, name, first, again);
    const objects = await inOrder(places, AT_ONCE, (place) => again(() => log.read(name, place)));
    // A place that is missing may have been collected; so may what is behind the last, and what had been where a seal came late: that a
    // snapshot tells.
    const { upTo } = await openSnapshot(await again(() => log.snapshot(name)));
    const isWhole = places.every((place, index) => place === first + index && objects[index] !== undefined);
    if (isWhole && upTo < first + places.length && !(await areInDoubt(objects.slice(0, Math.max(upTo + 1 - first, 0)))))
      return { snapshot: stored?.bytes, first, objects: objects as readonly Uint8Array[] };
  }
}

async function areInDoubt(objects: readonly (Uint8Array | undefined)[]): Promise<boolean> {
  for (const bytes of objects) if (isInDoubt(bytes && (await openObject(bytes)).written)) return true;
  return false;
}

async function placesFrom(log: ObjectLog, name: string, first: number, again: Again): Promise<readonly number[]> {
  const places: number[] = [];
  for (let listing = 0, from = first; listing < LISTINGS_MAX; listing += 1) {
    const more = await again(() => log.after(name, from));
    const last = more.at(-1);
    if (last === undefined) break;
    places.push(...more);
    from = last + 1;
  }
  return places;
}

/**
 * The files that a bucket names; some of them may be of no use any more where the log removes what it or the snapshot has. Throws
 * `PageGone` where another snapshot was taken, and nobody keeps the files of this one.
 */
export async function filesOf(state: BucketState, files: ObjectFiles, again: Again): Promise<BucketFiles> {
  const stored = state.snapshot && { bytes: state.snapshot, tag: "" };
  const { frame } = await openSnapshot(stored);
  const pages = decodeDirectory(frame).pages.filter((name) => name !== "");
  const segments = new Map<string, NamedSegment>();
  const listed = await inOrder(pages, AT_ONCE, async (name) => {
    const bytes = await again(() => files.read(name));
    if (bytes === undefined) throw new PageGone(name);
    return decodePage(await decodeFrame(bytes));
  });
  for (const page of listed)
    for (const { rows, files: named } of page.values())
      for (const { number } of rows.segments) {
        const file = named.get(number);
        if (file !== undefined) segments.set(file.name, { key: rows.key, number, file });
      }
  for (const bytes of state.objects) for (const named of await segmentsOf(bytes)) segments.set(named.file.name, named);
  return { pages, segments: [...segments.values()] };
}

/** The segments that an object of a log adds. */
async function segmentsOf(bytes: Uint8Array): Promise<readonly NamedSegment[]> {
  const { written, frame } = await openObject(bytes);
  const named: NamedSegment[] = [];
  let at = 0;
  for (const encoded of written.records) {
    const { value, blobs } = encoded as { readonly value: unknown; readonly blobs: number };
    const record = decodeRecord({ value, blobs: frame.blobs.slice(at, at + blobs) } satisfies EncodedRecord);
    at += blobs;
    if (record.kind !== "commit") continue;
    record.change.newSegments.forEach(({ number }, index) => {
      const file = record.files[index];
      if (file === undefined) throw damagedError(`segment ${number} has no file`);
      named.push({ key: record.key, number, file });
    });
  }
  return named;
}

/** What comes of each, in their order, so many at a time. */
export async function inOrder<Item, Result>(
  items: readonly Item[],
  atOnce: number,
  work: (item: Item, index: number) => Promise<Result>,
): Promise<Result[]> {
  const results = new Array<Result>(items.length);
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < items.length) {
      const index = next++;
      results[index] = await work(items[index] as Item, index);
    }
  };
  try {
    await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, worker));
  } catch (error) {
    // The others end with what they have in hand.
    next = items.length;
    throw error;
  }
  return results;
}
