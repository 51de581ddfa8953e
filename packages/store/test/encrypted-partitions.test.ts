/** Encrypted partitions beside plain ones: whatever is done to both, both tell the same; and what is changed, or is another's, is not opened. */
import { randomBytes } from "node:crypto";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { Bucket } from "../src/bucket.ts";
import { hasErased } from "../src/leftovers.ts";
import { DataDirectory } from "../src/node/data-directory.ts";
import { EncryptedPartitions } from "../src/node/encrypted-partitions.ts";
import { encryptedBuckets } from "../src/node/encryption.ts";
import { decrypt, decryptInto, directoryKeyOf, ENCRYPTED_BYTES, encrypt, GroupKeys } from "../src/node/group-keys.ts";
import { PartitionStore } from "../src/partition-store.ts";
import type { Partitions, StoredBlock } from "../src/partitions.ts";
import { StoreError } from "../src/store-error.ts";
import { createTables } from "../src/tables.ts";
import { openSql } from "./open.ts";

const SEED = Number(process.env["BROOKLET_SEED"] ?? Math.floor(Math.random() * 2 ** 31));
const IDENTITY = { bucket: 0, buckets: 1, application: 1 };
const GROUPS = ["g:a", "g:b", "n:7"];
const KEY = new Uint8Array(32).fill(9);

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), "brooklet-keys-"));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

function made(): { readonly plain: PartitionStore; readonly encrypted: EncryptedPartitions; readonly keys: GroupKeys } {
  const [one, other] = [openSql(":memory:"), openSql(":memory:")];
  for (const sql of [one, other]) {
    createTables(sql, IDENTITY);
    onTestFinished(() => sql.close());
  }
  const keys = new GroupKeys(folder(), 0, directoryKeyOf(KEY), openSql);
  onTestFinished(() => keys.close());
  const inner = new PartitionStore(other, IDENTITY);
  return { plain: new PartitionStore(one, IDENTITY), encrypted: new EncryptedPartitions(other, inner, keys), keys };
}

/** mulberry32. */
function randomFrom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * below);
  };
}

/** What blocks come as, of those with room for them and of those without. */
function delivered(store: Partitions, blocks: readonly StoredBlock[], hasRoom: boolean): string[] {
  const told: string[] = [];
  const give = (bytes: Uint8Array): void => void told.push(Buffer.from(bytes).toString("hex"));
  store.deliver(blocks, {
    give,
    fill: (length, write) => {
      const room = new Uint8Array(length);
      if (!hasRoom || !write(room)) return false;
      give(room);
      return true;
    },
  });
  return told;
}

test("whatever is done to both, both tell the same", () => {
  const { plain, encrypted } = made();
  const random = randomFrom(SEED);
  const bytes = (): Uint8Array => Uint8Array.from({ length: random(60) + 8 }, () => random(256));
  const live = new Map<number, string>();
  for (let step = 0; step < 300; step += 1) {
    const key = GROUPS[random(GROUPS.length)] ?? "";
    const kind = random(10);
    if (kind < 5) {
      const entries = Array.from({ length: 1 + random(3) }, () => ({ key, bytes: bytes() }));
      for (const store of [plain, encrypted]) store.append(entries);
    } else if (kind < 8) {
      const number = plain.firstFreeSegment;
      const blocks = Array.from({ length: 1 + random(4) }, bytes);
      const segment = { number, schema: "note", documents: 1, header: bytes(), liveness: bytes(), blocks };
      const mine = [...live].filter(([, of]) => of === key).map(([one]) => one);
      const removedSegments = mine.filter(() => random(3) === 0);
      const rest = mine.filter((one) => !removedSegments.includes(one));
      const liveness = rest.filter(() => random(2) === 0).map((one) => ({ segment: one, liveness: bytes() }));
      const change = { folded: plain.state(key).lastOperation, removedSegments, liveness, newSegments: [segment] };
      for (const store of [plain, encrypted]) store.commit(key, change, true);
      for (const one of removedSegments) live.delete(one);
      live.set(number, key);
      const asked = blocks.map((_, block) => ({ segment: number, block }));
      expect(encrypted.read(asked).map((one) => Uint8Array.from(one))).toEqual(
        plain.read(asked).map((one) => Uint8Array.from(one)),
      );
      for (const hasRoom of [true, false])
        expect(delivered(encrypted, asked, hasRoom)).toEqual(delivered(plain, asked, hasRoom));
    } else if (kind === 9 && random(3) === 0) {
      const [first, keys] = [plain.firstFreeSegment, GROUPS.filter((one) => plain.state(one).number > 0)];
      const all = keys.map((one, at) => {
        const blocks = [bytes(), bytes()];
        const segment = {
          number: first + at,
          schema: "note",
          documents: 1,
          header: bytes(),
          liveness: bytes(),
          blocks,
        };
        live.set(first + at, one);
        const change = {
          folded: plain.state(one).lastOperation,
          removedSegments: [],
          liveness: [],
          newSegments: [segment],
        };
        return { key: one, change: at === 2 ? undefined : change, wholly: true };
      });
      if (all.length === 3) live.delete(first + 2);
      for (const store of [plain, encrypted]) store.commitAll(all);
      const asked = [...live.keys()].map((segment) => ({ segment, block: 0 }));
      expect(delivered(encrypted, asked, true)).toEqual(delivered(plain, asked, true));
    } else if (kind === 8 && random(4) === 0) {
      for (const store of [plain, encrypted]) store.erase(key);
      for (const [segment, of] of live) if (of === key) live.delete(segment);
    }
    const shown = (store: Partitions): string => {
      const hex = (of: Uint8Array): string => Buffer.from(of).toString("hex");
      const { segments = [], operations } = store.manifest(key, 0, 0);
      const ends = segments.map(({ number, header, liveness }) => [number, hex(header), hex(liveness)]);
      return JSON.stringify([ends, operations.map(({ number, bytes: own }) => [number, hex(own)])]);
    };
    expect(shown(encrypted), `seed ${SEED}, step ${step}`).toBe(shown(plain));
  }
});

