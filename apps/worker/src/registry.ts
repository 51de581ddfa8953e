/** The object that has what all groups share: the application packages, those that wait to be activated, and the secret. */
import { DurableObject } from "cloudflare:workers";
import type { RegistryCalls } from "@brooklet/partition/objects";
import {
  type DeploymentState,
  durableObject,
  RegistryStore,
  type StoredApplication,
  type StoredSession,
} from "@brooklet/store";
import type { Env } from "./env.ts";

/** What is deployed. */
export class Registry extends DurableObject<Env> implements RegistryCalls {
  readonly #store: RegistryStore;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    this.#store = new RegistryStore(durableObject(ctx.storage));
  }

  async secret(): Promise<Uint8Array> {
    return this.#store.secret();
  }

  async application(): Promise<StoredApplication | undefined> {
    return this.#store.application();
  }

  async store(after: number, application: StoredApplication, lease?: string): Promise<boolean> {
    return this.#store.store(after, application, lease);
  }

  async lease(after: number, held?: string): Promise<string | undefined> {
    return this.#store.lease(after, held);
  }

  async release(lease: string): Promise<void> {
    this.#store.release(lease);
  }

  async state(): Promise<DeploymentState> {
    return this.#store.state();
  }

  async addSession(bytes: Uint8Array, kept: number, base: number): Promise<number> {
    return this.#store.addSession(bytes, kept, base);
  }

  async prepareSession(session: number): Promise<void> {
    this.#store.prepareSession(session);
  }

  async session(session: number): Promise<StoredSession | undefined> {
    return this.#store.session(session);
  }
}
