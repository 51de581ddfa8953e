/**
 * Backups under writers, each restored and compared with what was written (T16). A backup is a prefix of what each group was written:
 * all that was acknowledged before it began, nothing that was never issued, and no holes. BROOKLET_BACKUPS makes more of them. The
 * sabotage, a file that is copied without its log, has to be seen.
 */
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { backupsOf, DataDirectory, forgetBackups, noteBackup } from "@brooklet/store/node";
import { expect, onTestFinished, test, vi } from "vitest";
import { backUp } from "../src/backup/backup.ts";
import { Lease } from "../src/backup/lease.ts";
import { type Manifest, manifestName, objectsOf } from "../src/backup/manifest.ts";
import { BackupObjects } from "../src/backup/objects.ts";
import { backupsIn, restore } from "../src/backup/restore.ts";
import { type BackupTarget, folderTarget, targetOf } from "../src/backup/target.ts";
import { type Database, int, open, schema, text } from "../src/index.ts";
import { openDatabase } from "../src/node/database.ts";
import { sealing } from "../src/node/sealing.ts";

const BACKUPS = Number(process.env["BROOKLET_BACKUPS"] ?? 4);
const KEY = "a key of sixteen characters or more";
const GROUPS = ["alice", "bob", "carol"] as const;
const PAGE = 400;
/** Notes of a group behind those in segments, in its tail. */
const REST = 50;
/** What each group is written between two backups. */
const STEPS = 60;

const note = schema("note", { body: text(), step: int() });
const isSealed = sealing();

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), "brooklet-backup-"));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

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

const noteOf = (group: string, step: number) => ({ body: `note ${step} of ${group}`, step });

