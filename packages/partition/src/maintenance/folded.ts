/** Partitions whose segments changed, or were looked at, since somebody asked for them. */
import type { Bucket } from "@brooklet/store";
import { FOLDED_KEPT } from "../limits.ts";

/** Those of one thread; so many are remembered at most. */
export class Folded {
  readonly #buckets = new Map<string, Bucket>();

  add(bucket: Bucket, key: string): void {
    if (this.#buckets.size < FOLDED_KEPT) this.#buckets.set(key, bucket);
  }

  /** Those that are wanted; none of the others is remembered. */
  take(isWanted: (bucket: Bucket, key: string) => boolean): readonly string[] {
    const taken = [...this.#buckets].filter(([key, bucket]) => bucket.isOpen && isWanted(bucket, key));
    this.#buckets.clear();
    return taken.map(([key]) => key);
  }
}
