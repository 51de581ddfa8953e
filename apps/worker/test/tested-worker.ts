/** The Worker with objects that can be put out of memory, and one that holds the contract of stores: what `platform.test.ts` runs. */
import { DurableObject } from "cloudflare:workers";
import { durableObject } from "@brooklet/store";
import { testStore } from "@brooklet/store/contract";
import { Group as Served } from "../src/group.ts";

export { Directory } from "../src/directory.ts";
export { Registry } from "../src/registry.ts";
export { default } from "../src/worker.ts";

/** A group that ends when it is told to: the platform ends those that rest, and those that it moves. */
export class Group extends Served {
  async end(): Promise<void> {
    this.ctx.abort("put out of memory by a test");
  }
}

/** An object for each case of the contract of stores, over the platform's SQLite. */
export class Contract extends DurableObject {
  cases(): string[] {
    return this.#cases().map(({ name }) => name);
  }

  hold(name: string): void {
    for (const one of this.#cases()) if (one.name === name) one.run();
  }

  #cases(): ReturnType<typeof testStore> {
    return testStore(() => durableObject(this.ctx.storage));
  }
}
