/**
 * A document type in several content clusters: each has documents of its own, in one partition of their group. Random histories
 * are held against maps of documents, over the tail, segments, feeds in bulk, folds, restarts, and deployments of other clusters.
 */
import { join } from "node:path";
import { Core, instantiate } from "@brooklet/core";
import { DataDirectory } from "@brooklet/store/node";
import { expect, onTestFinished, test } from "vitest";
import type { Cluster, GetRequest, OperationRequest, Outcome, Visit } from "../src/cluster.ts";
import { LocalCluster } from "../src/local-cluster.ts";
import { nodeSurroundings } from "../src/node/surroundings.ts";
import { searchOnce } from "../src/query/cluster-query.ts";
import { openCore, packageOf } from "./core-setting.ts";
import { Platform } from "./object-setting.ts";
import { folder, openSql } from "./setting.ts";

const SEED = Number(process.env["BROOKLET_SEED"] ?? Math.floor(Math.random() * 2 ** 31));
const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
const MARK = "\u0001";
const KEY = "g:alice";
const NOTE = `schema note {
  document note {
    field title type string { indexing: summary | index }
    field n type int { indexing: summary | attribute }
  }
  field words type string { indexing: input title | lowercase | summary }
}`;
const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** Where documents are: `hot` takes all, `archive` those with a large number. */
const LEAST = 10;
const CLUSTERS: Record<"hot" | "archive", string> = { hot: "", archive: `selection="note.n &gt;= ${LEAST}"` };
type Name = keyof typeof CLUSTERS;
const BOTH: readonly Name[] = ["hot", "archive"];

function deployment(names: readonly Name[], more: Record<string, string> = {}, ...overrides: string[]): Uint8Array {
  const { expiry = "", ...selections } = more;
  const contents = names.map(
    (name) => `<content id="${name}" version="1.0"><redundancy>1</redundancy><documents ${expiry}>
      <document type="note" mode="streaming" ${selections[name] ?? CLUSTERS[name]}/></documents>
      <nodes><node hostalias="n" distribution-key="0"/></nodes></content>`,
  );
  const until = new Date(Date.now() + DAY_MS).toISOString().slice(0, 10);
  const allowed = overrides.map((id) => `<allow until="${until}">${id}</allow>`).join("");
  return packageOf(
    { note: NOTE },
    {
      "services.xml": `<services version="1.0">${contents.join("")}</services>`,
      "validation-overrides.xml": `<validation-overrides>${allowed}</validation-overrides>`,
    },
  );
}

/** The id of a note: of all clusters, or of one; the first that ever was has the plain ones. */
function target(name: string, cluster?: Name): Pick<GetRequest, "id" | "isStored"> {
  const id = `id:x:note:g=alice:${name}`;
  if (cluster === undefined) return { id };
  return { id: cluster === "hot" ? id : id.replace(":note:", `:note${MARK}archive:`), isStored: true };
}

interface Fields {
  readonly title: string;
  readonly n: number;
}

async function apply(
  cluster: Cluster,
  kind: OperationRequest["kind"],
  name: string,
  more: { readonly in?: Name; readonly fields?: unknown; readonly condition?: string } = {},
): Promise<Outcome> {
  const body = kind === "remove" ? new Uint8Array() : encoder.encode(JSON.stringify({ fields: more.fields }));
  const about = { kind, rawPath: "", create: undefined, condition: more.condition ?? "", body };
  return await cluster.partition(KEY).apply({ ...about, ...target(name, more.in) }, MINUTE_MS);
}

async function get(cluster: Cluster, name: string, of?: Name): Promise<Fields | undefined> {
  const request = { rawPath: "", ...target(name, of), fieldSet: "", tensorFormat: "" };
  const { status, body } = await cluster.partition(KEY).get(request, MINUTE_MS);
  const told = JSON.parse(decoder.decode(body)) as { readonly id: string; readonly fields: Fields };
  expect(told.id).toBe(target(name).id);
  return status === 200 ? told.fields : undefined;
}

