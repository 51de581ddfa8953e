/** Groups that are objects of a platform: what is erased, moved, deployed elsewhere, listed, and billed. */
import { Core, instantiate, ServiceError } from "@brooklet/core";
import { DirectoryStore } from "@brooklet/store";
import { expect, onTestFinished, test, vi } from "vitest";
import { clock } from "../src/clock.ts";
import type { Answer, Cluster, PartitionKey, SearchRequest, Visit } from "../src/cluster.ts";
import { MASS_DOCUMENTS, OBJECT_STEP_MS } from "../src/limits.ts";
import { nodeSurroundings } from "../src/node/surroundings.ts";
import { MESSAGES } from "../src/objects/object-calls.ts";
import type { ObjectCluster } from "../src/objects/object-cluster.ts";
import { searchOnce } from "../src/query/cluster-query.ts";
import { packageOf } from "./core-setting.ts";
import { makeIsolate, Platform } from "./object-setting.ts";
import { pause } from "./pause.ts";

const MINUTE_MS = 60_000;
const NOTE = `schema note {
  document note {
    field title type string { indexing: summary | index }
    field n type int { indexing: summary | attribute }
  }
}`;
const WITH_TAG = NOTE.replace(
  "    field n",
  "    field tag type string { indexing: summary | attribute }\n    field n",
);
const encoder = new TextEncoder();
const decoder = new TextDecoder();

const makeEngine = (): Core => new Core({ instantiate, cacheBytes: 8 << 20 });

async function deployed(schema = NOTE): Promise<{ readonly platform: Platform; readonly cluster: ObjectCluster }> {
  const platform = new Platform(makeEngine);
  const cluster = await platform.open();
  await cluster.deploy(packageOf({ note: schema }));
  return { platform, cluster };
}

async function put(cluster: Cluster, group: string, name: string, title: string, n = 0): Promise<void> {
  const id = `id:x:note:g=${group}:${name}`;
  const body = encoder.encode(JSON.stringify({ fields: { title, n } }));
  const request = { kind: "put", rawPath: "", id, create: false, condition: "", body } as const;
  expect(await cluster.partition(`g:${group}`).apply(request, MINUTE_MS)).toEqual({ status: 200 });
}

async function* lines(documents: readonly { readonly id: string; readonly fields: unknown }[]) {
  for (let from = 0; from < documents.length; from += 500) {
    const some = documents.slice(from, from + 500);
    yield encoder.encode(some.map(({ id, fields }) => `${JSON.stringify({ put: id, fields })}\n`).join(""));
  }
}

async function feed(cluster: Cluster, documents: readonly { readonly id: string; readonly fields: unknown }[]) {
  for await (const told of cluster.feed(lines(documents), { timeoutMs: MINUTE_MS }))
    for (const { outcome } of told) expect(outcome).toEqual({ status: 200 });
}

interface Root {
  readonly fields: { readonly totalCount: number };
  readonly children?: readonly { readonly fields: { readonly title: string } }[];
}

function rootOf({ body }: Answer): Root {
  return (JSON.parse(decoder.decode(body)) as { root: Root }).root;
}

async function count(cluster: Cluster, word: string, scope: Readonly<Record<string, string>>): Promise<number> {
  const yql = `select * from note where title contains "${word}"`;
  return rootOf(await searchOnce(cluster, requestOf({ yql, ...scope }), MINUTE_MS)).fields.totalCount;
}

function requestOf(parameters: Readonly<Record<string, string>>): SearchRequest {
  return { properties: Object.entries({ timeout: "60s", ...parameters }), body: new Uint8Array() };
}

const IN_ALICE = { "streaming.groupname": "alice" };
const EVERYWHERE = { "streaming.selection": "true" };

const PUT = {
  kind: "put",
  rawPath: "",
  id: "id:x:note:g=alice:2",
  create: false,
  condition: "",
  body: encoder.encode('{"fields":{"title":"red boat"}}'),
} as const;
/** All documents, and what removes them. */
const ALL = {
  types: ["note"],
  namespace: "",
  selection: "true",
  fieldSet: "",
  tensorFormat: "",
  format: "ids",
} as const;
const REMOVE = { kind: "remove", rawPath: "", body: new Uint8Array() } as const;
const BUSY = { code: "OVERLOADED", status: 503, outcome: "not_applied" };
const GONE = { code: "UNAVAILABLE", status: 503 };

