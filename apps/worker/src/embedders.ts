/** The embedders of the Worker: models of Workers AI, by the names that its variable `EMBEDDERS` gives them. */
import { type WorkersAi, WorkersAiEmbedder } from "@brooklet/adapters/workers-ai";
import { GivenEmbedders } from "@brooklet/models";

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

/** What of the Worker's bindings tells of them. */
export interface EmbedderVariables {
  readonly AI?: WorkersAi;
  readonly EMBEDDERS?: Readonly<Record<string, EmbedderConfig>>;
}

const EXAMPLE = '{ "bge": "@cf/baai/bge-base-en-v1.5" }';

/**
 * The embedders that a Worker is configured with.
 *
 * @throws Error what is wrong with the configuration.
 */
export function embeddersOf({ AI, EMBEDDERS = {} }: EmbedderVariables): GivenEmbedders {
  if (typeof EMBEDDERS !== "object" || EMBEDDERS === null || Array.isArray(EMBEDDERS))
    throw new Error(`the variable EMBEDDERS has to be an object of models by their names, as in ${EXAMPLE}`);
  const embedders = Object.entries(EMBEDDERS).map(([id, config]) => {
    if (AI === undefined)
      throw new Error(`EMBEDDERS has '${id}', and there is no "ai": { "binding": "AI" } in wrangler.jsonc`);
    const { model, prepend, inputs } = typeof config === "string" ? { model: config } : Object(config);
    return new WorkersAiEmbedder({
      id,
      ai: AI,
      model,
      ...(prepend === undefined ? {} : { prepend }),
      ...(inputs === undefined ? {} : { inputs }),
    });
  });
  return new GivenEmbedders(embedders, "in a Worker");
}
