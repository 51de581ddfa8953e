/** The directory of groups: against a plain list over the same steps, where hashes are alike too, and with what earlier releases wrote. */
import { expect, test } from "vitest";
import { DirectoryStore } from "../src/directory-store.ts";
import { openSql } from "./open.ts";

const EARLIER =
  "CREATE TABLE brooklet_group (number INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT NOT NULL UNIQUE) STRICT";

/** All keys, so many at a time as a visit takes them. */
function listed(store: DirectoryStore, limit: number): string[] {
  const keys: string[] = [];
  for (let number = 0; ; ) {
    const some = store.from(number, limit);
    const last = some.at(-1);
    if (last === undefined) return keys;
    expect(some.length).toBeLessThanOrEqual(limit);
    keys.push(...some.map(({ key }) => key));
    number = last.number + 1;
  }
}

/** Hashes from all alike to all apart. */
const HASHES: readonly ((key: string) => number)[] = [
  () => 0,
  (key) => key.length % 3,
  () => 2 ** 43 - 1,
  (key) => Number(key.replace(/\D/g, "")),
];

test("each key is listed once, with a number that stays, whatever else has its hash", () => {
  for (const hashOf of [...HASHES, undefined]) {
    for (const earlier of [[], ["g:4", "g:17", "g:99"]]) {
      const sql = openSql(":memory:");
      if (earlier.length > 0) sql.run(EARLIER);
      for (const key of earlier) sql.run("INSERT INTO brooklet_group (key) VALUES (?)", key);
      const there = new Map<string, number>(earlier.map((key, index) => [key, index + 1]));
      let state = 7;
      for (let step = 0; step < 300; step += 1) {
        state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
        const key = `g:${(state >>> 8) % 60}`;
        const store = new DirectoryStore(sql, hashOf);
        if (state % 3 === 0) {
          store.remove(key);
          there.delete(key);
        } else {
          const number = store.add(key);
          expect(number).toBe(there.get(key) ?? number);
          expect(Number.isSafeInteger(number + 1)).toBe(true);
          expect([...there].some(([other, taken]) => taken === number && other !== key)).toBe(false);
          there.set(key, number);
        }
        const inOrder = [...there].sort(([, left], [, right]) => left - right).map(([one]) => one);
        if (step % 7 === 0) expect(listed(new DirectoryStore(sql, hashOf), 1 + (step % 9))).toEqual(inOrder);
      }
      sql.close();
    }
  }
});

test("a hash that too many keys have is refused, and nothing is written where nothing is listed", () => {
  const sql = openSql(":memory:");
  const store = new DirectoryStore(sql, () => 5);
  store.remove("g:none");
  expect([store.from(0, 9), sql.all("SELECT name FROM sqlite_schema")]).toEqual([[], []]);
  for (let n = 0; n < 256; n += 1) store.add(`g:${n}`);
  expect(() => store.add("g:more")).toThrow("more than 256 keys have the hash of 'g:more'");
  expect(listed(store, 100)).toHaveLength(256);
  store.remove("g:100");
  store.add("g:more");
  expect(listed(store, 100)).toHaveLength(256);
});

test("numbers are made of keys, the same in every release", () => {
  const store = new DirectoryStore(openSql(":memory:"));
  expect([store.add("g:alice"), store.add("g:bob"), store.add("g:é✓")]).toEqual([
    2_524_901_116_665_344, 3_588_982_904_086_528, 3_807_457_504_165_376,
  ]);
});

test("a fence that is damaged can be raised again", () => {
  const sql = openSql(":memory:");
  new DirectoryStore(sql).fence(3);
  sql.run("UPDATE brooklet_key SET key = 'x3' WHERE number = -1");
  const store = new DirectoryStore(sql);
  expect([store.fence(0), store.fence(4), new DirectoryStore(sql).fence(0)]).toEqual([0, 4, 4]);
});

test("what is left of a key whose row is damaged goes when the key is forgotten, and no other does", () => {
  const sql = openSql(":memory:");
  const hashOf = (key: string): number => (/^g:\d+$/.test(key) ? 5 : 6);
  const store = new DirectoryStore(sql, hashOf);
  for (const key of ["g:1", "g:2", "g:3"]) store.add(key);
  sql.run("UPDATE brooklet_key SET key = 'g:2\u0001' WHERE key = 'g:2'");
  store.remove("g:2");
  expect(listed(new DirectoryStore(sql, hashOf), 9)).toEqual(["g:1", "g:3"]);
});
