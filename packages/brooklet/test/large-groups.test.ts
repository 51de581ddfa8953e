/**
 * Large groups over threads: split while they are written, they answer what one partition would; and killed in the middle of a split
 * (kill -9) nothing that was acknowledged is lost, and nothing is there twice. BROOKLET_KILLS raises the number of kills.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Writer } from "@brooklet/core";
import { type Cluster, searchOnce, type VisitPosition } from "@brooklet/partition";
import type { ThreadCluster } from "@brooklet/partition/threads";
import { expect, onTestFinished, test } from "vitest";
import { backUp } from "../src/backup/backup.ts";
import { BackupObjects } from "../src/backup/objects.ts";
import { folderTarget } from "../src/backup/target.ts";
import { int, open, schema, serve, text } from "../src/index.ts";
import { openDatabase } from "../src/node/database.ts";
import { sealing } from "../src/node/sealing.ts";
import { openCluster } from "../src/node/threads.ts";
import { memoryObjectStore } from "../src/object-store.ts";

const MINUTE_MS = 60_000;
const KILLS = Number(process.env["BROOKLET_KILLS"] ?? 4);
const KEY = "g:large";
const SCHEMA = `schema note { document note {
  field n type int { indexing: summary | attribute }
  field title type string { indexing: summary | index }
  field vector type tensor<float>(x[4]) {
    indexing: attribute
    attribute { distance-metric: euclidean }
  }
}
rank-profile near { inputs { query(q) tensor<float>(x[4]) }
  first-phase { expression: closeness(field, vector) } } }`;
const SERVICES = `<services version="1.0"><content id="note" version="1.0"><redundancy>1</redundancy><documents>
  <document type="note" mode="streaming"/></documents><nodes><node hostalias="n" distribution-key="0"/></nodes></content></services>`;
const encoder = new TextEncoder();
const decoder = new TextDecoder();
const killed = fileURLToPath(new URL("killed-splitter.mjs", import.meta.url));

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), "brooklet-large-"));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

async function opened(path?: string, threads = 2, shardBytes?: number): Promise<Cluster> {
  const problems: unknown[] = [];
  const options = { threads, buckets: 8, ...(shardBytes !== undefined && { shardBytes }) };
  const cluster = openCluster({
    ...(path !== undefined && { path }),
    ...options,
    onProblem: (problem) => problems.push(problem),
  });
  onTestFinished(() => cluster.close());
  onTestFinished(() => expect(problems).toEqual([]));
  if (cluster.application() === undefined) {
    const files = new Writer().varint(2).text("services.xml").text(SERVICES).text("schemas/note.sd").text(SCHEMA);
    await cluster.deploy(files.finish());
  }
  return cluster;
}

async function feed(cluster: Cluster, from: number, count: number): Promise<void> {
  async function* lines(): AsyncGenerator<Uint8Array> {
    for (let number = from; number < from + count; number += 1) {
      const vector = [number % 7, number % 11, number % 13, (number * 37) % 101];
      const fields = { n: number % 17, title: `river ${number} ${"stone ".repeat(number % 20)}`, vector };
      yield encoder.encode(`${JSON.stringify({ put: `id:x:note:g=large:${number}`, fields })}\n`);
    }
  }
  for await (const told of cluster.feed(lines(), { timeoutMs: MINUTE_MS }))
    for (const { outcome } of told) expect(outcome).toEqual({ status: 200 });
}

async function answerOf(cluster: Cluster, more: Readonly<Record<string, string>>): Promise<Record<string, unknown>> {
  const properties = Object.entries({ "streaming.groupname": "large", timeout: "60s", ...more });
  const { status, body } = await searchOnce(cluster, { properties, body: new Uint8Array() }, MINUTE_MS);
  expect(status).toBe(200);
  return JSON.parse(decoder.decode(body));
}

const QUERIES = [
  {
    yql: "select * from note where {targetHits: 20}nearestNeighbor(vector, q)",
    "input.query(q)": "[3, 5, 7, 50]",
    ranking: "near",
    hits: "20",
  },
  { yql: 'select * from note where title contains "stone" order by n desc', hits: "20" },
  { yql: "select * from note where true | all(group(n) max(20) each(output(count())))", hits: "0" },
];

/** The documents that a visit of everything shows, in its order. */
async function visited(cluster: Cluster): Promise<readonly { id: string; fields: { n: number } }[]> {
  const visit = { types: ["note"], namespace: "", selection: "", fieldSet: "note:n", tensorFormat: "", format: "json" };
  const documents: { id: string; fields: { n: number } }[] = [];
  for (let bucket = 0; bucket < cluster.buckets; bucket += 1) {
    let from: VisitPosition | undefined = { partition: 0, after: "" };
    while (from !== undefined) {
      const step = { bucket, from, documentsMax: 97, bytesMax: 1 << 20 };
      const page = await cluster.visit({ ...visit, format: "json" }, step, MINUTE_MS);
      documents.push(...JSON.parse(`[${decoder.decode(page.body)}]`));
      from = page.next;
    }
  }
  return documents;
}

