import { describe, expect, test } from "vitest";
import { CellDigits } from "./digits.ts";
import { JsonBytes } from "./json-bytes.ts";

const decoder = new TextDecoder("utf-8", { fatal: true });

/** A repeatable stream of numbers from 0 to 1. */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

const TEXTS = [
  "",
  "a",
  'say "no"',
  "\\ \u0000 \n",
  "größer",
  "日本",
  "🦆",
  "\ud800 alone",
  "x".repeat(9_000),
  "ü".repeat(70_000),
];

/** Any value, with cells in it or without, and with what JSON leaves out. */
function anyValue(next: () => number, depth: number): unknown {
  const of = <Value>(values: readonly Value[]): Value => values[Math.floor(next() * values.length)] as Value;
  const kind = Math.floor(next() * (depth === 0 ? 4 : 7));
  if (kind === 0) return of(TEXTS);
  if (kind === 1) return of([0, -1.5, 1e300, Number.NaN, true, false, null]);
  if (kind === 2) return of([undefined, () => 0, Symbol("no"), new Date(0), { toJSON: () => "own" }]);
  if (kind === 3) return new CellDigits(Array.from({ length: Math.floor(next() * 9) }, () => next() - 0.5));
  const count = Math.floor(next() * 4);
  if (kind === 4) return Array.from({ length: count }, () => anyValue(next, depth - 1));
  return Object.fromEntries(Array.from({ length: count }, (_, at) => [`${of(TEXTS)}${at}`, anyValue(next, depth - 1)]));
}

describe("JSON as bytes", () => {
  test("is what JSON.stringify says, whatever the value and wherever its cells stand", () => {
    const next = random(7);
    const json = new JsonBytes();
    for (let round = 0; round < 2_000; round += 1) {
      const value = { of: anyValue(next, 7) };
      const begin = json.length;
      json.value(value);
      expect(decoder.decode(json.bytes.subarray(begin))).toBe(JSON.stringify(value));
      if (json.length > 1 << 20) json.cut();
    }
  });

  test("stands one value after the other, and what is cut off is gone", () => {
    const json = new JsonBytes();
    json.value({ vec: { values: new CellDigits([1, -2]) } });
    json.text("\n");
    const { length } = json;
    json.value(["lost"]);
    json.cut(length);
    json.raw(Uint8Array.of(0x5b, 0x5d));
    expect(decoder.decode(json.bytes)).toBe('{"vec":{"values":"3f800000c0000000"}}\n[]');
    json.cut();
    expect(json.length).toBe(0);
  });

  test("has the cells as they were when they were given", () => {
    const numbers = Float32Array.of(1);
    const cells = new CellDigits(numbers);
    numbers[0] = 2;
    const json = new JsonBytes();
    json.value(cells);
    expect(decoder.decode(json.bytes)).toBe('"3f800000"');
  });
});
