/** `brooklet check` says what is not as it was written, and `brooklet repair` what there is without it. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bucketOf } from "@brooklet/store";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { runCommandLine } from "../src/command/program.ts";
import { int, open, schema, text } from "../src/index.ts";
import { openDatabase } from "../src/node/database.ts";

const BUCKETS = 16;
const PAGE_BYTES = 16_384;
const note = schema("note", { body: text(), step: int() });
const noteOf = (group: string, step: number) => ({ body: `note ${step} of ${group}`, step });

/** A directory with a segment and a tail in each of two groups. */
async function filled(key: { readonly encryptionKey?: string } = {}): Promise<string> {
  const path = mkdtempSync(join(tmpdir(), "brooklet-check-"));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  const data = join(path, "data");
  const database = await open({ path: data, schemas: [note], ...key });
  for (const group of ["alice", "bob"]) {
    const fed = Array.from({ length: 400 }, (_, step) => ({ id: `n${step}`, fields: noteOf(group, step) }));
    expect(await database.group(group).feed(note, fed)).toMatchObject({ applied: 400 });
    for (let step = 400; step < 410; step += 1) await database.group(group).put(note, `n${step}`, noteOf(group, step));
  }
  await database.close();
  return data;
}

async function command(...words: string[]): Promise<{ code: number; printed: string; warned: string }> {
  const [printed, warned]: [string[], string[]] = [[], []];
  const code = await runCommandLine(words, {
    print: (line) => printed.push(line),
    warn: (line) => warned.push(line),
    progress: () => undefined,
    input: (async function* () {})(),
    untilEnded: async () => undefined,
  });
  return { code, printed: printed.join("\n"), warned: warned.join("\n") };
}

function behind(data: string, group: string, statement: string): void {
  const sql = openDatabase(join(data, "buckets", `${String(bucketOf(`g:${group}`, BUCKETS)).padStart(3, "0")}.sqlite`));
  sql.run(statement.replaceAll("$", `(SELECT number FROM partition WHERE key = 'g:${group}')`));
  sql.close();
}

const FLIPPED =
  "UPDATE block SET bytes = zeroblob(length(bytes)) WHERE id = (SELECT min(id) FROM block WHERE id >> 20 IN (SELECT number FROM segment WHERE partition = $))";
const LOSSES: readonly (readonly [what: string, statement: string, told: RegExp])[] = [
  ["a bit of a block", FLIPPED, /g:alice: block 0 of segment \d+ is not what was written/],
  [
    "a block",
    "DELETE FROM block WHERE id = (SELECT max(id) FROM block WHERE id >> 20 IN (SELECT number FROM segment WHERE partition = $))",
    /g:alice: \d+ blocks of segment \d+ are there of \d+/,
  ],
  [
    "an operation",
    "DELETE FROM operation WHERE number = (SELECT max(number) FROM operation WHERE partition = $)",
    /g:alice: \d+ operations are there of \d+/,
  ],
  [
    "bits of an operation",
    "UPDATE operation SET bytes = zeroblob(length(bytes)) WHERE number = (SELECT max(number) FROM operation WHERE partition = $)",
    /g:alice: operation \d+ is not what was written/,
  ],
  ["a segment", "DELETE FROM segment WHERE partition = $", /g:alice: 0 segments are there of \d+/],
  [
    "a partition",
    "DELETE FROM partition WHERE key = 'g:alice'",
    /0 partitions are there of 1\n(.*\n)*.*rows of operation belong to no partition/,
  ],
];

test("what is whole is said to be", async () => {
  const data = await filled();
  const { code, printed } = await command("check", data);
  expect([code, printed]).toEqual([
    0,
    expect.stringMatching(/2 partitions, \d+ operations, \d+ segments of \d+ blocks; all of it is as it was written/),
  ]);
  const repaired = await command("repair", data);
  expect([repaired.code, readdirSync(join(data, "buckets")).filter((name) => name.includes("before"))]).toEqual([
    0,
    [],
  ]);
});

for (const [what, statement, told] of LOSSES) {
  test(`${what}: checked, repaired, and the file kept as it was`, async () => {
    const data = await filled();
    behind(data, "alice", statement);
    const checked = await command("check", data);
    expect([checked.code, checked.warned]).toEqual([1, expect.stringMatching(told)]);
    expect(checked.warned).not.toContain("g:bob");
    const repaired = await command("repair", data, "--drop");
    expect([repaired.code, repaired.warned]).toEqual([0, expect.stringMatching(told)]);
    expect(readdirSync(join(data, "buckets")).filter((name) => /\.sqlite\.before-/.test(name))).toHaveLength(1);
    expect((await command("check", data)).code).toBe(0);
    const database = await open({ path: data, schemas: [note] });
    expect(await database.group("bob").get(note, "n405")).toEqual(noteOf("bob", 405));
    expect((await database.group("bob").search(note, { limit: 0 })).totalCount).toBe(410);
    const left = (await database.group("alice").search(note, { limit: 0 })).totalCount;
    expect(left).toBeLessThan(410);
    await database.group("alice").put(note, "n1", noteOf("alice", 1));
    expect(await database.group("alice").get(note, "n1")).toEqual(noteOf("alice", 1));
    await database.close();
  });
}

