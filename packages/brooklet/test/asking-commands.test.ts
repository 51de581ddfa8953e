/** The commands that tell what a server has, and what is the same of all commands: help, JSON, the code they end with. */
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { Command } from "commander";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import manifest from "../package.json" with { type: "json" };
import { spreadOf } from "../src/command/inspection/bench.ts";
import { readMetrics } from "../src/command/inspection/stats.ts";
import { makeProgram, runCommandLine } from "../src/command/program.ts";
import { Progress, restText } from "../src/command/progress.ts";
import { array, bigint, connect, type RunningService, schema, serve, text } from "../src/index.ts";

const run = promisify(execFile);
const note = schema("note", { title: text() });
const folder: string = mkdtempSync(join(tmpdir(), "brooklet-asking-"));
// Modules of the folder find the packages of this repository.
symlinkSync(fileURLToPath(new URL("../../../node_modules", import.meta.url)), join(folder, "node_modules"));
let service: RunningService;

beforeAll(async () => {
  service = await serve({ port: 0 });
  const client = await connect({ url: service.url, schemas: [note] });
  for (const [group, count] of [
    ["alice", 3],
    ["albert", 2],
    ["bob", 1],
  ] as const)
    for (let number = 1; number <= count; number += 1)
      await client.group(group).put(note, `n${number}`, { title: `Invoice ${number} of ${group}` });
});
afterAll(async () => {
  await service.close();
  rmSync(folder, { recursive: true });
});

interface Ran {
  readonly code: number;
  readonly printed: readonly string[];
  readonly warned: string;
}

async function ran(words: readonly string[], input = ""): Promise<Ran> {
  const [printed, warned]: [string[], string[]] = [[], []];
  async function* chunks(): AsyncGenerator<Uint8Array> {
    yield new TextEncoder().encode(input);
  }
  const code = await runCommandLine(words, {
    print: (line) => printed.push(line),
    warn: (line) => warned.push(line),
    progress: () => undefined,
    input: chunks(),
    untilEnded: () => Promise.resolve(),
  });
  return { code, printed, warned: warned.join("\n") };
}

const asked = (...words: string[]): Promise<Ran> => ran([...words, "--url", service.url]);
const parsed = async (...words: string[]): Promise<unknown[]> =>
  (await asked(...words, "--json")).printed.map((line) => JSON.parse(line) as unknown);

describe("what a server has", () => {
  test("groups, by the beginning of their names, and what they have", async () => {
    expect((await asked("groups")).printed.toSorted()).toEqual(["albert", "alice", "bob"]);
    expect((await asked("groups", "--limit", "2")).printed).toHaveLength(2);
    const told = (await parsed("groups", "--prefix", "al", "--documents")) as { readonly group: string }[];
    expect(told.sort((left, right) => (left.group < right.group ? -1 : 1))).toEqual([
      { group: "albert", documents: 2 },
      { group: "alice", documents: 3 },
    ]);
  });

  test("its schemas, as they were written", async () => {
    expect((await asked("schema")).printed).toEqual(["note"]);
    expect((await asked("schema", "note")).printed.join("\n")).toBe(String(note).trimEnd());
    expect(await parsed("schema", "note")).toEqual([{ schema: "note", text: String(note) }]);
    expect(await asked("schema", "mail")).toMatchObject({
      code: 2,
      warned: expect.stringContaining("there is no schema 'mail'"),
    });
  });

  test("what it does, from its metrics; what a group has", async () => {
    const { printed } = await asked("stats");
    expect(printed[0]).toBe("schemas: note");
    expect(printed).toContainEqual(
      expect.stringMatching(/^document: \d+ requests, half within [\d.]+ ms, 99 % within/),
    );
    expect(await parsed("stats")).toMatchObject([{ schemas: ["note"], values: { healthy: 1 } }]);
    expect(await parsed("stats", "--group", "alice")).toEqual([{ group: "alice", documents: { note: 3 } }]);
  });

  test("metrics of a histogram become bounds; of several threads a sum", () => {
    const lines = [
      'brooklet_request_seconds_bucket{kind="search",le="0.001"} 5',
      'brooklet_request_seconds_bucket{kind="search",le="0.01"} 9',
      'brooklet_request_seconds_bucket{kind="search",le="+Inf"} 10',
      'brooklet_buckets_open{thread="0"} 1',
      'brooklet_buckets_open{thread="1"} 2',
    ];
    expect(readMetrics(lines.join("\n"))).toEqual({
      requests: [{ kind: "search", count: 10, p50Ms: 1 }],
      values: { "buckets open": 3 },
    });
  });
});

