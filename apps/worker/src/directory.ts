/** The object that knows some of the groups there are. */
import { DurableObject } from "cloudflare:workers";
import type { DirectoryCalls } from "@brooklet/partition/objects";
import { type BilledRows, DirectoryStore, durableObject, type NumberedKey } from "@brooklet/store";
import type { Env } from "./env.ts";

/** A directory of groups. */
export class Directory extends DurableObject<Env> implements DirectoryCalls {
  readonly #store: DirectoryStore;
  readonly #billed: BilledRows = { read: 0, written: 0 };

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    this.#store = new DirectoryStore(durableObject(ctx.storage, this.#billed));
  }

  async add(key: string): Promise<number> {
    this.#store.add(key);
    return this.#store.fence(0);
  }

  async fence(number: number): Promise<number> {
    return this.#store.fence(number);
  }

  async remove(key: string): Promise<void> {
    this.#store.remove(key);
  }

  async from(number: number, limit: number): Promise<readonly NumberedKey[]> {
    return this.#store.from(number, limit);
  }

  /** The rows that were read and written since this object began: what the platform bills. */
  async billed(): Promise<BilledRows> {
    return { ...this.#billed };
  }
}
