/** Large groups in several partitions of one directory: they answer what one partition would, bit for bit, and grow under whoever uses them. */
import { copyFileSync, existsSync } from "node:fs";
import { join } from "node:path";
import { Core, instantiate } from "@brooklet/core";
import { PartitionStore } from "@brooklet/store";
import { DataDirectory } from "@brooklet/store/node";
import { expect, onTestFinished, test } from "vitest";
import type { MassOperation, PartitionKey, VisitPosition } from "../src/cluster.ts";
import { SPLIT_LOOK_MS } from "../src/limits.ts";
import { LocalCluster } from "../src/local-cluster.ts";
import { nodeSurroundings } from "../src/node/surroundings.ts";
import { searchOnce } from "../src/query/cluster-query.ts";
import { bucketOfName, type ShardRecord, WHOLE } from "../src/shards/shard.ts";
import type { Surroundings } from "../src/surroundings.ts";
import { packageOf } from "./core-setting.ts";
import { EVERYTHING, folder, openSql } from "./setting.ts";
import {
  answerOf,
  apply,
  decoder,
  encoder,
  feed,
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

const BUCKETS = 16;

interface Opened {
  readonly cluster: LocalCluster;
  readonly problems: unknown[];
  /** Splits a shard of the group. */
  readonly split: (shard: number) => Promise<void>;
}

/** An answer where `presentation.timing` asks what the search took. */
interface Timed {
  readonly body: {
    readonly root: unknown;
    readonly timing: {
      readonly bytesscanned: number;
      readonly stages: Readonly<Record<string, { readonly bytesscanned: number }>>;
    };
  };
}

function nameOf(shard: number): PartitionKey {
  return shard === 0 ? KEY : `${KEY}\u0001${shard}`;
}

function reopened(path: string, shardBytes?: number, surroundings: Surroundings = nodeSurroundings): Opened {
  const problems: unknown[] = [];
  const onProblem = (problem: unknown): void => void problems.push(problem);
  const cluster = new LocalCluster({
    storage: DataDirectory.open(path, openSql, BUCKETS),
    makeEngine: () => new Core({ instantiate, cacheBytes: 16 << 20, onTrap: onProblem }),
    surroundings,
    onProblem,
    ...(shardBytes !== undefined && { shardBytes }),
  });
  onTestFinished(() => cluster.close());
  return { cluster, problems, split: (shard) => cluster.split(nameOf(shard)) };
}

async function opened(path: string = folder(), shardBytes?: number): Promise<Opened> {
  const made = reopened(path, shardBytes);
  await made.cluster.deploy(packageOf({ note: NOTE }));
  return made;
}

/** Works in the bucket of a partition of a directory that nobody has open. */
function inBucketOf(path: string, name: string, work: (store: PartitionStore) => void): void {
  const directory = DataDirectory.open(path, openSql, BUCKETS);
  const bucket = bucketOfName(name, BUCKETS);
  const sql = directory.openBucket(bucket);
  try {
    work(new PartitionStore(sql, { bucket, buckets: BUCKETS, application: 1 }));
  } finally {
    sql.close();
    directory.close();
  }
}

/** Everything in the files of a directory, by its name there: what a cluster shows is not asked. */
function storedNames(path: string): readonly string[] {
  const names: string[] = [];
  for (let bucket = 0; bucket < BUCKETS; bucket += 1) {
    const file = join(path, "buckets", `${String(bucket).padStart(3, "0")}.sqlite`);
    if (!existsSync(file)) continue;
    const sql = openSql(file);
    names.push(...sql.all<{ key: string }>("SELECT key FROM partition").map(({ key }) => key));
    sql.close();
  }
  return names.sort();
}

test("a group in several partitions answers what one partition does, bit for bit, also when opened anew", async () => {
  const path = folder();
  const [one, several] = [await opened(), await opened(path)];
  const { before, after } = operations();
  for (const { cluster } of [one, several]) await feed(cluster, before);
  await several.split(0);
  for (const { cluster } of [one, several]) await feed(cluster, after);
  for (const shard of [0, 1]) await several.split(shard);

  const compare = async (large: LocalCluster): Promise<void> => {
    for (const [name, query] of Object.entries(QUERIES)) {
      const [expected, answered] = [await answerOf(one.cluster, query), await answerOf(large, query)];
      expect(answered, name).toEqual(expected);
      expect(JSON.stringify(expected).length, name).toBeGreaterThan(300);
    }
    expect(await visited(large)).toEqual(await visited(one.cluster));
    const removes = { includeRemoves: true, format: "jsonl" } as const;
    expect(await visited(large, removes)).toEqual(await visited(one.cluster, removes));
    for (let number = 0; number < 1_000; number += 13) {
      const request = { rawPath: "", id: idOf(number), fieldSet: "", tensorFormat: "" };
      const [expected, answered] = [one.cluster, large].map((of) => of.partition(KEY).get(request, MINUTE_MS));
      expect(await answered).toEqual(await expected);
    }
  };
  await compare(several.cluster);
  expect(several.problems).toEqual([]);
  await several.cluster.close();
  expect(storedNames(path)).toEqual([0, 1, 2, 3].map(nameOf));
  await compare(reopened(path).cluster);
});

test("what is done to many that nobody waits for any more ends where it stands, also in a group in several partitions", async () => {
  const { cluster, split } = await opened();
  await feed(cluster, operations().before);
  const visit = {
    types: ["note"],
    namespace: "",
    selection: "",
    fieldSet: "",
    tensorFormat: "",
    format: "ids",
  } as const;
  const bounds = { documentsMax: 5, bytesMax: 1 << 20, from: { partition: 0, after: "" } };
  const step = { bucket: cluster.bucketOf(KEY), key: KEY as PartitionKey, ...bounds };
  for (const isSplit of [false, true]) {
    if (isSplit) await split(0);
    const { next, documents } = await cluster.visit(visit, step, MINUTE_MS, AbortSignal.abort());
    expect([documents, next?.after]).toEqual([0, ""]);
    expect((await cluster.visit(visit, { ...step, from: next ?? step.from }, MINUTE_MS)).documents).toBe(5);
    const gone = await cluster.applyWhere(
      { ...visit, selection: "true" },
      step,
      { kind: "remove", rawPath: "", body: new Uint8Array() },
      MINUTE_MS,
      AbortSignal.abort(),
    );
    expect([gone.documents, gone.next?.after]).toEqual([0, ""]);
  }
});

test("the nearest of a group in several partitions are scanned once, and what is told of a search has all of it", async () => {
  // Vectors so long that they have codes, which are what is scanned.
  const cells = 64;
  const long = NOTE.replaceAll("(x[8])", `(x[${cells}])`);
  const chance = random(11);
  const vector = (): readonly number[] => Array.from({ length: cells }, () => chance() - 0.5);
  const documents = Array.from({ length: 1_200 }, (_, number) => plain(number, { n: number, vector: vector() }));
  const query = {
    yql: "select n from note where {targetHits: 5}nearestNeighbor(vector, q)",
    "input.query(q)": JSON.stringify(vector()),
    ranking: "near",
    "presentation.timing": "true",
  };
  const [one, several] = [await opened(), await opened()];
  for (const { cluster } of [one, several]) {
    await cluster.deploy(packageOf({ note: long }));
    await feed(cluster, documents);
    await cluster.maintain(KEY);
  }
  for (const shard of [0, 0, 1]) await several.split(shard);
  for (let shard = 0; shard < 4; shard += 1) await several.cluster.maintain(nameOf(shard));
  const ask = async ({ cluster }: Opened): Promise<Timed["body"]> => ((await answerOf(cluster, query)) as Timed).body;
  const [whole, shared] = [await ask(one), await ask(several)];
  expect(shared.root).toEqual(whole.root);
  const scanned = ({ timing: { stages } }: Timed["body"]): number => stages["scan"]?.bytesscanned ?? 0;
  expect(scanned(whole)).toBeGreaterThan(documents.length * cells);
  // Blocks of ids are looked at beside.
  expect(scanned(shared) / scanned(whole)).toBeGreaterThan(0.95);
  expect(scanned(shared) / scanned(whole)).toBeLessThan(1.3);
  const { timing } = shared;
  const sum = Object.values(timing.stages).reduce((all, { bytesscanned }) => all + bytesscanned, 0);
  expect(sum).toBe(timing.bytesscanned);
});

test("a group grows again and again under writers, searches and visits", async () => {
  const path = folder();
  const { cluster, problems, split } = await opened(path);
  await growUnderUse(cluster, cluster, split);
  expect(problems).toEqual([]);
  await cluster.close();
  expect(storedNames(path).length).toBe(8);
});

test("what has become large is split by itself, and its shards too", async () => {
  const path = folder();
  const { cluster, problems } = await opened(path, 40_000);
  const more = async (from: number): Promise<void> => {
    const texts = Array.from({ length: 900 }, (_, at) =>
      plain(from + at, { title: `river ${at}`, body: `letter ${from} ${"winter ".repeat(at % 30)}`, n: at % 17 }),
    );
    await feed(cluster, texts);
  };
  await more(0);
  await cluster.maintain(KEY);
  const namesUntil = async (count: number): Promise<void> => {
    while (storedNames(path).length < count) {
      await found(cluster, "select * from note where n = 1");
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  };
  await namesUntil(2);
  for (const shard of [0, 1]) await cluster.maintain(nameOf(shard) as typeof KEY).catch(() => undefined);
  await more(1_000);
  await namesUntil(4);
  expect((await found(cluster, "select * from note where n = 1")).length).toBe(106);
  expect(problems).toEqual([]);
});

test("a group with shards is listed once, changed where it is selected, and erased whole", async () => {
  const path = folder();
  const { cluster, split, problems } = await opened(path);
  await feed(
    cluster,
    STEADY.map((number) => plain(number, { n: number % 2 })),
  );
  const other = { put: "id:x:note:g=small:1", fields: { n: 1 } };
  await feed(cluster, [other]);
  for (const shard of [0, 0]) await split(shard);
  const seen = async (more: { readonly isFirstOnly?: true } = {}): Promise<string[]> => {
    const ids: string[] = [];
    const bounds = { documentsMax: 11, bytesMax: 1 << 20, ...more };
    for (let bucket = 0; bucket < cluster.buckets; bucket += 1)
      for (let from: VisitPosition | undefined = { partition: 0, after: "" }; from !== undefined; ) {
        const page = await cluster.visit(EVERYTHING, { bucket, from, ...bounds }, MINUTE_MS);
        expect(page.large).toBe(undefined);
        ids.push(...(JSON.parse(`[${decoder.decode(page.body)}]`) as { id: string }[]).map(({ id }) => id));
        from = page.next;
      }
    return ids.sort();
  };
  const ids = STEADY.map(idOf).sort();
  expect(await seen()).toEqual([...ids, other.put].sort());
  expect(await seen({ isFirstOnly: true })).toEqual([ids[0], other.put].sort());
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
  const changed = async (selection: string, kind: "update" | "remove", key?: typeof KEY): Promise<number> => {
    let documents = 0;
    for (let bucket = 0; bucket < cluster.buckets; bucket += 1) {
      if (key !== undefined && bucket !== cluster.bucketOf(key)) continue;
      let from: VisitPosition | undefined = { partition: 0, after: "" };
      while (from !== undefined) {
        const step = { bucket, ...(key && { key }), from, documentsMax: 25, bytesMax: 1 << 20 };
        const outcome = await cluster.applyWhere({ ...EVERYTHING, selection }, step, operation(kind), MINUTE_MS);
        expect([outcome.failure, outcome.large]).toEqual([undefined, undefined]);
        documents += outcome.documents;
        from = outcome.next;
      }
    }
    return documents;
  };
  expect(await changed("note.n == 1", "update", KEY)).toBe(STEADY.length / 2);
  expect((await found(cluster, "select * from note where n = 11")).length).toBe(STEADY.length / 2);
  // Of all groups, as documents expire.
  expect(await changed("note.n == 0", "remove")).toBe(STEADY.length / 2);
  expect((await found(cluster, "select * from note where true")).length).toBe(STEADY.length / 2);

  // A shard is no group, by whatever name.
  const shard = nameOf(1) as typeof KEY;
  await expect(cluster.erase(shard)).rejects.toMatchObject({ code: "BAD_REQUEST" });
  expect(() => cluster.partition(shard)).toThrow(/U\+0001/);
  await expect(
    answerOf(cluster, { yql: "select * from note where true", "streaming.groupname": "large\u00011" }),
  ).rejects.toThrow(/U\+0001/);
  expect(await cluster.erase(KEY)).toMatchObject({ key: KEY, documents: STEADY.length / 2 });
  expect(storedNames(path)).toEqual(["g:small"]);
  expect(await numberOf(cluster, STEADY[1] ?? 0)).toBe(undefined);
  expect(await apply(cluster, "put", 5, { n: 5 })).toBe(200);
  expect(await found(cluster, "select * from note where true")).toEqual([idOf(5)]);
  await split(0);
  expect(await found(cluster, "select * from note where true")).toEqual([idOf(5)]);
  expect(problems).toEqual([]);
});

test("a group that is erased while it is split is no problem", async () => {
  const path = folder();
  const { cluster, problems } = await opened(path, 40_000);
  // More than are copied at a time.
  const all = Array.from({ length: 5_000 }, (_, number) => plain(number, { n: number, title: `river ${number}` }));
  await feed(cluster, all);
  await cluster.maintain(KEY);
  while (storedNames(path).length < 2) await new Promise((resolve) => setImmediate(resolve));
  await cluster.erase(KEY);
  await cluster.close();
  expect(storedNames(path)).toEqual([]);
  expect(problems).toEqual([]);
});

test("a shard that was erased since is not split, and none other is thrown away for it", async () => {
  const { cluster, split } = await opened();
  await feed(
    cluster,
    STEADY.map((number) => plain(number, { n: number % 2 })),
  );
  await split(0);
  await expect(split(5)).rejects.toThrow(/attempt \d+ to split a shard is over/);
  expect((await found(cluster, "select * from note where true")).length).toBe(STEADY.length);
});

test("what an attempt left is erased with the group, though another one was begun after it", async () => {
  const path = folder();
  const { cluster, split } = await opened(path);
  await feed(
    cluster,
    STEADY.map((number) => plain(number, { n: number % 2 })),
  );
  await split(0);
  await cluster.close();
  // As if that attempt had failed, and the process had ended when the next one was begun and nothing was done.
  inBucketOf(path, KEY, (store) => {
    const home = JSON.parse(store.noted(KEY) ?? "") as ShardRecord;
    store.note(KEY, JSON.stringify({ ...home, children: [], bits: 0, attempt: home.attempt + 1 }));
  });
  const { cluster: again } = reopened(path);
  await again.erase(KEY);
  await again.close();
  expect(storedNames(path)).toEqual([]);
});

/** What may have become of a shard that nobody needs. */
const OF_SHARD = "partition = (SELECT number FROM partition WHERE key = ?)";
const LEFT = [
  ["a note that is no record", `UPDATE note SET text = '{' WHERE ${OF_SHARD}`],
  ["no note", `DELETE FROM note WHERE ${OF_SHARD}`],
  ["no head", `DELETE FROM head WHERE ${OF_SHARD}`],
  ["a head that is none", `UPDATE head SET bytes = zeroblob(48) WHERE ${OF_SHARD}`],
  ["a segment less", `DELETE FROM segment WHERE ${OF_SHARD}`],
] as const;

test.each(LEFT)("a group is split though an attempt before left a shard with %s", async (_, statement) => {
  const path = folder();
  const { cluster } = await opened(path);
  await feed(
    cluster,
    STEADY.map((number) => plain(number, { n: number % 2 })),
  );
  await cluster.close();
  const bucketFile = (name: string, end: string): string =>
    join(path, "buckets", `${String(bucketOfName(name, BUCKETS)).padStart(3, "0")}.${end}`);
  const ends = ["sqlite", "generation"];
  expect(bucketOfName(KEY, BUCKETS)).not.toBe(bucketOfName(nameOf(1), BUCKETS));
  for (const end of ends) copyFileSync(bucketFile(KEY, end), join(path, `before.${end}`));
  const first = reopened(path);
  await first.split(0);
  await first.cluster.maintain(nameOf(1));
  await first.cluster.close();
  // As if the shard had been filled and opened, and the group had not come to give anything to it.
  let made = 0;
  inBucketOf(path, nameOf(1), (store) => {
    ({ made } = JSON.parse(store.noted(nameOf(1)) ?? "") as ShardRecord);
  });
  for (const end of ends) copyFileSync(join(path, `before.${end}`), bucketFile(KEY, end));
  inBucketOf(path, KEY, (store) => store.note(KEY, JSON.stringify({ ...WHOLE, attempt: made })));
  const sql = openSql(bucketFile(nameOf(1), "sqlite"));
  sql.run(statement, nameOf(1));
  sql.close();

  const { cluster: again, split: splitAgain } = reopened(path);
  await splitAgain(0);
  expect(await found(again, "select * from note where true")).toHaveLength(STEADY.length);
  expect(await Promise.all(STEADY.map((number) => numberOf(again, number)))).toEqual(
    STEADY.map((number) => number % 2),
  );
  await again.close();
  expect(storedNames(path)).toEqual([0, 1].map(nameOf));
});

test("a home that is gone, as in a bucket of before, is found by what came from it, and no group that is erased", async () => {
  const path = folder();
  const { cluster, split } = await opened(path);
  const notes = STEADY.map((number) => plain(number, { n: number % 2 }));
  await feed(cluster, notes);
  await split(0);
  await cluster.close();
  inBucketOf(path, KEY, (store) => store.erase(KEY));
  const { cluster: again, problems } = reopened(path);
  const all = "select * from note where true";
  const looked = { timeout: MINUTE_MS, interval: 100 };
  await expect.poll(() => found(again, all).catch(({ code }) => code), looked).toBe("STORE_CORRUPT");
  expect(problems.map(String).join()).toContain("g:large: it is older than what came from it, or lost");
  await again.erase(KEY);
  expect(await found(again, all)).toEqual([]);
  await again.close();

  const one = reopened(path);
  await feed(one.cluster, notes);
  await one.split(0);
  await one.cluster.close();
  const looks: (() => void)[] = [];
  const every = (milliseconds: number, look: () => void): (() => void) => {
    if (milliseconds === SPLIT_LOOK_MS) looks.push(look);
    return nodeSurroundings.every(milliseconds, look);
  };
  const { cluster: other, problems: none } = reopened(path, undefined, { ...nodeSurroundings, every });
  // Its shards are heard of as they are opened, and gone before they are compared.
  expect((await found(other, all)).length).toBeGreaterThan(0);
  await other.erase(KEY);
  await feed(other, notes);
  expect(looks).toHaveLength(1);
  looks[0]?.();
  expect((await found(other, all)).length).toBeGreaterThan(0);
  // What is being compared is waited for.
  await other.close();
  expect(none).toEqual([]);
});

test("a shard that is gone, and no erasure had begun, is damage of its group; what others have is answered", async () => {
  const path = folder();
  const { cluster, split } = await opened(path);
  await feed(
    cluster,
    STEADY.map((number) => plain(number, { n: number % 2 })),
  );
  await split(0);
  await cluster.close();
  inBucketOf(path, nameOf(1), (store) => store.erase(nameOf(1)));
  const { cluster: again, problems } = reopened(path);
  await expect(found(again, "select * from note where true")).rejects.toMatchObject({ code: "STORE_CORRUPT" });
  const told = await Promise.all(STEADY.map((number) => numberOf(again, number).catch(({ code }) => code)));
  expect(new Set(told)).toEqual(new Set([0, 1, "STORE_CORRUPT"]));
  const everywhere = { types: ["note"], namespace: "", selection: "", fieldSet: "", tensorFormat: "" };
  const step = {
    bucket: bucketOfName(KEY, BUCKETS),
    from: { partition: 0, after: "" },
    documentsMax: 10,
    bytesMax: 1e6,
  };
  const page = await again.visit({ ...everywhere, format: "json" }, step, MINUTE_MS);
  expect([page.documents, page.damage]).toEqual([0, "The stored data is damaged"]);
  const remove: MassOperation = { kind: "remove", rawPath: "", body: new Uint8Array() };
  const removed = await again.applyWhere({ ...everywhere, selection: "true", format: "ids" }, step, remove, MINUTE_MS);
  expect([removed.documents, removed.failure?.code]).toEqual([0, "STORE_CORRUPT"]);
  expect(problems.map(String).join()).toContain("g:large, shard 1: it is missing");
  await again.erase(KEY);
  expect(await found(again, "select * from note where true")).toEqual([]);
});
