/** The judge of histories must itself tell good ones from bad ones. */
import { expect, test } from "vitest";
import { DocumentHistory, type Operation } from "./linearizable.ts";

const read = (value: string): Operation => ({
  about: `read ${value}`,
  reads: true,
  outcomes: (state) => (state === value ? [state] : []),
});
const write = (value: string): Operation => ({ about: `write ${value}`, outcomes: () => [value] });
const increment: Operation = { about: "increment", outcomes: (state) => [String(Number(state) + 1)] };

/** `+a` begins the operation named `a`, `-a` ends it. */
function settle(operations: Readonly<Record<string, Operation>>, events: string, initial = ["0"]): readonly string[] {
  const history = new DocumentHistory();
  const moments = events.split(" ");
  for (const [name, operation] of Object.entries(operations)) {
    const [begun, ended] = [moments.indexOf(`+${name}`), moments.indexOf(`-${name}`)];
    if (begun >= 0) history.record(operation, begun, ended);
  }
  return history.settle(initial);
}

test("operations one after the other are seen in their order", () => {
  expect(settle({ w: write("1"), r: read("1") }, "+w -w +r -r")).toEqual(["1"]);
  expect(() => settle({ w: write("1"), r: read("0") }, "+w -w +r -r")).toThrow("read 0");
});

test("a read sees what was there at some moment of it, and later ones nothing older", () => {
  const all = { w: write("1"), v: write("2"), r: read("1"), s: read("0"), t: read("2") };
  for (const reader of ["r", "s", "t"]) expect(settle(all, `+${reader} +w -w +v -v -${reader}`)).toEqual(["2"]);
  expect(settle(all, "+w +s -s +r -r -w")).toEqual(["1"]);
  expect(() => settle(all, "+w +r -r +s -s -w")).toThrow("No order");
  expect(settle(all, "+w +v +r -r +t -t -w -v")).toEqual(["2"]);
  expect(() => settle({ ...all, u: read("1") }, "+w +v +r -r +t -t +u -u -w -v")).toThrow("No order");
});

test("a lost increment is found, whatever was under way at once", () => {
  const all = { a: increment, b: increment, c: increment, two: read("2"), three: read("3") };
  expect(settle(all, "+a +b +c -a -b -c +three -three")).toEqual(["3"]);
  expect(() => settle(all, "+a +b +c -a -b -c +two -two")).toThrow("No order");
});

test("what may have happened or not happened once at most", () => {
  const perhaps: Operation = { ...increment, outcomes: (state) => [state, ...increment.outcomes(state)] };
  const all = { a: perhaps, zero: read("0"), one: read("1"), two: read("2"), again: read("0") };
  expect([...settle(all, "+a -a")].sort()).toEqual(["0", "1"]);
  expect(settle(all, "+a +zero -zero +one -one -a")).toEqual(["1"]);
  expect(settle(all, "+a -a +again -again")).toEqual(["0"]);
  expect(() => settle(all, "+a +one -one +again -again -a")).toThrow("No order");
  expect(() => settle(all, "+a -a +zero -zero +one -one")).toThrow("No order");
  expect(() => settle(all, "+a -a +two -two")).toThrow("No order");
});

test("every state that is possible at first is followed", () => {
  expect(settle({ a: increment, r: read("6") }, "+a -a +r -r", ["1", "5"])).toEqual(["6"]);
});
