/**
 * `GET /brooklet/v1/models`, an interface of our own: the models of the application and of the server, whether each can be asked, why not, and what it was
 * asked, as this process knows it.
 */
import type { ModelCalls, ModelState } from "@brooklet/partition";
import { BOUNDS } from "@brooklet/wire";
import type { Call, Reply } from "../call.ts";
import type { GatewayContext } from "../context.ts";
import { type DefectListener, jsonReply, MethodRefused, plainFailure, serviceErrorOf } from "../failure.ts";
import { ownParameters } from "../own-request.ts";
import { NO_PARAMETERS } from "../request-shapes.ts";

/** Answers a request to `/brooklet/v1/models`. Does not throw. */
export async function answerModels(call: Call, context: GatewayContext, onDefect: DefectListener): Promise<Reply> {
  try {
    if (call.method !== "GET" && call.method !== "HEAD") throw MethodRefused.only(call.method, "GET");
    ownParameters(call, context, NO_PARAMETERS);
    const models = await context.models.states(context.cluster);
    return jsonReply(200, { models: models.map(toldModel) });
  } catch (error) {
    return plainFailure(serviceErrorOf(error, onDefect));
  }
}

function toldModel({ calls, ...model }: ModelState): object {
  return { ...model, calls: calls.map(toldCalls) };
}

/** A histogram as times within which half and 99 in a hundred of the calls were: upper bounds; none where that was above all. */
function toldCalls({ seconds, ...calls }: ModelCalls): object {
  const { upTo, count, sum } = seconds;
  const within = (share: number): number | undefined => {
    const step = count === 0 ? -1 : upTo.findIndex((below) => below >= count * share);
    return BOUNDS[step];
  };
  const [p50Seconds, p99Seconds] = [within(0.5), within(0.99)];
  return { ...calls, calls: count, seconds: sum, p50Seconds, p99Seconds };
}
