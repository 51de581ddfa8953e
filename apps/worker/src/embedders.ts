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
  if (!isRecord(said)) throw new Error(`embedder '${id}' of EMBEDDERS needs its \`model\`, as in ${EXAMPLE}`);
  const { model, prepend = {}, inputs = {} } = said;
  demandMembers(`embedder '${id}' of EMBEDDERS`, said, ["model", "prepend", "inputs"]);
  if (!isRecord(inputs)) throw new Error(`the \`inputs\` of embedder '${id}' of EMBEDDERS are no object`);
  if (!isRecord(prepend) || Object.values(prepend).some((text) => typeof text !== "string"))
    throw new Error(`the \`prepend\` of embedder '${id}' of EMBEDDERS is no object of texts`);
  demandMembers(`the \`prepend\` of embedder '${id}' of EMBEDDERS`, prepend, ["document", "query"]);
  return { model, prepend, inputs };
}

function demandMembers(of: string, given: object, known: readonly string[]): void {
  const other = Object.keys(given).find((name) => !known.includes(name));
  if (other !== undefined) throw new Error(`${of} has '${other}', and may have ${known.join(", ")}`);
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
