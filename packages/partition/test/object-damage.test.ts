/** Groups at the edge of which something stored is damaged: nobody is answered by it, and it can be erased as any group can. */
import { Core, instantiate } from "@brooklet/core";
import { describe, expect, test } from "vitest";
import type { MassOutcome, PartitionKey, Visit, VisitPage, VisitPosition } from "../src/cluster.ts";
import { type GroupCalls, MESSAGES } from "../src/objects/object-calls.ts";
import type { ObjectCluster } from "../src/objects/object-cluster.ts";
import { searchOnce } from "../src/query/cluster-query.ts";
import { objectName, StaleAttempt } from "../src/shards/shard.ts";
import { packageOf } from "./core-setting.ts";
import { makeIsolate, Platform } from "./object-setting.ts";
import { apply, decoder, feed, found, KEY, MINUTE_MS, NOTE, numberOf, plain, requestOf } from "./shards-setting.ts";

const makeEngine = (): Core => new Core({ instantiate, cacheBytes: 8 << 20 });
const encoder = new TextEncoder();

async function opened(documents: number): Promise<{ readonly platform: Platform; readonly cluster: ObjectCluster }> {
  const platform = new Platform(makeEngine);
  const cluster = await platform.open();
  await cluster.deploy(packageOf({ note: NOTE }));
  await feed(
    cluster,
    Array.from({ length: documents }, (_, number) => plain(number, { n: number })),
  );
  await platform.rest(KEY);
  return { platform, cluster };
}

function nameOf(shard: number): PartitionKey {
  return objectName(KEY, shard) as PartitionKey;
}

/** What is known of a partition, changed. */
function aboutWith(change: (about: Record<string, unknown>) => unknown): Uint8Array {
  const about = { format: 2, key: KEY, application: 1, nextOperation: 9, nextSegment: 2 };
  const json = encoder.encode(JSON.stringify(change(about)));
  const row = new Uint8Array(8 + json.length);
  new DataView(row.buffer).setUint32(0, 1, true);
  new DataView(row.buffer).setUint32(4, json.length, true);
  row.set(json, 8);
  return row;
}

/** All documents, and nothing of them. */
const ALL: Visit = {
  types: ["note"],
  namespace: "",
  selection: "",
  fieldSet: "[id]",
  tensorFormat: "",
  format: "json",
};
const UPDATE = "UPDATE brooklet SET bytes = ? WHERE id = 0";
/** What a database may have in the place of what was written. */
const DAMAGES: readonly (readonly [name: string, statement: string, ...bindings: readonly Uint8Array[]])[] = [
  ["a head that is no text", UPDATE, new Uint8Array(64)],
  ["an empty head", UPDATE, new Uint8Array()],
  ["a head cut short", UPDATE, aboutWith((about) => about).subarray(0, 40)],
  ["a head without its members", UPDATE, aboutWith(() => ({}))],
  ["a head that is nothing", UPDATE, aboutWith(() => null)],
  ["a head with numbers that are none", UPDATE, aboutWith((about) => ({ ...about, nextOperation: "9" }))],
  ["the head of another group", UPDATE, aboutWith((about) => ({ ...about, key: "g:other" }))],
  ["the head of a later release", UPDATE, aboutWith((about) => ({ ...about, format: 99 }))],
  ["a note that is no text", UPDATE, aboutWith((about) => ({ ...about, note: "\u0000{" }))],
  ["a note that says nothing of shards", UPDATE, aboutWith((about) => ({ ...about, note: "{}" }))],
  ["shards without end", UPDATE, aboutWith((about) => ({ ...about, note: note({ bits: 60 }) }))],
  ["no head", "DELETE FROM brooklet WHERE id = 0"],
  ["a row of the tail that is too short", "INSERT OR REPLACE INTO brooklet (id, bytes) VALUES (1, x'00')"],
  ["another table", "ALTER TABLE brooklet ADD COLUMN other TEXT"],
];

function note(change: Record<string, unknown>): string {
  return JSON.stringify({ number: 0, made: 0, bits: 1, isOpen: true, children: [], attempt: 0, ...change });
}

const damages = DAMAGES.map(([name, statement, ...bindings]) => ({ name, statement, bindings }));

