/** Large groups in several objects: they answer what one partition would, bit for bit, and grow under whoever uses them. */
import { Core, instantiate } from "@brooklet/core";
import { expect, onTestFinished, test, vi } from "vitest";
import type { MassOperation, PartitionKey, VisitPosition } from "../src/cluster.ts";
import type { ObjectCluster } from "../src/objects/object-cluster.ts";
import { REST_MAX_MS } from "../src/objects/rest-alarm.ts";
import { searchOnce } from "../src/query/cluster-query.ts";
import { objectName } from "../src/shards/shard.ts";
import { packageOf } from "./core-setting.ts";
import { makeIsolate, Platform } from "./object-setting.ts";
import { pause } from "./pause.ts";
import { EVERYTHING } from "./setting.ts";
import {
  answerOf,
  apply,
  decoder,
  encoder,
  feed,
  fieldsOf,
  found,
  growUnderUse,
  idOf,
  KEY,
  MINUTE_MS,
  NOTE,
  numberOf,
  operations,
  plain,
  QUERIES,
  random,
  requestOf,
  STEADY,
  visited,
} from "./shards-setting.ts";

const CACHE_BYTES = 16 << 20;

const makeEngine = (cacheBytes: number = CACHE_BYTES): Core => new Core({ instantiate, cacheBytes });

/** Folds all shards of the group. */
async function restAll(platform: Platform): Promise<void> {
  for (const name of platform.stored()) await platform.rest(name as PartitionKey);
}

async function opened({
  shardBytes,
  cacheBytes = CACHE_BYTES,
}: {
  readonly shardBytes?: number;
  readonly cacheBytes?: number;
} = {}): Promise<{ readonly platform: Platform; readonly cluster: ObjectCluster }> {
  const platform = new Platform(() => makeEngine(cacheBytes), shardBytes);
  const cluster = await platform.open();
  await cluster.deploy(packageOf({ note: NOTE }));
  return { platform, cluster };
}

test.each([
  ["what is stored is in memory", CACHE_BYTES],
  ["nothing stays in memory", 0],
])(
  "a group in several objects answers what one in one object does, bit for bit, where %s",

  async (_, cacheBytes) => {
    const [one, several] = [await opened({ cacheBytes }), await opened({ cacheBytes })];
    const { before, after } = operations();
    for (const { cluster } of [one, several]) await feed(cluster, before);
    expect(await several.platform.split(KEY)).toBe(true);
    for (const { cluster } of [one, several]) await feed(cluster, after);
    await several.cluster.partition(KEY).get({ rawPath: "", id: idOf(1), fieldSet: "", tensorFormat: "" }, MINUTE_MS);
    for (const shard of [0, 1]) expect(await several.platform.split(KEY, shard), `shard ${shard}`).toBe(true);
    expect(several.platform.stored()).toEqual([KEY, `${KEY}\u00011`, `${KEY}\u00012`, `${KEY}\u00013`]);
    // What is in the tail is in memory always.
    if (cacheBytes === 0) for (const { platform } of [one, several]) await restAll(platform);

    for (const [name, query] of Object.entries(QUERIES)) {
      const [expected, found] = [await answerOf(one.cluster, query), await answerOf(several.cluster, query)];
      expect(found, name).toEqual(expected);
      const request = requestOf({ "streaming.groupname": "large", ...query });
      const opened = await searchOnce(one.cluster, request, MINUTE_MS);
      expect(await one.cluster.searchPlain(KEY, request, MINUTE_MS), name).toEqual(opened);
      expect(await several.cluster.searchPlain(KEY, request, MINUTE_MS), name).toBeUndefined();
      expect(JSON.stringify(expected).length, name).toBeGreaterThan(300);
    }
    expect(await visited(several.cluster)).toEqual(await visited(one.cluster));
    const removes = { includeRemoves: true, format: "jsonl" } as const;
    expect(await visited(several.cluster, removes)).toEqual(await visited(one.cluster, removes));
    for (let number = 0; number < 1_000; number += 13) {
      const request = { rawPath: "", id: idOf(number), fieldSet: "", tensorFormat: "" };
      const [expected, found] = [one, several].map(({ cluster }) => cluster.partition(KEY).get(request, MINUTE_MS));
      expect(await found).toEqual(await expected);
    }
    expect(several.platform.problems).toEqual([]);
  },
);