const visitOf = (cluster: Name, format: Visit["format"] = "jsonl"): Visit => ({
  types: [cluster === "hot" ? "note" : `note${MARK}archive`],
  namespace: "",
  selection: "",
  fieldSet: "",
  tensorFormat: "",
  format,
});

async function visited(cluster: Cluster, of: Name): Promise<Record<string, Fields>> {
  const shown: Record<string, Fields> = {};
  const bucket = cluster.bucketOf(KEY);
  let from: { partition: number; after: string } | undefined = { partition: 0, after: "" };
  while (from !== undefined) {
    const step = { bucket, key: KEY, from, documentsMax: 7, bytesMax: 1e9 } as const;
    const page = await cluster.visit(visitOf(of), step, MINUTE_MS);
    for (const line of decoder
      .decode(page.body)
      .split("\n")
      .filter((text) => text !== "")) {
      const { put, fields } = JSON.parse(line) as { readonly put: string; readonly fields: Fields };
      expect(put).toMatch(/^id:x:note:g=alice:/);
      expect(shown[put]).toBe(undefined);
      shown[put] = fields;
    }
    from = page.next;
  }
  return shown;
}

interface Hit {
  readonly id: string;
  readonly source: string;
  readonly fields: Fields & { readonly documentid: string; readonly sddocname: string; readonly words: string };
}

async function searched(cluster: Cluster, more: Readonly<Record<string, string>> = {}): Promise<readonly Hit[]> {
  const all = { yql: "select * from sources * where true", "streaming.groupname": "alice", hits: "400", ...more };
  const properties = Object.entries({ timeout: "60s", ...all });
  const { body } = await searchOnce(cluster, { properties, body: new Uint8Array() }, MINUTE_MS);
  const { root } = JSON.parse(decoder.decode(body)) as {
    readonly root: { readonly fields: { readonly totalCount: number }; readonly children?: readonly Hit[] };
  };
  const hits = root.children ?? [];
  expect(root.fields.totalCount).toBe(hits.length);
  return hits;
}

async function feed(cluster: Cluster, operations: readonly object[]): Promise<void> {
  const input = (async function* () {
    yield encoder.encode(operations.map((one) => JSON.stringify(one)).join("\n"));
  })();
  for await (const told of cluster.feed(input, { timeoutMs: MINUTE_MS }))
    for (const { outcome } of told) expect(outcome.status).toBe(200);
}

type Twin = Record<Name, Map<string, Fields>>;

/** What a put stores. */
function put(twin: Twin, name: string, fields: Fields, names: readonly Name[]): void {
  for (const of of names) if (of === "hot" || fields.n >= LEAST) twin[of].set(name, fields);
}

async function expectTwin(cluster: Cluster, twin: Twin, names: readonly Name[] = BOTH): Promise<void> {
  const hits = await searched(cluster);
  for (const of of names) {
    const expected = Object.fromEntries([...twin[of]].map(([name, fields]) => [target(name).id, fields]));
    expect(await visited(cluster, of)).toEqual(expected);
    const own = hits.filter(({ source }) => source === of);
    expect(Object.fromEntries(own.map(({ id, fields: { title, n } }) => [id, { title, n }]))).toEqual(expected);
    expect(own.length).toBe(twin[of].size);
    for (const { id, fields } of own) {
      expect([fields.documentid, fields.sddocname, fields.words]).toEqual([id, "note", fields.title.toLowerCase()]);
    }
    expect((await searched(cluster, { sources: of })).map(({ id }) => id).sort()).toEqual(Object.keys(expected).sort());
  }
  expect(hits.length).toBe(names.reduce((sum, of) => sum + twin[of].size, 0));
  for (const name of ["a0", "a1", "nosuch"]) {
    for (const of of names) expect(await get(cluster, name, of)).toEqual(twin[of].get(name));
    const first = names.map((of) => twin[of].get(name)).find((fields) => fields !== undefined);
    expect(await get(cluster, name)).toEqual(first);
  }
}

