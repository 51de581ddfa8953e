/** `brooklet doctor`: each thing that keeps a server from working is found, and one that is well is told to be. */
import { execFileSync, spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { chmodSync, existsSync, readdirSync, statSync, truncateSync, utimesSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test, vi } from "vitest";
import { runCommandLine } from "../src/command/program.ts";
import { deviceFinding } from "../src/doctor/directory.ts";
import type { Finding } from "../src/doctor/finding.ts";
import { clockFinding, filesFinding, nodeFinding } from "../src/doctor/machine.ts";
import { open, schema, text } from "../src/index.ts";
import { openDatabase } from "../src/node/database.ts";
import { folder } from "./served.ts";

const note = schema("note", { body: text() });

const CLI = fileURLToPath(new URL("../dist/cli.js", import.meta.url));

async function filled(): Promise<string> {
  const data = join(folder(), "data");
  const database = await open({ path: data, schemas: [note] });
  for (const group of ["alice", "bob", "carol"]) await database.group(group).put(note, "1", { body: "b" });
  await database.close();
  return data;
}

interface Examined {
  readonly code: number;
  readonly findings: ReadonlyMap<string, Finding>;
  readonly all: readonly Finding[];
}

async function ran(...words: string[]): Promise<{ readonly code: number; readonly told: string }> {
  const printed: string[] = [];
  const code = await runCommandLine(words, {
    print: (line) => printed.push(line),
    warn: (line) => printed.push(line),
    progress: () => undefined,
    input: (async function* () {})(),
    untilEnded: async () => undefined,
  });
  return { code, told: printed.join("\n") };
}

async function doctor(data: string, ...words: string[]): Promise<Examined> {
  const { code, told } = await ran("doctor", "--data", data, "--port", "0", "--json", ...words);
  const { findings } = JSON.parse(told) as { findings: readonly Finding[] };
  return { code, all: findings, findings: new Map(findings.map((one) => [one.name, one])) };
}

const statesOf = ({ all }: Examined, ...but: string[]): readonly string[] =>
  all.filter(({ name, state }) => state !== "ok" && !but.includes(name)).map(({ name, state }) => `${name} ${state}`);

test("nothing is wrong with a directory that is well, or that is not there yet, and neither is changed", async () => {
  const data = await filled();
  const before = readdirSync(join(data, "buckets")).join();
  const well = await doctor(data);
  expect([well.code, statesOf(well, "node", "sqlite", "open files", "device", "disk")]).toEqual([0, []]);
  expect(well.findings.get("data directory")?.found).toMatch(/16 buckets, .*MiB/);
  expect(readdirSync(join(data, "buckets")).join()).toBe(before);
  const none = join(folder(), "none");
  const fresh = await doctor(none);
  expect([fresh.code, statesOf(fresh, "node", "sqlite", "open files", "device", "disk")]).toEqual([0, []]);
  expect(fresh.findings.get("stored data")?.found).toBe("there is none yet");
  expect(existsSync(none)).toBe(false);
});

test("a file in the place of a directory is a finding", async () => {
  const file = join(folder(), "file");
  writeFileSync(file, "");
  for (const data of [file, join(file, "within")]) {
    const { code, findings } = await doctor(data);
    expect([code, findings.get("data directory")]).toMatchObject([
      1,
      { state: "problem", found: `${file} is no directory` },
    ]);
  }
});

test.skipIf(process.platform === "win32")(
  "a directory of another user is a finding, and no other command takes it for an empty one",
  async () => {
    const data = await filled();
    const backups = folder();
    expect((await ran("backup", data, backups)).code).toBe(0);
    // As tests may be run by a user who may read everything.
    const [of, as] = [process.geteuid?.(), process.seteuid];
    for (const path of [data, backups]) chmodSync(path, 0o000);
    if (of === 0) as?.(65_534);
    try {
      const { code, findings } = await doctor(data);
      expect([code, findings.get("permissions")]).toMatchObject([
        1,
        { state: "problem", found: `${data} cannot be read (EACCES)` },
      ]);
      const mayNot = "it may not be read or written";
      expect(await ran("backups", backups)).toEqual({ code: 1, told: `${join(backups, "backups")}: ${mayNot}` });
      expect(await ran("audit", "group", "alice", "--data", data)).toEqual({
        code: 1,
        told: `${join(data, "secret")}: ${mayNot}`,
      });
    } finally {
      if (of === 0) as?.(of);
      for (const path of [data, backups]) chmodSync(path, 0o700);
    }
  },
);

test("who has a directory is told, and that is nothing wrong", async () => {
  const data = await filled();
  const database = await open({ path: data, schemas: [note] });
  onTestFinished(() => database.close());
  await database.group("alice").put(note, "2", { body: "b" });
  const { code, findings } = await doctor(data);
  expect([code, findings.get("lock")?.found]).toEqual([0, expect.stringMatching(/process has it|process \d+ \(/)]);
  // Looked at while it is served: it goes on.
  await database.group("alice").put(note, "3", { body: "b" });
});

test.each<[string, (data: string) => void, string, RegExp]>([
  ["a file that is cut", (data) => truncateSync(join(data, "buckets", "003.sqlite"), 0), "stored data", /003|bucket 3/],
  [
    "a file that is none",
    (data) => writeFileSync(join(data, "buckets", "004.sqlite"), "x".repeat(200)),
    "stored data",
    /bucket 4: not an SQLite/,
  ],
  ["a later release's", (data) => later(data), "stored data", /bucket 5: format version 99/],
  ["a generation that is further", (data) => further(data), "stored data", /behind what was stored/],
  [
    "a descriptor of a later release",
    (data) => writeFileSync(join(data, "brooklet.json"), '{"version":9,"minReader":9,"buckets":16}'),
    "data directory",
    /directory version 9/,
  ],
])("%s is found", async (_, harm, name, told) => {
  const data = await filled();
  harm(data);
  const examined = await doctor(data);
  expect([examined.code, examined.findings.get(name)?.state]).toEqual([1, "problem"]);
  expect(examined.findings.get(name)?.found).toMatch(told);
  expect(examined.findings.get(name)?.remedy).not.toBe(undefined);
});

test("a directory that is encrypted wants its key, and one that is not wants none", async () => {
  const [key, other] = [randomBytes(32).toString("base64url"), randomBytes(32).toString("base64url")];
  const plain = await filled();
  const data = join(folder(), "data");
  const database = await open({ path: data, schemas: [note], encryptionKey: key });
  await database.group("alice").put(note, "1", { body: "b" });
  const found = async (path: string, given: string | undefined): Promise<readonly unknown[]> => {
    vi.stubEnv("BROOKLET_ENCRYPTION_KEY", given);
    const { code, findings } = await doctor(path);
    return [code, findings.get("encryption")?.state, findings.get("encryption")?.found];
  };
  onTestFinished(() => void vi.unstubAllEnvs());
  expect(await found(data, undefined)).toEqual([
    0,
    "ok",
    expect.stringContaining("the process that has it has the key"),
  ]);
  await database.close();
  expect(await found(data, undefined)).toEqual([1, "problem", "the directory is encrypted, and no key is given"]);
  expect(await found(data, other)).toEqual([1, "problem", expect.stringContaining("another than that of")]);
  expect(await found(data, "short")).toEqual([1, "problem", expect.stringContaining("no key of 256 bits")]);
  expect(await found(data, key)).toEqual([0, "ok", "the key that is given is the directory's"]);
  expect(await found(plain, key)).toEqual([1, "problem", "a key is given, and the directory is not encrypted"]);
  expect(await found(plain, undefined)).toEqual([0, "ok", "the directory is not encrypted"]);
});

test("somebody else's folder is told to be that", async () => {
  const other = folder();
  writeFileSync(join(other, "mail.txt"), "");
  const { code, findings } = await doctor(other);
  expect([code, findings.get("data directory")?.found]).toEqual([1, expect.stringContaining("not a data directory")]);
});

function later(data: string): void {
  const sql = openDatabase(join(data, "buckets", "005.sqlite"));
  sql.run("PRAGMA user_version = 99");
  sql.checkpoint?.(true);
  sql.close();
}

/** Puts the files of a bucket back to what they were before a write. */
function further(data: string): void {
  const written = readdirSync(join(data, "buckets")).filter((name) => name.endsWith(".sqlite"));
  for (const name of written) {
    const sql = openDatabase(join(data, "buckets", name));
    // What only the generation beside it knows: there was more.
    const [row] = sql.all<{ count: number }>("SELECT count(*) AS count FROM partition");
    if ((row?.count ?? 0) > 0) {
      sql.run("DELETE FROM operation");
      sql.run("UPDATE about SET value = 1 WHERE name = 'next_operation'");
      sql.checkpoint?.(true);
      sql.close();
      return;
    }
    sql.close();
  }
}

test.skipIf(process.platform === "win32")(
  "a folder that others may write to is told, and one that they may list is not",
  async () => {
    const data = await filled();
    chmodSync(data, 0o755);
    expect((await doctor(data)).findings.get("permissions")?.state).toBe("ok");
    chmodSync(data, 0o777);
    expect((await doctor(data)).findings.get("permissions")).toMatchObject({
      state: "warning",
      found: "others than its owner may read or write .",
    });
  },
);

test.skipIf(process.platform === "win32")("a file that is written to, and may not be, is told", async () => {
  const data = await filled();
  for (const name of ["003.sqlite", "004.generation"]) chmodSync(join(data, "buckets", name), 0o400);
  // As tests may be run by a user who may write whatever it is.
  const isRoot = process.getuid?.() === 0;
  if (isRoot) execFileSync("chown", ["-R", "65534", dirname(data)]);
  const { stdout } = spawnSync(process.execPath, [CLI, "doctor", "--data", data], {
    encoding: "utf8",
    ...(isRoot && { uid: 65_534 }),
  });
  expect(stdout).toMatch(/PROBLEM permissions: buckets\/003\.sqlite, buckets\/004\.generation cannot be written to\n/);
});

test("files that others may read, a port that is taken, and limits that are none are told", async () => {
  const data = await filled();
  chmodSync(join(data, "secret"), 0o644);
  const server = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as { port: number };
  const limits = join(folder(), "limits.json");
  writeFileSync(limits, '{ "bodyByte": 1 }');
  const { code, findings } = await doctor(data, "--port", `${port}`, "--limits", limits);
  expect(code).toBe(1);
  expect(findings.get("permissions")).toMatchObject({ state: "warning", found: expect.stringContaining("secret") });
  expect(findings.get("port")).toMatchObject({
    state: "problem",
    found: expect.stringContaining(`${port} of 127.0.0.1`),
  });
  expect(findings.get("limits")).toMatchObject({
    state: "problem",
    found: expect.stringContaining("did you mean 'bodyBytes'?"),
  });
  expect(statSync(join(data, "secret")).mode & 0o777).toBe(0o644);
});

test("a server that all can reach and that asks nobody for a key would not start", async () => {
  const { code, findings } = await doctor(join(folder(), "none"), "--host", "0.0.0.0");
  expect([code, findings.get("admin keys")?.state]).toEqual([1, "problem"]);
});

test("clocks, releases of Node and bounds of the system are judged", async () => {
  if (process.platform === "linux")
    expect([0x0102_1994, 0x6969, 0xef53].map((type) => deviceFinding(type).state)).toEqual([
      "warning",
      "warning",
      "ok",
    ]);
  expect(nodeFinding("18.20.0").state).toBe("problem");
  expect(nodeFinding("20.18.9").state).toBe("problem");
  expect(nodeFinding("20.19.0").state).toBe("ok");
  expect(nodeFinding("23.1.0").state).toBe("warning");
  expect(clockFinding(0, Date.UTC(1970, 0, 2)).state).toBe("problem");
  const now = Date.UTC(2027, 0, 1);
  expect(clockFinding(now - 1, now).state).toBe("ok");
  expect(clockFinding(now + 3_600_000, now).state).toBe("warning");
  expect(filesFinding("Max open files            1024                 4096                 files").state).toBe(
    "warning",
  );
  expect(filesFinding("Max open files            65536                65536                files").state).toBe("ok");
  const data = await filled();
  utimesSync(join(data, "secret"), new Date("2090-01-01"), new Date("2090-01-01"));
  expect((await doctor(data)).findings.get("clock")?.state).toBe("warning");
});
