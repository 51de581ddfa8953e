/**
 * How often a group is asked: so many requests a second, and a moment's worth more at once. Whose requests come too fast is refused with
 * 429 and told when to come again; nobody else waits for that.
 */
import type { PartitionKey } from "@brooklet/partition";
import { ServiceError } from "@brooklet/wire";

/** How often, and of how many groups that is known. */
export interface GroupRateLimits {
  /** Requests of one group in a second. 0: nobody counts. */
  readonly requestsPerSecond: number;
  /** How many seconds' worth of them may come at once. */
  readonly burstSeconds: number;
  readonly groups: number;
}

/** The refusal of a request that came too soon. */
export class TooSoon extends ServiceError {
  readonly retryAfterSeconds: number;

  constructor(requestsPerSecond: number, retryAfterSeconds: number) {
    const message = `The group has ${requestsPerSecond} requests a second (limit L-rate): try again in ${retryAfterSeconds} s`;
    super("OVERLOADED", message);
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

/** Requests that a group may still make, and as of when. */
interface Allowance {
  readonly left: number;
  readonly atMs: number;
}

/** Counts the requests of groups. */
export class GroupRates {
  readonly #limits: GroupRateLimits;
  readonly #now: () => number;
  readonly #byGroup = new Map<PartitionKey, Allowance>();

  constructor(limits: GroupRateLimits, now: () => number = () => performance.now()) {
    this.#limits = limits;
    this.#now = now;
  }

  /** Groups that are known. */
  get known(): number {
    return this.#byGroup.size;
  }

  /** Counts a request of a group. Throws where it comes too soon. */
  take(key: PartitionKey): void {
    const { requestsPerSecond, burstSeconds, groups } = this.#limits;
    const most = Math.max(1, requestsPerSecond * burstSeconds);
    const atMs = this.#now();
    const before = this.#byGroup.get(key) ?? { left: most, atMs };
    const left = Math.min(most, before.left + ((atMs - before.atMs) * requestsPerSecond) / 1_000);
    if (left < 1) throw new TooSoon(requestsPerSecond, Math.ceil((1 - left) / requestsPerSecond));
    // Who asked last stands last: the first to be forgotten is who did not for the longest time, and has all it may have again.
    this.#byGroup.delete(key);
    this.#byGroup.set(key, { left: left - 1, atMs });
    const [oldest] = this.#byGroup.keys();
    if (oldest !== undefined && this.#byGroup.size > groups) this.#byGroup.delete(oldest);
  }
}
