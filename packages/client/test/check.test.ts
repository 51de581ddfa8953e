/** That checks say what zod says, word for word, and that zod takes them for its own. */
import { describe, expect, expectTypeOf, test } from "vitest";
import * as z from "zod/v4";
import {
  array,
  byte,
  double,
  float,
  int,
  map,
  type Schema,
  schema,
  string,
  text,
  timestamp,
  vector,
} from "../src/index.ts";
import * as own from "../src/schema/check.ts";
import { type Check, CheckError } from "../src/schema/check.ts";

const INT32_MAX = 2 ** 31 - 1;
const pairs: Readonly<Record<string, readonly [Check, z.ZodType]>> = {
  texts: [own.texts(), z.string()],
  truths: [own.truths(), z.boolean()],
  bytes: [own.bytes(), z.instanceof(Uint8Array)],
  dates: [own.dates(), z.date()],
  "dates, some refused": [
    own.dates((date) => (date.getTime() > 0 ? undefined : "too early")),
    z.date().refine((date) => date.getTime() > 0, "too early"),
  ],
  numbers: [own.numbers(), z.number()],
  "numbers within bounds": [own.numbers(-90, 90), z.number().min(-90).max(90)],
  integers: [own.integers(), z.int()],
  "integers of 32 bits": [own.integers(-INT32_MAX - 1, INT32_MAX), z.int32()],
  lists: [own.lists(own.integers()), z.array(z.int())],
  "lists of lists": [own.lists(own.lists(own.texts())), z.array(z.array(z.string()))],
  records: [own.records(own.numbers()), z.record(z.string(), z.number())],
  "records of some keys": [
    own.records(own.texts(), (key) => key.length < 3),
    z.record(
      z.string().refine((key) => key.length < 3),
      z.string(),
    ),
  ],
  objects: [
    own.objects({ a: own.texts(), b: own.orNone(own.lists(own.numbers())) }),
    z.strictObject({ a: z.string(), b: z.array(z.number()).optional() }),
  ],
  "objects in objects": [
    own.objects({ a: own.objects({ b: own.records(own.truths()) }) }),
    z.strictObject({ a: z.strictObject({ b: z.record(z.string(), z.boolean()) }) }),
  ],
  "values of one's own kind": [
    own.values((value) => (value === "yes" ? undefined : "say yes")),
    z.custom((value) => value === "yes", { error: "say yes" }),
  ],
};

class Strange {
  readonly a = "text";
}

const samples: readonly unknown[] = [
  ...[undefined, null, true, false, "", "yes", "abcd", 0, -1, 1.5, 100, 128, -129, 2 ** 31, -(2 ** 31) - 1, 2 ** 53],
  ...[-(2 ** 53), Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 7n, Symbol.iterator, () => 1],
  ...[
    new Date(5),
    new Date(-5),
    new Date(Number.NaN),
    new Uint8Array(2),
    new Map(),
    new Strange(),
    Object.create(null),
  ],
  ...[[], [1], ["a", 2, null], [["a"], "b", [3]], {}, { a: "text" }, { a: 1, b: "x" }, { a: "t", b: undefined }],
  ...[
    { a: "t", b: [1, "2"] },
    { a: "t", c: 1 },
    { c: 1, d: 2 },
    { a: { b: { c: true, d: 0 } } },
    { a: { b: {}, x: 1 } },
  ],
  ...[{ a: { b: { c: true } } }],
  ...[{ long: "t", ab: "u" }, { [Symbol.for("k")]: 1 }, { constructor: 7 }, { a: "t", toString: 1 }],
];

function issuesOf(result: ReturnType<Check["safeParse"]> | z.ZodSafeParseResult<unknown>): unknown {
  if (result.success) return "right";
  return result.error.issues.map(({ code, path, message }) => ({ code, path, message }));
}

test.each(Object.entries(pairs))("%s are refused as zod refuses them", (_, [check, zod]) => {
  const outcomes = samples.map((value) => issuesOf(check.safeParse(value)));
  expect(outcomes).toEqual(samples.map((value) => issuesOf(zod.safeParse(value))));
  // Of each kind some are right, and some are not.
  expect(outcomes).toContain("right");
  expect(outcomes.some((outcome) => outcome !== "right")).toBe(true);
});

