/**
 * Feeds with the built core: what is fed in bulk is what would be stored had every operation been written by its own,
 * however the feed is cut and whichever way its operations go. BROOKLET_FEEDS raises the number of random feeds.
 */
import { join } from "node:path";
import { expect, test } from "vitest";
import { clock } from "../src/clock.ts";
import type { FedOperation, PartitionKey } from "../src/cluster.ts";
import { tooLate } from "../src/failure.ts";
import { type FeedPlace, feedPlace, splitChunk } from "../src/feeding.ts";
import { FEED_LOADS, FEED_TOLD, SLICE_MS } from "../src/limits.ts";
import type { LocalCluster } from "../src/local-cluster.ts";
import { nodeSurroundings } from "../src/node/surroundings.ts";
import { getNote, openCore, packageOf, putNote, searchNotes } from "./core-setting.ts";
import { folder } from "./setting.ts";

const FEEDS = Number(process.env["BROOKLET_FEEDS"] ?? 6);
const MINUTE_MS = 60_000;
const NOTE = `schema note { document note {
  field title type string { indexing: summary | index }
  field size type long { indexing: summary | attribute }
  field v type tensor<float>(x[4]) { indexing: attribute }
} }`;
const encoder = new TextEncoder();

type Operation = Readonly<Record<string, unknown>>;

const id = (group: string, name: string | number): string => `id:test:note:g=${group}:${name}`;
const put = (group: string, name: string | number, size: number): Operation => ({
  put: id(group, name),
  fields: { title: `note ${name}`, size, v: [size, 0.5, -1, 2] },
});

async function open(): Promise<LocalCluster> {
  const { cluster, problems } = openCore(join(folder(), "data"));
  await cluster.deploy(packageOf({ note: NOTE }));
  expect(problems).toEqual([]);
  return cluster;
}

/** A feed of `text`, in pieces of `bytes`. */
async function* pieces(text: string, bytes: number): AsyncGenerator<Uint8Array> {
  const all = encoder.encode(text);
  for (let at = 0; at < all.length; at += bytes) yield all.subarray(at, at + bytes);
}

/** Feeds and returns what came of the operations, by their numbers. */
async function feed(cluster: LocalCluster, text: string, bytes = 100_000): Promise<readonly FedOperation[]> {
  const told: FedOperation[] = [];
  for await (const some of cluster.feed(pieces(text, bytes), { timeoutMs: MINUTE_MS })) told.push(...some);
  return told.sort((left, right) => left.number - right.number);
}

const lines = (operations: readonly Operation[]): string =>
  operations.map((operation) => `${JSON.stringify(operation)}\n`).join("");
const statuses = (told: readonly FedOperation[]): readonly number[] => told.map(({ outcome }) => outcome.status);

/** Every document of all groups, and how many of each group a search finds. */
async function content(cluster: LocalCluster, groups: readonly string[]): Promise<unknown> {
  const visit = {
    types: ["note"],
    namespace: "",
    selection: "",
    fieldSet: "",
    tensorFormat: "",
    format: "json",
  } as const;
  const documents: string[] = [];
  for (let bucket = 0; bucket < cluster.buckets; bucket += 1) {
    const step = { bucket, from: { partition: 0, after: "" }, documentsMax: 1e6, bytesMax: 1e9 };
    const { body, next } = await cluster.visit(visit, step, MINUTE_MS);
    expect(next).toBeUndefined();
    const list = JSON.parse(`[${new TextDecoder().decode(body)}]`) as unknown[];
    documents.push(...list.map((document) => JSON.stringify(document)));
  }
  const found = await Promise.all(
    groups.map((group) => searchNotes(cluster, group, "select * from note where title contains 'note'")),
  );
  return { documents: documents.sort(), found: found.map(({ status, total }) => [status, total]) };
}

test("operations are done however they are laid out, and each is told", async () => {
  const cluster = await open();
  const operations = [put("a", 1, 1), put("b", 1, 2), { remove: id("a", 1) }, put("", 3, 3), put("a", 2, 4)];
  operations[3] = { put: "id:test:note::3", fields: { size: 3 } };
  for (const text of [lines(operations), JSON.stringify(operations), JSON.stringify(operations, undefined, 2)]) {
    for (const bytes of [7, 100_000]) {
      const told = await feed(cluster, text, bytes);
      expect(told.map(({ number }) => number)).toEqual([0, 1, 2, 3, 4]);
      expect(told.map((one) => one.id)).toEqual(operations.map((one) => one["put"] ?? one["remove"]));
      expect(statuses(told)).toEqual([200, 200, 200, 200, 200]);
    }
  }
  expect(await getNote(cluster, "a", "1")).toMatch(/^404/);
  expect(await getNote(cluster, "a", "2")).toContain('"size":4');
  expect(await feed(cluster, " [ ]\n")).toEqual([]);
});

