/** The way to a server: this project's gateway, over HTTP or in process, or a Vespa. */
import type { LanguageModel } from "@brooklet/answers";
import type { UnsharedBytes } from "@brooklet/wire";
import type { Deployment, DeployOptions } from "./deployment.ts";
import { invalidArgument, refuseUnknown } from "./error.ts";
import { type ExchangeOptions, exchange, type Fetch, RETRY_DEFAULT, type RetryOptions } from "./exchange.ts";
import { Group } from "./group.ts";
import type { GroupsOptions } from "./group-list.ts";
import type { RequestOptions } from "./request-options.ts";
import { checkLanguageModel } from "./retrieval/answer.ts";
import type { AnySchema } from "./schema/schema.ts";

/** Where the server is, and how to reach it. */
export interface ConnectOptions {
  /** Address of documents and queries, as in `http://localhost:8080`. */
  readonly url: string;
  /** Address for deployments; the same unless it is said (a Vespa has it on port 19071). */
  readonly configUrl?: string;
  /** Sends the requests; the platform's `fetch` unless it is said. It is given URLs as text. */
  readonly fetch?: Fetch;
  /** Whether that `fetch` sends the path as it is given, so that documents may be called `.` and `..`. */
  readonly keepsDotSegments?: boolean;
  /** @internal What writes JSON for that `fetch`, which takes the `parameters` of a search as they are: it asks what is in this process. */
  readonly bytesOf?: (value: object) => UnsharedBytes;
  /** What the server asks for where it has admin keys: one of those, or a token for some groups. */
  readonly key?: string;
  /** The same, from who gives tokens: asked before every request, so that it can give the next one before the last is over. */
  readonly token?: () => string | Promise<string>;
  /** Headers of every request. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly retry?: RetryOptions;
  /** The language model that `ask` asks. */
  readonly languageModel?: LanguageModel;
  /** Ends the client: once it is aborted, every call fails with its reason. What is under way then is not cut off. */
  readonly closed?: AbortSignal;
}

/** A server. */
export interface Client {
  /** The documents of one user. Nothing is asked of the server by this. */
  group(name: string): Group;
  /**
   * The names of the groups that have documents, each once, page by page as they are taken, in no order that means anything. One
   * that is made or emptied meanwhile may come or not. A Vespa cannot be asked.
   *
   * @example
   * ```ts
   * for await (const name of client.groups()) console.log(name, await client.group(name).count(mail));
   * ```
   */
  groups(options?: GroupsOptions): AsyncGenerator<string>;
  /**
   * Makes the server serve these schemas beside those of other applications. With `remove` they are all it serves: others go,
   * with their documents.
   */
  deploy(schemas: readonly AnySchema[], options?: DeployOptions): Promise<Deployment>;
  /** Sends any other request of the server's, with the same trying again and the same errors. */
  request(request: WireRequest): Promise<WireAnswer>;
}

/** A request as the server knows it. */
export interface WireRequest extends RequestOptions {
  readonly method: "GET" | "POST" | "PUT" | "DELETE";
  /** Path and parameters, encoded. */
  readonly target: string;
  /** JSON. */
  readonly body?: string;
  /** Whether it may be sent again when the connection broke. */
  readonly isRepeatable?: boolean;
  /** Whether integers of the answer that a number would round are wanted, as the text of their digits. */
  readonly isExact?: boolean;
}

/** What the server answered. */
export interface WireAnswer {
  readonly status: number;
  readonly json: unknown;
}

/** A server, and schemas that it has to have. */
export interface ConnectSchemasOptions extends ConnectOptions, Omit<DeployOptions, "signal"> {
  readonly schemas: readonly AnySchema[];
  /** Whether what is missing there is deployed, which is so unless it is said; with `false` it is told, as an error. */
  readonly deploy?: boolean;
}