describe("bench", () => {
  test("by words that stand in the documents", async () => {
    const [report] = (await parsed("bench", "--requests", "7")) as [Record<string, { readonly p50: number }>];
    expect(report).toMatchObject({ searches: 7, groups: 3 });
    expect(report["matches"]?.p50).toBeGreaterThan(0);
    expect(report["ms"]?.p50).toBeGreaterThan(0);
  });

  test("by what is said, of one group", async () => {
    const file = join(folder, "queries");
    writeFileSync(file, "invoice\n\nselect * from note where title contains 'nothing'\n");
    const words = ["bench", "--group", "alice", "--queries", file, "--requests", "4", "--concurrency", "2"];
    expect(await parsed(...words)).toMatchObject([
      { searches: 4, queries: 2, groups: 1, matches: { p50: 0, p90: 3, max: 3 } },
    ]);
    expect((await asked(...words)).printed[0]).toMatch(/^4 searches \(2 queries, 1 groups\), \d+ a second$/);
    expect(await asked("bench", "--group", "alice", "select * from nothing where true")).toMatchObject({ code: 1 });
  });

  test("spreads are values that were measured", () => {
    const values = Array.from({ length: 200 }, (_, index) => 200 - index);
    expect(spreadOf(values)).toEqual({ p50: 100, p90: 180, p99: 198, max: 200 });
    expect(spreadOf([3])).toEqual({ p50: 3, p90: 3, p99: 3, max: 3 });
  });
});

test("integers that a number would round are shown to the last digit", async () => {
  const event = schema("event", { title: text(), sequence: bigint(), others: array(bigint()) });
  const client = await connect({ url: service.url, schemas: [event] });
  const great = 9_007_199_254_740_993n;
  await client.group("events").put(event, "1", { title: "x", sequence: great, others: [1n, -great] });
  const words = ["query", "--group", "events", "select * from event where true"];
  const { printed } = await asked(...words);
  expect(printed).toEqual(expect.arrayContaining([`  sequence: ${great}`, `  others: [1,"-${great}"]`]));
  expect(await parsed(...words)).toMatchObject([
    { root: { children: [{ fields: { sequence: String(great), others: [1, String(-great)] } }] } },
  ]);
});

test("plain words are looked for", async () => {
  const { code, printed } = await asked("query", "--group", "alice", "invoice", "3", "hits=1");
  expect([code, printed[0], printed.at(-1)]).toEqual([
    0,
    expect.stringMatching(/^id:note:note:g=alice:n3 /),
    "3 documents match, 1 shown",
  ]);
  expect(await asked("query", "--group", "alice", "invoice", "select * from note where true")).toMatchObject({
    code: 2,
    warned: expect.stringContaining("'invoice' stands beside YQL"),
  });
});

test("a group without documents is told, with the one that may be meant", async () => {
  const told = "'alise' has no documents; did you mean 'alice'?";
  expect(await asked("query", "--group", "alise", "invoice")).toEqual({
    code: 0,
    printed: ["0 documents match, 0 shown"],
    warned: told,
  });
  expect(await asked("visit", "--group", "alise")).toEqual({ code: 0, printed: [], warned: told });
  expect((await asked("query", "--group", "somebody", "invoice")).warned).toBe("'somebody' has no documents");
  // Of one that has some, nothing was found.
  expect((await asked("query", "--group", "alice", "nowhere")).warned).toBe("");
  expect((await asked("visit", "--group", "alice", "--selection", "note.title == 'x'")).warned).toBe("");
});

