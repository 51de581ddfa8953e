/** The drivers that need Node: onnxruntime-node in threads, and model files. */
export {
  addressProblem,
  ModelFiles,
  type ModelFilesOptions,
  type PulledFile,
  type PullProgress,
} from "./model-files.ts";
export { type Component, checkComponent, openComponent, type Surroundings } from "./onnx/component.ts";
export type { ModelJob, TensorInput, TensorOutput } from "./onnx/model-job.ts";
export { OnnxEmbedder, type OnnxEmbedderOptions } from "./onnx/onnx-embedder.ts";
export { OnnxModel, type OnnxModelOptions } from "./onnx/onnx-model.ts";
export { outlineOf, pinnedDigest } from "./onnx/outline.ts";
export type { Recipe, Reduction, SessionThreads } from "./onnx/recipe.ts";
export { lackingPackage, lackingRuntime } from "./onnx/runtime.ts";
export { threadsOfModel } from "./onnx/session-threads.ts";
export { TokenizerEmbedder, type TokenizerEmbedderOptions } from "./onnx/tokenizer-embedder.ts";
