import { expect, test } from "vitest";
import type { CellType } from "../src/schema/data-type.ts";
import { tensorCodec } from "../src/schema/tensor.ts";

const typed: readonly (readonly [CellType, ArrayLike<number>, unknown])[] = [
  ["float", Float32Array.of(1, -2), "3f800000c0000000"],
  ["bfloat16", Float32Array.of(1, -0), "3f80000080000000"],
  ["double", Float32Array.of(1, 0.5), "3f8000003f000000"],
  ["float", Float64Array.of(1, -0.1), "3ff0000000000000bfb999999999999a"],
  ["int8", Int8Array.of(-128, 127), "807f"],
  ["float", Int8Array.of(-1, 0), "ff00"],
  // Cells of int8 take no other digits.
  ["int8", Float32Array.of(1, -2), [1, -2]],
  ["float", [1, 0.1], [1, 0.1]],
];

test.each(typed)("a row of %s cells is written from %o as %o", (cell, numbers, values) => {
  const row = tensorCodec(cell, { x: 2 });
  expect(row.zod.safeParse(numbers).success).toBe(true);
  expect(row.encode(numbers)).toEqual({ values });
  expect(tensorCodec(cell, { a: "mapped", x: 2 }).encode({ k: numbers })).toEqual({ blocks: { k: values } });
  const blocks = tensorCodec(cell, { a: "mapped", b: "mapped", x: 2 });
  const address = { a: "1", b: "2" };
  expect(blocks.encode([{ address, values: numbers }])).toEqual({ blocks: [{ address, values }] });
});

test("a part of a larger buffer is written alone", () => {
  const part = new Float32Array(Float32Array.of(9, 1, -2, 9).buffer, 4, 2);
  expect(tensorCodec("float", { x: 2 }).encode(part)).toEqual({ values: "3f800000c0000000" });
});
