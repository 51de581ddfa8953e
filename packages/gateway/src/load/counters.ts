/** Counts answers by kind of request and status. Never by group: that would tell about one tenant and never end. */

import { type ErrorCode, Histogram } from "@brooklet/wire";

/** The kinds of request that are told apart. */
export type RequestKind = "document" | "feed" | "search" | "deploy" | "other";

/** What is told of an answer, or of operations of a feed: nothing that stands in it, or in what was asked. */
export interface Answered {
  /** `operation`: one of a feed, the first of it that came to this. The feed itself is answered before it is done. */
  readonly kind: RequestKind | "operation";
  readonly method: string;
  readonly status: number;
  /** From when the request came. */
  readonly ms: number;
  /** Of a failure: whose matter it is. The caller's is what was asked for, the operator's what keeps it from being done. */
  readonly failure?: "caller" | "operator";
}

const KINDS: readonly RequestKind[] = ["document", "feed", "search", "deploy", "other"];

/** Failures that are told before there is one: of a number that appears with the first, nobody sees that it grew. */
const TOLD_ALWAYS: readonly ErrorCode[] = [
  "INSUFFICIENT_STORAGE",
  "INTERNAL",
  "OVERLOADED",
  "STORE_CORRUPT",
  "STORE_FAILED",
  "UNAVAILABLE",
];

/** Answers since the start. */
export class RequestCounters {
  /** Who is told of each answer. */
  readonly onAnswered: ((answered: Answered) => void) | undefined;
  readonly startedAtMs: number = Date.now();
  /** By kind, then by the first digit of the status. */
  readonly #counts: ReadonlyMap<RequestKind, number[]> = new Map(KINDS.map((kind) => [kind, []]));

  /** How long answers of each kind took, from when the request came. */
  readonly durations: ReadonlyMap<RequestKind, Histogram> = new Map(KINDS.map((kind) => [kind, new Histogram()]));

  /** Failures that are the operator's matter, by their codes. */
  readonly failures: Map<string, number> = new Map(TOLD_ALWAYS.map((code) => [code, 0]));

  constructor(onAnswered?: (answered: Answered) => void) {
    this.onAnswered = onAnswered;
  }

  /** Counts a failure that is the operator's matter. */
  fail(code: string): void {
    this.failures.set(code, (this.failures.get(code) ?? 0) + 1);
  }

  /** Counts one answer. */
  count(kind: RequestKind, status: number, arrivedMs?: number): void {
    if (arrivedMs !== undefined) this.durations.get(kind)?.add((performance.now() - arrivedMs) / 1_000);
    const counts = this.#counts.get(kind) ?? [];
    const digit = Math.floor(status / 100);
    counts[digit] = (counts[digit] ?? 0) + 1;
  }

  /** Name and count, by name. */
  entries(): readonly (readonly [name: string, count: number])[] {
    const named = KINDS.flatMap((kind) =>
      Array.from(this.#counts.get(kind) ?? [], (count, digit) => [`${kind}.${digit}xx`, count ?? 0] as const),
    );
    return named.filter(([, count]) => count > 0).sort(([left], [right]) => (left < right ? -1 : 1));
  }
}
