import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { outlineOf, pinnedDigest } from "../src/onnx/outline.ts";
import { bytes, constant, FLOAT, file, INT64, node, number, text, value } from "./onnx-file.ts";

const model = file({
  nodes: [node("Gather", ["table", "ids"], "out")],
  constants: [constant("table", [10_000, 4], new Float32Array(40_000).fill(0.5))],
  // As files of old versions do, the weights are among the inputs.
  inputs: [value("ids", INT64, ["batch"]), value("table", FLOAT, [10_000, 4])],
  outputs: [value("out", FLOAT, ["batch", 4])],
});

test("an outline has all but the weights, whose names stay, and the digest of the file", () => {
  const outline = outlineOf(model);
  expect(model.length).toBeGreaterThan(160_000);
  expect(outline.length).toBeLessThan(400);
  const shown = Buffer.from(outline).toString("latin1");
  for (const name of ["Gather", "ids", "table", "out", "batch"]) expect(shown).toContain(name);
  expect(pinnedDigest(outline)).toBe(createHash("sha256").update(model).digest("hex"));
  expect(pinnedDigest(model)).toBeUndefined();
  expect(pinnedDigest(outlineOf(outline))).toBeDefined();
});

test("what is no model is refused, wherever it ends", () => {
  for (const length of [1, 5, 100, model.length - 1])
    expect(() => outlineOf(model.subarray(0, length))).toThrow("no ONNX model");
  expect(() => outlineOf(new TextEncoder().encode("a text that is none"))).toThrow("no ONNX model");
});

test("an outline says that weights are in other files, wherever they are named", () => {
  // TensorProto 9 raw_data, 13 external_data: `location` and the file.
  const numbers = bytes(9, new Uint8Array(50));
  const elsewhere = bytes(13, [...text(1, "location"), ...text(2, "../other")]);
  for (const weights of [
    bytes(5, [...text(8, "w"), ...numbers, ...elsewhere, ...number(14, 1)]),
    bytes(15, [...bytes(1, [...numbers, ...elsewhere]), ...bytes(2, numbers)]),
    bytes(15, bytes(2, [...numbers, ...elsewhere])),
  ]) {
    const outline = Buffer.from(outlineOf(Uint8Array.from(bytes(7, weights)))).toString("latin1");
    expect([outline.includes("../other"), outline.includes("\0".repeat(50))]).toEqual([true, false]);
  }
});
