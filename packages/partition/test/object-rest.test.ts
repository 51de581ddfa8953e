/** What has to go on in an object that nobody asks: nothing of it depends on one alarm that may have failed. */
import { Core, instantiate } from "@brooklet/core";
import { expect, onTestFinished, test, vi } from "vitest";
import type { PartitionKey } from "../src/cluster.ts";
import type { ObjectCluster } from "../src/objects/object-cluster.ts";
import { REST_MAX_MS } from "../src/objects/rest-alarm.ts";
import { objectName } from "../src/shards/shard.ts";
import { packageOf } from "./core-setting.ts";
import { Platform } from "./object-setting.ts";
import { pause } from "./pause.ts";
import { apply, feed, idOf, KEY, MINUTE_MS, NOTE, numberOf, plain } from "./shards-setting.ts";

/** So often a platform rings an alarm that fails: once, and six times more. */
const TRIES = 7;
const CHILD = objectName(KEY, 1) as PartitionKey;
const makeEngine = (): Core => new Core({ instantiate, cacheBytes: 8 << 20 });

async function opened(shardBytes?: number): Promise<{ readonly platform: Platform; readonly cluster: ObjectCluster }> {
  const platform = new Platform(makeEngine, shardBytes);
  const cluster = await platform.open();
  await cluster.deploy(packageOf({ note: NOTE }));
  return { platform, cluster };
}

/** Has so much time pass that nothing was written a moment ago. */
function later(): void {
  if (!vi.isFakeTimers()) {
    vi.useFakeTimers({ toFake: ["Date"] });
    onTestFinished(() => void vi.useRealTimers());
  }
  vi.setSystemTime(Date.now() + 2 * REST_MAX_MS);
}

test("what could not be folded as often as a platform rings is folded later, though nobody asks", async () => {
  const { platform, cluster } = await opened();
  await apply(cluster, "put", 1, { n: 1 });
  later();
  platform.refusal = new Error("the disk is away");
  await platform.ring(KEY, TRIES);
  expect(platform.problems.length).toBeGreaterThan(0);
  expect(platform.alarmOf(KEY)).toBeGreaterThan(Date.now() + REST_MAX_MS);
  platform.refusal = undefined;
  platform.evict(KEY);
  expect(await platform.ring(KEY)).toBe(true);
  expect([platform.isUnsettled(KEY), platform.alarmOf(KEY)]).toEqual([false, undefined]);
});

test("a write whose alarm cannot be set is not stored, and one that is stored has its alarm", async () => {
  const { platform, cluster } = await opened();
  platform.alarmRefusal = new Error("Exceeded allowed rows written in Durable Objects free tier.");
  const request = { kind: "put", rawPath: "", id: idOf(1), create: false, condition: "" } as const;
  const body = new TextEncoder().encode('{"fields":{"n":1}}');
  const refused = { status: 507, code: "OVERLOADED", outcome: "not_applied" };
  expect(await cluster.partition(KEY).apply({ ...request, body }, MINUTE_MS)).toMatchObject(refused);
  expect(await numberOf(cluster, 1)).toBe(undefined);
  platform.alarmRefusal = undefined;
  expect(await apply(cluster, "put", 1, { n: 1 })).toBe(200);
  expect(platform.alarmOf(KEY)).toBeGreaterThan(0);
});

test.each([
  ["a document that was written", 1],
  ["a document that was removed", 2],
])("an object whose alarm was lost sets it when it is asked, where %s did not rest", async (_, writes) => {
  const { platform, cluster } = await opened();
  await apply(cluster, "put", 1, { n: 1 });
  await apply(cluster, "put", 2, { n: 2 });
  if (writes === 2) {
    await platform.rest(KEY);
    await apply(cluster, "remove", 1, {});
  }
  platform.loseAlarm(KEY);
  platform.evict(KEY);
  expect(await numberOf(cluster, 2)).toBe(2);
  expect(platform.alarmOf(KEY)).toBeGreaterThan(0);
  later();
  expect(await platform.ring(KEY)).toBe(true);
  expect(platform.isUnsettled(KEY)).toBe(false);
  // One that rests is asked without a row.
  platform.evict(KEY);
  platform.billOf(KEY);
  expect(await numberOf(cluster, 2)).toBe(2);
  expect([platform.alarmOf(KEY), platform.billOf(KEY).written]).toEqual([undefined, 0]);
  expect(platform.problems).toEqual([]);
});

