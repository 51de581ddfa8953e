/** Gateways and objects of several isolates that hear of a deployment at different times: answers are by one application, and by the newest soon. */
import { Core, instantiate } from "@brooklet/core";
import { expect, onTestFinished, test, vi } from "vitest";
import { clock } from "../src/clock.ts";
import type { Cluster, Outcome, SearchRequest, Visit } from "../src/cluster.ts";
import { APPLICATION_LOOK_MS } from "../src/limits.ts";
import { searchOnce } from "../src/query/cluster-query.ts";
import { packageOf } from "./core-setting.ts";
import { makeIsolate, Platform } from "./object-setting.ts";

const MINUTE_MS = 60_000;
const NOTE = `schema note {
  document note {
    field title type string { indexing: summary | index }
  }
}`;
const WITH_TAG = NOTE.replace("  }\n}", "    field tag type string { indexing: summary | attribute }\n  }\n}");
const TAGGED: Visit = {
  types: ["note"],
  namespace: "",
  selection: 'note.tag == "x"',
  fieldSet: "[document]",
  tensorFormat: "",
  format: "json",
};
const encoder = new TextEncoder();
const decoder = new TextDecoder();
const makeEngine = (): Core => new Core({ instantiate, cacheBytes: 8 << 20 });

/** A gateway that deploys, and one in another isolate, which nobody tells of it. */
async function twoGateways(): Promise<{ platform: Platform; deploying: Cluster; behind: Cluster }> {
  const platform = new Platform(makeEngine);
  const deploying = await platform.open();
  await deploying.deploy(packageOf({ note: NOTE }));
  const isolate = makeIsolate(makeEngine);
  const behind = await platform.open(isolate);
  return { platform, deploying, behind };
}

async function put(cluster: Cluster, group: string, fields: object): Promise<Outcome> {
  const body = encoder.encode(JSON.stringify({ fields }));
  const request = {
    kind: "put",
    rawPath: "",
    id: `id:x:note:g=${group}:1`,
    create: false,
    condition: "",
    body,
  } as const;
  return await cluster.partition(`g:${group}`).apply(request, MINUTE_MS);
}

function requestOf(parameters: Readonly<Record<string, string>>): SearchRequest {
  return { properties: Object.entries({ timeout: "60s", ...parameters }), body: new Uint8Array() };
}

/** How many documents of all groups a query finds, and what it is refused for. */
async function everywhere(cluster: Cluster, yql: string): Promise<[status: number, found: number]> {
  const { status, body } = await searchOnce(cluster, requestOf({ yql, "streaming.selection": "true" }), MINUTE_MS);
  return [status, JSON.parse(decoder.decode(body)).root.fields.totalCount];
}

function later(ms: number): void {
  const now = clock.now.bind(clock);
  const spy = vi.spyOn(clock, "now").mockImplementation(() => now() + ms);
  onTestFinished(() => spy.mockRestore());
}

test("a search of all groups is answered though some of them have a newer application", async () => {
  const { deploying, behind } = await twoGateways();
  const all = Array.from({ length: 24 }, (_, number) => `group${number}`);
  // By the application before nothing is found in the directories that are asked first: that counts, too.
  const groups = all.filter((group) => deploying.bucketOf(`g:${group}`) === deploying.buckets - 1);
  for (const group of groups) expect(await put(deploying, group, { title: "red" })).toEqual({ status: 200 });
  await deploying.deploy(packageOf({ note: WITH_TAG }));
  expect(await everywhere(behind, 'select * from note where title contains "red"')).toEqual([200, groups.length]);
});

test("a search of all groups is by the application of its isolate, of which others there heard first", async () => {
  const { platform, deploying } = await twoGateways();
  const isolate = makeIsolate(makeEngine);
  const [asking, beside] = [await platform.open(isolate), await platform.open(isolate)];
  platform.isolate = makeIsolate(makeEngine);
  for (const group of ["alice", "bob"]) expect(await put(asking, group, { title: "red" })).toEqual({ status: 200 });
  await deploying.deploy(packageOf({ note: WITH_TAG }));
  await beside.refresh();
  expect(await everywhere(asking, 'select * from note where title contains "red"')).toEqual([200, 2]);
});