test("what was erased is not found in the group that comes after it", async () => {
  const { platform, cluster } = await deployed();
  for (let n = 0; n < 300; n += 1) await put(cluster, "alice", String(n), `secret number ${n}`);
  await platform.ring("g:alice");
  expect(await count(cluster, "secret", IN_ALICE)).toBe(300);
  expect((await cluster.erase("g:alice")).key).toBe("g:alice");
  expect([await count(cluster, "secret", IN_ALICE), await count(cluster, "secret", EVERYWHERE)]).toEqual([0, 0]);
  for (let n = 0; n < 300; n += 1) await put(cluster, "alice", String(n), `public number ${n}`);
  await platform.ring("g:alice");
  expect([await count(cluster, "secret", IN_ALICE), await count(cluster, "public", IN_ALICE)]).toEqual([0, 300]);
  expect(platform.problems).toEqual([]);
});

test("a group is erased by an object that is asked nothing before in its isolate", async () => {
  const { platform, cluster } = await deployed();
  await put(cluster, "alice", "1", "red balloon");
  platform.isolate = makeIsolate(makeEngine);
  platform.evict("g:alice");
  expect((await cluster.erase("g:alice")).key).toBe("g:alice");
  expect(platform.stored()).toEqual([]);
});

test("a write that waits for an application while its group is erased is of the group after it, and listed", async () => {
  const { platform, cluster } = await deployed();
  await put(cluster, "alice", "1", "red balloon");
  const second = await platform.open(makeIsolate(makeEngine));
  await second.deploy(packageOf({ note: WITH_TAG }));
  const [telling, forgetting] = [pause(), pause()];
  platform.telling = telling.wait;
  const writing = put(second, "alice", "2", "red boat");
  await telling.reached;
  platform.forgetting = forgetting.wait;
  const erasing = second.erase("g:alice");
  await forgetting.reached;
  telling.goOn();
  for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  forgetting.goOn();
  await Promise.all([writing, erasing]);
  expect(await count(second, "boat", EVERYWHERE)).toBe(1);
});

test("a group that is erased while its first write waits to be listed is listed by the next one", async () => {
  const { platform, cluster } = await deployed();
  const listing = pause();
  platform.listing = listing.wait;
  const first = cluster.partition("g:alice").apply(PUT, MINUTE_MS);
  await listing.reached;
  await cluster.erase("g:alice");
  platform.listing = undefined;
  listing.goOn();
  // Whatever became of it was before the erasure.
  await first;
  await put(cluster, "alice", "3", "red boat");
  expect(await count(cluster, "red", IN_ALICE)).toBe(1);
  expect(await count(cluster, "red", EVERYWHERE)).toBe(1);
});

test("what is asked of a group while it is erased is answered as if there was nothing", async () => {
  let passedMs = 0;
  const [now, turn] = [clock.now.bind(clock), nodeSurroundings.turn];
  let waiting: ReturnType<typeof pause> | undefined;
  const mocks = [
    vi.spyOn(clock, "now").mockImplementation(() => now() + passedMs),
    vi.spyOn(nodeSurroundings, "turn").mockImplementation(async () => {
      passedMs += 10;
      const { wait = turn } = waiting ?? {};
      waiting = undefined;
      await wait();
    }),
  ];
  onTestFinished(() => mocks.forEach((mock) => void mock.mockRestore()));
  const { platform, cluster } = await deployed();
  const bounds = { from: { partition: 0, after: "" }, documentsMax: 1_000, bytesMax: 1 << 20 };
  const step = { bucket: cluster.bucketOf("g:alice"), ...bounds };
  for (const ask of [
    () => cluster.visit(ALL, step, MINUTE_MS),
    () => cluster.applyWhere(ALL, step, REMOVE, MINUTE_MS),
  ]) {
    await put(cluster, "alice", "1", "red balloon");
    const reading = pause();
    waiting = reading;
    const asked = ask();
    await reading.reached;
    const erasing = cluster.erase("g:alice");
    for (let some = 0; some < 20; some += 1) await new Promise((resolve) => setImmediate(resolve));
    reading.goOn();
    expect(await asked).toMatchObject({ documents: 0 });
    await erasing;
    // Nor is it listed by that.
    platform.failure = { error: new Error("it was asked"), isDone: false, times: 1 };
    expect(await cluster.visit(ALL, step, MINUTE_MS)).toMatchObject({ documents: 0 });
    platform.failure = undefined;
  }
  expect(platform.problems).toEqual([]);
});

