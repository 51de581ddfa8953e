/** The edge deployment: the gateway in a Worker, each group in a Durable Object of its own. */
import { createGateway, type Gateway } from "@brooklet/gateway";
import { ObjectCluster } from "@brooklet/partition";
import { DIRECTORIES, type Env } from "./env.ts";
import { isolate, makeValidator, onProblem } from "./isolate.ts";
import { EDGE_LIMITS } from "./limits.ts";
import { objectPort } from "./port.ts";

export { Directory } from "./directory.ts";
export { Group } from "./group.ts";
export { Registry } from "./registry.ts";

/** The request target as it was sent: the platform collapses `..` in URLs, also where it is written `%2e%2e`. */
const TARGET_HEADER = "x-brooklet-target";

let opened: Promise<Gateway> | undefined;

async function open(env: Env): Promise<Gateway> {
  const cluster = await ObjectCluster.open({
    port: objectPort(env),
    isolate,
    directories: DIRECTORIES,
    makeEngine: makeValidator,
    onProblem,
  });
  return createGateway({ cluster, limits: EDGE_LIMITS, onDefect: onProblem });
}

/** The gateway of this isolate. One that could not be opened is tried again by the next request. */
function gatewayOf(env: Env): Promise<Gateway> {
  opened ??= open(env).catch((error: unknown) => {
    opened = undefined;
    throw error;
  });
  return opened;
}

/** The Worker. */
const worker: ExportedHandler<Env> = {
  fetch: async (request, env) => {
    const gateway = await gatewayOf(env);
    const rawTarget = request.headers.get(TARGET_HEADER) ?? undefined;
    return await gateway.app.fetch(request, rawTarget === undefined ? {} : { rawTarget });
  },
};

export default worker;