test.each([
  ["search", "brooklet query --group NAME words"],
  ["get", `brooklet visit --group NAME --selection 'id == "id:…"'`],
  ["put", "brooklet feed FILE, or brooklet update --create ID name=value"],
  ["delete", `brooklet feed FILE with {"remove":"id:…"}, or all of a group by brooklet forget NAME`],
])("who calls %s as in other programs is told what that is here", async (command, here) => {
  const { code, printed, warned } = await ran([command, "x", "--json"]);
  expect([code, warned]).toEqual([2, `unknown command '${command}': here that is ${here}`]);
  expect(printed.map((line) => JSON.parse(line) as unknown)).toMatchObject([{ error: { code: "USAGE" } }]);
});

test("what is said in place of a command does it", async () => {
  const id = "id:note:note:g=carol:1";
  expect((await asked("update", "--create", id, "title=Rent")).code).toBe(0);
  const { printed } = await asked("visit", "--group", "carol", "--selection", `id == "${id}"`);
  expect(printed.map((line) => JSON.parse(line) as unknown)).toEqual([{ put: id, fields: { title: "Rent" } }]);
  const removed = await ran(["feed", "-", "--url", service.url], JSON.stringify({ remove: id }));
  expect(removed.code).toBe(0);
});

test("a feed that breaks off tells as JSON how far it came, and why", async () => {
  const good = '{"put":"id:note:note:g=carl:1","fields":{"title":"one"}}';
  const broken = await ran(["feed", "-", "--url", service.url, "--json"], `${good}\n{"put":`);
  expect([broken.code, broken.printed.map((line) => JSON.parse(line) as unknown)]).toMatchObject([
    2,
    [{ applied: 1, failed: 0, error: { code: "USAGE", message: expect.stringContaining("operation 2 does not end") } }],
  ]);
  expect(broken.warned).toContain("operation 2 does not end");
});

describe("every command", () => {
  const quiet = { print: () => undefined, warn: () => undefined, progress: () => undefined };
  const program = makeProgram({ ...quiet, input: (async function* () {})(), untilEnded: () => Promise.resolve() });
  const below = (command: Command, words: readonly string[]): [readonly string[], Command][] =>
    command.commands.flatMap((one): [readonly string[], Command][] => {
      const mine = [...words, one.name()];
      return one.commands.length === 0 ? [[mine, one]] : below(one, mine);
    });
  const all = below(program, []);
  const has = (command: Command, long: string): boolean => command.options.some((option) => option.long === long);

  test.each(all.map(([words]) => [words.join(" "), words] as const))(
    "%s: help is 0, an unknown option 2",
    async (_, words) => {
      expect((await ran([...words, "--help"])).code).toBe(0);
      expect(await ran([...words, "--no-such-option"])).toMatchObject({ code: 2, printed: [] });
      const json = await ran([...words, "--no-such-option", "--json"]);
      expect(JSON.parse(json.printed.join(""))).toMatchObject({ error: { code: "USAGE" } });
    },
  );

  test("speaks JSON, but help, those that serve, and the script for a shell", () => {
    const without = all.filter(([, command]) => command.name() !== "help" && !has(command, "--json"));
    expect(without.map(([words]) => words.join(" ")).sort()).toEqual(["completion", "dev", "mcp", "serve"]);
  });

  const OPERANDS: Readonly<Record<string, readonly string[]>> = {
    feed: ["-"],
    update: ["id:note:note:g=a:1", "title=x"],
    query: ["--group", "a", "words"],
    eval: [join(folder, "questions.json"), "--schema", "note"],
    forget: ["a"],
    export: [join(folder, "export"), "--to", "vespa"],
    import: ["-", "--from", "jsonl", "--schema", "note", "--group", "a", "--id-from", "id"],
    migrate: [join(folder, "migrations.mjs")],
    bench: ["--group", "a", "words"],
    receipt: [join(folder, "receipt.json")],
  };
  const asking = all.filter(([words, command]) => has(command, "--url") && words.join(" ") !== "mcp");
  test.each(asking.map(([words]) => words.join(" ")))(
    "%s: a server that is not there is 1, told as JSON",
    async (name) => {
      writeFileSync(join(folder, "receipt.json"), '{"signature":"e30.e30.e30"}');
      writeFileSync(join(folder, "questions.json"), '[{"question":"one","group":"a","answers":{"n1":1}}]');
      const made =
        'import { migration, schema, text } from "brooklet"; const note = schema("note", { title: text(), other: text() });';
      writeFileSync(
        join(folder, "migrations.mjs"),
        `${made} export const migrations = migration(note, { other: { copy: "title" } });`,
      );
      const words = [...name.split(" "), ...(OPERANDS[name] ?? []), "--url", "http://127.0.0.1:9", "--json"];
      const { code, printed, warned } = await ran(words, '{"id":"1","put":"id:note:note:g=a:1","fields":{}}');
      expect([name, code, warned]).toEqual([name, 1, expect.stringMatching(/\S/)]);
      expect(printed.map((line) => JSON.parse(line) as unknown)).toHaveLength(1);
    },
  );
});

