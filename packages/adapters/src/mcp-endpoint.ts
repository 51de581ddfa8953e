/**
 * MCP for the users of a server, at one address: a request is answered of the group that its credential is for, with the tools that
 * its verbs let. What tools ask, they ask the server as that caller, so that they reach what a request with the same credential does.
 */
import { connect, type Fetch } from "@brooklet/client";
import type { Verb } from "@brooklet/wire";
import { WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js";
import { documentsByName } from "./mcp/by-name.ts";
import type { McpNamed } from "./mcp/documents.ts";
import { answeredMessage } from "./mcp/message.ts";
import { type McpServed, mcpServerOf } from "./mcp/tools.ts";
import { VERSION } from "./version.ts";

export { kindsOf } from "./schema-fields.ts";

/** What is the same for all users. */
export interface McpEndpointOptions {
  /** The schemas that there are now. */
  readonly schemas: () => readonly string[];
  /** What a model may filter by, of a schema; nothing unless it is said. */
  readonly fields?: (schema: string) => McpNamed["fields"];
  /** What the documents are: "the user's documents" unless it is said. */
  readonly description?: string;
  /** What the server is called by its clients. */
  readonly name?: string;
  readonly version?: string;
}

/** A request, and what its credential lets it do. */
export interface McpAsked {
  readonly request: Request;
  /** Its body, read. */
  readonly message: unknown;
  readonly group: string;
  readonly verbs: readonly Verb[];
  /** Nothing: all. */
  readonly schemas: readonly string[] | undefined;
  /** Asks the server as this caller. */
  readonly fetch: Fetch;
  /** Aborted when nobody waits for the answer any more. */
  readonly gone: AbortSignal;
}

/** The server that tools ask is the one that they are a part of. */
const HERE = "http://brooklet.invalid";
/** Tools of more schemas are no use to a model. */
const SCHEMAS_MAX = 16;

/**
 * Makes what answers MCP requests, one by one: nothing is kept between them, so that each is of the group of its own credential.
 *
 * @example
 * ```ts
 * import { mcpEndpoint } from "@brooklet/adapters/mcp-endpoint";
 * const answer = mcpEndpoint({ schemas: () => ["mail"], description: "the user's mail" });
 * const gateway = createGateway({ cluster, adminKeys, mcp: answer });
 * ```
 */
export function mcpEndpoint(options: McpEndpointOptions): (asked: McpAsked) => Promise<Response> {
  const { name = "brooklet", version = VERSION } = options;
  return async (asked) => {
    const served = servedTo(asked, options);
    if (served.length === 0 || served.length > SCHEMAS_MAX)
      return refusal(
        `There are ${served.length} schemas for this caller: a model is given tools of 1 to ${SCHEMAS_MAX}`,
      );
    const server = mcpServerOf({ name, version, served, verbs: asked.verbs, writes: false });
    const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true });
    const ended = new Promise<Response>((resolve) => {
      const end = (): void => resolve(refusal("The request was not answered in time"));
      if (asked.gone.aborted) end();
      else asked.gone.addEventListener("abort", end, { once: true });
    });
    try {
      await server.connect(transport as Parameters<typeof server.connect>[0]);
      const parsedBody = answeredMessage(asked.message);
      return await Promise.race([transport.handleRequest(asked.request, { parsedBody }), ended]);
    } finally {
      await server.close();
    }
  };
}

function servedTo({ group, schemas, fetch }: McpAsked, options: McpEndpointOptions): readonly McpServed[] {
  const { description = "the user's documents" } = options;
  const client = connect({ url: HERE, fetch, keepsDotSegments: true, retry: { attempts: 1 } });
  const reached = options.schemas().filter((schema) => schemas === undefined || schemas.includes(schema));
  return reached.map((schema) => {
    const fields = options.fields?.(schema);
    const documents = documentsByName({ client, group, schema, ...(fields === undefined ? {} : { fields }) });
    if (reached.length === 1) return { documents, description, suffix: "" };
    return { documents, description: `${description} (${schema})`, suffix: `_${schema}` };
  });
}

/** As the protocol's library refuses a request as a whole. */
function refusal(message: string): Response {
  return Response.json({ jsonrpc: "2.0", error: { code: -32_000, message }, id: null }, { status: 503 });
}
