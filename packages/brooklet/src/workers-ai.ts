/** `brooklet/workers-ai`: models of Workers AI, by its binding. */
export * from "@brooklet/adapters/workers-ai";
