/** Rejections, traps and tasks, against a module that does what a test says. */
import { expect, test } from "vitest";
import { asPackage } from "../src/bytes.ts";
import { Core } from "../src/core.ts";
import { Reader, Writer } from "../src/frame.ts";
import type { RawInstance, RawQuery, RawTask } from "../src/instance.ts";
import { encodeQuery } from "../src/query.ts";
import { ResultRoom } from "../src/result-room.ts";
import { isServiceError, ServiceError } from "../src/service-error.ts";

const BOUNDS = { firstFreeSegment: 1, forgetBeforeMicros: 1_700_000_000_000_000 };
const PLACE = { incarnation: 1, partition: 3, key: "g:a", layout: 7, operation: 2 ** 33 };
const REQUEST = { properties: [["yql", "x"]], body: Uint8Array.of(1) } as const;
const REJECTION = '{"code":"ILLEGAL_QUERY","number":3,"status":400,"message":"no","line":1,"column":5}';

type OpenTask = (kind: number, request: Uint8Array, memory: { buffer: ArrayBuffer }) => Partial<RawTask>;

/** A query that addresses the group `a` and wants nothing to be embedded. */
const GROUP_A = new Writer().u8(1).varint(1).text("g:a").varint(0).finish();

/** A module whose instances count, whose memory can grow, and whose tasks are made by `open`; its queries by `query`. */
function fake(
  open: OpenTask,
  query: (request: Uint8Array) => Partial<RawQuery> = () => ({}),
): {
  core: Core;
  deployed: string[];
  traps: ServiceError[];
  memories: { buffer: ArrayBuffer }[];
} {
  const [deployed, traps, memories]: [string[], ServiceError[], { buffer: ArrayBuffer }[]] = [[], [], []];
  const instantiate = (): RawInstance => {
    const memory = { buffer: new ArrayBuffer(64) };
    const instance = memories.push(memory);
    class RawCore {
      deploy(bytes: Uint8Array): string {
        const text = new TextDecoder().decode(bytes);
        if (text === "trap") throw new WebAssembly.RuntimeError("unreachable");
        if (text === "bad") throw REJECTION;
        deployed.push(`${instance}:${text}`);
        return '{"fingerprint":"f"}';
      }
      application(): string {
        return "";
      }
      models(bytes: Uint8Array): string {
        return JSON.stringify({ ranking: [new TextDecoder().decode(bytes)], embedders: [] });
      }
      open(kind: number, request: Uint8Array): RawTask {
        const nothing = {
          wants: () => undefined,
          buffer: () => 0,
          give: () => undefined,
          elapsed: () => undefined,
          finish_in_pieces: () => 0,
          next_piece: () => 0,
          piece_length: () => 0,
        };
        return { ...nothing, finish: () => new Uint8Array(), free: () => undefined, ...open(kind, request, memory) };
      }
      query(request: Uint8Array): RawQuery {
        return {
          description: () => GROUP_A,
          refusal: () => undefined,
          timeout: () => 50,
          parameter: () => undefined,
          give_embeddings: () => undefined,
          give_outputs: () => undefined,
          open: (kind, of) => this.open(kind, of),
          free: () => undefined,
          ...query(request),
        };
      }
      statistics(): string {
        return '{"hits":1}';
      }
      history(): Uint8Array {
        return new Uint8Array();
      }
      isSealed(): boolean {
        return true;
      }
    }
    return { Core: RawCore, memory };
  };
  return {
    core: new Core({ instantiate, cacheBytes: 1, onTrap: (error) => traps.push(error) }),
    deployed,
    traps,
    memories,
  };
}

const rendered = new Writer().u8(200).u8(0).text("text/plain").u64(5).u64(6).bytes(Uint8Array.of(1, 2)).finish();

