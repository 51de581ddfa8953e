/** A device that is full: what grows is refused, what gives space goes on, and room that comes back is used. */
import fs, {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { expect, onTestFinished, test } from "vitest";
import { Bucket } from "../src/bucket.ts";
import { nodeSqlite } from "../src/drivers/node-sqlite.ts";
import { DataDirectory } from "../src/node/data-directory.ts";
import { checkDirectory, repairDirectory } from "../src/node/directory-check.ts";
import { DiskReserve } from "../src/node/disk-reserve.ts";
import { encryptedBuckets } from "../src/node/encryption.ts";
import { partitionsInTables } from "../src/partition-store.ts";
import type { Reserve } from "../src/reserve.ts";
import type { OpenSql, SqlConnection } from "../src/sql.ts";
import { isUntaken, StoreError, systemFailure } from "../src/store-error.ts";
import { createTables } from "../src/tables.ts";
import { caught, openSql } from "./open.ts";

const IDENTITY = { bucket: 3, buckets: 8 };

/** A device with so many transactions of room; giving the reserve up makes room for as many more. */
class Device implements Reserve {
  room = Number.POSITIVE_INFINITY;
  isGivenUp = false;
  turns = 0;
  /** Whether it fails as one whose quota is used up; nothing: it says that it is full. */
  isDenied?: () => boolean;
  /** What another thread does just when there is no room. */
  meanwhile: () => void = () => undefined;
  readonly #kept: number;
  readonly #sql: SqlConnection = openSql(":memory:");

  constructor(kept: number) {
    this.#kept = kept;
    createTables(this.#sql, IDENTITY);
  }

  giveUp(turns = this.turns): boolean {
    if (!this.isGivenUp) {
      this.room += this.#kept;
      this.turns += 1;
    }
    this.isGivenUp = true;
    return this.turns !== turns;
  }

  bucket(reserve: Reserve | undefined): Bucket {
    const transaction: SqlConnection["transaction"] = (work) =>
      this.#sql.transaction(() => {
        if (this.room < 1) {
          this.meanwhile();
          if (this.isDenied === undefined) throw new StoreError("full", "SQLITE_FULL");
          throw new StoreError("io", "SQLITE_IOERR_WRITE: disk I/O error");
        }
        this.room -= 1;
        return work();
      });
    const open = (): SqlConnection => ({ ...this.#sql, transaction, close: () => undefined });
    return new Bucket({
      ...IDENTITY,
      open,
      partitions: partitionsInTables,
      application: 1,
      schedule: setImmediate,
      reserve,
    });
  }
}

const put = (bucket: Bucket, id: string): Promise<void> => bucket.write("g:a", Uint8Array.of(1), { id, decided: true });
const remove = (bucket: Bucket, id: string): Promise<void> =>
  bucket.write("g:a", Uint8Array.of(2), { id, decided: true, removes: true });
const full = { kind: "full" };

test("removes that came with puts are done when the device is full, and the puts are refused", async () => {
  const device = new Device(10);
  const bucket = device.bucket(device);
  await put(bucket, "1");
  device.room = 0;
  const outcomes = await Promise.allSettled([put(bucket, "2"), remove(bucket, "1"), put(bucket, "3")]);
  expect(outcomes.map(({ status }) => status)).toEqual(["rejected", "fulfilled", "rejected"]);
  expect(bucket.store.state("g:a").operations).toBe(2);
  await expect(put(bucket, "4")).rejects.toMatchObject(full);
  await remove(bucket, "2");
});

test("a remove that was decided on a put which found no room fails with it", async () => {
  const device = new Device(10);
  const bucket = device.bucket(device);
  await put(bucket, "0");
  device.room = 0;
  const outcomes = await Promise.allSettled([put(bucket, "1"), remove(bucket, "1"), remove(bucket, "0")]);
  expect(outcomes.map(({ status }) => status)).toEqual(["rejected", "rejected", "fulfilled"]);
});

test("what is changed outside of the queue has the reserve too", () => {
  const device = new Device(10);
  const bucket = device.bucket(device);
  device.room = 0;
  bucket.probe();
  expect([bucket.isFull, device.room]).toEqual([true, 9]);
});

test("a bucket whose file of keys finds no room when it is opened has the reserve for that", async () => {
  const path = mkdtempSync(join(tmpdir(), "brooklet-keys-"));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  const device = new Device(10);
  const opening: OpenSql = (name) => {
    if (name.includes("keys") && device.room === 0) throw new StoreError("full", "SQLITE_FULL");
    return openSql(name);
  };
  const key = new Uint8Array(32).fill(7);
  const opened = (): { readonly bucket: Bucket; readonly close: () => void } => {
    const directory = DataDirectory.open(path, openSql, 1, key);
    const { openBucket, partitions } = encryptedBuckets(path, key, opening, ({ bucket }) =>
      directory.openBucket(bucket),
    );
    const identity = { bucket: 0, buckets: 1 };
    const options = { open: () => openBucket(identity), partitions, application: 1, schedule: setImmediate };
    const bucket = new Bucket({ ...identity, ...options, reserve: device });
    return {
      bucket,
      close: () => {
        bucket.close();
        directory.close();
      },
    };
  };
  const first = opened();
  await put(first.bucket, "1");
  first.close();
  device.room = 0;
  const { bucket, close } = opened();
  onTestFinished(close);
  const { number } = bucket.store.state("g:a");
  expect(number).toBe(1);
  expect(bucket.store.manifest("g:a", 0, 0).operations.map(({ bytes }) => [...bytes])).toEqual([[1]]);
  expect(bucket.isFull).toBe(true);
});

test.skipIf(process.platform === "win32")(
  "a check and a repair have what is kept back on a full device, which is no damage",
  async () => {
    const path = join(mkdtempSync(join(tmpdir(), "brooklet-check-")), "data");
    onTestFinished(() => rmSync(path, { recursive: true, force: true }));
    DataDirectory.open(path, openSql, 2).close();
    const reserve = join(path, "reserve");
    const full: OpenSql = (name) => {
      if (name.includes("buckets") && statSync(reserve).size > 0) throw new StoreError("full", "SQLITE_IOERR_SHMSIZE");
      return openSql(name);
    };
    writeFileSync(reserve, "kept back");
    expect((await checkDirectory(path, full, () => true)).buckets.flatMap(({ damage }) => damage)).toEqual([]);
    expect(statSync(reserve).size).toBe(0);
    const never: OpenSql = (name) => {
      if (name.includes("buckets")) throw new StoreError("full", "SQLITE_IOERR_SHMSIZE");
      return openSql(name);
    };
    await expect(checkDirectory(path, never, () => true)).rejects.toMatchObject({ kind: "full" });
    await expect(repairDirectory(path, never, () => true, { drop: true })).rejects.toMatchObject({ kind: "full" });
    expect(readdirSync(join(path, "buckets")).filter((name) => name.includes("before"))).toEqual([]);
  },
);

test("a quota that is used up is no device that fails: puts are refused, removes have the reserve", async () => {
  const device = new Device(10);
  const bucket = device.bucket(device);
  await put(bucket, "1");
  [device.room, device.isDenied] = [0, () => true];
  await expect(put(bucket, "2")).rejects.toMatchObject(full);
  await remove(bucket, "1");
  [device.room, device.isGivenUp] = [0, false];
  bucket.probe();
  expect(bucket.isFull).toBe(true);
  // Where files may grow, what failed is the device.
  [device.room, device.isGivenUp, device.isDenied] = [0, false, () => false];
  await expect(put(bucket, "3")).rejects.toMatchObject({ kind: "io" });
  expect(bucket.isFull).toBe(false);
});

test.skipIf(process.platform !== "linux")("whether files may grow is tried, and nothing stays of that", () => {
  const directory = mkdtempSync(join(tmpdir(), "brooklet-reserve-"));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  mkdirSync(join(directory, "buckets"));
  const reserve = DiskReserve.make(directory, 1 << 20);
  expect(reserve.isDenied()).toBe(false);
  expect(statSync(join(directory, "reserve")).size).toBe(1 << 20);
  rmSync(join(directory, "reserve"));
  symlinkSync("/dev/full", join(directory, "reserve"));
  expect(reserve.isDenied()).toBe(true);
});

test.skipIf(process.platform !== "linux")("who keeps nothing back is told of a quota too, and leaves no file", () => {
  const directory = mkdtempSync(join(tmpdir(), "brooklet-reserve-"));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  mkdirSync(join(directory, "buckets"));
  const reserve = DiskReserve.make(directory, 0);
  expect([reserve.isDenied(), reserve.isGivenUp, reserve.giveUp(0)]).toEqual([false, false, false]);
  expect(readdirSync(directory)).toEqual(["buckets"]);
  symlinkSync("/dev/full", join(directory, "reserve"));
  expect(reserve.isDenied()).toBe(true);
});

test("a quota that is used up has no name in Node, and is a device without room", () => {
  const errno = process.platform === "darwin" ? -69 : -122;
  const failed = { syscall: "write", errno, code: "UNKNOWN" };
  expect(systemFailure(Object.assign(new Error("UNKNOWN: unknown error, write"), failed))).toBe("full");
  expect(systemFailure(Object.assign(new Error("EIO"), { syscall: "write", errno: -5, code: "EIO" }))).toBe("io");
});

test("SQLite's numbers of what a quota refuses are told from other failures, as names are", () => {
  const failing = (errcode: number): unknown => {
    const broken = {
      prepare: () => {
        throw Object.assign(new Error("disk I/O error"), { errcode });
      },
      close: () => undefined,
    };
    return caught(() => nodeSqlite(broken).run("SELECT 1"));
  };
  // SQLITE_IOERR_WRITE, SQLITE_IOERR_SHMSIZE, SQLITE_IOERR_FSYNC.
  expect([failing(778), failing(4874), failing(1034)]).toMatchObject([
    { kind: "io" },
    { kind: "full" },
    { kind: "io" },
  ]);
  expect([failing(778), failing(1034)].map(isUntaken)).toEqual([true, false]);
});

test("when the reserve is used up removes are refused, and nothing is tried for ever", async () => {
  const device = new Device(2);
  const bucket = device.bucket(device);
  await put(bucket, "1");
  device.room = 0;
  await remove(bucket, "1");
  await remove(bucket, "2");
  await expect(remove(bucket, "3")).rejects.toMatchObject(full);
});

test("what finds no room while another thread gives the reserve up has the room of it", async () => {
  const device = new Device(10);
  const bucket = device.bucket(device);
  await put(bucket, "1");
  [device.room, device.meanwhile] = [0, () => void device.giveUp()];
  await remove(bucket, "1");
  [device.room, device.isGivenUp] = [0, false];
  bucket.probe();
  expect([bucket.isFull, device.room]).toEqual([true, 9]);
});

test("sabotage: without a reserve a full device refuses removes", async () => {
  const device = new Device(10);
  const bucket = device.bucket(undefined);
  await put(bucket, "1");
  device.room = 0;
  await expect(remove(bucket, "1")).rejects.toMatchObject(full);
});

test("room that comes back is taken for the reserve first, then for documents", async () => {
  const device = new Device(10);
  const bucket = device.bucket(device);
  device.giveUp();
  await expect(put(bucket, "1")).rejects.toMatchObject(full);
  device.isGivenUp = false;
  await put(bucket, "1");
});

test("the reserve of a directory is a file that is given up, and made again when there is room, for all threads", async () => {
  const directory = mkdtempSync(join(tmpdir(), "brooklet-reserve-"));
  try {
    const size = (): number => statSync(join(directory, "reserve")).size;
    const reserve = DiskReserve.make(directory, 3 << 20);
    const other = DiskReserve.of(reserve.shared);
    expect([reserve.isGivenUp, size()]).toEqual([false, 3 << 20]);
    other.giveUp(other.turns);
    expect(size()).toBe(0);
    // This device has room, which is seen a moment later.
    expect(other.isGivenUp).toBe(true);
    await expect.poll(() => reserve.isGivenUp).toBe(false);
    expect([other.isGivenUp, size()]).toEqual([false, 3 << 20]);
    // A smaller one is what is left of it.
    expect([DiskReserve.make(directory, 1 << 20).isGivenUp, size()]).toEqual([false, 1 << 20]);
  } finally {
    rmSync(directory, { recursive: true });
  }
});

/** Calls what another thread does while the next file is opened. */
function duringOpen(work: () => void): void {
  const { openSync } = fs;
  const restore = (): void => {
    fs.openSync = openSync;
    syncBuiltinESMExports();
  };
  fs.openSync = (...asked) => {
    restore();
    work();
    return openSync(...asked);
  };
  syncBuiltinESMExports();
  onTestFinished(restore);
}

test("a reserve that is looked for just as another thread gives it up is not taken for one that is there", async () => {
  const directory = mkdtempSync(join(tmpdir(), "brooklet-reserve-"));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const size = (): number => statSync(join(directory, "reserve")).size;
  const reserve = DiskReserve.make(directory, 3 << 20);
  const other = DiskReserve.of(reserve.shared);
  duringOpen(() => other.isGivenUp);
  const { turns } = reserve;
  expect(reserve.giveUp(turns)).toBe(true);
  expect([reserve.isGivenUp, size()]).toEqual([true, 0]);
  // Who found no room at that time has it now; who begins from here on, not once more.
  expect([other.giveUp(turns), other.giveUp(other.turns)]).toEqual([true, false]);
  await expect.poll(() => other.isGivenUp).toBe(false);
  expect(size()).toBe(3 << 20);
});

test("a reserve whose file cannot be opened is neither there nor a failure of who asks, and is made when it can be", async () => {
  const directory = mkdtempSync(join(tmpdir(), "brooklet-reserve-"));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const file = join(directory, "reserve");
  const reserve = DiskReserve.make(directory, 1 << 20);
  reserve.giveUp(reserve.turns);
  // As a device that can only be read refuses it.
  rmSync(file);
  mkdirSync(file);
  const other = DiskReserve.of(reserve.shared);
  expect(other.isGivenUp).toBe(true);
  expect(other.giveUp(other.turns)).toBe(false);
  rmdirSync(file);
  await expect.poll(() => other.isGivenUp).toBe(false);
  expect(statSync(file).size).toBe(1 << 20);
});
