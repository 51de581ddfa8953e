/** What a request may take is counted from when it came: waiting for a place is a part of it. The clock is the test's. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createGateway, type Gateway } from "../src/index.ts";
import { type FakeCluster, fakeCluster } from "./fake-cluster.ts";

const HOST = "http://localhost";
const ONE_AT_A_TIME = { running: 1, queued: 8, waitMs: 60_000 };

beforeEach(() => void vi.useFakeTimers({ toFake: ["performance"] }));
afterEach(() => void vi.useRealTimers());

/** A gateway in which one request of a kind runs at a time, and that waits until `open` is called. */
function busy(): { readonly cluster: FakeCluster; readonly gateway: Gateway; readonly open: () => void } {
  const cluster = fakeCluster();
  let open = (): void => {};
  cluster.gate = new Promise((resolve) => {
    open = resolve;
  });
  const limits = { documents: ONE_AT_A_TIME, searchesOfPartition: ONE_AT_A_TIME, visits: ONE_AT_A_TIME };
  return { cluster, gateway: createGateway({ cluster, limits }), open };
}

/** Until what was sent stands where it waits. */
async function standing(cluster: FakeCluster): Promise<void> {
  while (cluster.asked.length === 0) await new Promise((resolve) => setImmediate(resolve));
  await new Promise((resolve) => setImmediate(resolve));
}

test("a search that waits for a place tells how long it waited, and its timeout is counted from its arrival", async () => {
  const { cluster, gateway, open } = busy();
  const search = (): Promise<Response> => gateway.fetch(`${HOST}/search/?streaming.groupname=u1&timeout=1s`);
  const answers = [search(), search()];
  await standing(cluster);
  vi.advanceTimersByTime(300);
  open();
  await Promise.all(answers);
  expect(cluster.asked.map(({ request }) => "waitedMs" in request && request.waitedMs)).toEqual([0, 300]);
  expect(cluster.asked.map(({ timeoutMs }) => timeoutMs)).toEqual([60_000, 60_000]);
});

test.each(["POST", "GET", "DELETE"])("a %s that waits for a place has less time when it gets one", async (method) => {
  const { cluster, gateway, open } = busy();
  const path = "/document/v1/ns/mail/group/u1/";
  const body = method === "POST" ? { body: "{}" } : {};
  const send = (name: string, timeout: string): Promise<Response> =>
    gateway.fetch(`${HOST}${path}${name}?timeout=${timeout}`, { method, ...body });
  const answers = [send("a", "10s"), send("b", "10s")];
  await standing(cluster);
  vi.advanceTimersByTime(4_000);
  open();
  await Promise.all(answers);
  expect(cluster.asked.map(({ timeoutMs }) => timeoutMs)).toEqual([10_000, 6_000]);
});

test("what is read after the time of a get is not told", async () => {
  const { cluster, gateway, open } = busy();
  cluster.stored.set("g:u1", new Map([["id:ns:mail:g=u1:a", '{"fields":{}}']]));
  const get = (): Promise<Response> => gateway.fetch(`${HOST}/document/v1/ns/mail/group/u1/a?timeout=100ms`);
  const answer = get();
  await standing(cluster);
  vi.advanceTimersByTime(100);
  open();
  const late = await answer;
  expect([late.status, await late.json()]).toEqual([504, expect.objectContaining({ message: "Timeout after 100ms" })]);
  expect((await get()).status).toBe(200);
});

test("an operation on many documents without time is refused, and one without a body gives its place back", async () => {
  const cluster = fakeCluster();
  const steps: number[] = [];
  const counted: FakeCluster = Object.assign(cluster, {
    applyWhere: (_visit: unknown, _step: unknown, _operation: unknown, timeoutMs: number) => {
      steps.push(timeoutMs);
      return Promise.resolve({ documents: 0 });
    },
  });
  const gateway = createGateway({ cluster: counted, limits: { visits: { ...ONE_AT_A_TIME, waitMs: 1 } } });
  const send = (method: string, more: string, headers: Record<string, string> = {}): Promise<Response> => {
    const path = `/document/v1/ns/mail/docid?selection=true&cluster=mail${more}`;
    const body = method === "PUT" ? { body: '{"fields":{}}' } : {};
    return gateway.fetch(`${HOST}${path}`, { method, headers, ...body });
  };
  for (const method of ["DELETE", "PUT"]) {
    const late = await send(method, "&timeout=0");
    expect([late.status, await late.json()]).toEqual([
      504,
      expect.objectContaining({ code: "TIMED_OUT", outcome: "not_applied" }),
    ]);
  }
  expect(steps).toEqual([]);
  expect((await send("PUT", "", { "content-encoding": "br" })).status).toBe(415);
  expect((await send("DELETE", "&timeout=100s")).status).toBe(200);
  expect(steps).toEqual(Array(cluster.buckets).fill(60_000));
});
