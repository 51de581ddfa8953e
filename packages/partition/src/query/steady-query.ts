/**
 * A query that outlives a deployment. What is found by one application is nothing that what was found by another can be merged with: where another one
 * came after the query was opened, it is opened anew.
 */
/// <reference lib="esnext.disposable" preserve="true" />
import { ServiceError } from "@brooklet/core";
import type { Answer, QueryHandle, SearchScope } from "../cluster.ts";

/** What is deployed where queries are opened. */
export interface Deployed {
  /** Another number with each application, and as long as some threads have another than others. */
  readonly number: () => number;
  /** Looks for what nobody told of, before a query is searched. Nothing: it was looked for lately. */
  readonly look?: () => Promise<void> | undefined;
  /** Settles when all threads have the same. */
  readonly settled?: () => Promise<unknown>;
}

function isSame(one: SearchScope | undefined, other: SearchScope | undefined): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

function deployedAnew(): ServiceError {
  const message = "The application was deployed anew while the query ran; ask again";
  return new ServiceError({ code: "UNAVAILABLE", status: 503, number: 0, message, outcome: "not_applied" });
}

/** A query that is opened by what is deployed. */
export class SteadyQuery implements QueryHandle {
  readonly #deployed: Deployed;
  readonly #open: () => QueryHandle;
  #query: QueryHandle;
  /** The number of what it was opened by. */
  #number: number;

  constructor(deployed: Deployed, open: () => QueryHandle) {
    [this.#deployed, this.#open] = [deployed, open];
    [this.#query, this.#number] = [open(), deployed.number()];
  }

  get scope(): SearchScope | undefined {
    return this.#query.scope;
  }

  get stageMs(): Readonly<Record<string, number>> {
    return this.#query.stageMs ?? {};
  }

  parameter(name: string): string | undefined {
    return this.#query.parameter(name);
  }

  async search(timeoutMs: number, gone?: AbortSignal): Promise<Answer> {
    const looking = this.#deployed.look?.();
    if (looking !== undefined) await looking;
    for (;;) {
      if (this.#isOld) this.#openAnew();
      try {
        return await this.#query.search(timeoutMs, gone);
      } catch (error) {
        await this.#deployed.settled?.();
        if (!this.#isOld) throw error;
      }
    }
  }

  get #isOld(): boolean {
    return this.#number !== this.#deployed.number();
  }

  #openAnew(): void {
    const [before, number] = [this.#query, this.#deployed.number()];
    const after = this.#open();
    // Who asks may reach what the query addressed when it was opened.
    if (!isSame(before.scope, after.scope)) {
      after[Symbol.dispose]();
      throw deployedAnew();
    }
    [this.#query, this.#number] = [after, number];
    before[Symbol.dispose]();
  }

  [Symbol.dispose](): void {
    this.#query[Symbol.dispose]();
  }
}
