/** Places of requests whose answer comes in parts: given back when the last part is there, and when nobody takes any. */
import { expect, test } from "vitest";
import { createGateway, type LocalRequest } from "../src/index.ts";
import { fakeCluster } from "./fake-cluster.ts";

const FEED = "http://localhost/brooklet/v1/feed";
const LINE = '{"put":"id:a:mail::1"}\n';
const VISIT = "http://localhost/document/v1/?stream=true&cluster=mail";
const accept = { accept: "application/jsonl" };

type Requested = readonly [name: string, url: string, request: LocalRequest, queue: string];
const PARTS: readonly Requested[] = [
  [
    "a feed",
    FEED,
    { method: "POST", body: LINE, headers: { ...accept, "content-type": "application/jsonl" } },
    "feeds",
  ],
  ["a visit", VISIT, { headers: accept }, "visits"],
];

function gatewayOf() {
  const gateway = createGateway({ cluster: fakeCluster() });
  const running = async (queue: string): Promise<number> => {
    const told = await (await gateway.fetch("http://localhost/metrics")).text();
    const line = told.split("\n").find((one) => one.startsWith(`brooklet_admission_running{queue="${queue}"}`));
    return Number(line?.split(" ").at(-1));
  };
  return { gateway, running };
}

test.each(PARTS)("%s whose answer is read gives its place back", async (_, url, request, queue) => {
  const { gateway, running } = gatewayOf();
  const answer = await gateway.answer(url, request);
  expect([answer.status, await running(queue)]).toEqual([200, 1]);
  await answer.text();
  expect(await running(queue)).toBe(0);
});

test.each(PARTS)("%s whose answer is let go of unread gives its place back", async (_, url, request, queue) => {
  const { gateway, running } = gatewayOf();
  await (await gateway.answer(url, request)).body?.cancel();
  expect(await running(queue)).toBe(0);
});

test.each(PARTS)("%s whose caller goes before reading gives its place back", async (_, url, request, queue) => {
  const { gateway, running } = gatewayOf();
  const leaving = new AbortController();
  await gateway.answer(url, { ...request, signal: leaving.signal });
  expect(await running(queue)).toBe(1);
  leaving.abort();
  await expect.poll(() => running(queue)).toBe(0);
});
