/**
 * A schema that is removed with its override: its documents are gone from every answer at once, and from the files in time,
 * wherever they stood, whoever looks, and whether or not a schema of that name comes again.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import type { LocalCluster } from "../src/local-cluster.ts";
import { searchOnce } from "../src/query/cluster-query.ts";
import { getNote, idOf, type Opened, openCore, packageOf, putNote, searchNotes } from "./core-setting.ts";
import { directory, folder } from "./setting.ts";

const NOTE =
  "schema note { document note { field title type string { indexing: summary | index } field size type long { indexing: summary | attribute } } }";
const LETTER = "schema letter { document letter { field text type string { indexing: summary | index } } }";
const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;
const decoder = new TextDecoder();

/** validation-overrides.xml that allows this until tomorrow. */
function allowing(...ids: readonly string[]): Record<string, string> {
  const until = new Date(Date.now() + DAY_MS).toISOString().slice(0, 10);
  const allowed = ids.map((id) => `<allow until="${until}">${id}</allow>`).join("");
  return { "validation-overrides.xml": `<validation-overrides>${allowed}</validation-overrides>` };
}

const both = packageOf({ note: NOTE, letter: LETTER });
const removed = packageOf({ letter: LETTER }, allowing("schema-removal"));

/** Documents in segments and in the tail of `alice`, in the tail alone of `bob`; some of each were removed. */
async function filled(path: string, documents = 300): Promise<Opened> {
  const opened = openCore(path);
  const { cluster } = opened;
  await cluster.deploy(both);
  const names = Array.from({ length: documents }, (_, at) => `n${at}`);
  const fields = (at: number): object => ({ title: `Confidential note ${at}`, size: at });
  await Promise.all(names.slice(0, 256).map((name, at) => putNote(cluster, "alice", name, fields(at))));
  await cluster.idle();
  for (const [at, name] of names.slice(256).entries()) await putNote(cluster, "alice", name, fields(256 + at));
  for (let at = 0; at < 10; at += 1) await putNote(cluster, "bob", `b${at}`, fields(at));
  await removeNote(cluster, "alice", "n3");
  await removeNote(cluster, "bob", "b3");
  return opened;
}

async function removeNote(cluster: LocalCluster, group: string, name: string): Promise<void> {
  const request = { kind: "remove", rawPath: "", id: idOf(name, group), create: false, condition: "" } as const;
  const outcome = await cluster.partition(`g:${group}`).apply({ ...request, body: new Uint8Array() }, MINUTE_MS);
  expect(outcome).toEqual({ status: 200 });
}

/** Everything of notes that a visit of all buckets shows, removes included. */
async function visited(cluster: LocalCluster): Promise<string> {
  const visit = { types: ["note"], namespace: "", selection: "", fieldSet: "", tensorFormat: "" } as const;
  let shown = "";
  for (let bucket = 0; bucket < cluster.buckets; bucket += 1) {
    const step = { bucket, from: { partition: 0, after: "" }, documentsMax: 10_000, bytesMax: 1e9 };
    const page = await cluster.visit({ ...visit, format: "jsonl", includeRemoves: true }, step, MINUTE_MS);
    shown += decoder.decode(page.body);
  }
  return shown;
}

/** What a search of all groups counts. */
async function counted(cluster: LocalCluster): Promise<number> {
  const properties = Object.entries({
    yql: "select * from note where true",
    "streaming.selection": "true",
    timeout: "60s",
  });
  const { body } = await searchOnce(cluster, { properties, body: new Uint8Array() }, MINUTE_MS);
  return JSON.parse(decoder.decode(body)).root.fields.totalCount;
}

/** Nothing of the notes is told in any way. */
async function expectGone(cluster: LocalCluster): Promise<void> {
  for (const [group, name] of [
    ["alice", "n1"],
    ["alice", "n299"],
    ["bob", "b1"],
  ] as const) {
    expect(await getNote(cluster, group, name)).toMatch(/^404 /);
    expect((await searchNotes(cluster, group, "select * from note where true")).total).toBe(0);
    expect((await searchNotes(cluster, group, 'select * from note where title contains "note"')).total).toBe(0);
    const partition = cluster.partition(`g:${group}`);
    const operation = { rawPath: "", id: idOf(name, group), create: false } as const;
    const update = new TextEncoder().encode('{"fields":{"size":{"assign":1}}}');
    const conditional = { ...operation, kind: "update", condition: "note.size >= 0", body: update } as const;
    expect((await partition.apply(conditional, MINUTE_MS)).status).toBe(412);
    // An update of what is not there writes nothing.
    expect((await partition.apply({ ...conditional, condition: "" }, MINUTE_MS)).status).toBe(200);
    const conditionalRemove = { ...operation, kind: "remove", condition: "note", body: new Uint8Array() } as const;
    expect((await partition.apply(conditionalRemove, MINUTE_MS)).status).toBe(412);
    expect(await getNote(cluster, group, name)).toMatch(/^404 /);
  }
  expect(await visited(cluster)).toBe("");
  expect(await counted(cluster)).toBe(0);
}

