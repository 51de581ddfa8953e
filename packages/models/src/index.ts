/** Where a model runtime plugs in, and what needs no runtime. The drivers for Node are in `@brooklet/models/node`. */
export {
  type Deadline,
  deadlineIn,
  type Embedder,
  type Embedding,
  type EmbedRequest,
  lackOf,
  type Purpose,
} from "./embedder.ts";
export { firstValues } from "./first-values.ts";
export { askTogether, type EmbeddingApplication, GivenEmbedders, type WantedText } from "./given-embedders.ts";
export { HashEmbedder } from "./hash-embedder.ts";
export { HttpEmbedder, type HttpEmbedderOptions } from "./http-embedder.ts";
export { inTime } from "./in-time.ts";
export { MeasuredEmbedder } from "./measured-embedder.ts";
export {
  kindOf,
  type ModelFigures,
  type ModelKind,
  type ModelState,
  type Standing,
  stateOf,
  stateOfUnopened,
} from "./model-state.ts";
export { Embedders } from "./registry.ts";