test("many operations on one group become segments at once, acknowledged when they are there", async () => {
  const cluster = await open();
  await putNote(cluster, "a", "7", { title: "old", size: 0 });
  const operations = Array.from({ length: 1_000 }, (_, number) => put("a", number % 900, number));
  expect(new Set(statuses(await feed(cluster, lines(operations))))).toEqual(new Set([200]));
  expect(await getNote(cluster, "a", "7")).toContain('"size":907');
  const { total } = await searchNotes(cluster, "a", "select * from note where title contains 'note'");
  expect(total).toBe(900);
  await cluster.idle();
  expect(await getNote(cluster, "a", "899")).toContain('"size":899');
});

test("conditions and updates are done in the order they stand", async () => {
  const cluster = await open();
  const update = (name: number, fields: object): Operation => ({ update: id("a", name), fields });
  const operations = [
    put("a", 1, 10),
    update(1, { size: { increment: 1 } }),
    { put: id("a", 1), condition: "note.size==11", fields: { title: "seen", size: 20 } },
    { put: id("a", 1), condition: "note.size==11", fields: { title: "unseen" } },
    update(1, { size: { increment: 1 } }),
    put("a", 2, 1),
    { remove: id("a", 2), condition: "note.size==5" },
    put("a", 2, 5),
    { remove: id("a", 2), condition: "note.size==5" },
    update(9, { size: { assign: 1 } }),
    { ...update(10, { size: { assign: 1 } }), create: true },
  ];
  const told = await feed(cluster, lines(operations));
  expect(statuses(told)).toEqual([200, 200, 200, 412, 200, 200, 412, 200, 200, 200, 200]);
  expect(await getNote(cluster, "a", "1")).toMatch(/"title":"seen".*"size":21|"size":21.*"title":"seen"/);
  expect(await getNote(cluster, "a", "2")).toMatch(/^404/);
  expect(await getNote(cluster, "a", "9")).toMatch(/^404/);
  expect(await getNote(cluster, "a", "10")).toContain('"size":1');
});

test("what is refused is told with its number, and the rest is done", async () => {
  const cluster = await open();
  const text = `${lines([put("a", 1, 1)])}{"put":"no id","fields":{}}\n{"nothing":1}\n${lines([
    { put: id("a", 2), fields: { other: 1 } },
    { put: "id:test:notes:g=a:3", fields: {} },
    put("a", 4, 4),
  ])}`;
  const told = await feed(cluster, text);
  expect(statuses(told)).toEqual([200, 400, 400, 400, 400, 200]);
  expect(told.map(({ outcome }) => outcome.message ?? "")).toEqual([
    "",
    expect.stringContaining("no id"),
    expect.stringContaining("Missing a document operation"),
    expect.stringContaining("Field 'other' is not defined"),
    expect.stringContaining("did you mean 'note'"),
    "",
  ]);
  expect(told[3]?.outcome).toMatchObject({ code: "INVALID_DOCUMENT", outcome: "not_applied" });
});

test("a feed that is no list of objects ends where it is not, after what stands before", async () => {
  const cluster = await open();
  for (const [rest, message] of [
    ["x", "'x' stands where an operation should begin"],
    ['{"put":"', "Operation 2, counted from 0, does not end: a '}' is missing"],
  ] as const) {
    const told: FedOperation[] = [];
    const feeding = async (): Promise<void> => {
      const text = lines([put("a", 1, 1), put("b", 2, 2)]) + rest;
      for await (const some of cluster.feed(pieces(text, 50), { timeoutMs: MINUTE_MS })) told.push(...some);
    };
    await expect(feeding()).rejects.toThrow(message);
    expect(statuses(told)).toEqual([200, 200]);
  }
});

test("a feed that is no list of objects is told of it while its source waits for that, and lets go of the source", async () => {
  const cluster = await open();
  let [sent, isOver] = [0, false];
  const source: AsyncIterableIterator<Uint8Array> = {
    [Symbol.asyncIterator]: () => source,
    // Nothing more comes before it is told.
    next: async () => {
      sent += 1;
      return sent === 1 ? { value: encoder.encode('{"put": 1} nonsense') } : await new Promise(() => undefined);
    },
    return: async () => {
      isOver = true;
      return { done: true, value: undefined };
    },
  };
  const feeding = cluster.feed(source, { timeoutMs: MINUTE_MS });
  const reading = (async () => {
    for await (const _ of feeding);
  })();
  await expect(reading).rejects.toMatchObject({ status: 400 });
  expect(isOver).toBe(true);
});

