/** The client's `connect` on Node, where documents may also be called `.` and `..`, and migrations can be run. */
import {
  type Client as ClientAnywhere,
  type Connection as ConnectionAnywhere,
  type ConnectOptions,
  type ConnectSchemasOptions,
  connect as connectAnywhere,
  type Fetch,
} from "@brooklet/client";
import { type Migrating, migrating } from "../migration/migrating.ts";

/** A server. */
export interface Client extends ClientAnywhere, Migrating {}

/** A server that has the schemas. */
export interface Connection extends ConnectionAnywhere, Migrating {}

/**
 * Makes a client. Nothing is sent by this, unless `schemas` are given: then it is a promise, and the server has them when it is
 * kept, as it is with `open`. Where it may not be deployed, the error tells what is another there.
 *
 * @example
 * ```ts
 * const server = await connect({ url: "http://localhost:8080", schemas: [mail] });
 * await server.group("alice").search(mail, { text: "invoice" });
 * ```
 */
export function connect(options: ConnectSchemasOptions): Promise<Connection>;
export function connect(options: ConnectOptions): Client;
export function connect(options: ConnectOptions): Client | Promise<Connection> {
  const made: ConnectOptions | ConnectSchemasOptions =
    options?.fetch !== undefined ? options : { ...options, fetch: exactFetch, keepsDotSegments: true };
  // The type tells the two apart by `schemas`, as the function does.
  const connected = connectAnywhere(made) as ClientAnywhere | Promise<ConnectionAnywhere>;
  return connected instanceof Promise ? connected.then(migrating) : migrating(connected);
}

const DOT_SEGMENT = /\/(%2E){1,2}(?=[/?]|$)/i;

/** The platform's fetch, but for paths it would change. */
const exactFetch: Fetch = (url, init) => (DOT_SEGMENT.test(url) ? sendAsItIs(url, init) : fetch(url, init));

async function sendAsItIs(url: string, init: RequestInit): Promise<Response> {
  const { origin, protocol } = new URL(url);
  const path = url.slice(url.indexOf("/", protocol.length + 2));
  const { method = "GET", headers, body, signal } = init;
  // Loaded when a document is called so: nearly none is.
  const { request: send } = protocol === "https:" ? await import("node:https") : await import("node:http");
  const fields = Object.fromEntries(new Headers(headers));
  return await new Promise((resolve, reject) => {
    const request = send(origin, { method, path, headers: fields, ...(signal ? { signal } : {}) }, (incoming) => {
      const chunks: Uint8Array[] = [];
      incoming.on("data", (chunk: Uint8Array) => chunks.push(chunk));
      incoming.once("error", reject);
      incoming.once("end", () => resolve(new Response(Buffer.concat(chunks), { status: incoming.statusCode ?? 500 })));
    });
    // As fetch has it: the reason is the cause.
    request.once("error", (cause) => reject(new TypeError("fetch failed", { cause })));
    request.end(body as string | Uint8Array | null);
  });
}
