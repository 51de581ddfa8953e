/**
 * `/model-evaluation/v1` over a gateway, with onnxruntime in its threads: the answers of the reference's handler
 * (test-vectors/model/evaluation.json), and what is refused by name.
 */
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Writer } from "@brooklet/core";
import { createGateway, type Gateway } from "@brooklet/gateway";
import { afterEach, describe, expect, test } from "vitest";
import vectors from "../../../test-vectors/model/evaluation.json" with { type: "json" };

/** What was built: threads are started from there. */
const built = new URL("../dist/node/threads.js", import.meta.url).href;
const { openCluster } = (await import(built)) as typeof import("../src/node/threads.ts");

const HOST = `http://${vectors.host}`;
const closing: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

type Cluster = ReturnType<typeof openCluster>;

async function opened(threads: number, services = vectors.files["services.xml"]): Promise<Cluster> {
  const folder = mkdtempSync(join(tmpdir(), "brooklet-model-evaluation-"));
  const cluster = openCluster({ path: folder, threads });
  closing.push(
    () => rmSync(folder, { recursive: true, force: true }),
    () => cluster.close(),
  );
  const texts = Object.entries({ ...vectors.files, "services.xml": services });
  const binaries = Object.entries(vectors.binaries);
  const files = new Writer().varint(texts.length + binaries.length);
  for (const [path, content] of texts) files.text(path).text(content);
  for (const [path, digits] of binaries) files.text(path).bytes(Uint8Array.from(Buffer.from(digits, "hex")));
  await cluster.deploy(files.finish());
  return cluster;
}

interface Exchange {
  readonly method?: string;
  readonly target: string;
  readonly status: number;
  readonly body?: unknown;
  readonly text?: string;
  /** Why only the status is as recorded. */
  readonly differs?: string;
}

/** What is answered, without the two members that all failures have here. */
async function ask(gateway: Gateway, { method = "GET", target }: Exchange) {
  const response = await gateway.fetch(`${HOST}${target}`, { method });
  expect(response.headers.get("content-type")).toBe("application/json");
  const text = await response.text();
  const { status } = response;
  if (status !== 200) {
    const { error, outcome, code, ...more } = JSON.parse(text);
    expect([outcome, typeof code, more]).toEqual(["not_applied", "string", {}]);
    return { status, body: { error } };
  }
  return { status, ...(/^[{[]/.test(text) ? { body: JSON.parse(text) as unknown } : { text }) };
}

describe.each([0, 1])("with %i threads", (threads) => {
  test("models answer as the reference's handler does", async () => {
    const gateway = createGateway({ cluster: await opened(threads) });
    for (const { name, exchanges } of vectors.conversations)
      for (const exchange of exchanges as readonly Exchange[]) {
        const { method: _, target, differs, ...expected } = exchange;
        const answer = await ask(gateway, exchange);
        if (differs === undefined) expect([name, target, answer]).toEqual([name, target, expected]);
        else expect([name, target, answer.status]).toEqual([name, target, expected.status]);
      }
  });
});

test("arguments come in a form too, and those of the URL go before them", async () => {
  const gateway = createGateway({ cluster: await opened(0) });
  const headers = { "content-type": "application/x-www-form-urlencoded" };
  const form = { method: "POST", headers, body: "price=3&Weight=0.25" };
  const value = async (query: string): Promise<unknown> => {
    const response = await gateway.fetch(`${HOST}/model-evaluation/v1/trees/eval${query}`, form);
    return ((await response.json()) as { readonly values: readonly number[] }).values[0];
  };
  expect(await value("")).toBe(0.5);
  expect(await value("?Weight=1")).toBe(4);
  expect(await value("?price=2")).toBe(-1.25);
});

test("a path that is no text is refused, and so are models where services.xml does not offer them", async () => {
  const gateway = createGateway({
    cluster: await opened(0, vectors.files["services.xml"].replace("<model-evaluation/>", "")),
  });
  const at = (target: string) => ask(gateway, { target, status: 0 });
  expect(await at("/model-evaluation/v1/%ff")).toMatchObject({ status: 400 });
  expect(await at("/model-evaluation/v1/trees/eval?price=3")).toEqual({
    status: 404,
    body: { error: expect.stringContaining("<model-evaluation/>") },
  });
});

test("who may not do everything evaluates nothing, and where nothing evaluates it is refused by name", async () => {
  const cluster = await opened(0);
  const keyed = createGateway({ cluster, adminKeys: [randomBytes(32).toString("base64url")] });
  expect((await keyed.fetch(`${HOST}/model-evaluation/v1/`)).status).toBe(401);
  const without = new Proxy(cluster, {
    get: (of, name) => {
      const value: unknown = name === "evaluate" ? undefined : Reflect.get(of, name, of);
      return typeof value === "function" ? value.bind(of) : value;
    },
  });
  const refused = await createGateway({ cluster: without }).fetch(`${HOST}/model-evaluation/v1/trees`);
  expect(refused.status).toBe(400);
  expect(await refused.json()).toMatchObject({ code: "UNSUPPORTED", error: expect.stringContaining("on Node") });
});
