/** Objects of a platform that are restored to a time before, each by itself: a group has what its storage has, and what is acknowledged from then on. */
import { Core, instantiate } from "@brooklet/core";
import { expect, test } from "vitest";
import type { Cluster, PartitionKey } from "../src/cluster.ts";
import { searchOnce } from "../src/query/cluster-query.ts";
import { packageOf } from "./core-setting.ts";
import { makeIsolate, Platform } from "./object-setting.ts";

const MINUTE_MS = 60_000;
const NOTE = "schema note { document note { field title type string { indexing: summary | index } } }";
const GROUPS = ["alice", "bob"] as const;
const encoder = new TextEncoder();
const decoder = new TextDecoder();
const makeEngine = (): Core => new Core({ instantiate, cacheBytes: 8 << 20 });

async function deployed(): Promise<{ readonly platform: Platform; readonly cluster: Cluster }> {
  const platform = new Platform(makeEngine);
  const cluster = await platform.open();
  await cluster.deploy(packageOf({ note: NOTE }));
  return { platform, cluster };
}

async function put(cluster: Cluster, group: string, name: string): Promise<void> {
  const body = encoder.encode(JSON.stringify({ fields: { title: "red" } }));
  const id = `id:x:note:g=${group}:${name}`;
  const request = { kind: "put", rawPath: "", id, create: false, condition: "", body } as const;
  expect(await cluster.partition(`g:${group}`).apply(request, MINUTE_MS)).toEqual({ status: 200 });
}

/** The documents of a group, or of all, each as often as it is found. */
async function found(cluster: Cluster, group?: string): Promise<string[]> {
  const scope = group === undefined ? { "streaming.selection": "true" } : { "streaming.groupname": group };
  const parameters = { yql: "select * from note where true", hits: "100", timeout: "60s", ...scope };
  const request = { properties: Object.entries<string>(parameters), body: new Uint8Array() };
  const { status, body } = await searchOnce(cluster, request, MINUTE_MS);
  expect(status).toBe(200);
  const { children = [] } = JSON.parse(decoder.decode(body)).root as {
    children?: { fields: { documentid: string } }[];
  };
  return children.map(({ fields }) => fields.documentid.replace("id:x:note:g=", "")).sort();
}

test("a group that is restored has what it had then, and what is written from then on, and is found once", async () => {
  const { platform, cluster } = await deployed();
  for (const group of GROUPS) await put(cluster, group, "1");
  const before = platform.moment();
  await put(cluster, "alice", "2");
  await platform.rest("g:alice");
  await put(cluster, "alice", "3");
  platform.restoreGroup("g:alice", before);
  // Another gateway may have searched it a moment ago.
  expect(await found(cluster)).toEqual(["alice:1", "bob:1"]);
  await put(cluster, "alice", "4");
  await platform.rest("g:alice");
  expect(await found(cluster, "alice")).toEqual(["alice:1", "alice:4"]);
  platform.evict("g:alice");
  platform.isolate = makeIsolate(makeEngine);
  expect(await found(await platform.open())).toEqual(["alice:1", "alice:4", "bob:1"]);
});

test("a group that is restored to a time before it was erased is listed again by its next write", async () => {
  const { platform, cluster } = await deployed();
  await put(cluster, "alice", "1");
  const before = platform.moment();
  await cluster.erase("g:alice");
  platform.restoreGroup("g:alice", before);
  expect(await found(cluster, "alice")).toEqual(["alice:1"]);
  await put(cluster, "alice", "2");
  expect(await found(cluster)).toEqual(["alice:1", "alice:2"]);
});

test.each<[string, (platform: Platform, key: PartitionKey) => unknown]>([
  ["rested", (platform, key) => platform.rest(key)],
  ["was put out of memory", (platform, key) => platform.evict(key)],
])("a group that a restored directory does not know is listed by its next write after it %s", async (_, does) => {
  const { platform, cluster } = await deployed();
  const before = platform.moment();
  await put(cluster, "alice", "1");
  platform.restoreShared(before, "directories");
  expect(await found(cluster, "alice")).toEqual(["alice:1"]);
  await does(platform, "g:alice");
  await put(cluster, "alice", "2");
  expect(await found(cluster)).toEqual(["alice:1", "alice:2"]);
});

test("a group that was erased since a directory was as it is restored is found with nothing", async () => {
  const { platform, cluster } = await deployed();
  for (const group of GROUPS) await put(cluster, group, "1");
  const before = platform.moment();
  await cluster.erase("g:alice");
  platform.restoreShared(before, "directories");
  expect(await found(cluster)).toEqual(["bob:1"]);
  await put(cluster, "alice", "2");
  expect(await found(cluster)).toEqual(["alice:2", "bob:1"]);
});
