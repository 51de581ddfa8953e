/**
 * Which groups there are, where each has a database of its own: their keys, and a number each has for good. A key is one row, for
 * rows are paid: its number is made of its hash, so that neither an index nor a counter is needed to find it.
 */
/// <reference path="./siphash.d.ts" />
import SipHash from "siphash";
import type { NumberedKey } from "./partitions.ts";
import type { Sql } from "./sql.ts";

const TABLE = "CREATE TABLE brooklet_key (number INTEGER PRIMARY KEY, key TEXT NOT NULL) STRICT";

/** Numbers of one hash: keys that have the same stand beside each other. */
const PLACES = 256;
/** Numbers begin here, after those that earlier releases counted up. */
const FIRST: number = 2 ** 51;
/** How many hashes there are: 43 bits. */
const LOW_BITS = 11;
/** The row of the fence, before those of all keys. */
const FENCE = -1;

/** A directory of keys. Nothing is written before there is one. */
export class DirectoryStore {
  readonly #sql: Sql;
  readonly #hashOf: (key: string) => number;
  /** Whether there is a table; nothing: a transaction that makes it failed, and may have made it. */
  #known: boolean | undefined;
  /** The number of the last application of which every group has to know that comes here. */
  #fence = 0;
  /** The table of earlier releases. What is in it stays there, with its number; nothing is added. */
  readonly #hasEarlier: boolean;

  /** `hashOf` gives a number from 0 to 2^43 - 1 for a key, always the same. */
  constructor(sql: Sql, hashOf: (key: string) => number = hashOfKey) {
    this.#sql = sql;
    this.#hashOf = hashOf;
    this.#known = hasTable(sql, "brooklet_key");
    this.#hasEarlier = hasTable(sql, "brooklet_group");
    if (this.#exists) this.#fence = this.#storedFence();
  }

  /** One that is damaged is none: the next deployment that needs it raises it. */
  #storedFence(): number {
    const [row] = this.#sql.all<NumberedKey>("SELECT key FROM brooklet_key WHERE number = ?", FENCE);
    const fence = Number(row?.key ?? 0);
    return Number.isSafeInteger(fence) ? fence : 0;
  }

  /** The number of a key, which it is given if it has none. It is never another key's while this one is there. */
  add(key: string): number {
    const earlier = this.#earlierNumber(key);
    if (earlier !== undefined) return earlier;
    const first = this.#firstPlace(key);
    const there = this.#neighbours(first);
    const known = there.find((one) => one.key === key);
    if (known !== undefined) return known.number;
    // One that is none of a key is what is left of this one.
    const own = there.filter((one) => this.#firstPlace(one.key) === first);
    const taken = new Set(own.map(({ number }) => number));
    let number = there.find((one) => !taken.has(one.number))?.number ?? first;
    while (taken.has(number)) number += 1;
    if (number >= first + PLACES) throw new Error(`more than ${PLACES} keys have the hash of '${key}'`);
    this.#write(number, key);
    return number;
  }

  /** Raises the fence to a number, if it is lower. What it is. */
  fence(number: number): number {
    if (number > this.#fence) {
      this.#write(FENCE, String(number));
      this.#fence = number;
    }
    return this.#fence;
  }

  /** Forgets a key. One that is not known is no mistake. A row at its place that is none of a key goes with it: it may be what is left of this one. */
  remove(key: string): void {
    const earlier = this.#earlierNumber(key);
    if (earlier !== undefined) this.#sql.run("DELETE FROM brooklet_group WHERE number = ?", earlier);
    const first = this.#firstPlace(key);
    for (const { number, key: other } of this.#neighbours(first))
      if (other === key || this.#firstPlace(other) !== first)
        this.#sql.run("DELETE FROM brooklet_key WHERE number = ?", number);
  }

  /** Keys in the order of their numbers, from `number` on. */
  from(number: number, limit: number): NumberedKey[] {
    const select = (table: string, most: number): NumberedKey[] =>
      this.#sql.all(`SELECT number, key FROM ${table} WHERE number >= ? ORDER BY number LIMIT ?`, number, most);
    const earlier = this.#hasEarlier && number < FIRST ? select("brooklet_group", limit) : [];
    const left = limit - earlier.length;
    return this.#exists && left > 0 ? [...earlier, ...select("brooklet_key", left)] : earlier;
  }

  #write(number: number, key: string): void {
    const exists = this.#exists;
    this.#known = undefined;
    this.#sql.transaction(() => {
      if (!exists) this.#sql.run(TABLE);
      this.#sql.run("INSERT OR REPLACE INTO brooklet_key (number, key) VALUES (?, ?)", number, key);
    });
    this.#known = true;
  }

  get #exists(): boolean {
    this.#known ??= hasTable(this.#sql, "brooklet_key");
    return this.#known;
  }

  #firstPlace(key: string): number {
    return firstPlaceOf(key, this.#hashOf);
  }

  /** What is listed with the hash that has its places from `first` on. */
  #neighbours(first: number): NumberedKey[] {
    if (!this.#exists) return [];
    const statement = "SELECT number, key FROM brooklet_key WHERE number BETWEEN ? AND ?";
    return this.#sql.all<NumberedKey>(statement, first, first + PLACES - 1);
  }

  #earlierNumber(key: string): number | undefined {
    if (!this.#hasEarlier) return undefined;
    return this.#sql.all<{ number: number }>("SELECT number FROM brooklet_group WHERE key = ?", key)[0]?.number;
  }
}

/** Whether a key is the one that was listed with its number: another one is damaged, and which group it was of nobody knows. */
export function isListedKey({ number, key }: NumberedKey): boolean {
  const place = number - firstPlaceOf(key, hashOfKey);
  // The numbers of earlier releases say nothing of their keys.
  return number < FIRST || (place >= 0 && place < PLACES);
}

function firstPlaceOf(key: string, hashOf: (key: string) => number): number {
  return FIRST + hashOf(key) * PLACES;
}

function hasTable(sql: Sql, name: string): boolean {
  return sql.all("SELECT 1 FROM sqlite_schema WHERE name = ?", name).length > 0;
}

/** Part of what is stored: it never changes. */
const HASH_KEY: Uint32Array = new Uint32Array([0x62726f6f, 0x6b6c6574, 0x67726f75, 0x70730001]);

function hashOfKey(key: string): number {
  const { h: high, l: low } = SipHash.hash(HASH_KEY, new TextEncoder().encode(key));
  return (high >>> 0) * 2 ** LOW_BITS + (low >>> (32 - LOW_BITS));
}
