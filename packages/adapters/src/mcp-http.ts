/** An MCP server on a port of this machine: one request, one answer; nothing is kept between them. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { AnySchema } from "@brooklet/client";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { answeredMessage } from "./mcp/message.ts";
import { createMcpServer, type McpOptions } from "./mcp.ts";

/** A server that listens. */
export interface McpHttpServer {
  readonly url: string;
  close(): Promise<void>;
}

const BODY_BYTES_MAX = 1 << 20;

/**
 * Listens on the loopback address. Port 0: the system chooses.
 *
 * @example
 * ```ts
 * import { listenMcp } from "brooklet/mcp";
 * const { url, close } = await listenMcp({ client: db, group: "alice", schema: "mail" }, 0);
 * ```
 */
export async function listenMcp<S extends AnySchema = AnySchema>(
  options: McpOptions<S>,
  port: number,
): Promise<McpHttpServer> {
  const server: Server = createServer((request, response) => {
    answer(options, request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject).listen(port, "127.0.0.1", resolve);
  });
  const bound = (server.address() as AddressInfo).port;
  return {
    url: `http://127.0.0.1:${bound}/mcp`,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function answer<S extends AnySchema>(
  options: McpOptions<S>,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const host = (request.headers.host ?? "").replace(/:\d*$/, "");
  // A browser that was led here, by another name for this machine or from another page, is refused.
  if (!["127.0.0.1", "localhost"].includes(host) || request.headers.origin !== undefined) return refuse(response, 403);
  if (request.url !== "/mcp") return refuse(response, 404);
  if (request.method !== "POST") return refuse(response, 405);
  const body = await read(request);
  if (body === undefined) return refuse(response, 413);
  let json: unknown;
  try {
    json = JSON.parse(body);
  } catch {
    return refuse(response, 400);
  }
  const server = createMcpServer(options);
  // Without a session the transport has no generator of ids: each request stands for itself.
  const transport = new StreamableHTTPServerTransport({ enableJsonResponse: true });
  response.once("close", () => void server.close());
  await server.connect(transport as Parameters<typeof server.connect>[0]);
  await transport.handleRequest(request, response, answeredMessage(json));
}

function refuse(response: ServerResponse, status: number): void {
  response.writeHead(status, { connection: "close" }).end();
}

async function read(request: IncomingMessage): Promise<string | undefined> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of request as AsyncIterable<Uint8Array>) {
    bytes += part.length;
    if (bytes > BODY_BYTES_MAX) return undefined;
    parts.push(part);
  }
  return Buffer.concat(parts).toString("utf8");
}
