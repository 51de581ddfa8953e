/**
 * Partitions whose operations, headers, livenesses and blocks are encrypted, each partition's with a key of its own. Everything is bound
 * to its place: what is put at another's is not opened. Heads follow what is stored, which is what is encrypted.
 */
import { forgetLeftKeys, leftKeys, noteLeftKey } from "../leftovers.ts";
import type { PartitionStore } from "../partition-store.ts";
import type {
  BlockReceiver,
  NumberedKey,
  PartitionState,
  Partitions,
  StoredBlock,
  StoredChange,
  StoredCompaction,
  StoredManifest,
  StoredSegment,
  TailEntry,
  TailKey,
} from "../partitions.ts";
import type { Sql } from "../sql.ts";
import { StoreError } from "../store-error.ts";
import { decrypt, decryptInto, ENCRYPTED_BYTES, encrypt, type GroupKeys } from "./group-keys.ts";

/** Numbers that stand for a header, and with no segment for an operation; for a liveness. */
const HEADER = 2 ** 32 - 1;
const LIVENESS = 2 ** 32 - 2;
/** Segments whose partition is remembered. */
const SEGMENTS = 4_096;
const PARTITION_OF =
  "SELECT partition.key AS key FROM segment JOIN partition ON partition.number = segment.partition WHERE segment.number = ?";

/** What bytes are bound to. */
export function placeOf(partition: string, segment: number, block: number): string {
  return `${segment} ${block} ${partition}`;
}

/** The partitions of one bucket. */
export class EncryptedPartitions implements Partitions {
  readonly #sql: Sql;
  readonly #inner: PartitionStore;
  readonly #keys: GroupKeys;
  readonly #partitionOf = new Map<number, string>();
  #room = Buffer.alloc(0);
  /** There may be keys of erased partitions left, also by a process before this one. */
  #hasLeftKeys = true;

  constructor(sql: Sql, inner: PartitionStore, keys: GroupKeys) {
    [this.#sql, this.#inner, this.#keys] = [sql, inner, keys];
  }

  get application(): number {
    return this.#inner.application;
  }

  set application(application: number) {
    this.#inner.application = application;
  }

  get firstFreeSegment(): number {
    return this.#inner.firstFreeSegment;
  }

  get lastOperation(): number {
    return this.#inner.lastOperation;
  }

  state(key: string): PartitionState {
    return this.#inner.state(key);
  }

  manifest(key: string, layout: number, operation: number): StoredManifest {
    const found = this.#inner.manifest(key, layout, operation);
    if ((found.segments?.length ?? 0) === 0 && found.operations.length === 0) return found;
    const opened = this.#opener(key);
    return {
      layout: found.layout,
      segments: found.segments?.map(({ number, header, liveness }) => ({
        number,
        header: opened(number, HEADER, header),
        liveness: opened(number, LIVENESS, liveness),
      })),
      operations: found.operations.map(({ number, bytes }) => ({ number, bytes: opened(HEADER, HEADER, bytes) })),
    };
  }

  operation(key: string, number: number): Uint8Array {
    return this.#opener(key)(HEADER, HEADER, this.#inner.operation(key, number));
  }

  read(blocks: readonly StoredBlock[]): Uint8Array[] {
    return this.#inner.read(blocks).map((bytes, index) => this.#block(blocks[index] as StoredBlock, bytes));
  }

  deliver(blocks: readonly StoredBlock[], receiver: BlockReceiver): void {
    let next = 0;
    const give = (bytes: Uint8Array): void => {
      const block = blocks[next++] as StoredBlock;
      receiver.give(this.#block(block, bytes));
    };
    this.#inner.deliver(blocks, {
      give,
      fill: (length, write) => {
        if (this.#room.length < length) this.#room = Buffer.alloc(length);
        const room = this.#room.subarray(0, length);
        if (length < ENCRYPTED_BYTES || !write(room)) return false;
        const { segment, block } = blocks[next] as StoredBlock;
        const key = this.#keyOf(segment);
        const own = this.#demanded(key);
        const isTaken = receiver.fill(length - ENCRYPTED_BYTES, (plain) => {
          decryptInto(own, placeOf(key, segment, block), room, plain);
          return true;
        });
        if (isTaken) next += 1;
        else give(room);
        return true;
      },
    });
  }

  append(entries: readonly TailEntry[]): void {
    this.#destroyLeftKeys();
    const keys = this.#keys.madeAll(entries.map(({ key }) => key));
    const sealed = ({ key, bytes }: TailEntry): Uint8Array =>
      encrypt(keys.get(key) as Uint8Array, placeOf(key, HEADER, HEADER), bytes);
    this.#inner.append(entries.map((entry) => ({ key: entry.key, bytes: sealed(entry) })));
  }

  commit(key: string, change: StoredChange, wholly: boolean, note?: string): void {
    this.#destroyLeftKeys();
    this.#inner.commit(key, this.#sealed(key, change), wholly, note);
  }

  commitAll(compactions: readonly StoredCompaction[]): void {
    this.#destroyLeftKeys();
    const sealed = compactions.map(({ change, ...one }) => ({
      ...one,
      change: change && this.#sealed(one.key, change),
    }));
    this.#inner.commitAll(sealed);
  }

  #sealed(key: string, change: StoredChange): StoredChange {
    const own = this.#keys.made(key);
    const sealed = (segment: number, block: number, bytes: Uint8Array): Uint8Array =>
      encrypt(own, placeOf(key, segment, block), bytes);
    const newSegments = change.newSegments.map(({ number, header, liveness, blocks, ...rest }) => ({
      ...rest,
      number,
      ...this.#ends({ number, header, liveness }, sealed),
      blocks: blocks.map((bytes, block) => sealed(number, block, bytes)),
    }));
    const liveness = change.liveness.map((one) => ({
      segment: one.segment,
      liveness: sealed(one.segment, LIVENESS, one.liveness),
    }));
    return { ...change, newSegments, liveness };
  }

