/** `brooklet/llamaindex`: a group as a vector store of LlamaIndex.TS. `@llamaindex/core` is an optional peer. */
export * from "@brooklet/adapters/llamaindex";