test("a group over two threads answers what one partition does, grows by itself, and is read without threads too", async () => {
  const path = folder();
  const one = await opened(undefined, 0);
  const several = await opened(path, 2, 60_000);
  await feed(one, 0, 4_000);
  for (let from = 0; from < 4_000; from += 500) await feed(several, from, 500);
  const covered = async (cluster: Cluster): Promise<void> => {
    for (const query of QUERIES) expect(await answerOf(cluster, query)).toEqual(await answerOf(one, query));
    expect(await visited(cluster)).toEqual(await visited(one));
  };
  await (several as ThreadCluster).split(KEY);
  await covered(several);
  for (const shard of [0, 1]) await (several as ThreadCluster).split(shard === 0 ? KEY : `${KEY}\u0001${shard}`);
  for (const cluster of [one, several]) await feed(cluster, 3_900, 300);
  await covered(several);
  await several.close();
  await covered(await opened(path, 0));
});

test("killed in the middle of splits, nothing is lost and nothing is there twice", async () => {
  const path = folder();
  const first = await opened(path);
  await first.close();
  const known = new Map<number, { acknowledged: number; issued: Set<number> }>();
  let splits = 0;
  for (let round = 1; round <= KILLS; round += 1) {
    const child = spawn(process.execPath, [killed, path, String(round)], { stdio: ["ignore", "pipe", "inherit"] });
    let text = "";
    child.stdout.setEncoding("utf8").on("data", (part) => {
      text += part;
    });
    while (!text.includes("\n= ")) await once(child.stdout, "data");
    // In some lives after a split was committed, and in the next one.
    while (round % 2 === 0 && !text.includes("\ns\n")) await once(child.stdout, "data");
    // Somewhere in what it does next, later with each life.
    const lines = (): number => text.split("\n").length;
    const killedAt = lines() + 10 * round;
    while (lines() < killedAt) await once(child.stdout, "data");
    child.kill("SIGKILL");
    await once(child, "close");
    for (const line of text.split("\n").slice(0, -1)) {
      const [kind, number = 0, value = 0] = line.split(" ").map((word, at) => (at === 0 ? word : Number(word)));
      if (kind === "s") splits += 1;
      if (kind !== "+" && kind !== "=") continue;
      const of = known.get(Number(number)) ?? { acknowledged: 0, issued: new Set<number>() };
      known.set(Number(number), of);
      if (kind === "+") of.issued.add(Number(value));
      else [of.acknowledged, of.issued] = [Number(value), new Set([...of.issued].filter((one) => one > Number(value)))];
    }
    const cluster = await opened(path, round % 2 === 0 ? 2 : 0);
    const documents = await visited(cluster);
    expect(new Set(documents.map(({ id }) => id)).size).toBe(documents.length);
    const values = new Map(documents.map(({ id, fields }) => [Number(id.split(":").at(-1)), fields.n]));
    for (const [number, { acknowledged, issued }] of known) {
      const value = values.get(number) ?? 0;
      expect(value === acknowledged || issued.has(value), `${number}: ${value} after ${acknowledged}`).toBe(true);
    }
    const { root } = (await answerOf(cluster, { yql: "select * from note where true", hits: "0" })) as {
      root: { fields: { totalCount: number } };
    };
    expect(root.fields.totalCount).toBe(documents.length);
    if (round === KILLS) {
      await cluster.erase(KEY);
      expect(await visited(cluster)).toEqual([]);
    }
    await cluster.close();
  }
  expect(splits).toBeGreaterThan(0);
});

test("a database that is opened with shardBytes splits what is large while it is asked", async () => {
  const path = folder();
  const note = schema("note", { title: text(), n: int() });
  const db = await open({ path, schemas: [note], threads: 2, shardBytes: 60_000 });
  onTestFinished(() => db.close());
  const group = db.group("large");
  const documents = Array.from({ length: 4_000 }, (_, n) => ({
    id: String(n),
    fields: { title: `river ${n} ${"stone ".repeat(n % 20)}`, n },
  }));
  await group.feed(note, documents);
  const found = async (): Promise<unknown> => {
    const { hits, totalCount } = await group.search(note, { text: "stone", orderBy: "n desc", limit: 20 });
    return [totalCount, hits.map(({ id }) => id)];
  };
  const first = await found();
  // What has been split is copied with its shards.
  const objects = new BackupObjects(folderTarget(folder()), undefined);
  const copied = () => backUp({ directory: path, objects, openSql: openDatabase, isSealed: sealing() });
  await expect.poll(async () => (await copied()).shards, { interval: 500 }).toBeGreaterThan(1);
  expect(await found()).toEqual(first);
  expect(await group.count(note)).toBe(documents.length);
  // It is one group that is asked already: what would help is said.
  await expect(group.explain(note, "7", { text: "stone" })).rejects.toMatchObject({
    code: "UNSUPPORTED",
    message: expect.stringContaining("a group that has several shards; explain=true explains its hits"),
  });
});

test("a store has no shards, and says so", async () => {
  const refused = "shardBytes is of a data directory";
  const note = schema("note", { title: text() });
  await expect(open({ store: memoryObjectStore(), schemas: [note], shardBytes: 1 << 20 })).rejects.toThrow(refused);
  await expect(serve({ store: memoryObjectStore(), port: 0, shardBytes: 1 << 20 })).rejects.toThrow(refused);
});
