/** The edge deployment: the gateway in a Worker, each group in a Durable Object of its own. */
import { isServiceError } from "@brooklet/core";
import { createGateway, type Gateway } from "@brooklet/gateway";
import { ObjectCluster } from "@brooklet/partition/objects";
import { embeddersOf } from "./embedders.ts";
import { DIRECTORIES, type Env } from "./env.ts";
import { guardOf } from "./guard.ts";
import { isolate, makeValidator, onProblem } from "./isolate.ts";
import { EDGE_LIMITS } from "./limits.ts";
import { objectPort } from "./port.ts";

export { Directory } from "./directory.ts";
export { Group } from "./group.ts";
export { Registry } from "./registry.ts";

/**
 * The request target as it was meant: the platform collapses `.` and `..` in URLs, also where they are written `%2e`, and what is in
 * a header it leaves alone. It is only taken where the URL is what the platform made of it: who guards addresses before this
 * Worker has seen no other path than is answered.
 */
const TARGET_HEADER = "x-brooklet-target";

/** The platform can bring an object back to any moment of so many days, one that was erased too. */
const RECOVERABLE_MS: number = 30 * 86_400_000;

const NOT_OPENED = "The Worker could not begin: its log says why";

/** The gateway of this isolate, once it is open. */
let ready: Gateway | undefined;

async function open(env: Env): Promise<Gateway> {
  const { origins, ...guard } = guardOf(env);
  const cluster = await ObjectCluster.open({
    port: objectPort(env),
    isolate,
    directories: DIRECTORIES,
    makeEngine: makeValidator,
    embedder: embeddersOf(env),
    recoverableMs: RECOVERABLE_MS,
    objections: (report) => origins.objections(report),
    onProblem,
  });
  return createGateway({ cluster, limits: EDGE_LIMITS, onDefect: onProblem, ...guard });
}

/** Opens the gateway of this isolate: the first that is open is everybody's. Nobody waits for what a request of another does, which may be given up. */
async function gatewayOf(env: Env): Promise<Gateway> {
  const gateway = await open(env);
  ready ??= gateway;
  return ready;
}

async function answer(request: Request, env: Env, context: ExecutionContext): Promise<Response> {
  const gateway = ready ?? (await gatewayOf(env).catch(refusal));
  if (gateway instanceof Response) return gateway;
  const rawTarget = request.headers.get(TARGET_HEADER);
  if (rawTarget === null) return gateway.respond(request, targetOf(request.url), context);
  if (!isTargetOf(rawTarget, request.url)) {
    const message = `The header ${TARGET_HEADER} is not what this address was before it was normalised`;
    return Response.json({ code: "BAD_REQUEST", message }, { status: 400 });
  }
  return gateway.respond(request, rawTarget, context);
}

/** The answer where the gateway could not be opened: what the platform does not do for now, or what is stored is damaged, is told as that. */
function refusal(error: unknown): Response {
  if (isServiceError(error) && (error.status === 503 || error.status === 507 || error.code === "STORE_CORRUPT")) {
    if (error.status === 500) onProblem(error);
    const { code, message, status, outcome } = error;
    return Response.json({ code, message, outcome }, { status });
  }
  onProblem(error);
  // What is wrong with a key or a variable is the operator's to know, and stands in the log.
  return Response.json({ code: "INTERNAL", message: NOT_OPENED }, { status: 500 });
}

/** The Worker. */
const worker: ExportedHandler<Env> = {
  fetch: (request, env, context) => {
    const answered = answer(request, env, context);
    // The platform drops what a request does when its client goes away: no `finally` would give back what it holds of the isolate.
    context.waitUntil(answered);
    return answered;
  },
};

/** What comes after the host in a URL of the platform, which has no fragment. */
function targetOf(url: string): string {
  return url.slice(url.indexOf("/", url.indexOf("//") + 2));
}

/** Whether a URL is what a target becomes when it is normalised. */
function isTargetOf(target: string, url: string): boolean {
  const { origin, href } = new URL(url);
  return target.startsWith("/") && URL.canParse(origin + target) && new URL(origin + target).href === href;
}

export default worker;
