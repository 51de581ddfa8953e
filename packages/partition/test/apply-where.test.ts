/** An operation on many documents that fails somewhere and is continued does nothing twice and leaves nothing out. */

import { Core, type Embedding, instantiate } from "@brooklet/core";
import { memoryStorage, type SqlConnection, type Storage, StoreError } from "@brooklet/store";
import { expect, onTestFinished, test } from "vitest";
import type { MassOperation, MassOutcome, PartitionKey, Visit, VisitPosition } from "../src/cluster.ts";
import type { TextEmbedder } from "../src/embedding.ts";
import { LocalCluster } from "../src/local-cluster.ts";
import { nodeSurroundings } from "../src/node/surroundings.ts";
import { packageOf } from "./core-setting.ts";
import { openSql } from "./setting.ts";

const MINUTE_MS = 60_000;
const SD = `schema note { document note {
  field list type array<int> { indexing: summary | attribute }
  field text type string { indexing: summary | index }
} }`;
/** A document may have so many bytes. */
const SERVICES = `<services version="1.0"><content id="all" version="1.0"><redundancy>1</redundancy>
  <documents><document type="note" mode="streaming"/></documents>
  <engine><proton><tuning></tuning></proton></engine>
  <tuning><max-document-size>1mb</max-document-size></tuning></content></services>`;
const VISIT: Visit = {
  types: ["note"],
  namespace: "",
  selection: "true",
  fieldSet: "",
  tensorFormat: "",
  format: "json",
};
const encoder = new TextEncoder();
const decoder = new TextDecoder();
/** What is done twice shows. */
const APPEND: MassOperation = {
  kind: "update",
  rawPath: "",
  body: encoder.encode('{"fields":{"list":{"add":[1]}}}'),
};

/** Its embedding is made of what is changed. */
const EMBEDDED = `schema note {
  document note {
    field list type array<int> { indexing: summary | attribute }
    field text type string { indexing: summary | index }
    field title type string { indexing: summary | index }
  }
  field vec type tensor<float>(x[1]) { indexing: input title . " " . input text | embed | attribute }
}`;

/** A cluster in memory; `refuse` says of each transaction that writes whether the device is full then. */
async function opened(
  sd: string = SD,
  embedder?: TextEmbedder,
): Promise<{ cluster: LocalCluster; refuse: (when: () => boolean) => void }> {
  const inner = memoryStorage(openSql);
  let isFull = (): boolean => false;
  const openBucket = (bucket: number): SqlConnection => {
    const sql = inner.openBucket(bucket);
    return {
      ...sql,
      transaction: (work) => {
        if (isFull()) throw new StoreError("full", "no space");
        return sql.transaction(work);
      },
    };
  };
  const storage: Storage = {
    buckets: inner.buckets,
    openBucket,
    secret: inner.secret,
    readApplication: () => inner.readApplication(),
    storeApplication: (application) => inner.storeApplication(application),
    close: () => inner.close(),
  };
  const makeEngine = (): Core => new Core({ instantiate, cacheBytes: 16 << 20 });
  const cluster = new LocalCluster({
    storage,
    makeEngine,
    surroundings: nodeSurroundings,
    ...(embedder && { embedder }),
  });
  onTestFinished(() => cluster.close());
  await cluster.deploy(packageOf({ note: sd }, { "services.xml": SERVICES }));
  const refuse = (when: () => boolean): void => {
    isFull = when;
  };
  return { cluster, refuse };
}

const idOf = (index: number, group = "a"): string => `id:test:note:g=${group}:${String(index).padStart(4, "0")}`;

async function put(cluster: LocalCluster, index: number, fields: object, group: string = "a"): Promise<number> {
  const body = encoder.encode(JSON.stringify({ fields }));
  const request = { kind: "put", rawPath: "", id: idOf(index, group), create: false, condition: "", body } as const;
  return (await cluster.partition(`g:${group}`).apply(request, MINUTE_MS)).status;
}

/** How often something was appended to each of the first `count` documents. */
async function appended(cluster: LocalCluster, count: number, group: string = "a"): Promise<unknown[]> {
  const get = async (index: number): Promise<unknown> => {
    const request = { rawPath: "", id: idOf(index, group), fieldSet: "note:list", tensorFormat: "" };
    const { body } = await cluster.partition(`g:${group}`).get(request, MINUTE_MS);
    return (JSON.parse(decoder.decode(body)) as { fields?: { list?: unknown[] } }).fields?.list?.length ?? 0;
  };
  return await Promise.all(Array.from({ length: count }, (_, index) => get(index)));
}

