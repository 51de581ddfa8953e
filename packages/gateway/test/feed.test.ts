import { gzipSync } from "node:zlib";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { createGateway, type GatewayLimits } from "../src/index.ts";
import { inflate } from "../src/inflate.ts";
import { type FakeCluster, fakeCluster } from "./fake-cluster.ts";

const URL_OF_FEED = "http://localhost/brooklet/v1/feed";
const JSON_LINES = { accept: "application/jsonl" };
const TWO = '{"put":"id:a:mail::1"}\n{"nothing":1}\n';

async function send(
  init: RequestInit,
  { target = URL_OF_FEED, cluster = fakeCluster(), limits = {} as Partial<GatewayLimits> } = {},
): Promise<{ status: number; headers: Headers; text: string; cluster: FakeCluster }> {
  const response = await createGateway({ cluster, limits }).fetch(target, { method: "POST", ...init });
  return { status: response.status, headers: response.headers, text: await response.text(), cluster };
}

describe("a feed in one request", () => {
  test("is answered on lines for who accepts them", async () => {
    const { status, headers, text } = await send({ body: TWO, headers: JSON_LINES });
    expect([status, headers.get("content-type")]).toEqual([200, "application/jsonl; charset=UTF-8"]);
    expect(text.split("\n").map((line) => (line === "" ? "" : JSON.parse(line)))).toEqual([
      { operation: 0, id: "id:a:mail::1", status: 200 },
      { operation: 1, id: "", status: 400, code: "INVALID_DOCUMENT", message: "no", outcome: "not_applied" },
      { operations: 2, applied: 1, failed: 1, ignored: 0 },
      "",
    ]);
  });

  test("is answered with its failures otherwise", async () => {
    const { status, text } = await send({ body: TWO });
    const failure = { operation: 1, id: "", status: 400, code: "INVALID_DOCUMENT", message: "no" };
    expect(status).toBe(200);
    expect(JSON.parse(text)).toEqual({
      operations: 2,
      applied: 1,
      failed: 1,
      ignored: 0,
      failures: [{ ...failure, outcome: "not_applied" }],
    });
  });

  test("counts apart what the selection of a content cluster does not let in", async () => {
    const body = '{"put":"id:a:mail::1:unselected"}\n{"put":"id:a:mail::2"}\n{"put":"id:a:mail::3:unselected"}\n';
    const counts = { operations: 3, applied: 1, failed: 0, ignored: 2 };
    expect(JSON.parse((await send({ body })).text)).toEqual({ ...counts, failures: [] });
    const lines = (await send({ body, headers: JSON_LINES })).text.trim().split("\n");
    expect(JSON.parse(lines.at(-1) ?? "")).toEqual(counts);
    // Nothing of it was done.
    const broken = await send({ body: '{"put":"id:a:mail::1:unselected"}\nbroken\n' });
    expect(JSON.parse(broken.text)).toMatchObject({ applied: 0, ignored: 1, outcome: "not_applied" });
  });

  test("may be compressed, and may be empty", async () => {
    const body = new Uint8Array(gzipSync(TWO));
    expect(JSON.parse((await send({ body, headers: { "content-encoding": "gzip" } })).text)).toMatchObject({
      operations: 2,
    });
    expect(JSON.parse((await send({})).text)).toEqual({
      operations: 0,
      applied: 0,
      failed: 0,
      ignored: 0,
      failures: [],
    });
    const broken = await send({ body: TWO, headers: { "content-encoding": "gzip" } });
    expect([broken.status, JSON.parse(broken.text)]).toEqual([
      400,
      expect.objectContaining({ code: "BAD_REQUEST", message: "Invalid gzip body", applied: 0 }),
    ]);
    expect((await send({ body: TWO, headers: { "content-encoding": "br" } })).status).toBe(415);
  });

  test("that breaks off says so, after what was done", async () => {
    const body = '{"put":"id:a:mail::1"}\nbroken\n';
    const whole = await send({ body });
    const said = { status: 400, code: "INVALID_DOCUMENT", message: "'b' stands where an operation should begin" };
    expect([whole.status, JSON.parse(whole.text)]).toEqual([
      400,
      { operations: 1, applied: 1, failed: 0, ignored: 0, failures: [], ...said, outcome: "unknown" },
    ]);
    const lines = (await send({ body, headers: JSON_LINES })).text.trimEnd().split("\n");
    expect(JSON.parse(lines.at(-1) ?? "")).toEqual({
      ...{ operations: 1, applied: 1, failed: 0, ignored: 0 },
      ...said,
      outcome: "unknown",
    });
    const nothing = JSON.parse((await send({ body: "broken\n" })).text);
    expect(nothing).toMatchObject({ applied: 0, outcome: "not_applied" });
  });

  test("is refused before anything is read of it", async () => {
    const cluster = fakeCluster();
    cluster.report = undefined;
    expect((await send({ body: TWO }, { cluster })).status).toBe(503);
    expect((await send({ method: "GET" })).headers.get("allow")).toBe("POST");
    expect((await send({ body: TWO }, { target: `${URL_OF_FEED}/more` })).status).toBe(404);
    expect((await send({ body: TWO }, { target: `${URL_OF_FEED}?timeout=x` })).status).toBe(400);
    const limits = { feeds: { running: 0, queued: 0, waitMs: 1 } };
    expect((await send({ body: TWO }, { limits })).status).toBe(429);
  });
});