test("a read is answered though the alarm that was lost cannot be set", async () => {
  const { platform, cluster } = await opened();
  await apply(cluster, "put", 1, { n: 1 });
  platform.loseAlarm(KEY);
  platform.evict(KEY);
  platform.alarmRefusal = new Error("no alarm can be set");
  expect(await numberOf(cluster, 1)).toBe(1);
  expect(platform.problems).toEqual([platform.alarmRefusal]);
});

test("a split that failed is tried again, though nobody writes", async () => {
  const { platform, cluster } = await opened(20_000);
  await feed(
    cluster,
    Array.from({ length: 900 }, (_, number) => plain(number, { n: number })),
  );
  later();
  platform.failure = { of: "group", error: new Error("the new shard is away"), isDone: false, times: 1 };
  expect(await platform.ring(KEY)).toBe(true);
  expect([platform.failure.times, platform.stored()]).toEqual([0, [KEY]]);
  expect(platform.alarmOf(KEY)).toBeGreaterThan(Date.now() + REST_MAX_MS);
  platform.evict(KEY);
  expect(await platform.ring(KEY)).toBe(true);
  expect(platform.stored()).toEqual([KEY, CHILD]);
});

test("what was given away leaves the shard it was in, though nobody writes", async () => {
  const { platform, cluster } = await opened(20_000);
  await feed(
    cluster,
    Array.from({ length: 900 }, (_, number) => plain(number, { n: number })),
  );
  later();
  expect(await platform.ring(KEY)).toBe(true);
  expect(platform.stored()).toEqual([KEY, CHILD]);
  later();
  expect(await platform.ring(KEY)).toBe(true);
  expect(platform.isUnsettled(KEY)).toBe(false);
});

test("a large shard that lost its memory before it rested is split once it is read", async () => {
  const { platform, cluster } = await opened(20_000);
  await feed(
    cluster,
    Array.from({ length: 3_600 }, (_, number) => plain(number, { n: number })),
  );
  later();
  await platform.ring(KEY);
  platform.evict(KEY, 1);
  // Nobody asked for the shard yet, which may be one that its parent knows nothing of.
  later();
  await platform.ring(CHILD);
  expect([platform.stored(), platform.alarmOf(CHILD)]).toEqual([[KEY, CHILD], undefined]);
  for (let number = 0; number < 8; number += 1) expect(await numberOf(cluster, number)).toBe(number);
  later();
  expect(await platform.ring(CHILD)).toBe(true);
  expect(platform.stored()).toContain(objectName(KEY, 3));
});

test("an erasure that ended in the middle is finished, though nobody asks", async () => {
  const { platform, cluster } = await opened();
  await feed(
    cluster,
    Array.from({ length: 300 }, (_, number) => plain(number, { n: number })),
  );
  expect(await platform.split(KEY)).toBe(true);
  await platform.rest(KEY);
  platform.loseAlarm(KEY);
  const removing = pause();
  platform.removal = removing.wait;
  const erasing = cluster.erase(KEY).catch(() => undefined);
  await removing.reached;
  platform.removal = undefined;
  platform.evict(KEY);
  platform.evict(KEY, 1);
  removing.goOn();
  await erasing;
  later();
  expect(await platform.ring(KEY)).toBe(true);
  expect(platform.stored()).toEqual([]);
});

