/**
 * A group that is erased: whatever was under way, no document of before the erasure is ever seen again, and every one of after it
 * is there; the bytes leave the files, also where the process was killed in between. A failing run prints its seed;
 * BROOKLET_SEED repeats it, BROOKLET_STEPS makes it longer.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Core, Task } from "@brooklet/core";
import { Bucket } from "@brooklet/store";
import { DataDirectory, encryptedBuckets, encryptedStorage } from "@brooklet/store/node";
import { expect, onTestFinished, test, vi } from "vitest";
import { clock } from "../src/clock.ts";
import type { PartitionKey, Purge, VisitPosition } from "../src/cluster.ts";
import { PURGE_MS, SLICE_MS } from "../src/limits.ts";
import type { LocalCluster } from "../src/local-cluster.ts";
import { getNote, idOf, openCore, packageOf, putNote, searchNotes } from "./core-setting.ts";
import { folder, openSql } from "./setting.ts";

const SEED = Number(process.env["BROOKLET_SEED"] ?? Math.floor(Math.random() * 2 ** 31));
const STEPS = Number(process.env["BROOKLET_STEPS"] ?? 250);
const MINUTE_MS = 60_000;
const NO_BYTES = new Uint8Array();
const encoder = new TextEncoder();
const decoder = new TextDecoder();

const NOTE = `schema note { document note {
  field value type string { indexing: summary | attribute }
  field padding type string { indexing: summary | index }
} }`;
const application = packageOf({ note: NOTE });

/** mulberry32: small, and the same everywhere. */
function randomFrom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * below);
  };
}

/** Has each step of folds and loads take as long as a slice while it is switched on, so that others run in between. */
function slowed(core: Core): { isOn: boolean } {
  const pace = { isOn: false };
  const slow = <Output>(task: Task<Output>): Task<Output> => {
    const wants = task.wants.bind(task);
    task.wants = () => {
      for (const start = Date.now(); pace.isOn && Date.now() - start <= SLICE_MS; );
      // Where the clock stands still, work moves it.
      if (pace.isOn) clock.worked({ bytes: SLICE_MS << 20, paused: false });
      return wants();
    };
    return task;
  };
  const [compact, load] = [core.compact.bind(core), core.load.bind(core)];
  core.compact = (...asked) => slow(compact(...asked));
  core.load = (...asked) => slow(load(...asked));
  return pace;
}

async function removeNote(cluster: LocalCluster, group: string, name: string): Promise<void> {
  const request = { kind: "remove", rawPath: "", id: idOf(name, group), create: false, condition: "" } as const;
  const outcome = await cluster.partition(`g:${group}`).apply({ ...request, body: NO_BYTES }, MINUTE_MS);
  expect(outcome).toEqual({ status: 200 });
}

/** Feeds notes in bulk: enough of them become segments at once. */
async function load(cluster: LocalCluster, group: string, notes: ReadonlyMap<string, string>): Promise<void> {
  async function* operations(): AsyncGenerator<Uint8Array> {
    for (const [name, value] of notes)
      yield encoder.encode(`${JSON.stringify({ put: idOf(name, group), fields: { value, padding: value } })}\n`);
  }
  for await (const told of cluster.feed(operations(), { timeoutMs: MINUTE_MS }))
    for (const { outcome } of told) expect(outcome).toEqual({ status: 200 });
}

/** The values of a group by the names of its documents, and those that are known to be removed. */
async function stored(cluster: LocalCluster, group: string): Promise<{ values: Map<string, string>; removed: number }> {
  const key: PartitionKey = `g:${group}`;
  const visit = { types: ["note"], namespace: "", selection: "", fieldSet: "", tensorFormat: "" } as const;
  let [body, from]: [string, VisitPosition | undefined] = ["", { partition: 0, after: "" }];
  while (from !== undefined) {
    const step = { bucket: cluster.bucketOf(key), key, from, documentsMax: 1e6, bytesMax: 1e9 };
    const page = await cluster.visit({ ...visit, format: "jsonl", includeRemoves: true }, step, MINUTE_MS);
    body += decoder.decode(page.body);
    from = page.next;
  }
  const values = new Map<string, string>();
  let removed = 0;
  for (const line of body.split("\n").filter((text) => text !== "")) {
    const { put, fields } = JSON.parse(line) as { put?: string; fields: { value: string } };
    if (put === undefined) removed += 1;
    else values.set(put.slice(put.lastIndexOf(":") + 1), fields.value);
  }
  return { values, removed };
}

