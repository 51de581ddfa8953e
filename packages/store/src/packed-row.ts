/**
 * Several things of bytes in one row: their number, their lengths, and then themselves. So a platform that bills rows bills one
 * for as many as fit.
 */
import { StoreError } from "./store-error.ts";

const LENGTH_BYTES = 4;

/** A row of things that follow one another. */
export interface PackedRow {
  /** Number of the first of them. */
  readonly first: number;
  readonly count: number;
  readonly bytes: Uint8Array;
}

/** Packs things numbered from `first` on into rows of about `rowBytes` at most; one that is longer has a row of its own. */
export function packRows(first: number, things: readonly Uint8Array[], rowBytes: number): PackedRow[] {
  const rows: PackedRow[] = [];
  for (let from = 0, to = 0; from < things.length; from = to) {
    let bytes = 0;
    do {
      bytes += LENGTH_BYTES + (things[to]?.length ?? 0);
      to += 1;
    } while (to < things.length && bytes + LENGTH_BYTES + (things[to]?.length ?? 0) <= rowBytes);
    rows.push({ first: first + from, count: to - from, bytes: pack(things.slice(from, to)) });
  }
  return rows;
}

function pack(things: readonly Uint8Array[]): Uint8Array {
  const lengths = new DataView(new ArrayBuffer((things.length + 1) * LENGTH_BYTES));
  lengths.setUint32(0, things.length, true);
  things.forEach(({ length }, index) => void lengths.setUint32((index + 1) * LENGTH_BYTES, length, true));
  return concatenate([new Uint8Array(lengths.buffer), ...things]);
}

/** Byte strings behind each other. */
export function concatenate(parts: readonly Uint8Array[]): Uint8Array {
  const all = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

/** How many things are in a row, of which at least the first four bytes are given. */
export function countOfRow(bytes: Uint8Array): number {
  if (bytes.length < LENGTH_BYTES) throw damagedError();
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.length).getUint32(0, true);
}

/** The things of a row. Throws a `StoreError` if its lengths are not those of what follows. */
export function unpackRow(bytes: Uint8Array): Uint8Array[] {
  const count = countOfRow(bytes);
  let at = (count + 1) * LENGTH_BYTES;
  if (at > bytes.length) throw damagedError();
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const things: Uint8Array[] = [];
  for (let index = 1; index <= count; index += 1) {
    const end = at + view.getUint32(index * LENGTH_BYTES, true);
    if (end > bytes.length) throw damagedError();
    things.push(bytes.subarray(at, end));
    at = end;
  }
  if (at !== bytes.length) throw damagedError();
  return things;
}

function damagedError(): StoreError {
  return new StoreError("damaged", "a row of several things is not as long as it says");
}
