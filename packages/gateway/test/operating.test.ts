import type { Outcome } from "@brooklet/partition";
import { expect, test } from "vitest";
import { type Answered, createGateway, DEFAULT_LIMITS } from "../src/index.ts";
import { type FakeCluster, fakeCluster } from "./fake-cluster.ts";

const URL = "http://localhost";

function gatewayOf(
  cluster: FakeCluster,
  isDraining = false,
): (path: string) => Promise<{ status: number; text: string }> {
  const gateway = createGateway({ cluster, operation: () => ({ isDraining, lagSeconds: 0.012 }) });
  return async (path) => {
    const answer = await gateway.fetch(`${URL}${path}`);
    return { status: answer.status, text: await answer.text() };
  };
}

test.each([
  ["an application is missing", { report: undefined }, false, "initializing", "No application is deployed yet"],
  ["the server is being stopped", {}, true, "down", "The server is being stopped"],
  ["a query fails", { health: async () => ["A query failed: no"] }, false, "down", "A query failed: no"],
])("not ready, and it is said why: %s", async (_, members, isDraining, code, problem) => {
  const ask = gatewayOf(Object.assign(fakeCluster(), members), isDraining);
  const ready = await ask("/readyz");
  expect([ready.status, JSON.parse(ready.text)]).toEqual([503, { ready: false, problems: [problem] }]);
  const health = await ask("/state/v1/health");
  expect(JSON.parse(health.text)).toMatchObject({ status: { code, message: problem } });
  expect((await ask("/livez")).status).toBe(200);
});

test("ready, where queries are answered and documents stored", async () => {
  const ask = gatewayOf(Object.assign(fakeCluster(), { health: async () => [] }));
  expect(await ask("/readyz")).toEqual({ status: 200, text: '{"ready":true}' });
  expect(JSON.parse((await ask("/state/v1/health")).text)).toMatchObject({ status: { code: "up" } });
});

test("metrics of a store that several servers share say what it is billed for", async () => {
  const asked = { puts: 3, gets: 5, lists: 2, removes: 1, bytesWritten: 700, bytesRead: 900, bucketsOwned: 4 };
  const ask = gatewayOf(Object.assign(fakeCluster(), { sharedStore: () => asked }));
  const { text } = await ask("/metrics");
  const told = text.split("\n").filter((line) => line.startsWith("brooklet_store_"));
  expect(told).toEqual([
    'brooklet_store_requests_total{request="put"} 3',
    'brooklet_store_requests_total{request="get"} 5',
    'brooklet_store_requests_total{request="list"} 2',
    'brooklet_store_requests_total{request="delete"} 1',
    'brooklet_store_bytes_total{direction="written"} 700',
    'brooklet_store_bytes_total{direction="read"} 900',
    "brooklet_store_buckets_owned 4",
  ]);
  expect((await gatewayOf(fakeCluster())("/metrics")).text).not.toContain("brooklet_store_");
});