test("a source that cannot be read is told, and ends nothing else", async () => {
  const cluster = await open();
  const source = {
    [Symbol.asyncIterator]: (): never => {
      throw new Error("it is locked");
    },
  };
  await expect(cluster.feed(source, { timeoutMs: MINUTE_MS }).next()).rejects.toMatchObject({ status: 500 });
});

test("a list that does not end is told to be cut off, after what stands in it", async () => {
  const cluster = await open();
  const [one, two] = [put("a", 1, 1), put("b", 2, 2)].map((operation) => JSON.stringify(operation));
  for (const [text, done] of [
    [`[${one},${two}`, 2],
    [`\uFEFF\n[ ${one} , `, 1],
    ["[", 0],
  ] as const) {
    for (const size of [1, 50, 1_000]) {
      const told: FedOperation[] = [];
      const feeding = async (): Promise<void> => {
        for await (const some of cluster.feed(pieces(text, size), { timeoutMs: MINUTE_MS })) told.push(...some);
      };
      await expect(feeding()).rejects.toThrow(`The list of operations does not end after ${done}: a ']' is missing`);
      expect(statuses(told)).toEqual(Array(done).fill(200));
    }
  }
  for (const text of [`[${one},${two}]\n `, "[]", "", " \n", `${one}${two}`])
    for await (const some of cluster.feed(pieces(text, 7), { timeoutMs: MINUTE_MS }))
      expect(statuses(some)).toEqual(some.map(() => 200));
});

test("a source that pauses learns what came of what it brought", async () => {
  const cluster = await open();
  let go = (): void => undefined;
  const told: FedOperation[] = [];
  async function* source(): AsyncGenerator<Uint8Array> {
    for (let number = 0; number < 3; number += 1) {
      yield encoder.encode(lines([put("a", number, number)]));
      await new Promise<void>((resolve) => {
        go = resolve;
      });
      // Only what was answered lets it go on.
      expect(told).toHaveLength(number + 1);
    }
  }
  for await (const some of cluster.feed(source(), { timeoutMs: MINUTE_MS })) {
    told.push(...some);
    go();
  }
  expect(statuses(told)).toEqual([200, 200, 200]);
});

test("who stops listening ends the feed, and its source is told", async () => {
  const cluster = await open();
  let isTold = false;
  async function* endless(): AsyncGenerator<Uint8Array> {
    try {
      for (let number = 0; ; number += 1) yield encoder.encode(lines([put("a", number, number)]));
    } finally {
      isTold = true;
    }
  }
  let seen = 0;
  for await (const some of cluster.feed(endless(), { timeoutMs: MINUTE_MS, heldBytes: 10_000 })) {
    seen += some.length;
    if (seen > 100) break;
  }
  await expect.poll(() => isTold).toBe(true);
});

test("who does not take outcomes is read no further", async () => {
  const cluster = await open();
  let pulled = 0;
  async function* endless(): AsyncGenerator<Uint8Array> {
    for (;;) {
      pulled += 500;
      yield encoder.encode(lines(Array.from({ length: 500 }, (_, number) => ({ remove: id("a", number) }))));
    }
  }
  for await (const some of cluster.feed(endless(), { timeoutMs: MINUTE_MS, heldBytes: 100_000 })) {
    expect(some.length).toBeGreaterThan(0);
    let before = -1;
    while (pulled > before) {
      before = pulled;
      await new Promise((resolve) => setTimeout(resolve, 1_000));
    }
    // The outcomes that may wait, and about what was read meanwhile.
    expect(pulled).toBeLessThan(3 * FEED_TOLD);
    break;
  }
});

/** A generator of pseudo-random numbers below `end`, the same for the same seed (mulberry32). */
function random(seed: number): (end: number) => number {
  let state = seed;
  return (end) => {
    state = (state + 0x6d2b79f5) | 0;
    let bits = Math.imul(state ^ (state >>> 15), 1 | state);
    bits ^= bits + Math.imul(bits ^ (bits >>> 7), 61 | bits);
    return ((bits ^ (bits >>> 14)) >>> 0) % end;
  };
}

