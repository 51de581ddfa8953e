/**
 * `/model-evaluation/v1`: the models of the package, and what they compute of values that a request gives. What a path means, and
 * how the answer is written, is the core's business.
 */
import type { Answer } from "@brooklet/partition";
import { failureOutcome, ServiceError } from "@brooklet/wire";
import type { Call, Reply, WholeReply } from "../call.ts";
import { demandApplication, type GatewayContext } from "../context.ts";
import { echo } from "../echo.ts";
import { type DefectListener, serviceErrorOf } from "../failure.ts";
import { type Parameter, parseParameters } from "../parameters.ts";
import { splitTarget } from "../target.ts";

/** The path of the interface, whatever its version. */
const MODEL_EVALUATION = "/model-evaluation";

const FORM = "application/x-www-form-urlencoded";
const VERSION = "v1";

/** Answers a request below `/model-evaluation`. Does not throw. */
export async function answerModelEvaluation(
  call: Call,
  context: GatewayContext,
  onDefect: DefectListener,
): Promise<Reply> {
  try {
    demandApplication(context.cluster);
    const { path, query } = splitTarget(call.target);
    const [, version = "", ...segments] = decodePath(path)
      .split("/")
      .filter((segment) => segment !== "");
    if (version.toLowerCase() !== VERSION) throw new ServiceError("NOT_FOUND", "unknown API version");
    const fromUrl = parseParameters(query, context.limits.parameterCount);
    const parameters = [...(await formOf(call, context)), ...fromUrl];
    const base = `http://${call.header("host") ?? "localhost"}${MODEL_EVALUATION}/${VERSION}/`;
    const { status, contentType, body } = await evaluate(context, base, segments.join("/"), parameters);
    return { status, headers: { "content-type": contentType }, body };
  } catch (error) {
    return failure(serviceErrorOf(error, onDefect));
  }
}

async function evaluate(
  { cluster, searches, limits }: GatewayContext,
  base: string,
  path: string,
  parameters: readonly Parameter[],
): Promise<Answer> {
  if (cluster.evaluate === undefined) {
    const message =
      "Models are not evaluated by themselves where each group is an object of a platform: ask a server on Node for it";
    throw new ServiceError("UNSUPPORTED", message);
  }
  await searches.enter();
  try {
    return await cluster.evaluate({ base, path, parameters }, limits.searchTimeoutMs);
  } finally {
    searches.leave();
  }
}

/** The parameters of a form; bodies of other types are passed over. */
async function formOf(call: Call, context: GatewayContext): Promise<readonly Parameter[]> {
  const type = call.header("content-type")?.split(";", 1)[0]?.trim().toLowerCase();
  if (type !== FORM || call.method === "GET" || call.method === "HEAD") return [];
  const { bodyBytes, parameterCount } = context.limits;
  const body = await context.bodies.read(call, { name: "Arguments of a model", limitBytes: bodyBytes });
  try {
    return parseParameters(new TextDecoder("latin1").decode(body.bytes), parameterCount);
  } finally {
    body.release();
  }
}

function decodePath(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch (cause) {
    throw new ServiceError("BAD_REQUEST", `Cannot decode '${echo(path)}'`, { cause });
  }
}

/** A failure as the interface tells it, with the two members that all have. */
function failure(error: ServiceError): WholeReply {
  const outcome = failureOutcome(error.status);
  const body = JSON.stringify({ error: error.message, outcome, code: error.code });
  const headers: Record<string, string> = { "content-type": "application/json" };
  if (error.status === 429 || error.status === 503) headers["retry-after"] = "1";
  return { status: error.status, headers, body, cause: error.cause };
}
