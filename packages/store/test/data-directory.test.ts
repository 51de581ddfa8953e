/** A directory is made whole, used by one process, and let in only as it was left. */
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { bucketsIn, DataDirectory, openBucket } from "../src/node/data-directory.ts";
import { checkDirectory } from "../src/node/directory-check.ts";
import { isEncrypted } from "../src/node/directory-key.ts";
import { PartitionStore } from "../src/partition-store.ts";
import { StoreError } from "../src/store-error.ts";
import { BLOCKS_PER_SEGMENT, FORMAT_VERSION } from "../src/tables.ts";
import { caught, folder, openBetterSqlite3, openSql } from "./open.ts";

const digest = (path: string): string => createHash("sha256").update(readFileSync(path)).digest("hex");
const first = (directory: string): string => join(directory, "buckets/000.sqlite");

function made(): string {
  const path = join(folder(), "data");
  DataDirectory.open(path, openSql, 2).close();
  return path;
}

test("a directory keeps the number of buckets it was made with", () => {
  const path = made();
  const directory = DataDirectory.open(path, openSql, 64);
  expect(directory.buckets).toBe(2);
  openBucket(path, { bucket: 1, buckets: 2 }, openSql).close();
  directory.close();
});

test("nobody else may read what is in it", () => {
  const path = made();
  const modes = [path, join(path, "buckets"), first(path), join(path, "brooklet.json")].map(
    (file) => statSync(file).mode & 0o777,
  );
  expect(modes).toEqual([0o700, 0o700, 0o600, 0o600]);
});

test("the package of the last deployment comes back, and a damaged one is told", () => {
  const path = made();
  const directory = DataDirectory.open(path, openSql);
  expect(directory.readApplication()).toBeUndefined();
  directory.storeApplication({ number: 1, bytes: Uint8Array.of(1, 2) });
  directory.storeApplication({ number: 2, bytes: Uint8Array.of(3) });
  expect(directory.readApplication()).toEqual({ number: 2, bytes: Uint8Array.of(3) });
  const file = readFileSync(join(path, "application"));
  file.writeUInt8(file.readUInt8(file.length - 1) ^ 1, file.length - 1);
  writeFileSync(join(path, "application"), file);
  expect(() => directory.readApplication()).toThrow("is not what was written");
  directory.close();
});

test.skipIf(process.platform === "win32")(
  "a package that cannot be stored, or read, is told with its place and kind",
  () => {
    const path = made();
    const directory = DataDirectory.open(path, openSql);
    directory.storeApplication({ number: 1, bytes: Uint8Array.of(1) });
    // A device without room, on systems that have one.
    if (process.platform === "linux") {
      symlinkSync("/dev/full", join(path, "application.new"));
      const failed = caught(() => directory.storeApplication({ number: 2, bytes: Uint8Array.of(2) }));
      expect(failed).toMatchObject({ name: "StoreError", kind: "full", message: expect.stringContaining(path) });
      expect(directory.readApplication()?.number).toBe(1);
    }
    rmSync(join(path, "application"));
    symlinkSync("application", join(path, "application"));
    const failed = caught(() => directory.readApplication());
    expect(failed).toMatchObject({ name: "StoreError", kind: "io", message: expect.stringContaining(path) });
    directory.close();
  },
);

test("making that was interrupted is completed", () => {
  const path = made();
  rmSync(join(path, "brooklet.json"));
  rmSync(join(path, "buckets/001.sqlite"));
  const before = digest(first(path));
  DataDirectory.open(path, openSql, 2).close();
  expect(digest(first(path))).toBe(before);
  expect(existsSync(join(path, "buckets/001.sqlite"))).toBe(true);
});

test("a folder with other things in it is refused and left alone", () => {
  const path = folder();
  writeFileSync(join(path, "thesis.txt"), "x");
  expect(() => DataDirectory.open(path, openSql)).toThrow("not a brooklet data directory");
  expect(readdirSync(path)).toEqual(["thesis.txt"]);
});

test("who has a directory writes nothing for that: a device that is full has no room for it", () => {
  const path = made();
  const directory = DataDirectory.open(path, openSql);
  expect(readdirSync(path).filter((name) => name.startsWith("lock"))).toEqual(["lock.sqlite"]);
  expect(statSync(join(path, "lock.sqlite")).size).toBe(0);
  directory.close();
});

test("a folder that cannot be made is refused with its path (E9)", () => {
  const path = join(folder(), "file");
  writeFileSync(path, "x");
  expect(() => DataDirectory.open(join(path, "data"), openSql)).toThrow(`${path}/data cannot be used`);
});

