/** How a feed goes through its operations: so many in flight, those on one id one after the other, outcomes as they come. */
import { BrookletError, invalidArgument } from "../error.ts";
import type { FeedOptions, FeedOutcome, FeedSource, FeedSurroundings } from "../feed.ts";

const CONCURRENCY = 32;
/** Operations that are taken of a source before anybody else has a turn. */
const PULLED_AT_ONCE = 64;

/** Applies operations with a bounded number in flight, as `feed` says. */
export async function* feedRun<Operation extends { readonly id: string }>(
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