const KEY = "q83vASNFZ4mrze8BI0VniavN7wEjRWeJq83vASNFZ4k";

/** Damages the file of the bucket that has a group, and gives what it was made of. */
function damaged(
  data: string,
  group: string,
  damage: (bytes: Buffer, rootOf: (table: string) => number) => void,
): Buffer {
  const file = join(data, "buckets", `${String(bucketOf(`g:${group}`, BUCKETS)).padStart(3, "0")}.sqlite`);
  const sql = openDatabase(file);
  const roots = sql.all<{ name: string; root: number }>("SELECT name, rootpage AS root FROM sqlite_schema");
  sql.close();
  const bytes = readFileSync(file);
  damage(bytes, (table) => ((roots.find(({ name }) => name === table)?.root ?? 0) - 1) * PAGE_BYTES);
  writeFileSync(file, bytes);
  return bytes;
}

const ALL_LEFT: Readonly<Record<string, (bytes: Buffer, rootOf: (table: string) => number) => void>> = {
  "a bit of the head of a page": (bytes, rootOf) => {
    bytes.writeUInt8(bytes.readUInt8(rootOf("block")) ^ 1, rootOf("block"));
  },
  "the page with the names of groups": (bytes, rootOf) => {
    bytes.fill(0, rootOf("partition"), rootOf("partition") + PAGE_BYTES);
  },
  "the beginning of the file": (bytes) => {
    bytes.fill(0, 0, 100);
  },
};

describe.each([false, true])("pages that are damaged (encrypted: %s)", (isEncrypted) => {
  const key = isEncrypted ? { encryptionKey: KEY } : {};
  beforeEach(() => void vi.stubEnv("BROOKLET_ENCRYPTION_KEY", isEncrypted ? KEY : undefined));
  afterEach(() => void vi.unstubAllEnvs());

  test.each(Object.entries(ALL_LEFT))("%s: all is there again", async (_, damage) => {
    const data = await filled(key);
    const bytes = damaged(data, "alice", damage);
    expect((await command("check", data)).code).toBe(1);
    const { code, printed } = await command("repair", data);
    expect([code, printed]).toEqual([
      0,
      expect.stringMatching(/bucket \d+ was written anew .*: nothing of it is lost/),
    ]);
    expect(printed).not.toContain("is taken for all there is");
    const [kept = ""] = /(?<=kept as it was: ).+\.sqlite\.before-\S+/.exec(printed) ?? [];
    expect(readFileSync(kept).equals(bytes)).toBe(true);
    expect((await command("check", data)).code).toBe(0);
    const database = await open({ path: data, schemas: [note], ...key });
    for (const group of ["alice", "bob"]) {
      expect((await database.group(group).search(note, { limit: 0 })).totalCount).toBe(410);
      for (const step of [0, 250, 405])
        expect(await database.group(group).get(note, `n${step}`)).toEqual(noteOf(group, step));
    }
    await database.group("alice").put(note, "n1", noteOf("alice", 2));
    expect(await database.group("alice").get(note, "n1")).toEqual(noteOf("alice", 2));
    await database.close();
  });

  test("the page with operations: who lost them is named, and has all else", async () => {
    const data = await filled(key);
    damaged(data, "alice", (bytes, rootOf) => bytes.fill(0, rootOf("operation"), rootOf("operation") + PAGE_BYTES));
    const { code, printed, warned } = await command("repair", data);
    expect([code, warned]).toEqual([0, expect.stringMatching(/g:alice: 0 operations are there of 10/)]);
    expect(warned).not.toContain("g:bob");
    expect(printed).toMatch(/what is lost is among the above \(\d+ lines\)\n.*is taken for all there is/);
    const database = await open({ path: data, schemas: [note], ...key });
    const counts = ["alice", "bob"].map(
      async (group) => (await database.group(group).search(note, { limit: 0 })).totalCount,
    );
    expect(await Promise.all(counts)).toEqual([400, 410]);
    await database.close();
  });
});

test("a file of keys without its beginning is written anew, and all groups are there again", async () => {
  vi.stubEnv("BROOKLET_ENCRYPTION_KEY", KEY);
  onTestFinished(() => void vi.unstubAllEnvs());
  const data = await filled({ encryptionKey: KEY });
  const name = `${String(bucketOf("g:alice", BUCKETS)).padStart(3, "0")}.sqlite`;
  const file = join(data, "keys", name);
  writeFileSync(file, readFileSync(file).fill(0, 0, 100));
  const check = await command("check", data);
  expect([check.code, check.warned]).toEqual([1, expect.stringContaining(`${file}: not an SQLite database`)]);
  const { code, printed } = await command("repair", data);
  expect([code, printed]).toEqual([0, expect.stringContaining(`${file} was written anew with the 1 keys`)]);
  expect(printed).toContain(`kept as it was: ${file}.before-`);
  expect(printed).not.toContain("is taken for all there is");
  expect((await command("check", data)).code).toBe(0);
  const database = await open({ path: data, schemas: [note], encryptionKey: KEY });
  for (const group of ["alice", "bob"])
    expect((await database.group(group).search(note, { limit: 0 })).totalCount).toBe(410);
  await database.group("alice").erase();
  expect(readdirSync(join(data, "keys")).filter((one) => one.includes("before"))).toEqual([]);
  await database.close();
});

