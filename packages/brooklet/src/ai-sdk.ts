/** `brooklet/ai-sdk`: what the AI SDK (`ai`) and a group have to do with each other. The library is an optional peer. */
export * from "@brooklet/adapters/ai-sdk";
