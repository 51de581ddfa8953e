/** Large groups in several objects: they answer what one partition would, bit for bit, and grow under whoever uses them. */
import { Core, instantiate } from "@brooklet/core";
import { expect, onTestFinished, test, vi } from "vitest";
import type { Cluster, MassOperation, PartitionKey, SearchRequest, Visit, VisitPosition } from "../src/cluster.ts";
import { REST_MAX_MS } from "../src/objects/group-object.ts";
import type { ObjectCluster } from "../src/objects/object-cluster.ts";
import { searchOnce } from "../src/query/cluster-query.ts";
import { packageOf } from "./core-setting.ts";
import { makeIsolate, Platform } from "./object-setting.ts";

const MINUTE_MS = 60_000;
const NOTE = `schema note {
  document note {
    field title type string { indexing: summary | index }
    field body type string { indexing: summary | index }
    field n type int { indexing: summary | attribute }
    field vector type tensor<float>(x[8]) {
      indexing: attribute | summary
      attribute { distance-metric: angular }
    }
  }
  fieldset default { fields: title, body }
  rank-profile text {
    rank-properties {
      brooklet.statistics: group
      brooklet.typos: forgiven
    }
    first-phase { expression: bm25(title) + 2 * bm25(body) + nativeRank }
    summary-features: bm25(title) bm25(body)
  }
  rank-profile near { inputs { query(q) tensor<float>(x[8]) }
    first-phase { expression: closeness(field, vector) } }
  rank-profile hybrid inherits text { inputs { query(q) tensor<float>(x[8]) }
    first-phase { expression: bm25(title) + bm25(body) + closeness(field, vector) }
    second-phase {
      expression: firstPhase + attribute(n) / 1000
      rerank-count: 7
    }
    global-phase {
      expression: normalize_linear(secondPhase)
      rerank-count: 20
    }
    match-features: closeness(field, vector) bm25(title)
  }
}`;
const WORDS = "river stone cloud market garden winter letter engine harbor yellow silent quick".split(" ");
const KEY = "g:large";
const encoder = new TextEncoder();
const decoder = new TextDecoder();

const CACHE_BYTES = 16 << 20;

const makeEngine = (cacheBytes: number = CACHE_BYTES): Core => new Core({ instantiate, cacheBytes });

function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return state / 2 ** 32;
  };
}

function idOf(number: number): string {
  return `id:x:note:g=large:${number}`;
}

function fieldsOf(number: number, chance: () => number): Record<string, unknown> {
  const text = (count: number): string =>
    Array.from({ length: count }, () => WORDS[Math.floor(chance() ** 2 * WORDS.length)]).join(" ");
  // Many are as far away as others, so that ids decide.
  const vector = Array.from({ length: 8 }, () => Math.round(chance() * 3) - 1);
  const rare = number % 97 === 3 ? " wonderfool" : number % 331 === 5 ? " wonderful" : "";
  return { title: `${text(3)}${rare}`, body: text(4 + Math.floor(chance() * 20)), n: number % 17, vector };
}

/** Folds all shards of the group. */
async function restAll(platform: Platform): Promise<void> {
  for (const name of platform.stored()) await platform.rest(name as PartitionKey);
}

