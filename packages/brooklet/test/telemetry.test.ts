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

const DEPLOY = new URL("../../../deploy/", import.meta.url);

/** The expressions of the dashboard and the alerts, each with the names of labels that its legend shows. */
function asked(): readonly { readonly expression: string; readonly shown: readonly string[] }[] {
  const dashboard = JSON.parse(readFileSync(new URL("grafana/brooklet.json", DEPLOY), "utf8")) as {
    readonly panels: readonly { readonly targets?: readonly { expr: string; legendFormat: string }[] }[];
  };
  const rules = readFileSync(new URL("brooklet.rules.yml", DEPLOY), "utf8");
  const alerts = [...rules.matchAll(/expr: (?:>-\n)?([\s\S]*?)\n +(?:for|annotations):/g)].map(([, text = ""]) => text);
  expect(alerts.length).toBe(rules.match(/alert:/g)?.length);
  return [
    ...alerts.map((expression) => ({ expression, shown: [] })),
    ...dashboard.panels.flatMap(({ targets = [] }) =>
      targets.map(({ expr, legendFormat }) => {
        const shown = [...legendFormat.matchAll(/\{\{(\w+)\}\}/g)].map(([, label = ""]) => label);
        return { expression: expr, shown };
      }),
    ),
  ];
}

test("the dashboard and the alerts ask for metrics that a server tells, with the labels that they have", async () => {
  const service = await served();
  await ask(service);
  const told = await (await fetch(`${service.url}/metrics`)).text();
  const types = new Map([...told.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name = "", type = ""]) => [name, type]));
  const labels = new Set([...told.matchAll(/[{,](\w+)="/g)].map(([, label = ""]) => label));
  const expressions = asked();
  // Those of models are told where there are some: packages/gateway/test/models.test.ts.
  const names = new Set(expressions.flatMap(({ expression }) => expression.match(/brooklet_(?!model_)[a-z_]+/g) ?? []));
  expect(names.size).toBeGreaterThan(15);
  for (const name of names) {
    const family = types.has(name) ? name : name.replace(/_(?:bucket|sum|count)$/, "");
    expect([name, types.get(family)]).toEqual([name, family === name ? expect.any(String) : "histogram"]);
    expect(told).toMatch(new RegExp(`^${name}(?:\\{.*\\})? \\S+$`, "m"));
  }
  for (const { expression, shown } of expressions) {
    for (const [, name = "", label = "", values = ""] of expression.matchAll(/(brooklet_\w+)\{(\w+)=~?"([^"]*)"\}/g)) {
      for (const value of values.split("|"))
        expect(told).toMatch(new RegExp(`^${name}\\{(?:.*,)?${label}="${value}"`, "m"));
    }
    if (expression.includes("brooklet_model_")) continue;
    const grouped = [...expression.matchAll(/ by \(([\w, ]*)\)/g)].flatMap(([, list = ""]) => list.split(/, ?/));
    for (const label of [...grouped, ...shown]) expect([...labels, "job", "instance"]).toContain(label);
  }
});

test("docs/operations.md has every metric that a server tells, and no other", async () => {
  const service = await served();
  await ask(service);
  const told = await (await fetch(`${service.url}/metrics`)).text();
  const families = [...told.matchAll(/^# TYPE brooklet(_\S+) /gm)].map(([, name = ""]) => name);
  const page = readFileSync(new URL("../docs/operations.md", DEPLOY), "utf8");
  const rows = page.match(/^\| `brooklet_.*$/gm) ?? [];
  // A name may leave out what it begins with as the one before does.
  const names = rows.flatMap((row) => [...(row.split(" | ")[0] ?? "").matchAll(/`(?:brooklet)?(_[a-z_]+)/g)]);
  const named = names.map(([, name = ""]) => name);
  const isOf = (family: string, name: string): boolean => family === name || family.endsWith(name);
  expect(families.filter((family) => !named.some((name) => isOf(family, name)))).toEqual([]);
  // Over an object store, and with models.
  const others = named.filter(
    (name) => !/^_(?:store|model)_/.test(name) && !/^_(?:sessions|batches|tokens|dim)/.test(name),
  );
  expect(others.filter((name) => !families.some((family) => isOf(family, name)))).toEqual([]);
});
