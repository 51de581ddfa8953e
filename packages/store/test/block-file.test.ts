import { closeSync, openSync, writeSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { BlockFile } from "../src/node/block-file.ts";
import type { SqlConnection } from "../src/sql.ts";
import { folder, openSql } from "./open.ts";

/** Numbers below `bound`, repeatable. */
function numbers(seed: number): (bound: number) => number {
  let state = seed;
  return (bound) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * bound);
  };
}

function table(pageBytes: number): { readonly sql: SqlConnection; readonly path: string; readonly file: BlockFile } {
  const path = join(folder(), "blocks.sqlite");
  const sql = openSql(path);
  sql.run(`PRAGMA page_size = ${pageBytes}`);
  sql.run("PRAGMA auto_vacuum = INCREMENTAL");
  sql.run("PRAGMA journal_mode = WAL");
  sql.run("PRAGMA wal_autocheckpoint = 0");
  sql.run("CREATE TABLE other (id INTEGER PRIMARY KEY, bytes BLOB)");
  sql.run("CREATE TABLE block (id INTEGER PRIMARY KEY, bytes BLOB NOT NULL) STRICT");
  sql.checkpoint?.(true);
  const root = sql.all<{ rootpage: number }>("SELECT rootpage FROM sqlite_schema WHERE name = 'block'")[0]?.rootpage;
  return { sql, path, file: new BlockFile(path, root ?? 0) };
}

/** What the file says of a blob. */
function read(file: BlockFile, id: number): Uint8Array | undefined {
  const length = file.lengthOf(id);
  if (length === undefined) return undefined;
  const room = new Uint8Array(length).fill(0xee);
  return file.read(id, room) ? room : undefined;
}

test.each([512, 4_096, 16_384, 65_536])(
  "with pages of %i bytes it reads what was there at the last checkpoint",
  (pageBytes) => {
    const { sql, file } = table(pageBytes);
    const below = numbers(pageBytes);
    const now = new Map<number, Uint8Array>();
    let before = new Map<number, Uint8Array>();
    const insert = (id: number): void => {
      const kinds = [
        0,
        1,
        100,
        pageBytes - 60 + below(50),
        below(5 * pageBytes),
        below(Math.min(20 * pageBytes, 300_000)),
      ];
      const bytes = new Uint8Array(kinds[below(kinds.length)] ?? 0);
      for (let at = 0; at < bytes.length; at += 1) bytes[at] = below(256);
      sql.run("INSERT INTO block (id, bytes) VALUES (?, ?)", id, bytes);
      now.set(id, bytes);
    };
    for (let round = 0; round < 20; round += 1) {
      sql.transaction(() => {
        for (let count = below(12); count >= 0; count -= 1) {
          const id = below(8) * 2 ** 20 + round * 100 + count + (below(10) === 0 ? 2 ** 52 : 0);
          if (!now.has(id)) insert(id);
        }
        for (const id of [...now.keys()].filter(() => below(6) === 0)) {
          sql.run("DELETE FROM block WHERE id = ?", id);
          now.delete(id);
        }
        sql.run("INSERT INTO other (bytes) VALUES (zeroblob(?))", below(3 * pageBytes));
      });
      if (below(3) === 0) sql.run("PRAGMA incremental_vacuum(7)");
      if (below(2) === 0) {
        file.changed(false);
        expect(file.lengthOf([...now.keys()][0] ?? 0)).toBeUndefined();
        expect(sql.checkpoint?.(below(2) === 0)).toBe(true);
        file.changed(true);
        before = new Map(now);
      }
      for (const [id, bytes] of now) {
        const found = read(file, id);
        const isSame = found !== undefined && Buffer.compare(found, bytes) === 0;
        expect(before.has(id) ? isSame : found === undefined, `blob ${id} in round ${round}`).toBe(true);
      }
      expect(file.lengthOf(77)).toBeUndefined();
    }
    expect(before.size).toBeGreaterThan(5);
    file.close();
    sql.close();
  },
);

test("a checkpoint that another reader keeps from its end leaves nothing to be read", () => {
  const { sql, path, file } = table(4_096);
  file.changed(true);
  const reader = openSql(path);
  reader.run("BEGIN");
  reader.all("SELECT count(*) FROM block");
  sql.run("INSERT INTO block (id, bytes) VALUES (1, ?)", new Uint8Array(9_000));
  expect(sql.checkpoint?.(false)).toBe(false);
  reader.run("ROLLBACK");
  expect(sql.checkpoint?.(false)).toBe(true);
  file.changed(true);
  expect(read(file, 1)?.length).toBe(9_000);
  reader.close();
  file.close();
  sql.close();
});

test("what is damaged is refused or read as it stands, and nothing else happens", () => {
  const below = numbers(3);
  for (let round = 0; round < 40; round += 1) {
    const { sql, path, file } = table(512);
    sql.transaction(() => {
      for (let id = 1; id < 60; id += 1)
        sql.run("INSERT INTO block (id, bytes) VALUES (?, ?)", id, new Uint8Array(below(3_000)));
    });
    sql.checkpoint?.(true);
    const pages = sql.all<{ page_count: number }>("PRAGMA page_count")[0]?.page_count ?? 0;
    sql.close();
    const damaged = openSync(path, "r+");
    for (let count = 0; count < 40; count += 1)
      writeSync(damaged, Uint8Array.of(below(256), below(256)), 0, 2, 512 + below(512 * (pages - 1) - 2));
    closeSync(damaged);
    file.changed(true);
    for (let id = 0; id < 61; id += 1) {
      const length = file.lengthOf(id);
      // A length is only ever one that the file can hold.
      if (length !== undefined && length <= 512 * pages) file.read(id, new Uint8Array(length));
    }
    file.close();
  }
});
