/** What the Worker is bound to (wrangler.jsonc). */
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
}

/** A model of Workers AI, or one with how it is asked. */
export type EmbedderConfig =
  | string
  | {
      readonly model: string;
      /** Text put before a text that is stored, and before one that is searched with. */
      readonly prepend?: { readonly document?: string; readonly query?: string };
      /** Further members of the inputs, as in `{ "pooling": "cls" }`. */
      readonly inputs?: Readonly<Record<string, unknown>>;
    };

/** How many directories list the groups. Never to be changed where there are groups: each is listed in one of them for good. */
export const DIRECTORIES = 8;