test("the version is the package's", async () => {
  expect(await ran(["--version"])).toMatchObject({ code: 0, printed: [manifest.version] });
});

describe("completion", () => {
  const script = async (shell: string): Promise<string> => (await ran(["completion", shell])).printed.join("\n");

  test("bash completes commands, commands below, options and choices", async () => {
    const file = join(folder, "completion.bash");
    writeFileSync(file, await script("bash"));
    const complete = async (...words: string[]): Promise<string> => {
      const line = words.map((word) => `'${word}'`).join(" ");
      const at = `COMP_WORDS=(brooklet ${line}); COMP_CWORD=${words.length}; _brooklet`;
      return (await run("bash", ["-c", `source ${file}; ${at}; echo "\${COMPREPLY[*]}"`])).stdout.trim();
    };
    expect(await complete("sch")).toBe("schema");
    expect(await complete("model", "pu")).toBe("pull");
    expect(await complete("model", "pull", "--sha")).toBe("--sha256");
    expect(await complete("serve", "--log", "p")).toBe("pretty");
    expect(await complete("query", "--group", "")).toBe("");
  });

  test.each(["zsh", "fish"])("%s names every command and option", async (shell) => {
    const told = await script(shell);
    const quiet = { print: () => undefined, warn: () => undefined, progress: () => undefined };
    const program = makeProgram({ ...quiet, input: (async function* () {})(), untilEnded: () => Promise.resolve() });
    for (const command of program.commands) {
      expect(told).toContain(command.name());
      for (const { long } of command.options) expect(told).toContain(shell === "fish" ? `-l ${long?.slice(2)}` : long);
    }
  });

  test("of another shell there is none", async () => {
    expect(await ran(["completion", "tcsh"])).toMatchObject({
      code: 2,
      warned: expect.stringContaining("bash, zsh, fish"),
    });
  });
});

describe("progress", () => {
  test("says how much is done and how long the rest takes, once in a while", () => {
    const lines: string[] = [];
    let now = 0;
    const progress = new Progress({ progress: (line) => lines.push(line) }, () => now);
    for (const [ms, share] of [
      [100, 0.1],
      [1_000, 0.2],
      [1_100, 0.21],
      [60_000, 0.5],
    ] as const) {
      now = ms;
      progress.tell(() => `${ms}`, share);
    }
    progress.end();
    expect(lines).toEqual(["100, 10 %, 0:01 left", "1000, 20 %, 0:04 left", "60000, 50 %, 1:00 left", ""]);
  });

  test.each([
    [undefined, ""],
    [0, ""],
    [Number.NaN, ""],
    [1, ", 100 %, 0:00 left"],
    [0.01, ", 1 %, 1:39:00 left"],
  ])("of a share of %s", (share, told) => {
    expect(restText(share, 60_000)).toBe(told);
  });
});
