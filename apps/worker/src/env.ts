/** What the Worker is bound to (wrangler.jsonc). */
import type { EmbedderConfig } from "./embedders.ts";
import type { GuardVariables } from "./guard.ts";

/** The namespaces of the objects: of `Group`, `Directory` and `Registry`. What they can be called is said in `port.ts`. And what the operator set. */
export interface Env extends GuardVariables {
  readonly GROUP: DurableObjectNamespace;
  readonly DIRECTORY: DurableObjectNamespace;
  readonly REGISTRY: DurableObjectNamespace;
  /** Workers AI, where models are asked. */
  readonly AI?: Ai;
  /** Models that embed, by the names that schemas have for them. */
  readonly EMBEDDERS?: Readonly<Record<string, EmbedderConfig>>;
  /** Bytes of a group from which on it is spread over several objects; 100663296 if it is not said. */
  readonly SHARD_BYTES?: string;
}

/** How many directories list the groups. Never to be changed where there are groups: each is listed in one of them for good. */
export const DIRECTORIES = 8;
