/** The embedders of an application, by component id. */
import { ServiceError } from "@brooklet/wire";
import type { Embedder } from "./embedder.ts";

/** The embedders. */
export class Embedders {
  readonly #byId: ReadonlyMap<string, Embedder>;

  /** @throws Error if two have one id. */
  constructor(embedders: Iterable<Embedder>) {
    const byId = new Map<string, Embedder>();
    for (const embedder of embedders) {
      if (byId.has(embedder.id)) throw new Error(`two embedders have the id '${embedder.id}'`);
      byId.set(embedder.id, embedder);
    }
    this.#byId = byId;
  }

  /** Their ids. */
  get ids(): readonly string[] {
    return [...this.#byId.keys()];
  }

  /**
   * The embedder of an id; without an id the only one there is.
   *
   * @throws ServiceError `BAD_REQUEST` with the ids that there are.
   */
  get(id?: string): Embedder {
    const all = [...this.#byId.values()];
    const [only] = all;
    if (id === undefined && only !== undefined && all.length === 1) return only;
    const found = id === undefined ? undefined : this.#byId.get(id);
    if (found !== undefined) return found;
    if (only === undefined) throw new ServiceError("BAD_REQUEST", "No embedder is configured");
    const known = all.map((embedder) => `'${embedder.id}'`).join(", ");
    const text = id === undefined ? "Several embedders are configured, so one must be named" : `No embedder '${id}'`;
    throw new ServiceError("BAD_REQUEST", `${text}: there are ${known}`);
  }

  /** Closes all. */
  async close(): Promise<void> {
    await Promise.all([...this.#byId.values()].map((embedder) => embedder.close()));
  }
}
