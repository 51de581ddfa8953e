/**
 * What was asked of a model: how much is under way, how long it took, and how it failed. Queries and documents apart, never by group,
 * and nothing of what a model was given.
 */
import { Histogram, type HistogramFigures, ServiceError } from "@brooklet/wire";
import type { Purpose } from "./purpose.ts";

/** What was asked for one purpose. Items are texts that are embedded, hits that are scored, or values that are generated. */
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
export type Waits = Readonly<Record<Purpose, number>>;

/** What is called, and by whom. */
export interface CallOutline {
  readonly purpose: Purpose;
  readonly items: number;
  /** Aborted when nobody waits for the answer any longer. */
  readonly signal?: AbortSignal | undefined;
}

class Ledger {
  underWay = 0;
  items = 0;
  readonly seconds: Histogram = new Histogram();
  readonly failures: Map<string, number> = new Map();
}

/** The calls of one model. */
export class Calls {
  readonly #ledgers: Readonly<Record<Purpose, Ledger>> = { query: new Ledger(), document: new Ledger() };

  /** Takes note of a call while it is made. */
  async around<Result>({ purpose, items, signal }: CallOutline, call: () => Promise<Result>): Promise<Result> {
    const ledger = this.#ledgers[purpose];
    const beganMs = performance.now();
    ledger.underWay += items;
    try {
      const result = await call();
      ledger.items += items;
      return result;
    } catch (error) {
      if (signal?.aborted !== true) {
        const code = ServiceError.is(error) ? error.code : "INTERNAL";
        ledger.failures.set(code, (ledger.failures.get(code) ?? 0) + 1);
      }
      throw error;
    } finally {
      ledger.underWay -= items;
      ledger.seconds.add((performance.now() - beganMs) / 1_000);
    }
  }

  /** What was asked until now, of each purpose; what is not with the model of what is under way waits. */
  figures(waits: Waits = { query: 0, document: 0 }): readonly CallFigures[] {
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
