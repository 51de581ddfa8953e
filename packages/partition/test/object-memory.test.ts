/**
 * Memory of the core that the objects of an isolate share: whatever is fed, put, folded, joined and searched, it stays below 80 MB of the
 * 128 that the platform gives an isolate. Long documents of which every word is another are the worst there is.
 */
import { Core, instantiate } from "@brooklet/core";
import { expect, test } from "vitest";
import type { Cluster, PartitionKey } from "../src/cluster.ts";
import { OBJECT_SEGMENT_BYTES } from "../src/limits.ts";
import { searchOnce } from "../src/query/cluster-query.ts";
import { packageOf } from "./core-setting.ts";
import { Platform } from "./object-setting.ts";

const MINUTE_MS = 60_000;
const MEMORY_MAX = 80_000_000;
/** As of the Worker. */
const CACHE_BYTES = 12 << 20;
const DIMENSIONS = 384;
const PAGE = `schema page {
  document page {
    field body type string { indexing: summary | index }
    field vec type tensor<float>(x[${DIMENSIONS}]) { indexing: summary | attribute }
  }
}`;
const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** A text of so many bytes, about: a word that all have, and others that no other text has. */
function longText(seed: number, bytes: number): string {
  const words = ["common"];
  for (let [length, word] = [6, 0]; length < bytes; word += 1) {
    const made = `${((seed * 7_919 + word) % 1_000_003).toString(36)}q${seed.toString(36)}`;
    words.push(made);
    length += made.length + 1;
  }
  return words.join(" ");
}

const vectorOf = (seed: number): readonly number[] =>
  Array.from({ length: DIMENSIONS }, (_, at) => ((seed * (at + 3)) % 101) / 101);

interface Fed {
  readonly documents: number;
  readonly fieldsOf: (n: number) => object;
}

async function setting() {
  const cores: Core[] = [];
  const platform = new Platform(() => {
    const core = new Core({ instantiate, cacheBytes: CACHE_BYTES, segmentBytes: OBJECT_SEGMENT_BYTES });
    cores.push(core);
    return core;
  });
  platform.takesLongValues = true;
  const cluster = await platform.open();
  await cluster.deploy(packageOf({ page: PAGE }));
  // That in which a package was validated is given up: the core of the objects is the largest.
  const memory = (): number => Math.max(...cores.map((core) => Number(core.statistics()["memoryBytes"])));
  return { platform, cluster, memory };
}

async function feed(cluster: Cluster, group: string, { documents, fieldsOf }: Fed): Promise<void> {
  const lines = async function* () {
    for (let n = 0; n < documents; n += 1)
      yield encoder.encode(`${JSON.stringify({ put: `id:x:page:g=${group}:${n}`, fields: fieldsOf(n) })}\n`);
  };
  let applied = 0;
  for await (const told of cluster.feed(lines(), { timeoutMs: MINUTE_MS }))
    for (const { outcome } of told) {
      expect(outcome).toEqual({ status: 200 });
      applied += 1;
    }
  expect(applied).toBe(documents);
}

async function put(cluster: Cluster, group: string, n: number, fields: object): Promise<void> {
  const body = encoder.encode(JSON.stringify({ fields }));
  const id = `id:x:page:g=${group}:${n}`;
  const request = { kind: "put", rawPath: "", id, create: false, condition: "", body } as const;
  expect(await cluster.partition(`g:${group}`).apply(request, MINUTE_MS)).toEqual({ status: 200 });
}

async function countOf(cluster: Cluster, group: string, where: string): Promise<number> {
  const properties = [
    ["yql", `select body from page where ${where}`],
    ["streaming.groupname", group],
    ["hits", "1"],
    ["timeout", "60s"],
  ] as const;
  const { status, body } = await searchOnce(cluster, { properties, body: new Uint8Array() }, MINUTE_MS);
  expect(status).toBe(200);
  return (JSON.parse(decoder.decode(body)) as { root: { fields: { totalCount: number } } }).root.fields.totalCount;
}

const OF_TEXTS = (documents: number, bytes: number): Fed => ({
  documents,
  fieldsOf: (n) => ({ body: longText(n, bytes) }),
});

test("whatever is fed, the core of an isolate stays below 80 MB", async () => {
  const { platform, cluster, memory } = await setting();
  const feeds: Readonly<Record<string, Fed>> = {
    hundred: OF_TEXTS(100, 100_000),
    twentyfour: OF_TEXTS(24, 600_000),
    many: OF_TEXTS(130, 215_000),
    largest: OF_TEXTS(8, 3_500_000),
    vectors: { documents: 6_000, fieldsOf: (n) => ({ body: `common note ${n}`, vec: vectorOf(n) }) },
  };
  const took: Record<string, string> = {};
  for (const [group, fed] of Object.entries(feeds)) {
    const told = [];
    await feed(cluster, group, fed);
    told.push(memory());
    await platform.rest(`g:${group}` as PartitionKey);
    told.push(memory());
    expect(await countOf(cluster, group, 'body contains "common"')).toBe(fed.documents);
    expect(await countOf(cluster, group, "true")).toBe(fed.documents);
    told.push(memory());
    took[group] = told.map((bytes) => (bytes / 1e6).toFixed(1)).join(" ");
  }
  console.log("MB after feeding, resting, searching:", took);
  expect(memory()).toBeLessThan(MEMORY_MAX);
  expect(platform.problems).toEqual([]);
});

test("groups that are fed and folded at the same time stay below that too", async () => {
  const { platform, cluster, memory } = await setting();
  const groups = ["alice", "bob", "carol", "dave"] as const;
  for (let round = 0; round < 2; round += 1) {
    // What was fed in the round before is folded meanwhile.
    const folded = groups.map((group) => platform.rest(`g:${group}`));
    await Promise.all([...folded, ...groups.map((group) => feed(cluster, group, OF_TEXTS(60, 215_000)))]);
  }
  for (const group of groups) expect(await countOf(cluster, group, 'body contains "common"')).toBe(60);
  console.log(`${(memory() / 1e6).toFixed(1)} MB`);
  expect(memory()).toBeLessThan(MEMORY_MAX);
  expect(platform.problems).toEqual([]);
});

test("puts one by one, replaced and removed, stay below that too", async () => {
  const { platform, cluster, memory } = await setting();
  for (let round = 0; round < 3; round += 1) {
    for (let n = 0; n < 40; n += 1) await put(cluster, "alice", n, { body: longText(n + round, 200_000) });
    if (round > 0) await platform.rest("g:alice");
    expect(await countOf(cluster, "alice", 'body contains "common"')).toBe(40);
  }
  for (let n = 0; n < 3; n += 1) await put(cluster, "alice", n, { body: longText(n, 3_500_000) });
  await platform.rest("g:alice");
  expect(await countOf(cluster, "alice", "true")).toBe(40);
  console.log(`${(memory() / 1e6).toFixed(1)} MB`);
  expect(memory()).toBeLessThan(MEMORY_MAX);
  expect(platform.problems).toEqual([]);
});
