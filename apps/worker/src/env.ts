/** What the Worker is bound to (wrangler.jsonc). */

/** The namespaces of the objects: of `Group`, `Directory` and `Registry`. What they can be called is said in `port.ts`. */
export interface Env {
  readonly GROUP: DurableObjectNamespace;
  readonly DIRECTORY: DurableObjectNamespace;
  readonly REGISTRY: DurableObjectNamespace;
}

/** How many directories list the groups. Never to be changed where there are groups: each is listed in one of them for good. */
export const DIRECTORIES = 8;
