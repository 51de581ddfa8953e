/** A gateway for a process that asks itself alone: the same guard and routes as `createGateway` has, and no router for requests of others. */
import { type GatewayOptions, houseOf } from "./house.ts";
import type { LocalAnswer, LocalRequest } from "./local-answer.ts";
import { answerLocally, routesOf } from "./routes/route-table.ts";

export type { GatewayOptions } from "./house.ts";
export type { LocalAnswer, LocalRequest } from "./local-answer.ts";
export { StartError } from "./start-error.ts";

/** A gateway of this process. */
export interface LocalGateway {
  /** Answers a request of this process, as `Gateway.answer` does. */
  answer(url: string, request: LocalRequest): Promise<LocalAnswer>;
}

/**
 * Makes a gateway before a cluster that this process alone can ask.
 *
 * @example
 * ```ts
 * const { status } = await createLocalGateway({ cluster }).answer("http://localhost/state/v1/health", {});
 * ```
 */
export function createLocalGateway(options: Omit<GatewayOptions, "authorise">): LocalGateway {
  const house = houseOf(options);
  const routes = routesOf(house, options);
  return { answer: (url, request) => answerLocally(house, routes, url, request) };
}
