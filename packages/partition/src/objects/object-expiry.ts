/**
 * Documents of an object that the application does not keep any more (`garbage-collection` of services.xml). They are looked for
 * when the object rests; so that one that nobody asks sleeps, it is also looked how long nothing more will expire, and not before
 * that is over again.
 */
import type { DeployReport } from "@brooklet/core";
import type { BucketHost } from "../bucket-host.ts";
import type { PartitionKey, Visit } from "../cluster.ts";
import { EXPIRY_PAGE_BYTES, REMOVE, removeExpired, visitOfExpired } from "../expiry.ts";
import { EXPIRY_STEP_MS } from "../limits.ts";
import type { ShardGuard } from "../shards/shard-guard.ts";

/** It is looked again after so long, whatever was found: a selection may be of more than one point in time. */
const LOOK_MS_MAX = 86_400_000;
/** What is not selected after so long never is: a hundred years. */
const EVER_MS: number = 36_525 * 86_400_000;

/** Whose documents expire. */
export interface ExpiringObject {
  readonly key: PartitionKey;
  readonly host: BucketHost;
  readonly guard: ShardGuard;
}

interface Expiring {
  readonly visit: Visit;
  readonly intervalMs: number;
}

/** What expires of an application in one object. */
export class ObjectExpiry {
  readonly #types: readonly Expiring[];
  /** When it is looked next; nothing: that is not known. */
  #dueMs: number | undefined;

  constructor(schemas: DeployReport["schemas"]) {
    this.#types = schemas.flatMap(({ name, garbageCollection }) => {
      if (garbageCollection === undefined) return [];
      const visit = visitOfExpired(name, garbageCollection);
      return [{ visit, intervalMs: garbageCollection.intervalSeconds * 1_000 }];
    });
  }

  /** Removes what has expired, if it is time to look. In how many milliseconds it is time again; infinite: never. */
  async expire(object: ExpiringObject): Promise<number> {
    const nowMs = Date.now();
    if (this.#dueMs !== undefined && nowMs < this.#dueMs) {
      // What was written since the last look may expire before the next.
      const soonMs = Math.min(...this.#types.map(({ intervalMs }) => intervalMs));
      this.#dueMs = Math.min(this.#dueMs, nowMs + soonMs);
      return this.#dueMs - nowMs;
    }
    let waitMs = Number.POSITIVE_INFINITY;
    for (const { visit, intervalMs } of this.#types) {
      await object.guard.throughAll(() => remove(object, visit));
      waitMs = Math.min(waitMs, await quietMs(object, visit, intervalMs));
    }
    this.#dueMs = nowMs + waitMs;
    return waitMs;
  }

  /** Whether any document is there that expires. */
  async isNeeded(object: ExpiringObject): Promise<boolean> {
    for (const { visit } of this.#types) if (await isSelected(object, visit, EVER_MS)) return true;
    return false;
  }
}

function remove({ key, host }: ExpiringObject, visit: Visit): Promise<void> {
  return removeExpired((from, timeoutMs) => {
    const step = { bucket: 0, key, from, documentsMax: Number.MAX_SAFE_INTEGER, bytesMax: EXPIRY_PAGE_BYTES };
    return host.applyWhere(visit, step, REMOVE, timeoutMs);
  });
}

/** For how long nothing expires. At the least the interval in which it is looked on a server. */
async function quietMs(object: ExpiringObject, visit: Visit, intervalMs: number): Promise<number> {
  if (!(await isSelected(object, visit, EVER_MS))) return Number.POSITIVE_INFINITY;
  let waitMs = intervalMs;
  while (waitMs < LOOK_MS_MAX && !(await isSelected(object, visit, 2 * waitMs))) waitMs *= 2;
  return Math.max(Math.min(waitMs, LOOK_MS_MAX), intervalMs);
}

/** Whether any document is selected so much later, if nothing is written. */
async function isSelected({ key, host }: ExpiringObject, visit: Visit, laterMs: number): Promise<boolean> {
  const nowSeconds = Math.floor((Date.now() + laterMs) / 1_000);
  let from = { partition: 0, after: "" };
  for (;;) {
    const step = { bucket: 0, key, from, documentsMax: 1, bytesMax: EXPIRY_PAGE_BYTES, nowSeconds };
    const { documents, next } = await host.visit(visit, step, EXPIRY_STEP_MS);
    if (documents > 0) return true;
    if (next === undefined) return false;
    from = next;
  }
}
