/**
 * What is stored of one shard: the documents it gives away are read, page by page and as they are committed, and stored where
 * they go to. Operations are as the tail has them, sealed for the group, so no bit of a document changes on its way.
 */
import { type Engine, Reader, ServiceError, Writer } from "@brooklet/core";
import type { Bucket } from "@brooklet/store";
import { Deadline } from "../deadline.ts";
import { drive } from "../drive.ts";
import { SPLIT_PAGE_BYTES, SPLIT_PAGE_DOCUMENTS, SPLIT_WAIT_MS } from "../limits.ts";
import type { Maintenance } from "../maintenance.ts";
import { placeOf, sourceOf } from "../place.ts";
import { holdsHash, keptHalf, movingHalf, readRecord, type ShardRecord, shardHash, WHOLE } from "./shard.ts";
import type { ShardGuard } from "./shard-guard.ts";
import type { MovedOperations, MovedPage, SplitParent } from "./split.ts";

/** What is asked for of documents that are written as operations. */
const OPERATIONS = {
  types: [],
  namespace: "",
  selection: "",
  fieldSet: "[all]",
  tensorFormat: "",
  format: "operations",
} as const;

/** Operations that are kept of documents that move, after which an attempt is given up: writers are faster than it. */
const TOUCHED_BYTES_MAX: number = 16 << 20;

/** The partition of a shard. */
export class ShardStore {
  readonly #key: string;
  readonly #bucket: Bucket;
  readonly #engine: Engine;
  readonly #maintenance: Maintenance;

  constructor(key: string, bucket: Bucket, engine: Engine, maintenance: Maintenance) {
    this.#key = key;
    this.#bucket = bucket;
    this.#engine = engine;
    this.#maintenance = maintenance;
  }

  /** What the shard is; nothing: nothing was stored of it. */
  get record(): ShardRecord | undefined {
    const note = this.#bucket.store.noted(this.#key);
    return note === undefined ? undefined : readRecord(note);
  }

  /** Stores what the shard is. */
  keep(record: ShardRecord): void {
    const note = JSON.stringify(record);
    this.#bucket.change((store) => store.note(this.#key, note), note.length);
  }

  /** Whether anything is: an object may be asked for what was never written. */
  get isStored(): boolean {
    return this.#bucket.store.state(this.#key).number !== 0;
  }

  /** Bytes that are stored of it. */
  get bytes(): number {
    return this.#bucket.store.storedBytes(this.#key);
  }

  /** Stores operations of another shard, in their order. */
  async append(operations: MovedOperations): Promise<void> {
    const reader = new Reader(operations);
    for (let rest = reader.rest(); rest.length > 0; ) {
      await this.#room();
      const some = new Reader(rest);
      const written: Promise<void>[] = [];
      for (let count = 0; count < SPLIT_PAGE_DOCUMENTS && some.remaining > 0; count += 1) {
        const id = some.text();
        written.push(this.#bucket.write(this.#key, some.bytes().slice(), { id, decided: false }));
      }
      rest = some.rest();
      await Promise.all(written);
      this.#maintenance.written(this.#bucket, this.#key);
    }
  }

  /** Waits until the segments are as the deployed application wants them. */
  async #rewritten(): Promise<void> {
    const { store, application } = this.#bucket;
    if (store.state(this.#key).application !== application) await this.#maintenance.fold(this.#bucket, this.#key);
  }

  async #room(): Promise<void> {
    if (this.#maintenance.takesMore(this.#bucket.store.state(this.#key))) return;
    await this.#maintenance.fold(this.#bucket, this.#key);
  }

  /** Its part of a split. */
  splitting(guard: ShardGuard): SplitParent {
    const { record } = guard;
    const bucket = this.#bucket;
    const moving = movingHalf(record);
    let touched = new Map<string, Uint8Array>();
    let [bytes, isOver] = [0, false];
    let unwatch = (): void => undefined;
    let patience: ReturnType<typeof setTimeout> | undefined;
    const goOn = (): void => {
      if (isOver || guard.record.isErased === true || bytes > TOUCHED_BYTES_MAX) throw givenUp();
    };
    const end = (): void => {
      isOver = true;
      clearTimeout(patience);
      unwatch();
      touched.clear();
      guard.isSplit = false;
      guard.release();
    };
    return {
      record,
      begin: async (attempt) => {
        await this.#rewritten();
        // No segments are being written from here on but those of operations that are kept.
        await this.#maintenance.alone(async () => {
          goOn();
          guard.isSplit = true;
          unwatch = bucket.watch(this.#key, (id, operation) => {
            if (!holdsHash(moving, shardHash(id))) return;
            bytes += operation.length;
            touched.set(id, operation);
          });
          guard.record = { ...record, attempt };
          this.keep(guard.record);
        });
      },
      page: async (after) => {
        await this.#maintenance.turn();
        goOn();
        return this.#page(after, guard.record);
      },
      takeTouched: () => {
        goOn();
        const taken = touched;
        [touched, bytes] = [new Map(), 0];
        const writer = new Writer();
        for (const [id, operation] of taken) writer.text(id).bytes(operation);
        return { operations: writer.finish(), documents: taken.size };
      },
      hold: async () => {
        await guard.settle();
        goOn();
        guard.hold();
        patience = setTimeout(end, SPLIT_WAIT_MS);
        bucket.flush();
      },
      commit: async (after) => {
        goOn();
        await this.#divide(guard, after, goOn);
      },
      end,
    };
  }

  /** Commits a split. Whether it is committed where that failed is told by what is stored: a device that failed may have it. */
  async #divide(guard: ShardGuard, after: ShardRecord, goOn: () => void): Promise<void> {
    const noteOf = (): string => {
      goOn();
      return JSON.stringify(after);
    };
    const committed = (): void => {
      guard.record = after;
    };
    try {
      await this.#maintenance.divide(this.#bucket, this.#key, keptHalf(guard.record), { noteOf, committed });
    } catch (error) {
      guard.doubt(() => this.record ?? WHOLE);
      throw error;
    }
  }

  /** Documents that move, after one of them. */
  #page(after: string, record: ShardRecord): MovedPage {
    const { store } = this.#bucket;
    const bounds = { after, documentsMax: SPLIT_PAGE_DOCUMENTS, bytesMax: SPLIT_PAGE_BYTES };
    const request = { ...OPERATIONS, shard: movingHalf(record) };
    const task = this.#engine.visit(placeOf(store.state(this.#key)), 0, request, bounds);
    const page = drive(task, sourceOf(store, this.#key), Deadline.in(SPLIT_WAIT_MS));
    return { operations: page.body.slice(), documents: page.documents, last: page.last, complete: page.complete };
  }
}

function givenUp(): ServiceError {
  const message = "The split of a shard was given up; it is tried again later";
  return new ServiceError({ code: "UNAVAILABLE", status: 503, number: 8, message, outcome: "not_applied" });
}
