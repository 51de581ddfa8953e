/**
 * Whether a cluster can do what it is for (P17): a query of a group that nobody has goes the way that any query goes, through each of
 * its threads, and once a minute something is stored in each. Who asks often is told what was found a moment ago.
 */
import { bucketOf } from "@brooklet/store";
import type { Cluster, PartitionKey } from "../cluster.ts";
import { serviceError } from "../failure.ts";
import { searchOnce } from "../query/cluster-query.ts";

/** What is looked at. */
export interface HealthOptions {
  readonly cluster: Pick<Cluster, "query" | "application" | "buckets">;
  /** A bucket of each thread. */
  readonly buckets: readonly number[];
  /** Looks whether the device of a bucket is full; if that is wanted and it is not, something is stored there that changes nothing. */
  readonly store: (bucket: number, isWanted: boolean) => Promise<boolean>;
}

/** What was found is told for so long. */
const KNOWN_MS = 1_000;
const STORED_MS = 60_000;
const QUERY_MS = 2_000;
const NO_BYTES = new Uint8Array(0);
/** The busy are healthy: what is refused for that was not broken. */
const BUSY: ReadonlySet<number> = new Set([429, 503]);

/** The health of a cluster. */
export class Health {
  readonly #options: HealthOptions;
  #looking: Promise<readonly string[]> | undefined;
  #lookedMs = Number.NEGATIVE_INFINITY;
  /** When something was stored in each of the buckets. */
  readonly #storedMs = new Map<number, number>();

  constructor(options: HealthOptions) {
    this.#options = options;
  }

  /** What is wrong, each in one sentence. Never rejects. */
  problems(): Promise<readonly string[]> {
    const nowMs = performance.now();
    if (this.#looking === undefined || nowMs - this.#lookedMs >= KNOWN_MS) {
      this.#lookedMs = nowMs;
      this.#looking = this.#look();
    }
    return this.#looking;
  }

  async #look(): Promise<readonly string[]> {
    const { buckets, cluster } = this.#options;
    const queries = cluster.application() === undefined ? [] : buckets.map((bucket) => this.#query(bucket));
    const found = await Promise.all([...queries, ...buckets.map((bucket) => this.#store(bucket))]);
    return [...new Set(found.filter((problem) => problem !== undefined))];
  }

  async #query(bucket: number): Promise<string | undefined> {
    const { cluster } = this.#options;
    const properties = [
      ["yql", "select * from sources * where true"],
      ["streaming.groupname", canaryOf(bucket, cluster.buckets)],
      ["hits", "0"],
    ] as const;
    try {
      const { status } = await searchOnce(cluster, { properties, body: NO_BYTES }, QUERY_MS);
      return status === 200 || BUSY.has(status) ? undefined : `A query was answered with ${status}`;
    } catch (error) {
      const { status, message } = serviceError(error);
      return BUSY.has(status) ? undefined : `A query failed: ${message}`;
    }
  }

  async #store(bucket: number): Promise<string | undefined> {
    const storedMs = this.#storedMs.get(bucket) ?? Number.NEGATIVE_INFINITY;
    const nowMs = performance.now();
    const isWanted = nowMs - storedMs >= STORED_MS;
    try {
      const isFull = await this.#options.store(bucket, isWanted);
      if (isWanted && !isFull) this.#storedMs.set(bucket, nowMs);
      return isFull ? "The device is full: documents can be removed and read, not put" : undefined;
    } catch (error) {
      return `A write failed: ${serviceError(error).message}`;
    }
  }
}

const canaries = new Map<string, string>();

/** The name of a group in a bucket that nobody has. */
function canaryOf(bucket: number, buckets: number): string {
  const name = `${bucket} of ${buckets}`;
  let canary = canaries.get(name);
  for (let number = 0; canary === undefined; number += 1) {
    const key: PartitionKey = `g:brooklet-canary-${number}`;
    if (bucketOf(key, buckets) === bucket) canary = key.slice(2);
  }
  canaries.set(name, canary);
  return canary;
}
