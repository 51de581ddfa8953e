/** What a caller is told where a bucket was taken over, or the store took too long: above all, whether anything was done; and how a cluster is closed. */
import { ServiceError } from "@brooklet/core";
import { type GateKind, type LoadOutcome, serviceError } from "@brooklet/partition";
import { StoreError } from "@brooklet/store";
import { type BucketLog, Fenced } from "./bucket-log.ts";
import { type BucketReplica, Outdated } from "./bucket-replica.ts";
import type { ObjectFiles } from "./object-store.ts";
import { type Again, RefusedError } from "./store-records.ts";

/** A log as it was before work was begun. */
export interface Before extends Pick<BucketLog, "epoch" | "won" | "submitted" | "followed"> {
  readonly log: BucketLog;
}

/** The log of a bucket as it is now. */
export function beforeOf({ log }: { readonly log: BucketLog }): Before {
  const { epoch, won, submitted, followed } = log;
  return { log, epoch, won, submitted, followed };
}

/** What is certain of work in which a bucket was taken over, or refused: nothing, if something of this gateway was won since it began. */
export function certain(error: unknown, before: readonly Before[]): Error {
  if (error instanceof RefusedError) return error;
  const isUnknown = error instanceof Fenced && error.outcome === "unknown";
  const isUndone = !isUnknown && before.every(({ log, won }) => log.won === won);
  return new Fenced(isUndone ? "not_applied" : "unknown", lossOf(before));
}

/** Why what was here when work was begun is lost; nothing: another gateway has taken it over, or it is not lost. */
export function lossOf(before: readonly Before[]): unknown {
  return before.find(({ log, epoch }) => log.epoch !== epoch && log.loss !== undefined)?.log.loss;
}

/** What is done here ends by itself in time; the store alone can take longer. */
const GRACE_MS = 50;
const TIMER_MS_MAX = 2 ** 31 - 1;

