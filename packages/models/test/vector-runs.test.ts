/** What the rows of test-vectors/search/models.json say that models yield is what a real runtime makes of them. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { deadlineIn } from "../src/embedder.ts";
import { OnnxModel } from "../src/onnx/onnx-model.ts";
import { FLOAT } from "./onnx-file.ts";

interface Row {
  readonly file: string;
  readonly inputs: Readonly<Record<string, readonly number[]>>;
  readonly outputs: Readonly<
    Record<string, readonly number[] | { readonly element: number; readonly values: readonly number[] }>
  >;
}

const { files, runs } = JSON.parse(
  readFileSync(new URL("../../../test-vectors/search/models.json", import.meta.url), "utf8"),
) as { readonly files: Readonly<Record<string, { readonly base64: string }>>; readonly runs: readonly Row[] };
const folder = mkdtempSync(join(tmpdir(), "brooklet-vector-runs-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const names = [...new Set(runs.map(({ file }) => file))];

test("there are rows of two models", () => expect(names.length).toBeGreaterThanOrEqual(2));

test.each(names)("%s", async (name) => {
  const path = join(folder, `${names.indexOf(name)}.onnx`);
  writeFileSync(path, Buffer.from(files[name]?.base64 ?? "", "base64"));
  const model = new OnnxModel({ path, threads: { intraOp: 1, interOp: 1, executionMode: "sequential" } });
  const rows = runs.filter(({ file }) => file === name);
  const results = await model.run(
    rows.map(({ inputs, outputs }) => ({
      isBatched: false,
      outputs: Object.keys(outputs),
      inputs: Object.entries(inputs).map(([input, values]) => ({
        name: input,
        element: FLOAT,
        sizes: [1, values.length],
        bytes: new Uint8Array(Float32Array.from(values).buffer),
      })),
    })),
    deadlineIn(30_000),
  );
  const made = results.map((outputs) =>
    Object.fromEntries(
      outputs.map(({ name: output, element, bytes }) => {
        const { buffer } = bytes.slice();
        if (element === FLOAT) return [output, [...new Float32Array(buffer)]];
        return [output, { element, values: [...new BigInt64Array(buffer)].map(Number) }];
      }),
    ),
  );
  expect(made).toEqual(rows.map(({ outputs }) => outputs));
  await model.close();
});
