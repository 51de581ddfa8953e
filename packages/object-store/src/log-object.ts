/**
 * The bytes of one place of a log, and of a snapshot: a line of JSON that says who wrote it and what is in it, the byte strings it
 * speaks of behind each other, and a digest before all of it. What is read may be anything: nothing is taken on its word.
 */
import type { UnsharedBytes } from "@brooklet/core";
import { StoreError } from "@brooklet/store";

/** A JSON value and the byte strings that it names by their index. */
export interface Framed {
  readonly value: unknown;
  readonly blobs: readonly Uint8Array[];
}

const DIGEST_BYTES = 32;
const LENGTH_BYTES = 4;
/** Longer ones are not written, and refused unread. */
const FRAME_BYTES_MAX: number = 256 << 20;
const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: true });

/** A frame: digest, length of the head, head (`{ value, blobs: lengths }`), byte strings. */
export async function encodeFrame({ value, blobs }: Framed): Promise<UnsharedBytes> {
  const head = encoder.encode(JSON.stringify({ value, blobs: blobs.map(({ length }) => length) }));
  const start = DIGEST_BYTES + LENGTH_BYTES;
  const length = blobs.reduce((sum, blob) => sum + blob.length, start + head.length);
  if (length > FRAME_BYTES_MAX) throw new RangeError(`an object of ${length} bytes (limit ${FRAME_BYTES_MAX})`);
  const bytes = new Uint8Array(length);
  new DataView(bytes.buffer).setUint32(DIGEST_BYTES, head.length);
  bytes.set(head, start);
  let at = start + head.length;
  for (const blob of blobs) {
    bytes.set(blob, at);
    at += blob.length;
  }
  bytes.set(await digestOf(bytes.subarray(DIGEST_BYTES)), 0);
  return bytes;
}

/** What a frame holds. Throws a `StoreError` of the kind "damaged" if it is none, or not as it was written. */
export async function decodeFrame(bytes: Uint8Array): Promise<Framed> {
  const start = DIGEST_BYTES + LENGTH_BYTES;
  if (bytes.length < start) throw damagedError("it is too short");
  const digest = await digestOf(bytes.slice(DIGEST_BYTES));
  if (!digest.every((byte, index) => byte === bytes[index])) throw damagedError("its digest is another");
  const headLength = new DataView(bytes.buffer, bytes.byteOffset).getUint32(DIGEST_BYTES);
  if (headLength > bytes.length - start) throw damagedError("its head is longer than it is");
  const { value, blobs } = headOf(bytes.subarray(start, start + headLength));
  let at = start + headLength;
  const cut = blobs.map((length) => {
    const blob = bytes.subarray(at, at + length);
    if (blob.length !== length) throw damagedError("a byte string ends behind it");
    at += length;
    return blob;
  });
  if (at !== bytes.length) throw damagedError("there is more in it than it says");
  return { value, blobs: cut };
}

function headOf(bytes: Uint8Array): { readonly value: unknown; readonly blobs: readonly number[] } {
  let head: unknown;
  try {
    head = JSON.parse(decoder.decode(bytes));
  } catch (error) {
    throw damagedError("its head is no JSON", error);
  }
  if (typeof head !== "object" || head === null) throw damagedError("its head is no object");
  const { value, blobs } = head as { readonly value?: unknown; readonly blobs?: unknown };
  if (!Array.isArray(blobs) || !blobs.every((length) => Number.isSafeInteger(length) && length >= 0))
    throw damagedError("it does not say how long its byte strings are");
  return { value, blobs: blobs as readonly number[] };
}

/** An object of the store that is not what was written. */
export function damagedError(why: string, cause?: unknown): StoreError {
  return new StoreError("damaged", `an object of the store is damaged: ${why}`, cause);
}

async function digestOf(bytes: UnsharedBytes): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
}
