/** Marks are stored: what they are of a sequence may not change. And they tell sequences apart. */
import { expect, test } from "vitest";
import { followAll, followText, type Mark, NOTHING } from "../src/mark.ts";

const bytes = (...values: readonly number[]): Uint8Array => Uint8Array.from(values);
const LONG = bytes(1, 2, 3, 4, 250, 251, 252, 253, 254, 255);
const hex = ({ high, low }: Mark): string => [high, low].map((half) => half.toString(16).padStart(8, "0")).join("");

test.each<[string, Mark, string]>([
  ["nothing", NOTHING, "243f6a8885a308d3"],
  ["a thing without bytes", followAll(NOTHING, 1, bytes()), "b78d09e30c3c2e23"],
  ["a short one", followAll(NOTHING, 1, bytes(7, 200)), "02626cd7e9fc066f"],
  ["one of eight bytes", followAll(NOTHING, 1, LONG.subarray(2)), "21bd5550c8b06bc0"],
  ["a longer one, of which the last eight count", followAll(NOTHING, 1, LONG), "ed495fef7b4836cb"],
  ["one with a number beyond 32 bits", followAll(NOTHING, 2 ** 40 + 3, LONG), "fba87b6eaad41c96"],
  ["two, one after the other", followAll(followAll(NOTHING, 1, LONG), 2, bytes(7)), "e1469bc502869455"],
  ["a text", followText(NOTHING, "mail é 𝄞"), "dc6b3c689d1e4114"],
])("the mark of %s is what it was", (_, mark, said) => expect(hex(mark)).toBe(said));

test("another place, another length, another byte at the end and another order have other marks", () => {
  const marks = [
    followAll(NOTHING, 1, LONG),
    followAll(NOTHING, 2, LONG),
    followAll(NOTHING, 1 + 2 ** 32, LONG),
    followAll(NOTHING, 1, LONG.subarray(1)),
    followAll(
      NOTHING,
      1,
      Uint8Array.from(LONG, (byte, at) => (at === 9 ? byte - 1 : byte)),
    ),
    followAll(followAll(NOTHING, 1, LONG), 2, bytes(7)),
    followAll(followAll(NOTHING, 2, bytes(7)), 1, LONG),
    followText(NOTHING, "a"),
    followText(NOTHING, "b"),
  ];
  expect(new Set(marks.map(hex)).size).toBe(marks.length);
});
