/**
 * The collection of a log: a snapshot is stored, and what it holds is removed from the log, but where the writer changes. Places to which
 * records may come once more are closed by an object without any, so that whatever comes late finds them taken.
 */
import { Fenced } from "./log-batch.ts";
import { encodeFrame, type Framed } from "./log-object.ts";
import { encodeSnapshot, openObject, openSnapshot, type Snapshot, sameBytes, type Written } from "./log-reader.ts";
import type { BucketLogOptions } from "./replica.ts";
import type { Again } from "./store-records.ts";

/** A snapshot that is to be stored. */
export interface TakenSnapshot {
  readonly upTo: number;
  readonly writer: string;
  readonly application: number;
  /** Its last place was asked for more than once. */
  readonly isRepeated: boolean;
  readonly frame: Promise<Framed>;
  /** Whether what was taken is still what is here. */
  readonly isCurrent: () => boolean;
}

/** Places that are collected: removed, or closed as well. */
interface Places {
  readonly removed: readonly number[];
  readonly closed: readonly number[];
}

/** What one gateway knows of the collection of a log. */
export class LogCollection {
  readonly #options: BucketLogOptions;
  readonly #again: Again;
  /** No records are left in places until here, and none come. */
  #upTo = -1;

  constructor(options: BucketLogOptions, again: Again) {
    this.#options = options;
    this.#again = again;
  }

  /** Stores a snapshot, and collects the log that it holds. */
  async keep({ frame: captured, isRepeated, isCurrent, ...said }: TakenSnapshot, onKept: () => void): Promise<void> {
    const { log, name } = this.#options;
    const frame = await captured;
    const stored = await this.#again(() => log.snapshot(name));
    const before = await openSnapshot(stored);
    if (before.upTo > said.upTo) throw new Fenced("not_applied");
    const collected = Math.max(this.#upTo, before.collected);
    const left = before.repeated.filter((at) => at > collected);
    const { removed, closed } = await this.#placesOf(before, said.upTo, isRepeated);
    if (!isCurrent()) throw new Fenced("not_applied");
    // Stored before anything is removed: who goes on after this one was killed does not see of a free place that something may come there.
    const bytes = await encodeSnapshot({ ...said, collected, repeated: [...left, ...closed] }, frame);
    if ((await this.#again(() => log.replaceSnapshot(name, bytes, stored?.tag))) === "taken") {
      // An answer that was lost: it may be ours that is there.
      const now = await this.#again(() => log.snapshot(name));
      if (now === undefined || !sameBytes(now.bytes, bytes)) throw new Fenced("not_applied");
    }
    onKept();
    await this.#removeLeft(collected + 1, before);
    // What comes to a place that was removed is under the snapshot, and counts for nobody (docs/decisions/0194).
    for (const at of removed) await this.#remove(at);
    for (const at of [...left, ...closed]) await this.#close(at);
    this.#upTo = said.upTo;
  }

  /**
   * The places behind the snapshot before. Where the writer changes the one before may still want to write: that place, which is a seal, stays
   * taken for ever. The last that it wrote it may have asked for more than once, and was killed before it could say so.
   */
  async #placesOf(before: Snapshot, upTo: number, isRepeated: boolean): Promise<Places> {
    const removed = new Set<number>();
    const closed = new Set<number>();
    let { writer } = before;
    let hasRecords = false;
    const repeat = (at: number): void => {
      if (hasRecords && removed.delete(at)) closed.add(at);
    };
    for (let at = before.upTo + 1; at <= upTo; at += 1) {
      const written = await this.#read(at);
      // Another collector was here: it has stored another snapshot.
      if (written === undefined) throw new Fenced("not_applied");
      const isOther = written.writer !== writer;
      if (isOther || written.isAfterRepeated === true) repeat(at - 1);
      if (!isOther) removed.add(at);
      writer = written.writer;
      hasRecords = written.records.length > 0;
    }
    if (isRepeated) repeat(upTo);
    return { removed: [...removed], closed: [...closed] };
  }

  /** Removes what a collector left that was killed, or that the store refused. Of a seal the writer before it is not known any more: it stays. */
  async #removeLeft(from: number, { upTo, repeated }: Snapshot): Promise<void> {
    const { log, name } = this.#options;
    for (let at = from; at <= upTo; ) {
      const places = await this.#again(() => log.after(name, at));
      for (const place of places) {
        if (place > upTo) return;
        if (repeated.includes(place)) continue;
        if (((await this.#read(place))?.records.length ?? 0) > 0) await this.#remove(place);
      }
      at = (places.at(-1) ?? upTo) + 1;
    }
  }

  /**
   * Writes an object without records over a place, as a seal that came late would be. It is not removed before: whatever comes in between would
   * be there again, and a removal that comes late would open what was closed.
   */
  async #close(at: number): Promise<void> {
    const { log, name, writer } = this.#options;
    const bytes = await encodeFrame({ value: { writer, nonce: -1, records: [] }, blobs: [] });
    await this.#again(() => log.overwrite(name, at, bytes));
  }

  async #read(at: number): Promise<Written | undefined> {
    const { log, name } = this.#options;
    const bytes = await this.#again(() => log.read(name, at));
    return bytes && (await openObject(bytes)).written;
  }

  async #remove(at: number): Promise<void> {
    const { log, name } = this.#options;
    await this.#again(() => log.remove(name, at));
  }
}