/** A server that has the schemas. */
export interface Connection extends Client {
  /** What the server thinks of the schemas, if they had to be deployed. */
  readonly warnings: readonly string[];
}

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
export function connect(options: ConnectOptions | ConnectSchemasOptions): Client | Promise<Connection> {
  if (typeof options !== "object" || options === null || !("schemas" in options)) return clientOf(options);
  const { schemas, deploy, remove, cluster, embedders, files, ...others } = options;
  const client = clientOf(others);
  const application = { ...(cluster && { cluster }), ...(embedders && { embedders }), ...(files && { files }) };
  return withSchemas(client, configOf(others), schemas, { ...application, ...(remove && { remove }) }, deploy ?? true);
}

/** The client, when the server has these schemas. */
async function withSchemas(
  client: Client,
  toConfig: ExchangeOptions,
  schemas: readonly AnySchema[],
  application: DeployOptions,
  mayDeploy: boolean,
): Promise<Connection> {
  const { ensureSchemas } = await import("./deployment.ts");
  return { ...client, warnings: await ensureSchemas(toConfig, schemas, application, mayDeploy) };
}

function clientOf(options: ConnectOptions): Client {
  checkOptions(options);
  const to = exchangeOf(options);
  const toConfig = configOf(options);
  return {
    group: (name) => new Group(name, to, options.languageModel),
    groups: async function* groups(asked = {}) {
      const { groupNames } = await import("./group-verbs.ts");
      yield* groupNames(to, asked);
    },
    request: ({ isRepeatable = false, ...request }) => exchange(to, { ...request, isRepeatable }),
    deploy: async (schemas, asked = {}) => {
      const { deploySchemas } = await import("./deployment.ts");
      return await deploySchemas(toConfig, schemas, asked);
    },
  };
}

/** How requests are sent. */
function exchangeOf(options: ConnectOptions): ExchangeOptions {
  const {
    fetch: given,
    retry,
    headers = {},
    keepsDotSegments = false,
    bytesOf,
    closed,
    key,
    token = key && (() => key),
  } = options;
  // Looked up at every call, so that a fetch that is replaced later (by a test, say) is the one that is used.
  const plain: Fetch = (url, init) => (given ?? globalThis.fetch)(url, init);
  const withToken = (key: () => string | Promise<string>): Fetch => {
    return async (url, init) =>
      plain(url, { ...init, headers: { ...(init.headers as object), authorization: `Bearer ${await key()}` } });
  };
  const send = token ? withToken(token) : plain;
  const sending = { fetch: send, headers, retry: { ...RETRY_DEFAULT, ...retry } };
  return { url: baseUrl(options.url), ...sending, keepsDotSegments, bytesOf, closed };
}

/** How those of the deploy interface are. */
function configOf(options: ConnectOptions): ExchangeOptions {
  const to = exchangeOf(options);
  return options.configUrl === undefined ? to : { ...to, url: baseUrl(options.configUrl) };
}

const OPTIONS = Object.keys({
  url: true,
  configUrl: true,
  fetch: true,
  keepsDotSegments: true,
  bytesOf: true,
  key: true,
  token: true,
  headers: true,
  retry: true,
  languageModel: true,
  closed: true,
} satisfies Readonly<Record<keyof ConnectOptions, true>>);

/** What is wrong is told here, not by the first call. */
function checkOptions(options: ConnectOptions): void {
  if (typeof options !== "object" || options === null) throw invalidArgument("connect takes an object of options");
  refuseUnknown("connect", options, OPTIONS);
  if (options.url === undefined) throw invalidArgument("connect needs `url`, such as http://localhost:8080");
  const { retry = {}, languageModel } = options;
  refuseUnknown("retry", retry, Object.keys(RETRY_DEFAULT));
  for (const [name, value] of Object.entries(retry)) {
    if (value !== undefined && !(Number.isFinite(value) && value >= 0))
      throw invalidArgument(`${name} of retry is ${String(value)}: give a number that is not negative`);
  }
  if (languageModel !== undefined) checkLanguageModel(languageModel, "languageModel");
}

function baseUrl(url: string): string {
  if (!/^https?:\/\/[^/?#]/.test(url))
    throw invalidArgument(`'${url}' is no address: give one like http://localhost:8080`);
  return url.replace(/\/+$/, "");
}
