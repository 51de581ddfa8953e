/** `brooklet/langchain`: a group as retriever and vector store of LangChain. `@langchain/core` is an optional peer. */
export * from "@brooklet/adapters/langchain";
