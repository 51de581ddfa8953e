/** A database in an object, over a stand-in of its storage: opened more than once, and again where that failed. */
import Database from "better-sqlite3";
import { expect, onTestFinished, test, vi } from "vitest";
import { BrookletError, int, openIn, schema, string, text, timestamp } from "../src/durable-object.ts";
import { StandInStorage } from "./object-storage.ts";

const HOUR_MS = 3_600_000;
const note = schema("note", { body: text(), n: int() });

test("databases of one storage lose nothing that the others wrote, and close apart", async () => {
  const storage = new StandInStorage();
  const both = await Promise.all([openIn(storage, { schemas: [note] }), openIn(storage, { schemas: [note] })]);
  const put = async (at: number, id: number): Promise<void> => {
    await both[at % 2]?.group("me").put(note, `${id}`, { body: `number ${id}`, n: id });
  };
  for (let n = 0; n < 6; n += 1) await put(n, n);
  await both[0].close();
  await put(1, 6);
  const third = await openIn(storage, { schemas: [note] });
  expect([await both[1].group("me").count(note), await third.group("me").count(note)]).toEqual([7, 7]);
  await Promise.all([both[1].close(), third.close()]);
  // From what is stored, as nobody has it in memory.
  const last = await openIn(storage, { schemas: [note] });
  for (let n = 0; n < 7; n += 1) expect(await last.group("me").get(note, `${n}`)).toMatchObject({ n });
  await last.close();
});

test("an object whose schemas were refused opens with others, and writes beside who had it open", async () => {
  const storage = new StandInStorage();
  const first = await openIn(storage, { schemas: [note] });
  await first.group("me").put(note, "1", { body: "red", n: 1 });
  const other = schema("note", { body: text(), n: text() });
  await expect(openIn(storage, { schemas: [other] })).rejects.toThrow("The schemas were not deployed");
  const again = await openIn(storage, { schemas: [note] });
  await again.group("me").put(note, "2", { body: "red", n: 2 });
  await first.group("me").put(note, "3", { body: "red", n: 3 });
  expect(await again.group("me").count(note)).toBe(3);
  await Promise.all([first.close(), again.close()]);
});

/** A storage of which statements fail that begin so, once that is wanted. */
function failingStorage(message: string, begins: RegExp): StandInStorage & { isFailing: boolean } {
  const storage = Object.assign(new StandInStorage(), { isFailing: false });
  const { exec } = storage.sql;
  storage.sql.exec = (statement, ...bindings) => {
    if (storage.isFailing && begins.test(statement)) throw new Error(message);
    return exec(statement, ...bindings);
  };
  return storage;
}

const FAILURES = [
  ["database or disk is full: SQLITE_FULL", "INSUFFICIENT_STORAGE", "The storage is full"],
  ["disk I/O error: SQLITE_IOERR", "STORE_FAILED", "The storage failed"],
  ["database disk image is malformed: SQLITE_CORRUPT", "STORE_CORRUPT", "The stored data is damaged"],
] as const;

test.each(FAILURES)(
  "what the storage says is told with its code wherever it says it: %s",
  async (said, code, words) => {
    const told = (error: unknown): void => {
      expect(BrookletError.is(error)).toBe(true);
      expect(error).toMatchObject({ code, message: expect.stringContaining(words) });
      expect(String((error as Error & { cause: Error }).cause)).toContain(said);
    };
    for (const begins of [/^SELECT/, /^(?!SELECT)/]) {
      const storage = failingStorage(said, begins);
      storage.isFailing = true;
      await openIn(storage, { schemas: [note] }).then(() => expect.unreachable(), told);
      // It opens once that is over.
      storage.isFailing = false;
      await (await openIn(storage, { schemas: [note] })).close();
    }
    const storage = failingStorage(said, /^(INSERT|DELETE|DROP)/);
    const database = await openIn(storage, { schemas: [note] });
    await database.group("me").put(note, "1", { body: "red", n: 1 });
    storage.isFailing = true;
    await database.rest().then(() => expect.unreachable(), told);
    const erasure = { code, outcome: "unknown" };
    await expect(database.group("me").erase()).rejects.toMatchObject(erasure);
    await database.close();
    // It looks for what did not rest.
    const looking = failingStorage(said, /^SELECT number, key/);
    await (await openIn(looking, { schemas: [note] })).group("me").put(note, "1", { body: "red", n: 1 });
    const next = await openIn(looking, { schemas: [note] });
    looking.isFailing = true;
    for (const ask of [() => next.restsAt, () => next.isRestless]) {
      let thrown: unknown;
      try {
        ask();
      } catch (error) {
        thrown = error;
      }
      told(thrown);
    }
  },
);