/** All bytes of the files below a directory. */
function bytesOf(path: string): string {
  const files = readdirSync(path, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return files.map((entry) => readFileSync(join(entry.parentPath, entry.name)).toString("latin1")).join("");
}

for (const documents of [300, 10]) {
  test(`of ${documents} documents of a schema that was removed and comes again there is none`, async () => {
    const path = join(folder(), "data");
    const { cluster, problems } = await filled(path, documents);
    expect(await counted(cluster)).toBe(documents - 1 + 9);
    await cluster.deploy(removed);
    expect((await searchNotes(cluster, "alice", "select * from sources * where true")).total).toBe(0);
    await cluster.deploy(both);
    await expectGone(cluster);
    await putNote(cluster, "alice", "n1", { title: "New" });
    expect(await counted(cluster)).toBe(1);
    expect(JSON.parse((await visited(cluster)).trim())).toEqual({ put: idOf("n1", "alice"), fields: { title: "New" } });
    await cluster.idle();
    await cluster.close();

    const again = openCore(path);
    expect(await counted(again.cluster)).toBe(1);
    expect(await getNote(again.cluster, "alice", "n2")).toMatch(/^404 /);
    expect([...problems, ...again.problems]).toEqual([]);
  });
}

test("a schema that comes back after a restart comes back empty", async () => {
  const path = join(folder(), "data");
  const { cluster } = await filled(path);
  await cluster.deploy(removed);
  await cluster.close();
  const again = openCore(path).cluster;
  await again.deploy(both);
  await expectGone(again);
});

test("what was removed leaves the files within a minute, where nobody looks as well", async () => {
  const path = join(folder(), "data");
  const { cluster } = await filled(path);
  await cluster.deploy(removed);
  await cluster.deploy(both);
  await cluster.close();
  expect(bytesOf(path)).toContain("Confidential");
  expect(bytesOf(path)).toContain("g=bob:b1");

  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval", "performance"] });
  onTestFinished(() => void vi.useRealTimers());
  const { cluster: again, problems } = openCore(path);
  for (let second = 0; second < 60; second += 1) {
    vi.advanceTimersByTime(1_000);
    await again.idle();
  }
  const left = bytesOf(path);
  expect(left).not.toContain("Confidential");
  expect(left).not.toContain("g=bob:b");
  expect(left).not.toContain("g=alice:n");
  expect(problems).toEqual([]);
});

test("a bucket that holds nothing that is gone is not kept open", async () => {
  const path = join(folder(), "data");
  const { cluster } = await filled(path, 10);
  await cluster.close();
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval", "performance"] });
  onTestFinished(() => void vi.useRealTimers());
  const { cluster: again } = openCore(path);
  for (let second = 0; second < 20; second += 1) {
    vi.advanceTimersByTime(1_000);
    await again.idle();
  }
  expect(readdirSync(join(path, "buckets")).filter((name) => name.endsWith("-wal"))).toEqual([]);
});

test("what an earlier release deployed and wrote is there, and goes like all else", async () => {
  const path = join(folder(), "data");
  const storage = directory(path);
  storage.storeApplication({ number: 7, bytes: both });
  storage.close();
  const { cluster } = openCore(path);
  await putNote(cluster, "alice", "folded", { title: "Old", size: 1 });
  await cluster.maintain("g:alice");
  await putNote(cluster, "alice", "recent", { title: "Old", size: 2 });
  await putNote(cluster, "alice", "n2", { title: "Old" });
  await removeNote(cluster, "alice", "n2");
  const { warnings } = await cluster.deploy(both);
  expect(warnings).toEqual([]);
  await cluster.close();

  const { cluster: again } = openCore(path);
  expect(await counted(again)).toBe(2);
  const more = LETTER.replaceAll("letter", "more");
  await again.deploy(packageOf({ note: NOTE, letter: LETTER, more }));
  expect(await counted(again)).toBe(2);
  expect(await visited(again)).toContain(`{"remove":"${idOf("n2", "alice")}"}`);
  await again.deploy(packageOf({ letter: LETTER, more }, allowing("schema-removal")));
  const back = packageOf({ note: NOTE, letter: LETTER }, allowing("schema-removal"));
  await again.deploy(back);
  await expectGone(again);
});

test("a document type that moves to another cluster is removed in the one before", async () => {
  const { cluster } = await filled(join(folder(), "data"), 10);
  const services = (notes: string): string =>
    `<services version="1.0">${[notes, "other"]
      .map((id, at) => {
        const type = at === 0 ? "note" : "letter";
        return `<content id="${id}" version="1.0"><redundancy>1</redundancy><documents><document type="${type}" mode="streaming"/></documents></content>`;
      })
      .join("")}</services>`;
  const schemas = { note: NOTE, letter: LETTER };
  const moved = (files: Record<string, string>): Promise<unknown> =>
    cluster.deploy(packageOf(schemas, { "services.xml": services("all"), ...files }));
  await expect(moved({})).rejects.toThrow(
    "schema-removal: Schema 'letter' is removed in content cluster 'all'. This will cause loss of all data in this schema. To allow this add <allow until='yyyy-mm-dd'>schema-removal</allow> to validation-overrides.xml",
  );
  await moved(allowing("schema-removal"));
  expect(await counted(cluster)).toBe(18);
  const renamed = (files: Record<string, string>): Promise<unknown> =>
    cluster.deploy(packageOf(schemas, { "services.xml": services("renamed"), ...files }));
  await expect(renamed(allowing("schema-removal"))).rejects.toThrow(
    "content-cluster-removal: Content cluster 'all' is removed. This will cause loss of all data in this cluster",
  );
  await renamed(allowing("content-cluster-removal"));
  await expectGone(cluster);
});
