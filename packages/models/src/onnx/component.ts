/** Embedders as components of services.xml configure them: Vespa's settings with Vespa's defaults (schema reference, embedders). */
import { basename } from "node:path";
import { ServiceError } from "@brooklet/wire";
import type { Embedder } from "../embedder.ts";
import { HttpEmbedder } from "../http-embedder.ts";
import { withoutFolders } from "./file-name.ts";
import { OnnxEmbedder } from "./onnx-embedder.ts";
import type { Recipe, Reduction, SessionThreads } from "./recipe.ts";
import { shareOfCores } from "./session-threads.ts";
import { expectFitting, signatureOf } from "./signature.ts";
import { TokenizerEmbedder } from "./tokenizer-embedder.ts";

/** A component: its settings by path, as the core checked them. */
export interface Component {
  readonly id: string;
  readonly type: string;
  readonly settings: readonly (readonly [path: string, value: string])[];
}

/** What components refer to and do not hold. */
export interface Surroundings {
  /** The path of a model's file, given its `path` or its `url`. */
  readonly file: (where: { readonly path: string } | { readonly url: string }) => Promise<string>;
  /** The secret of a name, for what is sent to an address. */
  readonly secret: (name: string, address: string) => string | undefined;
  /** Sends what endpoints are asked; the platform's `fetch` unless it is said. */
  readonly fetch?: typeof fetch;
  /** Told what the operator should know while it runs. */
  readonly onNotice?: (notice: string) => void;
}

/** Where OpenAI answers. */
const OPENAI_ENDPOINT = "https://api.openai.com/v1/embeddings";

/**
 * Makes the embedder of a component.
 *
 * @throws ServiceError if a file or a secret cannot be had, or the type is not known.
 */
export async function openComponent(component: Component, surroundings: Surroundings): Promise<Embedder> {
  const settings = new Settings(component, surroundings);
  if (component.type === "openai-embedder") return openAi(settings);
  if (component.type === "hugging-face-tokenizer") return await tokenizer(settings);
  const threads = settings.threads();
  const recipe = await recipeOf(settings);
  const { onNotice } = surroundings;
  return new OnnxEmbedder({
    id: component.id,
    recipe,
    ...(threads === undefined ? {} : { threads }),
    ...(onNotice === undefined ? {} : { onNotice }),
  });
}

/**
 * Holds the model of a component against what the component gives it, without opening it; how many values its vectors have, if that is
 * known before it is asked.
 *
 * @throws ServiceError `BAD_REQUEST` if they do not fit, or the file holds no model.
 */
export async function checkComponent(component: Component, surroundings: Surroundings): Promise<number | undefined> {
  if (component.type === "openai-embedder" || component.type === "hugging-face-tokenizer") return undefined;
  const recipe = await recipeOf(new Settings(component, surroundings));
  try {
    const signature = signatureOf(recipe.model);
    expectFitting(recipe, signature);
    return signature.outputs.find(({ name }) => name === recipe.output)?.sizes?.at(-1);
  } catch (error) {
    const why = withoutFolders(error instanceof Error ? error.message : String(error), recipe.model);
    const message = `The model ${basename(recipe.model)} cannot be used: ${why}`;
    throw new ServiceError("BAD_REQUEST", message, { cause: error });
  }
}

function openAi(settings: Settings): Embedder {
  const secret = settings.text("api-key-secret-ref", "");
  const endpoint = settings.text("endpoint", OPENAI_ENDPOINT);
  const apiKey = secret === "" ? undefined : settings.secret(secret, endpoint);
  const { fetch: send } = settings;
  return new HttpEmbedder({
    id: settings.id,
    endpoint,
    ...(send === undefined ? {} : { fetch: send }),
    model: settings.text("model", ""),
    prepend: { document: settings.text("prepend/document", ""), query: settings.text("prepend/query", "") },
    ...(apiKey === undefined ? {} : { apiKey }),
    ...(settings.has("dimensions") ? { sendDimensions: true } : {}),
    ...(settings.has("batching@max-size") ? { batch: settings.number("batching@max-size", 0) } : {}),
  });
}

async function tokenizer(settings: Settings): Promise<Embedder> {
  const embedder = new TokenizerEmbedder({
    id: settings.id,
    tokenizer: await settings.file("model"),
    specialTokens: settings.text("special-tokens", "true") === "true",
    ...(settings.has("max-length") ? { tokensMax: settings.number("max-length", 0) } : {}),
  });
  // One that cannot be used is not open: that is its state, which operators see.
  await embedder.warm();
  return embedder;
}

