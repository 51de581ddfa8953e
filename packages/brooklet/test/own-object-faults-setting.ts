/**
 * A database in somebody's own object whose storage fails at one use of all that something makes of it, with what is known of its documents: what was
 * acknowledged is there, what was refused may be or may not be, until it was read once.
 */
import { durableObject, isUnsettled } from "@brooklet/store";
import { expect, vi } from "vitest";
import { PossibleDocuments, type Value } from "../../partition/test/possible-documents.ts";
import { BrookletError, int, type ObjectDatabase, openIn, schema, text } from "../src/durable-object.ts";
import { StandInStorage } from "./object-storage.ts";

/** The table of the group. */
const TABLE = `brooklet_${Buffer.from("g:me").toString("hex")}`;
/** What a platform says. */
const RAW = "reference 4f1d";
/** After so long what failed is tried again. */
const LATER_MS = 40_000;

/** What is stored. */
export const NOTE = schema("note", { title: text(), n: int() });
/** The same with a field more. */
export const WITH_TAG = schema("note", { title: text(), n: int(), tag: text().optional() });

/** What is done with a storage: a statement, the commit of a transaction, and the end of it. */
type Use = "statement" | "commit" | "committed";

/** A use of the storage, and the statement where it is one. */
export type StorageUse = readonly [use: Use, statement: string];

/** How a storage fails. */
export interface Fault {
  readonly name: string;
  /** Every use from then on fails, until the object is opened anew. */
  readonly lasts: boolean;
  /** Whether a use fails so at all. */
  readonly isOf: (use: StorageUse) => boolean;
  readonly error: () => Error;
}

const isWriting = ([use, statement]: StorageUse): boolean =>
  use === "commit" || (use === "statement" && !/^(SELECT|DELETE|DROP)/.test(statement.trim()));

/** All of them. */
export const FAULTS: readonly Fault[] = [
  {
    name: "the device fails once",
    lasts: false,
    isOf: () => true,
    error: () => new Error(`disk I/O error (${RAW}): SQLITE_IOERR`),
  },
  {
    name: "the database is full once",
    lasts: false,
    isOf: isWriting,
    error: () => new Error(`database or disk is full (${RAW}): SQLITE_FULL`),
  },
  {
    name: "the platform fails once",
    lasts: false,
    isOf: () => true,
    error: () => new Error(`internal error; ${RAW}`),
  },
  {
    name: "the platform fails until the object is opened anew",
    lasts: true,
    isOf: () => true,
    error: () => new Error(`internal error; ${RAW}`),
  },
];

/** An object with a database. */
export class FaultyObject {
  /** What is stored, which stays when an object loses its memory. */
  readonly #stored = new StandInStorage();
  #session = this.#newSession();
  #opened: Promise<ObjectDatabase> | undefined;
  #schema = NOTE as typeof NOTE | typeof WITH_TAG;
  #using: ((...use: StorageUse) => void) | undefined;
  readonly #documents = new PossibleDocuments();
  readonly #uses: StorageUse[] = [];
  #passedMs = 0;
  readonly #end: () => void;
  /** What callers were told. */
  readonly refusals: BrookletError[] = [];
  /** The use that failed. */
  failed: StorageUse | undefined;

  constructor() {
    const now = performance.now.bind(performance);
    const spy = vi.spyOn(performance, "now").mockImplementation(() => now() + this.#passedMs);
    this.#end = () => spy.mockRestore();
  }

  [Symbol.dispose](): void {
    this.#end();
  }

  /** The storage as one session has it: what is out of memory writes nothing any more. */
  #newSession(): StandInStorage {
    const check = (...use: StorageUse): void => {
      if (this.#session !== session) throw new Error("the object is out of memory");
      this.#using?.(...use);
    };
    const stored = this.#stored;
    const session = Object.assign(Object.create(stored) as StandInStorage, {
      sql: {
        exec: (statement: string, ...bindings: unknown[]) => {
          check("statement", statement);
          return stored.sql.exec(statement, ...bindings);
        },
      },
      transactionSync: <Result>(work: () => Result): Result => {
        const result = stored.transactionSync(() => {
          const done = work();
          check("commit", "");
          return done;
        });
        check("committed", "");
        return result;
      },
    });
    return session;
  }

  /** Has uses be noted from here on; none fails. */
  note(): readonly StorageUse[] {
    this.#using = (...use) => void this.#uses.push(use);
    return this.#uses;
  }

  /** Has the storage fail at this use of all from here on that fail so. */
  arm(fault: Fault, at: number): void {
    let count = 0;
    this.failed = undefined;
    this.#using = (...use) => {
      if (this.failed === undefined ? fault.isOf(use) && ++count === at : fault.lasts) {
        this.failed ??= use;
        throw fault.error();
      }
    };
  }

  /** Nothing fails from here on. */
  disarm(): void {
    this.#using = undefined;
  }