test.each(damages)("a group with $name answers nobody, and is erased", async ({ statement, bindings }) => {
  const { platform, cluster } = await opened(4);
  platform.damage(KEY, statement, ...bindings);
  await expect(numberOf(cluster, 1)).rejects.toMatchObject({ code: expect.stringMatching(/^STORE_/) });
  expect((await cluster.erase(KEY)).key).toBe(KEY);
  expect([platform.listed(), platform.stored(), platform.alarmOf(KEY)]).toEqual([[], [], undefined]);
  expect(await numberOf(cluster, 1)).toBe(undefined);
  expect(await apply(cluster, "put", 1, { n: 7 })).toBe(200);
  expect([platform.listed(), await numberOf(cluster, 1)]).toEqual([[KEY], 7]);
});

test.each([0, 1, 3])("a group is erased with all its shards though shard %s is damaged", async (damaged) => {
  const { platform, cluster } = await opened(300);
  for (const shard of [0, 1, 0]) {
    expect(await platform.split(KEY, shard)).toBe(true);
    await platform.rest(nameOf(shard));
    // Each shard is known by who is told of it.
    for (const number of [1, 2, 3, 299]) expect(await numberOf(cluster, number)).toBe(number);
  }
  expect(platform.stored().sort()).toEqual([0, 1, 2, 3].map(nameOf).sort());
  platform.damage(nameOf(damaged), UPDATE, new Uint8Array(64));
  expect((await cluster.erase(KEY)).key).toBe(KEY);
  expect([platform.listed(), platform.stored()]).toEqual([[], []]);
  // What comes after it is split as any group.
  await feed(
    cluster,
    Array.from({ length: 300 }, (_, number) => plain(number, { n: -number })),
  );
  for (const shard of [0, 1]) {
    expect(await platform.split(KEY, shard)).toBe(true);
    for (const number of [1, 2, 3, 299]) expect(await numberOf(cluster, number)).toBe(-number);
  }
});

test("the erasure of a damaged group that ended in the middle is finished, though nobody asks again", async () => {
  const { platform, cluster } = await opened(300);
  expect(await platform.split(KEY)).toBe(true);
  await platform.rest(KEY);
  platform.damage(KEY, UPDATE, new Uint8Array(64));
  platform.loseAlarm(KEY);
  platform.forgetting = async () => {
    platform.forgetting = undefined;
    platform.evict(KEY);
    throw new Error("the directory is away");
  };
  await expect(cluster.erase(KEY)).rejects.toThrow();
  platform.evict(KEY);
  expect(await platform.ring(KEY)).toBe(true);
  expect([platform.listed(), platform.stored(), platform.alarmOf(KEY)]).toEqual([[], [], undefined]);
});

test.each([0, 1])("a group with shards is erased whose shard %s takes no note since it is full", async (full) => {
  const { platform, cluster } = await opened(300);
  expect(await platform.split(KEY)).toBe(true);
  await platform.rest(KEY);
  platform.full = nameOf(full);
  const statuses: unknown[] = [];
  for (let number = 0; number < 8; number += 1) statuses.push(await apply(cluster, "put", number, { n: 1 }));
  expect(statuses).toContain(507);
  expect((await cluster.erase(KEY)).key).toBe(KEY);
  expect([platform.listed(), platform.stored()]).toEqual([[], []]);
});

test.each(damages)(
  "a group is split though an attempt before left a shard with $name",
  async ({ statement, bindings }) => {
    const { platform, cluster } = await opened(300);
    let isOpen = false;
    platform.overheard = (verb) => {
      isOpen ||= verb === "openShard";
    };
    // The shard is made, and the group does not come to give anything to it.
    platform.using = (name, use) => {
      if (name === KEY && use === "commit" && isOpen) throw new Error("disk I/O error: SQLITE_IOERR");
    };
    expect(await platform.split(KEY)).toBe(false);
    expect(platform.stored()).toContain(nameOf(1));
    platform.using = undefined;
    platform.damage(nameOf(1), statement, ...bindings);
    expect(await platform.split(KEY)).toBe(true);
    await platform.rest(KEY);
    for (let number = 0; number < 300; number += 7) expect(await numberOf(cluster, number)).toBe(number);
    expect(await found(cluster, "select * from note where true")).toHaveLength(300);
    expect(platform.stored().sort()).toEqual([0, 1].map(nameOf).sort());
  },
);

/** What of an attempt to split, or of an erasure, may be on its way for as long as it likes. */
const LATE: readonly (readonly [name: string, call: (shard: GroupCalls, attempt: number) => Promise<void>])[] = [
  ["that began to fill it", (shard, attempt) => shard.prepareShard({ bits: 1, number: 1 }, attempt, 1, MESSAGES)],
  ["that erased it", (shard, attempt) => shard.dropShard(attempt)],
];

