/** The file of names beside the module: no names in the one, and in the other those of a real trap's functions. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { namedStack } from "../src/names.ts";
import { instantiate } from "../src/node.ts";

const read = (name: string): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(readFileSync(new URL(`../wasm/${name}`, import.meta.url)));

/** The stack of a real trap: the memory of an instance is spoiled from outside. */
function trapped(): string {
  const { Core, memory } = instantiate();
  const core = new Core(1 << 20, new Uint8Array(16), 0);
  new Uint8Array(memory.buffer).fill(0xff);
  try {
    core.application();
  } catch (error) {
    if (error instanceof Error) return error.stack ?? "";
  }
  throw new Error("it did not trap");
}

test("the module that is loaded has no names, and the other nothing but them", () => {
  const sections = (name: string): number =>
    WebAssembly.Module.customSections(new WebAssembly.Module(read(name)), "name").length;
  expect([sections("core_bg.wasm"), sections("core_names.wasm")]).toEqual([0, 1]);
  expect(WebAssembly.Module.exports(new WebAssembly.Module(read("core_names.wasm")))).toEqual([]);
});

test("the stack of a trap is read with them", () => {
  const stack = trapped();
  expect(stack).toMatch(/wasm-function\[\d+\]/);
  expect(stack).not.toContain("core_application");
  expect(namedStack(stack, read("core_names.wasm"))).toMatch(/core_application wasm-function\[\d+\]:0x/);
});

test("a function without a name keeps its number, and what has no names is refused", () => {
  const names = read("core_names.wasm");
  expect(namedStack("at wasm-function[4000000000]:0x1", names)).toBe("at wasm-function[4000000000]:0x1");
  expect(() => namedStack("", read("core_bg.wasm"))).toThrow("there are no names of functions");
  expect(() => namedStack("", names.subarray(0, 1_000))).toThrow("ends early");
});
