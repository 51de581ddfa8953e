/**
 * A database in an object that an earlier release wrote, made once and never again: its groups are found, changed, listed and erased
 * by this one. It has the group `folded` (40 notes, folded; 5 of them put again after that and one removed), the group `tail` (3
 * notes), and had one that was erased.
 */
import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import Database from "better-sqlite3";
import { expect, test } from "vitest";
import { int, type ObjectDatabase, openIn, schema, text } from "../src/durable-object.ts";
import { StandInStorage } from "./object-storage.ts";

const note = schema("note", { body: text(), n: int() });

function golden(): StandInStorage {
  const packed = readFileSync(new URL("./golden/own-object-1.sqlite.gz", import.meta.url));
  return new StandInStorage(new Database(gunzipSync(packed)));
}

async function found(database: ObjectDatabase, group: string, word: string): Promise<number> {
  return (await database.group(group).search(note, { text: word })).totalCount;
}

async function groupsOf(database: ObjectDatabase): Promise<string[]> {
  const names: string[] = [];
  for await (const name of database.groups()) names.push(name);
  return names.sort();
}

test("what an earlier release wrote is read, and goes on being written", async () => {
  const storage = golden();
  const tables = storage.sql.exec("SELECT name FROM sqlite_schema").toArray();
  expect(tables).not.toContainEqual({ name: "brooklet_key" });
  for (const isAgain of [false, true]) {
    const database = await openIn(storage, { schemas: [note] });
    expect(await groupsOf(database)).toEqual(isAgain ? ["folded", "new", "tail"] : ["folded", "tail"]);
    expect([await found(database, "folded", "early"), await found(database, "folded", "late")]).toEqual([34, 5]);
    expect(await database.group("folded").get(note, "3")).toEqual({ body: "late number 3", n: 103 });
    expect(await database.group("folded").get(note, "7")).toBeUndefined();
    expect(await found(database, "tail", "early")).toBe(3);
    if (isAgain) expect(await found(database, "new", "fresh")).toBe(1);
    await database.group("new").put(note, "1", { body: "fresh", n: 1 });
    await database.group("tail").put(note, "2", { body: "early number 2", n: 2 });
    await database.rest();
    await database.close();
  }
  const database = await openIn(storage, { schemas: [note] });
  await database.group("tail").erase();
  expect(await groupsOf(database)).toEqual(["folded", "new"]);
  await database.group("tail").put(note, "9", { body: "after", n: 9 });
  expect([await found(database, "tail", "early"), await found(database, "tail", "after")]).toEqual([0, 1]);
  expect(await groupsOf(database)).toEqual(["folded", "new", "tail"]);
  await database.close();
});