async function feed(cluster: Cluster, operations: readonly unknown[]): Promise<void> {
  async function* pieces(): AsyncGenerator<Uint8Array> {
    for (const operation of operations) yield encoder.encode(`${JSON.stringify(operation)}\n`);
  }
  for await (const told of cluster.feed(pieces(), { timeoutMs: MINUTE_MS }))
    for (const { outcome } of told) expect(outcome).toEqual({ status: 200 });
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

function requestOf(parameters: Readonly<Record<string, string>>): SearchRequest {
  return { properties: Object.entries({ timeout: "60s", ...parameters }), body: new Uint8Array() };
}

async function answerOf(cluster: Cluster, parameters: Readonly<Record<string, string>>): Promise<unknown> {
  const request = requestOf({ "streaming.groupname": "large", ...parameters });
  // As a gateway does it: a group that has shards is not asked as one that is whole.
  const plain = await cluster.searchPlain?.(KEY, request, MINUTE_MS);
  const { status, body } = plain ?? (await searchOnce(cluster, request, MINUTE_MS));
  return { status, body: JSON.parse(decoder.decode(body)) };
}

const VECTOR = "[0.5, 1, -0.25, 1, 0, 0.75, -1, 0.5]";
const QUERIES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "words with statistics of the group": {
    yql: "select * from note where userQuery()",
    query: "river garden yellow",
    "model.type": "any",
    ranking: "text",
    hits: "30",
  },
  "words that nobody wrote so": {
    yql: 'select * from note where {grammar: "tokenize", grammar.composite: "or", defaultIndex: "default"}userInput(@text)',
    // Some shards have a word with one slip, others with two alone.
    text: "wonderfull qick harbr",
    ranking: "text",
    hits: "30",
  },
  "the nearest": {
    yql: "select * from note where {targetHits: 20}nearestNeighbor(vector, q)",
    "input.query(q)": VECTOR,
    ranking: "near",
    hits: "40",
  },
  "the nearest of some": {
    yql: 'select * from note where {targetHits: 15}nearestNeighbor(vector, q) and body contains "winter"',
    "input.query(q)": VECTOR,
    ranking: "near",
    hits: "10",
    offset: "5",
  },
  "words and vectors, in three phases": {
    yql: "select * from note where userQuery() or ({targetHits: 25}nearestNeighbor(vector, q))",
    query: "letter engine",
    "model.type": "any",
    "input.query(q)": VECTOR,
    ranking: "hybrid",
    hits: "12",
  },
  "in another order": {
    yql: "select * from note where n > 3 order by n desc, title asc",
    hits: "25",
    offset: "10",
  },
  "in groups": {
    yql: 'select * from note where title contains "river" | all(group(n) order(-count()) max(5) each(output(count(), avg(n)) max(2) each(output(summary()))))',
    ranking: "text",
    hits: "0",
  },
};

/** The operations that both were given, some of them after the first split. */
function operations(): { readonly before: unknown[]; readonly after: unknown[] } {
  const chance = random(7);
  const put = (number: number): unknown => ({ put: idOf(number), fields: fieldsOf(number, chance) });
  const before = Array.from({ length: 700 }, (_, number) => put(number));
  const after = Array.from({ length: 300 }, (_, at) =>
    at % 5 === 0
      ? { remove: idOf(at * 2) }
      : at % 5 === 1
        ? { update: idOf(at * 2), fields: { n: { assign: at } } }
        : put(at % 5 === 2 ? 700 + at : at),
  );
  return { before, after };
}

async function visited(cluster: Cluster, more: Partial<Visit> = {}, documentsMax = 37): Promise<string[]> {
  const visit = {
    types: ["note"],
    namespace: "",
    selection: "",
    fieldSet: "[document]",
    tensorFormat: "",
    format: "json",
  };
  const bodies: string[] = [];
  let from: VisitPosition | undefined = { partition: 0, after: "" };
  while (from !== undefined) {
    const step = { bucket: cluster.bucketOf(KEY), key: KEY, from, documentsMax, bytesMax: 1 << 20 } as const;
    const page = await cluster.visit({ ...visit, ...more } as Visit, step, MINUTE_MS);
    if (page.documents > 0) bodies.push(decoder.decode(page.body));
    from = page.next;
  }
  return bodies;
}