test.each(["is away", "is told, and the object ends"])(
  "an erasure whose directory %s is finished, though nobody asks again",
  async (how) => {
    const { platform, cluster } = await opened();
    await apply(cluster, "put", 1, { n: 1 });
    await platform.rest(KEY);
    platform.loseAlarm(KEY);
    platform.forgetting = async () => {
      platform.forgetting = undefined;
      if (how !== "is away") platform.evict(KEY);
      throw new Error("the directory is away");
    };
    await expect(cluster.erase(KEY)).rejects.toThrow();
    platform.evict(KEY);
    later();
    expect(await platform.ring(KEY)).toBe(true);
    expect([platform.listed(), platform.stored(), platform.alarmOf(KEY)]).toEqual([[], [], undefined]);
    // What comes after it is a group of its own.
    expect(await numberOf(cluster, 1)).toBe(undefined);
    await apply(cluster, "put", 1, { n: 2 });
    expect([platform.listed(), await numberOf(cluster, 1)]).toEqual([[KEY], 2]);
  },
);

test("nothing of a group is answered whose erasure is not finished, and who asks again finishes it", async () => {
  const { platform, cluster } = await opened();
  await apply(cluster, "put", 1, { n: 1 });
  platform.failure = { of: "directory", error: new Error("the directory is away"), isDone: false, times: 1 };
  await expect(cluster.erase(KEY)).rejects.toThrow();
  expect(await numberOf(cluster, 1)).toBe(undefined);
  expect((await cluster.erase(KEY)).key).toBe(KEY);
  expect([platform.listed(), platform.stored()]).toEqual([[], []]);
});

test("a group is erased whose database is full, and what fails of it is told with its code", async () => {
  const { platform, cluster } = await opened();
  await apply(cluster, "put", 1, { n: 1 });
  platform.refusal = new Error("database or disk is full: SQLITE_FULL");
  platform.failure = {
    of: "directory",
    error: Object.assign(new Error("it was moved"), { retryable: true }),
    isDone: false,
    times: 2,
  };
  await expect(cluster.erase(KEY)).rejects.toMatchObject({ code: "UNAVAILABLE", status: 503, outcome: "unknown" });
  expect((await cluster.erase(KEY)).key).toBe(KEY);
  expect([platform.listed(), platform.stored()]).toEqual([[], []]);
});

test("a group whose first write was refused is listed no longer than until it rests", async () => {
  const { platform, cluster } = await opened();
  expect(await apply(cluster, "put", 1, { unknown: 1 })).toBe(400);
  expect(platform.listed()).toEqual([KEY]);
  later();
  expect(await platform.ring(KEY)).toBe(true);
  expect([platform.listed(), platform.alarmOf(KEY)]).toEqual([[], undefined]);
  expect(await apply(cluster, "put", 1, { n: 1 })).toBe(200);
  expect([platform.listed(), await numberOf(cluster, 1)]).toEqual([[KEY], 1]);
});

test("a group that is listed by a write that its erasure overtook is listed no longer than until it rests", async () => {
  const { platform, cluster } = await opened();
  const noting = pause();
  platform.noting = noting.wait;
  const writing = apply(cluster, "put", 1, { n: 1 });
  await noting.reached;
  platform.noting = undefined;
  await cluster.erase(KEY);
  noting.goOn();
  await writing.catch(() => undefined);
  expect(platform.listed()).toEqual([KEY]);
  later();
  expect(await platform.ring(KEY)).toBe(true);
  expect([platform.listed(), platform.stored()]).toEqual([[], []]);
});

test("a first write that waits while its object rests is stored, and listed", async () => {
  const { platform, cluster } = await opened();
  const noting = pause();
  platform.noting = noting.wait;
  const writing = apply(cluster, "put", 1, { n: 1 });
  await noting.reached;
  platform.noting = undefined;
  later();
  expect(await platform.ring(KEY)).toBe(true);
  noting.goOn();
  expect(await writing).toBe(200);
  later();
  expect(await platform.ring(KEY)).toBe(true);
  expect([platform.listed(), await numberOf(cluster, 1)]).toEqual([[KEY], 1]);
});

