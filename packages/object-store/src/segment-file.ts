/** The file of a segment: its blocks behind each other, read in ranges at the same time. */
import type { UnsharedBytes } from "@brooklet/core";
import type { ObjectFiles } from "./object-store.ts";
import type { SegmentFile } from "./record.ts";
import type { Again } from "./store-records.ts";

/** A file, and which segment of which partition it holds. */
export interface NamedSegment {
  readonly key: string;
  readonly number: number;
  readonly file: SegmentFile;
}

const READ_BYTES = 4 << 20;

/** Bytes of a segment. */
export function bytesOf({ blocks }: SegmentFile): number {
  return blocks.reduce((sum, length) => sum + length, 0);
}

/** Reads a segment; nothing: its file, or a part of it, is not there. */
export async function readSegmentFile(
  files: ObjectFiles,
  file: SegmentFile,
  again: Again,
): Promise<UnsharedBytes | undefined> {
  const length = bytesOf(file);
  const parts = Array.from({ length: Math.max(Math.ceil(length / READ_BYTES), 1) }, (_, index) => index * READ_BYTES);
  const read = await Promise.all(
    parts.map((from) => again(() => files.read(file.name, from, Math.min(from + READ_BYTES, length)))),
  );
  const bytes = new Uint8Array(length);
  for (const [index, part] of read.entries()) {
    const at = index * READ_BYTES;
    if (part === undefined || part.length !== Math.min(READ_BYTES, length - at)) return undefined;
    bytes.set(part, at);
  }
  return bytes;
}

/** The blocks of a segment. */
export function cut(bytes: Uint8Array, lengths: readonly number[]): Uint8Array[] {
  let at = 0;
  return lengths.map((length) => {
    at += length;
    return bytes.subarray(at - length, at);
  });
}
