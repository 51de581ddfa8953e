/**
 * The client for what is bundled as one file, as a script that others put into their pages: documents one by one, and searches. What
 * `@brooklet/client` loads when it is called (feeds, visits, cursors, answers, deployments) is not here (docs/decisions/0193).
 */
import { exchange } from "./exchange.ts";
import { MiniGroup } from "./mini-group.ts";
import {
  checkServerOptions,
  exchangeOf,
  SERVER_OPTIONS,
  type ServerOptions,
  type WireAnswer,
  type WireRequest,
} from "./server.ts";

export { MiniGroup } from "./mini-group.ts";
export type { ServerOptions, WireAnswer, WireRequest } from "./server.ts";
export * from "./vocabulary.ts";

/** A server, for who asks for single documents and searches. */
export interface MiniClient {
  /** The documents of one user. Nothing is asked of the server by this. */
  group(name: string): MiniGroup;
  /** Sends any other request of the server's, with the same trying again and the same errors. */
  request(request: WireRequest): Promise<WireAnswer>;
}

/**
 * Makes a client. Nothing is sent by this.
 *
 * @example
 * ```ts
 * import { connect } from "brooklet/mini";
 *
 * const bob = connect({ url: "http://localhost:8080" }).group("bob");
 * ```
 */
export function connect(options: ServerOptions): MiniClient {
  checkServerOptions("connect of brooklet/mini", options, SERVER_OPTIONS);
  const to = exchangeOf(options);
  return {
    group: (name) => new MiniGroup(name, to, () => import("./write-language.ts")),
    request: ({ isRepeatable = false, ...request }) => exchange(to, { ...request, isRepeatable }),
  };
}