test("a device that is full is told with the path", () => {
  const path = join(folder(), "data");
  const full = (): never => {
    throw new StoreError("full", "SQLITE_FULL: database or disk is full");
  };
  expect(() => DataDirectory.open(path, full)).toThrow(`${path} cannot be used: SQLITE_FULL`);
});

test("a directory of a newer release is refused with both versions", () => {
  const path = made();
  writeFileSync(join(path, "brooklet.json"), JSON.stringify({ version: 9, minReader: 9, buckets: 2 }));
  expect(() => DataDirectory.open(path, openSql)).toThrow("directory version 9; this release reads versions 1 and 2");
});

test("a directory that may not be looked at is not taken for none, or for one without keys", async () => {
  const path = made();
  expect(() => bucketsIn(join(path, "buckets"))).toThrow("buckets is not a data directory");
  // As one of another user is, also to root: it cannot be told what is there.
  rmSync(join(path, "brooklet.json"));
  symlinkSync("brooklet.json", join(path, "brooklet.json"));
  expect(() => bucketsIn(path)).toThrow("ELOOP");
  await expect(checkDirectory(path, openSql, () => false)).rejects.toThrow("ELOOP");
  expect(() => isEncrypted(path)).toThrow("ELOOP");
});

test("a secret that may not be looked at is not made anew", () => {
  const path = made();
  const secret = readFileSync(join(path, "secret"));
  rmSync(join(path, "secret"));
  symlinkSync("secret", join(path, "secret"));
  expect(() => DataDirectory.open(path, openSql)).toThrow("ELOOP");
  rmSync(join(path, "secret"));
  writeFileSync(join(path, "secret"), secret);
  const directory = DataDirectory.open(path, openSql);
  directory.openBucket(0).close();
  directory.close();
});

test.skipIf(process.platform === "win32")("a bucket is not damaged where no descriptor is left", () => {
  const path = made();
  const library = openBetterSqlite3 === undefined ? "node:sqlite" : "better-sqlite3";
  const script = fileURLToPath(new URL("few-descriptors.mjs", import.meta.url));
  // A Node that has SQLite as an experiment says so.
  const node = [process.execPath, "--disable-warning=ExperimentalWarning"];
  const words = ["-c", 'ulimit -n 64; exec "$0" "$@"', ...node, script, path, library];
  const { stdout, stderr } = spawnSync("sh", words, { encoding: "utf8" });
  expect(stderr).toBe("");
  const came = JSON.parse(stdout) as string[];
  expect(new Set(came)).toEqual(new Set(["io", "open"]));
  expect([came.at(0), came.at(-1)]).toEqual(["io", "open"]);
});

test("an SQLite that is too old is refused, also what another one has made, and nothing is written", () => {
  const old: typeof openSql = (path) => {
    const sql = openSql(path);
    const all: typeof sql.all = (text, ...values) =>
      text.includes("sqlite_version()") ? ([{ version: "3.51.2" }] as never) : sql.all(text, ...values);
    return { ...sql, all };
  };
  const there = made();
  const before = digest(first(there));
  for (const path of [there, join(folder(), "new")])
    expect(() => DataDirectory.open(path, old, 2)).toThrow(
      /SQLite 3\.51\.2 is older than 3\.51\.3; .* or use Node 22\.23/,
    );
  expect(digest(first(there))).toBe(before);
  DataDirectory.open(there, openSql).close();
});

const hasCompiler = process.platform === "linux" && spawnSync("cc", ["--version"]).status === 0;
/** A system without locks of files, as a network's without a service for them. */
const NO_LOCKS = `#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
static int asked(const char *name, int file, int command, void *argument) {
  if (command == F_SETLK || command == F_SETLKW) return errno = ENOLCK, -1;
  int (*next)(int, int, ...) = (int (*)(int, int, ...))dlsym(RTLD_NEXT, name);
  return next(file, command, argument);
}
#define ASKED va_list list; va_start(list, command); void *argument = va_arg(list, void *); va_end(list);
int fcntl(int file, int command, ...) { ASKED return asked("fcntl", file, command, argument); }
int fcntl64(int file, int command, ...) { ASKED return asked("fcntl64", file, command, argument); }
`;