test("what a plan allows no more of that day is asked once, one by one and in a feed", async () => {
  const storage = failingStorage("Exceeded allowed rows written in Durable Objects free tier.", /^INSERT/);
  const { exec } = storage.sql;
  let inserts = 0;
  storage.sql.exec = (statement, ...bindings) => {
    if (storage.isFailing && statement.startsWith("INSERT")) inserts += 1;
    return exec(statement, ...bindings);
  };
  const database = await openIn(storage, { schemas: [note] });
  const group = database.group("me");
  await group.put(note, "1", { body: "red", n: 1 });
  storage.isFailing = true;
  const used = { code: "OVERLOADED", status: 507, outcome: "not_applied" };
  await expect(group.put(note, "2", { body: "red", n: 2 })).rejects.toMatchObject(used);
  expect(inserts).toBe(1);
  const told = [];
  for await (const outcome of group.feed(note, [{ id: "3", fields: { body: "red", n: 3 } }])) told.push(outcome);
  expect(told).toMatchObject([{ ok: false, error: used }]);
  expect(inserts).toBe(2);
  storage.isFailing = false;
  await group.put(note, "2", { body: "red", n: 2 });
  expect(await group.count(note)).toBe(2);
  await database.close();
});

test.each([
  [{}, "embedders is an object: give a list of embedders"],
  [[{}], "embedders is a list: give a list of embedders, each with its `id`"],
  [[{ id: "words", shape: "vector", embed: async () => [] }], "and the methods `embed` and `close`"],
  [[{ id: "words", shape: "vectors", embed: async () => [], close: async () => {} }], "its `shape` and the methods"],
])("embedders that are none are refused before anything is opened: %j", async (embedders, said) => {
  const options = { schemas: [note], models: { embedders: embedders as never } };
  await expect(openIn(new StandInStorage(), options)).rejects.toThrow(said);
});

test("an object runs no models of files, and says so of an option that names some", async () => {
  const options = { schemas: [note], models: { modelFolder: "./models" } as never };
  const refused = { code: "INVALID_ARGUMENT", message: "models has no option 'modelFolder'" };
  await expect(openIn(new StandInStorage(), options)).rejects.toMatchObject(refused);
});

test.each([
  ["nothing", undefined],
  ["the state of the object", { storage: new StandInStorage() }],
])("what is no storage is refused by name: %s", async (_, storage) => {
  const refused = { code: "INVALID_ARGUMENT", message: expect.stringContaining("openIn(ctx.storage,") };
  await expect(openIn(storage as never, { schemas: [note] })).rejects.toMatchObject(refused);
});

test("an object of a class without SQLite says how it gets it", async () => {
  const storage = {
    get sql(): never {
      throw new Error("SQL is not enabled for this Durable Object class.");
    },
    transactionSync: () => undefined,
  };
  const refused = { code: "CANNOT_START", message: expect.stringContaining("new_sqlite_classes") };
  await expect(openIn(storage as never, { schemas: [note] })).rejects.toMatchObject(refused);
});

test("an object whose owner deleted all that is stored is opened anew, with nothing in it", async () => {
  const storage = new StandInStorage();
  const first = await openIn(storage, { schemas: [note] });
  await first.group("me").put(note, "1", { body: "red", n: 1 });
  await storage.deleteAll();
  const second = await openIn(storage, { schemas: [note] });
  expect(await second.group("me").get(note, "1")).toBeUndefined();
  await second.group("me").put(note, "2", { body: "red", n: 2 });
  // One of before would write over what is there now.
  const closed = { code: "CLOSED" };
  await expect(first.group("me").put(note, "9", { body: "red", n: 9 })).rejects.toMatchObject(closed);
  await expect(first.rest()).rejects.toMatchObject(closed);
  // That it is let go of changes nothing for others.
  await first.close();
  const third = await openIn(storage, { schemas: [note] });
  await third.group("me").put(note, "3", { body: "red", n: 3 });
  expect([await second.group("me").count(note), await third.group("me").count(note)]).toEqual([2, 2]);
  await Promise.all([second.close(), third.close()]);
});

test("many long words of an attribute are stored, though their segment's header is longer than the platform takes a value", async () => {
  const storage = new StandInStorage();
  const { exec } = storage.sql;
  storage.sql.exec = (statement, ...bindings) => {
    const isLong = bindings.some((value) => value instanceof Uint8Array && value.length > 2 << 20);
    if (isLong) throw new Error("string or blob too big: SQLITE_TOOBIG");
    return exec(statement, ...bindings);
  };
  const page = schema("page", { address: string(), n: int() });
  const first = await openIn(storage, { schemas: [page] });
  const address = (n: number): string => `https://a.example/${n}?${"x".repeat(3_600)}`;
  const documents = Array.from({ length: 400 }, (_, n) => ({ id: `${n}`, fields: { address: address(n), n } }));
  expect(await first.group("me").feed(page, documents)).toMatchObject({ applied: documents.length });
  await first.group("me").remove(page, "7");
  await first.rest();
  await first.close();
  const second = await openIn(storage, { schemas: [page] });
  const group = second.group("me");
  expect([await group.count(page), (await group.get(page, "399"))?.address]).toEqual([399, address(399)]);
  const found = await group.search(page, { where: (it) => it.address.is(address(250)) });
  expect(found.hits.map(({ id }) => id)).toEqual(["250"]);
  const rows = () => storage.sql.exec("SELECT id FROM brooklet_673a6d65 WHERE id >= ?", 2 ** 52).toArray().length;
  expect(rows()).toBeGreaterThan(3);
  await group.clear();
  await second.rest();
  expect(rows()).toBeLessThanOrEqual(1);
  await second.close();
});

