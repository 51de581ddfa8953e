/**
 * A cross-encoder of a rank profile, end to end over HTTP and through the SDK, in process and with a thread: texts become
 * tokens when documents are put, the query's text by `embed`, and the global phase runs the model for the best hits.
 */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { open as openFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { embedding, schema, text } from "@brooklet/client";
import { Writer } from "@brooklet/core";
import { createGateway } from "@brooklet/gateway";
import { afterEach, describe, expect, test, vi } from "vitest";
import { outlineOf } from "../../models/src/onnx/outline.ts";
import { crossEncoder, tinyModel } from "../../models/test/tiny-model.ts";
import { open } from "../src/open.ts";

/** What was built: threads are started from there. */
const built = new URL("../dist/node/threads.js", import.meta.url).href;
const { openCluster } = (await import(built)) as typeof import("../src/node/threads.ts");

const vocabulary = dirname(tinyModel().tokenizer);

const SERVICES = `<services version="1.0"><container id="c" version="1.0">
  <component id="tokenizer" type="hugging-face-tokenizer">
    <model path="vocab.txt"/><special-tokens>false</special-tokens>
  </component></container>
  <content id="mail" version="1.0"><redundancy>1</redundancy><documents><document type="mail" mode="streaming"/></documents>
  <nodes><node hostalias="n" distribution-key="0"/></nodes></content></services>`;

const SCHEMA = `schema mail {
  document mail {
    field subject type string { indexing: summary | index }
  }
  field tokens type tensor<float>(d0[8]) { indexing: input subject | embed tokenizer | attribute }
  onnx-model cross {
    file: models/cross.onnx
    input input_ids: tokenInputIds(16, query(t), attribute(tokens))
    input attention_mask: tokenAttentionMask(16, query(t), attribute(tokens))
    input token_type_ids: tokenTypeIds(16, query(t), attribute(tokens))
    output logits: score
  }
  rank-profile reranked {
    inputs { query(t) tensor<float>(d0[8]) }
    first-phase { expression: bm25(subject) }
    global-phase {
      rerank-count: 3
      expression: onnx(cross).score{d0:0,d1:0}
    }
  }
  rank-profile everything inherits reranked {
    first-phase { expression: sum(onnx(cross).score) }
    global-phase { expression: relevanceScore * 10 }
    match-features: onnx(cross).score
  }
}`;

const SUBJECTS = [
  "password",
  "reset password",
  "reset a password.",
  "invoice due",
  "a due invoice",
  "password password",
];

const closing: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

async function served(
  threads: number,
  model: Uint8Array = crossEncoder(),
  sd: string = SCHEMA,
  models: string = vocabulary,
) {
  const folder = mkdtempSync(join(tmpdir(), "brooklet-rerank-"));
  const cluster = openCluster({ path: folder, threads, models: { modelFolder: models } });
  closing.push(
    () => rmSync(folder, { recursive: true, force: true }),
    () => cluster.close(),
  );
  const files = new Writer().varint(3).text("services.xml").text(SERVICES).text("schemas/mail.sd").text(sd);
  await cluster.deploy(files.text("models/cross.onnx").bytes(model).finish());
  return createGateway({ cluster });
}

type Served = Awaited<ReturnType<typeof served>>;
interface Answer {
  readonly status: number;
  readonly root: {
    readonly children?: readonly {
      readonly relevance: number;
      readonly fields: {
        readonly subject: string;
        readonly matchfeatures?: Record<string, { readonly values: number[][] }>;
      };
    }[];
    readonly errors?: readonly { readonly message: string }[];
  };
}

const HOST = "http://127.0.0.1";

async function filled(gateway: Served): Promise<Served> {
  for (const [number, subject] of SUBJECTS.entries()) {
    const body = JSON.stringify({ fields: { subject } });
    const put = { method: "POST", body, headers: { "content-type": "application/json" } };
    const group = number < 5 ? "a" : "b";
    const response = await gateway.fetch(new Request(`${HOST}/document/v1/m/mail/group/${group}/${number}`, put));
    expect(response.status).toBe(200);
  }
  return gateway;
}

async function ask(gateway: Served, more: Record<string, unknown>): Promise<Answer> {
  const body = JSON.stringify({
    yql: "select * from mail where true",
    "input.query(t)": "embed(tokenizer, @text)",
    text: "reset a password",
    timeout: "20s",
    ...more,
  });
  const post = { method: "POST", body, headers: { "content-type": "application/json" } };
  const response = await gateway.fetch(new Request(`${HOST}/search/`, post));
  return { status: response.status, ...((await response.json()) as Pick<Answer, "root">) };
}

const shown = ({ root }: Answer) => (root.children ?? []).map(({ relevance, fields }) => [fields.subject, relevance]);
const ALICE = { "streaming.groupname": "a" };

describe.each([0, 1])("with %i threads", (threads) => {
  test("the global phase runs the model for the best hits of a group, and of all groups", async () => {
    const gateway = await filled(await served(threads));
    const found = { yql: 'select * from mail where subject contains "password"', "ranking.profile": "reranked" };
    // A pair for each token in common, and one of separators.
    expect(shown(await ask(gateway, { ...found, ...ALICE }))).toEqual([
      ["reset a password.", 4],
      ["reset password", 3],
      ["password", 2],
    ]);
    const everybody = await ask(gateway, { ...found, "streaming.selection": "true" });
    expect(shown(everybody).slice(0, 2)).toEqual([
      ["reset password", 3],
      ["password password", 3],
    ]);
  });

  test("other phases and features take outputs too", async () => {
    const gateway = await filled(await served(threads));
    const answer = await ask(gateway, { "ranking.profile": "everything", hits: 2, ...ALICE });
    expect(shown(answer)).toEqual([
      ["reset a password.", 40],
      ["reset password", 30],
    ]);
    expect(answer.root.children?.[0]?.fields.matchfeatures?.["onnx(cross).score"]?.values).toEqual([[4]]);
  });
});

test.runIf(process.platform === "linux")(
  "a model of the package leaves nothing on the disk, if the process is killed",
  async () => {
    const temporary = mkdtempSync(join(tmpdir(), "brooklet-rerank-"));
    closing.push(() => rmSync(temporary, { recursive: true }));
    const gateway = await filled(await served(0));
    vi.stubEnv("TMPDIR", temporary);
    closing.push(() => void vi.unstubAllEnvs());
    expect(shown(await ask(gateway, { "ranking.profile": "everything", hits: 1, ...ALICE }))).toHaveLength(1);
    expect(readdirSync(temporary)).toEqual([]);
  },
);

test("the SDK deploys tokenizer, model and profile, and asks", async () => {
  const mail = schema(
    "mail",
    { subject: text(), tokens: embedding({ from: "subject", model: "tokenizer", dimensions: 8 }) },
    {
      profiles: {
        reranked: {
          inputs: { t: "tensor<float>(x[8])" },
          onnxModels: {
            cross: {
              file: "models/cross.onnx",
              inputs: {
                input_ids: "tokenInputIds(16, query(t), attribute(tokens))",
                attention_mask: "tokenAttentionMask(16, query(t), attribute(tokens))",
                token_type_ids: "tokenTypeIds(16, query(t), attribute(tokens))",
              },
              outputs: { logits: "score" },
            },
          },
          globalPhase: { expression: "sum(onnx(cross).score)", rerankCount: 2 },
        },
      },
    },
  );
  await using db = await open({
    schemas: [mail],
    embedders: { tokenizer: { type: "tokenizer", model: { path: "vocab.txt" }, specialTokens: false } },
    files: { "models/cross.onnx": crossEncoder() },
    models: { modelFolder: vocabulary },
  });
  const group = db.group("a");
  for (const [number, subject] of SUBJECTS.entries()) await group.put(mail, String(number), { subject });
  const inputs = { t: 'embed(tokenizer, "reset a password")' };
  const asked = { text: "password", profile: "reranked", inputs, timeoutMs: 20_000, limit: 2 } as const;
  const { hits } = await group.search(mail, asked);
  // The two best by words have been scored anew.
  expect(hits.map(({ relevance }) => relevance)).toEqual([3, 2]);
  expect(hits[1]?.fields.subject).toBe("password");
});

test("a model whose types do not fit is refused at deploy, one that the runtime refuses fails the query", async () => {
  const wrong = SCHEMA.replace("tokenTypeIds(16, query(t), attribute(tokens))", "attribute(tokens)");
  await expect(served(0, crossEncoder(), wrong)).rejects.toThrow(
    "input 'token_type_ids' is a dense tensor of the shape",
  );
  const bytes = crossEncoder();
  const name = new TextEncoder().encode("ReduceSum");
  const at = bytes.findIndex((_, index) => name.every((byte, place) => bytes[index + place] === byte));
  bytes.set(new TextEncoder().encode("Reducible"), at);
  const gateway = await filled(await served(0, bytes));
  const answer = await ask(gateway, { "ranking.profile": "reranked", ...ALICE });
  // No retry mends it.
  expect(answer.status).toBe(400);
  expect(JSON.stringify(answer.root.errors)).toContain("Reducible");
});

test("a model that is not in the package is the one in the folder of models whose outline is", async () => {
  const folder = mkdtempSync(join(tmpdir(), "brooklet-outline-"));
  closing.push(() => rmSync(folder, { recursive: true, force: true }));
  const model = crossEncoder();
  mkdirSync(join(folder, "models"));
  writeFileSync(join(folder, "vocab.txt"), readFileSync(join(vocabulary, "vocab.txt")));
  const gateway = await filled(await served(0, outlineOf(model), SCHEMA, folder));
  const asked = { "ranking.profile": "reranked", ...ALICE };
  expect(JSON.stringify((await ask(gateway, asked)).root.errors)).toContain("is not in the folder of models");
  writeFileSync(join(folder, "models", "cross.onnx"), model.subarray(1));
  expect(JSON.stringify((await ask(gateway, asked)).root.errors)).toContain("not the one whose outline was deployed");
  writeFileSync(join(folder, "models", "cross.onnx"), model);
  expect((await ask(gateway, asked)).status).toBe(200);
});

test.skipIf(process.platform === "win32")("a query waits no longer than it said for a model that is read", async () => {
  const folder = mkdtempSync(join(tmpdir(), "brooklet-outline-"));
  closing.push(() => rmSync(folder, { recursive: true, force: true }));
  const [model, path] = [crossEncoder(), join(folder, "models", "cross.onnx")];
  mkdirSync(join(folder, "models"));
  writeFileSync(join(folder, "vocab.txt"), readFileSync(join(vocabulary, "vocab.txt")));
  // Read for as long as nobody writes it.
  execFileSync("mkfifo", [path]);
  const gateway = await filled(await served(0, outlineOf(model), SCHEMA, folder));
  const asked = { "ranking.profile": "reranked", ...ALICE };
  const late = await ask(gateway, { ...asked, timeout: "300ms" });
  expect([late.status, JSON.stringify(late.root.errors)]).toEqual([504, expect.stringContaining("TIMED_OUT")]);
  const pipe = await openFile(path, "w");
  rmSync(path);
  writeFileSync(path, model);
  await pipe.close();
  await expect.poll(async () => (await ask(gateway, asked)).status).toBe(200);
});

test("a query whose time is over before its model has answered is told so, and the next one is answered", async () => {
  const gateway = await filled(await served(0));
  const late = await ask(gateway, { "ranking.profile": "reranked", timeout: "1ms", ...ALICE });
  expect(late.status).toBe(504);
  expect((await ask(gateway, { "ranking.profile": "reranked", ...ALICE })).status).toBe(200);
});
