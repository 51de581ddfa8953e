/**
 * Calls that nobody waits for any more. A thread in the middle of a search takes no messages, so it is told through
 * memory that it shares, where it looks between two steps.
 */

/** Whether somebody still waits; an `AbortSignal` is one. */
export interface Gone {
  readonly aborted: boolean;
}

/** Calls under way at a time whose cancellation is not forgotten: a later one of the same slot takes its place. */
const SLOTS = 1_024;

/** A slot of no call. */
const NONE = 0;

/** The calls to one thread that were cancelled, by their number. */
export class Cancellation {
  /** What both threads hold. */
  readonly memory: SharedArrayBuffer;
  readonly #slots: Int32Array;

  constructor(memory: SharedArrayBuffer = new SharedArrayBuffer(SLOTS * Int32Array.BYTES_PER_ELEMENT)) {
    this.memory = memory;
    this.#slots = new Int32Array(memory);
  }

  /** Cancels the call `number`. One that is over is not harmed. */
  cancel(number: number): void {
    Atomics.store(this.#slots, number % this.#slots.length, markOf(number));
  }

  /** Forgets the call `number`, which is over: one that has as many bits of its number in common is another. */
  forget(number: number): void {
    Atomics.compareExchange(this.#slots, number % this.#slots.length, markOf(number), NONE);
  }

  /** Whether the call `number` was cancelled. */
  of(number: number): Gone {
    const slots = this.#slots;
    return {
      get aborted(): boolean {
        return Atomics.load(slots, number % slots.length) === markOf(number);
      },
    };
  }
}

/** What stands for a call: the bits of its number that there is room for. Where those are none, what no other call of its slot has. */
function markOf(number: number): number {
  return (number | 0) === NONE ? 1 : number | 0;
}