test("an object whose first write was rolled back by its owner says so, and is opened anew without it", async () => {
  const sqlite = new Database(":memory:");
  const storage = new StandInStorage(sqlite);
  const first = await openIn(storage, { schemas: [note] });
  const beside = await openIn(storage, { schemas: [note] });
  sqlite.exec("BEGIN");
  await first.group("me").put(note, "1", { body: "red", n: 1 });
  sqlite.exec("ROLLBACK");
  const lost = { code: "CLOSED", outcome: "not_applied", message: expect.stringContaining("was rolled back") };
  await expect(first.group("me").put(note, "2", { body: "red", n: 2 })).rejects.toMatchObject(lost);
  await expect(first.group("me").get(note, "1")).rejects.toMatchObject(lost);
  await expect(beside.group("me").count(note)).rejects.toMatchObject(lost);
  const second = await openIn(storage, { schemas: [note] });
  expect(await second.group("me").get(note, "1")).toBeUndefined();
  await second.group("me").put(note, "2", { body: "red", n: 2 });
  await Promise.all([first.close(), beside.close()]);
  const third = await openIn(storage, { schemas: [note] });
  expect([await second.group("me").count(note), await third.group("me").count(note)]).toEqual([1, 1]);
  const names: string[] = [];
  for await (const name of third.groups()) names.push(name);
  expect(names).toEqual(["me"]);
  await Promise.all([second.close(), third.close()]);
});

test.each([
  "CREATE TABLE Brooklet_key (id)",
  "CREATE TABLE brooklet_piece (id)",
  "CREATE VIEW brooklet_key AS SELECT 1 AS number",
  "CREATE TABLE brooklet_group (id)",
])("what the owner made with a name of the database is named: %s", async (statement) => {
  const storage = new StandInStorage();
  storage.sql.exec(statement);
  const [, kind, name] = statement.split(" ") as [string, string, string];
  const refused = { code: "CANNOT_START", message: expect.stringContaining(`'${name}' of its own`) };
  await expect(openIn(storage, { schemas: [note] })).rejects.toMatchObject(refused);
  storage.sql.exec(`DROP ${kind} ${name}`);
  // Others may be there, of earlier releases too.
  storage.sql.exec("CREATE TABLE Brooklet_notes (id)");
  storage.sql.exec("CREATE TABLE brooklet_group (number INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE) STRICT");
  for (let times = 0; times < 2; times += 1) {
    const database = await openIn(storage, { schemas: [note] });
    await database.group("me").put(note, "1", { body: "red", n: 1 });
    await database.close();
  }
});

test("when an object is to rest is a time that an alarm can be set for", async () => {
  const storage = new StandInStorage();
  const first = await openIn(storage, { schemas: [note] });
  const beganMs = Date.now();
  await first.group("me").put(note, "1", { body: "red", n: 1 });
  // Nobody asked before the write.
  expect(first.restsAt?.getTime()).toBeGreaterThanOrEqual(beganMs + 5_000);
  await first.close();
  // It lost its memory, and rests as soon as it can.
  const next = await openIn(storage, { schemas: [note] });
  expect(next.restsAt?.getTime()).toBeGreaterThanOrEqual(beganMs);
  await next.close();
});

test("documents expire in an object whose alarm is set for when it has to rest", async () => {
  vi.useFakeTimers({ toFake: ["Date"] });
  onTestFinished(() => void vi.useRealTimers());
  const token = schema("token", { name: text(), endsAt: timestamp() }, { expires: { after: "1h", of: "endsAt" } });
  const storage = new StandInStorage();
  const first = await openIn(storage, { schemas: [token] });
  expect(first.restsAt).toBe(undefined);
  const beganMs = Date.now();
  await first.group("me").put(token, "1", { name: "red", endsAt: new Date(beganMs + 9 * HOUR_MS) });
  // Soon after the write.
  expect(first.restsAt?.getTime()).toBeLessThanOrEqual(beganMs + 60_000);
  await first.close();
  let rests = 0;
  for (let isThere = true; isThere; rests += 1) {
    // The object lost its memory before its alarm rang.
    const next = await openIn(storage, { schemas: [token] });
    expect(next.isRestless).toBe(true);
    await next.rest();
    expect(next.isRestless).toBe(false);
    isThere = (await next.group("me").get(token, "1")) !== undefined;
    const { restsAt } = next;
    expect(restsAt === undefined).toBe(!isThere);
    await next.close();
    if (restsAt !== undefined) vi.setSystemTime(restsAt);
    expect(rests).toBeLessThan(20);
  }
  expect(Math.abs(Date.now() - beganMs - 10 * HOUR_MS)).toBeLessThanOrEqual(HOUR_MS / 10 + 60_000);
});
