/** What the objects of a log and its snapshot say of themselves: who wrote them, and up to where. */
import type { UnsharedBytes } from "@brooklet/core";
import { damagedError, decodeFrame, encodeFrame, type Framed } from "./log-object.ts";
import type { TaggedBytes } from "./object-store.ts";

/** The head of each object: who wrote it. */
export interface Written {
  readonly writer: string;
  /** Tells one object of a writer from another. */
  readonly nonce: number;
  /** Of a seal, which has no records: who writes behind it has the application of this number, or knows that there will be another in its place (0033). */
  readonly application?: number;
  /** The place before was asked for more than once: the same may come there again. */
  readonly isAfterRepeated?: true;
  readonly records: readonly unknown[];
}

/**
 * Whether what is found in a place that a snapshot holds may be something else than was there first. Nothing may have been collected; and a
 * seal may have come after that, of somebody who had read the place as free. Records are what they were: only who wrote the place before
 * writes them, and loses for ever if it is another's (docs/decisions/0194).
 */
export function isInDoubt(found: Written | undefined): boolean {
  return found === undefined || found.records.length === 0;
}

/** Reads an object of a log. */
export async function openObject(bytes: Uint8Array): Promise<{ readonly written: Written; readonly frame: Framed }> {
  const frame = await decodeFrame(bytes);
  const { writer, nonce, records } = (frame.value ?? {}) as Partial<Written>;
  if (typeof writer !== "string" || typeof nonce !== "number" || !Array.isArray(records))
    throw damagedError("it does not say who wrote it");
  return { written: frame.value as Written, frame };
}

/** A snapshot as it is stored. */
export interface Snapshot {
  /** The last place of the log that is in it. */
  readonly upTo: number;
  /** Who wrote that place. */
  readonly writer: string | undefined;
  /** The highest number of an application that a seal until there says. */
  readonly application: number;
  /** No records are left in places of the log until here, and none come; earlier releases did not say it. */
  readonly collected: number;
  /** Places behind that to which records may come once more, however late; earlier releases did not say it. */
  readonly repeated: readonly number[];
  readonly frame: Framed | undefined;
}

/** Reads a snapshot; without one the log begins with its first place. */
export async function openSnapshot(stored: TaggedBytes | undefined): Promise<Snapshot> {
  if (stored === undefined)
    return { upTo: -1, writer: undefined, application: 0, collected: -1, repeated: [], frame: undefined };
  const { value, blobs } = await decodeFrame(stored.bytes);
  type Said = Readonly<Record<"upTo" | "writer" | "application" | "collected" | "repeated" | "state", unknown>>;
  const { upTo, writer, application = 0, collected = -1, repeated = [], state } = (value ?? {}) as Said;
  if (!Array.isArray(repeated) || !repeated.every(Number.isSafeInteger))
    throw damagedError("a snapshot does not say to which places something may come");
  if (!Number.isSafeInteger(upTo) || typeof writer !== "string" || !Number.isSafeInteger(collected))
    throw damagedError("a snapshot does not say up to where it goes");
  const frame = { value: state, blobs };
  const places = { upTo: upTo as number, collected: collected as number, repeated: repeated as readonly number[] };
  return { ...places, writer, application: Number(application), frame };
}

/** The bytes of a snapshot. */
export async function encodeSnapshot(said: Omit<Snapshot, "frame">, { value, blobs }: Framed): Promise<UnsharedBytes> {
  return await encodeFrame({ value: { ...said, state: value }, blobs });
}

/** Whether bytes are the same. */
export function sameBytes(left: Uint8Array, right: Uint8Array): boolean {
  return left.length === right.length && left.every((byte, index) => byte === right[index]);
}