async function recipeOf(settings: Settings): Promise<Recipe> {
  const { type } = settings;
  const isBert = type === "bert-embedder";
  const types = settings.text("transformer-token-type-ids", "token_type_ids");
  const usesTypes = types !== "" && type !== "colbert-embedder";
  const output = isBert ? "output_0" : (OUTPUTS[type] ?? "last_hidden_state");
  return {
    model: await settings.file("transformer-model"),
    tokenizer: await settings.file(isBert ? "tokenizer-vocab" : "tokenizer-model"),
    tokensMax: settings.number("max-tokens", isBert ? 384 : 512),
    prepend: { document: settings.text("prepend/document", ""), query: settings.text("prepend/query", "") },
    inputIds: settings.text("transformer-input-ids", "input_ids"),
    attentionMask: settings.text("transformer-attention-mask", "attention_mask"),
    ...(usesTypes ? { tokenTypeIds: types } : {}),
    output: settings.text("transformer-output", output),
    reduction: reductionOf(settings),
    ...(isBert ? { frame: frameOf(settings) } : {}),
  };
}

function frameOf(settings: Settings): { readonly start: number; readonly end: number } {
  return {
    start: settings.number("transformer-start-sequence-token", 101),
    end: settings.number("transformer-end-sequence-token", 102),
  };
}

const OUTPUTS: Readonly<Record<string, string>> = { "colbert-embedder": "contextual", "splade-embedder": "logits" };

function reductionOf(settings: Settings): Reduction {
  switch (settings.type) {
    case "colbert-embedder":
      return {
        kind: "rows",
        queryTokensMax: settings.number("max-query-tokens", 32),
        documentTokensMax: settings.number("max-document-tokens", 512),
        queryTokenId: settings.number("query-token-id", 1),
        documentTokenId: settings.number("document-token-id", 2),
        startTokenId: settings.number("transformer-start-sequence-token", 101),
        endTokenId: settings.number("transformer-end-sequence-token", 102),
        maskTokenId: settings.number("transformer-mask-token", 103),
        attendToExpansion: settings.text("attend-to-expansion-tokens", "true") === "true",
      };
    case "splade-embedder":
      return { kind: "weights", threshold: settings.number("term-score-threshold", 0) };
    case "hugging-face-embedder":
    case "bert-embedder": {
      const strategy = settings.text("pooling-strategy", "mean");
      return {
        kind: "pool",
        strategy: strategy === "cls" || strategy === "none" ? strategy : "mean",
        normalize: settings.text("normalize", "false") === "true",
      };
    }
    default:
      throw new ServiceError("UNSUPPORTED", `An embedder of type '${settings.type}' is not supported`);
  }
}

/** The settings of one component. */
class Settings {
  readonly id: string;
  readonly type: string;
  readonly #values: ReadonlyMap<string, string>;
  readonly #surroundings: Surroundings;

  constructor({ id, type, settings }: Component, surroundings: Surroundings) {
    this.id = id;
    this.type = type;
    this.#values = new Map(settings);
    this.#surroundings = surroundings;
  }

  has(path: string): boolean {
    return this.#values.has(path);
  }

  text(path: string, otherwise: string): string {
    return this.#values.get(path) ?? otherwise;
  }

  number(path: string, otherwise: number): number {
    const value = this.#values.get(path);
    return value === undefined ? otherwise : Number(value);
  }

  get fetch(): typeof fetch | undefined {
    return this.#surroundings.fetch;
  }

  secret(name: string, address: string): string | undefined {
    return this.#surroundings.secret(name, address);
  }

  /** Where a model is: Vespa's precedence of self-hosted applications, `url` before `path`. */
  file(name: string): Promise<string> {
    const url = this.#values.get(`${name}@url`);
    if (url !== undefined) return this.#surroundings.file({ url });
    return this.#surroundings.file({ path: this.#values.get(`${name}@path`) ?? "" });
  }

  /** The threads that were asked for; nothing: the pool adapts. A negative number is that part of the cores. */
  threads(): SessionThreads | undefined {
    const named = ["onnx-intraop-threads", "onnx-interop-threads", "onnx-execution-mode"];
    if (!named.some((name) => this.has(name))) return undefined;
    return {
      intraOp: shareOfCores(this.number("onnx-intraop-threads", -4)),
      interOp: shareOfCores(this.number("onnx-interop-threads", 1)),
      executionMode: this.text("onnx-execution-mode", "sequential") === "parallel" ? "parallel" : "sequential",
    };
  }
}
