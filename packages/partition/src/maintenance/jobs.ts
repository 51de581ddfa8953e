/** Compactions in the order in which they are done. */
import type { Bucket } from "@brooklet/store";
import type { Job } from "./job.ts";

/** Those of one thread that were not begun. */
export class Jobs {
  #queue: Job[] = [];

  /** How many there are. */
  get count(): number {
    return this.#queue.length;
  }

  add(job: Job): void {
    this.#queue.push(job);
  }

  /** Does one by itself, next: with others it came to nothing. */
  addAlone(job: Job): void {
    job.isAlone = true;
    this.#queue.unshift(job);
  }

  /** Has what somebody waits for done next: what nobody does may be thousands. */
  hasten(job: Job): Promise<void> {
    job.isAwaited = true;
    const at = this.#queue.indexOf(job);
    if (at > 0) this.#queue.unshift(...this.#queue.splice(at, 1));
    return job.done;
  }

  /** The next one. */
  take(): Job | undefined {
    return this.#queue.shift();
  }

  /** The one of those that wait whose place is told; nothing: none of them. */
  takeOne(placeIn: (queue: readonly Job[]) => number): Job | undefined {
    const at = placeIn(this.#queue);
    return at < 0 ? undefined : this.#queue.splice(at, 1)[0];
  }

  /** Takes those of a bucket out. */
  takeOf(bucket: Bucket): readonly Job[] {
    const taken = this.#queue.filter((job) => job.bucket === bucket);
    this.#queue = this.#queue.filter((job) => job.bucket !== bucket);
    return taken;
  }
}
