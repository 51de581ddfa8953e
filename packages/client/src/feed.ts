/** Feeding many documents: a bounded number in flight, one outcome for each, and nothing held that nobody asked for. */
import { BrookletError, invalidArgument } from "./error.ts";

/** A document to put. */
export interface FeedPut<Fields> {
  readonly id: string;
  readonly fields: Fields;
  readonly update?: never;
  readonly remove?: never;
}

/** Changes to a document. */
export interface FeedUpdate<Changes> {
  readonly id: string;
  readonly update: Changes;
  /** Make the document if there is none. */
  readonly create?: boolean;
  readonly fields?: never;
  readonly remove?: never;
}

/** A document to remove. */
export interface FeedRemove {
  readonly id: string;
  readonly remove: true;
  readonly fields?: never;
  readonly update?: never;
}

/** One document to put, one to change, or the id of one to remove. */
export type FeedOperation<Fields, Changes = never> = FeedPut<Fields> | FeedUpdate<Changes> | FeedRemove;

/** Whether an operation changes a document. */
export function isFeedUpdate<Fields, Changes>(
  operation: FeedPut<Fields> | FeedUpdate<Changes>,
): operation is FeedUpdate<Changes> {
  return operation.update !== undefined;
}

/** What came of one operation. */
export type FeedOutcome =
  | { readonly id: string; readonly ok: true }
  | { readonly id: string; readonly ok: false; readonly error: BrookletError };

/** Options of a feed. */
export interface FeedOptions {
  /** Operations in flight; by default 2,048 where the server takes many in one request, and 32 where it does not. */
  readonly concurrency?: number;
  readonly signal?: AbortSignal;
}

/** What came of a feed as a whole. */
export interface FeedSummary {
  /** The number of operations that were applied. */
  readonly applied: number;
}

/**
 * The failures that a feed ended with.
 *
 * @example
 * ```ts
 * try {
 *   await alice.feed(mail, [{ id: "m1", remove: true }]);
 * } catch (error) {
 *   if (error instanceof FeedError) console.log(error.failures);
 * }
 * ```
 */
export class FeedError extends BrookletError {
  /** The first failures, at most `FAILURES_KEPT` of them. */
  declare readonly failures: readonly Extract<FeedOutcome, { readonly ok: false }>[];
  readonly applied: number;
  readonly failed: number;

  constructor(
    failures: readonly Extract<FeedOutcome, { readonly ok: false }>[],
    counts: { applied: number; failed: number },
  ) {
    const [first] = failures;
    const all = counts.applied + counts.failed;
    super(
      "FEED_FAILED",
      `${counts.failed} of ${all} operations failed, the first on '${first?.id}': ${first?.error.message}`,
      // Without a cause: that would be the first failure once more, stack and all, where an error is printed.
      { outcome: "unknown" },
    );
    // Not listed among its members: what prints an error prints those, and here they would be hundreds of lines.
    Object.defineProperty(this, "failures", { value: failures });
    this.applied = counts.applied;
    this.failed = counts.failed;
  }
}

const CONCURRENCY = 32;
const FAILURES_KEPT = 100;
/** Operations that are taken of a source before anybody else has a turn. */
const PULLED_AT_ONCE = 64;

/**
 * A feed. Iterate it for the outcome of every operation, in the order they arrive; or await it, and it is done, or
 * throws a `FeedError`. Nothing is sent before. Iterating slowly slows the feed down.
 *
 * @example
 * ```ts
 * for await (const outcome of alice.feed(mail, [{ id: "m1", remove: true }])) console.log(outcome.id, outcome.ok);
 * ```
 */
export class Feed implements AsyncIterable<FeedOutcome>, PromiseLike<FeedSummary> {
  readonly #start: () => AsyncGenerator<FeedOutcome, void, undefined>;
  #summary: Promise<FeedSummary> | undefined;

  /** @internal Feeds are made by `group.feed`. */
  constructor(start: () => AsyncGenerator<FeedOutcome, void, undefined>) {
    this.#start = start;
  }

  [Symbol.asyncIterator](): AsyncIterator<FeedOutcome> {
    return this.#start();
  }

  // biome-ignore lint/suspicious/noThenProperty: a feed that is awaited has to happen
  then<Result = FeedSummary, Failure = never>(
    onDone?: ((summary: FeedSummary) => Result | PromiseLike<Result>) | null,
    onFailed?: ((reason: unknown) => Failure | PromiseLike<Failure>) | null,
  ): Promise<Result | Failure> {
    this.#summary ??= this.#toTheEnd();
    return this.#summary.then(onDone, onFailed);
  }

  async #toTheEnd(): Promise<FeedSummary> {
    const failures: Extract<FeedOutcome, { readonly ok: false }>[] = [];
    const counts = { applied: 0, failed: 0 };
    for await (const outcome of this) {
      counts[outcome.ok ? "applied" : "failed"] += 1;
      if (!outcome.ok && failures.length < FAILURES_KEPT) failures.push(outcome);
    }
    if (counts.failed > 0) throw new FeedError(failures, counts);
    return { applied: counts.applied };
  }
}

/** Operations as they come. */
export type FeedSource<Operation> = Iterable<Operation> | AsyncIterable<Operation>;

/** What a feed is part of. */
export interface FeedSurroundings {
  /** When it is aborted no more is taken from the source. */
  readonly closed?: AbortSignal | undefined;
  /** The name of the document that an id is of, where it may have several. */
  readonly nameOf?: (id: string) => string;
}