/** The notes of a directory: how many each group has, all of them as they were put. */
async function notesOf(path: string): Promise<Map<string, number>> {
  const database = await open({ path, schemas: [note] });
  try {
    const found = new Map<string, number>();
    for (const group of GROUPS) {
      const steps: number[] = [];
      for await (const { document } of database.group(group).visit(note)) {
        expect(document).toEqual(noteOf(group, document.step));
        steps.push(document.step);
      }
      steps.sort((left, right) => left - right);
      expect(steps).toEqual(steps.map((_, at) => at));
      found.set(group, steps.length);
    }
    return found;
  } finally {
    await database.close();
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

/** A directory with notes of each group, the first `PAGE` of them in segments and `REST` in the tail. */
async function filled(): Promise<string> {
  const data = join(folder(), "data");
  const database = await open({ path: data, schemas: [note] });
  for (const group of GROUPS) {
    const fed = Array.from({ length: PAGE }, (_, step) => ({ id: `n${step}`, fields: noteOf(group, step) }));
    expect(await database.group(group).feed(note, fed)).toMatchObject({ applied: PAGE });
    const rest = Array.from({ length: REST }, (_, at) => PAGE + at);
    await Promise.all(rest.map((step) => database.group(group).put(note, `n${step}`, noteOf(group, step))));
  }
  await database.close();
  return data;
}

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
  await expect(restore({ objects, path, openSql: openDatabase, isSealed })).rejects.toThrow("is there already");
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

/** A target that goes on when it is let go: before it puts the first object or removes it, or after it has removed it. */
function held(target: BackupTarget, request: "put" | "remove" | "removed" = "put") {
  let [begin, letGo] = [(): void => undefined, (): void => undefined];
  const begun = new Promise<void>((done) => {
    begin = done;
  });
  const going = new Promise<void>((done) => {
    letGo = done;
  });
  const wait = async (name: string): Promise<void> => {
    if (!name.startsWith("objects/")) return;
    begin();
    await going;
  };
  const put = async (name: string, bytes: Uint8Array): Promise<void> => {
    if (request === "put") await wait(name);
    await target.put(name, bytes);
  };
  const remove = async (name: string): Promise<void> => {
    if (request === "remove") await wait(name);
    await target.remove(name);
    if (request === "removed") await wait(name);
  };
  return { target: { ...target, put, remove }, begun, letGo };
}

test("one backup at a time is made to a target, and all that are listed are restored", async () => {
  const [data, kept] = [await filled(), folder()];
  const { target, begun, letGo } = held(folderTarget(kept));
  const objects = new BackupObjects(folderTarget(kept), KEY);
  const of = { directory: data, openSql: openDatabase, isSealed };
  const first = backUp({ ...of, objects: new BackupObjects(target, KEY) });
  await begun;
  await expect(backUp({ ...of, objects })).rejects.toThrow(
    new RegExp(`a backup is being made by process ${process.pid} on .* since 20.*, and there is one at a time`),
  );
  letGo();
  await first;
  const third = await backUp({ ...of, objects });
  expect((await backupsIn(objects)).map(({ id }) => id)).toEqual([(await first).id, third.id]);
  for (const { id } of await backupsIn(objects))
    await restore({ objects, path: join(folder(), "restored"), id, openSql: openDatabase, isSealed });
});

/** The lease of a folder is as if it had been renewed so long ago. */
function age(kept: string, ms: number): void {
  const renewed = new Date(performance.timeOrigin + performance.now() - ms);
  for (const name of readdirSync(join(kept, "lease"))) utimesSync(join(kept, "lease", name), renewed, renewed);
}

test.each([
  ["ten minutes after its holder was seen", 601_000, false],
  ["at once where it is said", 0, true],
])(
  "the turn of a backup that does not end is taken over %s, and it lists and removes nothing then",
  async (_, laterMs, isTakenOver) => {
    const [data, kept] = [await filled(), folder()];
    const { target, begun, letGo } = held(folderTarget(kept));
    const objects = new BackupObjects(folderTarget(kept), KEY);
    const of = { directory: data, openSql: openDatabase, isSealed };
    const first = backUp({ ...of, objects: new BackupObjects(target, KEY) });
    first.catch(() => undefined);
    await begun;
    if (laterMs > 0) {
      age(kept, laterMs - 2_000);
      await expect(backUp({ ...of, objects })).rejects.toThrow("there is one at a time");
      age(kept, laterMs);
    }
    const second = await backUp({ ...of, objects, isTakenOver });
    letGo();
    await expect(first).rejects.toThrow("another backup took over");
    expect((await backupsIn(objects)).map(({ id }) => id)).toEqual([second.id]);
    await restore({ objects, path: join(folder(), "restored"), openSql: openDatabase, isSealed });
  },
);

test.each([
  ["while it removes others", "removed"],
  ["while a removal is on its way, which comes late", "remove"],
] as const)("a backup that is taken over from %s removes nothing that the next one stored", async (_, request) => {
  const [data, other, kept] = [await filled(), await filled(), folder()];
  const objects = new BackupObjects(folderTarget(kept), undefined);
  const of = { directory: data, openSql: openDatabase, isSealed };
  await backUp({ ...of, directory: other, objects, keepDays: 1e-9 });
  const { target, begun, letGo } = held(folderTarget(kept), request);
  const first = backUp({ ...of, objects: new BackupObjects(target, undefined) });
  first.catch(() => undefined);
  await begun;
  const second = await backUp({ ...of, directory: other, objects, isTakenOver: true });
  letGo();
  await expect(first).rejects.toThrow("another backup took over");
  expect((await backupsIn(objects)).map(({ id }) => id)).toContain(second.id);
  await restore({ objects, path: join(folder(), "restored"), id: second.id, openSql: openDatabase, isSealed });
});

/** The names of all objects that a listed backup has. */
async function namedIn(objects: BackupObjects): Promise<Set<string>> {
  const named = new Set<string>();
  for (const { id } of await backupsIn(objects))
    for (const object of objectsOf((await objects.value<Manifest>(manifestName(id))) as Manifest)) named.add(object);
  return named;
}

test("a backup that goes on after it was taken over from hides nothing that the next one left", async () => {
  const [data, other, kept] = [await filled(), await filled(), folder()];
  const target = folderTarget(kept);
  const of = { directory: data, openSql: openDatabase, isSealed };
  const { target: slow, begun, letGo } = held(target);
  const first = backUp({ ...of, objects: new BackupObjects(slow, KEY) });
  first.catch(() => undefined);
  await begun;
  const second = new BackupObjects(killedAt(target, "backups"), KEY);
  await expect(backUp({ ...of, directory: other, objects: second, isTakenOver: true })).rejects.toThrow("killed");
  letGo();
  await expect(first).rejects.toThrow("another backup took over");
  const objects = new BackupObjects(target, KEY);
  await backUp({ ...of, objects, isTakenOver: true });
  expect(new Set(await target.names("objects"))).toEqual(await namedIn(objects));
  expect(await target.names("unfinished")).toEqual([]);
});

/** A target whose first list of backups is written when it is let go, long after its writer saw that the lease is its own. */
function heldAtList(target: BackupTarget) {
  let letGo = (): void => undefined;
  const going = new Promise<void>((done) => {
    letGo = done;
  });
  let begin = (): void => undefined;
  const begun = new Promise<void>((done) => {
    begin = done;
  });
  const replace: BackupTarget["list"]["replace"] = async (bytes, tag) => {
    begin();
    await going;
    return await target.list.replace(bytes, tag);
  };
  return { target: { ...target, list: { ...target.list, replace } }, begun, letGo };
}

test.each([
  ["a folder", async () => folderTarget(folder())],
  ["S3", async () => (await s3Target()).target],
])(
  "who stood still before it wrote the list of %s replaces nobody's, and is in it whole or not at all",
  async (_, made) => {
    const [data, other, target] = [await filled(), await filled(), await made()];
    const of = { openSql: openDatabase, isSealed };
    const objects = new BackupObjects(target, KEY);
    const first = await backUp({ ...of, directory: data, objects });
    for (const isKilled of [false, true]) {
      const slow = heldAtList(target);
      const late = backUp({ ...of, directory: data, objects: new BackupObjects(slow.target, KEY), isTakenOver: true });
      late.catch(() => undefined);
      await slow.begun;
      // One that has taken over, and one that did so and failed: what the late one stored is gone then.
      const through = isKilled ? { ...target, put: refusing(target, "manifests/") } : target;
      const next = backUp({ ...of, directory: other, objects: new BackupObjects(through, KEY), isTakenOver: true });
      await (isKilled ? expect(next).rejects.toThrow("is full") : next);
      slow.letGo();
      await expect(late).rejects.toThrow("another backup took over");
      const ids = (await backupsIn(objects)).map(({ id }) => id);
      expect(ids[0]).toBe(first.id);
      expect(ids).toHaveLength(2);
      for (const id of ids) {
        const path = join(folder(), "restored");
        await restore({ objects, path, id, openSql: openDatabase, isSealed });
      }
    }
  },
);

function refusing(target: BackupTarget, below: string): BackupTarget["put"] {
  return async (name, bytes) => {
    if (name.startsWith(below)) throw new Error("the target is full");
    await target.put(name, bytes);
  };
}

test("a backup that is ended takes away what it stored, and gives its turn back", async () => {
  const [data, kept] = [await filled(), folder()];
  const { target, begun, letGo } = held(folderTarget(kept));
  const of = { directory: data, openSql: openDatabase, isSealed };
  const ending = new AbortController();
  const first = backUp({ ...of, objects: new BackupObjects(target, KEY), signal: ending.signal });
  first.catch(() => undefined);
  await begun;
  ending.abort(new Error("that is enough"));
  letGo();
  await expect(first).rejects.toThrow("that is enough");
  expect(await folderTarget(kept).names("objects")).toEqual([]);
  const objects = new BackupObjects(folderTarget(kept), KEY);
  const second = await backUp({ ...of, objects });
  expect((await backupsIn(objects)).map(({ id }) => id)).toEqual([second.id]);
});

test("a backup that goes on for longer than its turn keeps it", async () => {
  vi.useFakeTimers({ toFake: ["Date"] });
  onTestFinished(() => void vi.useRealTimers());
  const target = folderTarget(folder());
  const lease = await Lease.take(target, false);
  for (let minutes = 0; minutes < 60; minutes += 5) {
    vi.setSystemTime(Date.now() + 300_000);
    await lease.guarded().put("objects/1", new Uint8Array(1));
  }
  await expect(Lease.take(target, false)).rejects.toThrow("there is one at a time");
  await lease.end();
  await (await Lease.take(target, false)).end();
});

test.each([-3_600_000, 3_600_000])(
  "a clock that is %i ms beside that of who has a target neither takes it over nor waits longer",
  async (ms) => {
    vi.useFakeTimers({ toFake: ["Date"] });
    onTestFinished(() => void vi.useRealTimers());
    const [kept, service] = [folder(), await s3Target()];
    const leases = [await Lease.take(folderTarget(kept), false), await Lease.take(service.target, false)];
    vi.setSystemTime(Date.now() + ms);
    for (const target of [folderTarget(kept), service.target])
      await expect(Lease.take(target, false)).rejects.toThrow("there is one at a time");
    // Its own clock was set: it is renewed all the same.
    for (const lease of leases) {
      const before = (await folderTarget(kept).lease.latest())?.tag;
      await lease.guarded().put("objects/1", new Uint8Array(1));
      if (lease === leases[0]) expect((await folderTarget(kept).lease.latest())?.tag).not.toBe(before);
    }
    vi.setSystemTime(Date.now() - 2 * ms);
    age(kept, 601_000);
    service.pass(601_000);
    for (const target of [folderTarget(kept), service.target]) await (await Lease.take(target, false)).end();
  },
);

test("of many who want a target at once one has it, also when what was there before is replaced meanwhile", async () => {
  const target = folderTarget(folder());
  for (let round = 0; round < 5; round += 1) {
    const taken = await Promise.allSettled(Array.from({ length: 8 }, () => Lease.take(target, false)));
    const leases = taken.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
    expect(leases).toHaveLength(1);
    await leases[0]?.end();
  }
  // Who read it long before, and comes after others have replaced it.
  const late = await target.lease.latest();
  await (await Lease.take(target, false)).end();
  expect(await target.lease.replace(new Uint8Array(1), late?.tag)).toBe("taken");
  expect(await target.lease.replace(new Uint8Array(1), undefined)).toBe("taken");
});

test("files that others leave beside a lease are none of its turns", async () => {
  const place = folder();
  const target = folderTarget(place);
  await (await Lease.take(target, false)).end();
  for (const name of [".DS_Store", ".nfs000000000001", "3.tmp"]) writeFileSync(join(place, "lease", name), "");
  const lease = await Lease.take(target, false);
  await expect(Lease.take(target, false)).rejects.toThrow("there is one at a time");
  await lease.end();
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

/** A target to which nothing comes through any more from a write of a name or the first removal on, as of a process that was killed. */
function killedAt(target: BackupTarget, written?: string): BackupTarget {
  let isKilled = false;
  const fails =
    <Rest extends unknown[]>(work: (name: string, ...rest: Rest) => Promise<void>, kills: (name: string) => boolean) =>
    async (name: string, ...rest: Rest): Promise<void> => {
      isKilled ||= kills(name);
      if (isKilled) throw new Error("killed");
      await work(name, ...rest);
    };
  return { ...target, remove: fails(target.remove, () => true), put: fails(target.put, (name) => name === written) };
}

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

const tagOf = (bytes: Buffer | undefined): string =>
  bytes === undefined ? "" : `"${createHash("sha256").update(bytes).digest("hex")}"`;

/** What becomes of a request: it is answered, it is refused, or it is done and its answer is an error or none. */
type Fate = "answered" | "refused" | "failed" | "unanswered";

/** A target in a service that speaks S3, and what is stored there. */
async function s3Target(fateOf: (count: number) => Fate = () => "answered") {
  const stored = new Map<string, Buffer>();
  const times = new Map<string, number>();
  let [count, waitedMs] = [0, 0];
  // Its clock is its own.
  const now = (): number => performance.timeOrigin + performance.now() + waitedMs;
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const [name = "", query = ""] = request.url?.split("?") ?? [];
      const isSigned = /^AWS4-HMAC-SHA256 Credential=id\//.test(request.headers.authorization ?? "");
      if (!isSigned) return response.writeHead(403).end();
      const fate = fateOf(count++);
      if (fate === "refused") return response.writeHead(503).end("<Code>SlowDown</Code>");
      const asked = new URLSearchParams(query);
      const [prefix, after] = ["prefix", "start-after"].map((part) => `${name}${asked.get(part) ?? ""}`);
      const names = [...stored.keys()].filter((key) => key.startsWith(prefix ?? "") && key > (after ?? "")).sort();
      const keys = names.slice(0, 2).map((key) => `<Key>${key.slice(name.length)}</Key>`);
      if (asked.has("list-type")) return response.end(keys.join(""));
      const tag = tagOf(stored.get(name));
      const { "if-match": expected = tag, "if-none-match": none } = request.headers;
      if (expected !== tag || (none !== undefined && tag !== "")) return response.writeHead(412).end();
      if (request.method === "PUT") {
        stored.set(name, Buffer.concat(chunks));
        times.set(name, now());
      }
      if (request.method === "DELETE") stored.delete(name);
      if (fate === "failed") return response.writeHead(500).end("<Code>InternalError</Code>");
      if (fate === "unanswered") return request.socket.destroy();
      const found = stored.get(name);
      if (request.method === "GET" && found === undefined) return response.writeHead(404).end();
      const [date, modified] = [now(), times.get(name) ?? 0].map((ms) => new Date(ms).toUTCString());
      return response
        .writeHead(200, { etag: tagOf(found), date, "last-modified": modified })
        .end(request.method === "GET" ? found : undefined);
    });
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  onTestFinished(() => void server.close());
  const target = targetOf("s3://backups/of/notes", {
    AWS_ACCESS_KEY_ID: "id",
    AWS_SECRET_ACCESS_KEY: "secret",
    AWS_ENDPOINT_URL_S3: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
  });
  const pass = (ms: number): void => {
    waitedMs += ms;
  };
  return { target, stored, pass };
}

test("a bucket of a service that speaks S3 keeps backups", async () => {
  const { target, stored } = await s3Target();
  const objects = new BackupObjects(target, KEY);
  const of = { directory: await filled(), objects, openSql: openDatabase, isSealed };
  await backUp(of);
  expect([...stored.keys()].every((name) => name.startsWith("/backups/of/notes/"))).toBe(true);
  const again = await backUp(of);
  expect(again.kept).toBe(again.segments);
  const lease = await Lease.take(target, false);
  await expect(backUp(of)).rejects.toThrow("there is one at a time");
  await lease.end();
  expect(await backupsIn(objects)).toHaveLength(2);
  const path = join(folder(), "restored");
  await restore({ objects, path, openSql: openDatabase, isSealed });
  expect((await notesOf(path)).get("carol")).toBe(PAGE + 50);
});

test("a service that is busy, fails, or whose answers are lost is asked again", async () => {
  const fates = ["answered", "failed", "answered", "refused", "answered", "answered", "unanswered"] as const;
  for (const shift of fates.keys()) {
    const { target } = await s3Target((count) => fates[(count + shift) % fates.length] ?? "answered");
    const lease = await Lease.take(target, false);
    const objects = new BackupObjects(target, KEY).through(lease.guarded());
    const name = await objects.add(Buffer.from("rows"), async () => undefined);
    await objects.write("unfinished/1", [name]);
    await lease.demand();
    expect(await objects.value("unfinished/1")).toEqual(await target.names("objects"));
    await lease.guarded().remove(name);
    expect(await target.names("objects")).toEqual([]);
    await lease.end();
    await (await Lease.take(target, false)).end();
  }
});