test("a gateway hears of a deployment though it asks no object that did", async () => {
  const { platform, deploying, behind } = await twoGateways();
  const yql = 'select * from note where tag contains "x"';
  platform.isolate = makeIsolate(makeEngine);
  expect(await put(behind, "alice", { title: "red" })).toEqual({ status: 200 });
  await deploying.deploy(packageOf({ note: WITH_TAG }));
  // Neither was told, nor were their objects.
  expect(await everywhere(behind, yql)).toEqual([400, 0]);
  await expect(behind.checkVisit(TAGGED)).rejects.toThrow("Field 'tag' not found");
  expect(await put(behind, "alice", { title: "red", tag: "x" })).toMatchObject({ status: 400 });
  later(APPLICATION_LOOK_MS);
  expect(await put(behind, "alice", { title: "red", tag: "x" })).toEqual({ status: 200 });
  expect(await everywhere(behind, yql)).toEqual([200, 1]);
  await behind.checkVisit(TAGGED);
});

test.each([
  ["a query", (cluster: Cluster) => everywhere(cluster, 'select * from note where tag contains "x"')],
  ["the selection of a visit", (cluster: Cluster) => cluster.checkVisit(TAGGED)],
])("what is refused by the application that a gateway knows is looked at anew: %s", async (_, ask) => {
  const { deploying, behind } = await twoGateways();
  await deploying.deploy(packageOf({ note: WITH_TAG }));
  later(APPLICATION_LOOK_MS);
  expect((await ask(behind)) ?? [200, 0]).toEqual([200, 0]);
});

test("what is deployed need not be there to be looked at for an answer", async () => {
  const { platform, deploying } = await twoGateways();
  expect(await put(deploying, "alice", { title: "red" })).toEqual({ status: 200 });
  later(APPLICATION_LOOK_MS);
  platform.failure = { of: "registry", error: new Error("it is not there"), isDone: false, times: 100 };
  expect(await everywhere(deploying, 'select * from note where title contains "red"')).toEqual([200, 1]);
});

test("a query that was refused before anybody knew what it addresses is not searched by a newer application", async () => {
  const { deploying, behind } = await twoGateways();
  expect(await put(deploying, "alice", { title: "red" })).toEqual({ status: 200 });
  const asked = { yql: "select * from note where true", queryProfile: "mine", "streaming.groupname": "alice" };
  const query = behind.query(requestOf(asked));
  expect(query.scope).toBe(undefined);
  await deploying.deploy(packageOf({ note: NOTE }, { "search/query-profiles/mine.xml": '<query-profile id="mine"/>' }));
  later(APPLICATION_LOOK_MS);
  await expect(query.search(MINUTE_MS)).rejects.toMatchObject({ code: "UNAVAILABLE", status: 503 });
  query[Symbol.dispose]();
  const { status } = await searchOnce(behind, requestOf(asked), MINUTE_MS);
  expect(status).toBe(200);
});

test.each([
  ["alone", { "streaming.groupname": "alice" }],
  ["among others", { "streaming.selection": "true" }],
])(
  "an object whose isolate hears of a deployment while it wakes to be searched finds what it has: %s",
  async (_, scope) => {
    const { platform, behind: deploying } = await twoGateways();
    const beside = await platform.open();
    const asking = await platform.open(makeIsolate(makeEngine));
    expect(await put(asking, "alice", { title: "red" })).toEqual({ status: 200 });
    await platform.rest("g:alice");
    await deploying.deploy(packageOf({ note: WITH_TAG }));
    platform.evict("g:alice");
    platform.waking = async () => {
      platform.waking = undefined;
      await beside.refresh();
    };
    const request = requestOf({ yql: 'select * from note where title contains "red"', ...scope });
    const plain = "streaming.selection" in scope ? undefined : await asking.searchPlain("g:alice", request, MINUTE_MS);
    const { body } = plain ?? (await searchOnce(asking, request, MINUTE_MS));
    expect(platform.waking).toBe(undefined);
    expect(JSON.parse(decoder.decode(body)).root).toMatchObject({ fields: { totalCount: 1 } });
  },
);
