/** `GET /brooklet/v1/queries/slow`, an interface of our own: the searches that took long, the latest first, of this process. */
import type { Call, Reply } from "../call.ts";
import type { GatewayContext } from "../context.ts";
import { type DefectListener, jsonReply, MethodRefused, plainFailure, serviceErrorOf } from "../failure.ts";
import { ownParameters } from "../own-request.ts";
import { NO_PARAMETERS } from "../request-shapes.ts";

/** Answers a request to `/brooklet/v1/queries/slow`. Does not throw. */
export async function answerSlowSearches(
  call: Call,
  context: GatewayContext,
  onDefect: DefectListener,
): Promise<Reply> {
  try {
    if (call.method !== "GET" && call.method !== "HEAD") throw MethodRefused.only(call.method, "GET");
    ownParameters(call, context, NO_PARAMETERS);
    const { slowSearches } = context;
    return jsonReply(200, { thresholdMs: slowSearches.thresholdMs, queries: await slowSearches.listed() });
  } catch (error) {
    return plainFailure(serviceErrorOf(error, onDefect));
  }
}