/**
 * Applies operations with a bounded number in flight. Those on one id follow each other in the order they came. What
 * is finished and not taken yet counts as in flight, so a slow taker holds the source back.
 *
 * @example
 * ```ts
 * const operations = [{ id: "a" }, { id: "b" }];
 * for await (const outcome of feed(operations, async ({ id }) => console.log(id), { concurrency: 4 })) console.log(outcome.ok);
 * ```
 */
export async function* feed<Operation extends { readonly id: string }>(
  source: FeedSource<Operation>,
  apply: (operation: Operation) => Promise<void>,
  options: FeedOptions,
  { closed, nameOf }: FeedSurroundings = {},
): AsyncGenerator<FeedOutcome, void, undefined> {
  const { concurrency = CONCURRENCY, signal } = options;
  if (!(concurrency >= 1)) throw invalidArgument(`concurrency is ${concurrency}: give 1 or more`);
  const run = new FeedRun(source, apply, nameOf);
  const wake = (): void => run.ring();
  signal?.addEventListener("abort", wake);
  closed?.addEventListener("abort", wake);
  try {
    for (;;) {
      signal?.throwIfAborted();
      run.throwIfBroken();
      if (closed?.aborted !== true) run.pull(concurrency);
      const outcome = run.take();
      if (outcome !== undefined) yield outcome;
      else if (run.isDone) return;
      // What was sent before has been told of: what came of it is known.
      else if (closed?.aborted === true && run.inFlight === 0) throw closed.reason;
      else await run.nextRing();
    }
  } finally {
    signal?.removeEventListener("abort", wake);
    closed?.removeEventListener("abort", wake);
    await run.letGo();
  }
}

/** The state of a feed: what runs, what is finished, and whether the source is being asked. */
class FeedRun<Operation extends { readonly id: string }> {
  readonly #iterator: Iterator<Operation> | AsyncIterator<Operation>;
  readonly #isAsync: boolean;
  readonly #apply: (operation: Operation) => Promise<void>;
  readonly #nameOf: (id: string) => string;
  readonly #finished: FeedOutcome[] = [];
  /** The last operation on a document, so that the next one waits for it. */
  readonly #lastOn = new Map<string, Promise<void>>();
  #running = 0;
  #source: "idle" | "asked" | "ended" = "idle";
  #fault: { readonly reason: unknown } | undefined;
  #rung = false;
  #wake: (() => void) | undefined;

  constructor(
    source: FeedSource<Operation>,
    apply: (operation: Operation) => Promise<void>,
    nameOf: (id: string) => string = (id) => id,
  ) {
    this.#isAsync = Symbol.asyncIterator in source;
    this.#iterator = Symbol.asyncIterator in source ? source[Symbol.asyncIterator]() : source[Symbol.iterator]();
    this.#apply = apply;
    this.#nameOf = nameOf;
  }

  get inFlight(): number {
    return this.#running + this.#finished.length;
  }

  get isDone(): boolean {
    return this.#source === "ended" && this.inFlight === 0;
  }

  /** Throws what neither the source nor the server meant to happen. */
  throwIfBroken(): void {
    if (this.#fault !== undefined) throw this.#fault.reason;
  }

  take(): FeedOutcome | undefined {
    return this.#finished.shift();
  }

  /** Asks the source for more until so many are in flight, unless it is being asked. One that answers at once is asked for several. */
  pull(concurrency: number): void {
    for (let left = PULLED_AT_ONCE; left > 0 && this.#source === "idle" && this.inFlight < concurrency; left -= 1)
      this.#pullOne();
  }

  #pullOne(): void {
    if (this.#isAsync) this.#ask();
    else this.#takeNow();
  }

  /** Takes one from a source that answers at once. */
  #takeNow(): void {
    try {
      const { done, value } = (this.#iterator as Iterator<Operation>).next();
      if (done === true) this.#source = "ended";
      else this.#start(value);
    } catch (reason) {
      this.#source = "ended";
      this.#break(reason);
    }
    // Whoever takes outcomes goes on, and asks again.
    this.ring();
  }

  #ask(): void {
    this.#source = "asked";
    const step = (async () => this.#iterator.next())();
    step.then(
      ({ done, value }) => {
        this.#source = done === true ? "ended" : "idle";
        if (done !== true) this.#start(value);
        this.ring();
      },
      (reason: unknown) => {
        this.#source = "ended";
        this.#break(reason);
      },
    );
  }

  #start(operation: Operation): void {
    const id = this.#nameOf(operation.id);
    this.#running += 1;
    const before = this.#lastOn.get(id);
    const begin = async (): Promise<void> => this.#apply(operation);
    const passed = (): void => {
      if (this.#lastOn.get(id) === mine) this.#lastOn.delete(id);
    };
    const mine: Promise<void> = (before === undefined ? begin() : before.then(begin)).then(
      () => {
        passed();
        this.#finish({ id, ok: true });
      },
      (reason: unknown) => {
        passed();
        if (BrookletError.is(reason)) this.#finish({ id, ok: false, error: reason });
        else this.#break(reason);
      },
    );
    this.#lastOn.set(id, mine);
  }

  #finish(outcome: FeedOutcome): void {
    this.#running -= 1;
    this.#finished.push(outcome);
    this.ring();
  }

  #break(reason: unknown): void {
    this.#fault ??= { reason };
    this.ring();
  }

  /** Wakes who waits. A ring that nobody waited for is kept. */
  ring(): void {
    this.#rung = true;
    this.#wake?.();
  }

  async nextRing(): Promise<void> {
    if (!this.#rung) await new Promise<void>((resolve) => (this.#wake = resolve));
    this.#wake = undefined;
    this.#rung = false;
  }

  /** Tells a source that was not read to its end. */
  async letGo(): Promise<void> {
    if (this.#source === "idle") await this.#iterator.return?.();
  }
}