test("reads write no row, a first write three, a put one, and a load few", async () => {
  const { platform, cluster } = await deployed();
  const key: PartitionKey = "g:alice";
  const get = { rawPath: "", id: "id:x:note:g=alice:1", fieldSet: "", tensorFormat: "" };
  expect((await cluster.partition(key).get(get, MINUTE_MS)).status).toBe(404);
  expect(await count(cluster, "red", IN_ALICE)).toBe(0);
  expect(platform.billOf(key).written).toBe(0);
  await put(cluster, "alice", "1", "red balloon");
  // The table, what is known of the partition with the operation, and the alarm.
  expect(platform.billOf(key).written).toBe(3);
  await put(cluster, "alice", "2", "red boat");
  expect(platform.billOf(key).written).toBe(1);
  expect(await count(cluster, "red", IN_ALICE)).toBe(2);
  expect(platform.billOf(key).written).toBe(0);
  const documents = Array.from({ length: 10_000 }, (_, n) => ({
    id: `id:x:note:g=bulk:${n}`,
    fields: { title: `${"a note of some words about many things ".repeat(3)}${n}`, n },
  }));
  // In one request, and in as many as the SDK sends.
  for (const [name, atOnce] of [
    ["bulk", documents.length],
    ["requests", 512],
  ] as const) {
    const named = documents.map(({ id, fields }) => ({ id: id.replace("g=bulk", `g=${name}`), fields }));
    for (let from = 0; from < named.length; from += atOnce) await feed(cluster, named.slice(from, from + atOnce));
    await platform.rest(`g:${name}`);
    expect(platform.billOf(`g:${name}`).written / documents.length).toBeLessThanOrEqual(0.02);
    expect(await count(cluster, "things", { "streaming.groupname": name })).toBe(documents.length);
  }
});

test("a query that seems to be of one group is answered by it if it is, and otherwise by nobody", async () => {
  const { platform, cluster } = await deployed();
  for (const group of ["alice", "bob"]) await put(cluster, group, "1", `red ${group}`);
  const yql = 'select * from note where title contains "red"';
  const plain = (parameters: Readonly<Record<string, string>>): Promise<Answer | undefined> =>
    cluster.searchPlain("g:alice", requestOf({ yql, ...parameters }), MINUTE_MS);
  const titles = (answer: Answer | undefined): unknown =>
    answer && rootOf(answer).children?.map(({ fields }) => fields.title);
  expect(titles(await plain(IN_ALICE))).toEqual(["red alice"]);
  const opened = await searchOnce(cluster, requestOf({ yql, ...IN_ALICE }), MINUTE_MS);
  expect(await plain(IN_ALICE)).toEqual(opened);
  const wrong = { ...IN_ALICE, yql: "select nothing" };
  expect(await plain(wrong)).toEqual(await searchOnce(cluster, requestOf({ ...wrong }), MINUTE_MS));
  for (const other of [
    { "streaming.groupname": "bob" },
    EVERYWHERE,
    { "streaming.selection": 'id.group == "alice" or id.group == "bob"' },
    { "streaming.userid": "7" },
    {},
  ])
    expect([other, await plain(other)]).toEqual([other, undefined]);
  expect(platform.billOf("g:alice").written).toBeGreaterThan(0);
  await plain(IN_ALICE);
  expect(platform.billOf("g:alice").written).toBe(0);
  expect(platform.problems).toEqual([]);
});

test("an object that was put out of memory, and one in another isolate, go on with what is stored", async () => {
  const { platform, cluster } = await deployed();
  for (let n = 0; n < 40; n += 1) {
    await put(cluster, "alice", String(n), "red balloon", n);
    if (n % 7 === 0) platform.evict("g:alice");
    if (n % 10 === 0) await platform.ring("g:alice");
    if (n === 20) platform.isolate = makeIsolate(makeEngine);
    expect(await count(cluster, "red", IN_ALICE)).toBe(n + 1);
  }
  expect(platform.problems).toEqual([]);
});

test("who is behind takes the newer application when it asks, or is asked", async () => {
  const { platform, cluster: first } = await deployed();
  await put(first, "alice", "1", "red balloon");
  await put(first, "bob", "1", "red balloon");
  // Another gateway, in an isolate of its own, deploys what the first one does not hear of.
  const second = await platform.open(makeIsolate(makeEngine));
  await second.deploy(packageOf({ note: WITH_TAG }));
  platform.isolate = makeIsolate(makeEngine);
  platform.evict("g:alice");
  const tagged = { ...IN_ALICE, yql: 'select * from note where tag contains "x"' };
  expect(rootOf(await searchOnce(second, requestOf(tagged), MINUTE_MS)).fields.totalCount).toBe(0);
  expect(first.application()?.schemas[0]?.fields.map(({ name }) => name)).not.toContain("tag");
  expect(await count(first, "red", IN_ALICE)).toBe(1);
  expect(first.application()?.schemas[0]?.fields.map(({ name }) => name)).toContain("tag");
  expect(await count(second, "red", EVERYWHERE)).toBe(2);
});

