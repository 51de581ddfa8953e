/** Language models as components of services.xml configure them (`llm-client`). */
import type { ChatEndpoint } from "./chat.ts";

/** The part of an endpoint that a configuration says. */
export type ConfiguredModel = Required<Pick<ChatEndpoint, "url" | "model" | "parameters">>;

const ENDPOINT_DEFAULT = "https://api.openai.com/v1/";
const MODEL_DEFAULT = "gpt-4o-mini";

/** Settings that are members of the endpoint's request; -1 stands for nothing. */
const NUMBERS = [
  ["temperature", "temperature"],
  ["maxTokens", "max_completion_tokens"],
] as const;

/** The endpoint of a component's settings. */
export function configuredModel(settings: ReadonlyMap<string, string>): ConfiguredModel {
  const parameters: Record<string, unknown> = {};
  for (const [setting, member] of NUMBERS) {
    const value = Number(settings.get(setting) ?? -1);
    if (value !== -1) parameters[member] = value;
  }
  const effort = settings.get("reasoningEffort");
  if (effort !== undefined && effort !== "") parameters["reasoning_effort"] = effort;
  return {
    url: settings.get("endpoint") || ENDPOINT_DEFAULT,
    model: settings.get("model") || MODEL_DEFAULT,
    parameters,
  };
}

/** The name of the secret that is the key of a component's endpoint, if it has one. */
export function secretNameOf(settings: ReadonlyMap<string, string>): string | undefined {
  return settings.get("apiKeySecretRef") || settings.get("apiKeySecretName") || undefined;
}

/** The member of a request that asks for an answer of this JSON schema. */
export function structuredOutput(schema: unknown): unknown {
  return { type: "json_schema", json_schema: { name: "structured-output", schema } };
}