/** A visit, a search and gets see what a map has. */
async function expectSame(cluster: LocalCluster, group: string, twin: ReadonlyMap<string, string>, about: string) {
  const { values } = await stored(cluster, group);
  expect(Object.fromEntries(values), about).toEqual(Object.fromEntries(twin));
  const { total, status } = await searchNotes(cluster, group, "select * from note where true", { hits: "0" });
  expect([status, total], about).toEqual([200, twin.size]);
}

test(`erasures beside all else answer as a map does (seed ${SEED})`, async () => {
  const random = randomFrom(SEED);
  const path = join(folder(), "data");
  let { cluster, problems, core } = openCore(path);
  let pace = slowed(core);
  await cluster.deploy(application);
  const twins = new Map<string, Map<string, string>>();
  const reached = { erased: 0, duringFold: 0, loadBefore: 0, loadAfter: 0, restarts: 0, removes: 0 };
  const fill = async (group: string, twin: Map<string, string>, step: number): Promise<void> => {
    const notes = new Map(Array.from({ length: 300 }, (_, at) => [`l${at}`, `v${step}-${at}`]));
    await load(cluster, group, notes);
    for (const [name, value] of notes) twin.set(name, value);
  };
  const turns = async (): Promise<void> => {
    for (let left = random(12); left > 0; left -= 1) await new Promise((resolve) => setImmediate(resolve));
  };
  for (let step = 0; step < STEPS; step += 1) {
    const group = `u${random(3)}`;
    const about = `${group}, step ${step}`;
    const twin = twins.get(group) ?? new Map<string, string>();
    twins.set(group, twin);
    const action = random(100);
    if (action < 40) {
      // Puts of one turn on both sides of an erasure: those before it are gone, those after it there.
      const isErased = random(4) === 0;
      const names = Array.from({ length: 1 + random(20) }, () => `d${random(40)}`);
      const before = names.map((name) => putNote(cluster, group, name, { value: `v${step}`, padding: about }));
      for (const name of names) twin.set(name, `v${step}`);
      const erased = isErased ? cluster.erase(`g:${group}`) : undefined;
      const known = twin.size;
      if (isErased) twin.clear();
      const after = isErased ? [putNote(cluster, group, "after", { value: `w${step}`, padding: about })] : [];
      if (isErased) twin.set("after", `w${step}`);
      await Promise.all([...before, ...after]);
      if (erased !== undefined) {
        expect((await erased).documents, about).toBe(known);
        reached.erased += 1;
      }
    } else if (action < 55) {
      const [name] = [...twin.keys()];
      if (name === undefined) continue;
      await removeNote(cluster, group, name);
      twin.delete(name);
      reached.removes += 1;
    } else if (action < 65) await fill(group, twin, step);
    else if (action < 78) {
      await fill(group, twin, step);
      await cluster.idle();
      let isFolding = true;
      pace.isOn = true;
      await putNote(cluster, group, "tail", { value: `v${step}`, padding: about });
      const fold = cluster.maintain(`g:${group}`).finally(() => {
        isFolding = false;
      });
      await turns();
      if (isFolding) reached.duringFold += 1;
      await cluster.erase(`g:${group}`);
      twin.clear();
      if (random(2) === 0) {
        await putNote(cluster, group, "anew", { value: `w${step}`, padding: about });
        twin.set("anew", `w${step}`);
      }
      await fold;
    } else if (action < 92) {
      const known = twin.size;
      const notes = new Map(Array.from({ length: 300 }, (_, at) => [`m${step}-${at}`, `v${step}`]));
      pace.isOn = random(2) === 0;
      const loaded = load(cluster, group, notes);
      if (random(4) === 0) await loaded;
      else await turns();
      const { documents = -1 } = await cluster.erase(`g:${group}`);
      await loaded;
      twin.clear();
      // A load is before an erasure or after it, with all it has.
      expect([known, known + notes.size], about).toContain(documents);
      if (documents === known) for (const [name, value] of notes) twin.set(name, value);
      if (documents === known) reached.loadAfter += 1;
      else reached.loadBefore += 1;
    } else if (action < 96) {
      await cluster.close();
      expect(problems, about).toEqual([]);
      ({ cluster, problems, core } = openCore(path));
      pace = slowed(core);
      reached.restarts += 1;
    } else await cluster.idle();
    pace.isOn = false;
    await expectSame(cluster, group, twin, about);
  }
  await cluster.idle();
  for (const [group, twin] of twins) await expectSame(cluster, group, twin, group);
  expect(problems).toEqual([]);
  expect(Object.entries(reached).filter(([, count]) => count === 0)).toEqual([]);
});