describe.each(LATE)("what came late of an attempt %s", (_, call) => {
  test.each(damages)("leaves a later shard with $name as it is", async ({ statement, bindings }) => {
    const { platform, cluster } = await opened(300);
    let attempt = 0;
    platform.overheard = (verb, asked) => {
      if (verb === "openShard") attempt = asked[0] as number;
    };
    expect(await platform.split(KEY)).toBe(true);
    await platform.rest(KEY);
    platform.damage(nameOf(1), statement, ...bindings);
    const statusesOf = async (): Promise<readonly unknown[]> => {
      const asked = Array.from({ length: 8 }, (__, number) => numberOf(cluster, number));
      return (await Promise.allSettled(asked)).map((one) => (one.status === "fulfilled" ? one.value : `${one.reason}`));
    };
    const before = await statusesOf();
    expect(before.filter((status) => typeof status === "string").length).toBeGreaterThan(0);
    // Whether it is told that it is too late is the same to who sent it: that is over.
    await call(platform.object(nameOf(1)), attempt - 1).catch((error: unknown) =>
      expect(error).toBeInstanceOf(StaleAttempt),
    );
    platform.evict(nameOf(1));
    expect(await statusesOf()).toEqual(before);
    // It is erased as any other.
    expect((await cluster.erase(KEY)).key).toBe(KEY);
    expect([platform.listed(), platform.stored()]).toEqual([[], []]);
  });
});

/** What a directory may have in the place of the key of a group. */
const LISTINGS = ["g:largf", "", "g:", "g:large2", "\u0000"];

test.each(LISTINGS)("a group that is listed by the damaged name %j is missed, until it is written", async (name) => {
  const { platform, cluster } = await opened(40);
  await feed(cluster, [{ put: "id:x:note:g=other:1", fields: { n: 1 } }]);
  platform.damageListing("UPDATE brooklet_key SET key = ? WHERE key = ?", name, KEY);
  const everywhere = async (more: Readonly<Record<string, string>> = {}): Promise<unknown> => {
    const yql = "select * from note where true";
    const request = requestOf({ yql, "streaming.selection": "true", ...more });
    const { body } = await searchOnce(await platform.open(), request, MINUTE_MS);
    const { fields, coverage } = JSON.parse(decoder.decode(body)).root;
    return [fields.totalCount, coverage.full];
  };
  await expect(everywhere()).rejects.toMatchObject({ code: "STORE_CORRUPT", status: 500 });
  expect(await everywhere({ "brooklet.partial": "true" })).toEqual([1, false]);
  expect(platform.problems.map(String).join()).toContain("by names that are damaged");
  // It is told in a visit, which goes on after it.
  const visit = async () => {
    let [documents, damage] = [0, ""];
    for (let bucket = 0; bucket < cluster.buckets; bucket += 1)
      for (let from: VisitPosition | undefined = { partition: 0, after: "" }; from !== undefined; ) {
        const page: VisitPage = await cluster.visit(
          ALL,
          { bucket, from, documentsMax: 7, bytesMax: 1 << 20 },
          MINUTE_MS,
        );
        documents += page.documents;
        damage += page.damage ?? "";
        from = page.next;
      }
    return [documents, damage];
  };
  expect(await visit()).toEqual([1, "The stored data is damaged"]);
  const failures: unknown[] = [];
  const remove = { kind: "remove", rawPath: "", body: new Uint8Array() } as const;
  const none = { ...ALL, selection: "note.n == 100" };
  for (let bucket = 0; bucket < cluster.buckets; bucket += 1)
    for (let from: VisitPosition | undefined = { partition: 0, after: "" }; from !== undefined; ) {
      const step = { bucket, from, documentsMax: 7, bytesMax: 1 << 20 };
      const { next, failure }: MassOutcome = await cluster.applyWhere(none, step, remove, MINUTE_MS);
      if (failure !== undefined) failures.push(failure.code);
      from = next;
    }
  expect(failures).toEqual(["STORE_CORRUPT"]);
  // Whether it has a value nobody knows.
  const changed = packageOf({ note: NOTE.replace("field n type int", "field n type long") });
  await expect(cluster.deploy(changed)).rejects.toThrow();
  platform.evict(KEY);
  expect(await apply(cluster, "put", 1, { n: 7 })).toBe(200);
  expect([await everywhere(), await visit()]).toEqual([
    [41, true],
    [41, ""],
  ]);
  expect(platform.listed().sort()).toEqual([KEY, "g:other"]);
});