describe("what is encrypted", () => {
  test("is not opened when any bit of it is another, when it is cut, or for another place or key", () => {
    const [key, place] = [new Uint8Array(randomBytes(32)), "1 2 g:a"];
    const bytes = new Uint8Array(randomBytes(40));
    const encrypted = encrypt(key, place, bytes);
    expect(encrypted.length).toBe(bytes.length + ENCRYPTED_BYTES);
    expect([...decrypt(key, place, encrypted)]).toEqual([...bytes]);
    const into = (of: Uint8Array, for_: string, with_: Uint8Array): Uint8Array => {
      const room = new Uint8Array(Math.max(of.length - ENCRYPTED_BYTES, 0));
      decryptInto(with_, for_, of, room);
      return room;
    };
    expect([...into(encrypted, place, key)]).toEqual([...bytes]);
    for (const open of [into, (of: Uint8Array, for_: string, with_: Uint8Array) => decrypt(with_, for_, of)]) {
      for (let bit = 0; bit < 8 * encrypted.length; bit += 1) {
        const changed = encrypted.slice();
        changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7));
        expect(() => open(changed, place, key)).toThrow("not what was written at its place");
      }
      for (let length = 0; length < encrypted.length; length += 1)
        expect(() => open(encrypted.slice(0, length), place, key)).toThrow("not what was written at its place");
      expect(() => open(encrypted, "1 3 g:a", key)).toThrow("not what was written at its place");
      expect(() => open(encrypted, place, new Uint8Array(32))).toThrow("not what was written at its place");
    }
  });

  test("is opened into room piece by piece, and leaves nothing there of what was changed", () => {
    const [key, place] = [new Uint8Array(randomBytes(32)), "1 2 g:a"];
    for (const length of [0, 1, 16_383, 16_384, 16_385, 65_535, 65_536, 65_537, 3 * 65_536, 262_408]) {
      const bytes = new Uint8Array(randomBytes(length));
      const encrypted = encrypt(key, place, bytes);
      const room = new Uint8Array(length);
      decryptInto(key, place, encrypted, room);
      expect(Buffer.compare(room, bytes), `${length} bytes`).toBe(0);
      const changed = encrypted.slice();
      changed[changed.length - 1] = (changed.at(-1) ?? 0) ^ 1;
      expect(() => decryptInto(key, place, changed, room)).toThrow("not what was written at its place");
      expect(Buffer.compare(room, new Uint8Array(length)), `${length} bytes`).toBe(0);
    }
  });

  test("has another nonce each time", () => {
    const key = new Uint8Array(32);
    const nonces = Array.from({ length: 2_000 }, () =>
      Buffer.from(encrypt(key, "", new Uint8Array(1)).slice(1, 13)).toString("hex"),
    );
    expect(new Set(nonces).size).toBe(nonces.length);
  });
});

test.skipIf(process.platform === "win32")("keys, and copies of them, are their owner's to read", () => {
  const path = folder();
  const keys = new GroupKeys(path, 3, directoryKeyOf(KEY), openSql);
  onTestFinished(() => keys.close());
  keys.made("g:alice");
  const copy = join(path, "copy.sqlite");
  keys.copyTo(copy);
  const files = readdirSync(path).map((name) => join(path, name));
  expect(files.length).toBeGreaterThan(2);
  for (const file of files) expect([file, statSync(file).mode & 0o777]).toEqual([file, 0o600]);
  const copied = openSql(copy);
  expect(copied.all("SELECT 1 FROM key")).toHaveLength(1);
  copied.close();
});

