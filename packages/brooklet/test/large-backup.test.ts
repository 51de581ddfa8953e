/**
 * Backups of a group that is spread over shards while it is written (T16): each is restored, and is what the group was at one moment, no
 * document lost and none there twice. BROOKLET_BACKUPS makes more of them. The sabotage, buckets that are each read at another moment, has to be seen.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { ThreadCluster } from "@brooklet/partition/threads";
import { applicationIn, BucketMoment, backupsOf, bucketsIn, fillBucket, restoreDirectory } from "@brooklet/store/node";
import { expect, test } from "vitest";
import { type BackupReport, backUp } from "../src/backup/backup.ts";
import { manifestName, objectsOf } from "../src/backup/manifest.ts";
import { BackupObjects } from "../src/backup/objects.ts";
import { backupsIn, restore } from "../src/backup/restore.ts";
import { folderTarget } from "../src/backup/target.ts";
import { openDatabase } from "../src/node/database.ts";
import { sealing } from "../src/node/sealing.ts";
import { answerOf, deployed, folder, KEY, opened, visited } from "./large-setting.ts";
import { type Documents, SpreadWriting } from "./spread-writing.ts";

const BACKUPS = Number(process.env["BROOKLET_BACKUPS"] ?? 4);
const isSealed = sealing();
const program = fileURLToPath(new URL("../dist/cli.js", import.meta.url));

const QUERIES = [
  'select * from note where title contains "stone" order by n desc',
  'select * from note where title contains "river" order by title, n',
  "select * from note where true | all(group(writer) max(20) each(output(count())))",
];

/** What a directory has of each writer. Throws where a document is there twice, or is counted by no search. */
async function copyIn(path: string): Promise<Map<number, Documents>> {
  const cluster = await opened(path);
  try {
    const documents = await visited(cluster);
    expect(new Set(documents.map(({ id }) => id)).size).toBe(documents.length);
    expect((await answerOf(cluster, "select * from note where true")).root.fields.totalCount).toBe(documents.length);
    const copy = new Map<number, Map<number, number>>();
    for (const { id, fields } of documents) {
      const of = copy.get(fields.writer) ?? new Map<number, number>();
      copy.set(fields.writer, of.set(Number(id.split("-").at(-1)), fields.n));
    }
    return copy;
  } finally {
    await cluster.close();
  }
}

/** Splits that come one after the other, each some time after the one before. */
function splitsOf(seed: number): (readonly [number, number])[] {
  return [0, 0, 1, 2, 0, 3, 1, 5].map((shard, at) => [shard, 60 + ((seed * 37 + at * 91) % 240)]);
}

test("backups while a group is written and spread, each restored and compared", {
  timeout: 600_000 + BACKUPS * 20_000,
}, async () => {
  const [data, kept] = [await deployed(), folder()];
  const objects = new BackupObjects(folderTarget(kept), "a key of sixteen characters or more");
  const reports: BackupReport[] = [];
  let splits = 0;
  const PER_PROCESS = 4;
  for (let round = 0; round < BACKUPS; round += PER_PROCESS) {
    // Every other process erases the group now and then.
    const writing = new SpreadWriting(data, {
      splits: splitsOf(round),
      ...((round / PER_PROCESS) % 2 === 1 && { erases: 250 }),
    });
    // What was there before is not known to the writers of a new process.
    await writing.until(() => writing.steps > 0);
    if (round > 0) await writing.until(() => [...writing.acknowledged().values()].every((step) => step > 0));
    for (let at = 0; at < PER_PROCESS; at += 1) {
      const goal = writing.steps + 150 + ((at * 77) % 200);
      await writing.until(() => writing.steps >= goal);
      const before = writing.acknowledged();
      reports.push(await backUp({ directory: data, objects, openSql: openDatabase, isSealed }));
      const path = join(folder(), "restored");
      const restored = await restore({ objects, path, openSql: openDatabase, isSealed });
      expect(restored.shards).toBe(reports.at(-1)?.shards);
      expect(await writing.faults(await copyIn(path), before)).toEqual([]);
    }
    await writing.end();
    expect(writing.problems).toEqual([]);
    splits += writing.splits;
    const cluster = await opened(data);
    await cluster.erase(KEY);
    await cluster.close();
  }
  expect(splits).toBeGreaterThan(0);
  // Else nothing of it was tried.
  expect(Math.max(...reports.map(({ shards }) => shards))).toBeGreaterThan(1);
  expect(Math.max(...reports.map((report) => report.kept))).toBeGreaterThan(0);
});

/** A copy of a directory whose buckets are each read at another moment, with all that is noted in them. */
async function copiedOneByOne(data: string, writing: SpreadWriting): Promise<string> {
  const path = join(folder(), "copied");
  const buckets = bucketsIn(data);
  await restoreDirectory(path, openDatabase, {
    buckets,
    application: applicationIn(data),
    fill: async (sql, identity) => {
      const goal = writing.steps + 10;
      await writing.until(() => writing.steps >= goal);
      const moment = new BucketMoment(data, identity, openDatabase);
      fillBucket(sql, identity, { ...moment.rows(), noted: moment.noted }, (segment) => moment.blocks(segment));
      moment.close();
    },
  });
  return path;
}

