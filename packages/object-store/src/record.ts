/** What a log says of a bucket: each change of its partitions, in the form of the port that makes it, so that whoever does the same
 * changes in the same order has the same rows. Blocks are in files; a record names them. */
import type { StoredChange, TailEntry } from "@brooklet/store";
import { damagedError } from "./log-object.ts";

/** A file with the blocks of a segment behind each other. */
export interface SegmentFile {
  readonly name: string;
  /** How long each block is. */
  readonly blocks: readonly number[];
}

/** A change of partitions. */
export type LogRecord =
  | { readonly kind: "append"; readonly application: number; readonly entries: readonly TailEntry[] }
  | {
      readonly kind: "commit";
      readonly application: number;
      readonly key: string;
      /** Its segments have no blocks. */
      readonly change: StoredChange;
      readonly files: readonly SegmentFile[];
      readonly isWhole: boolean;
    }
  | { readonly kind: "current"; readonly application: number; readonly key: string }
  | {
      readonly kind: "others";
      readonly application: number;
      readonly schemas: readonly string[];
      readonly from: number;
      readonly limit: number;
    }
  | { readonly kind: "erase"; readonly application: number; readonly key: string };

/** A record as a frame has it. */
export interface EncodedRecord {
  readonly value: unknown;
  readonly blobs: readonly Uint8Array[];
}

/** Writes a record. Bytes are copied: it waits for its files, and the memory of what it was made of is used again by what is folded next. */
export function encodeRecord(record: LogRecord): EncodedRecord {
  if (record.kind === "append") {
    const { kind, application, entries } = record;
    return {
      value: { kind, application, keys: entries.map(({ key }) => key) },
      blobs: entries.map(({ bytes }) => new Uint8Array(bytes)),
    };
  }
  if (record.kind !== "commit") return { value: record, blobs: [] };
  const { change, files, ...said } = record;
  const { folded, removedSegments, liveness, newSegments } = change;
  const segments = newSegments.map(({ number, schema, documents }) => ({ number, schema, documents }));
  return {
    value: { ...said, files, folded, removedSegments, changed: liveness.map(({ segment }) => segment), segments },
    blobs: [
      ...liveness.map(({ liveness: bytes }) => new Uint8Array(bytes)),
      ...newSegments.flatMap((segment) => [new Uint8Array(segment.header), new Uint8Array(segment.liveness)]),
    ],
  };
}

/** Reads a record. Throws a `StoreError` of the kind "damaged" if it is none. */
export function decodeRecord({ value, blobs }: EncodedRecord): LogRecord {
  const said = (typeof value === "object" && value !== null ? value : {}) as Readonly<Record<string, unknown>>;
  const application = integer(said, "application");
  switch (said["kind"]) {
    case "append": {
      const keys = texts(said, "keys");
      if (keys.length !== blobs.length) throw wrong("keys");
      return { kind: "append", application, entries: keys.map((key, index) => ({ key, bytes: blobAt(blobs, index) })) };
    }
    case "commit":
      return commitOf(said, application, blobs);
    case "current":
    case "erase":
      return { kind: said["kind"], application, key: text(said, "key") };
    case "others": {
      const [from, limit] = [integer(said, "from"), integer(said, "limit")];
      return { kind: "others", application, schemas: texts(said, "schemas"), from, limit };
    }
    default:
      throw wrong("kind");
  }
}

function commitOf(
  said: Readonly<Record<string, unknown>>,
  application: number,
  blobs: readonly Uint8Array[],
): LogRecord {
  const changed = integers(said, "changed");
  const segments = list(said, "segments").map((segment) => {
    const named = segment as Readonly<Record<string, unknown>>;
    return { number: integer(named, "number"), schema: text(named, "schema"), documents: integer(named, "documents") };
  });
  if (blobs.length !== changed.length + 2 * segments.length) throw wrong("segments");
  const newSegments = segments.map((segment, index) => {
    const at = changed.length + 2 * index;
    return { ...segment, header: blobAt(blobs, at), liveness: blobAt(blobs, at + 1), blocks: [] };
  });
  const files = list(said, "files").map((file) => {
    const named = file as Readonly<Record<string, unknown>>;
    return { name: text(named, "name"), blocks: integers(named, "blocks") };
  });
  if (files.length !== segments.length) throw wrong("files");
  const change: StoredChange = {
    folded: integer(said, "folded"),
    removedSegments: integers(said, "removedSegments"),
    liveness: changed.map((segment, index) => ({ segment, liveness: blobAt(blobs, index) })),
    newSegments,
  };
  return { kind: "commit", application, key: text(said, "key"), change, files, isWhole: said["isWhole"] === true };
}

/** An integer that is not negative. */
export function integer(said: Readonly<Record<string, unknown>>, name: string): number {
  const value = said[name];
  if (!(typeof value === "number" && Number.isSafeInteger(value) && value >= 0)) throw wrong(name);
  return value;
}

/** A text. */
export function text(said: Readonly<Record<string, unknown>>, name: string): string {
  const value = said[name];
  if (typeof value !== "string") throw wrong(name);
  return value;
}

/** A list of objects. */
export function list(said: Readonly<Record<string, unknown>>, name: string): readonly object[] {
  const value = said[name];
  if (!Array.isArray(value) || !value.every((entry) => typeof entry === "object" && entry !== null)) throw wrong(name);
  return value as readonly object[];
}

/** A list of integers that are not negative. */
export function integers(said: Readonly<Record<string, unknown>>, name: string): readonly number[] {
  const value = said[name];
  if (!Array.isArray(value) || !value.every((entry) => Number.isSafeInteger(entry) && entry >= 0)) throw wrong(name);
  return value as readonly number[];
}

function texts(said: Readonly<Record<string, unknown>>, name: string): readonly string[] {
  const value = said[name];
  if (!Array.isArray(value) || !value.every((entry) => typeof entry === "string")) throw wrong(name);
  return value as readonly string[];
}

function blobAt(blobs: readonly Uint8Array[], index: number): Uint8Array {
  const blob = blobs[index];
  if (blob === undefined) throw wrong("byte strings");
  return blob;
}

function wrong(name: string): Error {
  return damagedError(`its ${name} are not as they are written`);
}