function randomly(): (below: number) => number {
  let state = SEED;
  return (below) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
    return (state >>> 8) % below;
  };
}

/** One step of a history, done to the cluster and to its twin. */
async function step(cluster: Cluster, twin: Twin, random: (below: number) => number, feeds: boolean): Promise<void> {
  const name = `a${random(12)}`;
  const only = [undefined, ...BOTH][random(3)];
  const names = only === undefined ? BOTH : [only];
  const fields = { title: `Title ${random(1_000)}`, n: random(2 * LEAST) };
  const where = only === undefined ? {} : { in: only };
  switch (random(feeds ? 5 : 4)) {
    case 0:
    case 1: {
      const { status, ignoredOperation = false } = await apply(cluster, "put", name, { ...where, fields });
      const isTaken = names.some((of) => of === "hot" || fields.n >= LEAST);
      expect([status, ignoredOperation]).toEqual([200, !isTaken]);
      put(twin, name, fields, names);
      break;
    }
    case 2: {
      const update = { n: { increment: 1 } };
      expect((await apply(cluster, "update", name, { ...where, fields: update })).status).toBe(200);
      for (const of of names) {
        const own = twin[of].get(name);
        if (own !== undefined) put(twin, name, { ...own, n: own.n + 1 }, [of]);
      }
      break;
    }
    case 3:
      expect((await apply(cluster, "remove", name, where)).status).toBe(200);
      for (const of of names) twin[of].delete(name);
      break;
    default: {
      const many = Array.from({ length: 1 + random(150) }, (_, at) => {
        const put_ = { title: `Fed ${random(1_000)}`, n: random(2 * LEAST) };
        return { name: `f${at}`, fields: put_ };
      });
      await feed(
        cluster,
        many.map((one) => ({ put: target(one.name).id, fields: one.fields })),
      );
      for (const one of many) put(twin, one.name, one.fields, BOTH);
    }
  }
}

test("random histories are those of documents of each cluster", async () => {
  const random = randomly();
  const path = join(folder(), "data");
  let { cluster, problems } = openCore(path);
  await cluster.deploy(deployment(BOTH));
  const twin: Twin = { hot: new Map(), archive: new Map() };
  for (let at = 0; at < 160; at += 1) {
    await step(cluster, twin, random, true);
    if (at % 20 === 19) await expectTwin(cluster, twin);
    if (at % 50 === 30) await cluster.idle();
    if (at % 70 === 60) {
      await cluster.close();
      expect(problems).toEqual([]);
      ({ cluster, problems } = openCore(path));
    }
  }
  await cluster.idle();
  await expectTwin(cluster, twin);
  expect(problems, `seed ${SEED}`).toEqual([]);
});

test("in an object of a platform too", async () => {
  const random = randomly();
  const platform = new Platform(() => new Core({ instantiate, cacheBytes: 8 << 20 }));
  const cluster = await platform.open();
  await cluster.deploy(deployment(BOTH));
  const twin: Twin = { hot: new Map(), archive: new Map() };
  for (let at = 0; at < 60; at += 1) {
    await step(cluster, twin, random, true);
    if (at % 20 === 19) {
      await platform.ring(KEY);
      await expectTwin(cluster, twin);
    }
  }
  expect(platform.problems, `seed ${SEED}`).toEqual([]);
});

