/**
 * Search chains of services.xml, and the parameters of those with a language model. The core knows none of them: it is asked
 * for the plain search, and the chain is this file's business.
 */
import type { ChatEndpoint } from "@brooklet/answers";
import { configuredModel, secretNameOf, structuredOutput } from "@brooklet/answers/application-models";
import type { LanguageModelConfig, QueryHandle, SearchChainConfig, SearchRequest } from "@brooklet/partition";
import { type Calls, type ErrorCode, ServiceError } from "@brooklet/wire";
import type { Call } from "./call.ts";
import { demandApplication, type GatewayContext } from "./context.ts";
import { echo } from "./echo.ts";
import { isTimeSpan, timeSpanMs } from "./parameters.ts";

const FORMAT = "presentation.format";

/** The same search in the plain chain, answered in JSON. */
export function plainSearch({ properties, ...asked }: SearchRequest): SearchRequest {
  // A parameter of the URL counts more than one of the body, and the last of one name.
  return { ...asked, properties: [...properties, ["searchChain", "vespa"], [FORMAT, "json"]], accept: "" };
}

/** The parameters of a chain with a language model. */
export interface GenerationParameters {
  readonly prompt: string;
  /** What `@query` stands for. */
  readonly query: string;
  readonly format: "json" | "sse";
  readonly stream: boolean;
  readonly includePrompt: boolean;
  readonly includeHits: boolean;
  readonly includeStats: boolean;
  /** Whether the hits are put into the prompt. */
  readonly hasContext: boolean;
  /** The fields that go into the context; all without it. */
  readonly fields: ReadonlySet<string> | undefined;
  readonly model: ChatEndpoint;
  /** What was asked of the model. */
  readonly calls: Calls;
  /** The model's component id, as the chain configures it. */
  readonly source: string;
}

type ValueType = "number" | "whole" | "text";

/** Request property, member of the endpoint's request, and what its value is. */
const MODEL_PROPERTIES: readonly (readonly [property: string, member: string, type: ValueType])[] = [
  ["model", "model", "text"],
  ["temperature", "temperature", "number"],
  ["topp", "top_p", "number"],
  ["topP", "top_p", "number"],
  ["seed", "seed", "whole"],
  ["maxTokens", "max_completion_tokens", "whole"],
  ["npredict", "n", "whole"],
  ["frequencypenalty", "frequency_penalty", "number"],
  ["presencepenalty", "presence_penalty", "number"],
  ["reasoningEffort", "reasoning_effort", "text"],
];

const PREFIX_DEFAULT = "llm";

type Settings = ReadonlyMap<string, string>;

/** Reads the parameters of a chain with a language model. */
export function generationParameters(
  chain: SearchChainConfig,
  asked: QueryHandle,
  call: Call,
  context: GatewayContext,
): GenerationParameters {
  const settings: Settings = new Map(chain.settings);
  const prefix = settings.get("propertyPrefix") || PREFIX_DEFAULT;
  const said = (name: string): string | undefined => asked.parameter(`${prefix}.${name}`);
  const flag = (name: string, otherwise: boolean): boolean => truth(said(name), `${prefix}.${name}`) ?? otherwise;
  const query = asked.parameter("model.queryString") ?? "";
  const prompt = [said("prompt"), asked.parameter("prompt"), settings.get("prompt"), query].find(
    (it) => (it ?? "") !== "",
  );
  if (prompt === undefined) {
    const tried = `'${prefix}.prompt', 'prompt' or '@query'`;
    throw new ServiceError("ILLEGAL_QUERY", `Could not find prompt found for query. Tried looking for ${tried}.`);
  }
  const isTraced = Number(asked.parameter("trace.level") ?? 0) >= 1;
  const fields = said("fields")
    ?.split(",")
    .map((name) => name.trim());
  return {
    prompt,
    query,
    format: formatOf(asked.parameter(FORMAT)),
    stream: flag("stream", settings.get("stream") !== "false"),
    includePrompt: flag("includePrompt", false) || isTraced,
    includeHits: flag("includeHits", false),
    includeStats: isTraced,
    hasContext: said("context")?.toLowerCase() !== "skip",
    fields: fields === undefined ? undefined : new Set(fields),
    ...modelOf(settings, said, { prefix, call, context, timeout: asked.parameter("timeout") ?? "" }),
    source: settings.get("providerId") ?? "",
  };
}

