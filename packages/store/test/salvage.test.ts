/**
 * The repair of buckets whose pages are damaged (P10): whatever becomes of pages of a file or of its log, a group that is not named
 * afterwards is byte for byte what it was, and one that lost something is told. What stands on no page that was damaged is whole.
 * BROOKLET_SALVAGES makes more of them, BROOKLET_SEED repeats.
 */
import { createHash } from "node:crypto";
import { cpSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { Heads, type PartitionRow } from "../src/heads.ts";
import type { IsSealed } from "../src/node/bucket-check.ts";
import { DataDirectory, openBucket } from "../src/node/data-directory.ts";
import { checkDirectory, type DirectoryReport, repairDirectory } from "../src/node/directory-check.ts";
import { encryptedBuckets, encryptedSeals, FolderKeys } from "../src/node/encryption.ts";
import { PageFile } from "../src/node/page-file.ts";
import { hasNotes, notedPartitions } from "../src/notes.ts";
import { PartitionStore } from "../src/partition-store.ts";
import type { Partitions, StoredChange } from "../src/partitions.ts";
import type { SqlConnection } from "../src/sql.ts";
import { StoreError } from "../src/store-error.ts";
import { FORMAT_VERSION, PAGE_BYTES } from "../src/tables.ts";
import { folder, openSql } from "./open.ts";

const SEED = Number(process.env["BROOKLET_SEED"] ?? Math.floor(Math.random() * 2 ** 31));
const SALVAGES = Number(process.env["BROOKLET_SALVAGES"] ?? 16);
const IDENTITY = { bucket: 0, buckets: 1, application: 3 };
const KEY = new Uint8Array(32).fill(5);
const GROUPS = 420;
const FILE = "buckets/000.sqlite";
const OF_BLOCKS = 2 ** 20;
const [HEADER, LIVENESS] = [2 ** 32 - 1, 2 ** 32 - 2];

type Random = (below: number) => number;

/** mulberry32. */
function randomFrom(seed: number): Random {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * below);
  };
}

/** As the core does, of which this package knows nothing: what is stored ends with what it is bound to. */
function sealed(key: string, segment: number, block: number, content: Uint8Array): Uint8Array {
  return Buffer.concat([content, endOf(key, segment, block, content)]);
}

function endOf(key: string, segment: number, block: number, content: Uint8Array): Buffer {
  return createHash("sha256").update(`${key} ${segment} ${block} `).update(content).digest().subarray(0, 8);
}

const isSealedPlain: IsSealed = (key, segment, block, bytes) =>
  endOf(key, segment, block, bytes.subarray(0, -8)).equals(bytes.subarray(-8));

function content(random: Random, length: number): Uint8Array {
  return Uint8Array.from({ length }, () => random(256));
}

/** A segment of a partition, with a header that says how many blocks it has. */
function segment(random: Random, key: string, number: number, folded: number): StoredChange {
  const blocks = Array.from({ length: 1 + random(3) }, (_, block) =>
    sealed(key, number, block, content(random, [40_000, 400, 32, 3][random(4)] ?? 0)),
  );
  const header = Uint8Array.from([1, 0, ...content(random, 8), 0, blocks.length]);
  const made = {
    number,
    schema: "note",
    documents: 3,
    header: sealed(key, number, HEADER, header),
    liveness: sealed(key, number, LIVENESS, content(random, 30)),
    blocks,
  };
  return { folded, removedSegments: [], liveness: [], newSegments: [made] };
}

/** Commits what a bucket has: many small groups, some with segments, notes and long operations; some that were erased. */
function fill(store: Partitions, sql: SqlConnection, random: Random): void {
  const put = (key: string, length: number): void =>
    store.append([{ key, bytes: sealed(key, HEADER, HEADER, content(random, length)) }]);
  const keys = Array.from({ length: GROUPS }, (_, at) => `${"gn"[at % 2]}:${at}`);
  for (const key of keys) {
    put(key, 60 + random(200));
    if (random(40) === 0) put(key, 40_000);
    if (random(6) > 0) continue;
    store.commit(key, segment(random, key, store.firstFreeSegment, store.lastOperation), true);
    for (let more = random(3); more > 0; more -= 1)
      store.commit(key, segment(random, key, store.firstFreeSegment, 0), false);
    put(key, 100);
    if (random(3) === 0) store.note(key, `of ${key}`);
  }
  for (let more = 0; more < 12; more += 1) put("g:erased", 40_000);
  store.erase("g:erased");
  for (let at = 0; at < 40; at += 1) store.erase(keys.splice(random(keys.length), 1)[0] as string);
  while (store.dropErased(1 << 20));
  sql.checkpoint?.(true);
  // What is in the log.
  for (const key of keys.slice(0, 25)) put(key, 90);
  for (const key of keys.slice(20, 24))
    store.commit(key, segment(random, key, store.firstFreeSegment, store.lastOperation), true);
}

