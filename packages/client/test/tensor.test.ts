import { expect, test } from "vitest";
import { query, schema, vector } from "../src/index.ts";
import type { CheckError } from "../src/schema/check.ts";
import type { Codec } from "../src/schema/codec.ts";
import type { CellType } from "../src/schema/data-type.ts";
import { tensorCodec } from "../src/schema/tensor.ts";

/** What is sent of it. */
function json(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}

const typed: readonly (readonly [CellType, ArrayLike<number>, unknown])[] = [
  ["float", Float32Array.of(1, -2), "3f800000c0000000"],
  ["bfloat16", Float32Array.of(1, -0), "3f80000080000000"],
  ["double", Float32Array.of(1, 0.5), "3f8000003f000000"],
  ["float", Float64Array.of(1, -0.1), "3f800000bdcccccd"],
  ["double", Float64Array.of(1, -0.1), "3ff0000000000000bfb999999999999a"],
  // Two roundings, to 32 bits and from there to 16, may be another than one.
  ["bfloat16", Float64Array.of(1, -0.1), "3ff0000000000000bfb999999999999a"],
  ["int8", Int8Array.of(-128, 127), "807f"],
  ["float", Int8Array.of(-1, 0), "ff00"],
  // Cells of int8 take no other digits.
  ["int8", Float32Array.of(1, -2), [1, -2]],
  ["float", [1, 0.1], "3f8000003dcccccd"],
  ["bfloat16", [1, 0.1], [1, 0.1]],
  ["double", [1, 0.1], [1, 0.1]],
  // Nearer to the largest number of 32 bits than to infinity.
  ["float", [1, 3.4028235677973362e38], "3f8000007f7fffff"],
];

test.each(typed)("a row of %s cells is written from %o as %o", (cell, numbers, values) => {
  const row = tensorCodec(cell, { x: 2 });
  expect(row.zod.safeParse(numbers).success).toBe(true);
  expect(json(row.encode(numbers))).toEqual({ values });
  expect(json(tensorCodec(cell, { a: "mapped", x: 2 }).encode({ k: numbers }))).toEqual({ blocks: { k: values } });
  const blocks = tensorCodec(cell, { a: "mapped", b: "mapped", x: 2 });
  const address = { a: "1", b: "2" };
  expect(json(blocks.encode([{ address, values: numbers }]))).toEqual({ blocks: [{ address, values }] });
});

const tooLarge = (cell: string): string =>
  `expected 2 finite numbers, got 3.4028235677973366e+38 at 1: too large for cells of ${cell}`;
const notHeld: readonly (readonly [CellType, readonly unknown[] | Float64Array, string])[] = [
  ["int8", [0, 128], "expected 2 integers from -128 to 127, got 128 at 1"],
  ["int8", [-129, 0], "expected 2 integers from -128 to 127, got -129 at 0"],
  ["int8", Float64Array.of(0.9, 0), "expected 2 integers from -128 to 127, got 0.9 at 0"],
  ["int8", [2 ** 32, 0], "got 4294967296 at 0"],
  ["int8", [Number.NaN, 0], "got NaN at 0"],
  ["int8", [1n, 0], "got 1 at 0"],
  ["int8", ["1", 0], "got 1 at 0"],
  ["float", [0, 2 ** 128 - 2 ** 103], tooLarge("float")],
  ["float", Float64Array.of(0, 2 ** 128 - 2 ** 103), tooLarge("float")],
  ["bfloat16", [2 ** 128 - 2 ** 119, 0], "too large for cells of bfloat16"],
  ["double", [0, Number.POSITIVE_INFINITY], "expected 2 finite numbers, got Infinity at 1"],
  ["float", [0, "1"], "expected 2 finite numbers, got 1 at 1"],
];

test.each(notHeld)("a row of %s cells does not hold %o: %s", (cell, numbers, message) => {
  const problem = (codec: Codec, value: unknown) =>
    (codec.zod.safeParse(value) as { readonly error?: CheckError }).error?.issues[0]?.message;
  expect(problem(tensorCodec(cell, { x: 2 }), numbers)).toContain(message);
  expect(problem(tensorCodec(cell, { a: "mapped", x: 2 }), { k: numbers })).toContain(message);
  const cells = Object.fromEntries(Array.from(numbers, (value, at) => [at, value]));
  expect(problem(tensorCodec(cell, { a: "mapped" }), cells)).toBeDefined();
});

test("a vector to be near to is checked as those of documents, unless its profile says what its cells are", () => {
  const near = { field: "vec", vector: [0.9, 0.1] } as const;
  const refused = "near 'vec' of schema bits cannot be searched: expected 2 integers from -128 to 127, got 0.9 at 0";
  const vec = vector(2, { cell: "int8" });
  expect(() => query(schema("bits", { vec }), { near })).toThrow(refused);
  const profiles = { own: { inputs: { vec: "tensor<float>(x[2])" }, firstPhase: "1" } } as const;
  const declared = schema("bits", { vec }, { profiles });
  expect(query(declared, { near }).toJSON()).toMatchObject({ "input.query(vec)": [0.9, 0.1] });
});

test("a part of a larger buffer is written alone", () => {
  const part = new Float32Array(Float32Array.of(9, 1, -2, 9).buffer, 4, 2);
  expect(json(tensorCodec("float", { x: 2 }).encode(part))).toEqual({ values: "3f800000c0000000" });
});

test("digits are those of the big-endian bits, whatever the numbers", () => {
  const bits = new DataView(new ArrayBuffer(8));
  const naive = (width: 1 | 4 | 8, write: () => void): string => {
    write();
    return Array.from({ length: width }, (_, at) => bits.getUint8(at).toString(16).padStart(2, "0")).join("");
  };
  for (let round = 0; round < 200; round += 1) {
    const numbers = Array.from({ length: 1 + (round % 9) }, () => (Math.random() - 0.5) * 10 ** (round % 30));
    const written = (cell: CellType, row: ArrayLike<number>): unknown =>
      (json(tensorCodec(cell, { x: row.length }).encode(row)) as { values: unknown }).values;
    const floats = numbers.map((number) => naive(4, () => bits.setFloat32(0, number))).join("");
    expect(written("float", numbers)).toBe(floats);
    expect(written("float", Float64Array.from(numbers))).toBe(floats);
    expect(written("double", Float32Array.from(numbers))).toBe(floats);
    const doubles = numbers.map((number) => naive(8, () => bits.setFloat64(0, number))).join("");
    expect(written("double", Float64Array.from(numbers))).toBe(doubles);
    const bytes = Int8Array.from(numbers);
    expect(written("int8", bytes)).toBe([...bytes].map((byte) => naive(1, () => bits.setInt8(0, byte))).join(""));
  }
});
