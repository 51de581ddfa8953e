import { InferenceSession } from "onnxruntime-node";
import { expect, test, vi } from "vitest";
import { openSession } from "../src/onnx/session.ts";

// A release before 1.22: its sessions do not tell what they take and give.
vi.mock("onnxruntime-node", () => ({
  env: { versions: { common: "1.20.1", node: "1.20.1" } },
  InferenceSession: { create: vi.fn(async () => ({ release })) },
}));
const release = vi.hoisted(() => vi.fn());

test("a runtime that is too old is told by its release, and by the one that is needed", async () => {
  const opened = openSession("model.onnx", { intraOp: 1, interOp: 1, executionMode: "sequential" });
  await expect(opened).rejects.toThrow("onnxruntime-node 1.20.1 is too old: 1.22 or later is needed");
  expect(InferenceSession.create).toHaveBeenCalledOnce();
  expect(release).toHaveBeenCalledOnce();
});
