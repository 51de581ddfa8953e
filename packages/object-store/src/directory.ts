/**
 * The directory of a bucket, which is its snapshot: pages of partitions, by a hash of their keys, in files that never change. A
 * partition is found by reading one page, and a snapshot writes anew the pages of partitions that changed.
 */
import { bucketOf, type NextNumbers, type PartitionRows } from "@brooklet/store";
import { damagedError, type Framed } from "./log-object.ts";
import { integer, integers, list, type SegmentFile, text } from "./record.ts";

/** Where the pages of partitions are. */
export interface Directory {
  /** There are 2 to the power of it pages. */
  readonly bits: number;
  /** Names of files; empty: there is nothing in that page. */
  readonly pages: readonly string[];
  /** Nothing: no snapshot was taken yet. */
  readonly numbers: NextNumbers | undefined;
}

/** A partition of a page. */
export interface DirectoryEntry {
  readonly rows: PartitionRows;
  /** The files of segments, by their numbers; there may be others among them. */
  readonly files: ReadonlyMap<number, SegmentFile>;
}

/** The partitions of a page, by their keys. */
export type DirectoryPage = ReadonlyMap<string, DirectoryEntry>;

const BITS_MAX = 20;

/** In which page a partition is. Its bucket was chosen by another hash. */
export function pageOf(key: string, bits: number): number {
  return bits === 0 ? 0 : bucketOf(`page ${key}`, 2 ** bits);
}

/** Reads a snapshot; without one there is nothing. */
export function decodeDirectory(snapshot: Framed | undefined): Directory {
  if (snapshot === undefined) return { bits: 0, pages: [""], numbers: undefined };
  const said = record(snapshot.value);
  const bits = integer(said, "bits");
  const pages = said["pages"];
  if (bits > BITS_MAX || !Array.isArray(pages) || pages.length !== 2 ** bits)
    throw damagedError("its pages are not as they are written");
  if (!pages.every((name) => typeof name === "string")) throw damagedError("its pages have no names");
  const numbers = record(said["numbers"]);
  return {
    bits,
    pages: pages as readonly string[],
    numbers: {
      partition: integer(numbers, "partition"),
      operation: integer(numbers, "operation"),
      segment: integer(numbers, "segment"),
    },
  };
}

/** Writes a page. */
export function encodePage(page: DirectoryPage): Framed {
  const blobs: Uint8Array[] = [];
  const partitions = Array.from(page.values(), ({ rows, files }) => {
    const { number, key, application, operations, segments } = rows;
    blobs.push(
      ...operations.map(({ bytes }) => bytes),
      ...segments.flatMap(({ header, liveness }) => [header, liveness]),
    );
    return {
      number,
      key,
      application,
      operations: operations.map((operation) => operation.number),
      segments: segments.map(({ number: own, schema, documents }) => ({
        number: own,
        schema,
        documents,
        name: files.get(own)?.name,
        blocks: files.get(own)?.blocks,
      })),
    };
  });
  return { value: { partitions }, blobs };
}

/** Reads a page. */
export function decodePage({ value, blobs }: Framed): DirectoryPage {
  let at = 0;
  const next = (): Uint8Array => {
    const blob = blobs[at];
    if (blob === undefined) throw damagedError("byte strings are missing");
    at += 1;
    return blob;
  };
  const page = new Map<string, DirectoryEntry>();
  for (const partition of list(record(value), "partitions")) {
    const said = record(partition);
    const files = new Map<number, SegmentFile>();
    const operations = integers(said, "operations").map((number) => ({ number, bytes: next() }));
    const segments = list(said, "segments").map((segment) => {
      const named = record(segment);
      const number = integer(named, "number");
      files.set(number, { name: text(named, "name"), blocks: integers(named, "blocks") });
      const [header, liveness] = [next(), next()];
      return { number, schema: text(named, "schema"), documents: integer(named, "documents"), header, liveness };
    });
    const [number, key, application] = [integer(said, "number"), text(said, "key"), integer(said, "application")];
    page.set(key, { rows: { number, key, application, operations, segments }, files });
  }
  return page;
}

function record(value: unknown): Readonly<Record<string, unknown>> {
  if (typeof value !== "object" || value === null) throw damagedError("it is no object");
  return value as Readonly<Record<string, unknown>>;
}
