/** How a feed goes through its operations: so many in flight, those on one id one after the other, outcomes as they come. */
import { BrookletError, invalidArgument } from "../error.ts";
import type { FeedOptions, FeedOutcome, FeedSource, FeedSurroundings } from "../feed.ts";

const CONCURRENCY = 32;
/** Operations that are taken of a source before anybody else has a turn. */
const PULLED_AT_ONCE = 64;

/** Who is told what came of an operation, once. */
export interface Settlement {
  /** `ignored`: the content cluster does not let it in. */
  done(ignored?: boolean): void;
  failed(reason: unknown): void;
}

/** Does an operation, and tells what came of it; what it throws is told for it. */
export type Apply<Operation> = (operation: Operation, settlement: Settlement) => void;

/** Does operations one by one. */
export function oneByOne<Operation>(apply: (operation: Operation) => Promise<void>): Apply<Operation> {
  return (operation, settlement) => {
    apply(operation).then(
      () => settlement.done(),
      (reason: unknown) => settlement.failed(reason),
    );
  };
}

/** Applies operations with a bounded number in flight, as `feed` says. */
export async function* feedRun<Operation extends { readonly id: string }>(
  source: FeedSource<Operation>,
  apply: Apply<Operation>,
  options: FeedOptions,
  { closed, nameOf, sink }: FeedSurroundings = {},
): AsyncGenerator<FeedOutcome, void, undefined> {
  const { concurrency = CONCURRENCY, signal } = options;
  if (!(concurrency >= 1)) throw invalidArgument(`concurrency is ${concurrency}: give 1 or more`);
  const run = new FeedRun(source, apply, nameOf, sink);
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
      // What the source has just thrown is not its end.
      else if (run.isDone) return run.throwIfBroken();
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

/** Takes note of what came of an operation; nothing: what neither the source nor the server meant to happen. */
type Settled<Operation> = (of: Running<Operation>, outcome: FeedOutcome | undefined, reason: unknown) => void;

/** An operation that is under way, or waits for the one before it on the same document. */
class Running<Operation> implements Settlement {
  readonly id: string;
  readonly operation: Operation;
  /** The next operation on the document. */
  next: Running<Operation> | undefined;
  readonly #settled: Settled<Operation>;

  constructor(id: string, operation: Operation, settled: Settled<Operation>) {
    this.id = id;
    this.operation = operation;
    this.#settled = settled;
  }

  done(ignored?: boolean): void {
    this.#settled(this, ignored ? { id: this.id, ok: true, ignored } : { id: this.id, ok: true }, undefined);
  }

  failed(reason: unknown): void {
    const isTold = BrookletError.is(reason);
    this.#settled(this, isTold ? { id: this.id, ok: false, error: reason } : undefined, reason);
  }
}

/** The state of a feed: what runs, what is finished, and whether the source is being asked. */
class FeedRun<Operation extends { readonly id: string }> {
  readonly #iterator: Iterator<Operation> | AsyncIterator<Operation>;
  readonly #isAsync: boolean;
  readonly #apply: Apply<Operation>;
  readonly #nameOf: (id: string) => string;
  readonly #sink: FeedSurroundings["sink"];
  readonly #finished: FeedOutcome[] = [];
  /** The last operation on a document, so that the next one waits for it. */
  readonly #lastOn = new Map<string, Running<Operation>>();
  #running = 0;
  #source: "idle" | "asked" | "ended" = "idle";
  #fault: { readonly reason: unknown } | undefined;
  #rung = false;
  #wake: (() => void) | undefined;

  constructor(
    source: FeedSource<Operation>,
    apply: Apply<Operation>,
    nameOf: (id: string) => string = (id) => id,
    sink?: FeedSurroundings["sink"],
  ) {
    const given = Object(source) as typeof source;
    this.#isAsync = Symbol.asyncIterator in given;
    if (Symbol.asyncIterator in given) this.#iterator = given[Symbol.asyncIterator]();
    else if (Symbol.iterator in given) this.#iterator = given[Symbol.iterator]();
    else throw invalidArgument("a feed takes a list of operations, or what gives them one by one");
    this.#apply = apply;
    this.#nameOf = nameOf;
    this.#sink = sink;
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
    const take = ({ done, value }: IteratorResult<Operation>): void => {
      this.#source = done === true ? "ended" : "idle";
      if (done !== true) this.#start(value);
      this.ring();
    };
    // Of what it gives, too: nobody else would hear of it.
    step.then(take).catch((reason: unknown) => {
      this.#source = "ended";
      this.#break(reason);
    });
  }

  #start(operation: Operation): void {
    const id: unknown = operation?.id;
    const isText = typeof id === "string";
    const running = new Running(isText ? this.#nameOf(id) : String(id), operation, this.#settled);
    this.#running += 1;
    const before = isText ? this.#lastOn.get(running.id) : undefined;
    if (isText) this.#lastOn.set(running.id, running);
    if (!isText) running.failed(invalidArgument(`the id of an operation is ${String(id)}: give a text`));
    else if (before === undefined) this.#begin(running);
    else before.next = running;
  }

  #begin(running: Running<Operation>): void {
    try {
      this.#apply(running.operation, running);
    } catch (reason) {
      running.failed(reason);
    }
  }

  readonly #settled: Settled<Operation> = (running, outcome, reason) => {
    if (this.#lastOn.get(running.id) === running) this.#lastOn.delete(running.id);
    const { next } = running;
    // Not within this one: many on one document may fail at once.
    if (next !== undefined) queueMicrotask(() => this.#begin(next));
    if (outcome === undefined) return this.#break(reason);
    this.#running -= 1;
    if (this.#sink === undefined) this.#finished.push(outcome);
    else this.#sink(outcome);
    this.ring();
  };

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

  /** Tells a source that was not read to its end. One that is being asked has to answer first, which is not waited for. */
  async letGo(): Promise<void> {
    if (this.#source === "idle") await this.#iterator.return?.();
    else if (this.#source === "asked") void this.#letGoLater().catch(() => undefined);
  }

  async #letGoLater(): Promise<void> {
    await this.#iterator.return?.();
  }
}
