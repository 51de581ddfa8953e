/** A model in its session: texts in batches through the runtime. It lives in a thread of its own, since a run blocks. */
import { ServiceError } from "@brooklet/wire";
import { type InferenceSession, Tensor } from "onnxruntime-node";
import type { Embedding } from "../embedder.ts";
import { floatsOf } from "./floats.ts";
import type { Recipe, Reduction, SessionThreads, TextJob } from "./recipe.ts";
import { type Output, pool, rows, weights } from "./reduction.ts";
import { openSession } from "./session.ts";
import { expectFitting, sessionValue } from "./signature.ts";
import { Tokens } from "./tokens.ts";

/** The ids of one text, and how many of them the model attends to. */
interface Prepared {
  readonly ids: readonly number[];
  readonly attended: number;
}

/** The transformer. */
export class Transformer {
  readonly #recipe: Recipe;
  readonly #tokens: Tokens;
  readonly #session: InferenceSession;
  /** Tokens that were read until now, without those that only fill a batch up. */
  tokens = 0;

  private constructor(recipe: Recipe, tokens: Tokens, session: InferenceSession) {
    this.#recipe = recipe;
    this.#tokens = tokens;
    this.#session = session;
  }

  /** Reads the files, and checks that the recipe gives the inputs of the model, and that it has the output. */
  static async open(recipe: Recipe, threads: SessionThreads): Promise<Transformer> {
    const session = await openSession(recipe.model, threads);
    try {
      expectFitting(recipe, {
        inputs: session.inputMetadata.map(sessionValue),
        outputs: session.outputMetadata.map(sessionValue),
      });
      return new Transformer(recipe, new Tokens(recipe.tokenizer, recipe.tokensMax), session);
    } catch (error) {
      await session.release();
      throw error;
    }
  }

  /** An embedding for each job, in order. */
  async embed(jobs: readonly TextJob[]): Promise<readonly Embedding[]> {
    const prepared = jobs.map((job) => this.#prepare(job));
    this.tokens += prepared.reduce((sum, { attended }) => sum + attended, 0);
    if (this.#takesOne) {
      const embeddings: Embedding[] = [];
      for (const [index, job] of jobs.entries())
        embeddings.push(...(await this.#embed([job], prepared.slice(index, index + 1))));
      return embeddings;
    }
    return await this.#embed(jobs, prepared);
  }

  /** How many values a vector of the model has, if it says it. */
  get width(): number | undefined {
    const { output, reduction } = this.#recipe;
    if (reduction.kind === "weights") return undefined;
    const told = this.#session.outputMetadata.find(({ name }) => name === output);
    const size = told?.isTensor === true ? told.shape.at(-1) : undefined;
    return typeof size === "number" && size > 0 ? size : undefined;
  }

  async close(): Promise<void> {
    await this.#session.release();
  }

  /** Whether the model was exported for one text at a time, as which Vespa asks all. */
  get #takesOne(): boolean {
    return this.#session.inputMetadata.some((input) => input.isTensor && input.shape[0] === 1);
  }

  async #embed(jobs: readonly TextJob[], prepared: readonly Prepared[]): Promise<readonly Embedding[]> {
    const output = await this.#run(prepared);
    return jobs.map((job, index) => this.#reduce(output, index, prepared[index]?.ids.length ?? 0, job));
  }

  #prepare(job: TextJob): Prepared {
    const text = this.#recipe.prepend[job.purpose] + job.text;
    const { reduction, frame } = this.#recipe;
    if (frame !== undefined) return frameTokens(this.#tokens, text, frame);
    if (reduction.kind === "rows") return expand(this.#tokens, text, job, reduction);
    const ids = this.#tokens.withSpecial(text);
    return { ids, attended: ids.length };
  }

  async #run(prepared: readonly Prepared[]): Promise<Output> {
    const { inputIds, attentionMask, tokenTypeIds, output } = this.#recipe;
    const length = Math.max(1, ...prepared.map(({ ids }) => ids.length));
    const shape = [prepared.length, length];
    const ids = new Int32Array(prepared.length * length);
    const mask = new Int32Array(ids.length);
    prepared.forEach((text, row) => {
      text.ids.forEach((id, column) => {
        ids[row * length + column] = id;
        if (column < text.attended) mask[row * length + column] = 1;
      });
    });
    const feeds = {
      [inputIds]: this.#input(inputIds, ids, shape),
      [attentionMask]: this.#input(attentionMask, mask, shape),
    };
    if (tokenTypeIds) feeds[tokenTypeIds] = this.#input(tokenTypeIds, new Int32Array(ids.length), shape);
    const result = (await this.#session.run(feeds, [output]))[output];
    const values = result && floatsOf(result);
    if (result === undefined || values === undefined)
      throw new ServiceError(
        "BAD_REQUEST",
        `The model's output '${output}' consists of no numbers that vectors are made of`,
      );
    return { values, shape: result.dims };
  }

  /** Whole numbers as the model takes them. */
  #input(name: string, values: Int32Array, shape: readonly number[]): Tensor {
    const told = this.#session.inputMetadata.find((input) => input.name === name);
    if (told?.isTensor === true && told.type === "int32") return new Tensor("int32", values, shape);
    return new Tensor("int64", BigInt64Array.from(values, BigInt), shape);
  }

  #reduce(output: Output, index: number, tokens: number, job: TextJob): Embedding {
    const { reduction } = this.#recipe;
    switch (reduction.kind) {
      case "pool":
        return pool(output, index, tokens, job.dimensions, reduction);
      case "rows":
        return rows(output, index, tokens, job.dimensions);
      case "weights":
        return weights(output, index, tokens, reduction.threshold, (entry) => this.#tokens.decode(entry));
    }
  }
}

/** BERT's ids: a start, the tokens, an end; one that is too long is cut before its end. */
function frameTokens(tokens: Tokens, text: string, { start, end }: { start: number; end: number }): Prepared {
  const own = tokens.plain(text, Math.max(0, tokens.max - 2));
  const ids = [start, ...own, end];
  return { ids, attended: ids.length };
}

/** ColBERT's ids: a start, the kind of text, its tokens, an end; and, for a query, masks up to its full length. */
function expand(tokens: Tokens, text: string, job: TextJob, reduction: Extract<Reduction, { kind: "rows" }>): Prepared {
  const isQuery = job.purpose === "query";
  const most = Math.min(tokens.max, isQuery ? reduction.queryTokensMax : reduction.documentTokensMax);
  const plain = tokens.plain(text);
  const own = (isQuery ? plain : plain.filter((id) => !tokens.punctuation().has(id))).slice(0, Math.max(0, most - 3));
  const kind = isQuery ? reduction.queryTokenId : reduction.documentTokenId;
  const ids = [reduction.startTokenId, kind, ...own, reduction.endTokenId];
  const attended = ids.length;
  if (isQuery && reduction.attendToExpansion) {
    while (ids.length < most) ids.push(reduction.maskTokenId);
  }
  return { ids, attended };
}