test("a query and its search cross as docs/abi.md says, and the answer is read", () => {
  let opened: Uint8Array = new Uint8Array();
  let crossed: Uint8Array = new Uint8Array();
  const { core } = fake(
    (kind, request) => {
      expect(kind).toBe(2);
      crossed = request.slice();
      return { finish: () => rendered };
    },
    (request) => {
      opened = request.slice();
      return {};
    },
  );
  const query = core.query(encodeQuery(REQUEST, 17));
  expect([query.scope, query.wanted, query.timeoutMs]).toEqual([{ kind: "keys", keys: ["g:a"] }, [], 50]);
  expect(query.search(PLACE).finish()).toEqual({
    status: 200,
    contentType: "text/plain",
    bytesRead: 5,
    bytesScanned: 6,
    body: Uint8Array.of(1, 2),
  });
  const request = new Reader(opened);
  expect(request.u64()).toBe(17);
  expect([request.list((it) => [it.text(), it.text()]), [...request.bytes()]]).toEqual([[["yql", "x"]], [1]]);
  expect(request.text()).toBe("");
  request.end();
  const place = new Reader(crossed);
  expect([place.u32(), place.u32(), place.text(), place.u32(), place.u64()]).toEqual([1, 3, "g:a", 7, 2 ** 33]);
  place.end();
});

test("a query that is refused has its answer", () => {
  const description = new Writer().u8(0).bytes(rendered).varint(0).finish();
  const { core } = fake(
    () => ({}),
    () => ({ description: () => description }),
  );
  const { scope } = core.query(encodeQuery(REQUEST, 17));
  expect(scope).toMatchObject({ kind: "refused", answer: { contentType: "text/plain" } });
});

test("after a trap and after a deployment a query is opened again with what it was given", () => {
  const given: string[] = [];
  let opens = 0;
  let broken = false;
  const { core, traps } = fake(
    () => {
      if (broken) throw new WebAssembly.RuntimeError("unreachable");
      return { finish: () => rendered };
    },
    () => {
      const number = ++opens;
      return {
        give_embeddings: (bytes) => void given.push(`${number}: embeddings ${bytes}`),
        give_outputs: (bytes) => void given.push(`${number}: outputs ${bytes}`),
        free: () => void given.push(`${number}: freed`),
      };
    },
  );
  core.deploy(asPackage(new TextEncoder().encode("one")));
  const query = core.query(encodeQuery(REQUEST, 17));
  query.giveEmbeddings(Uint8Array.of(1));
  query.giveOutputs(Uint8Array.of(2));
  broken = true;
  expect(() => query.search(PLACE)).toThrow(/^Internal error, reference/);
  broken = false;
  expect(query.search(PLACE).finish().status).toBe(200);
  core.deploy(asPackage(new TextEncoder().encode("two")));
  expect(query.search(PLACE).finish().status).toBe(200);
  query[Symbol.dispose]();
  query[Symbol.dispose]();
  expect(() => query.search(PLACE)).toThrow("a disposed query was used");
  expect(traps).toHaveLength(1);
  // The first went with its instance.
  expect(given).toEqual([
    "1: embeddings 1",
    "1: outputs 2",
    "2: embeddings 1",
    "2: outputs 2",
    "2: freed",
    "3: embeddings 1",
    "3: outputs 2",
    "3: freed",
  ]);
});

test("a large result is copied piece by piece to the room it is given, which is used again", () => {
  const change = new Writer().u64(5).varint(1).u32(9).varint(0).varint(0).u8(0).finish().slice();
  const room = new ResultRoom();
  const { core } = fake((_kind, _request, memory) => {
    const pieces = [change.subarray(0, 3), change.subarray(3, 4), change.subarray(4)];
    let piece = new Uint8Array();
    return {
      finish: () => expect.fail("the result was asked for where it is not copied to the room"),
      finish_in_pieces: () => change.length,
      next_piece: () => {
        piece = pieces.shift() ?? new Uint8Array();
        // The memory may have grown meanwhile.
        memory.buffer = new ArrayBuffer(256);
        new Uint8Array(memory.buffer).set(piece, 100);
        return 100;
      },
      piece_length: () => piece.length,
    };
  });
  expect(core.compact(PLACE, "fold", BOUNDS, room).finish()).toMatchObject({ folded: 5, removedSegments: [9] });
  const before = room.of(4).buffer;
  expect(core.compact(PLACE, "fold", BOUNDS, room).finish()).toMatchObject({ folded: 5, removedSegments: [9] });
  expect(room.of(change.length)).toEqual(change);
  expect(room.of(4).buffer).toBe(before);
  const huge = room.of(17 << 20);
  expect([huge.length, room.of(4).buffer]).toEqual([17 << 20, before]);
});

