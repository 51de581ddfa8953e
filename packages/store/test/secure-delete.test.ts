/** What is erased is overwritten: searched for byte by byte in the file and its log, also as other settings would leave it (T17). */
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { PartitionStore } from "../src/partition-store.ts";
import { configureFile, createTables, stampFile } from "../src/tables.ts";
import { folder, openSql } from "./open.ts";

const IDENTITY = { bucket: 0, buckets: 1, application: 1 };
const CANARY = "canarybytes";

/** How often what was erased is found in the files; `setting` is that of SQLite, `isMoved` whether the log is emptied. */
function found(setting: string, isMoved: boolean): number {
  const path = join(folder(), "bucket.sqlite");
  const sql = openSql(path);
  try {
    stampFile(sql);
    createTables(sql, IDENTITY);
    configureFile(sql);
    sql.run(`PRAGMA secure_delete = ${setting}`);
    const store = new PartitionStore(sql, IDENTITY);
    const bytes = (at: number): Uint8Array => new TextEncoder().encode(`${at} ${CANARY.repeat(2_000)}`);
    for (const key of ["g:a", "g:b"]) {
      store.append([{ key, bytes: bytes(1) }]);
      const blocks = Array.from({ length: 20 }, (_, at) => (key === "g:a" ? bytes(at) : new Uint8Array(22_000)));
      const segment = { number: store.firstFreeSegment, schema: "note", documents: 1, blocks };
      const newSegments = [{ ...segment, header: new Uint8Array(8), liveness: new Uint8Array(8) }];
      const folded = store.state(key).lastOperation;
      store.commit(key, { folded, removedSegments: [], liveness: [], newSegments }, true);
    }
    sql.checkpoint?.(true);
    store.erase("g:a");
    while (store.dropErased(1 << 20));
    if (isMoved) sql.checkpoint?.(true);
    const files = [path, `${path}-wal`].filter((file) => (statSync(file, { throwIfNoEntry: false })?.size ?? 0) > 0);
    return files.reduce((sum, file) => sum + readFileSync(file).toString("latin1").split(CANARY).length - 1, 0);
  } finally {
    sql.close();
  }
}

test("nothing of it is found when the log is emptied", () => {
  expect(found("ON", true)).toBe(0);
});

test.each([
  ["deleted rows that are not overwritten", "OFF", true],
  ["free pages that are not overwritten", "FAST", true],
  ["a log that is not moved to the file", "ON", false],
])("%s are seen", (_, setting, isMoved) => {
  expect(found(setting, isMoved)).toBeGreaterThan(1_000);
});
