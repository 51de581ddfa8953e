/**
 * What is noted of partitions, beside what is stored in them: few have a note, so all are kept in memory. The table is made with the
 * first of them.
 */
import type { Sql } from "./sql.ts";
import { createNotes, hasNotes } from "./tables.ts";

/** A partition that has a note, or a name that none has of which nothing is noted. */
export interface NotedPartition {
  readonly key: string;
  /** Nothing: it is lost. */
  readonly note: string | undefined;
  /** Neither operations nor segments are stored of it. */
  readonly isEmpty: boolean;
}

/** What stands in the names of partitions that always have a note. */
const MARK = 1;

/** The notes of a bucket as they are stored, with the partitions that lack theirs. */
export function notedPartitions(sql: Sql): readonly NotedPartition[] {
  const text = hasNotes(sql) ? "(SELECT text FROM note WHERE partition = number)" : "NULL";
  const isEmpty =
    "NOT EXISTS (SELECT 1 FROM operation WHERE partition = partition.number) AND NOT EXISTS (SELECT 1 FROM segment WHERE partition = partition.number)";
  const statement = `SELECT key, ${text} AS text, ${isEmpty} AS isEmpty FROM partition WHERE text IS NOT NULL OR instr(key, char(?)) > 0 ORDER BY number`;
  return sql
    .all<{ key: string; text: string | null; isEmpty: number }>(statement, MARK)
    .map(({ key, text: note, isEmpty: empty }) => ({ key, note: note ?? undefined, isEmpty: empty === 1 }));
}

/** The notes of one bucket. */
export class Notes {
  readonly #sql: Sql;
  readonly #known: Map<string, string>;
  #isMade: boolean;

  constructor(sql: Sql) {
    this.#sql = sql;
    this.#isMade = hasNotes(sql);
    const statement = "SELECT key, text FROM note JOIN partition ON partition.number = note.partition";
    const rows = this.#isMade ? sql.all<{ key: string; text: string }>(statement) : [];
    this.#known = new Map(rows.map(({ key, text }) => [key, text]));
  }

  /** What is noted of a partition. */
  of(key: string): string | undefined {
    return this.#known.get(key);
  }

  /** Writes a note, within a transaction. */
  write(partition: number, note: string): void {
    if (!hasNotes(this.#sql)) createNotes(this.#sql);
    this.#sql.run("INSERT OR REPLACE INTO note (partition, text) VALUES (?, ?)", partition, note);
  }

  /** The transaction that wrote a note is committed. */
  written(key: string, note: string): void {
    this.#isMade = true;
    this.#known.set(key, note);
  }

  /** Removes the note of a partition, within a transaction. */
  erase(partition: number): void {
    if (this.#isMade) this.#sql.run("DELETE FROM note WHERE partition = ?", partition);
  }

  /** The transaction that removed a note is committed. */
  erased(key: string): void {
    this.#known.delete(key);
  }
}