test("of documents that are changed where they are selected it is told how many their cluster does not let in", async () => {
  const local = openCore(join(folder(), "data")).cluster;
  const platform = await new Platform(() => new Core({ instantiate, cacheBytes: 8 << 20 })).open();
  for (const cluster of [local, platform]) {
    await cluster.deploy(deployment(["hot"], { hot: CLUSTERS.archive }));
    for (const [name, n] of Object.entries({ a: 10, b: 20, c: 30 }))
      expect(await apply(cluster, "put", name, { fields: { title: name, n } })).toMatchObject({ status: 200 });
    const visit = { types: ["note"], namespace: "", selection: "note.n < 25", fieldSet: "", tensorFormat: "" } as const;
    const operation = { kind: "update", rawPath: "", body: encoder.encode('{"fields":{"n":{"assign":3}}}') } as const;
    const bucket = cluster.bucketOf(KEY);
    const step = { bucket, from: { partition: 0, after: "" }, documentsMax: 100, bytesMax: 1 << 20 };
    const done = await cluster.applyWhere({ ...visit, format: "json" }, step, operation, MINUTE_MS);
    expect(done).toEqual({ documents: 2, ignored: 2 });
  }
});

test("documents of several clusters with one id are in one shard of a large group", async () => {
  const random = randomly();
  const problems: unknown[] = [];
  const onProblem = (problem: unknown): void => void problems.push(problem);
  const cluster = new LocalCluster({
    storage: DataDirectory.open(folder(), openSql, 16),
    makeEngine: () => new Core({ instantiate, cacheBytes: 16 << 20, onTrap: onProblem }),
    surroundings: nodeSurroundings,
    onProblem,
  });
  onTestFinished(() => cluster.close());
  await cluster.deploy(deployment(BOTH));
  const twin: Twin = { hot: new Map(), archive: new Map() };
  for (let at = 0; at < 40; at += 1) await step(cluster, twin, random, true);
  await cluster.split(KEY);
  await expectTwin(cluster, twin);
  for (let at = 0; at < 60; at += 1) await step(cluster, twin, random, true);
  await cluster.split(KEY);
  await expectTwin(cluster, twin);
  const where = { bucket: cluster.bucketOf(KEY), key: KEY, documentsMax: 1e6, bytesMax: 1e9 } as const;
  const operation = { kind: "update", rawPath: "", body: encoder.encode('{"fields":{"n":{"increment":1}}}') } as const;
  const visit = { ...visitOf("archive"), selection: "note.n >= 0" };
  let from: { partition: number; after: string } | undefined = { partition: 0, after: "" };
  let documents = 0;
  while (from !== undefined) {
    const done = await cluster.applyWhere(visit, { ...where, from }, operation, MINUTE_MS);
    expect(done.failure).toBe(undefined);
    documents += done.documents;
    from = done.next;
  }
  expect(documents).toBe(twin.archive.size);
  for (const [name, fields] of twin.archive) twin.archive.set(name, { ...fields, n: fields.n + 1 });
  await expectTwin(cluster, twin);
  expect(problems, `seed ${SEED}`).toEqual([]);
});

test("a cluster that comes has nothing, one that goes takes its documents along and no others", async () => {
  const path = join(folder(), "data");
  let { cluster } = openCore(path);
  const twin: Twin = { hot: new Map(), archive: new Map() };
  await cluster.deploy(deployment(["hot"]));
  for (let at = 0; at < 300; at += 1) {
    const fields = { title: `Title ${at}`, n: at % 20 };
    await apply(cluster, "put", `a${at}`, { fields });
    put(twin, `a${at}`, fields, ["hot"]);
  }
  await cluster.idle();
  // Wherever it stands in services.xml: what is stored keeps its names.
  await cluster.deploy(deployment(["archive", "hot"]));
  await expectTwin(cluster, twin);
  const fields = { title: "New", n: 15 };
  await apply(cluster, "put", "a0", { fields });
  put(twin, "a0", fields, BOTH);
  await expectTwin(cluster, twin);
  await cluster.idle();
  await expect(cluster.deploy(deployment(["archive"]))).rejects.toThrow(/content-cluster-removal/);
  await cluster.deploy(deployment(["archive"], {}, "content-cluster-removal"));
  twin.hot.clear();
  await expectTwin(cluster, twin, ["archive"]);
  expect(await get(cluster, "a0")).toEqual(fields);
  expect(await apply(cluster, "update", "a0", { fields: { n: { increment: 1 } } })).toEqual({ status: 200 });
  put(twin, "a0", { ...fields, n: 16 }, ["archive"]);
  await cluster.close();
  ({ cluster } = openCore(path));
  await expectTwin(cluster, twin, ["archive"]);
  await cluster.deploy(deployment(["hot", "archive"]));
  await expectTwin(cluster, twin);
  expect(await apply(cluster, "put", "a1", { fields })).toEqual({ status: 200 });
  put(twin, "a1", fields, BOTH);
  await cluster.idle();
  await expectTwin(cluster, twin);
});

