/** The way to a server: this project's gateway, over HTTP or in process, or a Vespa. */

import type { LanguageModel } from "@brooklet/answers";
import { membersThere } from "@brooklet/wire";
import type { Deployment, DeployOptions } from "./deployment/deployment.ts";
import type { Kinds } from "./error.ts";
import { type ExchangeOptions, exchange } from "./exchange.ts";
import { Group } from "./group.ts";
import type { GroupsOptions } from "./group-list.ts";
import { checkLanguageModel } from "./retrieval/answer.ts";
import type { AnySchema } from "./schema/schema.ts";
import {
  baseUrl,
  checkServerOptions,
  exchangeOf,
  SERVER_OPTIONS,
  type ServerOptions,
  type WireAnswer,
  type WireRequest,
} from "./server.ts";

/** Where the server is, and how to reach it. */
export interface ConnectOptions extends ServerOptions {
  /** Address for deployments; the same unless it is said (a Vespa has it on port 19071). */
  readonly configUrl?: string;
  /** The language model that `ask` asks. */
  readonly languageModel?: LanguageModel;
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
  const application = membersThere({ cluster, embedders, files, remove });
  return withSchemas(client, configOf(others), schemas, application, deploy ?? true);
}

/** The client, when the server has these schemas. */
async function withSchemas(
  client: Client,
  toConfig: ExchangeOptions,
  schemas: readonly AnySchema[],
  application: DeployOptions,
  mayDeploy: boolean,
): Promise<Connection> {
  const { ensureSchemas } = await import("./deployment/deployment.ts");
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
      const { deploySchemas } = await import("./deployment/deployment.ts");
      return await deploySchemas(toConfig, schemas, asked);
    },
  };
}

/** How those of the deploy interface are. */
function configOf(options: ConnectOptions): ExchangeOptions {
  const to = exchangeOf(options);
  return options.configUrl === undefined ? to : { ...to, url: baseUrl(options.configUrl) };
}

const OPTIONS: Kinds = { ...SERVER_OPTIONS, configUrl: true, languageModel: true };

/** What is wrong is told here, not by the first call. */
function checkOptions(options: ConnectOptions): void {
  checkServerOptions("connect", options, OPTIONS);
  if (options.languageModel !== undefined) checkLanguageModel(options.languageModel, "languageModel");
}