const BOOL = NOTE.replace(
  "field n type int { indexing: summary | attribute }",
  "field n type bool { indexing: summary }",
);
const PUT_N = { ...PUT, body: encoder.encode('{"fields":{"title":"red boat","n":5}}') };

test("while a deployment changes a type nothing is written that it hides, by whom and wherever", async () => {
  const { platform, cluster: deploying } = await deployed();
  const behind = await platform.open(makeIsolate(makeEngine));
  const without = { ...PUT, id: "id:x:note:g=bob:1" };
  expect(await deploying.partition("g:bob").apply(without, MINUTE_MS)).toEqual({ status: 200 });
  const refused = { status: 503, code: "UNAVAILABLE", outcome: "not_applied" };
  const told: unknown[] = [];
  platform.storing = async () => {
    // One that was looked at, one that was put out of memory since, and one that nobody has written yet.
    for (const group of ["bob", "bob", "carol"] as const) {
      const id = `id:x:note:g=${group}:1`;
      told.push(await behind.partition(`g:${group}`).apply({ ...PUT_N, id }, MINUTE_MS));
      const fed = lines([{ id, fields: { n: 5 } }]);
      for await (const [one] of behind.feed(fed, { timeoutMs: MINUTE_MS })) told.push(one?.outcome);
      platform.evict("g:bob");
    }
  };
  await deploying.deploy(packageOf({ note: BOOL }));
  expect(told).toEqual(told.map(() => expect.objectContaining(refused)));
  expect(told).toHaveLength(6);
  // Then all is decided by the new type, also by who knows nothing of it, in an isolate that does not.
  platform.isolate = makeIsolate(makeEngine);
  platform.evict("g:bob");
  for (const group of ["bob", "carol", "dave"]) {
    const id = `id:x:note:g=${group}:2`;
    expect(await behind.partition(`g:${group}`).apply({ ...PUT_N, id }, MINUTE_MS)).toEqual({ status: 200 });
    const { body } = await behind
      .partition(`g:${group}`)
      .get({ ...PUT, id, fieldSet: "[document]", tensorFormat: "" }, MINUTE_MS);
    expect(decoder.decode(body)).toContain('"n":false');
  }
});

test("a deployment that is refused, or too late, holds no write up, and hides none", async () => {
  const { platform, cluster } = await deployed();
  expect(await cluster.partition("g:alice").apply(PUT_N, MINUTE_MS)).toEqual({ status: 200 });
  await expect(cluster.deploy(packageOf({ note: BOOL }))).rejects.toThrow(/^field-type-change: Field 'n'/);
  expect(await cluster.partition("g:alice").apply(PUT_N, MINUTE_MS)).toEqual({ status: 200 });
  await cluster.erase("g:alice");
  platform.storing = async () => {
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + MINUTE_MS });
    expect(await cluster.partition("g:alice").apply(PUT_N, MINUTE_MS)).toEqual({ status: 200 });
  };
  onTestFinished(() => void vi.useRealTimers());
  await expect(cluster.deploy(packageOf({ note: BOOL }))).rejects.toThrow("Another application is being deployed");
  expect(await cluster.partition("g:alice").apply(PUT_N, MINUTE_MS)).toEqual({ status: 200 });
});

test("of two deployments at a time one is refused, and what waits to be activated is known to every gateway", async () => {
  const { platform, cluster: first } = await deployed();
  const second = await platform.open(makeIsolate(makeEngine));
  const outcomes = await Promise.allSettled([
    first.deploy(packageOf({ note: WITH_TAG })),
    second.deploy(packageOf({ note: NOTE.replace("field n", "field m") })),
  ]);
  const failed = outcomes.flatMap((outcome) => (outcome.status === "rejected" ? [outcome.reason] : []));
  expect(failed).toHaveLength(1);
  expect(failed[0]).toMatchObject({ code: "DEPLOYMENT_UNDER_WAY", status: 409 });
  const session = await first.sessions.add(packageOf({ note: NOTE }), 7);
  const waiting = { bytes: packageOf({ note: NOTE }), base: 7, isPrepared: false };
  expect(await second.sessions.get(session)).toEqual(waiting);
  for (const cluster of [first, second]) await cluster.sessions.prepare(session);
  expect(await first.sessions.get(session)).toEqual({ ...waiting, isPrepared: true });
  await first.sessions.prepare(session + 1);
  expect(await second.sessions.get(session + 1)).toBeUndefined();
});

test("a package takes the place of the application it was sent for, and of no other gateway's", async () => {
  const { platform, cluster: first } = await deployed();
  const base = await first.applicationNumber();
  const second = await platform.open(makeIsolate(makeEngine));
  await second.deploy(packageOf({ note: WITH_TAG }), base);
  await expect(first.deploy(packageOf({ note: NOTE }), base)).rejects.toMatchObject({ status: 409 });
  expect(await first.applicationNumber()).toBe(base + 1);
  await first.deploy(packageOf({ note: NOTE }), base + 1);
});

