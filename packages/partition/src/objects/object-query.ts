/**
 * A query of a gateway that may be behind. What objects find by one application is nothing that others found by another can be merged with: where a
 * newer one was heard of after the query was opened, it is opened anew.
 */
/// <reference lib="esnext.disposable" preserve="true" />
import { ServiceError } from "@brooklet/core";
import type { Answer, QueryHandle, SearchScope } from "../cluster.ts";
import type { KnownApplication } from "./known-application.ts";

function isSame(one: SearchScope | undefined, other: SearchScope | undefined): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

function deployedAnew(): ServiceError {
  const message = "The application was deployed anew while the query ran; ask again";
  return new ServiceError({ code: "UNAVAILABLE", status: 503, number: 0, message, outcome: "not_applied" });
}

/** A query that is opened by what is deployed. */
export class ObjectQuery implements QueryHandle {
  readonly #known: KnownApplication;
  readonly #open: () => QueryHandle;
  #query: QueryHandle;
  /** The number of the application that it was opened by. */
  #application: number;

  constructor(known: KnownApplication, open: () => QueryHandle) {
    [this.#known, this.#open] = [known, open];
    [this.#query, this.#application] = [open(), known.numberHere];
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
    const looking = this.#known.look();
    if (looking !== undefined) await looking;
    for (;;) {
      if (this.#isOld) this.#openAnew();
      try {
        return await this.#query.search(timeoutMs, gone);
      } catch (error) {
        if (!this.#isOld) throw error;
      }
    }
  }

  get #isOld(): boolean {
    return this.#application !== this.#known.numberHere;
  }

  #openAnew(): void {
    const [before, application] = [this.#query, this.#known.numberHere];
    const after = this.#open();
    // Who asks may reach what the query addressed when it was opened.
    if (!isSame(before.scope, after.scope)) {
      after[Symbol.dispose]();
      throw deployedAnew();
    }
    [this.#query, this.#application] = [after, application];
    before[Symbol.dispose]();
  }

  [Symbol.dispose](): void {
    this.#query[Symbol.dispose]();
  }
}
