/** The way to a server: this project's gateway, over HTTP or in process, or a Vespa. */
import type { LanguageModel } from "@brooklet/answers";
import type { DeployAnswer } from "@brooklet/wire";
import { type ApplicationOptions, applicationFiles } from "./application.ts";
import { BrookletError, invalidArgument, refuseUnknown } from "./error.ts";
import {
  type ExchangeAnswer,
  type ExchangeOptions,
  type ExchangeRequest,
  exchange,
  type Fetch,
  RETRY_DEFAULT,
  type RetryOptions,
} from "./exchange.ts";
import { Group } from "./group.ts";
import { type GroupsOptions, groupNames } from "./group-list.ts";
import type { RequestOptions } from "./request-options.ts";
import { checkLanguageModel } from "./retrieval/answer.ts";
import type { AnySchema } from "./schema/schema.ts";
import { zip } from "./zip.ts";

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
  /** Headers of every request. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly retry?: RetryOptions;
  /** The language model that `ask` asks. */
  readonly languageModel?: LanguageModel;
  /** Ends the client: once it is aborted, every call fails with its reason. What is under way then is not cut off. */
  readonly closed?: AbortSignal;
}

/** What came of a deployment. */
export interface Deployment {
  /** What the server thinks of the schemas, and serves nevertheless. */
  readonly warnings: readonly string[];
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
  /** Makes the server serve these schemas, in place of those it served. */
  deploy(schemas: readonly AnySchema[], options?: ApplicationOptions & RequestOptions): Promise<Deployment>;
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
}

/** What the server answered. */
export interface WireAnswer {
  readonly status: number;
  readonly json: unknown;
}

/**
 * Makes a client. Nothing is sent by this.
 *
 * @example
 * ```ts
 * const server = connect({ url: "http://localhost:8080" });
 * await server.deploy([mail]);
 * ```
 */
export function connect(options: ConnectOptions): Client {
  checkOptions(options);
  const { retry, headers = {}, keepsDotSegments = false } = options;
  // Looked up at every call, so that a fetch that is replaced later (by a test, say) is the one that is used.
  const send: Fetch = options.fetch ?? ((url, init) => globalThis.fetch(url, init));
  const url = baseUrl(options.url);
  const sending = { fetch: send, headers, retry: { ...RETRY_DEFAULT, ...retry }, keepsDotSegments };
  const to: ExchangeOptions = { url, ...sending, closed: options.closed };
  const toConfig: ExchangeOptions = { ...to, url: options.configUrl === undefined ? url : baseUrl(options.configUrl) };
  return {
    group: (name) => new Group(name, to, options.languageModel),
    groups: (asked = {}) => groupNames(to, asked),
    request: ({ isRepeatable = false, ...request }) => exchange(to, { ...request, isRepeatable }),
    deploy: async (schemas, { signal, ...application } = {}) => {
      const request: ExchangeRequest = {
        method: "POST",
        target: "/application/v2/tenant/default/prepareandactivate",
        body: zip(applicationFiles(schemas, application)),
        contentType: "application/zip",
        signal,
        isRepeatable: true,
      };
      const answer = await exchange(toConfig, request).catch(refusedDeployment);
      const log = (answer.json as Partial<DeployAnswer>).log ?? [];
      return { warnings: log.filter(({ level }) => level === "WARNING").map(({ message }) => message) };
    },
  };
}

/** Timestamps were whole seconds once: what is stored so is not taken for anything else. */
function refusedDeployment(error: unknown): ExchangeAnswer {
  if (!BrookletError.is(error) || !/'long' -> 'double'/.test(error.message)) throw error;
  const remedy = "a timestamp that was stored as whole seconds is timestamp({ unit: 'seconds' })";
  const { code, status, outcome, cause, message } = error;
  throw new BrookletError(code, `${message}; ${remedy}`, { status, outcome, cause });
}

const OPTIONS = Object.keys({
  url: true,
  configUrl: true,
  fetch: true,
  keepsDotSegments: true,
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
