/**
 * An embedder of which is known what it was asked, whatever it is made of: every embedder that schemas and queries name is one. What it
 * gives is looked at here, before any of it is stored.
 */
import { Calls, ServiceError } from "@brooklet/wire";
import { type Embedder, type Embedding, type EmbedRequest, lackOf } from "./embedder.ts";
import { inTime } from "./in-time.ts";
import { type ModelState, stateOf } from "./model-state.ts";

/** The embedder. */
export class MeasuredEmbedder implements Embedder {
  readonly #embedder: Embedder;
  /** The type of its component; nothing: it was given. */
  readonly #type: string | undefined;
  readonly #calls: Calls = new Calls();
  /** How many values its last vector had. */
  #seen: number | undefined;

  /** @throws TypeError what it lacks to be one, before anything is embedded. */
  constructor(embedder: Embedder, type?: string) {
    const lack = lackOf(embedder);
    if (lack !== undefined) throw new TypeError(`embedder '${embedder?.id}' has no right \`${lack}\``);
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
    const embeddings = await this.#calls.around(call, async () => {
      const given = await this.#ask(request);
      const problem = problemOf(given, texts.length);
      if (problem !== undefined) throw new ServiceError("INTERNAL", `Embedder '${this.id}' gives ${problem}`);
      return given as readonly Embedding[];
    });
    const [first] = embeddings;
    if (first?.shape === "vector") this.#seen = first.values.length;
    else if (first?.shape === "rows") this.#seen = first.width;
    return embeddings;
  }

  /** Asks it; a refusal has its name, since an application may have several. */
  async #ask(request: EmbedRequest): Promise<unknown> {
    try {
      const late = (): ServiceError => new ServiceError("TIMED_OUT", `Embedder '${this.id}' did not answer in time`);
      // It may heed no deadline, or wait for a model that is downloaded.
      return await inTime(() => this.#embedder.embed(request), request.deadline, late);
    } catch (error) {
      const name = `'${this.id}'`;
      if (!ServiceError.is(error) || error.code !== "BAD_REQUEST" || error.message.includes(name)) throw error;
      throw new ServiceError("BAD_REQUEST", `Embedder ${name}: ${error.message}`, { cause: error });
    }
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

/** What is wrong with the answer of an embedder, which may be anybody's. */
function problemOf(given: unknown, count: number): string | undefined {
  if (!Array.isArray(given)) return "no list of embeddings";
  if (given.length !== count) return `${given.length} embeddings for ${count} texts`;
  for (const embedding of given as readonly unknown[]) {
    const { shape, values, labels } = Object(embedding) as Readonly<Record<string, unknown>>;
    const isKnown = shape === "vector" || shape === "rows" || shape === "weights";
    if (!isKnown || !(Array.isArray(values) || ArrayBuffer.isView(values)))
      return "something that is no embedding: { shape, values }";
    const numbers = values as Float32Array;
    if (shape === "weights" && (labels as readonly string[] | undefined)?.length !== numbers.length)
      return "not a weight for each label";
    for (let at = 0; at < numbers.length; at += 1)
      if (typeof numbers[at] !== "number" || !Number.isFinite(Math.fround(numbers[at] as number)))
        return "a value that is no finite 32-bit number";
  }
  return undefined;
}
