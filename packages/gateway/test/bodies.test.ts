/** Request bodies under the bound of all of them (L-mem): also while they come without a length, and while they are inflated. */
import http from "node:http";
import http2 from "node:http2";
import { gzipSync } from "node:zlib";
import { describe, expect, onTestFinished, test } from "vitest";
import { Bodies } from "../src/bodies.ts";
import { type BodyRoom, type Call, callFromRequest } from "../src/call.ts";
import { DEFAULT_LIMITS } from "../src/limits.ts";
import { nodeGunzip, startServer } from "../src/node/index.ts";
import { fakeCluster } from "./fake-cluster.ts";

const KIB = 1024;
const KIND = { name: "Document", limitBytes: 512 * KIB };
const PATH = "/document/v1/ns/mail/group/u1/x";
const limits = { ...DEFAULT_LIMITS, bodyBytesInFlight: 1024 * KIB };
const FIRST = `{"fields":{"a":"${"y".repeat(600 * KIB)}`;
const REST = '"}}';

interface Open {
  readonly status: Promise<number>;
  end(): void;
}

/** Begins a body without a length, which does not end by itself. */
const protocols: Readonly<Record<string, (port: number) => Open>> = {
  "HTTP/1.1": (port) => {
    const request = http.request({ port, method: "POST", path: PATH, agent: false });
    const status = new Promise<number>((resolve, reject) => {
      request.once("response", (response) => resolve(response.resume().statusCode ?? 0));
      // Who was answered may lose the connection.
      request.on("error", reject);
    });
    status.catch(() => undefined);
    request.write(FIRST);
    return { status, end: () => void request.end(REST) };
  },
  "HTTP/2": (port) => {
    const session = http2.connect(`http://127.0.0.1:${port}`).on("error", () => undefined);
    onTestFinished(() => session.destroy());
    const stream = session.request({ ":method": "POST", ":path": PATH }, { endStream: false });
    const status = new Promise<number>((resolve, reject) => {
      stream.once("response", (headers) => resolve(headers[":status"] ?? 0));
      stream.on("error", reject).resume();
    });
    status.catch(() => undefined);
    stream.write(FIRST);
    return { status, end: () => void stream.end(REST) };
  },
};

test.each(Object.entries(protocols))("what came of bodies without a length is bounded over %s", async (_, begin) => {
  const server = await startServer(fakeCluster(), { port: 0, limits });
  onTestFinished(() => server.close(100));
  const bodies = Array.from({ length: 4 }, () => begin(server.port));
  const told: number[] = [];
  const waiting = new Set(bodies);
  for (const body of bodies)
    void body.status.then((status) => {
      waiting.delete(body);
      told.push(status);
    });
  await expect.poll(() => told).toEqual([503, 503, 503]);
  // The one that had room ends as it should, and then there is room again.
  const [left] = waiting;
  left?.end();
  expect(await left?.status).toBe(200);
  const next = begin(server.port);
  next.end();
  expect(await next.status).toBe(200);
});

/** A call with a body that comes in parts; those that are not taken yet. */
function callWith(sent: readonly Uint8Array[], headers: Readonly<Record<string, string>> = {}) {
  const left = [...sent];
  const body = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        const part = left.shift();
        if (part === undefined) controller.close();
        else controller.enqueue(part);
      },
    },
    { highWaterMark: 0 },
  );
  const request = new Request("http://localhost/", { method: "POST", headers, body, duplex: "half" } as RequestInit);
  return { call: callFromRequest(request), left };
}

test("a body that was given up holds nothing, whatever comes of it", async () => {
  const bodies = new Bodies(limits, nodeGunzip);
  let room: BodyRoom | undefined;
  const { call } = callWith([]);
  const body: Call["body"] = (_, given) => {
    room = given;
    given.grow(100 * KIB);
    return Promise.reject(new Error("too slow"));
  };
  await expect(bodies.read(Object.assign(call, { body }), KIND)).rejects.toThrow("too slow");
  expect(() => room?.grow(200 * KIB)).toThrow("given up");
  expect(bodies.heldBytes).toBe(0);
});

test("what came of the body of a request of the Web is bounded, and nothing of one that is refused is held", async () => {
  const bodies = new Bodies({ ...limits, bodyBytesInFlight: 300 * KIB }, nodeGunzip);
  const parts = Array.from({ length: 5 }, () => new Uint8Array(100 * KIB));
  const { call, left } = callWith(parts);
  await expect(bodies.read(call, KIND)).rejects.toMatchObject({ code: "UNAVAILABLE", status: 503 });
  expect([left.length, bodies.heldBytes]).toEqual([1, 0]);
  const held = await bodies.read(callWith(parts.slice(2)).call, KIND);
  expect(bodies.heldBytes).toBe(300 * KIB);
  held.release();
  expect(bodies.heldBytes).toBe(0);
});

describe("what is inflated", () => {
  const gzip = { "content-encoding": "gzip" };
  /** Bodies, and the most that was held while any was inflated. */
  function inflating(bodyBytesInFlight: number) {
    const seen = { heldBytes: 0 };
    const bodies: Bodies = new Bodies({ ...limits, bodyBytesInFlight }, (compressed, most) => {
      seen.heldBytes = bodies.heldBytes;
      return nodeGunzip(compressed, most);
    });
    return { seen, bodies };
  }

  test("has room before it is there, as much as it says to need", async () => {
    const sent = gzipSync(Buffer.alloc(400 * KIB));
    const { seen, bodies } = inflating(1024 * KIB);
    const held = await bodies.read(callWith([sent], gzip).call, KIND);
    expect(held.bytes).toHaveLength(400 * KIB);
    expect(seen.heldBytes).toBe(sent.length + 400 * KIB);
    expect(bodies.heldBytes).toBe(400 * KIB);
    seen.heldBytes = 0;
    const full = inflating(400 * KIB);
    await expect(full.bodies.read(callWith([sent], gzip).call, KIND)).rejects.toMatchObject({ code: "UNAVAILABLE" });
    expect([full.seen.heldBytes, full.bodies.heldBytes]).toEqual([0, 0]);
  });

  test("and is more than that has room for all that it may be", async () => {
    const several = Buffer.concat([gzipSync(Buffer.alloc(300 * KIB)), gzipSync(Buffer.alloc(10))]);
    const { seen, bodies } = inflating(1024 * KIB);
    expect((await bodies.read(callWith([several], gzip).call, KIND)).bytes).toHaveLength(300 * KIB + 10);
    expect(seen.heldBytes).toBe(several.length + KIND.limitBytes);
    const lie = gzipSync(Buffer.alloc(700 * KIB));
    lie.writeUInt32LE(10, lie.length - 4);
    await expect(bodies.read(callWith([lie], gzip).call, KIND)).rejects.toMatchObject({ code: "TOO_LARGE" });
    expect(bodies.heldBytes).toBe(300 * KIB + 10);
  });
});