/** One step from there on. */
async function stepFrom(cluster: LocalCluster, from: VisitPosition, of: MassOperation = APPEND): Promise<MassOutcome> {
  const key: PartitionKey = "g:a";
  const step = { bucket: cluster.bucketOf(key), from, key, documentsMax: 1_000_000, bytesMax: 1 << 20 };
  return await cluster.applyWhere(VISIT, step, of, MINUTE_MS);
}

const START: VisitPosition = { partition: 0, after: "" };

test("a device that is full now and then: each document is changed once", async () => {
  const { cluster, refuse } = await opened();
  const count = 120;
  // Texts so large that the documents of a page are two transactions.
  const text = "x".repeat(600_000);
  const puts = Array.from({ length: count }, (_, at) => put(cluster, at, { text: at >= 100 ? text : "x" }));
  expect(new Set(await Promise.all(puts))).toEqual(new Set([200]));
  // A long tail makes each update slow.
  await cluster.maintain("g:a");
  let transactions = 0;
  refuse(() => {
    transactions += 1;
    return transactions % 2 === 1;
  });
  const counts = { documents: 0, failures: 0 };
  for (let from: VisitPosition | undefined = START; from !== undefined; ) {
    const { documents, failure, next }: MassOutcome = await stepFrom(cluster, from);
    counts.documents += documents;
    if (failure !== undefined) counts.failures += 1;
    if (counts.failures > 100) throw new Error("it does not come to an end");
    from = next;
  }
  refuse(() => false);
  expect(counts.failures).toBeGreaterThan(1);
  expect(counts.documents).toBe(count);
  expect(await appended(cluster, count)).toEqual(Array.from({ length: count }, () => 1));
});

/** Groups of a few documents each, and as many transactions as an operation on all of them takes. */
const SMALL = Array.from({ length: 60 }, (_, at) => `small${at}`);
const IN_SMALL = 3;

async function fillSmall(cluster: LocalCluster): Promise<void> {
  for (const group of SMALL) for (let at = 0; at < IN_SMALL; at += 1) await put(cluster, at, {}, group);
}

/** Appends to all documents, from where each step ends, until all is done. */
async function appendToAll(cluster: LocalCluster): Promise<{ readonly documents: number; readonly failures: number }> {
  const counts = { documents: 0, failures: 0 };
  for (let bucket = 0; bucket < cluster.buckets; bucket += 1) {
    for (let from: VisitPosition | undefined = START; from !== undefined; ) {
      const step = { bucket, from, documentsMax: 1_000_000, bytesMax: 1 << 20 };
      const { documents, failure, next }: MassOutcome = await cluster.applyWhere(VISIT, step, APPEND, MINUTE_MS);
      counts.documents += documents;
      if (failure !== undefined) counts.failures += 1;
      if (counts.failures > 1_000) throw new Error("it does not come to an end");
      from = next;
    }
  }
  return counts;
}

test("documents of many groups are changed in few commits", async () => {
  const { cluster, refuse } = await opened();
  await fillSmall(cluster);
  let transactions = 0;
  refuse(() => {
    transactions += 1;
    return false;
  });
  expect(await appendToAll(cluster)).toEqual({ documents: SMALL.length * IN_SMALL, failures: 0 });
  // It was one for each of them; how many share one is by how long a turn is, which a busy machine makes short.
  expect(transactions).toBeLessThan(SMALL.length / 2);
  for (const group of SMALL) expect(await appended(cluster, IN_SMALL, group)).toEqual([1, 1, 1]);
});

test("groups that are changed together, on a device that is full now and then: each document is changed once", async () => {
  const { cluster, refuse } = await opened();
  await fillSmall(cluster);
  let transactions = 0;
  refuse(() => {
    transactions += 1;
    return transactions % 2 === 1;
  });
  const { documents, failures } = await appendToAll(cluster);
  refuse(() => false);
  expect([documents, failures > 0]).toEqual([SMALL.length * IN_SMALL, true]);
  for (const group of SMALL) expect(await appended(cluster, IN_SMALL, group)).toEqual([1, 1, 1]);
});