test("each cluster keeps what it has when an update leaves its selection, until that is past", async () => {
  const { cluster } = openCore(join(folder(), "data"));
  const expiry = 'garbage-collection="true" garbage-collection-interval="1"';
  await cluster.deploy(deployment(BOTH, { expiry, archive: 'selection="note.n &gt; now()"' }));
  const now = Math.floor(Date.now() / 1_000);
  await apply(cluster, "put", "a0", { fields: { title: "A", n: now + 3 } });
  expect(await get(cluster, "a0", "archive")).toEqual({ title: "A", n: now + 3 });
  expect(await apply(cluster, "put", "a0", { fields: { title: "B", n: 3 } })).toEqual({ status: 200 });
  expect([await get(cluster, "a0", "archive"), await get(cluster, "a0", "hot")]).toEqual([
    { title: "A", n: now + 3 },
    { title: "B", n: 3 },
  ]);
  await expect.poll(() => get(cluster, "a0", "archive"), { interval: 200 }).toBe(undefined);
  expect(await get(cluster, "a0")).toEqual({ title: "B", n: 3 });
});

test("a quota counts each document, and an erasure takes all", async () => {
  const { cluster } = openCore(join(folder(), "data"), undefined, { quotas: { documents: 3 } });
  await cluster.deploy(deployment(BOTH));
  const fields = { title: "A", n: 15 };
  expect((await apply(cluster, "put", "a0", { fields })).status).toBe(200);
  expect((await cluster.usage(KEY)).documents).toBe(2);
  expect((await apply(cluster, "put", "a1", { fields })).status).toBe(507);
  expect((await apply(cluster, "put", "a1", { fields, in: "hot" })).status).toBe(200);
  expect((await apply(cluster, "put", "a0", { fields: { title: "B", n: 16 } })).status).toBe(200);
  expect((await cluster.usage(KEY)).documents).toBe(3);
  expect((await cluster.erase(KEY)).documents).toBe(3);
  for (const of of BOTH) expect(await visited(cluster, of)).toEqual({});
  expect(await searched(cluster)).toEqual([]);
});

test("a condition that one cluster does not meet is told, and what others did is not hidden", async () => {
  const { cluster } = openCore(join(folder(), "data"));
  await cluster.deploy(deployment(BOTH));
  await apply(cluster, "put", "a0", { fields: { title: "A", n: 15 } });
  await apply(cluster, "update", "a0", { fields: { title: { assign: "B" } }, in: "archive" });
  const update = { fields: { n: { increment: 1 } } };
  const refused = await apply(cluster, "update", "a0", { ...update, condition: 'note.title == "B"' });
  expect([refused.status, refused.outcome]).toEqual([412, "unknown"]);
  expect(await get(cluster, "a0", "hot")).toEqual({ title: "A", n: 15 });
  expect(await get(cluster, "a0", "archive")).toEqual({ title: "B", n: 16 });
  const nowhere = await apply(cluster, "update", "a0", { ...update, condition: 'note.title == "C"' });
  expect([nowhere.status, nowhere.outcome]).toEqual([412, "not_applied"]);
});
