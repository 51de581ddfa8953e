/** Spans of requests and of the stages of queries, by a tracer as OpenTelemetry has them; and the same stages at `/metrics`. */
import { AsyncLocalStorage } from "node:async_hooks";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { connect, open, type RunningService, schema, serve, text } from "../src/index.ts";
import type { Tracer } from "../src/node/telemetry.ts";
import { folder } from "./served.ts";

const CANARY = "canaryword";
const plain = schema("plain", { body: text() });

interface Recorded {
  readonly name: string;
  readonly parent: string | undefined;
  readonly attributes: Record<string, string | number>;
  status?: number;
  isEnded: boolean;
}

/** A tracer that keeps what it is told. */
function recording(): { readonly tracer: Tracer; readonly spans: Recorded[] } {
  const spans: Recorded[] = [];
  const active = new AsyncLocalStorage<Recorded>();
  const tracer: Tracer = {
    startActiveSpan: (name, work) => {
      const span: Recorded = { name, parent: active.getStore()?.name, attributes: {}, isEnded: false };
      spans.push(span);
      return active.run(span, () =>
        work({
          setAttribute: (key, value) => {
            span.attributes[key] = value;
          },
          setStatus: ({ code }) => {
            span.status = code;
          },
          end: () => {
            span.isEnded = true;
          },
        }),
      );
    },
  };
  return { tracer, spans };
}

async function served(tracer?: Tracer): Promise<RunningService> {
  const path = join(folder(), "data");
  await (await open({ path, schemas: [plain] })).close();
  const service = await serve({ path, port: 0, adminKeys: [], threads: 1, ...(tracer && { tracer }) });
  onTestFinished(() => service.close());
  return service;
}

async function ask(service: RunningService): Promise<void> {
  const connection = await connect({ url: service.url, schemas: [plain] });
  await connection.group(CANARY).put(plain, CANARY, { body: CANARY });
  expect(await connection.group(CANARY).search(plain, { text: CANARY })).toMatchObject({ totalCount: 1 });
}

test("a request is a span, the stages of its query are spans below it, and nothing of what is asked is in them", async () => {
  const { tracer, spans } = recording();
  const service = await served(tracer);
  await ask(service);
  const put = spans.find(
    ({ attributes }) => attributes["http.request.method"] === "POST" || attributes["http.request.method"] === "PUT",
  );
  expect(put).toMatchObject({ name: "brooklet.document", parent: undefined, isEnded: true });
  const stage = spans.find(({ parent, name }) => parent === "brooklet.search" && name === "brooklet.search");
  expect(stage?.isEnded).toBe(true);
  const request = spans.find(({ name, parent }) => name === "brooklet.search" && parent === undefined);
  expect(request?.attributes["http.response.status_code"]).toBe(200);
  expect(JSON.stringify(spans)).not.toContain(CANARY);
  // What fails by its caller is no error of the server.
  const refused = await fetch(`${service.url}/search/?yql=nonsense`);
  expect(refused.status).toBe(400);
  expect(spans.at(-1)?.status).toBe(undefined);
});

test("without a tracer the stages are counted all the same", async () => {
  const service = await served();
  await ask(service);
  const metrics = await (await fetch(`${service.url}/metrics`)).text();
  const count = /^brooklet_stage_seconds_count\{stage="search"\} (\d+)$/m.exec(metrics)?.[1];
  expect(Number(count)).toBeGreaterThan(0);
  expect(metrics).toContain('brooklet_stage_seconds_bucket{stage="models",le="+Inf"} 0');
  expect(metrics).not.toContain(CANARY);
});

test("the dashboard and the alerts ask for metrics that a server tells", async () => {
  const service = await served();
  await ask(service);
  const told = await (await fetch(`${service.url}/metrics`)).text();
  const types = new Map([...told.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name = "", type = ""]) => [name, type]));
  const asked = ["grafana/brooklet.json", "brooklet.rules.yml"].flatMap((file) => {
    const text = readFileSync(new URL(`../../../deploy/${file}`, import.meta.url), "utf8");
    // Those of models are told where there are some: packages/gateway/test/models.test.ts.
    return text.match(/brooklet_(?!model_)[a-z_]+/g) ?? [];
  });
  const names = new Set(asked);
  expect(names.size).toBeGreaterThan(15);
  for (const name of names) {
    const family = types.has(name) ? name : name.replace(/_(?:bucket|sum|count)$/, "");
    expect([name, types.get(family)]).toEqual([name, family === name ? expect.any(String) : "histogram"]);
    expect(told).toMatch(new RegExp(`^${name}(?:\\{.*\\})? \\S+$`, "m"));
  }
});