interface Form {
  readonly path: string;
  readonly isSealed: (path: string) => { readonly isSealed: IsSealed; close(): void };
  readonly groups: ReadonlyMap<string, string>;
  /** Those of which something is noted. */
  readonly noted: ReadonlySet<string>;
}

/** Makes a bucket one of an earlier version: before 7 heads did not tell what is noted, and before 6 there were none. */
function setBack(sql: SqlConnection, version: number): void {
  if (version === FORMAT_VERSION) return;
  sql.transaction(() => {
    const heads = new Heads(sql, IDENTITY, new Map());
    if (version < 6) for (const table of ["head", "note"]) sql.run(`DROP TABLE ${table}`);
    else
      for (const row of sql.all<PartitionRow>("SELECT number, key, application FROM partition"))
        heads.write(row, row, heads.derived(row.number), undefined);
    sql.run("UPDATE about SET value = ? WHERE name = 'format_version'", version);
    sql.run(`PRAGMA user_version = ${version}`);
  });
}

/** What the groups of a directory are when this release has opened it. */
function groupsAt(path: string): ReadonlyMap<string, string> {
  const copy = join(folder(), "data");
  cpSync(path, copy, { recursive: true });
  const sql = openBucket(copy, IDENTITY, openSql);
  try {
    return groupsOf(sql);
  } finally {
    sql.close();
  }
}

/** A directory of one bucket, in which something is in the log. */
function made(isEncrypted: boolean, version: number = FORMAT_VERSION): Form {
  const random = randomFrom(7);
  const [live, path] = [join(folder(), "live"), join(folder(), "data")];
  const directory = DataDirectory.open(live, openSql, 1, isEncrypted ? KEY : "none");
  directory.storeApplication({ number: IDENTITY.application, bytes: content(random, 9) });
  directory.close();
  const plain = (): SqlConnection => openBucket(live, IDENTITY, openSql);
  const buckets = isEncrypted ? encryptedBuckets(live, KEY, openSql, plain) : undefined;
  const sql = buckets?.openBucket(IDENTITY) ?? plain();
  sql.run("PRAGMA synchronous = OFF");
  fill(buckets?.partitions(sql, IDENTITY) ?? new PartitionStore(sql, IDENTITY), sql, random);
  const noted = new Set(notedPartitions(sql).map(({ key }) => key));
  setBack(sql, version);
  cpSync(live, path, { recursive: true });
  rmSync(join(path, "lock.sqlite"));
  sql.close();
  expect(statSync(join(path, `${FILE}-wal`)).size).toBeGreaterThan(PAGE_BYTES);
  return { path, groups: groupsAt(path), noted, isSealed: (at) => sealsIn(at, isEncrypted) };
}

function sealsIn(path: string, isEncrypted: boolean): { readonly isSealed: IsSealed; close(): void } {
  if (!isEncrypted) return { isSealed: isSealedPlain, close: () => undefined };
  const keys = new FolderKeys(join(path, "keys"), KEY, openSql);
  return { isSealed: encryptedSeals(isSealedPlain, keys), close: () => keys.close() };
}

