/** `/metrics` in the text form of Prometheus. Never by group: that would tell about one tenant and never end. */
import type { ClusterFigures, SharedStoreFigures } from "@brooklet/partition";
import type { GatewayContext } from "../context.ts";
import type { Admission } from "./admission.ts";
import { tellModels } from "./model-metrics.ts";
import { histograms, type Sample, type Teller, tellerOf } from "./samples.ts";

/** What is told of each thread, and whether it only grows. */
const OF_THREADS: readonly (readonly [
  name: string,
  help: string,
  isCounter: boolean,
  of: (it: ClusterFigures) => number,
])[] = [
  ["buckets_open", "Bucket files that are open", false, ({ buckets }) => buckets],
  ["commits_total", "Transactions of writes", true, ({ commits }) => commits],
  ["log_bytes", "Bytes committed that are in write-ahead logs only, about", false, ({ logBytes }) => logBytes],
  ["file_bytes", "Bytes of the bucket files that are open", false, ({ fileBytes }) => fileBytes],
  ["file_free_bytes", "Bytes of them that are free for what is written next", false, ({ freeBytes }) => freeBytes],
  ["folds_total", "Tails folded and segments rewritten", true, ({ folds }) => folds],
  ["fold_seconds_total", "Time that took", true, ({ foldMs }) => foldMs / 1_000],
  ["folds_failed_total", "Folds that failed", true, ({ foldsFailed }) => foldsFailed],
  ["folds_queued", "Folds that wait", false, ({ foldsQueued }) => foldsQueued],
  ["core_memory_bytes", "Memory of the core", false, ({ memoryBytes }) => memoryBytes],
  ["resident_bytes", "Blocks that are resident", false, ({ residentBytes }) => residentBytes],
  ["block_hits_total", "Blocks that were resident when they were needed", true, ({ blockHits }) => blockHits],
  ["block_misses_total", "Blocks that were read", true, ({ blockMisses }) => blockMisses],
  ["searches_running", "Searches that are with the thread", false, ({ searchesRunning }) => searchesRunning],
  ["searches_queued", "Searches that wait for the thread", false, ({ searchesQueued }) => searchesQueued],
];

/** All metrics. */
export async function prometheusText(context: GatewayContext): Promise<string> {
  const { counters, bodies, cluster, models, operation } = context;
  const lines: string[] = [];
  const tell = tellerOf(lines);
  const answers = counters.entries().map(([name, count]): Sample => {
    const [kind = "", status = ""] = name.split(".");
    return [{ kind, status }, count];
  });
  tell("requests_total", "Answers by kind of request and status", "counter", answers);
  const failures = [...counters.failures].map(([code, count]): Sample => [{ code }, count]);
  tell("failures_total", "Failures that are the operator's matter, by error code", "counter", failures);
  lines.push(...durations(context));
  const queues = Object.entries(queuesOf(context));
  tell(
    "admission_running",
    "Requests at work",
    "gauge",
    queues.map(([queue, it]) => [{ queue }, it.running]),
  );
  tell(
    "admission_queued",
    "Requests that wait",
    "gauge",
    queues.map(([queue, it]) => [{ queue }, it.queued]),
  );
  tell("request_body_bytes", "Bytes of request bodies held", "gauge", [[{}, bodies.heldBytes]]);
  const { isDraining, lagSeconds } = operation();
  tell("draining", "Whether the server is being stopped", "gauge", [[{}, isDraining ? 1 : 0]]);
  if (lagSeconds !== undefined)
    tell("event_loop_lag_seconds", "Lateness of turns, of 99 in a hundred", "gauge", [[{}, lagSeconds]]);
  const problems = (await cluster.health?.()) ?? [];
  tell("healthy", "Whether queries are answered and documents stored", "gauge", [[{}, problems.length === 0 ? 1 : 0]]);
  const threads = (await cluster.figures?.()) ?? [];
  for (const [name, help, isCounter, of] of OF_THREADS) {
    const samples = threads.map((figures, thread): Sample => [{ thread }, of(figures)]);
    tell(name, help, isCounter ? "counter" : "gauge", samples);
  }
  const shared = cluster.sharedStore?.();
  if (shared !== undefined) tellSharedStore(shared, tell);
  tellModels(await models.states(cluster), tell, lines);
  return `${lines.join("\n")}\n`;
}

/** What was asked of the store that several servers share: what it costs. */
function tellSharedStore(shared: SharedStoreFigures, tell: Teller): void {
  const { puts, gets, lists, removes, bytesWritten, bytesRead, bucketsOwned } = shared;
  const samples = (label: string, counts: Readonly<Record<string, number>>): readonly Sample[] =>
    Object.entries(counts).map(([value, count]) => [{ [label]: value }, count]);
  const requests = samples("request", { put: puts, get: gets, list: lists, delete: removes });
  tell("store_requests_total", "Requests made of the object store", "counter", requests);
  const bytes = samples("direction", { written: bytesWritten, read: bytesRead });
  tell("store_bytes_total", "Bytes that were stored there and read", "counter", bytes);
  tell("store_buckets_owned", "Buckets that this server writes", "gauge", [[{}, bucketsOwned]]);
}

function queuesOf(context: GatewayContext): Readonly<Record<string, Pick<Admission, "running" | "queued">>> {
  const { documents, feeds, visits, searches, searchesOfSeveral, generations } = context;
  return { documents, feeds, visits, searches, searchesOfSeveral, generations };
}

function durations({ counters, stageTimes }: GatewayContext): readonly string[] {
  const by = (label: string, all: GatewayContext["stageTimes"]): Parameters<typeof histograms>[2] =>
    [...all].map(([value, { figures }]) => [{ [label]: value }, figures]);
  return [
    ...histograms("request_seconds", "From the arrival of a request to its answer", by("kind", counters.durations)),
    ...histograms("stage_seconds", "Stages of queries: embedding, searching, running models", by("stage", stageTimes)),
  ];
}