test("what is counted is what there was, in every content cluster and whatever a query profile says", async () => {
  const path = join(folder(), "data");
  const { cluster, problems } = openCore(path);
  const other = "schema file { document file { field title type string { indexing: summary | index } } }";
  const content = (id: string, type: string): string =>
    `<content id="${id}" version="1.0"><redundancy>1</redundancy><documents><document type="${type}" mode="streaming"/></documents></content>`;
  const profile = (fields: string): string => `<query-profile id="default">${fields}</query-profile>`;
  const deploy = (fields: string): Promise<unknown> =>
    cluster.deploy(
      packageOf(
        { note: NOTE, file: other },
        {
          "services.xml": `<services version="1.0">${content("a", "note")}${content("b", "file")}</services>`,
          "search/query-profiles/default.xml": profile(fields),
        },
      ),
    );
  const fill = async (): Promise<void> => {
    for (const name of ["1", "2", "3"]) await putNote(cluster, "alice", name, { value: name, padding: "" });
    await removeNote(cluster, "alice", "2");
    const id = "id:test:file:g=alice:1";
    const body = encoder.encode('{"fields":{"title":"x"}}');
    const request = { kind: "put", rawPath: "", id, create: false, condition: "", body } as const;
    expect(await cluster.partition("g:alice").apply(request, MINUTE_MS)).toEqual({ status: 200 });
  };
  await deploy(
    '<field name="model.restrict">note</field><field name="model.filter" overridable="false">title:y</field>',
  );
  await fill();
  expect((await cluster.erase("g:alice")).documents).toBe(3);
  expect((await cluster.erase("g:alice")).documents).toBe(0);
  await deploy('<field name="model.restrict" overridable="false">note</field>');
  await fill();
  // Not all of them can be counted: that is not told as if they were.
  expect((await cluster.erase("g:alice")).documents).toBeUndefined();
  expect((await stored(cluster, "alice")).values.size).toBe(0);
  expect(problems).toEqual([]);
});

test.each([
  ["a segment", "UPDATE segment SET header = x'00'"],
  ["the head of the group", "UPDATE head SET bytes = x'00' WHERE partition > 0"],
])("%s that is damaged is erased too, and the operator is told why it was not counted", async (_, damage) => {
  const path = join(folder(), "data");
  const first = openCore(path);
  await first.cluster.deploy(application);
  await load(first.cluster, "alice", new Map(Array.from({ length: 300 }, (_, at) => [`n${at}`, "v"])));
  await first.cluster.close();
  const bucket = first.cluster.bucketOf("g:alice");
  const sql = openSql(join(path, "buckets", `00${bucket}.sqlite`));
  sql.run(damage);
  sql.close();
  const { cluster, problems } = openCore(path);
  expect(await getNote(cluster, "alice", "n1")).toBe("STORE_CORRUPT");
  const { documents, erasedAt } = await cluster.erase("g:alice");
  expect([documents, erasedAt > 0, problems.length > 0]).toEqual([undefined, true, true]);
  expect(await getNote(cluster, "alice", "n1")).toMatch(/^404 /);
  await putNote(cluster, "alice", "n1", { value: "new", padding: "" });
  expect((await stored(cluster, "alice")).values).toEqual(new Map([["n1", "new"]]));
});

test("a visit that stands in a group when it is erased goes on in nothing, or in the next group", async () => {
  const { cluster } = openCore(join(folder(), "data"));
  await cluster.deploy(application);
  const names = Array.from({ length: 20 }, (_, at) => `n${10 + at}`);
  for (const name of names) await putNote(cluster, "alice", name, { value: "old", padding: "" });
  const visit = {
    types: ["note"],
    namespace: "",
    selection: "",
    fieldSet: "",
    tensorFormat: "",
    format: "jsonl",
  } as const;
  const key = "g:alice";
  const step = { bucket: cluster.bucketOf(key), key, documentsMax: 5, bytesMax: 1e9 } as const;
  const { next, documents } = await cluster.visit(visit, { ...step, from: { partition: 0, after: "" } }, MINUTE_MS);
  expect([documents, next?.after]).toEqual([5, idOf("n14", "alice")]);
  await cluster.erase(key);
  const from = next ?? { partition: 0, after: "" };
  expect(await cluster.visit(visit, { ...step, from }, MINUTE_MS)).toMatchObject({ documents: 0 });
  for (const name of ["n1", "n99"]) await putNote(cluster, "alice", name, { value: "new", padding: "" });
  const page = await cluster.visit(visit, { ...step, from }, MINUTE_MS);
  expect([page.documents, decoder.decode(page.body).includes(idOf("n99", "alice"))]).toEqual([1, true]);
});

