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

const PLACE = "in a Worker";
const EXAMPLE = '{ "bge": "@cf/baai/bge-base-en-v1.5" }';

/**
 * The embedders that a Worker is configured with.
 *
 * @throws Error what is wrong with the configuration.
 */
export function embeddersOf({ AI, EMBEDDERS }: EmbedderVariables): GivenEmbedders {
  if (EMBEDDERS === undefined) return new GivenEmbedders([], PLACE);
  if (!isRecord(EMBEDDERS) || Object.keys(EMBEDDERS).length === 0)
    throw new Error(`the variable EMBEDDERS has to be an object of models by their names, as in ${EXAMPLE}`);
  const embedders = Object.entries(EMBEDDERS).map(([id, config]) => {
    if (AI === undefined)
      throw new Error(`EMBEDDERS has '${id}', and there is no "ai": { "binding": "AI" } in wrangler.jsonc`);
    const { model, prepend, inputs } = checked(id, config);
    return new WorkersAiEmbedder({
      id,
      ai: AI,
      model,
      ...(prepend && { prepend }),
      ...(inputs && { inputs }),
    });
  });
  return new GivenEmbedders(embedders, PLACE);
}

/** A model with how it is asked, of which nothing is left out without a word. */
function checked(id: string, config: EmbedderConfig): Exclude<EmbedderConfig, string> {
  const said = typeof config === "string" ? { model: config } : config;
  const isRight =
    has(said, ["model", "prepend", "inputs"]) && has(said.prepend, ["document", "query"]) && has(said.inputs);
  if (!isRight)
    throw new Error(`'${id}' of EMBEDDERS is neither a model nor { model, prepend: { document, query }, inputs }`);
  return said;
}

/** Whether something is an object with no other members than these, or is not there. */
function has(given: unknown = {}, members?: readonly string[]): boolean {
  return isRecord(given) && Object.keys(given).every((name) => members?.includes(name) ?? true);
}

function isRecord(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