/** All rows of each group, as one text. */
function groupsOf(sql: SqlConnection): Map<string, string> {
  const rows = sql.all<{ number: number; key: string }>("SELECT * FROM partition");
  return new Map(
    rows.map(({ number, key, ...rest }) => {
      const segments = sql.all<{ number: number }>("SELECT * FROM segment WHERE partition = ? ORDER BY number", number);
      const blocks = segments.map(({ number: own }) =>
        sql.all("SELECT * FROM block WHERE id >= ? AND id < ?", own * OF_BLOCKS, (own + 1) * OF_BLOCKS),
      );
      const tables = hasNotes(sql) ? ["head", "note", "operation"] : ["head", "operation"];
      const parts = tables.map((table) => sql.all(`SELECT * FROM ${table} WHERE partition = ? ORDER BY 1`, number));
      const text = JSON.stringify(
        [number, rest, parts.filter((part) => part.length > 0), segments, blocks],
        (_, value) =>
          value instanceof Uint8Array || value?.type === "Buffer"
            ? Buffer.from(value.data ?? value).toString("hex")
            : value,
      );
      return [key, createHash("sha256").update(text).digest("hex")] as const;
    }),
  );
}

/** What is made of a file's bytes. */
interface Damaging {
  readonly bytes: Buffer;
  readonly random: Random;
  readonly page: number;
}

const at = (page: number): number => (page - 1) * PAGE_BYTES;
const flip = ({ bytes, random }: Damaging, from: number, length: number): void => {
  const where = from + random(length);
  if (where < bytes.length) bytes.writeUInt8(bytes.readUInt8(where) ^ (1 << random(8)), where);
};
const DAMAGES: Readonly<Record<string, (it: Damaging) => Buffer | undefined>> = {
  "a bit": (it) => void flip(it, at(it.page), PAGE_BYTES),
  "a bit of the head of a page": (it) => void flip(it, at(it.page), 8),
  "a bit of where records are": (it) => void flip(it, at(it.page) + 8, 64),
  "a page of zeros": ({ bytes, page }) => void bytes.fill(0, at(page), at(page) + PAGE_BYTES),
  "a page of anything": ({ bytes, page, random }) => void bytes.set(content(random, PAGE_BYTES), at(page)),
  "a sector of zeros": ({ bytes, page, random }) => {
    const from = at(page) + 512 * random(32);
    bytes.fill(0, from, from + 512);
    return undefined;
  },
  "another page": ({ bytes, page, random }) => {
    const other = at(1 + random(bytes.length / PAGE_BYTES));
    bytes.copy(bytes, at(page), other, other + PAGE_BYTES);
    return undefined;
  },
  "half of another page": ({ bytes, page, random }) => {
    const other = at(1 + random(bytes.length / PAGE_BYTES));
    bytes.copy(bytes, at(page) + PAGE_BYTES / 2, other + PAGE_BYTES / 2, other + PAGE_BYTES);
    return undefined;
  },
  "the beginning": ({ bytes }) => void bytes.fill(0, 0, 100),
  "the first page": ({ bytes }) => void bytes.fill(0, 0, PAGE_BYTES),
  "the end": ({ bytes, page, random }) => bytes.subarray(0, at(page) + random(2) * random(PAGE_BYTES)),
};

interface Told {
  readonly report: DirectoryReport;
  readonly after: ReadonlyMap<string, string>;
  readonly named: ReadonlySet<string>;
}

/** Repairs a directory; what is there then. */
async function repaired({ isSealed }: Form, path: string): Promise<Told> {
  const seals = isSealed(path);
  try {
    const report = await repairDirectory(path, openSql, seals.isSealed, { drop: true });
    const named = new Set(report.buckets.flatMap(({ damage }) => damage.flatMap(({ key }) => key ?? [])));
    if (report.left?.length) return { report, after: new Map(), named };
    const sql = openBucket(path, IDENTITY, openSql);
    const after = groupsOf(sql);
    sql.close();
    // What notes mean, and what is there without one, is no matter of a bucket.
    const left = (await checkDirectory(path, openSql, seals.isSealed)).buckets[0]?.damage;
    expect(left?.filter(({ what }) => !/what is noted of it is lost/.test(what))).toEqual([]);
    return { report, after, named };
  } finally {
    seals.close();
  }
}