test("a group grows again and again under writers, searches and visits", async () => {
  const { platform, cluster } = await opened();
  // It knows nothing of shards until it is told.
  const elsewhere = await platform.open(makeIsolate(() => makeEngine()));
  await growUnderUse(cluster, elsewhere, async (shard) => {
    expect(await platform.split(KEY, shard), `shard ${shard}`).toBe(true);
  });
  expect(platform.stored().length).toBe(8);
  expect(platform.problems).toEqual([]);
});

test("a split that is cut off is made anew, and what it began is thrown away", async () => {
  const { platform, cluster } = await opened();
  // More than are copied at a time.
  const all = Array.from({ length: 5_000 }, (_, number) => plain(number, { n: number }));
  await feed(cluster, all);
  const splitting = platform.split(KEY);
  while (platform.stored().length < 2) await new Promise((resolve) => setImmediate(resolve));
  // The new shard loses its memory, and takes no documents without knowing what came before.
  platform.evict(KEY, 1);
  expect(await splitting).toBe(false);
  // What it was told of depends on where the object was.
  expect(platform.problems.splice(0).length).toBeGreaterThan(0);
  expect(await apply(cluster, "remove", 0, {})).toBe(200);
  expect(await platform.split(KEY)).toBe(true);
  platform.evict(KEY);
  platform.evict(KEY, 1);
  const counted = { yql: "select * from note where true", hits: "0" };
  const { body } = (await answerOf(await platform.open(), counted)) as { body: { root: { fields: unknown } } };
  expect(body.root.fields).toEqual({ totalCount: all.length - 1 });
  expect(await numberOf(cluster, 0)).toBe(undefined);
});

test("a shard that rests while it is emptied for an attempt is what the attempt makes of it", async () => {
  const { platform, cluster } = await opened();
  const all = Array.from({ length: 300 }, (_, number) => plain(number, { n: number }));
  await feed(cluster, all);
  expect(await platform.split(KEY)).toBe(true);
  // The shard of the group that was erased is there still: it says that it is over.
  await cluster.erase(KEY);
  await feed(cluster, all);
  const emptied = pause();
  platform.removal = emptied.wait;
  const splitting = platform.split(KEY);
  await emptied.reached;
  await platform.rest(objectName(KEY, 1) as PartitionKey);
  platform.removal = undefined;
  emptied.goOn();
  expect(await splitting).toBe(true);
  expect(platform.problems).toEqual([]);
  const answer = await answerOf(cluster, { yql: "select * from note where true", hits: "0" });
  expect(answer).toMatchObject({ body: { root: { fields: { totalCount: all.length } } } });
});

test("the alarm has a group split that has become large, and its shards too", async () => {
  const { platform, cluster } = await opened({ shardBytes: 40_000 });
  const chance = random(3);
  await feed(
    cluster,
    Array.from({ length: 900 }, (_, number) => plain(number, fieldsOf(number, chance))),
  );
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 2 * REST_MAX_MS });
  onTestFinished(() => void vi.useRealTimers());
  expect(await platform.ring(KEY)).toBe(true);
  expect(platform.stored()).toEqual([KEY, `${KEY}\u00011`]);
  // A shard grows on its own, once somebody asked for it.
  expect((await found(cluster, "select * from note where n = 1")).length).toBeGreaterThan(40);
  await feed(
    cluster,
    Array.from({ length: 900 }, (_, at) => plain(1_000 + at, fieldsOf(at, chance))),
  );
  vi.setSystemTime(Date.now() + 2 * REST_MAX_MS);
  for (const name of platform.stored()) await platform.ring(name as typeof KEY);
  expect(platform.stored().length).toBe(4);
  expect((await found(cluster, "select * from note where n = 1")).length).toBeGreaterThan(90);
});