describe("a second process", () => {
  test("is refused while the first lives, and let in when it was killed (E12)", async () => {
    const path = made();
    const library = openBetterSqlite3 === undefined ? "node:sqlite" : "better-sqlite3";
    const script = fileURLToPath(new URL("lock-holder.mjs", import.meta.url));
    const holder = spawn(process.execPath, [script, path, library]);
    await once(holder.stdout, "data");
    expect(() => DataDirectory.open(path, openSql)).toThrow("in use by another process");
    holder.kill("SIGKILL");
    await once(holder, "exit");
    DataDirectory.open(path, openSql).close();
  });

  test.skipIf(process.platform === "win32")(
    "is refused where the lock may only be read, which SQLite would not lock",
    () => {
      const path = made();
      chmodSync(join(path, "lock.sqlite"), 0o400);
      const isRoot = process.getuid?.() === 0;
      // Root may write whatever it is: another user is asked.
      if (isRoot) execFileSync("chown", ["-R", "65534", dirname(path)]);
      const library = openBetterSqlite3 === undefined ? "node:sqlite" : "better-sqlite3";
      const script = fileURLToPath(new URL("lock-holder.mjs", import.meta.url));
      const words = [script, path, library, ...(isRoot ? ["65534"] : [])];
      const { stdout, stderr } = spawnSync(process.execPath, words, { encoding: "utf8", timeout: 20_000 });
      expect(stdout).toBe("");
      expect(stderr).toContain(`${join(path, "lock.sqlite")} cannot be used: nothing may be written there (EACCES)`);
    },
  );

  test.skipIf(openBetterSqlite3 === undefined)(
    "of another copy of SQLite in the same process is refused, and ends no lock",
    () => {
      const path = made();
      const script = fileURLToPath(new URL("two-libraries.mjs", import.meta.url));
      const { stdout, stderr } = spawnSync(process.execPath, [script, path, folder()], { encoding: "utf8" });
      expect(stderr).toBe("");
      expect(JSON.parse(stdout)).toEqual({
        copy: `the data directory ${path} is open in this process already: open it once, and share that (by once: true)`,
        link: `the data directory ${path}-link is open in this process already: open it once, and share that (by once: true)`,
        process: `the data directory ${path} is in use by another process`,
        afterwards: "open",
      });
    },
  );

  test.each(["removed", "replaced", "moved away"])(
    "is let in where the lock is %s, and then the first writes nothing any more",
    (how) => {
      const path = made();
      const lock = join(path, "lock.sqlite");
      const first = DataDirectory.open(path, openSql);
      const sql = first.openBucket(0);
      const write = (): void =>
        sql.transaction(() => sql.run("UPDATE about SET value = value + 1 WHERE name = 'next_segment'"));
      const deploy = (): void => first.storeApplication({ number: 1, bytes: new Uint8Array() });
      write();
      if (how === "moved away") renameSync(lock, `${lock}.stale`);
      else rmSync(lock);
      if (how === "replaced") DataDirectory.open(path, openSql).close();
      const [before] = sql.all("SELECT value FROM about WHERE name = 'next_segment'");
      const refused = { kind: "busy", message: expect.stringContaining("lock.sqlite was removed or replaced") };
      expect([write, () => sql.checkpoint?.(true), () => first.openBucket(1), deploy].map(caught)).toMatchObject([
        refused,
        refused,
        refused,
        refused,
      ]);
      expect(sql.all("SELECT value FROM about WHERE name = 'next_segment'")).toEqual([before]);
      // One failure of all buckets, which is told once.
      const rootOf = (error: unknown): unknown => {
        const { cause } = error as Error;
        return cause instanceof Error ? rootOf(cause) : error;
      };
      const roots = [write, deploy, ...[1, 2].map((bucket) => () => first.openBucket(bucket))].map((work) =>
        rootOf(caught(work)),
      );
      expect(new Set(roots).size).toBe(1);
      sql.close();
      first.close();
      DataDirectory.open(path, openSql).openBucket(1).close();
    },
  );

  test.skipIf(!hasCompiler)("is not told of where files cannot be locked, which is said (ENOLCK)", () => {
    const place = folder();
    const [library, source] = [join(place, "no-locks.so"), join(place, "no-locks.c")];
    writeFileSync(source, NO_LOCKS);
    execFileSync("cc", ["-shared", "-fPIC", "-o", library, source, "-ldl"]);
    const script = fileURLToPath(new URL("lock-holder.mjs", import.meta.url));
    const name = openBetterSqlite3 === undefined ? "node:sqlite" : "better-sqlite3";
    const path = made();
    const env = { ...process.env, LD_PRELOAD: library };
    const { stderr } = spawnSync(process.execPath, [script, path, name], { encoding: "utf8", timeout: 20_000, env });
    expect(stderr).toContain(`the data directory ${path} is on a file system that locks no files (ENOLCK)`);
    expect(readdirSync(path).filter((one) => one.startsWith("lock"))).toEqual(["lock.sqlite"]);
  });

  test("of the same process is refused too", () => {
    const path = made();
    const directory = DataDirectory.open(path, openSql);
    expect(() => DataDirectory.open(path, openSql)).toThrow("is open in this process already");
    directory.close();
    DataDirectory.open(path, openSql).close();
  });
});

