/** What an earlier process, or an earlier application, left in a bucket. */
import { ERASED } from "./partition-store.ts";
import type { Sql } from "./sql.ts";

/** Whether a bucket has partitions that were last written with an earlier application than this. */
export function hasPartitionBefore(sql: Sql, application: number): boolean {
  return sql.all("SELECT 1 FROM partition WHERE application < ? LIMIT 1", application).length > 0;
}

/** What notes of keys are called that have to be destroyed, before the name of the partition. */
const KEY_NOTE = "key:";
const OF_KEYS = "name >= 'key:' AND name < 'key;'";

/** Whether a bucket has something of erased partitions left, or their keys are. */
export function hasErased(sql: Sql): boolean {
  const isLeft = sql.all("SELECT 1 FROM segment WHERE partition = ? LIMIT 1", ERASED).length > 0;
  return isLeft || leftKeys(sql).length > 0;
}

/** Notes that the key of a partition is to be destroyed, whatever becomes of this process. */
export function noteLeftKey(sql: Sql, partition: string): void {
  sql.run("INSERT OR REPLACE INTO about (name, value) VALUES (?, 1)", `${KEY_NOTE}${partition}`);
}

/** The partitions whose keys are to be destroyed. */
export function leftKeys(sql: Sql): string[] {
  const rows = sql.all<{ name: string }>(`SELECT name FROM about WHERE ${OF_KEYS}`);
  return rows.map(({ name }) => name.slice(KEY_NOTE.length));
}

/** Forgets that they were to be destroyed: they are. */
export function forgetLeftKeys(sql: Sql): void {
  sql.transaction(() => sql.run(`DELETE FROM about WHERE ${OF_KEYS}`));
}