test("a check is made against what any gateway has deployed, and deploys nothing", async () => {
  const { platform, cluster: first } = await deployed();
  await put(first, "alice", "1", "red balloon", 1);
  const second = await platform.open(makeIsolate(makeEngine));
  await second.deploy(packageOf({ note: WITH_TAG }));
  const other = packageOf({ note: NOTE.replace("n type int", "n type string") });
  await expect(first.checkDeployment(other)).rejects.toMatchObject({ code: "INVALID_APPLICATION_PACKAGE" });
  await first.checkDeployment(packageOf({ note: NOTE }));
  const stored = [first, second].map((cluster) => new TextDecoder().decode(cluster.applicationPackage()));
  expect(stored.map((text) => text.includes("field tag"))).toEqual([true, true]);
});

test("every group is visited once, in pages of any size, and changed where it is selected", async () => {
  const { platform, cluster } = await deployed();
  const expected: string[] = [];
  for (let group = 0; group < 25; group += 1)
    for (let n = 0; n <= group % 4; n += 1) {
      await put(cluster, `u${group}`, String(n), "red balloon", group);
      expected.push(`id:x:note:g=u${group}:${n}`);
      if (n === 1) await platform.ring(`g:u${group}`);
    }
  const visit: Visit = {
    types: ["note"],
    namespace: "",
    selection: "",
    fieldSet: "[id]",
    tensorFormat: "",
    format: "jsonl",
  };
  const visited = async (bounds: { documentsMax: number; bytesMax: number; isFirstOnly?: true }): Promise<string[]> => {
    const ids: string[] = [];
    for (let bucket = 0; bucket < cluster.buckets; bucket += 1)
      for (let from: { partition: number; after: string } | undefined = { partition: 0, after: "" }; from; ) {
        const page = await cluster.visit(visit, { bucket, from, ...bounds }, MINUTE_MS);
        const text = decoder.decode(page.body);
        for (const line of text.split("\n").filter(Boolean)) ids.push((JSON.parse(line) as { put: string }).put);
        expect(page.documents).toBeLessThanOrEqual(bounds.documentsMax);
        from = page.next;
      }
    return ids.sort();
  };
  for (const documentsMax of [1, 2, 3, 7, 1_000]) {
    expect(await visited({ documentsMax, bytesMax: 1 << 20 })).toEqual([...expected].sort());
  }
  expect(await visited({ documentsMax: 1_000, bytesMax: 1 })).toEqual([...expected].sort());
  const firsts = [...expected].filter((id) => id.endsWith(":0")).sort();
  for (const documentsMax of [1, 2, 1_000])
    expect(await visited({ documentsMax, bytesMax: 1 << 20, isFirstOnly: true })).toEqual(firsts);
  let removed = 0;
  for (let bucket = 0; bucket < cluster.buckets; bucket += 1)
    for (let from: { partition: number; after: string } | undefined = { partition: 0, after: "" }; from; ) {
      const step = { bucket, from, documentsMax: 2, bytesMax: 1 << 20 };
      const outcome = await cluster.applyWhere({ ...visit, selection: "note.n < 10" }, step, REMOVE, MINUTE_MS);
      removed += outcome.documents;
      from = outcome.next;
    }
  const small = expected.filter((id) => Number(/u(\d+)/.exec(id)?.[1]) < 10);
  expect(removed).toBe(small.length);
  expect(await visited({ documentsMax: 5, bytesMax: 1 << 20 })).toEqual(
    expected.filter((id) => !small.includes(id)).sort(),
  );
});

test("an object pauses in a removal of many, whose caller goes on where it stood", async () => {
  let passedMs = 0;
  const [now, turn] = [clock.now.bind(clock), nodeSurroundings.turn];
  const mocks = [
    vi.spyOn(clock, "now").mockImplementation(() => now() + passedMs),
    vi.spyOn(nodeSurroundings, "turn").mockImplementation(() => {
      passedMs += OBJECT_STEP_MS;
      return turn();
    }),
  ];
  onTestFinished(() => mocks.forEach((mock) => void mock.mockRestore()));
  const { platform, cluster } = await deployed();
  const documents = Array.from({ length: MASS_DOCUMENTS + 9 }, (_, n) => ({
    id: `id:x:note:g=alice:${n}`,
    fields: {},
  }));
  await feed(cluster, documents);
  const step = { from: { partition: 0, after: "" }, documentsMax: 1_000, bytesMax: 1 << 20 };
  const some = await platform
    .object("g:alice")
    .applyWhere(ALL, step, REMOVE, { messages: MESSAGES, application: 1, timeoutMs: MINUTE_MS });
  expect(some).toMatchObject({ ok: { documents: MASS_DOCUMENTS, next: {} } });
  const bucket = cluster.bucketOf("g:alice");
  expect((await cluster.applyWhere(ALL, { ...step, bucket }, REMOVE, MINUTE_MS)).documents).toBe(9);
});

