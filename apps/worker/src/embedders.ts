/** The embedders of the Worker: models of Workers AI, by the names that its variable `EMBEDDERS` gives them. */
import { WorkersAiEmbedder } from "@brooklet/adapters/workers-ai";
import { GivenEmbedders } from "@brooklet/models";
import type { Env } from "./env.ts";

const EXAMPLE = '{ "bge": "@cf/baai/bge-base-en-v1.5" }';

/**
 * The embedders that a Worker is configured with.
 *
 * @throws Error what is wrong with the configuration.
 */
export function embeddersOf({ AI, EMBEDDERS = {} }: Pick<Env, "AI" | "EMBEDDERS">): GivenEmbedders {
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
