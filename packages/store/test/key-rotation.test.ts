/** The change of the operator's key: whatever interrupts it, the new key ends it, no key of a group is lost, and the key before opens nothing. */
import {
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { DataDirectory } from "../src/node/data-directory.ts";
import { FolderKeys } from "../src/node/encryption.ts";
import { GroupKeys, keyOfFolder, laterKeyOf } from "../src/node/group-keys.ts";
import { rotateKey } from "../src/node/key-rotation.ts";
import type { OpenSql, SqlConnection } from "../src/sql.ts";
import { StoreError } from "../src/store-error.ts";
import { folder, openSql } from "./open.ts";

const keyOf = (byte: number): Uint8Array => new Uint8Array(32).fill(byte);
const [FIRST, SECOND, THIRD] = [keyOf(1), keyOf(2), keyOf(3)];
const BUCKETS = 3;
const refused = (message: string) =>
  expect.objectContaining({ kind: "refused", message: expect.stringContaining(message) });

/** What each group's key is, by its name. */
type Keys = Readonly<Record<string, string>>;

interface Encrypted {
  readonly path: string;
  /** Its folder of keys. */
  readonly folder: string;
  readonly keys: Keys;
}

const hex = (bytes: Uint8Array | undefined): string => Buffer.from(bytes ?? []).toString("hex");

/** An encrypted directory with groups that have keys. */
function made(groups: number): Encrypted {
  const path = join(folder(), "data");
  DataDirectory.open(path, openSql, BUCKETS, FIRST).close();
  const keysFolder = join(path, "keys");
  const key = keyOfFolder(keysFolder, FIRST);
  const opened: SqlConnection[] = [];
  // All keys of a file in one transaction: what is tested is what becomes of them.
  const openAtOnce: OpenSql = (at) => {
    const sql = openSql(at);
    opened.push(sql);
    return { ...sql, transaction: (work) => work(), checkpoint: () => true };
  };
  const files = Array.from({ length: BUCKETS }, (_, bucket) => new GroupKeys(keysFolder, bucket, key, openAtOnce));
  for (const file of files) file.of("g:");
  for (const sql of opened) sql.run("BEGIN");
  const names = Array.from({ length: groups }, (_, number) => `g:group${number}`);
  const keys = Object.fromEntries(names.map((name, at) => [name, hex(files[at % BUCKETS]?.made(name))]));
  for (const sql of opened) sql.run("COMMIT");
  for (const file of files) file.close();
  return { path, folder: keysFolder, keys };
}

/** A copy of a directory, in the state it is in. */
function copied({ path, keys }: Encrypted): Encrypted {
  const copy = join(folder(), "data");
  cpSync(path, copy, { recursive: true });
  return { path: copy, folder: join(copy, "keys"), keys };
}

/** Opens a directory as a server does. */
function open({ path }: Encrypted, key: Uint8Array): void {
  DataDirectory.open(path, openSql, BUCKETS, key).close();
}

/** The keys of its groups, as one that has the operator's key reads them. */
function read({ folder: at, keys }: Encrypted, key: Uint8Array): Keys {
  const found = new FolderKeys(at, key, openSql);
  try {
    return Object.fromEntries(Object.keys(keys).map((name) => [name, hex(found.of(name))]));
  } finally {
    found.close();
  }
}

/** What the files of keys have, with their logs. */
function bytesOf({ folder: at }: Encrypted): Buffer {
  return Buffer.concat(readdirSync(at).map((name) => readFileSync(join(at, name))));
}

/** How keys of groups are wrapped. */
function wrappedIn({ folder: at }: Encrypted): readonly Uint8Array[] {
  return [0, 1, 2].flatMap((bucket) => {
    const sql = openSql(join(at, `00${bucket}.sqlite`));
    const rows = sql.all<{ wrapped: Uint8Array }>("SELECT wrapped FROM key");
    sql.close();
    return rows.map(({ wrapped }) => wrapped);
  });
}

/** SQLite whose call of a number, counted from 0, ends the process as far as files are concerned. */
function endingAt(calls: number): OpenSql {
  let left = calls;
  const step = (): void => {
    left -= 1;
    if (left < 0) throw new StoreError("io", "the end");
  };
  return (path) => {
    const sql = openSql(path);
    return {
      ...sql,
      all: (statement, ...bindings) => {
        step();
        return sql.all(statement, ...bindings);
      },
      run: (statement, ...bindings) => {
        step();
        sql.run(statement, ...bindings);
      },
      transaction: (work) => {
        const result = sql.transaction(work);
        step();
        return result;
      },
      checkpoint: (truncate) => {
        step();
        return sql.checkpoint?.(truncate) ?? true;
      },
    };
  };
}

test("all groups have the keys they had, under the new key alone, and one after that", () => {
  const directory = made(3_500);
  const before = wrappedIn(directory);
  const { folder: at, keys } = directory;
  const had = bytesOf(directory);
  expect(before.every((wrapped) => had.includes(Buffer.from(wrapped)))).toBe(true);
  expect(rotateKey(at, openSql, { before: FIRST, next: SECOND })).toEqual({ keys: 3_500, damaged: 0 });
  expect(read(directory, SECOND)).toEqual(keys);
  open(directory, SECOND);
  expect(() => open(directory, FIRST)).toThrow(refused("the encryption key is another"));
  expect(() => read(directory, FIRST)).toThrow(refused("the encryption key is another"));
  // Not in a file, nor in a log, nor in the free part of a page.
  const has = bytesOf(directory);
  expect(before.filter((wrapped) => has.includes(Buffer.from(wrapped)))).toEqual([]);
  expect(existsSync(join(at, "rotation"))).toBe(false);
  // A group that comes now is found by who comes after the next change.
  const file = new GroupKeys(at, 0, keyOfFolder(at, SECOND), openSql);
  const fresh = { ...keys, "g:new": hex(file.made("g:new")) };
  file.close();
  expect(rotateKey(at, openSql, { before: SECOND, next: THIRD })).toEqual({ keys: 3_501, damaged: 0 });
  expect(read({ ...directory, keys: fresh }, THIRD)).toEqual(fresh);
  expect(() => read(directory, SECOND)).toThrow(refused("the encryption key is another"));
});

test("a wrong key, the same key, and no key change nothing", () => {
  const directory = made(3);
  const had = bytesOf(directory);
  const wrong: readonly [{ readonly before?: Uint8Array; readonly next: Uint8Array }, string][] = [
    [{ before: THIRD, next: SECOND }, "the encryption key is another"],
    [{ before: FIRST, next: FIRST }, "the new key is the one that"],
    [{ next: SECOND }, "is needed to change it"],
  ];
  for (const [keys, told] of wrong) expect(() => rotateKey(directory.folder, openSql, keys)).toThrow(refused(told));
  expect(() => rotateKey(directory.folder, openSql, { before: FIRST, next: new Uint8Array(7) })).toThrow(RangeError);
  expect(bytesOf(directory).equals(had)).toBe(true);
});

test("one that ends at any call of SQLite goes on: with the same command, with the new key alone, and with a server that has it", {
  timeout: 900_000,
}, () => {
  const whole = made(7);
  let calls = 0;
  const seen = { mixed: 0, begun: 0 };
  for (; ; calls += 1) {
    const directory = copied(whole);
    const keys = { before: FIRST, next: SECOND };
    try {
      rotateKey(directory.folder, endingAt(calls), keys);
      break;
    } catch (error) {
      expect((error as Error).message).toContain("the end");
    }
    // Nobody reads it with half of its keys, and neither the key before nor another ends it.
    for (const key of [FIRST, SECOND]) expect(() => read(directory, key)).toThrow(refused("has begun and not ended"));
    for (const key of [FIRST, THIRD]) expect(() => open(directory, key)).toThrow(refused("give the new key"));
    expect(() => rotateKey(directory.folder, openSql, { before: FIRST, next: THIRD })).toThrow(
      refused("give the new key"),
    );
    const first = wrappedIn(whole);
    const kept = wrappedIn(directory).filter((wrapped) => first.some((other) => Buffer.from(other).equals(wrapped)));
    if (kept.length === first.length) seen.begun += 1;
    else if (kept.length > 0) seen.mixed += 1;
    const ways: readonly ((it: Encrypted) => void)[] = [
      (it) => void rotateKey(it.folder, openSql, keys),
      (it) => void rotateKey(it.folder, openSql, { next: SECOND }),
      (it) => open(it, SECOND),
      // Interrupted once more.
      (it) => {
        expect(() => rotateKey(it.folder, endingAt(calls >> 1), keys)).toThrow("the end");
        open(it, SECOND);
      },
    ];
    const way = calls < 2 ? ways[calls] : ways[calls % ways.length];
    way?.(directory);
    expect(read(directory, SECOND)).toEqual(whole.keys);
    expect(existsSync(join(directory.folder, "rotation"))).toBe(false);
  }
  // States that have to be among those that were seen.
  expect(Math.min(seen.mixed, seen.begun), JSON.stringify(seen)).toBeGreaterThan(0);
});

test("one that finds no room has what is kept back, and tells the place where that is not enough", () => {
  const directory = made(3);
  const reserve = join(directory.path, "reserve");
  writeFileSync(reserve, "kept back");
  const full: OpenSql = (path) => {
    if (path.includes("keys/001") && statSync(reserve).size > 0) throw new StoreError("full", "SQLITE_IOERR_SHMSIZE");
    return openSql(path);
  };
  rotateKey(directory.folder, full, { before: FIRST, next: SECOND });
  expect(statSync(reserve).size).toBe(0);
  expect(read(directory, SECOND)).toEqual(directory.keys);
  const never: OpenSql = (path) => {
    if (path.includes("keys/001")) throw new StoreError("full", "SQLITE_IOERR_SHMSIZE");
    return openSql(path);
  };
  const rotating = (): unknown => rotateKey(directory.folder, never, { before: SECOND, next: THIRD });
  expect(rotating).toThrow(`${directory.path} cannot be used: SQLITE_IOERR_SHMSIZE`);
  open(directory, THIRD);
  expect(read(directory, THIRD)).toEqual(directory.keys);
});

test("one that ends between its last two files is ended too", () => {
  const directory = made(4);
  expect(() => rotateKey(directory.folder, endingAt(0), { before: FIRST, next: SECOND })).toThrow("the end");
  const rotation = readFileSync(join(directory.folder, "rotation"));
  open(directory, SECOND);
  writeFileSync(join(directory.folder, "rotation"), rotation);
  open(directory, SECOND);
  expect(read(directory, SECOND)).toEqual(directory.keys);
});

test("a key that was damaged stays as it is, is counted, and keeps no other from the new key", () => {
  const directory = made(5);
  const sql = openSql(join(directory.folder, "001.sqlite"));
  sql.run("UPDATE key SET wrapped = zeroblob(61) WHERE name = (SELECT min(name) FROM key)");
  sql.close();
  expect(rotateKey(directory.folder, openSql, { before: FIRST, next: SECOND })).toEqual({ keys: 4, damaged: 1 });
  const readable = Object.entries(directory.keys).filter(([name, key]) => {
    const one = new FolderKeys(directory.folder, SECOND, openSql);
    try {
      return hex(one.of(name)) === key;
    } catch (error) {
      expect(error).toMatchObject({ kind: "damaged" });
      return false;
    } finally {
      one.close();
    }
  });
  expect(readable.length).toBeGreaterThanOrEqual(3);
});

test("who reads groups with the key before is told that it changed, or is being changed, and of no damage", () => {
  for (const calls of [25, Number.POSITIVE_INFINITY]) {
    const directory = made(5);
    const keys = new FolderKeys(directory.folder, FIRST, openSql);
    try {
      rotateKey(directory.folder, endingAt(calls), { before: FIRST, next: SECOND });
    } catch (error) {
      expect(error).toMatchObject({ message: "the end" });
    }
    expect(existsSync(join(directory.folder, "rotation"))).toBe(calls === 25);
    expect(() => Object.keys(directory.keys).map((name) => keys.of(name))).toThrow(
      expect.objectContaining({ kind: "busy", message: expect.stringContaining("was changed while it was read") }),
    );
    keys.close();
  }
});

test("a copy of keys while their key changes is refused, and the copy before is kept", () => {
  const directory = made(5);
  const place = folder();
  const copy = join(place, "copy");
  const keys = new FolderKeys(directory.folder, FIRST, openSql);
  keys.copyTo(copy);
  // As a shell completes it.
  keys.copyTo(`${copy}/`);
  rotateKey(directory.folder, openSql, { before: FIRST, next: SECOND });
  expect(() => keys.copyTo(copy)).toThrow(expect.objectContaining({ kind: "busy" }));
  keys.close();
  expect(readdirSync(place)).toEqual(["copy"]);
  // A copy that was made before is of the key before.
  expect(read({ ...directory, folder: copy }, FIRST)).toEqual(directory.keys);
  expect(() => read({ ...directory, folder: copy }, SECOND)).toThrow(refused("the encryption key is another"));
});

test("a copy that a killed process had moved away is there again, also where the next one fails", () => {
  const directory = made(1);
  const place = folder();
  const copy = join(place, "copy");
  const keys = new FolderKeys(directory.folder, FIRST, openSql);
  keys.copyTo(copy);
  renameSync(copy, `${copy}.replaced`);
  rotateKey(directory.folder, openSql, { before: FIRST, next: SECOND });
  expect(() => keys.copyTo(copy)).toThrow(expect.objectContaining({ kind: "busy" }));
  keys.close();
  expect(readdirSync(place)).toEqual(["copy"]);
  expect(read({ ...directory, folder: copy }, FIRST)).toEqual(directory.keys);
});

test("what is no copy of keys is not replaced by one", () => {
  const of = made(1);
  const keys = new FolderKeys(of.folder, FIRST, openSql);
  const place = folder();
  symlinkSync(of.folder, join(place, "link"));
  writeFileSync(join(place, "letters"), "of somebody");
  const isNoCopy = expect.objectContaining({ kind: "refused", message: expect.stringContaining("is no copy of keys") });
  for (const target of [place, join(place, "letters"), of.folder, join(place, "link")])
    for (const ask of [() => keys.demandPlace(target), () => keys.copyTo(target)]) expect(ask).toThrow(isNoCopy);
  // To look leaves nothing.
  keys.demandPlace(join(place, "below", "copy"));
  expect(readdirSync(place)).toEqual(["letters", "link"]);
  // Of a link to a copy, that is made anew: what it had of groups that were erased since would stay.
  keys.copyTo(join(place, "kept", "copy"));
  symlinkSync(join("kept", "copy"), join(place, "shown"));
  writeFileSync(join(place, "kept", "copy", "earlier"), "");
  keys.copyTo(join(place, "shown"));
  expect(readdirSync(join(place, "kept"))).toEqual(["copy"]);
  expect(readdirSync(join(place, "shown"))).toEqual(["000.sqlite", "001.sqlite", "002.sqlite", "check"]);
  expect(lstatSync(join(place, "shown")).isSymbolicLink()).toBe(true);
  mkdirSync(join(place, "empty"));
  keys.copyTo(join(place, "empty"));
  keys.close();
  expect(readdirSync(join(place, "empty"))).not.toEqual([]);
});

test("sabotage: groups that were found by the new key would all be lost", () => {
  const directory = made(5);
  rotateKey(directory.folder, openSql, { before: FIRST, next: SECOND });
  const { wrapping } = keyOfFolder(directory.folder, SECOND);
  const other = new GroupKeys(directory.folder, 0, laterKeyOf(SECOND, { naming: wrapping }), openSql);
  expect(Object.keys(directory.keys).map((name) => other.of(name))).toEqual(Array.from({ length: 5 }, () => undefined));
  other.close();
});