test("an operation on many documents that nobody waits for ends before the next object", async () => {
  const { cluster } = await deployed();
  await put(cluster, "alice", "1", "red");
  const from = { partition: 0, after: "" };
  const step = { bucket: cluster.bucketOf("g:alice"), from, documentsMax: 1_000, bytesMax: 1 << 20 };
  const left = await cluster.applyWhere(ALL, step, REMOVE, MINUTE_MS, AbortSignal.abort());
  expect(left).toMatchObject({ documents: 0, next: {} });
  expect((await cluster.applyWhere(ALL, { ...step, from: left.next ?? from }, REMOVE, MINUTE_MS)).documents).toBe(1);
});

test("a deployment that looks for longer than a lease lasts is deployed", async () => {
  const { cluster } = await deployed();
  // One in each directory: those of one are looked at together.
  const groups = new Map(Array.from({ length: 32 }, (_, n) => [cluster.bucketOf(`g:u${n}`), `u${n}`]));
  expect(groups.size).toBe(cluster.buckets);
  for (const group of groups.values()) await put(cluster, group, "1", "red");
  let lookedMs = 0;
  const visit = cluster.visit.bind(cluster);
  const [date, now] = [Date.now.bind(Date), clock.now.bind(clock)];
  const mocks = [
    vi.spyOn(Date, "now").mockImplementation(() => date() + lookedMs),
    vi.spyOn(clock, "now").mockImplementation(() => now() + lookedMs),
    vi.spyOn(cluster, "visit").mockImplementation(async (...asked) => {
      const page = await visit(...asked);
      lookedMs += 25_000;
      return page;
    }),
  ];
  onTestFinished(() => mocks.forEach((mock) => void mock.mockRestore()));
  await cluster.deploy(packageOf({ note: WITH_TAG }));
  await cluster.deploy(packageOf({ note: WITH_TAG.replace("field tag type string", "field tag type int") }));
  expect(lookedMs).toBeGreaterThan(60_000);
  expect(await cluster.applicationNumber()).toBe(3);
});

test("a deployment comes further where listing its groups takes longer than a step of its look", async () => {
  const { cluster } = await deployed();
  for (const group of ["alice", "bob", "carol", "dave"]) await put(cluster, group, "1", "red");
  let lookedMs = 0;
  const now = clock.now.bind(clock);
  const { from } = DirectoryStore.prototype;
  const mocks = [
    vi.spyOn(clock, "now").mockImplementation(() => now() + lookedMs),
    vi.spyOn(DirectoryStore.prototype, "from").mockImplementation(function (this: DirectoryStore, ...asked) {
      lookedMs += 3_000;
      return from.apply(this, asked);
    }),
  ];
  onTestFinished(() => mocks.forEach((mock) => void mock.mockRestore()));
  await cluster.deploy(packageOf({ note: WITH_TAG }));
  await cluster.deploy(packageOf({ note: WITH_TAG.replace("field tag type string", "field tag type int") }));
  expect(await cluster.applicationNumber()).toBe(3);
});

test("the alarm is set once for many writes, and not rung while they come", async () => {
  const { platform, cluster } = await deployed();
  await put(cluster, "alice", "0", "red");
  const first = platform.alarmOf("g:alice") ?? 0;
  for (let n = 1; n < 20; n += 1) await put(cluster, "alice", String(n), "red");
  expect(platform.alarmOf("g:alice")).toBe(first);
  await platform.ring("g:alice");
  // Something was written a moment ago: it is looked at again later.
  expect(platform.alarmOf("g:alice")).toBeGreaterThanOrEqual(first);
});

test("searches of all groups find each once, with groups counted together", async () => {
  const { platform, cluster } = await deployed();
  for (let group = 0; group < 80; group += 1) await put(cluster, `u${group}`, "1", "red balloon", group % 5);
  const yql = 'select * from note where title contains "red" | all(group(n) each(output(count())))';
  const answer = await searchOnce(cluster, requestOf({ yql, hits: "3", ...EVERYWHERE }), MINUTE_MS);
  const root = rootOf(answer) as unknown as {
    readonly fields: { readonly totalCount: number };
    readonly children: readonly { readonly children?: readonly { readonly children: readonly unknown[] }[] }[];
  };
  expect(root.fields.totalCount).toBe(80);
  const counts = JSON.stringify(root).match(/"count\(\)":(\d+)/g);
  expect(counts).toEqual(Array.from({ length: 5 }, () => '"count()":16'));
  expect(platform.problems).toEqual([]);
});