function randomOperation(below: (end: number) => number, step: number): Operation {
  const group = ["a", "b", "c"][below(3)] ?? "a";
  // Some documents are written very often, and one group gets most.
  const name = below(4) === 0 ? below(5) : below(300);
  const target = id(below(3) > 0 ? "a" : group, name);
  switch (below(12)) {
    case 0:
    case 1:
      return { remove: target };
    case 2:
      return { update: target, fields: { size: { increment: 1 } } };
    case 3:
      return { update: target, fields: { title: { assign: `note of ${step}` } }, create: below(2) === 0 };
    case 4:
      return { put: target, fields: { title: "note", size: step }, condition: `note.size > ${below(1_000)}` };
    case 5:
      return { remove: target, condition: `note.size > ${below(2_000)}` };
    case 6:
      return { put: target, fields: { size: "wrong" } };
    default:
      return { put: target, fields: { title: `note ${step}`, size: step, v: [step, 1, 2, 3] } };
  }
}

const KINDS = { put: "put", update: "update", remove: "remove" } as const;

/** The same operation written by its own. */
async function applySingly(cluster: LocalCluster, operation: Operation): Promise<number> {
  const kind = (Object.keys(KINDS) as (keyof typeof KINDS)[]).find((name) => name in operation) ?? "put";
  const target = String(operation[kind]);
  const key = `g:${/g=(\w+)/.exec(target)?.[1]}` as PartitionKey;
  const { condition = "", create = false, fields } = operation;
  const body = fields === undefined ? new Uint8Array() : encoder.encode(JSON.stringify({ fields }));
  const request = {
    kind,
    rawPath: "",
    id: target,
    create: create === true,
    condition: String(condition),
    body,
  } as const;
  return (await cluster.partition(key).apply(request, MINUTE_MS)).status;
}

/** All of them: those on one document one after the other, others side by side. */
async function applyAllSingly(cluster: LocalCluster, operations: readonly Operation[]): Promise<readonly number[]> {
  const last = new Map<unknown, Promise<number>>();
  const statuses = operations.map((operation) => {
    const target = operation["put"] ?? operation["update"] ?? operation["remove"];
    const status = (last.get(target) ?? Promise.resolve(0)).then(() => applySingly(cluster, operation));
    last.set(target, status);
    return status;
  });
  return await Promise.all(statuses);
}

test(`${FEEDS} random feeds leave what their operations leave one by one`, {
  timeout: 600_000 + FEEDS * 10_000,
}, async () => {
  for (let seed = 1; seed <= FEEDS; seed += 1) {
    const below = random(seed);
    const [single, bulk] = [await open(), await open()];
    for (let round = 0; round < 3; round += 1) {
      const count = [5, 300, 1_500][below(3)] ?? 5;
      const operations = Array.from({ length: count }, (_, step) => randomOperation(below, round * 2_000 + step));
      const expected = await applyAllSingly(single, operations);
      const told = await feed(bulk, lines(operations), 1 + below(200_000));
      expect(statuses(told), `seed ${seed}, round ${round}`).toEqual(expected);
      const groups = ["a", "b", "c"];
      expect(await content(bulk, groups), `seed ${seed}, round ${round}`).toEqual(await content(single, groups));
    }
    await Promise.all([single.close(), bulk.close()]);
  }
});

test("what a load that failed works on is not filled with what is fed next", async () => {
  const { core, cluster } = openCore(join(folder(), "data"));
  await cluster.deploy(packageOf({ note: NOTE }));
  const loads: { readonly given: Uint8Array; readonly was: Uint8Array }[] = [];
  const place: FeedPlace = {
    split: (chunk) => splitChunk(core, chunk),
    // Its caller waits no longer, and the work goes on.
    load: async (_, { operations }) => {
      loads.push({ given: operations, was: operations.slice() });
      throw tooLate();
    },
    apply: () => Promise.reject(tooLate()),
  };
  for (let round = 0; round < 3; round += 1) {
    const text = lines(Array.from({ length: 40 }, (_, number) => put("a", number, round)));
    for await (const told of feedPlace(place, pieces(text, 100_000), { timeoutMs: MINUTE_MS }))
      for (const { outcome } of told) expect(outcome.code).toBe("TIMED_OUT");
  }
  expect(loads).toHaveLength(3);
  for (const { given, was } of loads) expect(given).toEqual(was);
});