/** What comes of work that waits for the store, or the error of who came too late. */
async function inTime<Result>(work: Promise<Result>, timeoutMs: number, late: () => Error): Promise<Result> {
  if (timeoutMs === Number.POSITIVE_INFINITY) return await work;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const over = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(late()), Math.min(timeoutMs + GRACE_MS, TIMER_MS_MAX));
  });
  work.catch(() => undefined);
  try {
    return await Promise.race([work, over]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * What comes of work that `pass` has begun once there is what it needs, perhaps several times; in time, all of it together. Work is
 * told how much of the time is left then.
 */
export async function begunInTime<Result>(
  kind: GateKind,
  timeoutMs: number,
  pass: (begin: () => Promise<Result>) => Promise<Result>,
  work: (leftMs: number) => Promise<Result>,
): Promise<Result> {
  const endMs = performance.now() + timeoutMs;
  let [isBegun, isLate] = [false, false];
  const passed = pass(async () => {
    // What its caller was told was not done is not done afterwards.
    if (isLate) throw lateError("not_applied");
    isBegun = true;
    return await work(endMs - performance.now());
  });
  return await inTime(passed, timeoutMs, () => {
    isLate = true;
    return lateError(kind === "write" && isBegun ? "unknown" : "not_applied");
  });
}

/** How long the store is waited for where the caller says no time. */
const STEP_MS = { not_applied: 30_000, unknown: 60_000 };

/** What comes of a step of a deployment or an erasure in time; otherwise its caller is told the outcome. It is not stopped. */
export async function stepInTime<Result>(step: Promise<Result>, outcome: "not_applied" | "unknown"): Promise<Result> {
  return await inTime(step, STEP_MS[outcome], () => lateError(outcome));
}

/** What a caller is told whose time is over. */
function lateError(outcome: "not_applied" | "unknown"): ServiceError {
  const message = "Timed out while the object store was waited for";
  return new ServiceError({ code: "TIMED_OUT", status: 504, number: 12, message, outcome });
}

/** Whether what was read was forgotten meanwhile. */
export function isOutdated(error: unknown): boolean {
  return error instanceof Outdated || (error instanceof ServiceError && error.cause instanceof Outdated);
}

/** What a caller is told of a failure. */
export function meaningOf(error: unknown): unknown {
  if (error instanceof Fenced || error instanceof Outdated) {
    const outcome = error instanceof Fenced ? error.outcome : "not_applied";
    const isLost = error instanceof Fenced && error.cause !== undefined;
    const message = isLost
      ? "What this gateway had of the bucket is lost, and is read anew; try again"
      : "Another gateway has taken the bucket over meanwhile; try again";
    return new ServiceError({ code: "UNAVAILABLE", status: 503, number: 10, message, outcome, cause: error });
  }
  return error;
}

/** What comes of the work of an operator, who is told in words what a failure of the store means. */
export async function toldOf<Result>(work: Promise<Result>): Promise<Result> {
  return await work.catch((error: unknown) => {
    const meaning = meaningOf(error);
    if (!(meaning instanceof StoreError)) throw meaning;
    const { code, status, number, message: said } = serviceError(meaning);
    const message = meaning instanceof RefusedError ? meaning.message : said;
    throw new ServiceError({ code, status, number, message, cause: meaning });
  });
}

/** Whether what comes of an operation, or of one of a load, is that it is wrong, by the application that is served. */
export function isInvalid(result: unknown): boolean {
  if (Array.isArray(result)) return result.some((one: Partial<LoadedOutcome>) => isInvalid(one.outcome));
  return typeof result === "object" && result !== null && (result as { readonly status?: unknown }).status === 400;
}

type LoadedOutcome = Extract<LoadOutcome, { readonly outcome: unknown }>;

/** What comes of a load of which a part is written, and another was wrong by an application that is none any more: that may be right. */
export function withoutInvalid<Result>(result: Result): Result {
  if (!Array.isArray(result)) return result;
  const outcome = {
    status: 503,
    code: "UNAVAILABLE",
    message: "Another gateway has deployed meanwhile; try again",
    outcome: "not_applied",
  };
  return result.map((one: LoadOutcome) => (isInvalid([one]) ? { ...one, outcome } : one)) as Result;
}

/** What a store refuses, until it takes what is written to it. */
export class Refusals {
  readonly #tell: (error: unknown) => void;
  #latest: string | undefined;

  constructor(tell: (error: unknown) => void = () => undefined) {
    this.#tell = tell;
  }

  /** Tells of a failure; of a refusal once: whatever is asked meets it. */
  readonly tell = (error: unknown): void => {
    const isKnown = error instanceof RefusedError && this.#latest === error.message;
    if (error instanceof RefusedError) this.#latest = error.message;
    if (!isKnown) this.#tell(error);
  };

  /** It was read. Whether it may be written to, too, is tried by a file: who is told to stay away sends nothing that would tell. */
  async end(files: ObjectFiles, name: string, again: Again): Promise<void> {
    if (this.#latest === undefined) return;
    try {
      await stepInTime(
        again(() => files.put(name, new Uint8Array())),
        "unknown",
      );
      this.#latest = undefined;
    } catch (error) {
      this.tell(error);
    }
    await files.remove(name).catch(() => undefined);
  }

  /** What is wrong, in sentences. */
  readonly health = async (): Promise<readonly string[]> => (this.#latest === undefined ? [] : [this.#latest]);
}

/** Tells of failures, but not of those that a bucket was taken over, which is nobody's fault. */
export function unlessFenced(tell: (error: unknown) => void): (error: unknown) => void {
  return (error) => {
    if (!(error instanceof Fenced) && !isOutdated(error)) tell(error);
  };
}

/** How long a step of closing takes at most, unless somebody says otherwise. */
const CLOSE_MS = 10_000;

/** Waits for one step; why it was not done, or not in time, is told. */
export async function closeInTime(
  step: Promise<unknown>,
  closeMs: number | undefined = CLOSE_MS,
  onProblem: (problem: unknown) => void = () => undefined,
): Promise<void> {
  const late = (): Error => new StoreError("io", "the object store does not answer: it is not waited for any more");
  await inTime(step, closeMs, late).catch(onProblem);
}

/** Settles when nothing is asked of the store any more for a bucket. */
export async function closeBucket(bucket: { readonly log: BucketLog; readonly replica: BucketReplica }): Promise<void> {
  await bucket.log.close();
  // Whoever owns the bucket looks for what is left.
  await bucket.replica.removed().catch(() => undefined);
}