test("the sabotage: buckets that are each read at another moment are seen to be no moment of the group", async () => {
  const data = await deployed();
  const writing = new SpreadWriting(data, { splits: splitsOf(1) });
  await writing.until(() => writing.splits > 0);
  const faults: string[] = [];
  for (let attempt = 0; attempt < 20 && faults.length === 0; attempt += 1) {
    const before = writing.acknowledged();
    const path = await copiedOneByOne(data, writing);
    // It may be that it cannot be read at all.
    const copy = await copyIn(path).catch((error: unknown) => void faults.push(String(error)));
    if (copy !== undefined) faults.push(...(await writing.faults(copy, before)));
  }
  await writing.end();
  expect(faults.length).toBeGreaterThan(0);
});

test("what is restored answers to the bit, is spread further, and is erased whole", async () => {
  const data = await deployed();
  const writing = new SpreadWriting(data, { splits: splitsOf(2).slice(0, 3) });
  await writing.until(() => writing.splits >= 2 && writing.steps > 300);
  await writing.end();
  expect(writing.problems).toEqual([]);
  const objects = new BackupObjects(folderTarget(folder()), undefined);
  const { shards, largeGroups } = await backUp({ directory: data, objects, openSql: openDatabase, isSealed });
  expect(largeGroups).toBe(1);
  expect(shards).toBeGreaterThan(2);
  const path = join(folder(), "restored");
  expect(await restore({ objects, path, openSql: openDatabase, isSealed })).toMatchObject({ shards, largeGroups });
  const [one, other] = [await opened(data), await opened(path, 2)];
  const compared = async (): Promise<void> => {
    for (const yql of QUERIES) expect(await answerOf(other, yql)).toEqual(await answerOf(one, yql));
    expect(await visited(other)).toEqual(await visited(one));
  };
  await compared();
  await (other as ThreadCluster).split(KEY);
  await (other as ThreadCluster).split(`${KEY}\u00011`);
  await compared();
  await other.erase(KEY);
  expect(await visited(other)).toEqual([]);
});

test("a backup that is killed leaves what was there, and the next one removes what it left", async () => {
  const [data, kept] = [await deployed(), folder()];
  const writing = new SpreadWriting(data, { splits: splitsOf(3).slice(0, 2) });
  await writing.until(() => writing.splits >= 1 && writing.steps > 200);
  const objects = new BackupObjects(folderTarget(kept), undefined);
  const make = (isTakenOver = false) =>
    backUp({ directory: data, objects, openSql: openDatabase, isSealed, isTakenOver });
  const first = await make();
  const stored = (): string[] => readdirSync(join(kept, "objects"));
  let left = 0;
  for (let attempt = 0; attempt < 20 && left === 0; attempt += 1) {
    const before = new Set(stored());
    const child = spawn(process.execPath, [program, "backup", data, kept, "--take-over"], { stdio: "ignore" });
    // As soon as anything of it is there.
    while (child.exitCode === null && stored().every((name) => before.has(name) || name.includes(".new")))
      await new Promise((done) => setTimeout(done, 1));
    child.kill("SIGKILL");
    if (child.exitCode === null) await once(child, "close");
    if (existsSync(join(kept, "unfinished"))) left = readdirSync(join(kept, "unfinished")).length;
  }
  expect(left).toBeGreaterThan(0);
  expect((await backupsIn(objects)).map(({ id }) => id)).toContain(first.id);
  // Who erases is told of it: it may have the group, until it is removed.
  const listed = new Set((await backupsIn(objects)).map(({ id }) => id));
  expect(backupsOf(data).some(({ id }) => !listed.has(id))).toBe(true);
  const path = join(folder(), "restored");
  await restore({ objects, path, openSql: openDatabase, isSealed, id: first.id });
  const before = writing.acknowledged();
  await expect(make()).rejects.toThrow("there is one at a time");
  await make(true);
  await writing.end();
  expect(readdirSync(join(kept, "unfinished"))).toEqual([]);
  const known = await backupsIn(objects);
  expect(backupsOf(data).map(({ id }) => id)).toEqual(known.map(({ id }) => id));
  const named = new Set<string>();
  for (const { id } of known) {
    const manifest = await objects.value<Parameters<typeof objectsOf>[0]>(manifestName(id));
    if (manifest !== undefined) for (const name of objectsOf(manifest)) named.add(name);
  }
  expect(new Set(stored().map((name) => `objects/${name}`))).toEqual(named);
  const again = join(folder(), "restored");
  await restore({ objects, path: again, openSql: openDatabase, isSealed });
  expect(await writing.faults(await copyIn(again), before)).toEqual([]);
});
