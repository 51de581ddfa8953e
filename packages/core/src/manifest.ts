/**
 * What passes between a partition's store and the core: the manifest (segments and tail, to the core) and the change
 * (the result of compaction, to the store). The bytes inside are the core's own.
 */
import { Reader, Writer } from "./frame.ts";

/** A segment as the core keeps it resident: its header and which of its documents are alive. */
export interface SegmentEntry {
  readonly number: number;
  readonly header: Uint8Array;
  readonly liveness: Uint8Array;
}

/** An operation of the tail. */
export interface OperationEntry {
  readonly number: number;
  readonly bytes: Uint8Array;
}

/** Segments (if the core holds another layout) and the operations it does not hold yet, both in ascending number. */
export interface Manifest {
  readonly layout: number;
  readonly segments: readonly SegmentEntry[] | undefined;
  readonly operations: readonly OperationEntry[];
}

/** A segment made by compaction. */
export interface NewSegment extends SegmentEntry {
  readonly schema: string;
  readonly documents: number;
  readonly blocks: readonly Uint8Array[];
}

/** What compaction changes, all of it in one transaction. */
export interface Change {
  /** Operations up to this one leave the tail. */
  readonly folded: number;
  readonly removedSegments: readonly number[];
  readonly liveness: readonly { readonly segment: number; readonly liveness: Uint8Array }[];
  readonly newSegments: readonly NewSegment[];
  /** Not all was done that it was asked for: another compaction of the same reason goes on. */
  readonly hasMore?: boolean;
}

/** The answer to a manifest want. */
export function encodeManifest(manifest: Manifest): Uint8Array {
  const writer = new Writer(bytesOf(manifest)).u32(manifest.layout).u8(manifest.segments === undefined ? 0 : 1);
  if (manifest.segments !== undefined) {
    writer.varint(manifest.segments.length);
    for (const { number, header, liveness } of manifest.segments) writer.u32(number).bytes(header).bytes(liveness);
  }
  writer.varint(manifest.operations.length);
  for (const { number, bytes } of manifest.operations) writer.u64(number).bytes(bytes);
  return writer.finish();
}

/** Bytes of the numbers and lengths beside one segment or operation, or before all of them, at most. */
const BESIDE_BYTES = 16;

/** Room for a manifest: that of a long tail is large, and not to be copied while it is written. */
function bytesOf({ segments = [], operations }: Manifest): number {
  const ofSegments = segments.reduce(
    (sum, { header, liveness }) => sum + BESIDE_BYTES + header.length + liveness.length,
    0,
  );
  return operations.reduce((sum, { bytes }) => sum + BESIDE_BYTES + bytes.length, BESIDE_BYTES + ofSegments);
}

/** The result of a compact task; `undefined`: there was nothing to do. */
export function decodeChange(bytes: Uint8Array): Change | undefined {
  if (bytes.length === 0) return undefined;
  const reader = new Reader(bytes);
  const change: Change = {
    folded: reader.u64(),
    removedSegments: reader.list((it) => it.u32()),
    liveness: reader.list((it) => ({ segment: it.u32(), liveness: it.bytes() })),
    newSegments: reader.list((it) => ({
      number: it.u32(),
      schema: it.text(),
      documents: it.u32(),
      header: it.bytes(),
      liveness: it.bytes(),
      blocks: it.list((block) => block.bytes()),
    })),
    hasMore: reader.u8() === 1,
  };
  reader.end();
  return change;
}