  markCurrent(key: string): void {
    this.#inner.markCurrent(key);
  }

  noted(key: string): string | undefined {
    return this.#inner.noted(key);
  }

  note(key: string, note: string): void {
    this.#inner.note(key, note);
  }

  isWithin(key: string, bytes: number): boolean {
    return this.#inner.isWithin(key, bytes);
  }

  storedBytes(key: string): number {
    return this.#inner.storedBytes(key);
  }

  from(number: number, limit: number): NumberedKey[] {
    return this.#inner.from(number, limit);
  }

  expect(keys: readonly string[]): void {
    this.#inner.expect(keys);
  }

  withTail(number: number, limit: number): TailKey[] {
    return this.#inner.withTail(number, limit);
  }

  outdated(number: number, limit: number): NumberedKey[] {
    return this.#inner.outdated(number, limit);
  }

  writtenSince(operation: number, segment: number): readonly string[] {
    return this.#inner.writtenSince(operation, segment);
  }

  eraseOthers(schemas: readonly string[], from: number, limit: number): number | undefined {
    return this.#inner.eraseOthers(schemas, from, limit);
  }

  get hasDestroyedKeys(): boolean {
    return this.#keys.hasDestroyed;
  }

  /** The rows first, with a note of the key: whatever fails or ends in between, nothing is encrypted with it any more. */
  erase(key: string): void {
    this.#hasLeftKeys = true;
    this.#inner.erase(key, () => noteLeftKey(this.#sql, key));
    this.#keys.destroy(key);
    this.#destroyLeftKeys(key);
    this.#partitionOf.clear();
  }

  giveBack(bytesMax: number): boolean {
    return this.#inner.giveBack(bytesMax);
  }

  dropErased(bytesMax: number): boolean {
    this.#destroyLeftKeys();
    return this.#inner.dropErased(bytesMax);
  }

  /** Destroys the keys that are noted; that of `destroyed` is by now. */
  #destroyLeftKeys(destroyed?: string): void {
    if (!this.#hasLeftKeys) return;
    const left = leftKeys(this.#sql);
    for (const key of left) if (key !== destroyed) this.#keys.destroy(key);
    if (left.length > 0) forgetLeftKeys(this.#sql);
    this.#hasLeftKeys = false;
  }

  #ends(
    { number, header, liveness }: StoredSegment,
    sealed: (segment: number, block: number, bytes: Uint8Array) => Uint8Array,
  ): Pick<StoredSegment, "header" | "liveness"> {
    return { header: sealed(number, HEADER, header), liveness: sealed(number, LIVENESS, liveness) };
  }

  #block({ segment, block }: StoredBlock, bytes: Uint8Array): Uint8Array {
    return this.#opener(this.#keyOf(segment))(segment, block, bytes);
  }

  #opener(key: string): (segment: number, block: number, bytes: Uint8Array) => Uint8Array {
    const own = this.#demanded(key);
    return (segment, block, bytes) => decrypt(own, placeOf(key, segment, block), bytes);
  }

  #demanded(key: string): Uint8Array {
    const own = this.#keys.of(key);
    if (own === undefined) throw new StoreError("damaged", "the key of the group is not there");
    return own;
  }

  /** The partition of a segment. */
  #keyOf(segment: number): string {
    const known = this.#partitionOf.get(segment);
    if (known !== undefined) return known;
    const [row] = this.#sql.all<{ key: string }>(PARTITION_OF, segment);
    if (row === undefined) throw new StoreError("damaged", `segment ${segment} is missing`);
    if (this.#partitionOf.size >= SEGMENTS) this.#partitionOf.clear();
    this.#partitionOf.set(segment, row.key);
    return row.key;
  }
}