test("a key that was destroyed is in no file, is made anew as another, and is none of another operator's", () => {
  const path = folder();
  const keys = new GroupKeys(path, 3, directoryKeyOf(KEY), openSql);
  const key = keys.made("g:alice").slice();
  keys.made("g:bob");
  const wrapped = (): Buffer => readFileSync(join(path, "003.sqlite"));
  keys.close();
  const again = new GroupKeys(path, 3, directoryKeyOf(KEY), openSql);
  onTestFinished(() => again.close());
  expect(again.of("g:alice")).toEqual(Uint8Array.from(key));
  expect(wrapped().includes("alice")).toBe(false);
  const sql = openSql(join(path, "003.sqlite"));
  const rows = sql.all<{ wrapped: Uint8Array }>("SELECT wrapped FROM key");
  sql.close();
  again.destroy("g:alice");
  expect(again.of("g:alice")).toBe(undefined);
  const left = rows.filter(({ wrapped: one }) => wrapped().includes(Buffer.from(one.slice(1))));
  expect(left).toHaveLength(1);
  expect(again.made("g:alice")).not.toEqual(Uint8Array.from(key));
  const others = new GroupKeys(path, 3, directoryKeyOf(new Uint8Array(32)), openSql);
  onTestFinished(() => others.close());
  // Others' names are others, too.
  expect(others.of("g:bob")).toBe(undefined);
});

describe("a group whose erasure ended between its rows and its key", () => {
  /** An erasure that ends there, over the file of keys. */
  function interrupted() {
    const path = folder();
    const sql = openSql(":memory:");
    onTestFinished(() => sql.close());
    createTables(sql, IDENTITY);
    const openKeys = (): GroupKeys => {
      const keys = new GroupKeys(path, 0, directoryKeyOf(KEY), openSql);
      onTestFinished(() => keys.close());
      return keys;
    };
    const open = (keys: GroupKeys) => new EncryptedPartitions(sql, new PartitionStore(sql, IDENTITY), keys);
    const [keys, bytes] = [openKeys(), Uint8Array.of(1)];
    const partitions = open(keys);
    for (const key of ["g:a", "g:b"]) partitions.append([{ key, bytes }]);
    const [before, other] = ["g:a", "g:b"].map((key) => Uint8Array.from(keys.of(key) ?? []));
    const destroy = vi.spyOn(keys, "destroy").mockImplementationOnce(() => {
      throw new StoreError("io", "the process ends here");
    });
    expect(() => partitions.erase("g:a")).toThrow("ends here");
    destroy.mockRestore();
    return { sql, keys, partitions, openKeys, open, before, other };
  }

  test("is written with another key, by this process and by the next", () => {
    const { keys, partitions, before, other } = interrupted();
    partitions.append([{ key: "g:a", bytes: Uint8Array.of(2) }]);
    expect(keys.of("g:a")).not.toEqual(before);
    expect(keys.of("g:b")).toEqual(other);
    const next = interrupted();
    const nextKeys = next.openKeys();
    next.open(nextKeys).append([{ key: "g:a", bytes: Uint8Array.of(2) }]);
    const made = Uint8Array.from(nextKeys.of("g:a") ?? []);
    expect([made.length, Buffer.from(made).equals(next.before ?? made)]).toEqual([32, false]);
    // It is not destroyed once more, by whoever opens the bucket after that.
    const last = next.openKeys();
    expect([next.open(last).dropErased(1), last.of("g:a"), last.of("g:b")]).toEqual([false, made, next.other]);
  });

  test("has no key when what is left of it is looked for, at the start", () => {
    const { sql, openKeys, open, other } = interrupted();
    expect(hasErased(sql)).toBe(true);
    const keys = openKeys();
    open(keys).dropErased(1);
    expect([keys.of("g:a"), keys.of("g:b"), hasErased(sql)]).toEqual([undefined, other, false]);
  });
});

/** An open bucket of an encrypted directory, and the file of its keys. */
function openBucket(): { readonly bucket: Bucket; readonly keys: string } {
  const path = join(folder(), "data");
  const directory = DataDirectory.open(path, openSql, 1, KEY);
  const encrypted = encryptedBuckets(path, KEY, openSql, () => directory.openBucket(0));
  const open = () => encrypted.openBucket(IDENTITY);
  const bucket = new Bucket({ ...IDENTITY, open, partitions: encrypted.partitions, schedule: setImmediate });
  onTestFinished(() => {
    bucket.close();
    directory.close();
  });
  return { bucket, keys: join(path, "keys", "000.sqlite") };
}