/** Requires that what is not told is as it was. How many groups are whole, and how many are gone. */
function demandHonest({ groups, noted }: Form, { report, after, named }: Told): { whole: number; gone: number } {
  if (report.left?.length) return { whole: 0, gone: 0 };
  const told = report.buckets.flatMap(({ damage }) => damage.map(({ what }) => what)).join("\n");
  const isOlder = /it is at change \d+ and operation \d+, and was at/.test(told);
  const isNoteUntold = /did not tell what is noted/.test(told);
  const gone = [...groups.keys()].filter((key) => !after.has(key) && !named.has(key)).length;
  const missing = [...told.matchAll(/^(\d+) partitions are there of (\d+)$/gm)].map(
    ([, is, was]) => Number(was) - Number(is),
  );
  const isBucketLost = /what the bucket consists of is missing|the head of the bucket/.test(told);
  if (gone > 0 && !isBucketLost && !isOlder) expect(missing.some((count) => count >= gone)).toBe(true);
  let whole = 0;
  for (const [key, rows] of after) {
    if (named.has(key)) continue;
    if (isOlder && groups.get(key) !== rows) continue;
    if (isNoteUntold && noted.has(key) && groups.get(key) !== rows) continue;
    expect([key, rows]).toEqual([key, groups.get(key)]);
    whole += 1;
  }
  return { whole, gone };
}

/** A copy of a directory, in which the log was moved to the file, so that pages can be damaged where they are. */
function copied(form: Form, isMoved: boolean): string {
  const path = join(folder(), "data");
  cpSync(form.path, path, { recursive: true });
  if (!isMoved) return path;
  const sql = openSql(join(path, FILE));
  sql.all("PRAGMA wal_checkpoint(TRUNCATE)");
  sql.close();
  return path;
}

const FORMS = [
  [false, 7],
  [true, 7],
  [false, 6],
  [true, 6],
  [false, 5],
] as const;

test.each(FORMS)(
  "whatever is damaged, what is not told is as it was (encrypted: %s, version %s)",
  async (isEncrypted, version) => {
    const form = made(isEncrypted, version);
    const random = randomFrom(SEED + 1);
    const seen = { whole: 0, gone: 0, named: 0, salvaged: 0, refused: 0 };
    for (let turn = 0; turn < SALVAGES / (isEncrypted || version < 7 ? 2 : 1); turn += 1) {
      const path = copied(form, random(2) === 0);
      const names = Object.keys(DAMAGES);
      const file = join(path, random(8) === 0 && turn % 2 === 1 ? `${FILE}-wal` : FILE);
      let bytes = Buffer.alloc(0);
      try {
        bytes = readFileSync(file);
      } catch {
        continue;
      }
      const done: string[] = [];
      for (let more = 1 + random(3); more > 0 && bytes.length >= PAGE_BYTES; more -= 1) {
        const name = names[random(names.length)] as string;
        const page = 1 + random(bytes.length / PAGE_BYTES);
        done.push(`${name} at ${page}`);
        bytes = Buffer.from(DAMAGES[name]?.({ bytes, random, page }) ?? bytes);
      }
      writeFileSync(file, bytes);
      const context = `seed ${SEED}, turn ${turn}: ${done.join(", ")}`;
      const outcome = await repaired(form, path).catch((error: unknown) => {
        throw new Error(context, { cause: error });
      });
      try {
        const { whole, gone } = demandHonest(form, outcome);
        seen.whole += whole;
        seen.gone += gone;
      } catch (error) {
        throw new Error(`${context}: ${(error as Error).message}`, { cause: error });
      }
      seen.named += outcome.named.size;
      if (outcome.report.left?.length) seen.refused += 1;
      else if (outcome.report.kept.length > 0) seen.salvaged += 1;
    }
    expect([seen.salvaged > 0, seen.whole > 0, seen.named > 0]).toEqual([true, true, true]);
  },
);

const INNER = new Set([2, 5]);