  /** Opens everything anew that is in memory. */
  reopen(): void {
    this.disarm();
    this.#session = this.#newSession();
    this.#opened = undefined;
  }

  /** Time passes after which what failed is tried again. */
  later(): void {
    this.#passedMs += LATER_MS;
    vi.setSystemTime(Date.now() + LATER_MS);
  }

  /** Opens it as its owner does: again where that failed. */
  #database(): Promise<ObjectDatabase> {
    this.#opened ??= openIn(this.#session, { schemas: [this.#schema] }).catch((error: unknown) => {
      this.#opened = undefined;
      throw error;
    });
    return this.#opened;
  }

  async #group() {
    return (await this.#database()).group("me");
  }

  /** Opens it with these schemas. */
  async open(of: typeof NOTE | typeof WITH_TAG = NOTE): Promise<void> {
    this.#schema = of;
    this.#session = this.#newSession();
    this.#opened = undefined;
    await this.#asked(async () => void (await this.#database()));
  }

  async put(id: string, n: number): Promise<void> {
    await this.#write(id, n, async () => void (await (await this.#group()).put(NOTE, id, { title: "river", n })));
  }

  async update(id: string, n: number): Promise<void> {
    await this.#write(id, n, async () => void (await (await this.#group()).update(NOTE, id, { n: { assign: n } })));
  }

  async remove(id: string): Promise<void> {
    await this.#write(id, undefined, async () => (await this.#group()).remove(NOTE, id));
  }

  async feed(ids: readonly string[], n: number): Promise<void> {
    const told = new Set<string>();
    const group = await this.#group().catch((error: unknown) => this.#refused(error));
    const operations = ids.map((id) => ({ id, fields: { title: "river", n } }));
    if (group === undefined) return;
    for await (const outcome of group.feed(NOTE, operations)) {
      told.add(outcome.id);
      await this.#write(outcome.id, n, async () => {
        if (!outcome.ok) throw outcome.error;
      });
    }
    expect([...told].sort()).toEqual([...ids].sort());
  }

  async erase(): Promise<void> {
    const isDone = await this.#asked(async () => void (await (await this.#group()).erase()));
    this.#documents.erase(isDone);
  }

  /** What an alarm does. */
  async rest(): Promise<void> {
    this.later();
    await this.#asked(async () => void (await (await this.#database()).rest()));
  }

  /** Rests until there is nothing to do. */
  async settle(): Promise<void> {
    for (let round = 0; round < 4; round += 1) await this.rest();
    const database = await this.#database();
    expect([database.isRestless, database.restsAt]).toEqual([false, undefined]);
    expect(isUnsettled(durableObject(this.#stored), TABLE), "something is left to be folded").toBe(false);
  }

  async #write(id: string, value: Value, work: () => Promise<void>): Promise<void> {
    try {
      await work();
      this.#documents.write(id, value, "applied");
    } catch (error) {
      this.#refused(error);
      const isKnown = (error as BrookletError).outcome === "not_applied";
      this.#documents.write(id, value, isKnown ? "not_applied" : "unknown");
    }
  }

  #refused(error: unknown): undefined {
    expect(error, "what a caller is told").toBeInstanceOf(BrookletError);
    const { code, message } = error as BrookletError;
    expect(["STORE_FAILED", "INSUFFICIENT_STORAGE", "UNAVAILABLE", "INTERNAL", "CANNOT_START", "OVERLOADED"]).toContain(
      code,
    );
    expect(message).not.toBe("");
    this.refusals.push(error as BrookletError);
  }

  async #asked(work: () => Promise<void>): Promise<boolean> {
    try {
      await work();
      return true;
    } catch (error) {
      this.#refused(error);
      return false;
    }
  }

  /** Reads everything in every way. `mayFail`: a storage fails, of which the caller is told; what is told is right all the same. */
  async look(mayFail: boolean): Promise<void> {
    for (const one of [() => this.#get(), () => this.#search(), () => this.#visit()]) {
      if (mayFail) await this.#asked(one);
      else await one();
    }
  }

  async #get(): Promise<void> {
    const group = await this.#group();
    const found = new Map<string, unknown>();
    for (const id of this.#documents.ids) found.set(id, (await group.get(NOTE, id))?.n);
    this.#documents.read(found);
  }

  async #search(): Promise<void> {
    const { hits, totalCount } = await (await this.#group()).search(NOTE, { limit: 400 });
    expect(totalCount).toBe(hits.length);
    this.#documents.readAll(hits.map(({ id, fields }) => [id, fields.n]));
  }

  async #visit(): Promise<void> {
    const all: [string, Value][] = [];
    for await (const { id, document } of (await this.#group()).visit(NOTE)) all.push([id, document.n]);
    this.#documents.readAll(all);
  }

  /** The groups that there are. */
  async groups(): Promise<readonly string[]> {
    const names: string[] = [];
    for await (const name of (await this.#database()).groups()) names.push(name);
    return names;
  }
}
