/** Feeding many documents: a bounded number in flight, one outcome for each, and nothing held that nobody asked for. */
import { BrookletError } from "./error.ts";

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
  | {
      readonly id: string;
      readonly ok: true;
      /** The `selection` of the content cluster does not let it in: nothing was stored. Told of feeds in bulk. */
      readonly ignored?: true;
    }
  | { readonly id: string; readonly ok: false; readonly error: BrookletError };

/** Options of a feed. */
export interface FeedOptions {
  /** Operations in flight; by default 2,048 where the server takes many in one request, and 32 where it does not. */
  readonly concurrency?: number;
  /** The only content cluster that is written, where several have the type; all of them unless it is said. */
  readonly cluster?: string;
  readonly signal?: AbortSignal;
}

/** What came of a feed as a whole. */
export interface FeedSummary {
  /** The number of operations that were applied. */
  readonly applied: number;
  /** The number of those that the `selection` of the content cluster does not let in; a Vespa's are counted as applied. */
  readonly ignored: number;
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
  readonly ignored: number;

  constructor(
    failures: readonly Extract<FeedOutcome, { readonly ok: false }>[],
    counts: { applied: number; failed: number; ignored: number },
  ) {
    const [first] = failures;
    const all = counts.applied + counts.failed + counts.ignored;
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
    this.ignored = counts.ignored;
  }
}

const FAILURES_KEPT = 100;

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
  readonly #start: (sink?: FeedSurroundings["sink"]) => AsyncGenerator<FeedOutcome, void, undefined>;
  #summary: Promise<FeedSummary> | undefined;

  /** @internal Feeds are made by `group.feed`. */
  constructor(start: (sink?: FeedSurroundings["sink"]) => AsyncGenerator<FeedOutcome, void, undefined>) {
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
    const counts = { applied: 0, failed: 0, ignored: 0 };
    const count = (outcome: FeedOutcome): void => {
      counts[outcome.ok ? (outcome.ignored ? "ignored" : "applied") : "failed"] += 1;
      if (!outcome.ok && failures.length < FAILURES_KEPT) failures.push(outcome);
    };
    for await (const outcome of this.#start(count)) count(outcome);
    if (counts.failed > 0) throw new FeedError(failures, counts);
    return { applied: counts.applied, ignored: counts.ignored };
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
  /** Takes the outcomes at once, in place of who iterates. */
  readonly sink?: ((outcome: FeedOutcome) => void) | undefined;
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
  surroundings: FeedSurroundings = {},
): AsyncGenerator<FeedOutcome, void, undefined> {
  const { feedRun, oneByOne } = await import("./group-verbs.ts");
  yield* feedRun(source, oneByOne(apply), options, surroundings);
}
