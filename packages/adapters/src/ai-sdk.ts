/** What the AI SDK (`ai`) and a group have to do with each other: tools, models that people have, streams of answers. */
export { AiSdkEmbedder, type AiSdkEmbedderOptions } from "./ai-sdk/embedder.ts";
export { AiSdkModel, type AiSdkModelOptions } from "./ai-sdk/language-model.ts";
export { type UiMessageStreamOptions, uiMessageStream } from "./ai-sdk/message-stream.ts";
export {
  type RetrieveToolOptions,
  retrieveTool,
  type SearchToolInput,
  type SearchToolOptions,
  searchTool,
  type ToolHit,
  type ToolOptions,
  type ToolPassage,
} from "./ai-sdk/tools.ts";
export { type ForgetToolOptions, forgetTool, type RememberToolOptions, rememberTool } from "./ai-sdk/write-tools.ts";
