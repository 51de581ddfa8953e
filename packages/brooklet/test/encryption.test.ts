/** Encryption at rest: nothing of documents is in the files, whoever has no key has nothing, and a key that is destroyed takes backups with it. */
import { spawnSync } from "node:child_process";
import { cpSync, existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { bucketOf } from "@brooklet/store";
import { DataDirectory } from "@brooklet/store/node";
import { afterEach, describe, expect, onTestFinished, test } from "vitest";
import { runCommandLine } from "../src/command/program.ts";
import { type Database, int, open, schema, text } from "../src/index.ts";
import { openDatabase } from "../src/node/database.ts";
import { applicationFiles, asking, folder, serveProcess, writeFiles } from "./served.ts";

/** Ends its process at a call of a number to the device that files are on. */
const KILLED = `const fs = require("node:fs");
let left = Number(process.env.KILLED_AT);
for (const name of ["writeSync", "fsyncSync", "renameSync", "rmSync"]) {
  const call = fs[name];
  fs[name] = (...words) => {
    if (left-- === 0) process.kill(process.pid, "SIGKILL");
    return call(...words);
  };
}
require("node:module").syncBuiltinESMExports();`;
const KEY = "q83vASNFZ4mrze8BI0VniavN7wEjRWeJq83vASNFZ4k";
const OTHER = "AAAAASNFZ4mrze8BI0VniavN7wEjRWeJq83vASNFZ4k";
const CANARY = "canaryword";
const BUCKETS = 16;
const note = schema("note", { body: text(), step: int() });
const noteOf = (group: string, step: number) => ({ body: `${CANARY}${group} note ${step}`, step });

async function filled(encryptionKey: string | undefined = KEY, threads = 0): Promise<string> {
  const data = join(folder(), "data");
  const database = await open({ path: data, schemas: [note], threads, ...(encryptionKey && { encryptionKey }) });
  for (const group of ["alice", "bob"]) {
    const fed = Array.from({ length: 400 }, (_, step) => ({ id: `n${step}`, fields: noteOf(group, step) }));
    expect(await database.group(group).feed(note, fed)).toMatchObject({ applied: 400 });
    for (let step = 400; step < 410; step += 1) await database.group(group).put(note, `n${step}`, noteOf(group, step));
  }
  await database.close();
  return data;
}

async function opened(data: string, encryptionKey: unknown = KEY): Promise<Database> {
  const database = await open({ path: data, schemas: [note], encryptionKey: encryptionKey as string });
  onTestFinished(() => database.close());
  return database;
}

async function stepsOf(database: Database, group: string): Promise<number> {
  let steps = 0;
  for await (const { document } of database.group(group).visit(note)) {
    expect(document).toEqual(noteOf(group, document.step));
    steps += 1;
  }
  return steps;
}

function bytesOf(path: string): Buffer {
  const files = readdirSync(path, { recursive: true, encoding: "utf8" }).map((name) => join(path, name));
  return Buffer.concat(files.filter((file) => statSync(file).isFile()).map((file) => readFileSync(file)));
}

async function command(...words: string[]): Promise<{ code: number; told: string }> {
  const told: string[] = [];
  const code = await runCommandLine(words, {
    print: (line) => told.push(line),
    warn: (line) => told.push(line),
    progress: () => undefined,
    input: (async function* () {})(),
    untilEnded: async () => undefined,
  });
  return { code, told: told.join("\n") };
}

function behind(data: string, group: string, statement: string): void {
  const number = String(bucketOf(`g:${group}`, BUCKETS)).padStart(3, "0");
  const sql = openDatabase(join(data, "buckets", `${number}.sqlite`));
  sql.run(statement.replaceAll("$", `(SELECT number FROM partition WHERE key = 'g:${group}')`));
  sql.checkpoint?.(true);
  sql.close();
}

afterEach(() => {
  Reflect.deleteProperty(process.env, "BROOKLET_ENCRYPTION_KEY");
});

describe("files", () => {
  test.each([0, 2])("have nothing of documents, with %i threads; without a key they have", async (threads) => {
    expect(bytesOf(await filled(KEY, threads)).includes(CANARY)).toBe(false);
    expect(bytesOf(await filled("", threads)).includes(CANARY)).toBe(true);
  });

  test("are read again with their key, given in whatever form, and nobody else's", async () => {
    const data = await filled();
    const database = await opened(data, async () => new Uint8Array(Buffer.from(KEY, "base64url")));
    expect(await stepsOf(database, "alice")).toBe(410);
    const { totalCount } = await database.group("bob").search(note, { text: `${CANARY}bob`, limit: 1 });
    expect(totalCount).toBe(410);
    await database.close();
    const refusals: readonly (readonly [unknown, RegExp])[] = [
      [undefined, /is encrypted: give its key/],
      [OTHER, /the encryption key is another than that of/],
      ["short", /no key of 256 bits: brooklet key makes one/],
    ];
    for (const [key, told] of refusals)
      await expect(
        open({ path: data, schemas: [note], ...(key === undefined ? {} : { encryptionKey: key as string }) }),
      ).rejects.toThrow(told);
    await expect(open({ path: await filled(""), schemas: [note], encryptionKey: KEY })).rejects.toThrow(
      /is not encrypted: give no key/,
    );
    await expect(open({ schemas: [note], encryptionKey: KEY })).rejects.toThrow(/is of a data directory/);
    // What an earlier release reads of it.
    expect(JSON.parse(readFileSync(join(data, "brooklet.json"), "utf8"))).toMatchObject({ minReader: 2 });
    expect(() => DataDirectory.open(data, openDatabase)).toThrow("is encrypted");
  });

  test("that were changed, or moved to another's place, are refused; others are served", async () => {
    const harms: readonly string[] = [
      "UPDATE block SET bytes = CAST(substr(bytes, 1, 20) || x'ff00ff00' || substr(bytes, 25) AS BLOB) WHERE id >> 20 IN (SELECT number FROM segment WHERE partition = $)",
      "UPDATE operation SET bytes = CAST(substr(bytes, 1, 20) || x'ff00ff00' || substr(bytes, 25) AS BLOB) WHERE partition = $",
      "UPDATE block SET bytes = (SELECT bytes FROM block AS other WHERE other.id <> block.id ORDER BY other.id LIMIT 1) WHERE id = (SELECT max(id) FROM block WHERE id >> 20 IN (SELECT number FROM segment WHERE partition = $))",
    ];
    for (const harm of harms) {
      const data = await filled();
      behind(data, "alice", harm);
      const database = await opened(data);
      const refused = await stepsOf(database, "alice").catch((error: { code: string }) => error.code);
      expect(refused).toBe("STORE_CORRUPT");
      expect(await stepsOf(database, "bob")).toBe(410);
      await database.close();
    }
  });
});

test("brooklet check reads them with the key of the environment, and finds what is changed", async () => {
  const data = await filled();
  expect(await command("check", data)).toMatchObject({
    code: 2,
    told: expect.stringContaining("BROOKLET_ENCRYPTION_KEY"),
  });
  process.env["BROOKLET_ENCRYPTION_KEY"] = KEY;
  expect(await command("check", data)).toMatchObject({
    code: 0,
    told: expect.stringContaining("all of it is as it was"),
  });
  behind(
    data,
    "alice",
    "UPDATE block SET bytes = zeroblob(length(bytes)) WHERE id >> 20 IN (SELECT number FROM segment WHERE partition = $)",
  );
  expect(await command("check", data)).toMatchObject({
    code: 1,
    told: expect.stringMatching(/g:alice: block \d+ of segment/),
  });
});

test("a group that is erased is erased in backups that were made before", async () => {
  process.env["BROOKLET_ENCRYPTION_KEY"] = KEY;
  const data = await filled();
  const [kept, keys] = [folder(), join(folder(), "keys")];
  const database = await opened(data);
  expect((await command("backup", data, kept, "--keys-to", keys)).code).toBe(0);
  expect(bytesOf(kept).includes(CANARY)).toBe(false);
  await database.group("alice").erase();
  // The copy has her key until it is made anew.
  cpSync(keys, `${keys}-old`, { recursive: true });
  expect((await command("backup", data, kept, "--keys-to", keys)).code).toBe(0);
  const [id] = readdirSync(join(kept, "manifests")).sort();
  const restored = join(folder(), "restored");
  expect(await command("restore", kept, restored, "--backup", id ?? "")).toMatchObject({
    code: 1,
    told: expect.stringContaining("--keys"),
  });
  expect(existsSync(restored)).toBe(false);
  const outcome = await command("restore", kept, restored, "--backup", id ?? "", "--keys", keys);
  expect(outcome).toMatchObject({
    code: 0,
    told: expect.stringContaining("1 partitions of the backup have no key any more"),
  });
  const again = await opened(restored);
  expect([await stepsOf(again, "alice"), await stepsOf(again, "bob")]).toEqual([0, 410]);
  // She may come back, with a key of her own.
  await again.group("alice").put(note, "n1", noteOf("alice", 1));
  expect(await stepsOf(again, "alice")).toBe(1);
  // What the old copy shows is what destroying a key takes.
  const before = join(folder(), "before");
  expect((await command("restore", kept, before, "--backup", id ?? "", "--keys", `${keys}-old`)).code).toBe(0);
  expect(await stepsOf(await opened(before), "alice")).toBe(410);
});

test("a backup whose keys cannot be copied to where they are to be is not begun", async () => {
  process.env["BROOKLET_ENCRYPTION_KEY"] = KEY;
  const data = await filled();
  const kept = join(folder(), "kept");
  const letters = writeFiles(join(folder(), "letters"), new Map([["mine", "of somebody"]]));
  const places: readonly (readonly [place: string, said: string])[] = [
    [letters, "is no copy of keys"],
    [join(letters, "mine"), "is no copy of keys"],
    [join(letters, "mine", "keys"), "mine"],
    [join(data, "keys"), "is no copy of keys"],
  ];
  for (const [place, said] of places)
    expect(await command("backup", data, kept, "--keys-to", place)).toMatchObject({
      code: 1,
      told: expect.stringContaining(said),
    });
  expect([existsSync(kept), readFileSync(join(letters, "mine"), "utf8")]).toEqual([false, "of somebody"]);
});

test("a backup without the keys of its groups says so, and keys that are not there are told to be that", async () => {
  process.env["BROOKLET_ENCRYPTION_KEY"] = KEY;
  const data = await filled();
  const [kept, keys] = [folder(), join(folder(), "keys")];
  const without = "The keys of its groups are not in it";
  expect(await command("backup", data, kept)).toMatchObject({ code: 0, told: expect.stringContaining(without) });
  const made = await command("backup", data, kept, "--keys-to", keys);
  expect(made).toMatchObject({ code: 0, told: expect.not.stringContaining(without) });
  delete process.env["BROOKLET_ENCRYPTION_KEY"];
  const nowhere = join(folder(), "nowhere");
  expect(await command("restore", kept, join(folder(), "restored"), "--keys", nowhere)).toMatchObject({
    code: 2,
    told: expect.stringContaining(`${nowhere}, the keys of groups, is not there`),
  });
});

test("what was acknowledged is there after a kill, and its key with it", async () => {
  process.env["BROOKLET_ENCRYPTION_KEY"] = KEY;
  const data = join(folder(), "data");
  const files = applicationFiles({
    note: "schema note { document note { field body type string { indexing: summary | index } } }",
  });
  const app = writeFiles(join(folder(), "app"), files);
  const acknowledged = new Set<string>();
  for (let life = 0; life < 3; life += 1) {
    const served = await serveProcess(data, "--app", app);
    const ask = asking(served.port);
    for (const path of acknowledged) expect((await ask("GET", path)).status).toBe(200);
    const killed = new Promise((resolve) => served.process.once("exit", resolve));
    // Each group is new: what is killed is also what makes keys.
    const writing = Array.from({ length: 4 }, async (_, writer) => {
      for (let step = 0; ; step += 1) {
        const path = `/document/v1/note/note/group/g${life}-${writer}-${step}/1`;
        const status = await ask("POST", path, { fields: { body: CANARY } })
          .then((it) => it.status)
          .catch(() => undefined);
        if (status === undefined) return;
        if (status === 200) acknowledged.add(path);
      }
    });
    const before = acknowledged.size;
    await expect.poll(() => acknowledged.size).toBeGreaterThan(before + 50 * (life + 1));
    served.process.kill("SIGKILL");
    await killed;
    await Promise.all(writing);
    expect(bytesOf(data).includes(CANARY)).toBe(false);
  }
});

describe("brooklet key rotate", () => {
  const rotated = (data: string, ...words: string[]) => command("key", "rotate", data, ...words);

  afterEach(() => {
    Reflect.deleteProperty(process.env, "BROOKLET_NEW_ENCRYPTION_KEY");
  });

  test("gives a directory a new key: everything is there, the one before opens nothing, and backups are named", async () => {
    process.env["BROOKLET_ENCRYPTION_KEY"] = KEY;
    const data = await filled();
    const [kept, keys] = [folder(), join(folder(), "keys")];
    expect((await command("backup", data, kept, "--keys-to", keys, "--keep-days", "30")).code).toBe(0);
    expect(await rotated(data)).toMatchObject({
      code: 2,
      told: expect.stringContaining("give the new key as BROOKLET_NEW"),
    });
    process.env["BROOKLET_NEW_ENCRYPTION_KEY"] = OTHER;
    const served = await opened(data);
    expect(await rotated(data)).toMatchObject({ code: 1, told: expect.stringContaining("is open in this process") });
    await served.close();
    const { code, told } = await rotated(data);
    expect([code, told]).toEqual([0, expect.stringContaining("2 keys of groups are wrapped with the new key")]);
    const [id = ""] = readdirSync(join(kept, "manifests"));
    expect(told).toMatch(new RegExp(`${id.replace(/\.\w+$/, "")}.* in .*, kept until 20`));
    await expect(opened(data)).rejects.toThrow("the encryption key is another than that of");

    // A copy of keys opens with the key that it was made with, and a new one with the new.
    for (const [key, restored] of [
      [KEY, join(folder(), "before")],
      [OTHER, join(folder(), "after")],
    ] as const) {
      process.env["BROOKLET_ENCRYPTION_KEY"] = key;
      if (key === OTHER) {
        expect(await command("restore", kept, restored, "--keys", keys)).toMatchObject({ code: 1 });
        expect((await command("backup", data, kept, "--keys-to", keys)).code).toBe(0);
      }
      expect(await command("restore", kept, restored, "--keys", keys)).toMatchObject({ code: 0 });
      const again = await opened(restored, key);
      expect([await stepsOf(again, "alice"), await stepsOf(again, "bob")]).toEqual([410, 410]);
      await again.group("carol").put(note, "n1", noteOf("carol", 1));
      expect(await stepsOf(again, "carol")).toBe(1);
    }
    expect((await command("check", data)).code).toBe(0);
    const database = await opened(data, OTHER);
    await database.group("alice").erase();
    expect([await stepsOf(database, "alice"), await stepsOf(database, "bob")]).toEqual([0, 410]);
    await database.close();
    process.env["BROOKLET_NEW_ENCRYPTION_KEY"] = KEY;
    expect(JSON.parse((await rotated(data, "--json")).told)).toMatchObject({
      keys: 1,
      damaged: 0,
      backups: expect.arrayContaining([expect.objectContaining({ target: kept })]),
    });
  });

  test("is followed by backups that store nothing again, and by those of what was restored of them", async () => {
    process.env["BROOKLET_ENCRYPTION_KEY"] = KEY;
    const data = await filled();
    const [kept, keys, restored] = [folder(), join(folder(), "keys"), join(folder(), "restored")];
    const backedUp = async (directory: string): Promise<{ id: string; segments: number; kept: number }> => {
      const { code, told } = await command("backup", directory, kept, "--keys-to", keys, "--json");
      expect([code, told]).toEqual([0, expect.stringContaining('"id"')]);
      return JSON.parse(told);
    };
    const first = await backedUp(data);
    process.env["BROOKLET_NEW_ENCRYPTION_KEY"] = OTHER;
    expect((await rotated(data)).code).toBe(0);
    process.env["BROOKLET_ENCRYPTION_KEY"] = OTHER;
    const second = await backedUp(data);
    expect([first.segments > 0, second.kept]).toEqual([true, first.segments]);
    expect((await command("restore", kept, restored, "--keys", keys)).code).toBe(0);
    const own = await backedUp(restored);
    expect((await backedUp(restored)).kept).toBe(own.segments);
    for (const id of [second.id, own.id]) {
      const path = join(folder(), "again");
      expect((await command("restore", kept, path, "--keys", keys, "--backup", id)).code).toBe(0);
      const database = await opened(path, OTHER);
      expect([await stepsOf(database, "alice"), await stepsOf(database, "bob")]).toEqual([410, 410]);
      await database.close();
    }
    const database = await opened(restored, OTHER);
    const { backups } = await database.group("alice").erase();
    expect(backups?.map(({ id }) => id).slice(0, 3)).toEqual([first.id, second.id, own.id]);
    await database.close();
  });

  test("a command that is killed at any of its calls to the device is followed by a server that ends the change", {
    timeout: 900_000,
  }, async () => {
    const whole = await filled();
    const preload = join(folder(), "killed.cjs");
    writeFileSync(preload, KILLED);
    const environment = { ...process.env, BROOKLET_ENCRYPTION_KEY: KEY, BROOKLET_NEW_ENCRYPTION_KEY: OTHER };
    const cli = fileURLToPath(new URL("../dist/cli.js", import.meta.url));
    let [calls, begun] = [0, 0];
    for (; ; calls += 1) {
      const data = join(folder(), "data");
      cpSync(whole, data, { recursive: true });
      const env = { ...environment, KILLED_AT: String(calls) };
      const { status, signal, stderr } = spawnSync(
        process.execPath,
        ["--require", preload, cli, "key", "rotate", data],
        {
          env,
          encoding: "utf8",
        },
      );
      const hasBegun = existsSync(join(data, "keys", "rotation"));
      if (signal === null) {
        expect([status, hasBegun], stderr).toEqual([0, false]);
        break;
      }
      expect(signal).toBe("SIGKILL");
      begun += Number(hasBegun);
      // Until it has begun, the key before is the key; from then on the new one.
      const keys = [KEY, OTHER];
      const ofServer: string[] = [];
      for (const key of keys) {
        const database = await open({ path: data, schemas: [note], encryptionKey: key }).catch(() => undefined);
        if (database === undefined) continue;
        ofServer.push(key);
        expect([await stepsOf(database, "alice"), await stepsOf(database, "bob")]).toEqual([410, 410]);
        await database.close();
      }
      expect(ofServer).toHaveLength(1);
      if (hasBegun) expect(ofServer).toEqual([OTHER]);
      expect(readdirSync(join(data, "keys")).filter((name) => name.startsWith("rotation"))).toEqual([]);
    }
    expect(calls).toBeGreaterThan(10);
    expect(begun).toBeGreaterThan(3);
  });
});
