/** Models of Workers AI, by its binding: as embedders of a database, and as what `ask` asks. */
export type { WorkersAi } from "./workers-ai/binding.ts";
export { WorkersAiEmbedder, type WorkersAiEmbedderOptions } from "./workers-ai/embedder.ts";
export { WorkersAiModel, type WorkersAiModelOptions } from "./workers-ai/language-model.ts";