test("a visit goes on after a group that is damaged, and says so", async () => {
  const { platform, cluster } = await opened(4);
  await feed(cluster, [{ put: "id:x:note:g=other:1", fields: { n: 1 } }]);
  platform.damage(KEY, UPDATE, new Uint8Array(64));
  const told: (number | string)[] = [];
  for (let bucket = 0; bucket < cluster.buckets; bucket += 1)
    for (let from: VisitPosition | undefined = { partition: 0, after: "" }; from !== undefined; ) {
      const page: VisitPage = await cluster.visit(ALL, { bucket, from, documentsMax: 7, bytesMax: 1 << 20 }, MINUTE_MS);
      if (page.documents > 0) told.push(page.documents);
      if (page.damage !== undefined) told.push(page.damage);
      from = page.next;
    }
  expect(told.sort()).toEqual([1, "The stored data is damaged"]);
});

const OVERWRITE = "UPDATE brooklet_piece SET bytes = ? WHERE kind = ?";
const CUT = "UPDATE brooklet_piece SET bytes = substr(bytes, 1, length(bytes) - 9) WHERE kind = ?";
const GONE = "DELETE FROM brooklet_piece WHERE kind = ?";
/** What a registry may have in the place of a package, its copy or its digest. */
const PACKAGES: readonly (readonly [name: string, statement: string, ...bindings: readonly unknown[]])[] = [
  ["nothing that can be read", OVERWRITE, new Uint8Array(64)],
  ["an empty one", OVERWRITE, new Uint8Array()],
  ["one that is cut", CUT],
  ["another one that can be read", OVERWRITE, packageOf({ other: "schema other { document other { } }" })],
  ["none", GONE],
];
const inRegistry = PACKAGES.flatMap(([name, statement, ...bindings]) =>
  ["application", "copy", "digest"].map((kind) => ({ name, kind, statement, bindings })),
);

test.each(inRegistry)("$name in the place of the $kind of what is deployed loses nothing", async (damage) => {
  const { platform, cluster } = await opened(4);
  const WITHOUT = packageOf({ other: "schema other { document other { field n type int { } } }" });
  platform.damageRegistry(damage.statement, ...damage.bindings, damage.kind);
  platform.isolate = makeIsolate(makeEngine);
  platform.evict(KEY);
  const later = await platform.open();
  expect(await numberOf(later, 3)).toBe(3);
  // It is known of what is stored, too, for who would take it away.
  await expect(later.deploy(WITHOUT)).rejects.toMatchObject({ status: 400 });
  await later.deploy(packageOf({ note: NOTE, other: "schema other { document other { } }" }));
  expect([await numberOf(later, 3), await numberOf(cluster, 3)]).toEqual([3, 3]);
  platform.evictShared();
  platform.isolate = makeIsolate(makeEngine);
  platform.evict(KEY);
  expect(await numberOf(await platform.open(), 3)).toBe(3);
});

test("where what is deployed and its copy are damaged, it is said, and nothing takes its place", async () => {
  const { platform, cluster } = await opened(4);
  platform.damageRegistry(CUT, "application");
  platform.damageRegistry(OVERWRITE, new Uint8Array(64), "copy");
  const said = { code: "STORE_CORRUPT", status: 500, message: expect.stringContaining("and so is its copy") };
  await expect(cluster.deploy(packageOf({ note: `${NOTE} ` }))).rejects.toMatchObject(said);
  platform.isolate = makeIsolate(makeEngine);
  platform.evict(KEY);
  await expect(platform.open()).rejects.toMatchObject({ ...said, status: 500 });
});

test("a package that an earlier release kept, without a digest, is told to be damaged where it cannot be read", async () => {
  const { platform, cluster } = await opened(4);
  for (const kind of ["copy", "digest"]) platform.damageRegistry(GONE, kind);
  platform.isolate = makeIsolate(makeEngine);
  platform.evict(KEY);
  expect(await numberOf(await platform.open(), 3)).toBe(3);
  platform.damageRegistry(OVERWRITE, new Uint8Array([0]), "application");
  platform.isolate = makeIsolate(makeEngine);
  const message = expect.stringMatching(
    /^The application package that is stored cannot be read: services.xml is missing/,
  );
  await expect(platform.open()).rejects.toMatchObject({ code: "STORE_CORRUPT", message });
  // Who has it in memory knows what may take its place, and what may not.
  await expect(cluster.deploy(packageOf({ other: "schema other { document other { } }" }))).rejects.toMatchObject({
    status: 400,
  });
  await cluster.deploy(packageOf({ note: NOTE, other: "schema other { document other { } }" }));
  expect(await numberOf(await platform.open(), 3)).toBe(3);
});