/** Pages of a file by what they are, with the groups that have something there. */
function pagesOf(path: string): ReadonlyMap<string, readonly (readonly [page: number, groups: ReadonlySet<string>])[]> {
  const file = join(path, FILE);
  const bytes = readFileSync(file);
  const sql = openSql(file);
  const keys = new Map(
    sql
      .all<{ number: number; key: string }>("SELECT number, key FROM partition")
      .map(({ number, key }) => [number, key]),
  );
  const segments = new Map(
    sql
      .all<{ number: number; partition: number }>("SELECT number, partition FROM segment")
      .map((row) => [row.number, row.partition]),
  );
  sql.close();
  const pages = new PageFile(file);
  const found = new Map<string, [number, Set<string>][]>();
  for (let page = 1; page <= pages.pages; page += 1) {
    const groups = new Set<string>();
    const type = bytes.readUInt8(page === 1 ? 100 : at(page));
    const isFree = bytes.subarray(at(page), at(page) + PAGE_BYTES).every((byte) => byte === 0);
    let kind = page === 1 ? "first" : isFree ? "free" : type === 0 ? "long" : INNER.has(type) ? "inner" : "index";
    for (const cell of pages.cells(page)) {
      const { shape, id = 0 } = cell;
      if (shape === "nti" || shape === "nt") kind = shape === "nt" ? "note" : "partition";
      if (!/^n.*b/.test(shape)) continue;
      const ofBlock = segments.get(Math.floor(id / OF_BLOCKS));
      kind = shape === "nib" ? "operation" : shape === "nb" ? (ofBlock === undefined ? "head" : "block") : "segment";
      const partition = shape === "nb" ? (ofBlock ?? id) : Number(pages.values(cell, 2)?.[1]);
      const key = keys.get(partition);
      if (key !== undefined) groups.add(key);
    }
    found.set(kind, [...(found.get(kind) ?? []), [page, groups]]);
  }
  pages.close();
  return found;
}

test("what stands on no page that is damaged is whole", async () => {
  const form = made(false);
  const random = randomFrom(SEED + 2);
  const intact = copied(form, true);
  const pages = pagesOf(intact);
  expect([...pages.keys()].sort()).toEqual(
    ["block", "first", "free", "head", "index", "inner", "long", "note", "operation", "partition", "segment"].sort(),
  );
  for (const [kind, all] of pages) {
    // Where records lead to is on several pages, and of each table.
    for (const [page, groups] of kind === "inner" || kind === "index"
      ? all
      : [all[random(all.length)] as (typeof all)[0]]) {
      const path = join(folder(), "data");
      cpSync(intact, path, { recursive: true });
      const bytes = readFileSync(join(path, FILE));
      bytes.set(kind === "free" ? content(random, PAGE_BYTES) : Buffer.alloc(PAGE_BYTES), at(page));
      writeFileSync(join(path, FILE), bytes);
      const outcome = await repaired(form, path);
      const context = `seed ${SEED}: page ${page}, ${kind}`;
      const named = [...outcome.named].sort();
      expect([context, outcome.report.left ?? []]).toEqual([context, []]);
      if (kind === "long" || kind === "note") expect(named.length).toBeLessThan(kind === "long" ? 2 : GROUPS / 6);
      else expect([context, named]).toEqual([context, [...groups].sort()]);
      const ofBucket = outcome.report.salvaged?.map(({ losses }) => losses > 0);
      // What is in a free page is read by nobody.
      if (kind !== "long") expect([context, ofBucket]).toEqual([context, kind === "free" ? [] : [named.length > 0]]);
      expect([context, demandHonest(form, outcome)]).toEqual([
        context,
        { whole: form.groups.size - named.length, gone: 0 },
      ]);
      if (kind === "free") continue;
      const kept = outcome.report.kept.find((name) => name.includes("000.sqlite.before-")) ?? "";
      expect([context, readFileSync(kept).equals(bytes)]).toEqual([context, true]);
    }
  }
});

test("what an earlier version did not tell is not taken for all there was", async () => {
  const repairedWithout = async (version: number, kind: string): Promise<Told & { groups: ReadonlySet<string> }> => {
    const form = made(false, version);
    const path = copied(form, true);
    const pages = pagesOf(path).get(kind)?.slice(-2).reverse() ?? [];
    const [[page, groups] = [0, new Set<string>()], [other] = [0]] = pages;
    const bytes = readFileSync(join(path, FILE));
    // A leaf in another's place is read without a complaint.
    bytes.set(other === 0 ? Buffer.alloc(PAGE_BYTES) : bytes.subarray(at(other), at(other + 1)), at(page));
    writeFileSync(join(path, FILE), bytes);
    const outcome = await repaired(form, path);
    demandHonest(form, outcome);
    return { groups, ...outcome };
  };
  const leaf = await repairedWithout(5, "operation");
  expect(leaf.report.salvaged).toHaveLength(1);
  expect([...leaf.groups].filter((key) => !leaf.named.has(key))).toEqual([]);
  const notes = await repairedWithout(6, "note");
  const told = notes.report.buckets.flatMap(({ damage }) => damage.filter(({ key }) => key === undefined));
  expect(told.map(({ what }) => what)).toContainEqual(expect.stringMatching(/format version 6.*a note may be lost/));
  expect(notes.report.salvaged).toEqual([{ bucket: 0, losses: 1 }]);
});

