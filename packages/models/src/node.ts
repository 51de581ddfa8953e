/** The drivers that need Node: onnxruntime-node in threads, and model files. */
export { ModelFiles, type ModelFilesOptions, type PullProgress } from "./model-files.ts";
export { type Component, openComponent, type Surroundings } from "./onnx/component.ts";
export { OnnxEmbedder, type OnnxEmbedderOptions } from "./onnx/onnx-embedder.ts";
export type { Recipe, Reduction, SessionThreads } from "./onnx/recipe.ts";
