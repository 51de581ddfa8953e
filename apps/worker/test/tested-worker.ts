/** The Worker with objects that can be put out of memory, and one that holds the contract of stores: what `platform.test.ts` runs. */
import { DurableObject } from "cloudflare:workers";
import { durableObject } from "@brooklet/store";
import { testStore } from "@brooklet/store/contract";
import { Directory as ServedDirectory } from "../src/directory.ts";
import { Group as Served } from "../src/group.ts";
import { Registry as ServedRegistry } from "../src/registry.ts";

export { default } from "../src/worker.ts";

const MOVED = "put out of memory by a test";

/** How many alarms of groups still fail in this isolate. */
let failing = 0;

/** A group that ends when it is told to: the platform ends those that rest, and those that it moves. */
export class Group extends Served {
  async end(): Promise<void> {
    this.ctx.abort(MOVED);
  }

  /** Has the next alarms fail, of whichever group. */
  async failAlarms(times: number): Promise<void> {
    failing = times;
  }

  override async alarm(rung?: AlarmInvocationInfo): Promise<void> {
    if (failing > 0) {
      failing -= 1;
      throw new Error("an alarm that a test has fail");
    }
    await super.alarm(rung);
  }
}

/** A list of groups that ends when it is told to. */
export class Directory extends ServedDirectory {
  async end(): Promise<void> {
    this.ctx.abort(MOVED);
  }
}

/** What is deployed, likewise. */
export class Registry extends ServedRegistry {
  async end(): Promise<void> {
    this.ctx.abort(MOVED);
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
