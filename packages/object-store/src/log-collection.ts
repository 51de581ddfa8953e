/** The collection of a log: what its snapshot holds is removed from it, but where the writer changes. */
import { openObject, type Snapshot, type Written } from "./log-reader.ts";
import type { ObjectLog } from "./object-store.ts";
import type { Again } from "./store-records.ts";

/** What one gateway knows of the collection of a log. */
export class LogCollection {
  readonly #log: ObjectLog;
  readonly #name: string;
  readonly #again: Again;
  /** No records are left in places until here. */
  #upTo = -1;

  constructor(log: ObjectLog, name: string, again: Again) {
    this.#log = log;
    this.#name = name;
    this.#again = again;
  }

  /** Up to where a snapshot may say that the log was collected, that comes in the place of another. */
  known(before: Snapshot): number {
    return Math.max(this.#upTo, before.collected);
  }

  /**
   * Removes the places behind the snapshot before, up to the last that the one which is stored now holds. Places are never used again: what
   * is written to one that was removed is under the snapshot, and counts for nobody (docs/decisions/0194).
   */
  async collect(before: Snapshot, upTo: number): Promise<void> {
    await this.#removeLeft(this.known(before) + 1, before.upTo);
    let { writer } = before;
    for (let at = before.upTo + 1; at <= upTo; at += 1) {
      const written = await this.#read(at);
      // Another collector was here.
      if (written === undefined) continue;
      const previous = writer;
      writer = written.writer;
      // Where the writer changes the one before may still want to write: that place, which is a seal, stays taken for ever.
      if (writer === previous) await this.#remove(at);
    }
    this.#upTo = upTo;
  }

  /** Removes what a collector left that was killed, or that the store refused. Of a seal the writer before it is not known any more: it stays. */
  async #removeLeft(from: number, upTo: number): Promise<void> {
    for (let at = from; at <= upTo; ) {
      const places = await this.#again(() => this.#log.after(this.#name, at));
      for (const place of places) {
        if (place > upTo) return;
        if (((await this.#read(place))?.records.length ?? 0) > 0) await this.#remove(place);
      }
      at = (places.at(-1) ?? upTo) + 1;
    }
  }

  async #read(at: number): Promise<Written | undefined> {
    const bytes = await this.#again(() => this.#log.read(this.#name, at));
    return bytes && (await openObject(bytes)).written;
  }

  async #remove(at: number): Promise<void> {
    await this.#again(() => this.#log.remove(this.#name, at));
  }
}
