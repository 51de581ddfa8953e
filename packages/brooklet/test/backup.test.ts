/**
 * Backups under writers, each restored and compared with what was written (T16). A backup is a prefix of what each group was written:
 * all that was acknowledged before it began, nothing that was never issued, and no holes. BROOKLET_BACKUPS makes more of them. The
 * sabotage, a file that is copied without its log, has to be seen.
 */
import { execFile } from "node:child_process";
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { backupsOf, DataDirectory, forgetBackups, noteBackup } from "@brooklet/store/node";
import { expect, onTestFinished, test } from "vitest";
import { backUp } from "../src/backup/backup.ts";
import { type Manifest, manifestName, objectsOf } from "../src/backup/manifest.ts";
import { BackupObjects } from "../src/backup/objects.ts";
import { backupsIn, restore } from "../src/backup/restore.ts";
import { type BackupTarget, folderTarget } from "../src/backup/target.ts";
import { type Database, open } from "../src/index.ts";
import { openDatabase } from "../src/node/database.ts";
import {
  filled,
  folder,
  GROUPS,
  isSealed,
  KEY,
  killedAt,
  namedIn,
  note,
  noteOf,
  notesOf,
  PAGE,
  REST,
} from "./backup-setting.ts";

const BACKUPS = Number(process.env["BROOKLET_BACKUPS"] ?? 4);

/** What each group is written between two backups. */
const STEPS = 60;

/** Each group of a filled directory has one writer, which goes on with its notes; every third is put twice, so that there is something to fold. */
class Writers {
  readonly #database: Database;
  readonly acknowledged = new Map<string, number>(GROUPS.map((group) => [group, PAGE + REST - 1]));
  readonly issued = new Map<string, number>(this.acknowledged);
  readonly #writing: Promise<unknown>;
  #isOver = false;

  constructor(database: Database) {
    this.#database = database;
    this.#writing = Promise.all(GROUPS.map((group) => this.#write(group)));
  }

