/** What is told of models: as JSON with their states, as numbers in the metrics, and to whom. */
import { readFileSync } from "node:fs";
import type { ModelState } from "@brooklet/partition";
import { BOUNDS, Histogram } from "@brooklet/wire";
import { expect, test } from "vitest";
import { createGateway } from "../src/index.ts";
import { fakeCluster } from "./fake-cluster.ts";

const URL = "http://localhost";
const PATH = `${URL}/brooklet/v1/models`;
const KEY = "a-key-of-an-admin-that-is-as-long-as-keys-have-to-be";

function seconds(...all: readonly number[]): Histogram["figures"] {
  const histogram = new Histogram();
  for (const one of all) histogram.add(one);
  return histogram.figures;
}

const QUERIES = { purpose: "query", running: 1, waiting: 2, items: 9, failures: { TIMED_OUT: 3 } } as const;
const MODELS: readonly ModelState[] = [
  {
    id: 'mini"lm\\',
    kind: "embedder",
    type: "hugging-face-embedder",
    state: "ready",
    dimensions: 384,
    sessions: 2,
    sessionsGivenUp: 1,
    batches: 7,
    tokens: 90,
    calls: [
      { ...QUERIES, seconds: seconds(0.004, 0.2, 99) },
      { purpose: "document", running: 0, waiting: 0, items: 0, failures: {}, seconds: seconds() },
    ],
  },
  { id: "cross.onnx", kind: "onnx", state: "failed", problem: "there is no file cross.onnx", calls: [] },
];
const gateway = (models?: () => Promise<readonly ModelState[]>) =>
  createGateway({ cluster: Object.assign(fakeCluster(), models && { models }) });

test("the state of each model, with what it was asked for queries and for documents", async () => {
  const answer = await gateway(async () => MODELS).fetch(PATH);
  expect(answer.status).toBe(200);
  const { models } = (await answer.json()) as { models: readonly object[] };
  expect(models).toEqual([
    {
      ...MODELS[0],
      calls: [
        // Half of the calls took at most a quarter of a second, and the longest is above all bounds.
        { ...QUERIES, calls: 3, seconds: 0.004 + 0.2 + 99, p50Seconds: 0.25 },
        { purpose: "document", running: 0, waiting: 0, items: 0, failures: {}, calls: 0, seconds: 0 },
      ],
    },
    MODELS[1],
  ]);
});

test("no model is no mistake, neither where there are none nor where nobody knows", async () => {
  for (const one of [gateway(), gateway(async () => [])]) {
    expect(await (await one.fetch(PATH)).json()).toEqual({ models: [] });
    expect(await (await one.fetch(`${URL}/metrics`)).text()).not.toContain("brooklet_model_");
  }
});

test("metrics by model and purpose, with the names of models as Prometheus writes them", async () => {
  const text = await (await gateway(async () => MODELS).fetch(`${URL}/metrics`)).text();
  const lines = text.split("\n").filter((line) => line.startsWith("brooklet_model_"));
  const mini = 'model="mini\\"lm\\\\",kind="embedder"';
  const cross = 'model="cross.onnx",kind="onnx"';
  const plain = lines.filter((line) => !line.startsWith("brooklet_model_seconds"));
  expect(plain).toEqual([
    `brooklet_model_ready{${mini}} 1`,
    `brooklet_model_ready{${cross}} 0`,
    `brooklet_model_failed{${mini}} 0`,
    `brooklet_model_failed{${cross}} 1`,
    `brooklet_model_dimensions{${mini}} 384`,
    `brooklet_model_sessions{${mini}} 2`,
    `brooklet_model_sessions_given_up{${mini}} 1`,
    `brooklet_model_batches_total{${mini}} 7`,
    `brooklet_model_tokens_total{${mini}} 90`,
    `brooklet_model_running{${mini},purpose="query"} 1`,
    `brooklet_model_running{${mini},purpose="document"} 0`,
    `brooklet_model_waiting{${mini},purpose="query"} 2`,
    `brooklet_model_waiting{${mini},purpose="document"} 0`,
    `brooklet_model_items_total{${mini},purpose="query"} 9`,
    `brooklet_model_items_total{${mini},purpose="document"} 0`,
    `brooklet_model_failures_total{${mini},purpose="query",code="TIMED_OUT"} 3`,
  ]);
  const steps = lines.filter((line) => line.startsWith(`brooklet_model_seconds_bucket{${mini},purpose="query"`));
  expect(steps).toHaveLength(BOUNDS.length + 1);
  expect(steps).toContain(`brooklet_model_seconds_bucket{${mini},purpose="query",le="0.25"} 2`);
  expect(steps.at(-1)).toBe(`brooklet_model_seconds_bucket{${mini},purpose="query",le="+Inf"} 3`);
  expect(lines).toContain(`brooklet_model_seconds_count{${mini},purpose="document"} 0`);
  for (const [name, type] of [
    ["tokens_total", "counter"],
    ["waiting", "gauge"],
    ["seconds", "histogram"],
  ])
    expect(text).toContain(`# TYPE brooklet_model_${name} ${type}\n`);
});

test("the dashboard and the alerts ask for metrics that there are", async () => {
  const told = await (await gateway(async () => MODELS).fetch(`${URL}/metrics`)).text();
  const files = ["grafana/brooklet.json", "brooklet.rules.yml"];
  const asked = files.flatMap((file) => {
    const text = readFileSync(new globalThis.URL(`../../../deploy/${file}`, import.meta.url), "utf8");
    return text.match(/brooklet_model_[a-z_]+/g) ?? [];
  });
  expect(new Set(asked).size).toBeGreaterThan(6);
  for (const name of asked) expect(told).toContain(`\n${name}{`);
});

test("they are an operator's, and only read", async () => {
  const { fetch } = createGateway({ cluster: fakeCluster(), adminKeys: [KEY] });
  expect((await fetch(PATH)).status).toBe(401);
  const headers = { authorization: `Bearer ${KEY}` };
  expect((await fetch(PATH, { headers })).status).toBe(200);
  expect((await fetch(PATH, { method: "POST", headers })).status).toBe(405);
  expect((await fetch(`${PATH}?group=alice`, { headers })).status).toBe(400);
});
