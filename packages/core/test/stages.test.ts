/** The built core by stages: they do what the whole does, and later ones are loaded when something of them is called. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";
import { expect, test } from "vitest";
import { asPackage } from "../src/bytes.ts";
import { Core } from "../src/core.ts";
import { Writer } from "../src/frame.ts";
import type { RawInstance } from "../src/instance.ts";
import { encodeManifest } from "../src/manifest.ts";
import { namedStack } from "../src/names.ts";
import { instantiate as instantiateHere, sharedModule } from "../src/node.ts";
import { instantiateStages, type Read, readAll, readStages, type Stages } from "../src/stages.ts";
import { instantiate as instantiateWhole } from "../wasm/core.js";

const built = (name: string): Uint8Array<ArrayBuffer> =>
  new Uint8Array(readFileSync(fileURLToPath(new URL(`../wasm/${name}`, import.meta.url))));
const [whole, recipe] = [built("core_bg.wasm"), built("core_stages.bin")];
const read: Read = (room, place) => room.set(whole.subarray(place, place + room.length));
const encoder = new TextEncoder();

function stages(): Stages {
  const found = readStages(recipe, whole.length, read);
  if (found === undefined) throw new Error("the recipe is of another core");
  return found;
}

function packageOf(schema: string): ReturnType<typeof asPackage> {
  const files = {
    "services.xml": `<?xml version="1.0" encoding="utf-8" ?><services version="1.0">
      <content id="all" version="1.0"><redundancy>1</redundancy>
      <documents><document type="note" mode="streaming"/></documents>
      <nodes><node hostalias="n" distribution-key="0"/></nodes></content></services>`,
    "schemas/note.sd": `schema note { document note { field title type string { indexing: summary | index } } ${schema} }`,
  };
  const writer = new Writer().varint(Object.keys(files).length);
  for (const [path, text] of Object.entries(files)) writer.text(path).text(text);
  return asPackage(writer.finish());
}

/** What few programs begin with: trees of decisions, components that are refused, and an update of what is no number. */
const SELDOM = [
  packageOf(
    `rank-profile trees { first-phase { expression: if (fieldLength(title) < 3, 1.5, if (nativeRank(title) > 0.1, 2, map_nothing)) } }`,
  ),
  packageOf(
    `rank-profile tensors { first-phase { expression: sum(tensor(x[3])(x * 2) * tensor(x[3]):[1, 2, 3], x) } }`,
  ),
  packageOf("field other type string { indexing: input title | lowercase | split ';' | index }"),
];

/** Everything a core says of some packages and an operation, refusals too. */
function said(instantiate: () => RawInstance, packages: readonly ReturnType<typeof asPackage>[]): readonly unknown[] {
  const core = new Core({ instantiate, cacheBytes: 1 << 20, sealKey: new Uint8Array(16) });
  const answers: unknown[] = [];
  const say = (call: () => unknown): void => {
    try {
      answers.push(call());
    } catch (error) {
      answers.push(String(error));
    }
  };
  for (const of of packages) {
    say(() => core.deploy(of, { number: answers.length + 1, day: 20_000 }));
    say(() => {
      const body = encoder.encode('{"fields":{"title":"the invoice"}}');
      const id = "id:test:note:g=alice:1";
      const request = { kind: "put", rawPath: "", id, create: undefined, condition: "", body } as const;
      const place = { incarnation: 1, partition: 0, key: "g:alice", layout: 1, operation: 0 };
      const task = core.mutate(place, 5, undefined, request);
      for (let want = task.wants(); want !== undefined; want = task.wants()) {
        if (want.kind === "manifest") task.give(encodeManifest({ layout: 1, segments: [], operations: [] }));
      }
      const { operation } = task.finish();
      task[Symbol.dispose]();
      return [...(operation ?? [])];
    });
  }
  return answers;
}