  /** Waits until each group has that many more notes, or a writer has failed. */
  async write(steps: number): Promise<void> {
    const goals = GROUPS.map((group) => (this.acknowledged.get(group) ?? 0) + steps);
    const isThere = (): boolean => GROUPS.every((group, at) => (this.acknowledged.get(group) ?? 0) >= (goals[at] ?? 0));
    while (!isThere()) await Promise.race([this.#writing, new Promise((done) => setTimeout(done, 10))]);
  }

  async end(): Promise<void> {
    this.#isOver = true;
    await this.#writing;
  }

  async #write(group: string): Promise<void> {
    for (let step = PAGE + REST; !this.#isOver; step += 1) {
      this.issued.set(group, step);
      await this.#database.group(group).put(note, `n${step}`, noteOf(group, step));
      if (step % 3 === 0) await this.#database.group(group).put(note, `n${step}`, noteOf(group, step));
      this.acknowledged.set(group, step);
      await new Promise((done) => setTimeout(done, 2));
    }
  }
}

test("backups under writers, each restored and compared", { timeout: 600_000 + BACKUPS * 10_000 }, async () => {
  const [data, kept] = [await filled(), folder()];
  const objects = new BackupObjects(folderTarget(kept), KEY);
  const database = await open({ path: data, schemas: [note], threads: 1 });
  const writers = new Writers(database);
  const reached = { segments: 0, operations: 0, kept: 0 };
  for (let round = 0; round < BACKUPS; round += 1) {
    await writers.write(STEPS);
    const before = new Map(writers.acknowledged);
    const report = await backUp({ directory: data, objects, openSql: openDatabase, isSealed });
    const after = new Map(writers.issued);
    reached.segments += report.segments;
    reached.operations += report.operations;
    reached.kept += report.kept;
    const path = join(folder(), "restored");
    expect(await restore({ objects, path, openSql: openDatabase, isSealed })).toMatchObject({ id: report.id });
    const found = await notesOf(path);
    for (const group of GROUPS) {
      expect(found.get(group)).toBeGreaterThan(before.get(group) ?? 0);
      expect(found.get(group)).toBeLessThanOrEqual((after.get(group) ?? 0) + 1);
    }
  }
  await writers.end();
  await database.close();
  expect(await backupsIn(objects)).toHaveLength(BACKUPS);
  expect(reached.segments).toBeGreaterThan(0);
  expect(reached.operations).toBeGreaterThan(0);
  // Nothing of a document is readable without the key.
  const stored = readdirSync(join(kept, "objects")).map((name) => readFileSync(join(kept, "objects", name)));
  expect(stored.some((bytes) => bytes.includes("of alice"))).toBe(false);
});

test("only what is new is stored, and what is too old is removed", async () => {
  const [data, kept] = [await filled(), folder()];
  const objects = new BackupObjects(folderTarget(kept), undefined);
  const make = (keepDays?: number) =>
    backUp({ directory: data, objects, openSql: openDatabase, isSealed, ...(keepDays !== undefined && { keepDays }) });
  const first = await make(1e-9);
  expect(first.segments).toBeGreaterThan(0);
  expect(first.kept).toBe(0);
  const before = readdirSync(join(kept, "objects")).length;
  // Its time is over, and it is there.
  await restore({ objects, path: join(folder(), "restored"), openSql: openDatabase, isSealed });
  const { id, takenAt, expiresAt } = first;
  expect(backupsOf(data)).toEqual([{ id, takenAt, expiresAt, target: kept }]);
  const second = await make();
  expect(second.kept).toBe(second.segments);
  expect(second.removed).toEqual([first.id]);
  expect((await backupsIn(objects)).map(({ id }) => id)).toEqual([second.id]);
  // The same rows and segments are the same objects.
  expect(readdirSync(join(kept, "objects")).length).toBe(before);
  for (const threads of [1, false] as const) {
    const database = await open({ path: data, schemas: [note], threads });
    const { backups } = await database.group(threads === 1 ? "alice" : "bob").erase();
    expect(backups).toEqual([{ id: second.id, takenAt: new Date(second.takenAt) }]);
    await database.close();
  }
  const path = join(folder(), "restored");
  await restore({ objects, path, openSql: openDatabase, isSealed });
  expect(await notesOf(path)).toEqual(new Map(GROUPS.map((group) => [group, PAGE + 50])));
  // A link to nothing is something, too.
  const link = join(folder(), "link");
  symlinkSync(join(link, "nothing"), link);
  for (const taken of [path, link])
    await expect(restore({ objects, path: taken, openSql: openDatabase, isSealed })).rejects.toThrow(
      "is there already",
    );
});

test("a backup that is kept until a year of five digits is kept", async () => {
  const of = { directory: await filled(), openSql: openDatabase, isSealed };
  const objects = new BackupObjects(folderTarget(folder()), undefined);
  const first = await backUp({ ...of, objects, keepDays: 4_000_000 });
  const second = await backUp({ ...of, objects });
  expect(second.removed).toEqual([]);
  expect((await backupsIn(objects)).map(({ id }) => id)).toEqual([first.id, second.id]);
});

test("what was stored of a group that is erased is gone with the last backup that has it, though others have its neighbours", async () => {
  const [data, kept] = [join(folder(), "data"), folder()];
  // All in one bucket, so that what is stored of them is one object.
  DataDirectory.open(data, openDatabase, 1).close();
  const database = await open({ path: data, schemas: [note] });
  for (const group of GROUPS) {
    const fed = Array.from({ length: PAGE }, (_, step) => ({ id: `n${step}`, fields: noteOf(group, step) }));
    expect(await database.group(group).feed(note, fed)).toMatchObject({ applied: PAGE });
  }
  const objects = new BackupObjects(folderTarget(kept), undefined);
  const make = (keepDays?: number) =>
    backUp({ directory: data, objects, openSql: openDatabase, isSealed, ...(keepDays !== undefined && { keepDays }) });
  const first = await make(1);
  const [part] = (await objects.value<Manifest>(manifestName(first.id)))?.buckets ?? [];
  const places = Object.values(part?.segments ?? {}).map(({ object }) => object);
  expect(new Set(places).size).toBe(1);
  await database.group("alice").erase();
  const second = await make(1e-9);
  expect(second.kept).toBe(0);
  // The first goes, as if its day were over.
  const list = (await backupsIn(objects)).map((entry) => ({ ...entry, expiresAt: new Date(0).toISOString() }));
  await objects.relist(() => list);
  const third = await make();
  expect(third.removed).toEqual([first.id, second.id]);
  expect(places.filter((object) => existsSync(join(kept, object)))).toEqual([]);
  await database.close();
});

test("copies of a directory that are written on are backed up to one target, and what one erases is not in what the other has", async () => {
  const [data, kept] = [join(folder(), "data"), folder()];
  const feed = async (path: string, groups: readonly string[]): Promise<void> => {
    const database = await open({ path, schemas: [note] });
    for (const group of groups) {
      const fed = Array.from({ length: PAGE }, (_, step) => ({ id: `n${step}`, fields: noteOf(group, step) }));
      expect(await database.group(group).feed(note, fed)).toMatchObject({ applied: PAGE });
    }
    await database.close();
  };
  DataDirectory.open(data, openDatabase, 1).close();
  await feed(data, ["alice"]);
  const copy = join(folder(), "copy");
  cpSync(data, copy, { recursive: true });
  // The same number in both is another group.
  await feed(data, ["bob"]);
  await feed(copy, ["carol"]);
  const objects = new BackupObjects(folderTarget(kept), undefined);
  const of = { objects, openSql: openDatabase, isSealed };
  const first = await backUp({ ...of, directory: data });
  const manifest = (await objects.value<Manifest>(manifestName(first.id))) as Manifest;
  const others = await backUp({ ...of, directory: copy });
  expect((await backUp({ ...of, directory: copy })).kept).toBe(others.segments);
  const database = await open({ path: data, schemas: [note] });
  expect((await database.group("bob").erase()).backups?.map(({ id }) => id)).toEqual([first.id]);
  await database.close();
  const list = (await backupsIn(objects)).map((entry) =>
    entry.id === first.id ? { ...entry, expiresAt: new Date(0).toISOString() } : entry,
  );
  await objects.relist(() => list);
  expect(await backUp({ ...of, directory: data })).toMatchObject({ removed: [first.id] });
  const left = new Set(await folderTarget(kept).names("objects"));
  expect([...objectsOf(manifest)].filter((object) => left.has(object))).toEqual([manifest.application]);
});

test("who erases a group while a backup is made is told of that backup", async () => {
  const data = await filled();
  const database = await open({ path: data, schemas: [note] });
  onTestFinished(() => database.close());
  const folderOf = folderTarget(folder());
  const told: unknown[] = [];
  const target: BackupTarget = {
    ...folderOf,
    put: async (name, bytes) => {
      // All of it is read by then.
      if (name.startsWith("manifests/")) told.push(...((await database.group("alice").erase()).backups ?? []));
      await folderOf.put(name, bytes);
    },
  };
  const objects = new BackupObjects(target, undefined);
  const { id, takenAt } = await backUp({ directory: data, objects, openSql: openDatabase, isSealed });
  expect(told).toEqual([{ id, takenAt: new Date(takenAt) }]);
  // One that fails is none.
  const failing = { ...folderOf, put: () => Promise.reject(new Error("no room")) };
  const refused = { directory: data, objects: new BackupObjects(failing, undefined), openSql: openDatabase, isSealed };
  await expect(backUp(refused)).rejects.toThrow("no room");
  expect((await database.group("bob").erase()).backups?.map((backup) => backup.id)).toEqual([id]);
});

test("who erases a group in a restored directory is told of the backups that it was made of, and of those since", async () => {
  const [data, stranger, path] = [await filled(), await filled(), join(folder(), "restored")];
  const target = folderTarget(folder());
  const objects = new BackupObjects(target, KEY);
  const of = { objects, openSql: openDatabase, isSealed };
  const first = await backUp({ ...of, directory: data });
  await backUp({ ...of, directory: stranger });
  const second = await backUp({ ...of, directory: data });
  const gone = await backUp({ ...of, directory: data });
  await target.remove(manifestName(gone.id));
  const later = await backUp({ ...of, directory: data });
  const manifest = (await objects.value<Manifest>(manifestName(later.id))) as Manifest;
  await objects.write(manifestName(later.id), { ...manifest, version: 99 });
  await restore({ ...of, path, id: first.id });
  const told = async (group: string): Promise<readonly string[] | undefined> => {
    const database = await open({ path, schemas: [note] });
    const { backups } = await database.group(group).erase();
    await database.close();
    return backups?.map(({ id }) => id);
  };
  // Of one that cannot be read nobody knows that it has not.
  expect(await told("alice")).toEqual([first.id, second.id, later.id]);
  await objects.write(manifestName(later.id), manifest);
  await objects.relist<{ id: string }>((list) => list.filter(({ id }) => id !== second.id));
  const own = await backUp({ ...of, directory: path });
  expect(await told("bob")).toEqual([first.id, later.id, own.id]);
  const again = await backUp({ ...of, directory: path });
  await restore({ ...of, path: join(folder(), "again"), id: again.id });
  expect((await backUp({ ...of, directory: path })).kept).toBe(again.segments);
});

test("a restored directory knows backups in other targets, and those of what was restored before it", async () => {
  const [data, path, last] = [await filled(), join(folder(), "restored"), join(folder(), "last")];
  const [near, far] = [folder(), folder()].map((place) => new BackupObjects(folderTarget(place), KEY));
  if (near === undefined || far === undefined) throw new Error("no targets");
  const of = { openSql: openDatabase, isSealed };
  const first = await backUp({ ...of, objects: near, directory: data });
  const gone = await backUp({ ...of, objects: far, directory: data, keepDays: 1e-9 });
  const second = await backUp({ ...of, objects: far, directory: data });
  const third = await backUp({ ...of, objects: near, directory: data });
  expect(second.removed).toEqual([gone.id]);
  await restore({ ...of, objects: near, path, id: first.id });
  const idsIn = (directory: string): readonly string[] => backupsOf(directory).map(({ id }) => id);
  expect(idsIn(path)).toEqual([first.id, second.id, third.id]);
  const own = await backUp({ ...of, objects: near, directory: path });
  // What another target has no more is known until a backup to it finds that out.
  await far.relist<{ id: string }>((list) => list.filter(({ id }) => id !== second.id));
  await restore({ ...of, objects: near, path: last });
  expect(idsIn(last)).toEqual([first.id, second.id, third.id, own.id]);
  const fresh = await backUp({ ...of, objects: far, directory: last });
  const database = await open({ path: last, schemas: [note] });
  const { backups } = await database.group("alice").erase();
  await database.close();
  expect(backups?.map(({ id }) => id)).toEqual([first.id, third.id, own.id, fresh.id]);
});

test("what is changed in a target, or encrypted with another key, is not restored, and leaves nothing", async () => {
  const [data, kept] = [await filled(), folder()];
  const objects = new BackupObjects(folderTarget(kept), KEY);
  await backUp({ directory: data, objects, openSql: openDatabase, isSealed });
  const path = join(folder(), "restored");
  const restored = (key: string | undefined = KEY) =>
    restore({ objects: new BackupObjects(folderTarget(kept), key), path, openSql: openDatabase, isSealed });
  await expect(restored("another key of enough characters")).rejects.toThrow("encrypted with another key");
  await expect(
    restore({ objects: new BackupObjects(folderTarget(kept), undefined), path, openSql: openDatabase, isSealed }),
  ).rejects.toThrow("give its key");
  for (const name of readdirSync(join(kept, "objects"))) {
    const file = join(kept, "objects", name);
    const content = readFileSync(file);
    const changed = Buffer.from(content);
    changed.writeUInt8(changed.readUInt8(changed.length >> 1) ^ 1, changed.length >> 1);
    writeFileSync(file, changed);
    await expect(restored()).rejects.toThrow("is not what was stored");
    rmSync(file);
    await expect(restored()).rejects.toThrow("is missing");
    writeFileSync(file, content);
    expect(readdirSync(dirname(path))).toEqual([]);
  }
  await restored();
  expect((await notesOf(path)).get("bob")).toBe(PAGE + 50);
});

test("what a later release backed up is refused in a sentence, to be restored and to be gone on from", async () => {
  const [data, kept] = [await filled(), folder()];
  const objects = new BackupObjects(folderTarget(kept), undefined);
  const of = { objects, openSql: openDatabase, isSealed };
  const { id } = await backUp({ ...of, directory: data });
  const manifest = await objects.value<Manifest>(manifestName(id));
  const refused = async (what: string): Promise<void> => {
    const words = `${what} is of a later release of brooklet`;
    await expect(restore({ ...of, path: join(kept, "restored") })).rejects.toThrow(words);
    await expect(backUp({ ...of, directory: data })).rejects.toThrow(words);
    expect((await folderTarget(kept).names("manifests")).length).toBe(1);
  };
  await objects.write(manifestName(id), { ...manifest, version: 3 });
  await refused(id);
  for (const name of [manifestName(id), "backups"]) {
    const bytes = readFileSync(join(kept, name));
    bytes[4] = 3;
    writeFileSync(join(kept, name), bytes);
    await refused(name);
  }
});

test("of two restorations to one path the second is refused, and the first is whole", async () => {
  const [target, path] = [folderTarget(folder()), join(folder(), "restored")];
  const of = { path, openSql: openDatabase, isSealed };
  await backUp({ ...of, directory: await filled(), objects: new BackupObjects(target, KEY) });
  // One that was killed left what nobody needs.
  mkdirSync(`${path}.restoring`);
  writeFileSync(join(`${path}.restoring`, "secret"), "short");
  let second: Promise<unknown> | undefined;
  const get: BackupTarget["get"] = async (name) => {
    if (name.startsWith("objects/") && existsSync(join(`${path}.restoring`, "buckets", "001.sqlite")))
      second ??= restore({ ...of, objects: new BackupObjects(target, KEY) }).catch((error: unknown) => error);
    await second;
    return await target.get(name);
  };
  await restore({ ...of, objects: new BackupObjects({ ...target, get }, KEY) });
  expect(await second).toMatchObject({ kind: "busy" });
  expect(await notesOf(path)).toEqual(new Map(GROUPS.map((group) => [group, PAGE + REST])));
});

test("a restoration that is ended, or cannot begin, leaves nothing beside its path", async () => {
  const [data, kept, place] = [await filled(), folderTarget(folder()), folder()];
  const objects = new BackupObjects(kept, undefined);
  await backUp({ directory: data, objects, openSql: openDatabase, isSealed });
  const ending = new AbortController();
  const get = async (name: string): Promise<Uint8Array | undefined> => {
    // Something of it is there.
    if (existsSync(join(place, "restored.restoring", "buckets", "001.sqlite")))
      ending.abort(new Error("that is enough"));
    return await kept.get(name);
  };
  const of = { path: join(place, "restored"), openSql: openDatabase, isSealed };
  const slow = new BackupObjects({ ...kept, get }, undefined);
  await expect(restore({ ...of, objects: slow, signal: ending.signal })).rejects.toThrow("that is enough");
  expect(readdirSync(place)).toEqual([]);
  let isFull = true;
  const openSql: typeof openDatabase = (path) => {
    if (!isFull) return openDatabase(path);
    isFull = false;
    throw new Error("no room");
  };
  await expect(restore({ ...of, objects, openSql })).rejects.toThrow("no room");
  expect(readdirSync(place)).toEqual([]);
});

test("what a folder cannot take leaves nothing there", async () => {
  const place = folder();
  mkdirSync(join(place, "taken", "by a folder"), { recursive: true });
  await expect(folderTarget(place).put("taken", new Uint8Array([1]))).rejects.toThrow();
  expect(readdirSync(place)).toEqual(["taken"]);
});

test("what is gone from a target is stored again by the next backup", async () => {
  const [data, kept] = [await filled(), folder()];
  const objects = new BackupObjects(folderTarget(kept), undefined);
  const of = { directory: data, objects, openSql: openDatabase, isSealed };
  await backUp(of);
  rmSync(join(kept, "objects"), { recursive: true });
  const second = await backUp(of);
  expect(second.kept).toBe(0);
  await restore({ objects, path: join(folder(), "restored"), openSql: openDatabase, isSealed });
  const third = await backUp(of);
  expect(third.kept).toBe(third.segments);
});

test("a backup whose manifest is gone is no obstacle to those after it, which say so", async () => {
  const [data, kept] = [await filled(), folder()];
  const objects = new BackupObjects(folderTarget(kept), undefined);
  const make = (keepDays?: number) =>
    backUp({ directory: data, objects, openSql: openDatabase, isSealed, ...(keepDays !== undefined && { keepDays }) });
  const [lost, lostToo, over] = [await make(), await make(), await make(1e-9)];
  for (const { id } of [lost, lostToo]) rmSync(join(kept, manifestName(id)));
  const fourth = await make();
  expect([fourth.removed, fourth.missing]).toEqual([[over.id], [lost.id, lostToo.id]]);
  await expect(
    restore({ objects, path: join(folder(), "1"), id: lost.id, openSql: openDatabase, isSealed }),
  ).rejects.toThrow(`the manifest of ${lost.id} is missing`);
  await restore({ objects, path: join(folder(), "restored"), openSql: openDatabase, isSealed });
  // One whose time is over goes, with what nobody else has: who knows what it had.
  await folderTarget(kept).put("objects/its", new Uint8Array(1));
  const list = (await backupsIn(objects)).map((one) =>
    one.id === fourth.id ? one : { ...one, expiresAt: new Date(0).toISOString() },
  );
  await objects.relist(() => list);
  const fifth = await make();
  expect([fifth.removed, fifth.missing]).toEqual([[lost.id, lostToo.id], []]);
  expect(existsSync(join(kept, "objects/its"))).toBe(false);
  await restore({ objects, path: join(folder(), "restored"), openSql: openDatabase, isSealed });
});

test("a manifest of another directory that cannot be read ends no backup, which removes nothing and says so", async () => {
  const [kept, data, other] = [folder(), await filled(), await filled()];
  const target = folderTarget(kept);
  const objects = new BackupObjects(target, undefined);
  const of = { objects, openSql: openDatabase, isSealed };
  const theirs = await backUp({ ...of, directory: other });
  const over = await backUp({ ...of, directory: data, keepDays: 1e-9 });
  const name = manifestName(theirs.id);
  const manifest = await objects.value<Manifest>(name);
  const left = "objects/left";
  await target.put(left, new Uint8Array(1));
  await objects.write("unfinished/one", [left]);
  await objects.write(name, { ...manifest, version: 3 });
  const unread = expect.stringContaining(`${theirs.id} is of a later release of brooklet`);
  expect(await backUp({ ...of, directory: data })).toMatchObject({ removed: [], unread });
  writeFileSync(join(kept, name), "cut");
  expect(await backUp({ ...of, directory: data })).toMatchObject({
    removed: [],
    unread: expect.stringContaining(`${name} is no part of a backup`),
  });
  expect(backupsOf(data).map(({ id }) => id)).toContain(over.id);
  await objects.write(name, manifest);
  const last = await backUp({ ...of, directory: data });
  expect([last.removed, last.unread, await target.get(left)]).toEqual([[over.id], undefined, undefined]);
  expect(new Set(await target.names("objects"))).toEqual(await namedIn(objects));
});

test("what a backup had whose time is over is removed by the next one if that which began it was killed", async () => {
  const [data, kept] = [await filled(), folder()];
  const target = folderTarget(kept);
  const of = { directory: data, openSql: openDatabase, isSealed };
  const objects = new BackupObjects(target, undefined);
  await backUp({ ...of, objects, keepDays: 1e-9 });
  const before = readdirSync(join(kept, "objects"));
  const database = await open({ path: data, schemas: [note] });
  for (const group of GROUPS) await database.group(group).erase();
  await database.close();
  await expect(backUp({ ...of, objects: new BackupObjects(killedAt(target), undefined) })).rejects.toThrow("killed");
  await backUp({ ...of, objects });
  const named = await namedIn(objects);
  expect(await target.names("manifests")).toEqual((await backupsIn(objects)).map(({ id }) => manifestName(id)));
  expect(new Set(await target.names("objects"))).toEqual(named);
  expect(before.every((name) => named.has(`objects/${name}`))).toBe(false);
});

test("backups to several targets are noted at once, by processes that do not know each other", async () => {
  const data = await filled();
  const program = `
    import { noteBackup } from "@brooklet/store/node";
    const [, directory, target] = process.argv;
    for (let n = 0; n < 40; n += 1) noteBackup(directory, { id: target + n, takenAt: new Date().toISOString(), target });
  `;
  const noted = ["a", "b", "c"].map((target) =>
    promisify(execFile)(process.execPath, ["--input-type=module", "--eval", program, data, target], {
      cwd: import.meta.dirname,
    }),
  );
  await Promise.all(noted);
  expect(backupsOf(data)).toHaveLength(120);
  forgetBackups(data, "b", (id) => id === "b7");
  expect(backupsOf(data).map(({ id }) => id)).toHaveLength(81);
});

test("what an earlier release noted of backups is known until they are gone", async () => {
  const data = await filled();
  const takenAt = new Date().toISOString();
  const backups = ["one", "other"].map((target) => ({ id: `of ${target}`, takenAt, target }));
  writeFileSync(join(data, "backups.json"), JSON.stringify({ backups }));
  noteBackup(data, { id: "new", takenAt, target: "one" });
  expect(backupsOf(data).map(({ id }) => id)).toEqual(["of other", "of one", "new"]);
  forgetBackups(data, "one", (id) => id === "new");
  forgetBackups(data, "other", () => false);
  expect(backupsOf(data).map(({ id }) => id)).toEqual(["new"]);
});

test("a directory is not backed up into itself", async () => {
  const [data, link] = [await filled(), join(folder(), "link")];
  symlinkSync(data, link, "dir");
  for (const place of [data, join(data, "backups"), join(link, "a", "b")]) {
    const objects = new BackupObjects(folderTarget(place), undefined);
    await expect(backUp({ directory: data, objects, openSql: openDatabase, isSealed })).rejects.toThrow(
      "is in the data directory",
    );
  }
  expect(readdirSync(data)).not.toContain("lease");
});

test("a backup with a key names nothing again that one without a key stored", async () => {
  const [data, kept] = [await filled(), folder()];
  const make = async (key?: string) => {
    const objects = new BackupObjects(folderTarget(kept), key);
    return await backUp({ directory: data, objects, openSql: openDatabase, isSealed });
  };
  const plain = await make();
  expect((await make()).kept).toBe(plain.segments);
  expect((await make(KEY)).kept).toBe(0);
  expect((await make(KEY)).kept).toBe(plain.segments);
});

test("a damaged directory is not backed up", async () => {
  const [data, kept] = [await filled(), folder()];
  const objects = new BackupObjects(folderTarget(kept), undefined);
  for (const name of readdirSync(join(data, "buckets")).filter((it) => it.endsWith(".sqlite"))) {
    const sql = openDatabase(join(data, "buckets", name));
    sql.run("DELETE FROM operation WHERE number = (SELECT max(number) FROM operation)");
    sql.close();
  }
  await expect(backUp({ directory: data, objects, openSql: openDatabase, isSealed })).rejects.toThrow(
    "not what was written",
  );
  expect(await backupsIn(objects)).toEqual([]);
});

test("the sabotage: files copied without their logs are seen to lack what was acknowledged", async () => {
  const data = join(folder(), "data");
  const database = await open({ path: data, schemas: [note] });
  for (let step = 0; step < 20; step += 1) await database.group("alice").put(note, `n${step}`, noteOf("alice", step));
  const copy = join(folder(), "copy");
  mkdirSync(join(copy, "buckets"), { recursive: true });
  for (const name of ["application", "brooklet.json", "secret"]) copyFileSync(join(data, name), join(copy, name));
  for (const name of readdirSync(join(data, "buckets")))
    if (!/-(wal|shm)$/.test(name)) copyFileSync(join(data, "buckets", name), join(copy, "buckets", name));
  await database.close();
  await expect(notesOf(copy)).rejects.toThrow();
});