describe("a bucket file is refused, and not changed, if it", () => {
  const cases: readonly (readonly [what: string, spoil: (path: string) => void, message: string])[] = [
    ["is missing", (path) => rmSync(path), "the file is missing"],
    ["is empty (E1)", (path) => truncateSync(path, 0), "the file is empty"],
    ["is text (E1)", (path) => writeFileSync(path, "hello ".repeat(50)), "not an SQLite database"],
    ["is a folder (E1)", replaceByFolder, "not a file"],
    ["is empty beside a log (E6)", emptyBesideLog, "the file is empty beside a log"],
    ["is another database (E1)", (path) => change(path, "PRAGMA application_id = 7"), "not a brooklet bucket"],
    [
      "is newer (E2)",
      (path) => change(path, "PRAGMA user_version = 9"),
      `format version 9; this release reads versions 1 to ${FORMAT_VERSION}`,
    ],
    [
      "is older (E2)",
      (path) => change(path, "PRAGMA user_version = 0"),
      `format version 0; this release reads versions 1 to ${FORMAT_VERSION}`,
    ],
    [
      "has a trigger (E8)",
      (path) => change(path, "CREATE TRIGGER x AFTER INSERT ON block BEGIN SELECT 1; END"),
      'tampered: "x"',
    ],
    ["has a view (E8)", (path) => change(path, "CREATE VIEW x AS SELECT 1"), 'tampered: "x"'],
    [
      "has another column (E8)",
      (path) => change(path, "ALTER TABLE segment ADD COLUMN more BLOB"),
      'tampered: "segment"',
    ],
    [
      "lacks an index (E8)",
      (path) => change(path, "DROP INDEX segment_of_partition"),
      "tampered: segment_of_partition missing",
    ],
    [
      "is another bucket",
      (path) => change(path, "UPDATE about SET value = 1 WHERE name = 'bucket'"),
      "bucket is 1, not 0",
    ],
    ["is cut at half (E4)", (path) => truncateSync(path, statSync(path).size / 2), "SQLITE_CORRUPT"],
  ];
  for (const [what, spoil, message] of cases) {
    test(what, () => {
      const path = first(made());
      spoil(path);
      const content = existsSync(path) && statSync(path).isFile() ? digest(path) : undefined;
      expect(() => openBucket(join(path, "../.."), { bucket: 0, buckets: 2 }, openSql)).toThrow(message);
      if (content !== undefined) expect(digest(path)).toBe(content);
    });
  }
});

/** Changes a bucket file as a stranger would, leaving no log behind. */
function change(path: string, statement: string): void {
  const sql = openSql(path);
  sql.run(statement);
  sql.close();
}

function replaceByFolder(path: string): void {
  rmSync(path);
  mkdirSync(path);
}

function emptyBesideLog(path: string): void {
  truncateSync(path, 0);
  writeFileSync(`${path}-wal`, "x");
}

test("a file gives back what nothing stands in", () => {
  const path = folder();
  const directory = DataDirectory.open(join(path, "data"), openSql, 1);
  const connection = directory.openBucket(0);
  const store = new PartitionStore(connection, { bucket: 0, buckets: 1, application: 1 });
  const size = (): number => {
    connection.checkpoint?.(true);
    return statSync(join(path, "data", "buckets", "000.sqlite")).size;
  };
  const blocks = (segment: number) => Array.from({ length: 40 }, (_, at) => new Uint8Array(50_000).fill(segment + at));
  const segment = (number: number) => {
    const [header, liveness] = [new Uint8Array(10), new Uint8Array(10)];
    return { number, header, liveness, schema: "note", documents: 1, blocks: blocks(number) };
  };
  const change = { folded: 0, liveness: [], removedSegments: [], newSegments: [] };
  for (let number = 1; number <= 8; number += 1)
    store.commit("g:a", { ...change, newSegments: [segment(number)] }, true);
  const full = size();
  expect(store.giveBack(1 << 20), "nothing is free").toBe(false);
  store.commit("g:a", { ...change, removedSegments: [1, 3, 5, 7] }, true);
  expect(size()).toBe(full);
  while (store.giveBack(1 << 20));
  expect(size()).toBeLessThan(1.3 * (full / 2));
  // What moved is read as it was, from the file and by SQL.
  for (const number of [2, 4, 6, 8]) {
    const asked = blocks(number).map((_, block) => ({ segment: number, block }));
    expect(Buffer.concat(store.read(asked)).equals(Buffer.concat(blocks(number)))).toBe(true);
    asked.forEach(({ block }) => {
      const room = new Uint8Array(50_000);
      expect(connection.blobs?.read(number * BLOCKS_PER_SEGMENT + block, room)).toBe(true);
      expect(room.every((byte) => byte === (number + block) % 256)).toBe(true);
    });
  }
  connection.close();
  directory.close();
});
