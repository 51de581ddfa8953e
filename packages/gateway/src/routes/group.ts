/** `/brooklet/v1/groups/NAME` and what is below: a group as a whole, and its tail. */
import type { Call, Reply } from "../call.ts";
import type { GatewayContext } from "../context.ts";
import type { DefectListener } from "../failure.ts";
import { pathSegments, splitTarget } from "../target.ts";
import { answerErasure } from "./erasure.ts";
import { answerTail } from "./tail.ts";

/** Answers a request about a group. Does not throw. */
export async function answerGroup(call: Call, context: GatewayContext, onDefect: DefectListener): Promise<Reply> {
  const [, , , name, part, ...more] = pathSegments(splitTarget(call.target).path);
  const isTail = name !== undefined && part === "tail" && more.length === 0;
  return isTail ? await answerTail(call, name, context, onDefect) : await answerErasure(call, context, onDefect);
}