test("documents of a schema that was removed leave an object that is asked, though nobody writes", async () => {
  const { platform, cluster } = await opened();
  await apply(cluster, "put", 1, { n: 1 });
  await platform.rest(KEY);
  platform.loseAlarm(KEY);
  const letter = "schema letter { document letter { field n type int { indexing: summary | attribute } } }";
  const until = new Date(Date.now() + 86_400_000).toISOString().slice(0, 10);
  const allowed = `<validation-overrides><allow until="${until}">schema-removal</allow></validation-overrides>`;
  await cluster.deploy(packageOf({ letter }, { "validation-overrides.xml": allowed }));
  expect(platform.stored()).toEqual([KEY]);
  const request = { rawPath: "", id: "id:x:letter:g=large:1", fieldSet: "", tensorFormat: "" };
  expect((await cluster.partition(KEY).get(request, MINUTE_MS)).status).toBe(404);
  later();
  expect(await platform.ring(KEY)).toBe(true);
  expect(platform.stored()).toEqual([]);
  // What is done is not looked for again.
  platform.evict(KEY);
  expect((await cluster.partition(KEY).get(request, MINUTE_MS)).status).toBe(404);
  expect(platform.alarmOf(KEY)).toBe(undefined);
});

const DAY_MS = 86_400_000;
/** Documents are kept for thirty days after the second that they say. */
const EXPIRING = packageOf(
  { note: NOTE },
  {
    "services.xml": `<services version="1.0"><content id="all" version="1.0"><redundancy>1</redundancy>
      <documents garbage-collection="true" garbage-collection-interval="3600">
      <document type="note" mode="streaming" selection="note.n == null or note.n &gt; now() - 2592000"/></documents>
      <nodes><node hostalias="n" distribution-key="0"/></nodes></content></services>`,
  },
);

test("documents expire in objects that nobody asks, which are woken for little more than that", async () => {
  const { platform, cluster } = await opened();
  await cluster.deploy(EXPIRING);
  const nowSeconds = (): number => Math.floor(Date.now() / 1_000);
  await apply(cluster, "put", 1, { n: nowSeconds() });
  await apply(cluster, "put", 2, { n: nowSeconds() + 10 * 86_400 });
  await apply(cluster, "put", 3, {});
  later();
  const startMs = Date.now();
  const goneMs = new Map<number, number>();
  let rings = 0;
  for (let atMs = platform.alarmOf(KEY); atMs !== undefined; atMs = platform.alarmOf(KEY)) {
    vi.setSystemTime(Math.max(Date.now(), atMs));
    platform.evict(KEY);
    await platform.ring(KEY);
    rings += 1;
    for (const number of [1, 2])
      if (!goneMs.has(number) && (await numberOf(cluster, number)) === undefined)
        goneMs.set(number, Date.now() - startMs);
    expect(rings).toBeLessThan(60);
  }
  const lateMs = [1, 2].map((number) => (goneMs.get(number) ?? 0) - (number === 1 ? 30 : 40) * DAY_MS);
  for (const ms of lateMs) expect(Math.abs(ms)).toBeLessThanOrEqual(3_600_000);
  // What never expires wakes nobody.
  const request = { rawPath: "", id: idOf(3), fieldSet: "", tensorFormat: "" };
  expect((await cluster.partition(KEY).get(request, MINUTE_MS)).status).toBe(200);
  expect([platform.alarmOf(KEY), platform.isUnsettled(KEY), platform.problems]).toEqual([undefined, false, []]);
});

test("a group that was asked after the deployment by which its documents expire has its alarm", async () => {
  const { platform, cluster } = await opened();
  await apply(cluster, "put", 1, { n: 1 });
  await platform.rest(KEY);
  platform.loseAlarm(KEY);
  await cluster.deploy(EXPIRING);
  expect(await numberOf(cluster, 1)).toBe(1);
  later();
  expect(await platform.ring(KEY)).toBe(true);
  expect([await numberOf(cluster, 1), platform.alarmOf(KEY)]).toEqual([undefined, undefined]);
});
