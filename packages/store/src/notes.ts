/**
 * What is noted of partitions, beside what is stored in them: few have a note, so all are kept in memory. The table is made with the
 * first of them. That a note is the one that was written last is told by the head of its partition (`heads.ts`).
 */
import type { Sql } from "./sql.ts";

/**
 * A table that a bucket gets with the first note: what is noted of a partition says what it has, so a release that knows no notes must
 * not read it, and refuses the bucket for a table that it does not know.
 */
export const NOTES = ["note", "CREATE TABLE note (partition INTEGER PRIMARY KEY, text TEXT NOT NULL) STRICT"] as const;
/** How long the head of a partition is that has a note. */
export const NOTED_HEAD_BYTES = 48;

/** A partition that has a note, or has to have one. */
export interface NotedPartition {
  readonly key: string;
  /** Nothing: it is lost. */
  readonly note: string | undefined;
  /** Neither operations nor segments are stored of it. */
  readonly isEmpty: boolean;
}

/** What stands in the names of partitions that always have a note. */
const MARK = 1;

/** Whether anything was ever noted of a partition of a bucket. */
export function hasNotes(sql: Sql): boolean {
  return sql.all("SELECT 1 FROM sqlite_schema WHERE name = ?", NOTES[0]).length > 0;
}

/** Makes the table of notes. */
export function createNotes(sql: Sql): void {
  sql.run(NOTES[1]);
}

/** Whether a partition of this name has a note as long as it is there. */
export function alwaysHasNote(key: string): boolean {
  return key.includes(String.fromCharCode(MARK));
}

/** What is noted of partitions, by their keys, as it is stored now. */
export function storedNotes(sql: Sql): ReadonlyMap<string, string> {
  const statement = "SELECT key, text FROM note JOIN partition ON partition.number = note.partition";
  const rows = hasNotes(sql) ? sql.all<{ key: string; text: string }>(statement) : [];
  return new Map(rows.map(({ key, text }) => [key, text]));
}

/** The notes of a bucket as they are stored, with the partitions that lack theirs. */
export function notedPartitions(sql: Sql): readonly NotedPartition[] {
  const text = hasNotes(sql) ? "(SELECT text FROM note WHERE partition = number)" : "NULL";
  const isEmpty =
    "NOT EXISTS (SELECT 1 FROM operation WHERE partition = partition.number) AND NOT EXISTS (SELECT 1 FROM segment WHERE partition = partition.number)";
  const isNoted = "(SELECT length(bytes) FROM head WHERE head.partition = number) = ?";
  const statement = `SELECT key, ${text} AS text, ${isEmpty} AS isEmpty FROM partition WHERE text IS NOT NULL OR instr(key, char(?)) > 0 OR ${isNoted} ORDER BY number`;
  return sql
    .all<{ key: string; text: string | null; isEmpty: number }>(statement, MARK, NOTED_HEAD_BYTES)
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
    this.#known = new Map(storedNotes(sql));
  }

  /** What is noted of a partition. */
  get(key: string): string | undefined {
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
