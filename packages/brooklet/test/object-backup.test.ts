/** Backups of an object, over a stand-in of its storage: what is restored is what was there, and no search answers from what is gone. */
import { expect, test } from "vitest";
import { int, type ObjectDatabase, openIn, schema, text } from "../src/durable-object.ts";
import { StandInStorage } from "./object-storage.ts";

const note = schema("note", { body: text() });
const DAY_MS = 86_400_000;

async function fill(database: ObjectDatabase, word: string, documents = 40): Promise<void> {
  const group = database.group("me");
  for (let n = 0; n < documents; n += 1) await group.put(note, `${n}`, { body: `${word} number ${n}` });
  // Each time: what is written after a rest is folded by the next.
  expect([database.isRestless, await database.rest(), database.isRestless]).toEqual([true, true, false]);
}

async function found(database: ObjectDatabase, word: string): Promise<readonly [number, string | undefined]> {
  const { totalCount, hits } = await database.group("me").search(note, { text: word, limit: 1 });
  return [totalCount, hits[0]?.fields.body.split(" ")[0]];
}

test("an object is restored to a backup: the same isolate answers from what is there, not from what was", async () => {
  const storage = new StandInStorage();
  const before = await openIn(storage, { schemas: [note] });
  storage.sql.exec("CREATE TABLE mine (value TEXT)");
  await fill(before, "early");
  const backup = await before.backup();
  expect(Number(backup.recoverableUntil) - Number(backup.takenAt)).toBe(30 * DAY_MS);
  await fill(before, "late");
  storage.sql.exec("INSERT INTO mine VALUES ('late')");
  expect(await found(before, "late")).toEqual([40, "late"]);
  expect(await found(before, "early")).toEqual([0, undefined]);
  const { bookmark, undo } = await before.restore(backup);
  expect(bookmark).toBe(backup.bookmark);

  const next = storage.nextSession();
  const restored = await openIn(next, { schemas: [note] });
  expect(await found(restored, "early")).toEqual([40, "early"]);
  expect(await found(restored, "late")).toEqual([0, undefined]);
  // The object's own tables are restored with it.
  expect(next.sql.exec("SELECT value FROM mine").toArray()).toEqual([]);
  // Segments that are written now have the numbers of those that are gone: nothing may be found of them.
  await fill(restored, "other");
  expect(await found(restored, "other")).toEqual([40, "other"]);
  expect(await found(restored, "late")).toEqual([0, undefined]);

  await restored.restore(undo);
  const undone = await openIn(next.nextSession(), { schemas: [note] });
  expect(await found(undone, "late")).toEqual([40, "late"]);
  expect(await found(undone, "other")).toEqual([0, undefined]);
  await undone.close();
});

test("an object is restored to what it was at a time, also to schemas that had fewer fields then", async () => {
  const more = schema("note", { body: text(), size: int().optional() });
  const storage = new StandInStorage();
  const before = await openIn(storage, { schemas: [note] });
  await fill(before, "early");
  const { takenAt } = await before.backup();
  await before.close();
  const grown = await openIn(storage, { schemas: [more] });
  await grown.group("me").put(more, "0", { body: "late", size: 7 });
  await grown.restore(new Date(takenAt.getTime() + 1));
  const restored = await openIn(storage.nextSession(), { schemas: [more] });
  expect(await restored.group("me").get(more, "0")).toEqual({ body: "early number 0" });
  await restored.group("me").put(more, "0", { body: "again", size: 9 });
  expect(await restored.group("me").count(more, (it) => it.size.ge(9))).toBe(1);
  await restored.close();
});

test("nothing is acknowledged between a restoration and the end of the session", async () => {
  const storage = new StandInStorage();
  const database = await openIn(storage, { schemas: [note] });
  const group = database.group("me");
  await group.put(note, "1", { body: "before" });
  const backup = await database.backup();
  const beside = await openIn(storage, { schemas: [note] });
  const underWay = group.put(note, "2", { body: "under way" });
  const opening = openIn(storage, { schemas: [note] });
  opening.catch(() => undefined);
  await database.restore(backup);
  await underWay.catch(() => undefined);
  const told = { code: "CLOSED", message: expect.stringContaining("end its session with ctx.abort()") };
  for (const one of [group, beside.group("me")])
    await expect(one.put(note, "3", { body: "lost" })).rejects.toMatchObject(told);
  for (const one of [database.rest(), beside.rest(), opening]) await expect(one).rejects.toMatchObject(told);
  await expect(group.search(note, { text: "before" })).rejects.toMatchObject(told);
  await expect(openIn(storage, { schemas: [note] })).rejects.toMatchObject(told);
  const restored = await openIn(storage.nextSession(), { schemas: [note] });
  expect(await restored.group("me").count(note)).toBe(1);
  await restored.close();
});

test("what cannot be restored is refused before anything is closed", async () => {
  const storage = new StandInStorage();
  const database = await openIn(storage, { schemas: [note] });
  await database.backup();
  for (const [moment, said] of [
    [new Date(Date.now() + DAY_MS), "which is to come"],
    [new Date(Date.now() - 31 * DAY_MS), "keeps 30 days"],
    [new Date(Number.NaN), "a Date that is none"],
    ["", "takes what backup() gave"],
    [{} as never, "takes what backup() gave"],
    [undefined as never, "takes what backup() gave"],
  ] as const) {
    await expect(database.restore(moment)).rejects.toMatchObject({
      code: "INVALID_ARGUMENT",
      message: expect.stringContaining(said),
    });
  }
  await expect(database.restore(new Date(Date.now() - DAY_MS))).rejects.toMatchObject({
    code: "UNAVAILABLE",
    message: expect.stringContaining("the object was not there"),
  });
  await database.group("me").put(note, "1", { body: "still open" });
  // Whether there is such a bookmark only the platform knows, which is asked last.
  await expect(database.restore("no bookmark")).rejects.toMatchObject({
    code: "UNAVAILABLE",
    message: expect.stringContaining("openIn() it again: Invalid bookmark"),
  });
  // Nothing is being restored: what is kept of the database says what opens it.
  await expect(database.group("me").count(note)).rejects.toMatchObject({
    code: "CLOSED",
    message: expect.stringContaining("openIn() it again where restore() failed"),
  });
  const again = await openIn(storage, { schemas: [note] });
  expect(await again.group("me").count(note)).toBe(1);
  await again.close();
});

test("a storage without bookmarks is told so", async () => {
  const storage = new StandInStorage();
  const bare = { sql: storage.sql, transactionSync: <Result>(work: () => Result) => storage.transactionSync(work) };
  const database = await openIn(bare, { schemas: [note] });
  await expect(database.backup()).rejects.toMatchObject({ code: "UNSUPPORTED" });
  await expect(database.restore("00000001")).rejects.toMatchObject({ code: "UNSUPPORTED" });
  await database.close();
});
