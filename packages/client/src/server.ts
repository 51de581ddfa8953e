/** Where a server is, and how it is reached: what every client is made with. */
import type { UnsharedBytes } from "@brooklet/wire";
import { BrookletError, demandKind, invalidArgument, type Kind, type Kinds, refuseUnknown } from "./error.ts";
import { type ExchangeOptions, type Fetch, RETRY_DEFAULT, type RetryOptions } from "./exchange.ts";
import type { RequestOptions } from "./request-options.ts";

/** Where the server is, and how to reach it. */
export interface ServerOptions {
  /** Address of documents and queries, as in `http://localhost:8080`. */
  readonly url: string;
  /** Sends the requests; the platform's `fetch` unless it is said. It is given URLs as text. */
  readonly fetch?: Fetch;
  /** Whether that `fetch` sends the path as it is given, so that documents may be called `.` and `..`. */
  readonly keepsDotSegments?: boolean;
  /** @internal What writes JSON for that `fetch`, which takes the `parameters` of a search as they are: it asks what is in this process. */
  readonly bytesOf?: (value: object) => UnsharedBytes;
  /** What the server asks for where it has admin keys: one of those, or a token for some groups. */
  readonly key?: string;
  /** The same, or who gives it: asked before every request, so that the next one can be given before the last is over. */
  readonly token?: string | (() => string | Promise<string>);
  /** Headers of every request. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly retry?: RetryOptions;
  /** Ends the client: once it is aborted, every call fails with its reason. What is under way then is not cut off. */
  readonly closed?: AbortSignal;
}

/** A request as the server knows it. */
export interface WireRequest extends RequestOptions {
  readonly method: "GET" | "POST" | "PUT" | "DELETE";
  /** Path and parameters, encoded. */
  readonly target: string;
  /** JSON. */
  readonly body?: string;
  /** Whether it may be sent again when nobody knows whether it was done. */
  readonly isRepeatable?: boolean;
  /** Whether integers of the answer that a number would round are wanted, as the text of their digits. */
  readonly isExact?: boolean;
}

/** What the server answered. */
export interface WireAnswer {
  readonly status: number;
  readonly json: unknown;
}

/** How requests are sent. */
export function exchangeOf(options: ServerOptions): ExchangeOptions {
  const { fetch: given, retry, headers = {}, keepsDotSegments = false, bytesOf, closed, key, token = key } = options;
  // Looked up at every call, so that a fetch that is replaced later (by a test, say) is the one that is used.
  const plain: Fetch = (url, init) => (given ?? globalThis.fetch)(url, init);
  const withToken: Fetch = async (url, init) =>
    plain(url, { ...init, headers: { ...(init.headers as object), authorization: await bearer(token) } });
  const send = token ? withToken : plain;
  const sending = { fetch: send, headers, retry: { ...RETRY_DEFAULT, ...retry } };
  return { url: baseUrl(options.url), ...sending, keepsDotSegments, bytesOf, closed };
}

/** What a request says who asks with. Where that cannot be had nothing is sent: the server is not to blame. */
async function bearer(token: ServerOptions["token"]): Promise<string> {
  try {
    const given = typeof token === "function" ? await token() : token;
    if (/^[!-~]+$/.test(given ?? "")) return `Bearer ${given}`;
    throw new Error("that is none");
  } catch (cause) {
    const reason = (cause as Error | undefined)?.message ?? cause;
    throw new BrookletError("UNAUTHENTICATED", `no token to send: ${reason}`, { cause });
  }
}

/** The names of these options. */
export const SERVER_OPTIONS: Kinds = {
  url: true,
  fetch: "a function",
  keepsDotSegments: true,
  bytesOf: true,
  key: true,
  token: true,
  headers: "an object",
  retry: true,
  closed: true,
} satisfies Readonly<Record<keyof ServerOptions, Kind>>;

/** What is wrong is told here, not by the first call. */
export function checkServerOptions(what: string, options: ServerOptions, known: Kinds): void {
  refuseUnknown(what, options, known);
  if (options.url === undefined) throw invalidArgument("connect needs `url`, such as http://localhost:8080");
  const { retry = {}, key, token = key } = options;
  if (token !== undefined && typeof token !== "string") demandKind("token", token, "a function");
  refuseUnknown("retry", retry, Object.keys(RETRY_DEFAULT));
  for (const [name, value] of Object.entries(retry)) {
    if (value !== undefined && !(Number.isFinite(value) && value >= 0))
      throw invalidArgument(`${name} of retry is ${String(value)}: give a number that is not negative`);
  }
}

/** An address without slashes at its end. */
export function baseUrl(url: string): string {
  // What follows a question mark would take every path for its own, and a name with a password would stand in errors.
  if (!/^https?:\/\/[^/?#@\s]+(\/[^?#\s]*)?$/.test(url))
    throw invalidArgument(`'${url}' is no address: give one like http://localhost:8080`);
  return String(url).replace(/\/+$/, "");
}