test("a bucket of which nothing is left is not said to be repaired, and is as it was", async () => {
  const data = await filled();
  const bytes = damaged(data, "alice", (all) => all.fill(0));
  const repaired = await command("repair", data, "--drop");
  expect(repaired.code).toBe(1);
  expect(repaired.warned).toMatch(/not repaired, so restore a backup: bucket \d+: .*nothing in its pages shows/);
  expect(repaired.printed).not.toContain("is taken for all there is");
  const file = join(data, "buckets", `${String(bucketOf("g:alice", BUCKETS)).padStart(3, "0")}.sqlite`);
  expect(readFileSync(file).equals(bytes)).toBe(true);
  expect((await command("check", data)).code).toBe(1);
});

/** Runs a command that a signal ends before a bucket; what is told of that. */
async function ended(at: string, ...words: string[]): Promise<{ code: number; said: string; warned: string }> {
  const warned: string[] = [];
  let tell: () => string | Promise<string> = () => "nobody was told";
  let said: string | Promise<string> = "it was not ended";
  const code = await runCommandLine(words, {
    print: (line) => warned.push(line),
    warn: (line) => warned.push(line),
    onInterrupt: (told) => {
      tell = told;
    },
    progress: (line) => {
      if (line === at) said = tell();
    },
    input: (async function* () {})(),
    untilEnded: async () => undefined,
  });
  return { code, said: await said, warned: warned.join("\n") };
}

test("what a signal ends tells what was looked at until then, and repairs no bucket in part", async () => {
  const data = await filled();
  const bucketsOf = ["alice", "bob"].map((group) => bucketOf(`g:${group}`, BUCKETS));
  for (const group of ["alice", "bob"]) behind(data, group, FLIPPED);
  const [first, last] = [Math.min(...bucketsOf), Math.max(...bucketsOf)];
  expect(first).toBeLessThan(last);
  const checked = await ended(`bucket ${last + 1} of ${BUCKETS}`, "check", data);
  expect([checked.code, checked.said]).toEqual([
    1,
    `Interrupted: ${last} of ${BUCKETS} buckets were looked at; all else is as it was`,
  ]);
  expect(checked.warned.match(/block 0 of segment \d+ is not what was written/g)).toHaveLength(1);
  const json = await ended(`bucket 2 of ${BUCKETS}`, "check", data, "--json");
  expect(JSON.parse(json.warned)).toMatchObject({ ended: { buckets: 1, of: BUCKETS } });
  // A repair looks at all of it first, and nothing is changed by then.
  const begun = await ended(`bucket ${last + 1} of ${BUCKETS}`, "repair", data, "--drop");
  expect([begun.code, begun.said]).toEqual([
    1,
    `Interrupted: 0 of ${BUCKETS} buckets were repaired where that was needed; all else is as it was`,
  ]);
  expect(begun.warned).not.toContain("is lost");
  expect(readdirSync(join(data, "buckets")).filter((name) => name.includes("before"))).toEqual([]);
  expect((await command("check", data)).warned.match(/is not what was written/g)).toHaveLength(2);
  expect((await command("repair", data, "--drop")).code).toBe(0);
  expect((await command("check", data)).code).toBe(0);
});

test.each(["check", "repair", "backup"])("%s of what is no data directory is a misuse", async (name) => {
  const folder = mkdtempSync(join(tmpdir(), "brooklet-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, "file");
  writeFileSync(file, "");
  for (const place of [folder, file, join(file, "within"), join(folder, "nothing")]) {
    const { code, warned } = await command(name, place, ...(name === "backup" ? [join(folder, "target")] : []));
    expect([code, warned]).toEqual([2, `${place} is not a data directory`]);
  }
  // What is one, but damaged, was not called wrongly.
  writeFileSync(join(folder, "brooklet.json"), "{");
  const { code, warned } = await command(name, folder, ...(name === "backup" ? [join(folder, "target")] : []));
  expect([code, warned]).toEqual([1, expect.stringMatching(/^[^\n]+brooklet\.json: [^\n]*JSON[^\n]*$/)]);
});

test("what is in use is told", async () => {
  const data = await filled();
  const database = await open({ path: data, schemas: [note] });
  expect(await command("repair", data)).toMatchObject({
    code: 1,
    warned: expect.stringContaining("is open in this process"),
  });
  await database.close();
});