test("integers within bounds are refused as zod refuses them, where a number holds them", () => {
  const [check, zod] = [own.integers(-128, 127), z.int().min(-128).max(127)];
  const held = samples.filter((value) => typeof value !== "number" || Math.abs(value) < 2 ** 53);
  expect(held.map((value) => issuesOf(check.safeParse(value)))).toEqual(
    held.map((value) => issuesOf(zod.safeParse(value))),
  );
  // The others are told of once: zod says it of both bounds.
  expect(issuesOf(check.safeParse(2 ** 53))).toMatchObject([
    { message: "Too big: expected int to be <=9007199254740991" },
  ]);
});

test("numbers that 32 bits hold are those whose nearest is finite, in fields, their parts and their defaults", () => {
  const sensor = schema("sensor", { celsius: float(), all: array(float()).optional(), exact: double().optional() });
  const most = 2 ** 128 - 2 ** 103 - 2 ** 75;
  for (const celsius of [most, -most, 0]) {
    expect(Number.isFinite(Math.fround(celsius))).toBe(true);
    expect(sensor.zod.safeParse({ celsius, all: [celsius], exact: 1e39 }).success).toBe(true);
  }
  for (const celsius of [2 ** 128 - 2 ** 103, -(2 ** 128 - 2 ** 103), 1e39]) {
    expect(Number.isFinite(Math.fround(celsius))).toBe(false);
    expect(issuesOf(sensor.zod.safeParse({ celsius }))).toMatchObject([{ path: ["celsius"] }]);
    expect(issuesOf(sensor.zod.safeParse({ celsius: 0, all: [0, celsius] }))).toMatchObject([{ path: ["all", 1] }]);
    expect(() => float().default(celsius)).toThrow("the default of a field cannot be stored");
  }
});

describe("a schema's check, given to zod", () => {
  const note = schema("note", {
    title: text(),
    stars: byte().optional(),
    tags: array(string()),
    counts: map(string(), int()),
  });
  const right = { title: "a", tags: [], counts: { a: 1 } };

  test("is parsed by it, alone and within others", () => {
    const wrapped = z.object({ note: note.zod, other: z.array(z.optional(note.zod)) });
    expect(wrapped.parse({ note: right, other: [right, undefined] })).toEqual({
      note: right,
      other: [right, undefined],
    });
    const { error } = wrapped.safeParse({ note: { ...right, tags: [1] }, other: [] });
    expect(error?.issues).toMatchObject([{ path: ["note", "tags", 0], code: "invalid_type" }]);
    expect(error?.issues[0]?.message).toBe("Invalid input: expected string, received number");
    expect(z.safeParse(note.zod, { ...right, title: undefined }).success).toBe(false);
  });

  test("is described by it as zod's own are", () => {
    const zods = z.strictObject({
      title: z.string(),
      stars: z.int().min(-128).max(127).optional(),
      tags: z.array(z.string()),
      counts: z.record(z.string(), z.int32()),
    });
    expect(z.toJSONSchema(note.zod)).toEqual(z.toJSONSchema(zods));
    const dated = schema("dated", { at: timestamp(), vec: vector(2) });
    expect(() => z.toJSONSchema(dated.zod)).toThrow("Date cannot be represented in JSON Schema");
    expect(z.toJSONSchema(dated.zod, { unrepresentable: "any" })).toMatchObject({ required: ["at", "vec"] });
  });

  test("has the types of its documents", () => {
    type Note = z.infer<typeof note.zod>;
    expectTypeOf<Note["title"]>().toEqualTypeOf<string>();
    expectTypeOf<Note["stars"]>().toEqualTypeOf<number | undefined>();
    expectTypeOf(note.zod).toExtend<z.core.$ZodType<object>>();
    expectTypeOf<Schema<string, { readonly a: ReturnType<typeof int> }, never>["zod"]>().toExtend<z.core.$ZodType>();
  });

  test("throws from parse what it says, and follows the standard schema", () => {
    expect(note.zod.parse(right)).toBe(right);
    expect(() => note.zod.parse({ ...right, title: 1, x: 1 })).toThrow(CheckError);
    expect(() => note.zod.parse({ ...right, tags: ["a", 1] })).toThrow("tags: 1: Invalid input");
    expect(note.zod["~standard"].validate(right)).toEqual({ value: right });
    expect(note.zod["~standard"].validate({ ...right, tags: 1 })).toMatchObject({ issues: [{ path: ["tags"] }] });
  });
});
