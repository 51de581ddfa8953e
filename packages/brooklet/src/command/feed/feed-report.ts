/** What a feed tells while it runs and when it is over: results, failures, progress, rate. */
import { BrookletError, type FeedOutcome } from "@brooklet/client";
import type { FedOperation } from "@brooklet/partition";
import { explain, failureJson } from "../failure.ts";
import { Progress } from "../progress.ts";
import { CommandFailed, type Surroundings } from "../surroundings.ts";
import type { ReadShare } from "./feed-input.ts";

/** What of it is wanted. */
export interface FeedReportOptions {
  readonly json?: boolean;
  /** Print what came of every operation, as a line of JSON each. */
  readonly results?: boolean;
}

const FAILURES_SHOWN = 10;
const MS_PER_SECOND = 1000;

/** Failures after which an operation may succeed when it is sent again: a checkpoint does not pass over them. */
const NOT_FINAL: ReadonlySet<string> = new Set([
  "UNREACHABLE",
  "UNAVAILABLE",
  "OVERLOADED",
  "TIMED_OUT",
  "INTERNAL",
  "STORE_BUSY",
  "STORE_FAILED",
  "TAIL_FULL",
  "INSUFFICIENT_STORAGE",
  "UNEXPECTED_ANSWER",
]);

/** Whether an operation that failed so would fail so again. */
export function isFinal(code: string): boolean {
  return !NOT_FINAL.has(code);
}

/** The report of one feed. */
export class FeedReport {
  readonly #options: FeedReportOptions;
  readonly #surroundings: Surroundings;
  readonly #tally = new Tally();
  readonly #progress: Progress;
  readonly #read: ReadShare | undefined;

  /** `read`: how much of the input was read, which is about how much of it is done. `onInterrupt` is called where a signal ends it. */
  constructor(options: FeedReportOptions, surroundings: Surroundings, read?: ReadShare, onInterrupt?: () => void) {
    this.#options = options;
    this.#surroundings = surroundings;
    this.#progress = new Progress(surroundings);
    this.#read = read;
    surroundings.onInterrupt?.(() => {
      onInterrupt?.();
      const message = `Interrupted: ${this.#tally.line()}; what was under way may be done as well`;
      const told = { ...this.#tally.toJSON(), error: { code: "INTERRUPTED", message } };
      if (options.json === true) surroundings.print(JSON.stringify(told));
      return message;
    });
  }

  /** Takes note of what came of an operation. */
  take(outcome: FeedOutcome): void {
    const { print, warn } = this.#surroundings;
    this.#tally.count(outcome);
    if (this.#options.results === true) print(JSON.stringify(resultOf(outcome)));
    if (!outcome.ok && this.#tally.failed <= FAILURES_SHOWN) warn(`${outcome.id}: ${errorText(outcome.error)}`);
    this.#progress.tell(() => this.#tally.line(), this.#read?.share);
  }

  /** Tells how far it went before it broke off; where JSON is wanted the reason is in it. Gives what is to be thrown. */
  broken(reason: unknown): unknown {
    const { print, warn } = this.#surroundings;
    if (this.#options.json !== true) {
      if (this.#tally.all > 0) warn(`It broke off: ${this.#tally.line()}`);
      return reason;
    }
    warn(explain(reason));
    print(JSON.stringify({ ...this.#tally.toJSON(), error: failureJson(reason) }));
    return new CommandFailed("the feed broke off", { cause: reason });
  }

  /** Tells how it went. Throws `CommandFailed` if anything failed. */
  end(): void {
    const { failed } = this.#tally;
    const { print, warn } = this.#surroundings;
    if (failed > FAILURES_SHOWN) warn(`… and ${failed - FAILURES_SHOWN} more failures`);
    if (failed > 0) warn(`failures by kind: ${this.#tally.kinds()}`);
    print(this.#options.json === true ? JSON.stringify(this.#tally.toJSON()) : this.#tally.line());
    if (failed > 0) throw new CommandFailed();
  }
}

/** What came of an operation of a feed in bulk. One that names no document is told by its place, behind those that were `skipped`. */
export function outcomeOf({ number, id, outcome }: FedOperation, skipped = 0): FeedOutcome {
  const { status, code = "INTERNAL", message = "", outcome: applied, ignoredOperation } = outcome;
  if (status === 200) return ignoredOperation === true ? { id, ok: true, ignored: true } : { id, ok: true };
  const about = applied === undefined ? { status } : { status, outcome: applied };
  const error = new BrookletError(code as BrookletError["code"], message, about);
  return { id: id === "" ? `operation ${skipped + number + 1}` : id, ok: false, error };
}

function resultOf(outcome: FeedOutcome): Readonly<Record<string, unknown>> {
  if (outcome.ok) return outcome;
  const { code, message, outcome: applied } = outcome.error;
  return { id: outcome.id, ok: false, code, message, outcome: applied };
}

function errorText(error: BrookletError): string {
  return `${error.message} (${error.code})`;
}

/** What came of the operations so far. */
class Tally {
  readonly #startedAt: number = performance.now();
  readonly #failures = new Map<string, number>();
  #applied = 0;
  #ignored = 0;

  get failed(): number {
    let failed = 0;
    for (const count of this.#failures.values()) failed += count;
    return failed;
  }

  get all(): number {
    return this.#applied + this.failed + this.#ignored;
  }

  count(outcome: FeedOutcome): void {
    if (outcome.ok && outcome.ignored) this.#ignored += 1;
    else if (outcome.ok) this.#applied += 1;
    else this.#failures.set(outcome.error.code, (this.#failures.get(outcome.error.code) ?? 0) + 1);
  }

  line(): string {
    const { applied, failed, ignored, seconds } = this.toJSON();
    const perSecond = Math.round(this.all / seconds);
    const passedOver = ignored === 0 ? "" : `${ignored} ignored by the cluster's selection, `;
    return `${applied} applied, ${failed} failed, ${passedOver}${perSecond}/s`;
  }

  kinds(): string {
    return [...this.#failures].map(([code, count]) => `${code} ${count}`).join(", ");
  }

  toJSON(): Readonly<Record<"applied" | "failed" | "ignored" | "seconds", number>> & { readonly failures: object } {
    const seconds = (performance.now() - this.#startedAt) / MS_PER_SECOND;
    const failures = Object.fromEntries(this.#failures);
    return { applied: this.#applied, failed: this.failed, ignored: this.#ignored, failures, seconds };
  }
}
