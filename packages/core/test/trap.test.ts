/**
 * Traps of the built module. The product has no switch for them: the instance's memory is an export of the module, so
 * a test can spoil it, or take all of it, from outside.
 */
import { expect, test } from "vitest";
import { asPackage } from "../src/bytes.ts";
import { Core } from "../src/core.ts";
import { Writer } from "../src/frame.ts";
import type { RawInstance } from "../src/instance.ts";
import { instantiate } from "../src/node.ts";
import type { ServiceError } from "../src/service-error.ts";
import type { OperationRequest } from "../src/task.ts";

const REFERENCE = /^Internal error, reference [0-9a-f]{6}-\d+$/;
const CACHE_BYTES = 1 << 20;
const encoder = new TextEncoder();

function applicationPackage(): Uint8Array {
  const files = {
    "services.xml": `<services version="1.0"><content id="all" version="1.0"><redundancy>1</redundancy>
      <documents><document type="note" mode="streaming"/></documents>
      <nodes><node hostalias="n" distribution-key="0"/></nodes></content></services>`,
    "schemas/note.sd": "schema note { document note { field title type string { indexing: summary | index } } }",
  };
  const writer = new Writer().varint(Object.keys(files).length);
  for (const [path, text] of Object.entries(files)) writer.text(path).text(text);
  return writer.finish();
}

/** A core with an application, the memories of its instances in order, and its traps. */
function trapping(): { core: Core; memories: readonly WebAssembly.Memory[]; traps: readonly ServiceError[] } {
  const memories: WebAssembly.Memory[] = [];
  const traps: ServiceError[] = [];
  const make = (): RawInstance => {
    const instance = instantiate();
    memories.push(instance.memory as WebAssembly.Memory);
    return instance;
  };
  const core = new Core({ instantiate: make, cacheBytes: CACHE_BYTES, onTrap: (trap) => traps.push(trap) });
  core.deploy(asPackage(applicationPackage()));
  return { core, memories, traps };
}

function put(title: string): OperationRequest {
  const body = encoder.encode(JSON.stringify({ fields: { title } }));
  return { kind: "put", rawPath: "", id: "id:test:note:g=alice:1", create: false, condition: "", body };
}

function encode(core: Core, request: OperationRequest): string {
  const task = core.encode(request, 0);
  try {
    return task.finish().schema;
  } finally {
    task[Symbol.dispose]();
  }
}

/** Makes every pointer and length in an instance point beyond its end. */
function spoil(memory: WebAssembly.Memory | undefined): void {
  if (memory !== undefined) new Uint8Array(memory.buffer).fill(0xff);
}

/** Takes all pages that the instance could still ask for. */
function exhaust(memory: WebAssembly.Memory | undefined): void {
  for (let pages = 1 << 16; pages >= 1; pages >>= 1) {
    try {
      memory?.grow(pages);
    } catch {
      // More than is left: half of it is tried next.
    }
  }
}

/** Keeps requests under way until they need more than the instance reserved for its cache and its work. */
function crowd(core: Core, title: string): void {
  for (let requests = 0; requests < 64; requests += 1) core.encode(put(title), 0);
}

test.each([
  ["spoiled memory", spoil, (core: Core, title: string) => encode(core, put(title)), "short"],
  ["memory that cannot grow", exhaust, crowd, "long ".repeat(700_000)],
] as const)("%s fails one request with a reference, and the next has a fresh instance", (_, harm, use, title) => {
  const { core, memories, traps } = trapping();
  expect(encode(core, put("before"))).toBe("note");
  const fingerprint = core.application()?.fingerprint;
  const started = core.encode(put("of the instance that will end"), 0);
  harm(memories[0]);
  expect(() => use(core, title)).toThrow(expect.objectContaining({ code: "INTERNAL", status: 500 }));
  expect(traps).toHaveLength(1);
  expect(traps[0]?.message).toMatch(REFERENCE);
  expect(traps[0]?.cause).toBeInstanceOf(WebAssembly.RuntimeError);
  // A task of the dead instance fails as well, instead of being answered from what is left of it.
  expect(() => started.finish()).toThrow(expect.objectContaining({ code: "INTERNAL" }));
  started[Symbol.dispose]();

  expect(encode(core, put(title))).toBe("note");
  expect(core.application()?.fingerprint).toBe(fingerprint);
  expect(memories).toHaveLength(2);
  expect(traps).toHaveLength(1);
  expect(core.statistics()).toMatchObject({ blocks: 0, partitions: 0 });
});

test("an instance that traps in every request costs those requests, never the core", () => {
  const { core, memories, traps } = trapping();
  for (let round = 1; round <= 20; round += 1) {
    spoil(memories.at(-1));
    expect(() => encode(core, put("a"))).toThrow(REFERENCE);
    expect(encode(core, put("a"))).toBe("note");
    expect([memories.length, traps.length]).toEqual([round + 1, round]);
  }
  const references = new Set(traps.map(({ message }) => message));
  expect(references.size).toBe(20);
});