describe("a feed that hardly comes", () => {
  const limits = { feeds: { running: 1, queued: 1, waitMs: 60_000 } };

  /** What becomes of a feed of 12 lines, one a second, each with so many bytes; `whileWaited`: another waits for its place. */
  async function slowFeed(bytes: number, whileWaited: boolean): Promise<unknown> {
    vi.useFakeTimers({ toFake: ["performance"] });
    onTestFinished(() => void vi.useRealTimers());
    const gateway = createGateway({ cluster: fakeCluster(), limits });
    const ask = async (body: BodyInit): Promise<unknown> => {
      const init = { method: "POST", body, duplex: "half" } as RequestInit;
      return JSON.parse(await (await gateway.fetch(URL_OF_FEED, init)).text());
    };
    let other: Promise<unknown> | undefined;
    let lines = 0;
    const body = new ReadableStream<Uint8Array>({
      async pull(controller) {
        if (whileWaited) other ??= ask(TWO);
        // The other gets to its place.
        await new Promise(setImmediate);
        vi.advanceTimersByTime(1_000);
        lines += 1;
        controller.enqueue(new TextEncoder().encode(`{"put":"id:a:mail::1"}${" ".repeat(bytes)}\n`));
        if (lines === 12) controller.close();
      },
    });
    const came = await ask(body);
    if (whileWaited) expect(await other).toMatchObject({ applied: 1 });
    return came;
  }

  test("gives its place up to others that wait for it (L-slow)", async () => {
    expect(await slowFeed(0, true)).toMatchObject({
      status: 429,
      code: "OVERLOADED",
      message: expect.stringContaining("others wait for the place of this feed"),
    });
  });

  test("gives it up in silence, too", async () => {
    vi.useFakeTimers({ toFake: ["performance", "setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const gateway = createGateway({ cluster: fakeCluster(), limits });
    const ask = (body: BodyInit): Promise<Response> =>
      gateway.fetch(URL_OF_FEED, { method: "POST", body, duplex: "half" } as RequestInit);
    const silent = ask(new ReadableStream({ pull: () => new Promise(() => undefined) }));
    await vi.advanceTimersByTimeAsync(30_000);
    const other = ask(TWO);
    await vi.advanceTimersByTimeAsync(10_000);
    expect((await silent).status).toBe(429);
    expect(await (await other).json()).toMatchObject({ applied: 1 });
  });

  test("goes on where nobody waits, or enough comes", async () => {
    expect(await slowFeed(0, false)).toMatchObject({ applied: 12, failed: 0 });
    expect(await slowFeed(1_024, true)).toMatchObject({ applied: 12, failed: 0 });
  });
});

test("a feed may not become a hundred times as much as was sent of it (L-gzip)", async () => {
  const lines = '{"put":"id:a:mail::1"}\n'.repeat(200_000);
  const compressed = new Uint8Array(gzipSync(lines));
  expect(lines.length / compressed.length).toBeGreaterThan(150);
  const read = async (inflationRatio: number): Promise<number> => {
    let bytes = 0;
    const parts = (async function* () {
      for (let at = 0; at < compressed.length; at += 1_000) yield compressed.subarray(at, at + 1_000);
    })();
    for await (const part of inflate(parts, { inflationRatio, inflationFreeBytes: 1 << 16 })) {
      bytes += part.length;
      // Nothing beyond it is handed on.
      expect(bytes).toBeLessThanOrEqual((1 << 16) + inflationRatio * compressed.length);
    }
    return bytes;
  };
  expect(await read(1_000)).toBe(lines.length);
  await expect(read(100)).rejects.toMatchObject({ code: "TOO_LARGE", message: expect.stringContaining("L-gzip") });
});
