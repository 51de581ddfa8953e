/** The Worker with a registry that answers when it is told to: what `gone.test.ts` runs. */
import type { StoredApplication } from "@brooklet/store";
import { Registry as Served } from "../src/registry.ts";

export { Directory } from "../src/directory.ts";
export { Group } from "../src/group.ts";
export { default } from "../src/worker.ts";

/** A registry that can be held. */
export class Registry extends Served {
  #released: Promise<void> | undefined;
  #release: () => void = () => undefined;
  #waiting = 0;

  async hold(): Promise<void> {
    this.#waiting = 0;
    this.#released = new Promise((resolve) => {
      this.#release = resolve;
    });
  }

  /** Whether somebody waits. */
  async held(): Promise<boolean> {
    return this.#waiting > 0;
  }

  async release(): Promise<void> {
    this.#release();
  }

  override async secret(): Promise<Uint8Array> {
    await this.#wait();
    return super.secret();
  }

  override async store(after: number, application: StoredApplication, lease?: string): Promise<boolean> {
    await this.#wait();
    return super.store(after, application, lease);
  }

  async #wait(): Promise<void> {
    this.#waiting += 1;
    await this.#released;
  }
}
