/**
 * The limits of the HTTP surface, with their defaults and the names they have in error messages. Limits of what is
 * inside a document or a query belong to the core, which has them in `crates/task/src/limits.rs`.
 */

import type { GroupRateLimits } from "./authority/group-rates.ts";
import type { ThrottleLimits } from "./authority/throttle.ts";
import type { SlowSearchLimits } from "./load/slow-searches.ts";

/** How many requests of a kind may run, may wait, and for how long. */
export interface AdmissionLimits {
  readonly running: number;
  /** How many of the queued may run beside them, where all that run are done within one turn of this thread; none, unless it is said. */
  readonly runningMost?: number;
  readonly queued: number;
  readonly waitMs: number;
}

/** All limits of a gateway. */
export interface GatewayLimits extends SlowSearchLimits {
  /** A request body, after decompression (L-body). */
  readonly bodyBytes: number;
  /** All request bodies held at one time (L-mem). */
  readonly bodyBytesInFlight: number;
  /** Inflated bytes per compressed byte, beyond the first `inflationFreeBytes` (L-gzip). */
  readonly inflationRatio: number;
  readonly inflationFreeBytes: number;
  /** The request line's target (L-head). */
  readonly targetBytes: number;
  readonly headerBytes: number;
  readonly headerCount: number;
  /** Name and value pairs of a URL or a form. */
  readonly parameterCount: number;
  /** An application package as it is sent, its entries, and its content (L-pkg). */
  readonly packageBytes: number;
  readonly packageEntries: number;
  readonly packageContentBytes: number;
  /** Packages prepared and not activated. */
  readonly packageSessions: number;
  /** Longest timeout, also the default, of an operation on a document (L-time). */
  readonly documentTimeoutMs: number;
  /** Longest time a search may take, whatever it asks for (L-time). */
  readonly searchTimeoutMs: number;
  /** Operations on documents, in all (L-conc). */
  readonly documents: AdmissionLimits;
  /** Feeds in bulk, in all, and bytes of each that are held until they are stored (L-mem). */
  readonly feeds: AdmissionLimits;
  readonly feedHeldBytes: number;
  /** Visits and operations on many documents, in all; documents and bytes of one answer or page (L-visit). */
  readonly visits: AdmissionLimits;
  readonly visitDocuments: number;
  readonly visitBytes: number;
  /** Bytes of one part of a streamed visit, and how long it is waited for. */
  readonly visitPartBytes: number;
  readonly visitPartMs: number;
  /** Buckets that one visit reads at a time, whatever it asks for. */
  readonly visitBuckets: number;
  /** Searches, in all, those of one partition, and those of several (L-conc). */
  readonly searches: AdmissionLimits;
  readonly searchesOfPartition: AdmissionLimits;
  readonly searchesOfSeveral: AdmissionLimits;
  /** Answers of language models under way, how long each may take, and how long a model may say nothing (L-llm). */
  readonly generations: AdmissionLimits;
  readonly generationTimeoutMs: number;
  readonly generationIdleMs: number;
  /** Characters of a prompt, its context included. */
  readonly promptCharacters: number;
  /** Keys and tokens that are not valid, of one address, and of how many addresses that is known (L-wrong). */
  readonly wrongCredentials: ThrottleLimits;
  /** Requests of one group, and of how many groups that is known (L-rate). */
  readonly groupRate: GroupRateLimits;
}

const KIB = 1024;
const MIB = 1024 * KIB;

/** What holds unless the operator says otherwise. */
export const DEFAULT_LIMITS: GatewayLimits = {
  bodyBytes: 8 * MIB,
  bodyBytesInFlight: 128 * MIB,
  inflationRatio: 100,
  inflationFreeBytes: MIB,
  targetBytes: 64 * KIB,
  headerBytes: 80 * KIB,
  headerCount: 100,
  parameterCount: 10_000,
  packageBytes: 64 * MIB,
  packageEntries: 5_000,
  packageContentBytes: 128 * MIB,
  packageSessions: 4,
  documentTimeoutMs: 180_000,
  searchTimeoutMs: 60_000,
  documents: { running: 1_024, queued: 256, waitMs: 3_000 },
  feeds: { running: 4, queued: 64, waitMs: 30_000 },
  feedHeldBytes: 32 * MIB,
  visits: { running: 16, queued: 64, waitMs: 3_000 },
  visitDocuments: 1_000,
  visitBytes: 16 * MIB,
  visitPartBytes: 256 * KIB,
  visitPartMs: 250,
  visitBuckets: 8,
  searches: { running: 256, queued: 256, waitMs: 200 },
  searchesOfPartition: { running: 8, runningMost: 32, queued: 32, waitMs: 200 },
  searchesOfSeveral: { running: 8, queued: 64, waitMs: 500 },
  generations: { running: 256, queued: 64, waitMs: 200 },
  generationTimeoutMs: 300_000,
  generationIdleMs: 60_000,
  promptCharacters: MIB,
  wrongCredentials: { failures: 10, failuresPerMinute: 10, addresses: 10_000 },
  groupRate: { requestsPerSecond: 0, burstSeconds: 2, groups: 100_000 },
  slowSearchMs: 1_000,
  slowSearches: 256,
};

/** The names that they have in error messages and in the specification of reliability. */
export const LIMIT_IDS: Readonly<Record<keyof GatewayLimits, string>> = {
  bodyBytes: "L-body",
  bodyBytesInFlight: "L-mem",
  inflationRatio: "L-gzip",
  inflationFreeBytes: "L-gzip",
  targetBytes: "L-head",
  headerBytes: "L-head",
  headerCount: "L-head",
  parameterCount: "L-head",
  packageBytes: "L-pkg",
  packageEntries: "L-pkg",
  packageContentBytes: "L-pkg",
  packageSessions: "L-pkg",
  documentTimeoutMs: "L-time",
  searchTimeoutMs: "L-time",
  documents: "L-conc",
  feeds: "L-mem",
  feedHeldBytes: "L-mem",
  visits: "L-visit",
  visitDocuments: "L-visit",
  visitBytes: "L-visit",
  visitPartBytes: "L-visit",
  visitPartMs: "L-visit",
  visitBuckets: "L-visit",
  searches: "L-conc",
  searchesOfPartition: "L-conc",
  searchesOfSeveral: "L-conc",
  generations: "L-llm",
  generationTimeoutMs: "L-llm",
  generationIdleMs: "L-llm",
  promptCharacters: "L-llm",
  wrongCredentials: "L-wrong",
  groupRate: "L-rate",
  slowSearchMs: "L-kept",
  slowSearches: "L-kept",
};

/** Limits as they hold, by their names: the id of each, what it is, and what it would be. */
export function shown(
  ids: Readonly<Record<string, string>>,
  held: object,
  usual: object,
): Readonly<Record<string, object>> {
  const valueIn = (limits: object, name: string): unknown => (limits as Readonly<Record<string, unknown>>)[name];
  return Object.fromEntries(
    Object.entries(ids).map(([name, limit]) => {
      const [value, other] = [valueIn(held, name), valueIn(usual, name)];
      const isUsual = JSON.stringify(value) === JSON.stringify(other);
      return [name, { limit, value, ...(!isUsual && { default: other }) }];
    }),
  );
}
