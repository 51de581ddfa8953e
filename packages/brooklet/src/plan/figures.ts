/**
 * What brooklet needs, measured: the figures that a plan of ours is made of, each with the bench or test that prints it. They are
 * of one machine, two cores of a 2.5 GHz Xeon in a shared virtual machine; where there is a range, the dearer end.
 */

/** A measured number. */
export interface Figure {
  readonly value: number;
  readonly unit: string;
  /** What prints it. */
  readonly source: string;
}

/** What is measured. */
export type FigureName =
  | "diskOfDimension"
  | "diskOfByte"
  | "readOfDimension"
  | "readOfByte"
  | "scanOfDimension"
  | "scanOfByte"
  | "query"
  | "write"
  | "process"
  | "rowsOfLoad"
  | "rowsOfGroup"
  | "rowsOfWrite"
  | "rowsOfRest"
  | "rowsOfRead"
  | "rowsOfCopy"
  | "shardBytes"
  | "wakeSeconds"
  | "strict"
  | "getsOfSearch"
  | "putSeconds"
  | "bucketsOfStore"
  | "slowerAtEdge";

const figure = (value: number, unit: string, source: string): Figure => ({ value, unit, source });

/** What brooklet needs. */
export const FIGURES: Readonly<Record<FigureName, Figure>> = {
  diskOfDimension: figure(1_489 / 384, "bytes on disk a dimension of bfloat16, ids included", "bench:stored"),
  diskOfByte: figure(2_489 / 1_095, "bytes on disk a byte of indexed text, ids included", "bench:stored"),
  readOfDimension: figure(465 / 384, "bytes that a search reads a dimension, nothing in memory", "bench:stored"),
  readOfByte: figure(40 / 1_095, "bytes that a search of three words reads a byte of text", "bench:stored"),
  scanOfDimension: figure(2.8 / 10_000 / 384, "core-ms a dimension and document, nothing in memory", "bench:vectors"),
  scanOfByte: figure(
    1.05 / 10_000 / 1_095,
    "core-ms a byte of text, three typed words, nothing in memory",
    "bench:text",
  ),
  query: figure(
    0.6 + 0.12,
    "core-ms a search beside that: the gateway's, and the core's",
    "bench:gateway, bench:vectors",
  ),
  write: figure(1_000 / 3_000, "core-ms a document written by its own over HTTP", "bench:feed"),
  process: figure(311 * 2 ** 20, "bytes of a process with a cache of 64 MiB, whatever it stores", "bench:memory"),
  rowsOfLoad: figure(0.02, "rows written a document in bulk, folded", "docs/edge.md"),
  rowsOfGroup: figure(
    5,
    "rows written by the first write of a group, its alarm and its entry in a directory included",
    "docs/edge.md",
  ),
  rowsOfWrite: figure(2, "rows written a document, its part of folding included", "docs/edge.md"),
  rowsOfRest: figure(18, "rows written when a group rests after writes: folding 17, the alarm 1", "worker.test.ts"),
  rowsOfRead: figure(52, "rows read by an object that is woken", "bench:edge"),
  rowsOfCopy: figure(0.04, "rows written a document that goes to a new shard of its group", "docs/edge.md"),
  shardBytes: figure(96 * 2 ** 20, "bytes of an object from which on half of it goes to a new one", "docs/edge.md"),
  wakeSeconds: figure(0.052, "seconds to wake an object and answer", "bench:edge"),
  // Of the 0.25 ms that a search of 1,000 documents takes in a data directory: 0.6 more on a quiet machine, 0.94 on a busy one.
  strict: figure(
    0.94 * 0.25,
    "core-ms that a strict search over an object store takes more, for its request",
    "bench:object-store",
  ),
  getsOfSearch: figure(
    2,
    "requests of a strict search, of a server that does not own the bucket",
    "docs/object-store.md",
  ),
  putSeconds: figure(
    0.03,
    "seconds that a PUT takes, which all writes of a bucket share that come meanwhile",
    "published",
  ),
  bucketsOfStore: figure(8, "buckets of a store, each with one PUT at a time", "docs/object-store.md"),
  slowerAtEdge: figure(1.46, "times the processor time of Node, nearest neighbours", "bench:edge"),
};

/** How full a machine may be at its busiest: the rest is for what nobody planned. What Vespa's example leaves, too. */
export const FILLED = 0.65;
/** Objects that a group is spread over, at most. */
export const SHARDS_MAX = 64;
/** The largest row of a block at the edge, bytes. */
export const ROW_BYTES: number = 64 * 1_024;