test("a group whose document cannot be changed: those before it are changed, those after it are not, and none is twice", async () => {
  const { cluster } = await opened();
  await fillSmall(cluster);
  const [full = ""] = SMALL.slice(30);
  let length = 1 << 20;
  while ((await put(cluster, 1, { text: "x".repeat(length) }, full)) !== 200) length -= 1;
  const bucket = cluster.bucketOf(`g:${full}`);
  const beside = SMALL.filter((group) => cluster.bucketOf(`g:${group}`) === bucket);
  const step = { bucket, from: START, documentsMax: 1_000_000, bytesMax: 1 << 20 };
  const outcome = await cluster.applyWhere(VISIT, step, APPEND, MINUTE_MS);
  const before = beside.indexOf(full);
  expect(outcome).toMatchObject({
    documents: before * IN_SMALL + 1,
    failure: { status: 413 },
    next: { after: idOf(0, full) },
  });
  const changed = await Promise.all(beside.map((group) => appended(cluster, IN_SMALL, group)));
  const expected = beside.map((_, at) => (at < before ? [1, 1, 1] : at === before ? [1, 0, 0] : [0, 0, 0]));
  expect(changed).toEqual(expected);
  expect(await put(cluster, 1, {}, full)).toBe(200);
  await cluster.applyWhere(VISIT, { ...step, from: outcome.next ?? START }, APPEND, MINUTE_MS);
  for (const group of beside) expect(await appended(cluster, IN_SMALL, group)).toEqual([1, 1, 1]);
});

test("a document that cannot be changed: those before it are, those after it are not, and none is twice", async () => {
  const { cluster } = await opened();
  const full = 17;
  for (let at = 0; at < 40; at += 1) if (at !== full) await put(cluster, at, {});
  // The longest text there is room for.
  let length = 1 << 20;
  while ((await put(cluster, full, { text: "x".repeat(length) })) !== 200) length -= 1;
  const outcome = await stepFrom(cluster, START);
  expect(outcome).toMatchObject({ documents: full, failure: { status: 413 }, next: { after: idOf(full - 1) } });
  const ones = (count: number, value = 1): number[] => Array.from({ length: count }, () => value);
  expect(await appended(cluster, 40)).toEqual([...ones(full), ...ones(40 - full, 0)]);
  expect(await put(cluster, full, { text: "shorter" })).toBe(200);
  expect(await stepFrom(cluster, outcome.next ?? START)).toEqual({ documents: 40 - full });
  expect(await appended(cluster, 40)).toEqual(ones(40));
});

test("a text that cannot be embedded: those before it are written once, though others are embedded sooner", async () => {
  const bad = 7;
  let isBroken = true;
  const embedder: TextEmbedder = {
    embed: async (wanted) => {
      const number = Number(wanted[0]?.text.split(" ").at(-1));
      await new Promise((resolve) => setTimeout(resolve, 40 - number));
      if (isBroken && number === bad) throw new Error("the model is not there");
      return wanted.map((): Embedding => ({ shape: "vector", values: Float32Array.of(1) }));
    },
    close: () => Promise.resolve(),
  };
  const { cluster } = await opened(EMBEDDED, embedder);
  // Without a text there is nothing to embed.
  const hasText = (at: number): boolean => at > 2 && at % 5 !== 0;
  for (let at = 0; at < 40; at += 1) await put(cluster, at, hasText(at) ? { text: `note ${at}` } : {});
  const change: MassOperation = {
    ...APPEND,
    body: encoder.encode('{"fields":{"list":{"add":[1]},"title":{"assign":"new"}}}'),
  };
  const ones = (count: number, value = 1): number[] => Array.from({ length: count }, () => value);
  const outcome = await stepFrom(cluster, START, change);
  expect(outcome).toMatchObject({ documents: bad, failure: { status: 500 }, next: { after: idOf(bad - 1) } });
  expect(await appended(cluster, 40)).toEqual([...ones(bad), ...ones(40 - bad, 0)]);
  isBroken = false;
  expect(await stepFrom(cluster, outcome.next ?? START, change)).toEqual({ documents: 40 - bad });
  expect(await appended(cluster, 40)).toEqual(ones(40));
});
