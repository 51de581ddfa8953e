/** Feeds at the border (docs/abi.md, split and load): many operations in one task, and what came of each of them. */
import { asOperation, type OperationBytes } from "./bytes.ts";
import { Reader } from "./frame.ts";
import { type Change, decodeChange } from "./manifest.ts";

/** The operations of one partition that stand whole in a chunk of a feed, in their order. */
export interface SplitOperations {
  readonly key: string;
  /** The ids of their documents, one after the other. */
  readonly ids: string;
  /** `SPLIT_NUMBERS` for each: which of the chunk it is (from 0), the end of its id in `ids`, where it begins, its length. */
  readonly numbers: Uint32Array;
}

/** Numbers of an operation in `SplitOperations`. */
export const SPLIT_NUMBERS = 4;

/** Why an operation of a feed is not done. */
export interface RefusedOperation {
  readonly status: number;
  readonly code: string;
  readonly message: string;
}

/** The operations of a chunk, by the partition they are for. */
export interface SplitChunk {
  /** Bytes that were looked at; what comes after them begins the next chunk. */
  readonly consumed: number;
  readonly partitions: readonly SplitOperations[];
  readonly refused: readonly (RefusedOperation & { readonly number: number })[];
}

/** Operations of a feed that are for one partition. */
export interface Load {
  readonly count: number;
  /** The JSON of each after its length (varint), in the order they came. */
  readonly operations: Uint8Array;
  /** For the host: the ids of their documents, where somebody asks for them. */
  readonly ids?: readonly string[];
  /** The only content cluster that is written; nothing: all that have the types. */
  readonly cluster?: string;
}

/** An operation of a load that has to be written by its own. */
export interface LaterOperation {
  readonly kind: "put" | "update" | "remove";
  /** Of a remove. */
  readonly condition: string;
  /** Its JSON. */
  readonly body: Uint8Array;
}

/** What came of one operation of a load. */
export type LoadedOperation =
  | { readonly kind: "done"; readonly ignoredFields: boolean; readonly ignoredOperation: boolean }
  | { readonly kind: "later"; readonly later: LaterOperation }
  | ({ readonly kind: "refused" } & RefusedOperation);

/** What is to be stored of a load, and what came of its operations, in their order. */
export interface LoadResult {
  readonly outcomes: readonly LoadedOperation[];
  /** Segments, with what they change: committed as the change of a compaction is. */
  readonly change: Change | undefined;
  /** Or operations for the tail: the last on each document. */
  readonly operations: readonly { readonly id: string; readonly bytes: OperationBytes }[];
}

const KINDS = ["put", "update", "remove"] as const;
const FLAG_IGNORED_FIELDS = 1;
const FLAG_IGNORED_OPERATION = 2;
const DONE: readonly LoadedOperation[] = [0, 1, 2, 3].map((flags) => ({
  kind: "done",
  ignoredFields: (flags & FLAG_IGNORED_FIELDS) !== 0,
  ignoredOperation: (flags & FLAG_IGNORED_OPERATION) !== 0,
}));

/** The result of a split. */
export function decodeSplit(bytes: Uint8Array): SplitChunk {
  const reader = new Reader(bytes);
  const consumed = reader.u32();
  const partitions = reader.list((it) => ({ key: it.text(), ids: it.text(), numbers: it.u32s(it.varint()) }));
  const refused = reader.list((it) => ({ number: it.varint(), ...readRefusal(it) }));
  return { consumed, partitions, refused };
}

/** The result of a load. */
export function decodeLoad(bytes: Uint8Array): LoadResult {
  const reader = new Reader(bytes);
  const outcomes = reader.list(readOutcome);
  const kind = reader.u8();
  if (kind === 2) {
    const operations = reader.list((it) => ({ id: it.text(), bytes: asOperation(it.bytes()) }));
    reader.end();
    return { outcomes, change: undefined, operations };
  }
  return { outcomes, change: kind === 0 ? undefined : decodeChange(reader.rest()), operations: [] };
}

function readOutcome(reader: Reader): LoadedOperation {
  const kind = reader.u8();
  if (kind === 0) return DONE[reader.u8()] ?? { kind: "done", ignoredFields: false, ignoredOperation: false };
  if (kind === 1) {
    const of = KINDS[reader.u8() - 1] ?? "put";
    // A copy: what is read is one large answer, and this may have to wait.
    return { kind: "later", later: { kind: of, condition: reader.text(), body: reader.bytes().slice() } };
  }
  return { kind: "refused", ...readRefusal(reader) };
}

function readRefusal(reader: Reader): RefusedOperation {
  return { status: reader.u16(), code: reader.text(), message: reader.text() };
}
