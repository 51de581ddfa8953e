/** Models of rank profiles on a real runtime: shapes, batches, element types, deadlines. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { deadlineIn } from "../src/embedder.ts";
import type { ModelJob } from "../src/onnx/model-job.ts";
import { OnnxModel } from "../src/onnx/onnx-model.ts";
import { TokenizerEmbedder } from "../src/onnx/tokenizer-embedder.ts";
import { FLOAT, file, node, value } from "./onnx-file.ts";
import { crossEncoder, tinyModel } from "./tiny-model.ts";

const folder = mkdtempSync(join(tmpdir(), "brooklet-onnx-model-"));
const path = join(folder, "cross.onnx");
writeFileSync(path, crossEncoder());
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const INT64 = 7;
const bytesOf = (values: readonly number[]) => new Uint8Array(BigInt64Array.from(values.map(BigInt)).buffer);

/** Query and document as one sequence of this length. */
function job(query: readonly number[], document: readonly number[], length: number): ModelJob {
  const padded = (values: readonly number[]) => [...values, ...Array.from({ length }, () => 0)].slice(0, length);
  const ids = [101, ...query, 102, ...document, 102];
  const types = [...query, 0, 0].map(() => 0).concat([...document, 0].map(() => 1));
  const inputs = { input_ids: ids, attention_mask: ids.map(() => 1), token_type_ids: types };
  return {
    isBatched: true,
    outputs: ["logits"],
    inputs: Object.entries(inputs).map(([name, values]) => ({
      name,
      element: INT64,
      sizes: [1, length],
      bytes: bytesOf(padded(values)),
    })),
  };
}

const scoreOf = (outputs: readonly { readonly bytes: Uint8Array }[] | undefined) =>
  new Float32Array(outputs?.[0]?.bytes.slice().buffer ?? new ArrayBuffer(0))[0];

test("many pairs at once are what each is alone, whatever their lengths", async () => {
  const model = new OnnxModel({ path, cores: 2 });
  const jobs = Array.from({ length: 40 }, (_, index) =>
    job([7, 8], [7, ...Array.from({ length: index % 5 }, () => 8)], index % 2 === 0 ? 12 : 16),
  );
  const results = await model.run(jobs, deadlineIn(30_000));
  expect(results.map(scoreOf)).toEqual(jobs.map((_, index) => 2 + (index % 5)));
  const { jobs: ran, narrowBatches, wideBatches } = model.statistics();
  expect(ran).toBe(40);
  expect(narrowBatches + wideBatches).toBeLessThan(20);
  await model.close();
});

test("a job that is not batched runs alone, and one that does not fit the model fails", async () => {
  const model = new OnnxModel({ path, threads: { intraOp: 1, interOp: 1, executionMode: "sequential" } });
  const alone = { ...job([1], [1], 8), isBatched: false };
  expect((await model.run([alone, alone], deadlineIn(30_000))).map(scoreOf)).toEqual([2, 2]);
  const wrong: ModelJob = { ...alone, inputs: alone.inputs.slice(1) };
  await expect(model.run([wrong], deadlineIn(30_000))).rejects.toThrow("input_ids");
  await model.close();
});

test("what would come too late is refused or given up, and the model goes on", async () => {
  const model = new OnnxModel({ path });
  await expect(model.run([job([1], [1], 8)], deadlineIn(0))).rejects.toMatchObject({ code: "TIMED_OUT" });
  expect((await model.run([job([1], [1], 8)], deadlineIn(30_000))).map(scoreOf)).toEqual([2]);
  await model.close();
});

test("what keeps it from being opened is told of its name, and not of where it is read", async () => {
  const broken = join(folder, "broken.onnx");
  const [inputs, outputs] = [[value("x", FLOAT, [1])], [value("y", FLOAT, [1])]];
  writeFileSync(broken, file({ nodes: [node("Zorp", ["x"], "y")], constants: [], inputs, outputs }));
  const model = new OnnxModel({ path: broken, name: "models/judge.onnx" });
  const failure: unknown = await model.run([job([1], [1], 8)], deadlineIn(30_000)).catch((error: unknown) => error);
  expect(failure).toMatchObject({
    code: "BAD_REQUEST",
    message: expect.stringMatching(/^The model models\/judge\.onnx cannot be used: .*Zorp/s),
  });
  expect(String(failure)).not.toContain(folder);
  await model.close();
});

test("it runs in a program that Node is given as a text", () => {
  const plain = join(folder, "plain.onnx");
  const [inputs, outputs] = [[value("x", FLOAT, [1])], [value("y", FLOAT, [1])]];
  writeFileSync(plain, file({ nodes: [node("Relu", ["x"], "y")], constants: [], inputs, outputs }));
  const script = `import { OnnxModel } from ${JSON.stringify(new URL("../dist/node.js", import.meta.url).href)};
    const model = new OnnxModel({ path: ${JSON.stringify(plain)}, cores: 1 });
    const inputs = [{ name: "x", element: 1, sizes: [1], bytes: new Uint8Array(new Float32Array([7]).buffer) }];
    const signal = AbortSignal.timeout(30_000);
    const [[output]] = await model.run([{ isBatched: false, outputs: ["y"], inputs }], { leftMs: () => 30_000, signal });
    console.log(new Float32Array(output.bytes.slice().buffer)[0]);
    await model.close();`;
  const words = ["--input-type=module", "--eval", script];
  expect(execFileSync(process.execPath, words, { stdio: ["ignore", "pipe", "pipe"] }).toString()).toBe("7\n");
});

test("a tokenizer gives ids with zeros after the last, cut to the tensor", async () => {
  const { tokenizer } = tinyModel();
  const embed = async (specialTokens: boolean, dimensions: number) => {
    const embedder = new TokenizerEmbedder({ id: "t", tokenizer, specialTokens });
    const [one] = await embedder.embed({
      texts: ["Reset a password"],
      purpose: "query",
      dimensions,
      deadline: deadlineIn(1000),
    });
    return [...(one?.values ?? [])];
  };
  expect(await embed(true, 6)).toEqual([2, 5, 6, 7, 3, 0]);
  expect(await embed(true, 4)).toEqual([2, 5, 6, 3]);
  expect(await embed(false, 4)).toEqual([5, 6, 7, 0]);
  expect(await embed(false, 2)).toEqual([5, 6]);
});
