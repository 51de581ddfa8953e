/** Small questions about the process: is it there, which interfaces does it have, what has it done so far. */
import type { Call, Reply } from "../call.ts";
import type { GatewayContext } from "../context.ts";
import type { Deployment } from "../deployment.ts";
import { jsonReply } from "../failure.ts";
import { DEFAULT_LIMITS, LIMIT_IDS, shown } from "../limits.ts";

/** The Vespa release whose interfaces these are, told to clients that ask for a version. */
export const VESPA_VERSION = "8.700.24";

const DOCUMENT_HANDLER = "com.yahoo.document.restapi.resource.DocumentV1ApiHandler";
const SEARCH_HANDLER = "com.yahoo.search.handler.SearchHandler";

/** What answers a path of this file. */
type StatusRoute = (context: GatewayContext, call: Call, deployment: Deployment) => Reply | Promise<Reply>;

/** Whether the process is there: the one thing that everybody may ask. */
export const LIVE = "/livez";

/** Answers by path. All take GET and HEAD only. */
export const STATUS_ROUTES: Readonly<Record<string, StatusRoute>> = {
  "/": applicationStatus,
  "/ApplicationStatus": applicationStatus,
  [LIVE]: () => textReply("text/plain", "ok\n"),
  "/status.html": () => textReply("text/html", "<!doctype html><title>OK</title>OK\n"),
  "/state/v1": (_, call) => jsonReply(200, { resources: resources(call) }),
  "/readyz": readiness,
  "/metrics": prometheus,
  "/limits": ({ limits, shownLimits = shown(LIMIT_IDS, limits, DEFAULT_LIMITS) }) =>
    jsonReply(200, { limits: shownLimits }),
  "/state/v1/config": (_, __, deployment) => jsonReply(200, { config: configState(deployment) }),
  "/state/v1/health": health,
  "/state/v1/version": () => jsonReply(200, { version: VESPA_VERSION }),
  "/state/v1/metrics": (context) => jsonReply(200, stateMetrics(context)),
  "/metrics/v2/values": (context) => jsonReply(200, nodeMetrics(context)),
};

/** What is wrong, each in one sentence; nothing: queries are answered and documents stored. */
async function problemsOf({ cluster, operation }: GatewayContext): Promise<readonly string[]> {
  return [
    ...(operation().isDraining ? ["The server is being stopped"] : []),
    ...(cluster.application() === undefined ? ["No application is deployed yet"] : []),
    ...((await cluster.health?.()) ?? []),
  ];
}

/** Whether requests should come here: 200, or 503 with the reasons. */
async function readiness(context: GatewayContext): Promise<Reply> {
  const problems = await problemsOf(context);
  if (problems.length === 0) return jsonReply(200, { ready: true });
  const reply = jsonReply(503, { ready: false, problems });
  return { ...reply, headers: { ...reply.headers, "retry-after": "1" } };
}

/** Vespa's form of the same, which is 200 as long as somebody answers. */
async function health(context: GatewayContext): Promise<Reply> {
  const problems = await problemsOf(context);
  const isStarting = context.cluster.application() === undefined;
  const status =
    problems.length === 0
      ? { code: "up" }
      : { code: isStarting ? "initializing" : "down", message: problems.join("; ") };
  return jsonReply(200, { time: Date.now(), status });
}

async function prometheus(context: GatewayContext): Promise<Reply> {
  const { prometheusText } = await import("../load/prometheus.ts");
  return textReply("text/plain; version=0.0.4", await prometheusText(context));
}

function textReply(type: string, body: string): Reply {
  return { status: 200, headers: { "content-type": `${type}; charset=utf-8` }, body };
}

function resources(call: Call): readonly { readonly url: string }[] {
  const base = `http://${call.header("host") ?? "localhost"}/state/v1`;
  return ["metrics", "config", "health", "version"].map((name) => ({ url: `${base}/${name}` }));
}

/** What is deployed is what is served: nothing has to be restarted for it. */
function configState({ generation }: Deployment): object {
  return { generation, applyOnRestart: false, container: { generation }, wantedGeneration: generation };
}

function handler(id: string, bundle: string, ...bindings: readonly string[]): Readonly<Record<string, unknown>> {
  return { id, class: id, bundle: `${bundle}:${VESPA_VERSION}`, serverBindings: bindings, clientBindings: [] };
}

/** `vespa visit` looks for the document interface in this list, and does not start without it. */
function applicationStatus({ cluster }: GatewayContext): Reply {
  return jsonReply(200, {
    application: {
      vespa: { version: VESPA_VERSION },
      meta: { name: "default", fingerprint: cluster.application()?.fingerprint ?? "" },
    },
    abstractComponents: [],
    handlers: [
      handler(DOCUMENT_HANDLER, "vespaclient-container-plugin", "http://*/document/v1/*", "http://*/document/v1/*/"),
      handler(SEARCH_HANDLER, "container-search-and-docproc", "http://*/search", "http://*/search/*"),
    ],
    clients: [],
    servers: [],
  });
}

/** All metrics by name: answers by kind and status, and what is under way. */
function metricValues(context: GatewayContext): readonly (readonly [name: string, value: number])[] {
  return [
    ...context.counters.entries().map(([name, count]) => [`http.${name}.count`, count] as const),
    ["document.running.last", context.documents.running],
    ["document.queued.last", context.documents.queued],
    ["visit.running.last", context.visits.running],
    ["visit.queued.last", context.visits.queued],
    ["search.running.last", context.searches.running],
    ["search.queued.last", context.searches.queued],
    ["request.body.bytes.last", context.bodies.heldBytes],
  ];
}

function stateMetrics(context: GatewayContext): unknown {
  const values = metricValues(context).map(([name, value]) => {
    const dot = name.lastIndexOf(".");
    return { name: name.slice(0, dot), values: { [name.slice(dot + 1)]: value } };
  });
  const snapshot = { from: context.counters.startedAtMs / 1_000, to: Date.now() / 1_000 };
  return { time: Date.now(), status: { code: "up" }, metrics: { snapshot, values } };
}

function nodeMetrics(context: GatewayContext): unknown {
  const service = {
    name: "vespa.container",
    timestamp: Math.floor(Date.now() / 1_000),
    status: { code: "up" },
    metrics: [{ values: Object.fromEntries(metricValues(context)), dimensions: { serviceId: "container" } }],
  };
  return { nodes: [{ hostname: "localhost", role: "default/container/default/0", services: [service] }] };
}
