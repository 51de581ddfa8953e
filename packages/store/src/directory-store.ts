/** Which groups there are, where each has a database of its own: their keys, and a number each has for good. */
import type { NumberedKey } from "./partitions.ts";
import type { Sql } from "./sql.ts";

const TABLE = "CREATE TABLE brooklet_group (number INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT NOT NULL UNIQUE) STRICT";

/** A directory of keys. Nothing is written before there is one. */
export class DirectoryStore {
  readonly #sql: Sql;
  #exists: boolean;

  constructor(sql: Sql) {
    this.#sql = sql;
    this.#exists = sql.all("SELECT 1 FROM sqlite_schema WHERE name = 'brooklet_group'").length > 0;
  }

  /** The number of a key, which it is given if it has none. A number is never given again. */
  add(key: string): number {
    const known = this.#numberOf(key);
    if (known !== undefined) return known;
    this.#sql.transaction(() => {
      if (!this.#exists) this.#sql.run(TABLE);
      this.#sql.run("INSERT INTO brooklet_group (key) VALUES (?)", key);
    });
    this.#exists = true;
    return this.#numberOf(key) ?? 0;
  }

  /** Forgets a key. One that is not known is no mistake. */
  remove(key: string): void {
    if (this.#exists) this.#sql.run("DELETE FROM brooklet_group WHERE key = ?", key);
  }

  /** Keys in the order of their numbers, from `number` on. */
  from(number: number, limit: number): NumberedKey[] {
    if (!this.#exists) return [];
    const statement = "SELECT number, key FROM brooklet_group WHERE number >= ? ORDER BY number LIMIT ?";
    return this.#sql.all<NumberedKey>(statement, number, limit);
  }

  #numberOf(key: string): number | undefined {
    if (!this.#exists) return undefined;
    return this.#sql.all<{ number: number }>("SELECT number FROM brooklet_group WHERE key = ?", key)[0]?.number;
  }
}