test("an object takes on so many calls and bytes at a time, whichever gateway they come from, and refuses others by name", async () => {
  const { platform, cluster } = await deployed();
  platform.admission = { calls: 3, bytes: 1_000 };
  const other = await platform.open(makeIsolate(makeEngine));
  const at = (of: Cluster, name: string, title: string, group = "busy") => {
    const body = encoder.encode(JSON.stringify({ fields: { title, n: 1 } }));
    return of.partition(`g:${group}`).apply({ ...PUT, id: `id:x:note:g=${group}:${name}`, body }, MINUTE_MS);
  };
  const short = await Promise.all(
    Array.from({ length: 5 }, (_, n) => at(n % 2 === 0 ? cluster : other, `${n}`, "red")),
  );
  expect(short.map(({ status }) => status).sort()).toEqual([200, 200, 200, 503, 503]);
  const long = await Promise.all(["5", "6"].map((name) => at(cluster, name, "x".repeat(800), "long")));
  const refused = { ...BUSY, message: expect.stringContaining("too much under way") };
  expect(long).toEqual([{ status: 200 }, expect.objectContaining(refused)]);
  // What is longer than all of that is taken on alone.
  expect(await at(cluster, "7", "y".repeat(2_000), "long")).toEqual({ status: 200 });
  expect(await count(cluster, "red", { "streaming.groupname": "busy" })).toBe(3);
  expect(platform.problems).toEqual([]);
});

test("an object that cannot answer for now says so to its caller, and a defect to the operator too", async () => {
  const { platform, cluster } = await deployed();
  await put(cluster, "alice", "1", "red");
  const asked = { ...PUT, fieldSet: "[document]", tensorFormat: "" };
  const defect = new Error("no such table");
  const busy = { code: "UNAVAILABLE", status: 503, number: 8, message: "ask again" } as const;
  for (const [thrown, status, problems] of [
    [new ServiceError(busy), 503, []],
    [defect, 500, [defect]],
  ] as const) {
    platform.telling = () => Promise.reject(thrown);
    const reply = await platform
      .object("g:alice")
      .get(asked, { messages: MESSAGES, application: 9, timeoutMs: MINUTE_MS });
    expect([reply, platform.problems]).toMatchObject([{ failed: { status } }, problems]);
  }
});

test("an object that is overloaded is not asked again, and what it was asked was not done", async () => {
  const { platform, cluster } = await deployed();
  await put(cluster, "alice", "1", "red balloon");
  const overloaded = Object.assign(new Error("Durable Object is overloaded"), { overloaded: true, retryable: true });
  platform.failure = { error: overloaded, isDone: false, times: 1 };
  await expect(count(cluster, "red", IN_ALICE)).rejects.toMatchObject(BUSY);
  platform.failure = { error: overloaded, isDone: false, times: 1 };
  expect(await cluster.partition("g:alice").apply(PUT, MINUTE_MS)).toMatchObject(BUSY);
  expect(platform.failure.times).toBe(0);
  expect(await count(cluster, "red", IN_ALICE)).toBe(1);
});

test.each(["duration", "volume of requests"])(
  "what a free plan allows no more of, as %s, is refused for that day",
  async (of) => {
    const { platform, cluster } = await deployed();
    platform.failure = {
      error: new Error(`Exceeded allowed ${of} in Durable Objects free tier.`),
      isDone: false,
      times: 2,
    };
    const refused = { ...BUSY, status: 507, message: expect.stringContaining("allows for a day") };
    expect(await cluster.partition("g:alice").apply(PUT, MINUTE_MS)).toMatchObject(refused);
    await expect(count(cluster, "red", IN_ALICE)).rejects.toMatchObject(refused);
    expect(platform.problems).toEqual([]);
  },
);

test("a write that a free plan has no rows for is refused for that day, and taken on the next", async () => {
  const { platform, cluster } = await deployed();
  await put(cluster, "alice", "1", "red");
  platform.refusal = new Error("Exceeded allowed rows written in Durable Objects free tier.");
  const refused = { ...BUSY, status: 507, message: expect.stringContaining("allows for a day") };
  expect(await cluster.partition("g:alice").apply(PUT, MINUTE_MS)).toMatchObject(refused);
  platform.refusal = undefined;
  expect(await count(cluster, "red", IN_ALICE)).toBe(1);
  expect(await cluster.partition("g:alice").apply(PUT, MINUTE_MS)).toEqual({ status: 200 });
  expect(platform.problems).toEqual([]);
});

