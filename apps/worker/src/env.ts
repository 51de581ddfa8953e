/** What the Worker is bound to (wrangler.jsonc). */
/** The objects, and settings. */
export interface Env {
  readonly GROUP: DurableObjectNamespace;
  readonly DIRECTORY: DurableObjectNamespace;
  readonly REGISTRY: DurableObjectNamespace;
}

/** How many directories list the groups. Never to be changed where there are groups: each is listed in one of them for good. */
export const DIRECTORIES = 8;
