/**
 * A run of the real runtime that does not return for long: it is given up, another session takes its place, and when it
 * returns after all its thread ends. The model counts in a loop, as often as it is told.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { deadlineIn } from "../src/embedder.ts";
import type { ModelJob, TensorOutput } from "../src/onnx/model-job.ts";
import { SessionRunner } from "../src/onnx/session-runner.ts";
import { AdaptivePool } from "../src/pool/adaptive-pool.ts";
import type { GivenUpRun } from "../src/pool/batch-runner.ts";
import { bytes, constant, FLOAT, file, INT64, node, number, text, value } from "./onnx-file.ts";

const BOOL = 9;
const GRAPH = 5;
/** Seconds of work on any machine. */
const MANY = 800_000;

const folder = mkdtempSync(join(tmpdir(), "brooklet-stuck-run-"));
const path = join(folder, "count.onnx");
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** `sum` is `from` and one for each of `times`. */
function counting(): Uint8Array {
  const body = [
    ...bytes(1, node("Identity", ["going"], "goes_on")),
    ...bytes(1, node("Add", ["before", "one"], "after")),
    ...text(2, "body"),
    ...bytes(11, value("turn", INT64, [])),
    ...bytes(11, value("going", BOOL, [])),
    ...bytes(11, value("before", FLOAT, [1])),
    ...bytes(12, value("goes_on", BOOL, [])),
    ...bytes(12, value("after", FLOAT, [1])),
  ];
  const loop = bytes(5, [...text(1, "body"), ...bytes(6, body), ...number(20, GRAPH)]);
  return file({
    nodes: [node("Loop", ["times", "", "from"], "sum", loop)],
    constants: [constant("one", [1], Float32Array.of(1))],
    inputs: [value("times", INT64, [1]), value("from", FLOAT, [1])],
    outputs: [value("sum", FLOAT, [1])],
  });
}

const job = (times: number, from: number): ModelJob => ({
  isBatched: false,
  outputs: ["sum"],
  inputs: [
    { name: "times", element: INT64, sizes: [1], bytes: new Uint8Array(BigInt64Array.of(BigInt(times)).buffer) },
    { name: "from", element: FLOAT, sizes: [1], bytes: new Uint8Array(Float32Array.of(from).buffer) },
  ],
});

const sumOf = (outputs: readonly TensorOutput[]): number | undefined =>
  new Float32Array(outputs[0]?.bytes.slice().buffer ?? new ArrayBuffer(0))[0];

test("is given up, and replaced by another session until it returns", async () => {
  writeFileSync(path, counting());
  const givenUp: GivenUpRun[] = [];
  const runners: SessionRunner<ModelJob, readonly TensorOutput[]>[] = [];
  const open = async () => {
    const threads = { intraOp: 1, interOp: 1, executionMode: "sequential" } as const;
    const runner = await SessionRunner.open<ModelJob, readonly TensorOutput[]>({
      kind: "model",
      path,
      name: path,
      threads,
    });
    runners.push(runner);
    return runner;
  };
  const pool = new AdaptivePool<ModelJob, readonly TensorOutput[]>({
    mode: "narrow",
    openWide: open,
    openNarrow: open,
    narrowRunners: 1,
    weigh: () => 1,
    batchJobs: 1,
    batchWeight: 1,
    queueJobs: 10,
    givenUpAfterMs: 50,
    onGivenUp: (run) => void givenUp.push(run),
  });
  expect(sumOf(await pool.run(job(3, 0.5), deadlineIn(30_000)))).toBe(3.5);
  await expect(pool.run(job(MANY, 0), deadlineIn(40))).rejects.toMatchObject({ code: "TIMED_OUT" });
  await expect.poll(() => givenUp, { interval: 1 }).toMatchObject([{ givenUp: 1, isLast: false }]);
  // Nobody stops the runtime: the first session is still at it while the second one answers.
  expect(sumOf(await pool.run(job(4, 0.5), deadlineIn(30_000)))).toBe(4.5);
  expect(pool.statistics()).toMatchObject({ givenUp: 1, runners: 2 });
  expect(runners).toHaveLength(2);
  await expect.poll(() => pool.statistics().givenUp, { timeout: 120_000, interval: 20 }).toBe(0);
  expect(pool.statistics().runners).toBe(1);
  expect(sumOf(await pool.run(job(5, 0.5), deadlineIn(30_000)))).toBe(5.5);
  expect(runners).toHaveLength(2);
  await pool.close();
});