function logBytes(keys: string): number {
  return statSync(`${keys}-wal`, { throwIfNoEntry: false })?.size ?? 0;
}

test("a key that was destroyed while somebody reads the keys is in no log after that, and is not told to be gone before", async () => {
  const { bucket, keys } = openBucket();
  await Promise.all(GROUPS.map((key) => bucket.write(key, Uint8Array.of(1))));
  const reader = openSql(keys);
  onTestFinished(() => reader.close());
  const all = (): string[] =>
    reader
      .all<{ wrapped: Uint8Array }>("SELECT wrapped FROM key")
      .map((row) => Buffer.from(row.wrapped).toString("hex"));
  const before = all();
  reader.run("BEGIN");
  expect(all()).toHaveLength(3);
  const waits = vi.spyOn(Atomics, "wait");
  onTestFinished(() => waits.mockRestore());
  bucket.change((store) => store.erase("g:b"), 1);
  expect(waits).not.toHaveBeenCalled();
  expect([bucket.store.hasDestroyedKeys, bucket.checkpoint(true)]).toEqual([true, false]);
  reader.run("ROLLBACK");
  const [gone = ""] = before.filter((one) => !all().includes(one));
  const isThere = (): boolean =>
    [keys, `${keys}-wal`].some((file) => existsSync(file) && readFileSync(file).toString("hex").includes(gone));
  expect([gone.length > 0, isThere()]).toEqual([true, true]);
  expect([bucket.checkpoint(true), bucket.store.hasDestroyedKeys, isThere()]).toEqual([true, false, false]);
});

test("the log of the keys is moved to their file with that of the bucket, and after some keys", async () => {
  const { bucket, keys } = openBucket();
  const bytes = Uint8Array.of(1);
  await bucket.write("g:a", bytes);
  expect(logBytes(keys)).toBeGreaterThan(0);
  bucket.checkpoint(true);
  expect(logBytes(keys)).toBe(0);
  for (let at = 0; at < 700; at += 1) bucket.change((store) => store.append([{ key: `g:${at}`, bytes }]), 1);
  // Without that: 2.8 MiB and more.
  expect(logBytes(keys)).toBeLessThan(2 << 20);
});

test("keys of groups that are written together wait for the device once", () => {
  const path = folder();
  const transactions = vi.fn();
  const keys = new GroupKeys(path, 0, directoryKeyOf(KEY), (file) => {
    const sql = openSql(file);
    const transaction = sql.transaction.bind(sql);
    return Object.assign(sql, {
      transaction: (work: () => unknown) => {
        transactions();
        return transaction(work);
      },
    });
  });
  onTestFinished(() => keys.close());
  const sql = openSql(":memory:");
  onTestFinished(() => sql.close());
  createTables(sql, IDENTITY);
  const partitions = new EncryptedPartitions(sql, new PartitionStore(sql, IDENTITY), keys);
  // More of them than are remembered, and each twice.
  const names = Array.from({ length: 1_200 }, (_, at) => `g:${at}`);
  partitions.append([...names, ...names].map((key) => ({ key, bytes: Uint8Array.of(1) })));
  expect(transactions).toHaveBeenCalledTimes(1);
  const next = new GroupKeys(path, 0, directoryKeyOf(KEY), openSql);
  onTestFinished(() => next.close());
  const opened = new EncryptedPartitions(sql, new PartitionStore(sql, IDENTITY), next);
  expect(new Set(names.map((name) => Buffer.from(next.of(name) ?? []).toString("hex"))).size).toBe(names.length);
  for (const name of names)
    expect(opened.manifest(name, 0, 0).operations.map(({ bytes }) => [...bytes])).toEqual([[1], [1]]);
  partitions.append(names.map((key) => ({ key, bytes: Uint8Array.of(2) })));
  expect(transactions).toHaveBeenCalledTimes(1);
});

test("what a process that was killed left in the log of the keys goes without that one is asked for", () => {
  const path = folder();
  const killed = new GroupKeys(path, 0, directoryKeyOf(KEY), openSql);
  onTestFinished(() => killed.close());
  killed.made("g:a");
  const next = new GroupKeys(path, 0, directoryKeyOf(KEY), openSql);
  onTestFinished(() => next.close());
  const file = join(path, "000.sqlite");
  expect([logBytes(file) > 0, next.checkpoint(true), logBytes(file)]).toEqual([true, true, 0]);
  // Nothing is opened, nor made, where there is no log.
  const none = new GroupKeys(path, 1, directoryKeyOf(KEY), openSql);
  expect([none.checkpoint(true), readdirSync(path).filter((name) => name.startsWith("001"))]).toEqual([true, []]);
});
