/** An embedder of which is known what it was asked, whatever it is made of: every embedder that schemas and queries name is one. */
import { Calls } from "@brooklet/wire";
import type { Embedder, Embedding, EmbedRequest } from "./embedder.ts";
import { type ModelState, stateOf } from "./model-state.ts";

/** The embedder. */
export class MeasuredEmbedder implements Embedder {
  readonly #embedder: Embedder;
  /** The type of its component; nothing: it was given. */
  readonly #type: string | undefined;
  readonly #calls: Calls = new Calls();
  /** How many values its last vector had. */
  #seen: number | undefined;

  constructor(embedder: Embedder, type?: string) {
    [this.#embedder, this.#type] = [embedder, type];
  }

  get id(): string {
    return this.#embedder.id;
  }

  get shape(): Embedding["shape"] {
    return this.#embedder.shape;
  }

  async embed(request: EmbedRequest): Promise<readonly Embedding[]> {
    const { texts, purpose, deadline } = request;
    const call = { purpose, items: texts.length, signal: deadline.signal };
    const embeddings = await this.#calls.around(call, () => this.#embedder.embed(request));
    const [first] = embeddings;
    if (first?.shape === "vector") this.#seen = first.values.length;
    else if (first?.shape === "rows") this.#seen = first.width;
    return embeddings;
  }

  async warm(): Promise<void> {
    await this.#embedder.warm?.();
  }

  /** What is known of it now. */
  state(): ModelState {
    const { id, isRemote, dimensionsMax = this.#seen } = this.#embedder;
    const kind = isRemote === true ? "endpoint" : "embedder";
    const figures = {
      ...(dimensionsMax !== undefined && { dimensions: dimensionsMax }),
      ...this.#embedder.figures?.(),
    };
    return stateOf({ id, kind, ...(this.#type !== undefined && { type: this.#type }) }, figures, this.#calls);
  }

  close(): Promise<void> {
    return this.#embedder.close();
  }
}
