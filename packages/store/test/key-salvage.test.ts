/**
 * The repair of files of keys whose pages are damaged: who has no key any more is named, all others are whole, and what was kept of the file
 * outlives no group that is erased, nor the operator's key. BROOKLET_SEED repeats.
 */
import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { IsSealed } from "../src/node/bucket-check.ts";
import { DataDirectory, openBucket } from "../src/node/data-directory.ts";
import { checkDirectory, type DirectoryReport, repairDirectory } from "../src/node/directory-check.ts";
import { encryptedBuckets, encryptedSeals, FolderKeys } from "../src/node/encryption.ts";
import { rotateKey } from "../src/node/key-rotation.ts";
import { PageFile } from "../src/node/page-file.ts";
import { folder, openSql } from "./open.ts";

const SEED = Number(process.env["BROOKLET_SEED"] ?? Math.floor(Math.random() * 2 ** 31));
const IDENTITY = { bucket: 0, buckets: 2, application: 1 };
const KEY = new Uint8Array(32).fill(5);
const FILE = "keys/000.sqlite";
const PAGE_BYTES = 4_096;
const GROUPS = 200;
const NAMES = Array.from({ length: GROUPS }, (_, at) => `g:${at}`);
const isSealedPlain: IsSealed = (key, _segment, _block, bytes) => Buffer.from(bytes).toString() === `of ${key}`;

let state = SEED;
function random(below: number): number {
  state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
  return (state >>> 8) % below;
}

/** An encrypted directory of two buckets, each with groups of one operation, as a process leaves it that is killed: `logged` keys are in the log. */
function made(logged: number): string {
  const [live, path] = [join(folder(), "live"), join(folder(), "data")];
  DataDirectory.open(live, openSql, 2, KEY).close();
  for (const bucket of [1, 0]) {
    const identity = { ...IDENTITY, bucket };
    const buckets = encryptedBuckets(live, KEY, openSql, () => openBucket(live, identity, openSql));
    const sql = buckets.openBucket(identity);
    const store = buckets.partitions(sql, identity);
    const names = bucket === 0 ? NAMES : ["g:other"];
    const put = (key: string): void => void store.append([{ key, bytes: Buffer.from(`of ${key}`) }]);
    for (const name of names.slice(logged)) put(name);
    sql.checkpoint?.(true);
    for (const name of names.slice(0, logged)) put(name);
    if (bucket === 0) cpSync(live, path, { recursive: true });
    sql.close();
  }
  rmSync(join(path, "lock.sqlite"));
  return path;
}

interface Outcome {
  readonly report: DirectoryReport;
  readonly named: readonly string[];
  /** What a check tells afterwards. */
  readonly rest: readonly string[];
}

async function repaired(path: string): Promise<Outcome> {
  const keys = new FolderKeys(join(path, "keys"), KEY, openSql);
  try {
    const seals = encryptedSeals(isSealedPlain, keys);
    const report = await repairDirectory(path, openSql, seals, { drop: true });
    const told = (of: DirectoryReport): string[] =>
      of.buckets.flatMap(({ damage }) => damage.flatMap(({ key }) => key ?? []));
    const rest = await checkDirectory(path, openSql, seals);
    return { report, named: [...new Set(told(report))].sort(), rest: [...rest.damage, ...told(rest)] };
  } finally {
    keys.close();
  }
}

/** Keys that a page of a file has, by their names. */
function keysOf(path: string, page: number): string[] {
  const pages = new PageFile(path, PAGE_BYTES);
  try {
    return [...pages.cells(page)].flatMap((cell) => {
      const [name] = cell.shape === "bb" ? (pages.values(cell) ?? []) : [];
      return name instanceof Uint8Array ? Buffer.from(name).toString("hex") : [];
    });
  } finally {
    pages.close();
  }
}

test("who has no key any more is named, and all others are whole", async () => {
  const intact = made(0);
  const file = join(intact, FILE);
  const count = readFileSync(file).length / PAGE_BYTES;
  expect(count).toBeGreaterThan(5);
  for (let page = 1; page <= count; page += 1) {
    const path = join(folder(), "data");
    cpSync(intact, path, { recursive: true });
    const bytes = readFileSync(file).fill(0, (page - 1) * PAGE_BYTES, page * PAGE_BYTES);
    writeFileSync(join(path, FILE), bytes);
    const { report, named, rest } = await repaired(path);
    expect([page, named.length, rest]).toEqual([page, keysOf(file, page).length, []]);
    expect(report.keys).toMatchObject([{ file: join(report.path, FILE), keys: GROUPS - named.length }]);
    expect(readFileSync(report.kept[0] ?? "").equals(bytes)).toBe(true);
    expect([report.left, report.salvaged]).toEqual([[], []]);
  }
});

