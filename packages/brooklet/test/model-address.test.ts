/**
 * Models that a schema gives the address of: a deploy takes what `brooklet model pull` downloaded and downloads nothing, a
 * query runs the file that was there when it was deployed.
 */
import { appendFileSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { double, schema, text } from "@brooklet/client";
import { ModelFiles } from "@brooklet/models/node";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { crossEncoder } from "../../models/test/tiny-model.ts";
import { runCommandLine } from "../src/command/program.ts";
import { type Database, open } from "../src/open.ts";

/** What was built: threads are started from there. */
const built = new URL("../dist/serve.js", import.meta.url).href;
const { serve } = (await import(built)) as typeof import("../src/serve.ts");

let server: Server;
let url: string;
let requests = 0;
let folder: string;
let cache: string;

beforeAll(async () => {
  server = createServer((_, response) => {
    requests += 1;
    response.end(crossEncoder());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/cross.onnx`;
});

afterAll(() => new Promise((resolve) => server.close(resolve)));

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "brooklet-model-address-"));
  cache = join(folder, "cache");
});

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
  rmSync(folder, { recursive: true, force: true });
});

const ids = "tensor<float>(d0[1],d1[4])(if(d1 == 1, query(token), if(d1 == 3, attribute(token), 0)))";
const inputs = {
  input_ids: ids,
  attention_mask: "tensor<float>(d0[1],d1[4])(1)",
  token_type_ids: "tensor<float>(d0[1],d1[4])(d1 > 1)",
};
const note = () =>
  schema(
    "note",
    { title: text(), token: double() },
    {
      profiles: {
        scored: {
          inputs: { token: "double" },
          onnxModels: {
            cross: { url, inputs },
          },
          globalPhase: "sum(onnx(cross).logits)",
        },
      },
    },
  );

const opened = (models = {}, path = join(folder, "data")): Promise<Database> =>
  open({ path, schemas: [note()], models: { modelCache: cache, ...models } });

async function pull(...words: readonly string[]): Promise<number> {
  return await runCommandLine(["model", "pull", ...words, "--model-cache", cache], {
    print: () => undefined,
    warn: () => undefined,
    progress: () => undefined,
    input: (async function* () {})(),
    untilEnded: () => Promise.resolve(),
  });
}

interface Answer {
  readonly root: {
    readonly children?: readonly { readonly relevance: number }[];
    readonly errors?: readonly { readonly message: string }[];
  };
}

async function scores(db: Database): Promise<readonly number[]> {
  const asked = { profile: "scored", inputs: { token: 7 }, timeoutMs: 20_000 } as const;
  const { hits } = await db.group("a").search(note(), asked);
  return hits.map(({ relevance }) => relevance);
}

test("a model that was not pulled is refused at deploy with the command to run, and nothing is downloaded", async () => {
  const before = requests;
  const command = `run 'brooklet model pull ${url}'`;
  await expect(opened()).rejects.toThrow(command);
  await expect(opened({ modelCache: undefined })).rejects.toThrow(command);
  expect(requests).toBe(before);
});

test("one that was pulled is run, also after a restart and without the network", async () => {
  expect(await pull(url)).toBe(0);
  const before = requests;
  for (const isFirst of [true, false]) {
    await using db = await opened();
    const group = db.group("a");
    if (isFirst) {
      await group.put(note(), "1", { title: "one", token: 7 });
      await group.put(note(), "2", { title: "two", token: 8 });
    }
    expect(await scores(db)).toEqual([2, 1]);
  }
  expect(requests).toBe(before);
});

test("what changed since the download is refused at deploy", async () => {
  await pull(url);
  const path = new ModelFiles({ folder: cache }).find(url) ?? "";
  appendFileSync(path, Uint8Array.of(0x08, 0x08));
  await expect(opened()).rejects.toThrow(`What is kept of ${url} is not what was downloaded: remove it`);
  writeFileSync(path, "<html>");
  await expect(opened()).rejects.toThrow("cannot be used: The file is no ONNX model");
});

test("pull --app downloads what schemas name; a query runs that file and no other; the package has none of it", async () => {
  const application = join(folder, "app");
  const sd = `schema note { document note { field token type float { indexing: attribute } }
    onnx-model cross {
      uri: "${url}"
      ${Object.entries(inputs)
        .map(([name, is]) => `input ${name}: ${is}`)
        .join("\n")}
    }
    rank-profile scored { inputs { query(token) double }
      first-phase { expression: sum(onnx(cross)) } } }`;
  const services = `<services version="1.0"><content id="n" version="1.0"><redundancy>1</redundancy>
    <documents><document type="note" mode="streaming"/></documents></content></services>`;
  for (const [path, content] of Object.entries({ "services.xml": services, "schemas/note.sd": sd })) {
    mkdirSync(dirname(join(application, path)), { recursive: true });
    writeFileSync(join(application, path), content);
  }
  expect(await pull("--app", application)).toBe(0);
  const path = join(folder, "served");
  const service = await serve({ path, application, port: 0, threads: 1, models: { modelCache: cache } });
  closing.push(() => service.close());
  const put = { method: "POST", body: '{"fields":{"token":3}}', headers: { "content-type": "application/json" } };
  expect((await fetch(`${service.url}/document/v1/n/note/group/a/1`, put)).status).toBe(200);
  const query = new URLSearchParams({
    yql: "select * from note where true",
    "streaming.groupname": "a",
    "ranking.profile": "scored",
    "input.query(token)": "3",
    timeout: "60s",
  });
  const asked = async () => (await (await fetch(`${service.url}/search/?${query}`)).json()) as Answer;
  const state = async () => {
    const { models } = (await (await fetch(`${service.url}/brooklet/v1/models`)).json()) as {
      models: readonly object[];
    };
    expect(models).toHaveLength(1);
    return models[0];
  };
  expect(await state()).toEqual({ id: url, kind: "onnx", state: "unloaded", calls: [] });
  const downloaded = new ModelFiles({ folder: cache }).find(url) ?? "";
  const away = `${downloaded}.away`;
  renameSync(downloaded, away);
  const told = `not in the folder of downloads: run 'brooklet model pull ${url}'`;
  // Nobody asked for it yet, and it is known.
  expect(await state()).toMatchObject({ state: "failed", problem: expect.stringContaining(told) });
  expect((await asked()).root.errors?.[0]?.message).toContain(told);
  expect(await state()).toMatchObject({ state: "failed", problem: expect.stringContaining(told) });
  writeFileSync(downloaded, "<html>");
  expect((await asked()).root.errors?.[0]?.message).toContain("is not the one whose outline was deployed");
  expect(await state()).toMatchObject({ state: "failed", problem: expect.stringContaining("is not the one whose") });
  renameSync(away, downloaded);
  const answer = await asked();
  expect(answer.root.children?.map(({ relevance }) => relevance)).toEqual([2]);
  expect(await state()).toMatchObject({ state: "ready", sessions: 1, calls: [{ purpose: "query", items: 1 }, {}] });
  const content =
    "/application/v2/tenant/default/application/default/environment/prod/region/default/instance/default/content/";
  const files = (await (await fetch(`${service.url}${content}?recursive=true`)).json()) as readonly string[];
  expect(files.map((file) => file.slice(file.indexOf("/content/") + 9))).toEqual([
    "schemas/",
    "schemas/note.sd",
    "services.xml",
  ]);
});