/** All bytes of the files below a directory. */
function bytesOf(path: string): string {
  const files = readdirSync(path, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return files.map((entry) => readFileSync(join(entry.parentPath, entry.name)).toString("latin1")).join("");
}

const NAME = "zq7-the-name";
const CANARY = "Xylocopa-canary-9f3";

/** Documents with the canary in segments and in the tail, and some of another group. */
async function fillWithCanary(cluster: LocalCluster): Promise<void> {
  const canaries = new Map(Array.from({ length: 300 }, (_, at) => [`n${at}`, `${CANARY}-${at}`]));
  await load(cluster, NAME, canaries);
  for (let at = 0; at < 5; at += 1) await putNote(cluster, NAME, `t${at}`, { value: CANARY, padding: CANARY });
  await removeNote(cluster, NAME, "n3");
  await removeNote(cluster, NAME, "t3");
  for (let at = 0; at < 5; at += 1) await putNote(cluster, "bob", `b${at}`, { value: "of-bob", padding: "" });
}

/** Passes some seconds, with all that is done in them. */
async function pass(cluster: LocalCluster, seconds: number): Promise<void> {
  for (let second = 0; second < seconds; second += 1) {
    vi.advanceTimersByTime(1_000);
    await cluster.idle();
  }
}

function fakeTime(): void {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval", "performance"] });
  onTestFinished(() => void vi.useRealTimers());
}

test("neither name nor documents of an erased group are in the files a few seconds later", async () => {
  const path = join(folder(), "data");
  fakeTime();
  const { cluster, problems } = openCore(path);
  await cluster.deploy(application);
  await fillWithCanary(cluster);
  for (const word of [`g:${NAME}`, `g=${NAME}`, CANARY, "of-bob"])
    expect([word, bytesOf(path).includes(word)]).toEqual([word, true]);
  expect((await cluster.erase(`g:${NAME}`)).documents).toBe(303);
  expect(await stored(cluster, NAME)).toEqual({ values: new Map(), removed: 0 });
  await pass(cluster, 5);
  const left = bytesOf(path);
  for (const word of [NAME, CANARY]) expect([word, left.includes(word)]).toEqual([word, false]);
  expect(left.includes("of-bob")).toBe(true);
  expect((await stored(cluster, "bob")).values.size).toBe(5);
  expect(problems).toEqual([]);
});

test("of erasures that are waited for together one empties the log for all", async () => {
  const path = join(folder(), "data");
  const { cluster } = openCore(path);
  await cluster.deploy(application);
  const groups = Array.from({ length: 64 }, (_, at) => `user${at}`).filter(
    (name) => cluster.bucketOf(`g:${name}`) === 0,
  );
  for (const group of groups) await putNote(cluster, group, "1", { value: "v", padding: CANARY });
  const emptied = vi.spyOn(Bucket.prototype, "checkpoint");
  onTestFinished(() => emptied.mockRestore());
  const erasures = await Promise.all(groups.map((group) => cluster.erase(`g:${group}`)));
  const told = await Promise.all(erasures.map((erasure) => cluster.purge(erasure)));
  expect(told.filter(({ goneAt }) => goneAt !== undefined)).toHaveLength(groups.length);
  expect(emptied.mock.calls.length).toBeLessThan(groups.length / 4);
  expect(bytesOf(path).includes(CANARY)).toBe(false);
});

test("closing deletes what was erased a moment before", async () => {
  const path = join(folder(), "data");
  const { cluster } = openCore(path);
  await cluster.deploy(application);
  await fillWithCanary(cluster);
  await cluster.erase(`g:${NAME}`);
  await cluster.close();
  const left = bytesOf(path);
  for (const word of [NAME, CANARY]) expect([word, left.includes(word)]).toEqual([word, false]);
});

test("what a killed process had erased is deleted by the next one, where nobody looks as well", async () => {
  const path = join(folder(), "data");
  const { cluster } = openCore(path);
  await cluster.deploy(application);
  await fillWithCanary(cluster);
  await cluster.close();
  const eraser = fileURLToPath(new URL("killed-eraser.mjs", import.meta.url));
  const child = spawn(process.execPath, [eraser, path, `g:${NAME}`], { stdio: ["ignore", "pipe", "inherit"] });
  let said = "";
  child.stdout.setEncoding("utf8").on("data", (piece: string) => {
    said += piece;
  });
  await once(child, "close");
  expect([said, child.signalCode]).toEqual(["303\n", "SIGKILL"]);
  // Else the kill would prove nothing.
  expect(bytesOf(path).includes(CANARY)).toBe(true);

  fakeTime();
  const { cluster: again, problems } = openCore(path);
  await pass(again, 20);
  const left = bytesOf(path);
  for (const word of [NAME, CANARY]) expect([word, left.includes(word)]).toEqual([word, false]);
  expect((await stored(again, NAME)).values.size).toBe(0);
  expect((await stored(again, "bob")).values.size).toBe(5);
  expect(problems).toEqual([]);
});

/** An encrypted directory, opened. */
function openEncrypted(path: string): LocalCluster {
  const key = new Uint8Array(32).fill(7);
  const directory = DataDirectory.open(path, openSql, 2, key);
  const encrypted = encryptedBuckets(path, key, openSql, ({ bucket }) => directory.openBucket(bucket));
  const storage = encryptedStorage(directory, encrypted);
  return openCore(path, undefined, { storage, partitions: encrypted.partitions }).cluster;
}

/** Reads a file until that is ended. */
function reading(file: string): () => void {
  const sql = openSql(file);
  sql.run("BEGIN");
  sql.all("SELECT count(*) FROM sqlite_schema");
  let isOver = false;
  const end = (): void => {
    if (!isOver) sql.close();
    isOver = true;
  };
  onTestFinished(end);
  return end;
}

test("a receipt tells that a key is destroyed when nobody keeps it in a log any more", async () => {
  fakeTime();
  const path = join(folder(), "data");
  const cluster = openEncrypted(path);
  await cluster.deploy(application);
  const names = ["alice", "bob"].map((group) => [group, `00${cluster.bucketOf(`g:${group}`)}.sqlite`] as const);
  for (const [group] of names) await putNote(cluster, group, "1", { value: "v", padding: "" });
  const erased = async (group: string) => {
    const erasure = await cluster.erase(`g:${group}`);
    let told: Purge | undefined;
    const purge = cluster.purge(erasure).then((it) => {
      told = it;
    });
    // Whoever waits for it waits as long as that takes.
    for (; told === undefined; vi.advanceTimersByTime(PURGE_MS / 2))
      await new Promise((resolve) => setImmediate(resolve));
    await purge;
    return { isGone: told.goneAt !== undefined, keyDestroyed: told.keyDestroyed };
  };
  for (const [group, file] of names) {
    const endKeys = reading(join(path, "keys", file));
    expect(await erased(group)).toEqual({ isGone: false, keyDestroyed: false });
    endKeys();
    expect(await erased(group)).toEqual({ isGone: true, keyDestroyed: true });
    await putNote(cluster, group, "1", { value: "v", padding: "" });
    // What is encrypted is nothing without its key: who keeps that alone keeps nothing.
    const endBucket = reading(join(path, "buckets", file));
    expect(await erased(group)).toEqual({ isGone: false, keyDestroyed: true });
    endBucket();
  }
});

test("what somebody kept in a log leaves it soon after them, though nobody asks and nothing is written", async () => {
  fakeTime();
  const path = join(folder(), "data");
  const cluster = openEncrypted(path);
  await cluster.deploy(application);
  await fillWithCanary(cluster);
  const file = `00${cluster.bucketOf(`g:${NAME}`)}.sqlite`;
  const logs = ["keys", "buckets"].map((name) => join(path, name, `${file}-wal`));
  await pass(cluster, 30);
  const ends = ["keys", "buckets"].map((name) => reading(join(path, name, file)));
  await cluster.erase(`g:${NAME}`);
  await pass(cluster, 30);
  expect(logs.map((log) => readFileSync(log).length > 0)).toEqual([true, true]);
  for (const end of ends) end();
  await pass(cluster, 2);
  expect(logs.map((log) => readFileSync(log).length)).toEqual([0, 0]);
});
