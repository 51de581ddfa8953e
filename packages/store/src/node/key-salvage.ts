/**
 * The check of a file of keys, and its salvage where pages are damaged: a key that any page still has, and that is what was wrapped for
 * its name, is one. Of which groups there were others nothing tells but what is stored of them.
 */
import { renameSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import type { OpenSql } from "../sql.ts";
import { StoreError, type StoreErrorKind } from "../store-error.ts";
import { pageProblems, type SalvagedKeys } from "./bucket-check.ts";
import { syncDirectory, syncFile } from "./durable-files.ts";
import { type DirectoryKey, isWrapped, KEY_PAGE_BYTES, openKeyFile } from "./group-keys.ts";
import { keepFiles } from "./kept-files.ts";
import { PageFile } from "./page-file.ts";

interface KeyRow {
  readonly name: Uint8Array;
  readonly wrapped: Uint8Array;
}

/** What says nothing of what is in a file. */
const PASSING: readonly StoreErrorKind[] = ["full", "readonly", "busy"];
/** How the record of a key looks, which stands in an index as all of its table do. */
const SHAPE = "bb";
const ENDINGS = ["", "-wal", "-shm"];

/** What of a file of keys is not as it was written. */
export function keyProblems(path: string, key: DirectoryKey, openSql: OpenSql): readonly string[] {
  const told = (what: string): string => `${path}: ${what}`;
  try {
    const sql = openKeyFile(path, openSql);
    try {
      const problems = pageProblems(sql);
      if (problems.length > 0) return problems.map(told);
      const rows = sql.all<KeyRow>("SELECT name, wrapped FROM key");
      const others = rows.filter(({ name, wrapped }) => !isWrapped(key, name, wrapped)).length;
      return others === 0 ? [] : [told(`${others} of ${rows.length} keys are not what was written`)];
    } finally {
      sql.close();
    }
  } catch (error) {
    if (!(error instanceof StoreError) || PASSING.includes(error.kind)) throw error;
    return [told(error.message)];
  }
}

/** Writes a file of keys anew, which nobody has open; nothing: no page of it has a key of this directory, and it stays as it is. */
export function salvageKeys(
  path: string,
  key: DirectoryKey,
  openSql: OpenSql,
  stamp: string,
): SalvagedKeys | undefined {
  const pages = new PageFile(path, KEY_PAGE_BYTES);
  try {
    const rows = keysIn(pages, key);
    if (rows.length === 0) return undefined;
    const fresh = freshFile(path, openSql, rows);
    const kept = keepFiles([path, `${path}-wal`], stamp);
    // Where the power goes here, the file has what its log had.
    pages.moveLog();
    renameSync(fresh, path);
    syncDirectory(dirname(path));
    return { file: path, keys: rows.length, kept };
  } finally {
    pages.close();
  }
}

/** The keys that pages have, each once. */
function keysIn(pages: PageFile, key: DirectoryKey): readonly KeyRow[] {
  const found = new Map<string, KeyRow>();
  for (let page = 1; page <= pages.pages; page += 1) {
    for (const cell of pages.cells(page)) {
      const [name, wrapped] = (cell.shape === SHAPE && pages.values(cell)) || [];
      if (name instanceof Uint8Array && wrapped instanceof Uint8Array && isWrapped(key, name, wrapped))
        found.set(Buffer.from(name).toString("hex"), { name, wrapped });
    }
  }
  return [...found.values()];
}

/** Makes a file of keys beside its place, where it is on stable storage then; nothing is left of one that fails. */
function freshFile(path: string, openSql: OpenSql, rows: readonly KeyRow[]): string {
  const fresh = `${path}.new`;
  const clear = (): void => {
    for (const ending of ENDINGS) rmSync(`${fresh}${ending}`, { force: true });
  };
  clear();
  const sql = openKeyFile(fresh, openSql);
  try {
    sql.transaction(() => {
      for (const { name, wrapped } of rows) sql.run("INSERT INTO key (name, wrapped) VALUES (?, ?)", name, wrapped);
    });
    sql.checkpoint?.(true);
    sql.close();
    syncFile(fresh);
    return fresh;
  } catch (error) {
    sql.close();
    clear();
    throw error;
  }
}
