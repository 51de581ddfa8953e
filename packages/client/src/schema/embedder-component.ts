/** Embedders as an application configures them: components of services.xml, by the name that schemas and queries have. */
import { invalidArgument } from "../error.ts";

/** A file of a model: below the server's folder of models, or at an address that the server downloads once. */
export type ModelFile = { readonly path: string } | { readonly url: string };

/** Text put before texts, as models ask for it; blanks count. */
export interface Prepend {
  readonly query?: string;
  readonly document?: string;
}

/** A transformer that the server runs, with the tokenizer of its model. */
export interface HuggingFaceComponent {
  readonly type: "hugging-face";
  /** The ONNX file. */
  readonly transformer: ModelFile;
  /** `tokenizer.json` */
  readonly tokenizer: ModelFile;
  /** 512 by default; the tokenizer's own limit wins. */
  readonly maxTokens?: number;
  /** What is made of the vectors of the tokens: their mean (by default), the first, or nothing if the model does it. */
  readonly pooling?: "mean" | "cls" | "none";
  /** Whether vectors are given length 1. */
  readonly normalize?: boolean;
  readonly prepend?: Prepend;
  /** The name of the model's output; `last_hidden_state` by default. */
  readonly output?: string;
  /** Whether the model takes token types; it does by default. */
  readonly takesTokenTypes?: boolean;
  /** Threads of a run; unless it is said, they adapt to the load. */
  readonly threads?: number;
}

/** An endpoint that speaks OpenAI's `/embeddings`. Texts leave the machine. */
export interface OpenAiComponent {
  readonly type: "openai";
  readonly model: string;
  /** The address of the endpoint itself; OpenAI's by default. */
  readonly endpoint?: string;
  /**
   * The name of the secret that has the key: of `myApiKey` the server reads `VESPA_SECRET_MY_API_KEY`, and sends it to the
   * origin that its operator bound it to (`serve --secret myApiKey=https://api.example.com`).
   */
  readonly apiKeySecret?: string;
  /** Has the endpoint cut its vectors to so many values. */
  readonly dimensions?: number;
  readonly prepend?: Prepend;
}

/** A tokenizer: a text's token ids as a tensor, for cross-encoders. */
export interface TokenizerComponent {
  readonly type: "tokenizer";
  readonly model: ModelFile;
  /** Whether the tokens that begin and end a sequence are among them; they are by default. */
  readonly specialTokens?: boolean;
  readonly maxTokens?: number;
}

/** An embedder of the application. */
export type EmbedderComponent = HuggingFaceComponent | OpenAiComponent | TokenizerComponent;

const NAME = /^[A-Za-z_][\w.-]*$/;

/** The `component` elements of some embedders. */
export function componentsXml(embedders: Readonly<Record<string, EmbedderComponent>>): string {
  return Object.entries(embedders)
    .map(([name, component]) => {
      checkEmbedderName(name);
      const [type, elements] = elementsOf(component);
      return `    <component id="${name}" type="${type}">\n${elements.map((line) => `      ${line}\n`).join("")}    </component>\n`;
    })
    .join("");
}

/** @internal Refuses what cannot be the name of an embedder. */
export function checkEmbedderName(name: string): void {
  if (typeof name !== "string" || !NAME.test(name))
    throw invalidArgument(`${JSON.stringify(name) ?? name} cannot be the name of an embedder`);
}

function elementsOf(component: EmbedderComponent): readonly [type: string, elements: readonly string[]] {
  switch (component.type) {
    case "hugging-face":
      return [
        "hugging-face-embedder",
        [
          file("transformer-model", component.transformer),
          file("tokenizer-model", component.tokenizer),
          ...value("max-tokens", component.maxTokens),
          ...(component.takesTokenTypes === false ? ["<transformer-token-type-ids/>"] : []),
          ...value("transformer-output", component.output),
          ...value("pooling-strategy", component.pooling),
          ...value("normalize", component.normalize),
          ...prepend(component.prepend),
          ...value("onnx-intraop-threads", component.threads),
        ],
      ];
    case "openai":
      return [
        "openai-embedder",
        [
          ...value("model", component.model),
          ...value("endpoint", component.endpoint),
          ...value("api-key-secret-ref", component.apiKeySecret),
          ...value("dimensions", component.dimensions),
          ...prepend(component.prepend),
        ],
      ];
    case "tokenizer":
      return [
        "hugging-face-tokenizer",
        [
          file("model", component.model),
          ...value("special-tokens", component.specialTokens),
          ...value("max-length", component.maxTokens),
        ],
      ];
    default:
      throw invalidArgument(`there is no embedder of type ${JSON.stringify((component as { type?: unknown }).type)}`);
  }
}

function file(element: string, where: ModelFile): string {
  const [[attribute, place] = []] = Object.entries(where);
  if ((attribute !== "path" && attribute !== "url") || typeof place !== "string" || place === "") {
    throw invalidArgument(`${element} needs { path } or { url }`);
  }
  return `<${element} ${attribute}="${escapeXml(place)}"/>`;
}

function value(element: string, content: string | number | boolean | undefined): string[] {
  return content === undefined ? [] : [`<${element}>${escapeXml(String(content))}</${element}>`];
}

function prepend(texts: Prepend | undefined): string[] {
  const inside = [...value("query", texts?.query), ...value("document", texts?.document)];
  return inside.length === 0 ? [] : [`<prepend>${inside.join("")}</prepend>`];
}

function escapeXml(text: string): string {
  return text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;").replace(/"/g, "&quot;");
}