test("metrics of Prometheus: each line is a comment or a sample, of kinds and threads, never of a group", async () => {
  const figures = { buckets: 2, commits: 7, logBytes: 3, fileBytes: 9, freeBytes: 1, folds: 4, foldMs: 1_500 };
  const more = { foldsFailed: 0, foldsQueued: 1, memoryBytes: 5, residentBytes: 6, blockHits: 8, blockMisses: 2 };
  const thread = { ...figures, ...more, searchesRunning: 1, searchesQueued: 3 };
  const ask = gatewayOf(Object.assign(fakeCluster(), { figures: async () => [thread, thread] }));
  await ask("/document/v1/ns/mail/group/canarygroup/canarydocument");
  await ask("/search/?yql=select+canaryword&streaming.groupname=canarygroup");
  const { status, text } = await ask("/metrics");
  expect(status).toBe(200);
  expect(text).not.toContain("canary");
  for (const line of text.trimEnd().split("\n"))
    expect(line).toMatch(
      /^(# (HELP|TYPE) brooklet_\w+ \S.*|brooklet_\w+(\{\w+="[\w.+]+"(,\w+="[\w.+]+")*\})? [\d.e+-]+)$/,
    );
  expect(text).toContain('brooklet_requests_total{kind="document",status="4xx"} 1');
  expect(text).toContain('brooklet_request_seconds_count{kind="search"} 1');
  expect(text).toContain('brooklet_request_seconds_bucket{kind="search",le="+Inf"} 1');
  expect(text).toContain("brooklet_event_loop_lag_seconds 0.012");
  expect(text).toContain('brooklet_fold_seconds_total{thread="1"} 1.5');
  expect(text).toContain('brooklet_searches_queued{thread="0"} 3');
  expect(text).toContain("# TYPE brooklet_commits_total counter");
});

test("limits are told in the shape of a server where there is none around the gateway", async () => {
  const gateway = createGateway({ cluster: fakeCluster(), limits: { bodyBytes: 2_000 } });
  const { limits } = (await (await gateway.fetch(`${URL}/limits`)).json()) as { limits: object };
  expect(limits).toMatchObject({
    bodyBytes: { limit: "L-body", value: 2_000, default: DEFAULT_LIMITS.bodyBytes },
    headerCount: { limit: "L-head", value: 100 },
  });
  expect(Object.keys(limits)).toEqual(Object.keys(DEFAULT_LIMITS));
});

test("failures that are the operator's matter are counted by their codes, those of damage and defects from 0", async () => {
  const cluster = fakeCluster();
  const { query } = cluster;
  const failed = (name: string): Uint8Array =>
    new TextEncoder().encode(JSON.stringify({ root: { id: "toplevel", errors: [{ code: 10, message: "no", name }] } }));
  const answer = { status: 500, contentType: "application/json", bytesRead: 0, bytesScanned: 0 };
  cluster.query = (request) => {
    const opened = query(request);
    const [, group = ""] = opened.scope?.keys?.[0]?.split(":") ?? [];
    const isFailure = group === "STORE_CORRUPT" || group === "NULL_QUERY";
    return isFailure ? { ...opened, search: async () => ({ ...answer, body: failed(group) }) } : opened;
  };
  const told: unknown[] = [];
  const gateway = createGateway({ cluster, onAnswered: ({ status, failure }) => told.push([status, failure]) });
  const ask = async (path: string): Promise<string> => (await gateway.fetch(`${URL}${path}`)).text();
  const counts = async (): Promise<Readonly<Record<string, number>>> => {
    const lines = (await ask("/metrics")).matchAll(/^brooklet_failures_total\{code="(\w+)"\} (\d+)$/gm);
    return Object.fromEntries([...lines].map(([, code, count]) => [code, Number(count)]));
  };
  const none = {
    INSUFFICIENT_STORAGE: 0,
    INTERNAL: 0,
    OVERLOADED: 0,
    STORE_CORRUPT: 0,
    STORE_FAILED: 0,
    UNAVAILABLE: 0,
  };
  expect(await counts()).toEqual(none);
  const search = (group: string): Promise<string> =>
    ask(`/search/?yql=select+*+from+mail+where+true&streaming.groupname=${group}`);
  await search("sound");
  expect(await search("STORE_CORRUPT")).toContain('"code":"STORE_CORRUPT"}');
  await search("broken");
  // What its callers did wrong is 500 as well, as in Vespa.
  expect(await search("NULL_QUERY")).toContain('"code":"NULL_QUERY"}');
  expect(await counts()).toEqual({ ...none, INTERNAL: 1, STORE_CORRUPT: 1 });
  expect(told.filter((one) => JSON.stringify(one).startsWith("[500"))).toEqual([
    [500, "operator"],
    [500, "operator"],
    [500, "caller"],
  ]);
});

test.each(["application/jsonl", "application/json"])(
  "operations of a feed that fail are counted likewise, and the first that comes to something is told: %s",
  async (accept) => {
    const cluster = fakeCluster();
    cluster.feed = async function* () {
      const outcomes = [
        { status: 200 },
        { status: 400, code: "INVALID_DOCUMENT" },
        { status: 507, code: "INSUFFICIENT_STORAGE" },
      ];
      yield [...outcomes, { status: 500, code: "STORE_CORRUPT" }, { status: 200 }].map((outcome, number) => ({
        ...{ number, id: "" },
        outcome: outcome as Outcome,
      }));
    };
    const answers: [kind: string, status: number, failure?: string][] = [];
    const onAnswered = ({ kind, status, failure }: Answered): void =>
      void answers.push([kind, status, failure] as [string, number, string]);
    const gateway = createGateway({ cluster, onAnswered });
    const headers = { accept, "content-type": "application/json" };
    await (await gateway.fetch(`${URL}/brooklet/v1/feed`, { method: "POST", headers, body: "{}" })).text();
    expect(answers.filter(([kind]) => kind === "operation")).toEqual([
      ["operation", 200, undefined],
      ["operation", 400, "caller"],
      ["operation", 507, "caller"],
      ["operation", 500, "operator"],
    ]);
    expect(answers).toContainEqual(["feed", 200, undefined]);
    const told = await (await gateway.fetch(`${URL}/metrics`)).text();
    expect(told).toContain('brooklet_failures_total{code="STORE_CORRUPT"} 1');
    // Without what made it, that is a group that has as much as it may have.
    expect(told).toContain('brooklet_failures_total{code="INSUFFICIENT_STORAGE"} 0');
    expect(told).not.toContain("INVALID_DOCUMENT");
  },
);