test.each([
  ["what is stored is in memory", CACHE_BYTES],
  ["nothing stays in memory", 0],
])(
  "a group in several objects answers what one in one object does, bit for bit, where %s",
  {
    timeout: MINUTE_MS * 3,
  },
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

function plain(number: number, fields: object): { readonly put: string; readonly fields: object } {
  return { put: idOf(number), fields };
}

async function apply(
  cluster: Cluster,
  kind: "put" | "update" | "remove",
  number: number,
  fields: object,
  condition = "",
): Promise<number> {
  const body = kind === "remove" ? new Uint8Array() : encoder.encode(JSON.stringify({ fields }));
  const request = { kind, rawPath: "", id: idOf(number), create: false, condition, body } as const;
  return (await cluster.partition(KEY).apply(request, MINUTE_MS)).status;
}

async function numberOf(cluster: Cluster, number: number): Promise<number | undefined> {
  const request = { rawPath: "", id: idOf(number), fieldSet: "", tensorFormat: "" };
  const { status, body } = await cluster.partition(KEY).get(request, MINUTE_MS);
  if (status === 404) return undefined;
  return (JSON.parse(decoder.decode(body)) as { fields: { n?: number } }).fields.n;
}

/** The ids that a search finds. */
async function found(cluster: Cluster, yql: string): Promise<string[]> {
  const answer = (await answerOf(cluster, { yql, hits: "400", "presentation.summary": "default" })) as {
    body: { root: { children?: { id: string }[]; fields: { totalCount: number } } };
  };
  const ids = (answer.body.root.children ?? []).map(({ id }) => id);
  expect(ids.length).toBe(answer.body.root.fields.totalCount);
  return ids.sort();
}

/** Documents that nobody touches while others come and go. */
const STEADY = Array.from({ length: 120 }, (_, number) => 10_000 + number);
const CHANGED = 160;
const COUNTER = 9_999;

test("a group grows again and again under writers, searches and visits", { timeout: MINUTE_MS * 3 }, async () => {
  const { platform, cluster } = await opened();
  // It knows nothing of shards until it is told.
  const elsewhere = await platform.open(makeIsolate(() => makeEngine()));
  const steady = STEADY.map((number) => plain(number, { title: "steady", n: -1 }));
  await feed(cluster, [...steady, plain(COUNTER, { n: 0 })]);
  const acknowledged = new Map<number, number | undefined>();
  let isOver = false;
  let [increments, writes, searches, visits] = [0, 0, 0, 0];

  const write = async (writer: number): Promise<void> => {
    const gateway = writer % 2 === 0 ? cluster : elsewhere;
    for (let turn = 0; !isOver; turn += 1) {
      const number = ((turn * 7) % (CHANGED / 4)) * 4 + writer;
      const value = writer * 100_000 + turn;
      const isRemoved = turn % 9 === 8;
      expect(await apply(gateway, isRemoved ? "remove" : "put", number, { title: "changed", n: value })).toBe(200);
      acknowledged.set(number, isRemoved ? undefined : value);
      writes += 1;
      // Who writes knows what is there.
      expect(await numberOf(cluster, number)).toBe(acknowledged.get(number));
    }
  };
  const increment = async (): Promise<void> => {
    while (!isOver) {
      const before = (await numberOf(cluster, COUNTER)) ?? Number.NaN;
      const status = await apply(elsewhere, "update", COUNTER, { n: { assign: before + 1 } }, `note.n == ${before}`);
      expect([200, 412]).toContain(status);
      if (status === 200) increments += 1;
    }
  };
  const search = async (): Promise<void> => {
    while (!isOver) {
      expect(await found(cluster, "select * from note where n = -1")).toEqual(STEADY.map(idOf).sort());
      searches += 1;
    }
  };
  const visit = async (): Promise<void> => {
    while (!isOver) {
      const pages = await visited(elsewhere, { selection: "note.n == -1", fieldSet: "[id]" }, 23);
      const ids = pages.flatMap((page) => (JSON.parse(`[${page}]`) as { id: string }[]).map(({ id }) => id));
      expect(ids).toEqual(STEADY.map(idOf).sort());
      visits += 1;
    }
  };
  const grow = async (): Promise<void> => {
    const pause = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 150));
    for (const shard of [0, 0, 1, 2, 3, 0, 4]) {
      await pause();
      expect(await platform.split(KEY, shard), `shard ${shard}`).toBe(true);
    }
    await pause();
    isOver = true;
  };
  const all = [...[0, 1, 2, 3].map(write), increment(), increment(), search(), visit(), grow()];
  await Promise.all(
    all.map((one) =>
      one.catch((error: unknown) => {
        isOver = true;
        throw error;
      }),
    ),
  );

  expect(platform.stored().length).toBe(8);
  for (const [number, value] of acknowledged) expect(await numberOf(cluster, number), String(number)).toBe(value);
  expect(await numberOf(cluster, COUNTER)).toBe(increments);
  const living = [...acknowledged].filter(([, value]) => value !== undefined).map(([number]) => idOf(number));
  expect(await found(elsewhere, 'select * from note where title contains "changed"')).toEqual(living.sort());
  expect(Math.min(increments, writes, searches, visits)).toBeGreaterThan(5);
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
  const everything = {
    types: ["note"],
    namespace: "",
    selection: "",
    fieldSet: "[id]",
    tensorFormat: "",
    format: "json",
  } as const;
  const seen: string[] = [];
  for (let bucket = 0; bucket < cluster.buckets; bucket += 1) {
    let from: VisitPosition | undefined = { partition: 0, after: "" };
    while (from !== undefined) {
      const page = await cluster.visit(everything, { bucket, from, documentsMax: 11, bytesMax: 1 << 20 }, MINUTE_MS);
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
      const outcome = await cluster.applyWhere({ ...everything, selection }, step, operation(kind), MINUTE_MS);
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