/** Whether a query asks for events, whatever else is wrong with it. */
export function wantsEvents(query: QueryHandle): boolean {
  return query.parameter(FORMAT) === "sse";
}

function truth(value: string | undefined, name: string): boolean | undefined {
  const text = value?.toLowerCase();
  if (text === undefined || text === "true" || text === "false")
    return text === undefined ? undefined : text === "true";
  throw invalid(name, value ?? "", "true or false");
}

function formatOf(format: string | undefined): "json" | "sse" {
  if (format === "sse") return "sse";
  if (format === undefined || format === "" || format === "json" || format === "default") return "json";
  throw invalid("format", format, "json or sse with a language model");
}

function invalid(name: string, value: string, what: string): ServiceError {
  return new ServiceError("INVALID_QUERY_PARAMETER", `'${echo(name)}' must be ${what}, not '${echo(value)}'`);
}

interface ModelChoice extends Record<"prefix" | "timeout", string> {
  readonly call: Call;
  readonly context: GatewayContext;
}

/** The endpoint of the chain's model, with what the request says of it. Where it is only services.xml can say. */
function modelOf(
  settings: Settings,
  said: (name: string) => string | undefined,
  { prefix, call, context, timeout }: ModelChoice,
): Pick<GenerationParameters, "model" | "calls"> {
  const application = demandApplication(context.cluster);
  const { languageModels = [] } = application;
  const provider = settings.get("providerId") ?? "";
  const config = languageModels.find(({ id }) => provider === "" || id === provider);
  if (config === undefined) throw new ServiceError("UNAVAILABLE", "No language models were found");
  const configured: Settings = new Map(config.settings);
  const component = configuredModel(configured);
  const { model, ...parameters } = { ...component.parameters, ...modelParameters(said, prefix) };
  const apiKey =
    call.header(`${prefix.toLowerCase()}.x-llm-api-key`) ??
    call.header("x-llm-api-key") ??
    secretOf(config, component.url, context);
  const endpoint: ChatEndpoint = {
    fetch: context.fetch,
    url: component.url,
    model: String(model ?? component.model),
    parameters,
    timeoutMs: context.limits.generationTimeoutMs,
    // A query that says how long it may take waits no longer for a word.
    idleTimeoutMs: Math.min(context.limits.generationIdleMs, isTimeSpan(timeout) ? timeSpanMs(timeout) : Infinity),
    ...(apiKey === undefined ? {} : { apiKey }),
  };
  return { model: endpoint, calls: context.models.ofLanguageModel(config.id, application) };
}

function secretOf({ settings }: LanguageModelConfig, address: string, context: GatewayContext): string | undefined {
  const name = secretNameOf(new Map(settings));
  return name === undefined ? undefined : context.secret(name, address);
}

/** What a request says of the members of the endpoint's request; it counts more than what is configured. */
function modelParameters(
  said: (name: string) => string | undefined,
  prefix: string,
): Readonly<Record<string, unknown>> {
  const parameters: Record<string, unknown> = {};
  for (const [property, member, type] of MODEL_PROPERTIES) {
    const value = said(property);
    if (value !== undefined)
      parameters[member] = type === "text" ? value : numeric(`${prefix}.${property}`, value, type);
  }
  const schema = said("json_schema") ?? said("jsonSchema");
  if (schema !== undefined) parameters["response_format"] = responseFormat(schema);
  return parameters;
}

function numeric(name: string, value: string, type: ValueType): number {
  const number = value.trim() === "" ? Number.NaN : Number(value);
  if (type === "whole" ? Number.isSafeInteger(number) : Number.isFinite(number)) return number;
  throw invalid(name, value, type === "whole" ? "a whole number" : "a number");
}

function responseFormat(text: string): unknown {
  try {
    return structuredOutput(JSON.parse(text) as unknown);
  } catch {
    throw generationFailed("INVALID_QUERY_PARAMETER", `Failed to parse JSON schema:\n${echo(text)}`);
  }
}

/** Vespa's number for what went wrong in a chain, and had no better one. */
const UNSPECIFIED = 5;

/** A generation that failed as a whole: whatever did, Vespa's status and number are these. */
export function generationFailed(code: ErrorCode, reason: string, cause?: unknown): ServiceError {
  return new ServiceError(code, `Failed: ${reason}`, { number: UNSPECIFIED, status: 500, cause });
}