test.each([
  ["was moved", { retryable: true }],
  ["ended", { durableObjectReset: true }],
])("an object that %s is read once more; of a write to it nobody knows", async (_, told) => {
  const { platform, cluster } = await deployed();
  await put(cluster, "alice", "1", "red balloon");
  const error = Object.assign(new Error("the object is not there"), told);
  platform.failure = { error, isDone: false, times: 1 };
  expect(await count(cluster, "red", IN_ALICE)).toBe(1);
  platform.failure = { error, isDone: false, times: 2 };
  await expect(count(cluster, "red", IN_ALICE)).rejects.toMatchObject({ ...GONE, outcome: "not_applied" });
  for (const isDone of [false, true]) {
    platform.failure = { error, isDone, times: 1 };
    expect(await cluster.partition("g:alice").apply(PUT, MINUTE_MS)).toMatchObject({ ...GONE, outcome: "unknown" });
    expect(await count(cluster, "red", IN_ALICE)).toBe(isDone ? 2 : 1);
  }
  // Erasing twice does no harm.
  platform.failure = { error, isDone: true, times: 1 };
  expect((await cluster.erase("g:alice")).key).toBe("g:alice");
  expect(await count(cluster, "red", IN_ALICE)).toBe(0);
});

test.each(["directory", "registry"] as const)("a %s that was moved is asked once more", async (of) => {
  const { platform, cluster } = await deployed();
  const error = Object.assign(new Error("the object is not there"), { retryable: true });
  platform.failure = { of, error, isDone: true, times: 1 };
  // A first write is listed, and whoever is behind asks what is deployed.
  const ask = async (group: string): Promise<unknown> => {
    if (of === "registry") await cluster.refresh();
    return await cluster.partition(`g:${group}`).apply({ ...PUT, id: `id:x:note:g=${group}:1` }, MINUTE_MS);
  };
  expect(await ask("alice")).toEqual({ status: 200 });
  expect(platform.failure.times).toBe(0);
  platform.failure = { of, error, isDone: true, times: 2 };
  const told = { ...GONE, outcome: "not_applied" };
  expect(await ask("bob").catch((failed: unknown) => failed)).toMatchObject(told);
  expect(platform.problems).toEqual([]);
});

test("a failure of the platform that says nothing of itself is a defect, and is told", async () => {
  const { platform, cluster } = await deployed();
  platform.failure = { error: new Error("internal error; reference = 1"), isDone: false, times: 1 };
  expect(await cluster.partition("g:alice").apply(PUT, MINUTE_MS)).toMatchObject({ status: 500 });
});

test("what a platform would not carry is refused by name, and a page ends before it", async () => {
  const cells = 1_000_000;
  const tensor = `field t type tensor<int8>(x[${cells}]) { indexing: attribute }`;
  const { cluster } = await deployed(NOTE.replace("field title", `${tensor}\n    field title`));
  await put(cluster, "alice", "1", "red");
  const id = "id:x:note:g=alice:2";
  const body = encoder.encode(JSON.stringify({ fields: { t: { values: "80".repeat(cells) } } }));
  expect(await cluster.partition("g:alice").apply({ ...PUT, id, body }, MINUTE_MS)).toEqual({ status: 200 });
  const shown = { fieldSet: "[document]", tensorFormat: "long" };
  // Of what is answered nothing is shown: it is long.
  const codeOf = (asked: Promise<object>): Promise<unknown> =>
    asked.then(
      () => "answered",
      (error: { readonly code: string }) => error.code,
    );
  expect(await codeOf(cluster.partition("g:alice").get({ ...PUT, id, ...shown }, MINUTE_MS))).toBe("TOO_LARGE");
  const short = await cluster.partition("g:alice").get({ ...PUT, id, ...shown, tensorFormat: "hex" }, MINUTE_MS);
  expect(short.status).toBe(200);
  const visit: Visit = { types: ["note"], namespace: "x", selection: "", format: "jsonl", ...shown };
  const step = { bucket: cluster.bucketOf("g:alice"), key: "g:alice", documentsMax: 10, bytesMax: 1 << 30 } as const;
  const page = await cluster.visit(visit, { ...step, from: { partition: 0, after: "" } }, MINUTE_MS);
  expect([page.documents, page.next?.after]).toEqual([1, "id:x:note:g=alice:1"]);
  const { next: from = fail() } = page;
  expect(await codeOf(cluster.visit(visit, { ...step, from }, MINUTE_MS))).toBe("TOO_LARGE");
});

function fail(): never {
  throw new Error("there is no next page");
}
