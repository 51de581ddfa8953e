/** Heads as they are stored: the bytes are those of every directory there is, and what is not one is refused by what is wrong with it. */
import { expect, test } from "vitest";
import { EMPTY, equalMarks, type Head, Heads } from "../src/heads.ts";
import type { Guard, SqlConnection } from "../src/sql.ts";
import { createTables } from "../src/tables.ts";
import { openSql } from "./open.ts";

const IDENTITY = { bucket: 3, buckets: 8 };
const key = Uint8Array.from({ length: 16 }, (_, at) => 0x10 + 7 * at);
const guard: Guard = { key, reached: () => ({ changes: 0, operation: 0 }), reach: () => undefined };
/** Numbers of which both halves count. */
const ROW = { number: 5 * 2 ** 32 + 19, key: "g:alice", application: 2 ** 32 + 7 };
const HEAD: Head = {
  operations: 3,
  lastOperation: 9 * 2 ** 32 + 4,
  tail: { high: 0x01020304, low: 0x05060708 },
  segments: 2,
  segmentMark: { high: 0x11121314, low: 0x15161718 },
};

function made(): { readonly sql: SqlConnection; readonly heads: Heads } {
  const sql = openSql(":memory:");
  createTables(sql, IDENTITY);
  return { sql, heads: new Heads({ ...sql, guard }, IDENTITY) };
}

function stored(sql: SqlConnection, partition: number): string {
  const [row] = sql.all<{ bytes: Uint8Array }>("SELECT bytes FROM head WHERE partition = ?", partition);
  return Buffer.from(row?.bytes ?? []).toString("hex");
}

test("heads have the bytes that are in directories already", () => {
  const { sql, heads } = made();
  heads.write(ROW, ROW, HEAD);
  heads.writeBucket({ partitions: 4, changes: 6 * 2 ** 32 + 1 });
  expect(stored(sql, ROW.number)).toBe(
    "03000000040000000900000004030201080706050200000014131211181716158499388a6b30bfa9",
  );
  expect(stored(sql, 0)).toBe("04000000010000000600000032a2758095d0435d");
  expect(heads.read({ ...ROW })).toEqual(HEAD);
  expect(heads.bucket()).toEqual({ partitions: 4, changes: 6 * 2 ** 32 + 1 });
  sql.close();
});

test("the head of a partition with a note has the bytes that are in directories already, and is of that note", () => {
  const { sql, heads } = made();
  heads.write(ROW, ROW, HEAD, "a note");
  expect(stored(sql, ROW.number)).toBe(
    "03000000040000000900000004030201080706050200000014131211181716152eb4ec3a9f5ad868dbf9946614a732f0",
  );
  const withNote = (note?: string): Heads =>
    new Heads({ ...sql, guard }, IDENTITY, new Map(note === undefined ? [] : [[ROW.key, note]]));
  expect(withNote("a note").read({ ...ROW })).toEqual(HEAD);
  expect(() => withNote("a not").read({ ...ROW })).toThrow("do not belong together");
  expect(() => withNote().read({ ...ROW })).toThrow("what is noted of it is lost");
  expect([withNote("a note"), withNote("a not"), withNote()].map((of) => of.hasOtherNote(ROW))).toEqual([
    false,
    true,
    false,
  ]);
  heads.write(ROW, ROW, HEAD);
  expect(() => withNote("a note").read({ ...ROW })).toThrow("nothing was noted of it");
  expect(withNote("a note").hasOtherNote(ROW)).toBe(false);
  sql.close();
});

test("a head that is gone, or has another length, is told as that", () => {
  const { sql, heads } = made();
  heads.write(ROW, ROW, HEAD);
  sql.run("UPDATE head SET bytes = substr(bytes, 1, 39) WHERE partition = ?", ROW.number);
  expect(() => heads.read(ROW)).toThrow("its head is not what was written");
  heads.remove(ROW);
  expect(() => heads.read(ROW)).toThrow("what it consists of is missing");
  sql.run("DELETE FROM head");
  expect(() => heads.bucket()).toThrow("what the bucket consists of is missing");
  sql.close();
});

test("the heads of rows as they are now are written for each partition", () => {
  const { sql, heads } = made();
  for (const number of [3, 11]) sql.run("INSERT INTO partition VALUES (?, ?, ?)", number, `g:${number}`, 1);
  heads.derive(5);
  for (const number of [3, 11]) expect(heads.read({ number, key: `g:${number}`, application: 1 })).toEqual(EMPTY);
  expect(heads.bucket()).toEqual({ partitions: 2, changes: 5 });
  sql.close();
});

test("marks are the same when both of their halves are", () => {
  const mark = { high: 1, low: 2 };
  expect(equalMarks(mark, { ...mark })).toBe(true);
  for (const other of [{ high: 1 }, { low: 2 }]) expect(equalMarks(mark, { high: 8, low: 9, ...other })).toBe(false);
});
