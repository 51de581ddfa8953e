/**
 * What was asked of a model: how much is under way, how long it took, and how it failed. Queries and documents apart, never by group,
 * and nothing of what a model was given.
 */
import type { ErrorCode } from "./error-code.ts";
import { Histogram, type HistogramFigures } from "./histogram.ts";
import { ServiceError } from "./service-error.ts";

/** What a model is asked for: a query, or a document that is stored. */
type Purpose = "query" | "document";

/** What was asked for one purpose. Items are texts that are embedded, hits or passages that are scored, values or answers that are generated. */
export interface CallFigures {
  readonly purpose: Purpose;
  /** Items that the model has now. */
  readonly running: number;
  /** Items that wait for it. */
  readonly waiting: number;
  /** Items that were answered. */
  readonly items: number;
  /** How many calls ended, and how long they took with the waiting, failed ones too. */
  readonly seconds: HistogramFigures;
  /** Calls that failed, by error code; whose caller had gone is none of them. */
  readonly failures: Readonly<Record<string, number>>;
}

/** Items that wait, by purpose. */
export type WaitingItems = Readonly<Record<Purpose, number>>;

/** What is called, and by whom. */
export interface CallOutline {
  readonly purpose: Purpose;
  readonly items: number;
  /** Aborted when nobody waits for the answer any longer. */
  readonly signal?: AbortSignal | undefined;
  /** The code of an error of a model that is no `ServiceError`; `INTERNAL` unless it is said. */
  readonly codeOf?: (error: unknown) => ErrorCode;
}

class Ledger {
  underWay = 0;
  items = 0;
  readonly seconds: Histogram = new Histogram();
  readonly failures: Map<string, number> = new Map();

  /** Takes note of a failure, unless nobody waited any longer. */
  fail(error: unknown, { signal, codeOf = () => "INTERNAL" }: CallOutline): void {
    if (signal?.aborted === true) return;
    const code = ServiceError.is(error) ? error.code : codeOf(error);
    this.failures.set(code, (this.failures.get(code) ?? 0) + 1);
  }
}

/** The calls of one model. */
export class Calls {
  readonly #ledgers: Readonly<Record<Purpose, Ledger>> = { query: new Ledger(), document: new Ledger() };

  /** Takes note of a call while it is made. */
  async around<Result>(outline: CallOutline, call: () => Promise<Result>): Promise<Result> {
    const { purpose, items } = outline;
    const ledger = this.#ledgers[purpose];
    const beganMs = performance.now();
    ledger.underWay += items;
    try {
      const result = await call();
      ledger.items += items;
      return result;
    } catch (error) {
      ledger.fail(error, outline);
      throw error;
    } finally {
      ledger.underWay -= items;
      ledger.seconds.add((performance.now() - beganMs) / 1_000);
    }
  }

  /**
   * Takes note of a call whose answer comes in parts, from the moment the first is asked for. It ends with the last of them; who leaves
   * before that has no answer, and no failure.
   */
  async *during<Part>(outline: CallOutline, parts: AsyncIterable<Part>): AsyncGenerator<Part> {
    const { purpose, items } = outline;
    const ledger = this.#ledgers[purpose];
    const beganMs = performance.now();
    ledger.underWay += items;
    try {
      yield* parts;
      ledger.items += items;
    } catch (error) {
      ledger.fail(error, outline);
      throw error;
    } finally {
      ledger.underWay -= items;
      ledger.seconds.add((performance.now() - beganMs) / 1_000);
    }
  }

  /** What was asked until now, of each purpose; what is not with the model of what is under way waits. */
  figures(waits: WaitingItems = { query: 0, document: 0 }): readonly CallFigures[] {
    return (["query", "document"] as const).map((purpose) => {
      const { underWay, items, seconds, failures } = this.#ledgers[purpose];
      const waiting = Math.min(waits[purpose], underWay);
      return {
        purpose,
        running: underWay - waiting,
        waiting,
        items,
        seconds: seconds.figures,
        failures: Object.fromEntries(failures),
      };
    });
  }
}