test("what is in the log of a file without a beginning is salvaged, and is nobody's afterwards", async () => {
  const form = made(false);
  const path = copied(form, false);
  const bytes = readFileSync(join(path, FILE));
  writeFileSync(join(path, FILE), bytes.fill(0, 0, 100));
  const outcome = await repaired(form, path);
  expect(outcome.report.salvaged).toEqual([{ bucket: 0, losses: 0 }]);
  expect(demandHonest(form, outcome)).toEqual({ whole: form.groups.size, gone: 0 });
  expect(outcome.report.kept.map((name) => /sqlite.*(?=\.before)|generation/.exec(name)?.[0])).toEqual([
    "sqlite",
    "sqlite-wal",
    "generation",
  ]);
});

test("one without room for another bucket leaves nothing, and is done when there is some", async () => {
  const form = made(false);
  const path = copied(form, true);
  const bytes = readFileSync(join(path, FILE));
  writeFileSync(join(path, FILE), bytes.fill(0, 0, 100));
  const full = (name: string): SqlConnection => {
    const sql = openSql(name);
    const run: typeof sql.run = (statement, ...bindings) => {
      if (statement.startsWith("INSERT OR IGNORE INTO block")) throw new StoreError("full", "SQLITE_FULL");
      sql.run(statement, ...bindings);
    };
    return name.endsWith(".new") ? { ...sql, run } : sql;
  };
  const repair = repairDirectory(path, full, form.isSealed(path).isSealed, { drop: false });
  await expect(repair).rejects.toMatchObject({ kind: "full" });
  expect(readdirSync(join(path, "buckets")).sort()).toEqual(["000.generation", "000.sqlite"]);
  expect(readFileSync(join(path, FILE)).equals(bytes)).toBe(true);
  const outcome = await repaired(form, path);
  expect(demandHonest(form, outcome)).toEqual({ whole: form.groups.size, gone: 0 });
});

test("what is not this bucket, or of a later release, is not salvaged, and stays as it is", async () => {
  const form = made(false);
  const changes: Readonly<Record<string, readonly [(sql: SqlConnection) => void, RegExp]>> = {
    "a table of a later release": [(sql) => sql.run("CREATE TABLE later (number INTEGER)"), /tampered: "later"/],
    "a later version": [
      (sql) => {
        sql.run("PRAGMA user_version = 99");
        sql.run("UPDATE about SET value = 99 WHERE name = 'format_version'");
      },
      /format version 99/,
    ],
    "another secret": [() => undefined, /nothing in its pages shows that it is this bucket/],
  };
  for (const [name, [change, why]] of Object.entries(changes)) {
    const path = copied(form, true);
    const sql = openSql(join(path, FILE));
    change(sql);
    sql.all("PRAGMA wal_checkpoint(TRUNCATE)");
    sql.close();
    if (name === "another secret") writeFileSync(join(path, "secret"), new Uint8Array(32).fill(1));
    const bytes = readFileSync(join(path, FILE));
    // An inner page: there is nothing that SQLite could go on with.
    const [[page] = [0]] = pagesOf(path).get("inner") ?? [];
    bytes.fill(0, at(page), at(page) + PAGE_BYTES);
    bytes.fill(0, 0, 16);
    writeFileSync(join(path, FILE), bytes);
    const { report } = await repaired(form, path);
    expect([name, report.left?.map(({ what }) => what).join()]).toEqual([name, expect.stringMatching(why)]);
    expect(readFileSync(join(path, FILE)).equals(bytes)).toBe(true);
  }
});
