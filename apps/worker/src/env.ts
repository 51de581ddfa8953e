/** What the Worker is bound to (wrangler.jsonc). */
import type { Directory } from "./directory.ts";
import type { Group } from "./group.ts";
import type { Registry } from "./registry.ts";

/** The objects, and settings. */
export interface Env {
  readonly GROUP: DurableObjectNamespace<Group>;
  readonly DIRECTORY: DurableObjectNamespace<Directory>;
  readonly REGISTRY: DurableObjectNamespace<Registry>;
}

/** How many directories list the groups. Never to be changed where there are groups: each is listed in one of them for good. */
export const DIRECTORIES = 8;
