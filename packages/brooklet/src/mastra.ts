/** `brooklet/mastra`: a group as a vector store of Mastra, whose class the caller gives: nothing of Mastra is imported. */
export * from "@brooklet/adapters/mastra";