test("wants are read, and answers written to memory as it is after the core took its buffer", () => {
  const given: number[][] = [];
  const wants = [
    Uint8Array.of(1),
    new Writer().u8(2).u32(4).u64(5).finish(),
    new Writer().u8(3).varint(1).u32(6).u32(7).finish(),
    new Writer().u8(4).text("Europe/Oslo").u64(9).finish(),
    new Writer().u8(5).u64(10).finish(),
    new Writer().u8(6).u8(1).u8(0).varint(0).finish(),
  ];
  const { core } = fake((_kind, _request, memory) => ({
    wants: () => wants.shift(),
    buffer: () => {
      memory.buffer = new ArrayBuffer(128);
      return 100;
    },
    give: () => given.push([...new Uint8Array(memory.buffer, 100, 3)]),
  }));
  const task = core.compact(PLACE, "fold", BOUNDS);
  expect(Array.from({ length: 7 }, () => task.wants())).toEqual([
    { kind: "pause" },
    { kind: "manifest", layout: 4, operation: 5 },
    { kind: "blocks", blocks: [{ segment: 6, block: 7 }] },
    { kind: "zone", name: "Europe/Oslo", at: 9 },
    { kind: "operation", number: 10 },
    { kind: "models", wanted: { anew: true, runs: Uint8Array.of(0, 0) } },
    undefined,
  ]);
  task.give(Uint8Array.of(1, 2, 3));
  expect(given).toEqual([[1, 2, 3]]);
  expect(task.finish()).toBeUndefined();
});

test("a rejection is an error with its place, and the instance lives on", () => {
  const { core, memories, traps } = fake(() => {
    throw REJECTION;
  });
  const search = (): unknown => core.query(encodeQuery(REQUEST, 1)).search(PLACE);
  expect(search).toThrow(ServiceError);
  expect(search).toThrow(
    expect.objectContaining({ code: "ILLEGAL_QUERY", status: 400, number: 3, message: "no", line: 1, column: 5 }),
  );
  expect(memories).toHaveLength(1);
  expect(traps).toEqual([]);
});

test("a trap fails its request with a reference, and the next finds a fresh instance with the last package", () => {
  let broken = true;
  const { core, deployed, memories, traps } = fake(() => ({
    wants: () => {
      if (broken) throw new WebAssembly.RuntimeError("unreachable");
      return undefined;
    },
    free: () => {
      throw new Error("a dead instance was called");
    },
  }));
  core.deploy(asPackage(new TextEncoder().encode("one")));
  const other = core.compact(PLACE, "fold", BOUNDS);
  const task = core.compact(PLACE, "fold", BOUNDS);
  expect(() => task.wants()).toThrow(/^Internal error, reference [0-9a-f]{6}-\d+$/);
  expect(() => other.finish()).toThrow(expect.objectContaining({ code: "INTERNAL", status: 500 }));
  task[Symbol.dispose]();
  broken = false;
  expect(core.compact(PLACE, "fold", BOUNDS).wants()).toBeUndefined();
  expect(deployed).toEqual(["1:one", "2:one"]);
  expect(memories).toHaveLength(2);
  expect(traps).toHaveLength(1);
  expect(String(traps[0]?.cause)).toContain("unreachable");
});

test("a package that is refused, or traps, leaves the one before", () => {
  const { core, deployed } = fake(() => ({}));
  const deploy = (text: string): unknown => core.deploy(asPackage(new TextEncoder().encode(text)));
  deploy("one");
  expect(() => deploy("bad")).toThrow(expect.objectContaining({ code: "ILLEGAL_QUERY" }));
  expect(() => deploy("trap")).toThrow(expect.objectContaining({ code: "INTERNAL" }));
  core.compact(PLACE, "fold", BOUNDS);
  expect(deployed).toEqual(["1:one", "2:one"]);
});

test("an error of another copy of this package is known by its mark", () => {
  const error = Object.create(
    Object.defineProperty({}, Symbol.for("brooklet.ServiceError"), { value: true }),
  ) as unknown;
  expect(isServiceError(error)).toBe(true);
  expect(isServiceError(new Error("x"))).toBe(false);
  expect(isServiceError(undefined)).toBe(false);
});