test("a group with shards is listed once, changed where it is selected, and erased whole", async () => {
  const { platform, cluster } = await opened();
  await feed(
    cluster,
    STEADY.map((number) => plain(number, { n: number % 2 })),
  );
  const other = { put: "id:x:note:g=small:1", fields: { n: 1 } };
  await feed(cluster, [other]);
  for (const shard of [0, 0]) expect(await platform.split(KEY, shard)).toBe(true);
  const seen: string[] = [];
  for (let bucket = 0; bucket < cluster.buckets; bucket += 1) {
    let from: VisitPosition | undefined = { partition: 0, after: "" };
    while (from !== undefined) {
      const page = await cluster.visit(EVERYTHING, { bucket, from, documentsMax: 11, bytesMax: 1 << 20 }, MINUTE_MS);
      seen.push(...(JSON.parse(`[${decoder.decode(page.body)}]`) as { id: string }[]).map(({ id }) => id));
      from = page.next;
    }
  }
  expect(seen.sort()).toEqual([...STEADY.map(idOf), other.put].sort());
  const widely = { yql: "select * from note where true", "streaming.selection": "true", hits: "0", timeout: "60s" };
  const { body } = await searchOnce(cluster, requestOf(widely), MINUTE_MS);
  expect((JSON.parse(decoder.decode(body)) as { root: { fields: unknown } }).root.fields).toEqual({
    totalCount: STEADY.length + 1,
  });

  const operation = (kind: "update" | "remove"): MassOperation => ({
    kind,
    rawPath: "",
    body: encoder.encode(kind === "update" ? JSON.stringify({ fields: { n: { increment: 10 } } }) : ""),
  });
  const changed = async (selection: string, kind: "update" | "remove"): Promise<number> => {
    let documents = 0;
    let from: VisitPosition | undefined = { partition: 0, after: "" };
    while (from !== undefined) {
      const step = { bucket: cluster.bucketOf(KEY), key: KEY, from, documentsMax: 25, bytesMax: 1 << 20 } as const;
      const outcome = await cluster.applyWhere({ ...EVERYTHING, selection }, step, operation(kind), MINUTE_MS);
      expect(outcome.failure).toBe(undefined);
      documents += outcome.documents;
      from = outcome.next;
    }
    return documents;
  };
  expect(await changed("note.n == 1", "update")).toBe(STEADY.length / 2);
  expect((await found(cluster, "select * from note where n = 11")).length).toBe(STEADY.length / 2);
  expect(await changed("note.n == 0", "remove")).toBe(STEADY.length / 2);
  expect((await found(cluster, "select * from note where true")).length).toBe(STEADY.length / 2);

  const stale = await platform.open(makeIsolate(() => makeEngine()));
  expect((await found(stale, "select * from note where true")).length).toBe(STEADY.length / 2);
  // A shard is no group, by whatever name.
  const shard = `${KEY}\u00011` as typeof KEY;
  await expect(cluster.erase(shard)).rejects.toMatchObject({ code: "BAD_REQUEST" });
  expect((await cluster.erase(KEY)).key).toBe(KEY);
  expect(platform.stored()).toEqual(["g:small"]);
  expect(await numberOf(stale, STEADY[1] ?? 0)).toBe(undefined);
  expect(await apply(stale, "put", 5, { n: 5 })).toBe(200);
  expect(await found(cluster, "select * from note where true")).toEqual([idOf(5)]);
  expect(await platform.split(KEY)).toBe(true);
  expect(await found(stale, "select * from note where true")).toEqual([idOf(5)]);
});
