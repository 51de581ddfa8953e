/**
 * How often somebody may be wrong: after some keys or tokens that were not valid, more from the same address are refused before
 * anything is computed for them. What was valid before is let through to be looked at, so that nobody is locked out by a neighbour:
 * behind a proxy all have one address.
 */
import { networkOf, ServiceError } from "@brooklet/wire";

/** How often, and of how many addresses that is known. */
export interface ThrottleLimits {
  /** Wrong ones of an address that are answered one after the other. 0: nobody counts. */
  readonly failures: number;
  /** And how many more a minute. */
  readonly failuresPerMinute: number;
  readonly addresses: number;
}

/** The refusal of one more. */
export class Throttled extends ServiceError {
  readonly retryAfterSeconds: number;

  constructor(retryAfterSeconds: number) {
    const message = `Too many keys or tokens that are not valid came from this address: try again in ${retryAfterSeconds} s`;
    super("OVERLOADED", message);
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

interface Failures {
  readonly count: number;
  readonly atMs: number;
}

const MINUTE_MS = 60_000;
/** Credentials that are known to have been valid. */
const SEEN_MAX = 4_096;

/** Counts the failures of addresses. */
export class Throttle {
  readonly #limits: ThrottleLimits;
  readonly #now: () => number;
  readonly #failures = new Map<string, Failures>();
  /** By a mark that is cheap and says too little to be taken for the credential. */
  readonly #seen = new Set<string>();
  readonly #seeds = crypto.getRandomValues(new Uint32Array(2));

  constructor(limits: ThrottleLimits, now: () => number = () => performance.now()) {
    this.#limits = limits;
    this.#now = now;
  }

  /** Throws where no credential of an address is looked at now, but for those that were valid before. */
  check(address: string | undefined, credential: string): void {
    if (address === undefined || this.#failures.size === 0) return;
    const { failures, failuresPerMinute } = this.#limits;
    const excess = this.#countOf(networkOf(address)) - failures + 1;
    if (excess <= 0 || this.#seen.has(this.#mark(credential))) return;
    throw new Throttled(Math.ceil((excess * MINUTE_MS) / failuresPerMinute / 1_000));
  }

  /** A credential was not valid. */
  failed(address: string | undefined, credential: string): void {
    const { failures, addresses } = this.#limits;
    // What was valid once is no guess: it ended, and who shows it may have neighbours.
    if (address === undefined || failures === 0 || this.#seen.has(this.#mark(credential))) return;
    const network = networkOf(address);
    const count = Math.min(this.#countOf(network) + 1, failures);
    // The last that failed stands last: the first to be forgotten is who did not for the longest time.
    this.#failures.delete(network);
    this.#failures.set(network, { count, atMs: this.#now() });
    const [oldest] = this.#failures.keys();
    if (oldest !== undefined && this.#failures.size > addresses) this.#failures.delete(oldest);
  }

  /** A credential was valid. */
  succeeded(credential: string): void {
    this.#seen.add(this.#mark(credential));
    const [oldest] = this.#seen;
    if (oldest !== undefined && this.#seen.size > SEEN_MAX) this.#seen.delete(oldest);
  }

  #countOf(network: string): number {
    const { count, atMs } = this.#failures.get(network) ?? { count: 0, atMs: 0 };
    return Math.max(0, count - ((this.#now() - atMs) * this.#limits.failuresPerMinute) / MINUTE_MS);
  }

  #mark(credential: string): string {
    let [left = 0, right = 0] = this.#seeds;
    for (let at = 0; at < credential.length; at += 1) {
      const code = credential.charCodeAt(at);
      left = Math.imul(left ^ code, 0x01000193);
      right = Math.imul(right + code, 0x85ebca6b) ^ (right >>> 13);
    }
    return `${left} ${right}`;
  }
}