/** A feed of one operation for each of many partitions, whose loads end when they are let, and of which some take a millisecond to begin; what was seen of it. */
async function feedOfMany(partitions: number): Promise<{ inTurn: number; atOnce: number; told: number }> {
  const { core, cluster } = openCore(join(folder(), "data"));
  await cluster.deploy(packageOf({ note: NOTE }));
  const seen = { inTurn: 0, atOnce: 0, told: 0 };
  const SLOW = 100;
  let [begun, inTurn, running] = [0, 0, 0];
  const waiting: (() => void)[] = [];
  const place: FeedPlace = {
    split: (chunk) => splitChunk(core, chunk),
    load: async () => {
      running += 1;
      if (begun++ < SLOW) {
        for (const start = Date.now(); Date.now() - start <= 1; );
        // Where the clock stands still, work moves it.
        clock.worked({ bytes: 1 << 20, paused: false });
        inTurn += 1;
      }
      seen.inTurn = Math.max(seen.inTurn, inTurn);
      seen.atOnce = Math.max(seen.atOnce, running);
      await new Promise<void>((resolve) => waiting.push(resolve));
      running -= 1;
      return [];
    },
    apply: () => Promise.reject(tooLate()),
    turn: async () => {
      await nodeSurroundings.turn();
      inTurn = 0;
    },
  };
  const letting = setInterval(() => {
    for (const done of waiting.splice(0)) done();
  }, 1);
  const text = lines(Array.from({ length: partitions }, (_, number) => put(`g${number}`, 0, number)));
  for await (const told of feedPlace(place, pieces(text, 100_000), { timeoutMs: MINUTE_MS })) seen.told += told.length;
  clearInterval(letting);
  return seen;
}

test("very many partitions are begun in turns, and so many of them are under way at a time", async () => {
  const { inTurn, atOnce, told } = await feedOfMany(FEED_LOADS + 500);
  expect(told).toBe(FEED_LOADS + 500);
  expect(inTurn).toBeLessThanOrEqual(SLICE_MS + 1);
  expect(atOnce).toBeLessThanOrEqual(FEED_LOADS);
});

test("writes that come meanwhile are neither lost nor decided on what is being replaced", async () => {
  const cluster = await open();
  const documents = 600;
  // Each round of the feed adds 1,000 to nothing; increments that are acknowledged between two rounds are seen by the
  // next reader, those during a round come before or after it: never is one applied to a size that was never there.
  await feed(cluster, lines(Array.from({ length: documents }, (_, number) => put("a", number, 0))));
  let isFeeding = true;
  let increments = 0;
  const incrementing = (async () => {
    for (let step = 0; isFeeding; step += 1) {
      const operation = { update: id("a", step % documents), fields: { size: { increment: 1 } } };
      expect(await applySingly(cluster, operation)).toBe(200);
      increments += 1;
    }
  })();
  for (let round = 1; round <= 5; round += 1) {
    const operations = Array.from({ length: documents }, (_, number) => put("a", number, round * 1_000_000));
    expect(new Set(statuses(await feed(cluster, lines(operations))))).toEqual(new Set([200]));
  }
  isFeeding = false;
  await incrementing;
  expect(increments).toBeGreaterThan(0);
  for (let number = 0; number < documents; number += 1) {
    const size = Number(/"size":(\d+)/.exec(await getNote(cluster, "a", String(number)))?.[1]);
    // The last round replaced every size: an increment decided on an older one would have brought that back.
    expect(Math.floor(size / 1_000_000), `document ${number}`).toBe(5);
  }
});

test("operations on documents of other partitions than may be written are refused by themselves, and the others done", async () => {
  const cluster = await open();
  const keys: ReadonlySet<PartitionKey> = new Set(["g:a", "g:c"]);
  const groups = ["a", "b", "c", "b", "a", "d"];
  const text = lines(groups.map((group, number) => put(group, number, number)));
  for (const bytes of [7, 100_000]) {
    const told: FedOperation[] = [];
    for await (const some of cluster.feed(pieces(text, bytes), { timeoutMs: MINUTE_MS, keys })) told.push(...some);
    told.sort((left, right) => left.number - right.number);
    expect(told.map(({ number, id: of, outcome }) => [number, of, outcome.status])).toEqual(
      groups.map((group, number) => [number, id(group, number), group === "a" || group === "c" ? 200 : 403]),
    );
    expect(told[1]?.outcome).toMatchObject({ code: "SCOPE_REFUSED", outcome: "not_applied" });
  }
  const stored = JSON.stringify(await content(cluster, ["a"]));
  expect(["g=a", "g=b", "g=c", "g=d"].map((group) => stored.includes(group))).toEqual([true, false, true, false]);
  await cluster.close();
});