test("stages say what the whole says, and each is loaded once for an instance, in their order", () => {
  const loads: (readonly [number, number])[] = [];
  let instances = 0;
  const one = stages();
  const instantiate = (): RawInstance => {
    const number = instances++;
    return instantiateStages(one, (stage) => loads.push([number, stage]));
  };
  const packages = [packageOf(""), ...SELDOM, packageOf(""), ...SELDOM];
  const expected = said(() => instantiateWhole(new WebAssembly.Module(whole)), packages);
  expect(expected.filter((answer) => typeof answer === "string")).not.toHaveLength(expected.length);
  expect(said(instantiate, packages)).toEqual(expected);
  expect(said(instantiate, packages)).toEqual(expected);
  expect(loads).toEqual([
    [0, 1],
    [0, 2],
    [1, 1],
    [1, 2],
  ]);
});

test("a recipe of another core is none", () => {
  const other = recipe.slice();
  other[0] = (other[0] ?? 0) ^ 1;
  expect(readStages(other, whole.length, read)).toBeUndefined();
  expect(readStages(new Uint8Array(), whole.length, read)).toBeUndefined();
  expect(readStages(recipe, 0, read)).toBeUndefined();
});

test("a later stage is read when it is needed, once, and only of the whole that the start is of", () => {
  let bytes = 0;
  const file = whole.slice();
  const counting: Read = (room, place) => {
    bytes += room.length;
    room.set(file.subarray(place, place + room.length));
  };
  const found = readStages(recipe, whole.length, counting) as Stages;
  expect(bytes).toBeLessThan(whole.length / 2);
  const all = readAll(found);
  const read = bytes;
  expect(read).toBeGreaterThan(whole.length / 2);
  const again = readAll(all);
  for (const [at, later] of again.later.entries()) expect(later).toBe(all.later[at]);
  for (const [at, one] of again.data.entries()) expect(one).toBe(all.data[at]);
  expect(bytes).toBe(read);
  const other = readStages(recipe, whole.length, counting) as Stages;
  file.fill(7, whole.length - 8);
  expect(() => readAll(other)).toThrow("overwritten while this process used it");
  expect(() => instantiateStages(other)).toThrow("overwritten while this process used it");
  let end = whole.length;
  const short = readStages(recipe, whole.length, (room, place) => {
    if (place + room.length > end) throw new Error("it ends early");
    room.set(whole.subarray(place, place + room.length));
  }) as Stages;
  end -= 1;
  expect(() => readAll(short)).toThrow("overwritten while this process used it");
});

test("an instance reads later stages of the file also when all of it was read for threads since", () => {
  const instance = instantiateHere();
  expect(said(() => instance, [packageOf("")])).not.toHaveLength(0);
  expect(sharedModule()).not.toBeInstanceOf(WebAssembly.Module);
  const expected = said(() => instantiateWhole(new WebAssembly.Module(whole)), SELDOM);
  expect(said(() => instance, SELDOM)).toEqual(expected);
});

test("functions have the numbers of the whole in all stages", () => {
  const instance = instantiateStages(stages());
  const core = new Core({ instantiate: () => instance, cacheBytes: 1 << 20, onTrap: ({ cause }) => traps.push(cause) });
  const traps: unknown[] = [];
  for (const of of SELDOM) {
    try {
      core.deploy(of);
    } catch {
      // A refusal.
    }
  }
  new Uint8Array(instance.memory.buffer).fill(0xff);
  expect(() => core.statistics()).toThrow("Internal error");
  const stack = namedStack((traps[0] as Error).stack ?? "", built("core_names.wasm"));
  expect(stack).toMatch(/core_statistics wasm-function\[\d+\]:0x/);
});

test("a thread is given stages, and loads later ones of the bytes that all threads have", async () => {
  const given = readAll(stages());
  const worker = new Worker(
    `const { parentPort, workerData: { start, later } } = require("node:worker_threads");
    const isModule = start instanceof WebAssembly.Module;
    later[1].bytes[0] = 7;
    parentPort.postMessage([isModule, WebAssembly.Module.imports(start).length > 0, later.length]);`,
    { eval: true, workerData: given },
  );
  const answer = await new Promise((resolve, reject) => worker.once("message", resolve).once("error", reject));
  await worker.terminate();
  expect(answer).toEqual([true, true, 2]);
  expect(given.later.map(({ bytes }) => (bytes as Uint8Array)[0])).toEqual([0, 7]);
});
