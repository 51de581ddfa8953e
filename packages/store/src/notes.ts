/**
 * What is noted of partitions, beside what is stored in them: few have a note, so all are kept in memory. The table is made with the
 * first of them.
 */
import type { Sql } from "./sql.ts";
import { createNotes, hasNotes } from "./tables.ts";

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
