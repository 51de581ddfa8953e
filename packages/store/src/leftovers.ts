/** What an earlier process, or an earlier application, left in a bucket. */
import { ERASED } from "./partition-store.ts";
import type { Sql } from "./sql.ts";

/** Whether a bucket has partitions that were last written with an earlier application than this. */
export function hasPartitionBefore(sql: Sql, application: number): boolean {
  return sql.all("SELECT 1 FROM partition WHERE application < ? LIMIT 1", application).length > 0;
}

/** Whether a bucket has something of erased partitions left. */
export function hasErased(sql: Sql): boolean {
  return sql.all("SELECT 1 FROM segment WHERE partition = ? LIMIT 1", ERASED).length > 0;
}