test("whatever is damaged of them and of their log, groups are named or whole", async () => {
  const forms = [made(0), made(30)];
  const seen = { keys: 0, named: 0, left: 0 };
  for (let turn = 0; turn < 24; turn += 1) {
    const path = join(folder(), "data");
    cpSync(forms[turn % 2] as string, path, { recursive: true });
    const name = turn % 4 === 3 ? `${FILE}-wal` : FILE;
    let bytes = readFileSync(join(path, name));
    for (let more = 1 + random(3); more > 0; more -= 1) {
      const at = random(bytes.length);
      const page = Math.floor(at / PAGE_BYTES) * PAGE_BYTES;
      const other = Math.floor(random(bytes.length) / PAGE_BYTES) * PAGE_BYTES;
      const kind = random(5);
      if (kind === 0) bytes.writeUInt8(bytes.readUInt8(at) ^ (1 << random(8)), at);
      else if (kind === 1) bytes.fill(0, page, page + PAGE_BYTES);
      else if (kind === 2) bytes.copy(bytes, page, other, other + PAGE_BYTES);
      else if (kind === 3) bytes.fill(0, 0, 100);
      else bytes = bytes.subarray(0, Math.max(at, 1));
    }
    writeFileSync(join(path, name), bytes);
    const { report, named, rest } = await repaired(path).catch((cause: unknown) => {
      throw new Error(`seed ${SEED}, turn ${turn}`, { cause });
    });
    if (report.left?.length) {
      seen.left += 1;
      continue;
    }
    expect([SEED, turn, rest]).toEqual([SEED, turn, []]);
    // What is in the log was made last.
    for (const [salvaged] of [report.keys ?? []]) if (salvaged) expect(salvaged.keys + named.length).toBe(GROUPS);
    seen.keys += report.keys?.length ?? 0;
    seen.named += named.length;
  }
  expect([seen.keys > 0, seen.named > 0]).toEqual([true, true]);
});

test("what was kept of a file goes with the first group that is erased, and with the key that wraps it", async () => {
  const kept = (path: string): string[] => readdirSync(join(path, "keys")).filter((name) => name.includes("before"));
  const damaged = async (): Promise<string> => {
    const path = made(10);
    const bytes = readFileSync(join(path, FILE));
    writeFileSync(join(path, FILE), bytes.fill(0, 0, 100));
    expect((await repaired(path)).named).toEqual([]);
    expect(kept(path)).toHaveLength(2);
    return path;
  };
  const path = await damaged();
  const buckets = encryptedBuckets(path, KEY, openSql, () => openBucket(path, IDENTITY, openSql));
  const sql = buckets.openBucket(IDENTITY);
  buckets.partitions(sql, IDENTITY).erase("g:1");
  expect(kept(path)).toEqual([]);
  sql.close();
  const other = await damaged();
  rotateKey(join(other, "keys"), openSql, { before: KEY, next: new Uint8Array(32).fill(6) });
  expect(kept(other)).toEqual([]);
});

test("a file that is empty beside its log is not opened, and has the keys of the log after a repair", async () => {
  const path = made(GROUPS);
  writeFileSync(join(path, FILE), "");
  const log = readFileSync(join(path, `${FILE}-wal`));
  const buckets = encryptedBuckets(path, KEY, openSql, () => openBucket(path, IDENTITY, openSql));
  const sql = buckets.openBucket(IDENTITY);
  expect(() => buckets.partitions(sql, IDENTITY).append([{ key: "g:1", bytes: Buffer.from("of g:1") }])).toThrow(
    "empty beside a log",
  );
  sql.close();
  expect(readFileSync(join(path, `${FILE}-wal`)).equals(log)).toBe(true);
  const { report, named } = await repaired(path);
  expect([report.keys?.map(({ keys }) => keys), named]).toEqual([[GROUPS], []]);
});

test("a file without any key of the directory stays as it is, and is named", async () => {
  const path = made(0);
  writeFileSync(join(path, FILE), new Uint8Array(8 * PAGE_BYTES));
  const before = readFileSync(join(path, FILE));
  const { report } = await repaired(path);
  expect(report.damage.join()).toContain("000.sqlite");
  expect([report.keys ?? [], report.left?.map(({ bucket }) => bucket)]).toEqual([[], [0]]);
  expect(readFileSync(join(path, FILE)).equals(before)).toBe(true);
});
