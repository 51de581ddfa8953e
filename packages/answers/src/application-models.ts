/**
 * The models that services.xml names: how they are configured, and where they may be. Apart from what asks them, which is loaded
 * when one is asked.
 */
export { type ConfiguredModel, configuredModel, secretNameOf, structuredOutput } from "./configured-model.ts";
export { type ModelComponents, type OriginOptions, Origins } from "./origins.ts";
