/**
 * `/mcp`: the Model Context Protocol, at one address for all users. Whose documents it serves its caller's token says, and no argument
 * that a model fills in; a token for several groups is refused, as a model that reads one of them could be led to ask for the other.
 * The protocol itself is the handler's business.
 */
import { ServiceError, type Verb } from "@brooklet/wire";
import type { Call, Reply } from "../call.ts";
import type { GatewayContext } from "../context.ts";
import { type DefectListener, MethodRefused, plainFailure, serviceErrorOf } from "../failure.ts";
import type { LocalAnswer, LocalRequest } from "../local-answer.ts";

/** What a handler is given. */
export interface McpRequest {
  /** Its method, headers and address, without the body. */
  readonly request: Request;
  readonly message: unknown;
  readonly group: string;
  readonly verbs: readonly Verb[];
  /** Nothing: all. */
  readonly schemas: readonly string[] | undefined;
  /** Asks this gateway as the caller of the request. */
  readonly fetch: (url: string, request: RequestInit) => Promise<LocalAnswer>;
  /** Aborted when nobody waits any more. */
  readonly gone: AbortSignal;
}

/** Answers requests of the protocol. */
export type McpHandler = (asked: McpRequest) => Promise<Response>;

const BODY_BYTES = 1 << 20;
const HEADERS = ["accept", "content-type", "mcp-protocol-version", "mcp-session-id"];
const decoder = new TextDecoder();

/** Answers a request to `/mcp`. Does not throw. */
export async function answerMcp(
  call: Call,
  context: GatewayContext,
  { answer, ask, onDefect }: { answer: McpHandler; ask: Asking; onDefect: DefectListener },
): Promise<Reply> {
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(), context.limits.documentTimeoutMs);
  try {
    const { group, grant } = context.access.demandGroup();
    if (!grant.verbs.includes("get")) context.access.demand("search");
    // Nothing is told beside answers, and there are no sessions to end.
    if (call.method !== "POST") throw MethodRefused.only(call.method, "POST");
    const given = HEADERS.flatMap((name): [string, string][] => [[name, call.header(name) ?? ""]]);
    const headers = given.filter(([, value]) => value !== "");
    const response = await answer({
      request: new Request("http://brooklet.invalid/mcp", { method: "POST", headers }),
      message: await messageOf(call, context),
      group,
      verbs: grant.verbs,
      schemas: grant.schemas,
      fetch: (url, init) => ask(url, init as LocalRequest),
      gone: call.gone === undefined ? late.signal : AbortSignal.any([call.gone, late.signal]),
    });
    const type = response.headers.get("content-type");
    const body = await response.text();
    return { status: response.status, headers: type === null ? {} : { "content-type": type }, body };
  } catch (error) {
    return plainFailure(serviceErrorOf(error, onDefect));
  } finally {
    clearTimeout(timer);
  }
}

type Asking = (url: string, request: LocalRequest) => Promise<LocalAnswer>;

async function messageOf(call: Call, context: GatewayContext): Promise<unknown> {
  const held = await context.bodies.read(call, { name: "MCP request", limitBytes: BODY_BYTES });
  try {
    return JSON.parse(decoder.decode(held.bytes));
  } catch (cause) {
    throw new ServiceError("BAD_REQUEST", "The body of the request is not JSON", { cause });
  } finally {
    held.release();
  }
}
