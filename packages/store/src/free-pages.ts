/** The pages of a bucket that nothing stands in: they are given back to the device, a few at a time. */
import type { Sql } from "./sql.ts";

/** What SQLite calls a file whose free pages can be given back a few at a time. */
const INCREMENTAL = 2;
/** So many free pages are kept for what comes … */
const FREE_PAGES_MIN = 64;
/** … or this part of the file. */
const FREE_SHARE = 12;

/** Gives back about so many bytes of a file, if more is free than is kept. Whether any were given. */
export function givePagesBack(sql: Sql, bytesMax: number): boolean {
  const [free, pages] = [pragma(sql, "freelist_count"), pragma(sql, "page_count")];
  const isIncremental = pragma(sql, "auto_vacuum") === INCREMENTAL;
  if (!isIncremental || free < FREE_PAGES_MIN || free * FREE_SHARE < pages) return false;
  const given = Math.min(free, Math.ceil(bytesMax / pragma(sql, "page_size")));
  // One page each: libraries take a statement without rows for done after its first step.
  sql.transaction(() => {
    for (let page = 0; page < given; page += 1) sql.run("PRAGMA incremental_vacuum(1)");
  });
  return pragma(sql, "freelist_count") < free;
}

function pragma(sql: Sql, name: "auto_vacuum" | "freelist_count" | "page_count" | "page_size"): number {
  const row = sql.all<Record<string, number>>(`PRAGMA ${name}`)[0];
  return row?.[name] ?? 0;
}
