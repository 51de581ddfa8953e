import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { applicationFiles } from "@brooklet/client/application";
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { freePort } from "../../../tools/free-port.mjs";
import { runCommandLine } from "../src/command/program.ts";
import { connect, type RunningService, schema, serve, text } from "../src/index.ts";

const note = schema("note", { title: text() });
const folder: string = mkdtempSync(join(tmpdir(), "brooklet-command-"));
const application: string = join(folder, "application");
let service: RunningService;

beforeAll(async () => {
  for (const [path, content] of applicationFiles([note])) {
    mkdirSync(join(application, path, ".."), { recursive: true });
    writeFileSync(join(application, path), content);
  }
  service = await serve({ application, port: 0, path: join(folder, "data"), threads: 0 });
});

afterAll(async () => {
  await service.close();
  rmSync(folder, { recursive: true });
});

interface Ran {
  readonly code: number;
  readonly printed: string;
  readonly warned: string;
}

/** Runs to the end; `whileServing` is called with what is printed, and the end comes when all of it is done. */
async function run(words: readonly string[], input = "", whileServing?: (line: string) => Promise<void>): Promise<Ran> {
  const [printed, warned]: [string[], string[]] = [[], []];
  const under: Promise<void>[] = [];
  async function* chunks(): AsyncGenerator<Uint8Array> {
    yield new TextEncoder().encode(input);
  }
  const print = (line: string): void => {
    printed.push(line);
    if (whileServing !== undefined) under.push(whileServing(line));
  };
  const code = await runCommandLine(words, {
    print,
    warn: (line) => warned.push(line),
    progress: () => {},
    input: chunks(),
    untilEnded: () => Promise.all(under),
  });
  return { code, printed: printed.join("\n"), warned: warned.join("\n") };
}

describe("feed and query", () => {
  test("put, find, and remove", async () => {
    const url = ["--url", service.url];
    const puts = ["a", "b"]
      .map((id) => `{"put":"id:note:note:g=alice:${id}","fields":{"title":"Note ${id}"}}`)
      .join("\n");
    expect(await run(["feed", "-", ...url], puts)).toMatchObject({
      code: 0,
      printed: expect.stringMatching(/^2 applied, 0 failed, \d+\/s$/),
    });
    const yql = "select * from note where userInput(@t)";
    const found = await run(["query", ...url, "--group", "alice", yql, "t=b", "timeout=60s"]);
    expect(found.printed).toMatch(
      /^id:note:note:g=alice:b {2}0\.\d+\n {2}title: Note b\n.*\n1 document matches, 1 shown$/s,
    );
    const file = join(folder, "removes.json");
    writeFileSync(file, '[{"remove":"id:note:note:g=alice:a"}]');
    expect(JSON.parse((await run(["feed", file, "--json", ...url])).printed)).toMatchObject({ applied: 1, failed: 0 });
    const rest = await run([
      "query",
      ...url,
      "streaming.groupname=alice",
      "--json",
      "timeout=60s",
      "yql=select * from note where true",
    ]);
    expect(JSON.parse(rest.printed)).toMatchObject({ root: { fields: { totalCount: 1 } } });
  });

  test("a feed with failures goes on, names them, and ends with 1", async () => {
    const feed = '{"put":"id:note:note:g=a:1","fields":{"colour":1}}{"put":"id:note:note:g=a:2","fields":{}}';
    const ran = await run(["feed", "-", "--url", service.url], feed);
    expect(ran).toMatchObject({ code: 1, printed: expect.stringContaining("1 applied, 1 failed") });
    expect(ran.warned).toContain("id:note:note:g=a:1: ");
    expect(ran.warned).toContain("colour");
  });

  test("a query that is wrong ends with 1 and the server's sentence", async () => {
    const ran = await run(["query", "--url", service.url, "--group", "a", "select * from nothing where true"]);
    expect(ran).toMatchObject({ code: 1, warned: expect.stringContaining("nothing") });
  });

  test.each([["", " "], ["..."]])("a query without a word says so", async (...words) => {
    const ran = await run(["query", "--url", service.url, "--group", "a", ...words]);
    expect(ran).toMatchObject({ code: 2, warned: `there is no word to search for in '${words.join(" ")}'` });
  });
});

describe("what makes no sense ends with 2, or 1 when the machine is at fault", () => {
  test.each([
    [["fed"], 2, "unknown command 'fed'\n(Did you mean feed?)"],
    [["serve", "--prot", "1"], 2, "unknown option '--prot'\n(Did you mean --port?)"],
    [["serve", "--port", "70000"], 2, "Give a port from 0 to 65535."],
    [["feed"], 2, "missing required argument 'file'"],
    [["feed", "-", "--concurrency", "0"], 2, "Give an integer from 1 to 999999999."],
    [["feed", "-", "--concurrency", "1.5"], 2, "Give an integer from 1 to 999999999."],
    [["feed", "-", "--concurrency", "9999999999"], 2, "Give an integer from 1 to 999999999."],
    [["backup", folder, folder, "--keep-days", "1000001"], 2, "Give an integer from 1 to 1000000."],
    [["store", "snapshot", folder, "--keep-days", "999999999"], 2, "Give an integer from 1 to 1000000."],
    [["query", "hello"], 2, "whose documents? Say it with --group NAME"],
    [["query", "select * from note where true"], 2, "whose documents? Say it with --group NAME"],
    [["feed", "no-such-file.jsonl"], 2, "no-such-file.jsonl cannot be read: there is no such file"],
    [["feed", folder], 2, "cannot be read: it is a directory"],
    [
      ["serve", "--host", "0.0.0.0"],
      2,
      "0.0.0.0 can be reached by others, and nobody is asked for a key: set BROOKLET_ADMIN_KEY",
    ],
    [
      ["serve", "--port", "0", "--data", join(folder, "other"), "--app", join(folder, "nowhere")],
      1,
      "is not there: give the directory that has services.xml",
    ],
    [["serve", "--port", "0", "--data", join(folder, "data")], 1, "is open in this process already"],
    [["serve", "--port", "0", "--limits", "nosuch.json"], 2, "nosuch.json cannot be read: there is no such file"],
    [["receipt", "nosuch.json"], 2, "nosuch.json cannot be read: there is no such file"],
    [
      ["receipt", "--public-key", "package.json", "nosuch.json"],
      2,
      "nosuch.json cannot be read: there is no such file",
    ],
    [["receipt", "--public-key", "README.md", "package.json"], 2, "there is no signature in it"],
    [["audit", "verify", "nosuch.jsonl"], 2, "nosuch.jsonl cannot be read: there is no such file"],
    [
      ["plan", "--users", "1", "--documents", "1", "--prices", "nosuch.json"],
      2,
      "nosuch.json cannot be read: there is no such file",
    ],
    [["restore", folder, join(folder, "restored"), "--backup", "zz"], 1, "there is no backup zz"],
    [["backups", join(folder, "nothing")], 0, "nothing: there is no backup"],
    [["restore", join(folder, "nothing"), join(folder, "restored")], 1, "nothing: there is no backup"],
    [
      ["mcp", "--group", "alice", "--url", "http://127.0.0.1:9", "--schema", "note", "--filters", "title"],
      1,
      "does not say what the fields of note are: it does not answer",
    ],
    [["visit", "--url", "localhost"], 2, "Give an address like http://localhost:8080."],
    [["feed", "-", "--url", "ftp://localhost"], 2, "Give an address like http://localhost:8080."],
    [["eval", folder, "--schema", "note"], 2, "cannot be read: it is a directory"],
    [["export", "README.md", "--to", "vespa"], 1, "README.md: it, or what it is said to be in, is no directory"],
    [["serve", "--port", "0", "--data", join(folder, "other"), "--app", "README.md"], 1, "README.md is no directory"],
    [
      ["serve", "--port", "0", "--app", "vitest.config.ts"],
      1,
      "are served by 'brooklet dev vitest.config.ts', and deployed",
    ],
    [["serve", "--port", "0", "--peer-address", "http://10.0.0.5:7070"], 2, "--peer-address needs --store"],
    [["feed", "-", "--data", join(folder, "other")], 2, "nothing is deployed in"],
    [["feed", "-", "--data", join(folder, "other"), "--app", join(folder, "nowhere")], 1, "nowhere is not there"],
    [["feed", "-", "--checkpoint", join(folder, "nowhere/at")], 2, "cannot be written: there is no folder"],
    [["audit", "verify", "README.md"], 2, "README.md has no line of an audit log"],
    [["serve", "--host", ""], 2, "option '--host <address>' is empty: give it a value, or leave it out"],
    [["serve", "--allow-host", "--port", "0"], 2, "option '--allow-host <name...>' argument missing: '--port' is an"],
    [["serve", "--allow-origin", "nonsense"], 2, "option '--allow-origin <origin...>' argument 'nonsense' is invalid."],
    [["visit", "--group", ""], 2, "option '--group <name>' is empty"],
    [["visit", "--group", "a", "--group", "b"], 2, "option '--group <name>' is given more than once"],
    [["token", "--group", "a", "--group", "", "--ttl", "1h", "--verbs", "get"], 2, "'--group <name...>' is empty"],
    [["backup", join(folder, "data"), ""], 2, "argument 'target' is empty"],
    [["export", join(folder, "exported"), "--to", "solr"], 2, "argument 'solr' is invalid. Allowed choices are vespa."],
    [["import", "-", "--from", "pst"], 2, "Allowed choices are csv, jsonl, mbox, maildir, vespa."],
    [
      ["serve", "--port", "0", "--data", join(folder, "other"), "--revoked-tokens", "nosuch"],
      2,
      "nosuch, the list of revoked tokens, cannot be read (ENOENT)",
    ],
    [
      ["serve", "--port", "0", "--data", join(folder, "other"), "--audit", "no/such"],
      1,
      "The audit log no/such cannot be written: there is no such file",
    ],
    [["serve", "--port", "0", "--limits", folder], 2, `${folder} cannot be read: it is a directory`],
    ...Object.entries({
      "--trusted-proxy": "'x' is no address or network",
      "--token-keys": "'x' is no address",
      "--model-origin": "'x' is no origin",
    }).map(([option, message]): [string[], number, string] => [
      ["serve", "--port", "0", "--data", join(folder, "other"), option, "x"],
      2,
      message,
    ]),
    ...Object.entries({
      "--buckets 4": "--buckets needs --store",
      "--reranker-model small": "--reranker-model needs --reranker",
      "--store s3://bucket --threads 2": "--threads needs --data",
      "--token-keys ftp://keys.example.com/": "'ftp://keys.example.com/' is no address",
      "--token-keys htp://keys.example.com/": "'htp://keys.example.com/' is no address",
      "--models nowhere": "nowhere, the folder of models, is not there",
      "--models README.md": "README.md, the folder of models, is no directory",
      "--port 17070 --config-port 17070": "--config-port and --port are both 17070: give two",
    }).map(([words, message]): [string[], number, string] => [
      [
        "serve",
        "--data",
        join(folder, "other"),
        ...(words.startsWith("--port") ? [] : ["--port", "0"]),
        ...words.split(" "),
      ],
      2,
      message,
    ]),
    [["serve", "--port", "0", "--secret", "a=x"], 2, "'x' is no origin"],
    [["serve", "--port", "0", "--buckets", "2000"], 2, "argument '2000' is invalid. Give an integer from 1 to 1024."],
    [["serve", "--port", "0", "--mcp"], 2, "MCP serves one group"],
    [["serve", "--port", "0", "--app", "nosuch"], 1, "nosuch is not there: give the directory that has services.xml"],
    [["bench", "--queries", "nosuch"], 2, "nosuch cannot be read: there is no such file"],
    [["serve", "--port", "0", "--limits", "README.md"], 2, "README.md: "],
    [["serve", "--port", "0", "--token-public-key", "nosuch"], 2, "nosuch cannot be read: there is no such file"],
    [["model", "outline", "nosuch", "outline"], 2, "nosuch cannot be read: there is no such file"],
    [["receipt", "README.md"], 2, "it is no receipt: there is no signature in it"],
  ])("%j", async (words, code, message) => {
    const ran = await run(words);
    expect([ran.code, ran.warned]).toEqual([code, expect.stringContaining(message)]);
    // The trace of a defect is for who mends it.
    expect(ran.warned).not.toMatch(/^ {4}at /m);
    expect(existsSync(join(folder, "other"))).toBe(false);
  });

  test.each([
    ["BROOKLET_KEY", ["groups"], 2, "BROOKLET_KEY is empty: unset it, or give it a value"],
    ["BROOKLET_BACKUP_KEY_FILE", ["backups", folder], 2, "BROOKLET_BACKUP_KEY_FILE is empty"],
    ["BROOKLET_BACKUP_KEY", ["backups", folder], 2, "BROOKLET_BACKUP_KEY is empty"],
    ["BROOKLET_ENCRYPTION_KEY", ["serve", "--port", "0"], 2, "BROOKLET_ENCRYPTION_KEY is empty: unset it"],
    ["BROOKLET_ADMIN_KEY_FILE", ["serve", "--port", "0"], 2, "BROOKLET_ADMIN_KEY_FILE is empty: unset it"],
  ])("an empty %s", async (name, words, code, message) => {
    vi.stubEnv(name, " ");
    onTestFinished(() => void vi.unstubAllEnvs());
    expect(await run(words)).toMatchObject({ code, warned: expect.stringContaining(message) });
  });

  test.each(["BROOKLET_BACKUP_KEY", "BROOKLET_ENCRYPTION_KEY"])("%s and a file of it together", async (name) => {
    vi.stubEnv(name, randomBytes(32).toString("base64url"));
    vi.stubEnv(`${name}_FILE`, join(folder, "nowhere"));
    onTestFinished(() => void vi.unstubAllEnvs());
    const words = name === "BROOKLET_BACKUP_KEY" ? ["backups", folder] : ["serve", "--port", "0"];
    const warned = expect.stringContaining(`${name} and ${name}_FILE are both set: one is enough`);
    expect(await run(words)).toMatchObject({ code: 2, warned });
  });

  test.each([
    ["BROOKLET_ADMIN_KEY_FILE", ["serve", "--port", "0", "--data", join(folder, "other")]],
    ["BROOKLET_ENCRYPTION_KEY_FILE", ["serve", "--port", "0", "--data", join(folder, "other")]],
    ["BROOKLET_BACKUP_KEY_FILE", ["backups", folder]],
  ])("a file of %s that is not there", async (name, words) => {
    vi.stubEnv(name, join(folder, "nowhere"));
    onTestFinished(() => void vi.unstubAllEnvs());
    expect(await run(words)).toMatchObject({ code: 2, warned: expect.stringContaining("cannot be read") });
  });

  test.each([
    ["--verbs", "nosuch", "'nosuch' cannot be one of verbs"],
    ["--ttl", "x", 'ttl is "x": give whole seconds'],
    ["--group", "a*", "'a*' cannot be one of groups"],
  ])("a token that cannot be made: %s %s", async (option, value, message) => {
    vi.stubEnv("BROOKLET_ADMIN_KEY", randomBytes(32).toString("base64url"));
    onTestFinished(() => void vi.unstubAllEnvs());
    const given = { "--group": "a", "--verbs": "get", "--ttl": "1h", [option]: value };
    const ran = await run(["token", ...Object.entries(given).flat(), "--json"]);
    expect(ran).toMatchObject({ code: 2, warned: expect.stringContaining(message) });
    expect(JSON.parse(ran.printed)).toMatchObject({ error: { code: "USAGE" } });
  });

  test("an address may end with a slash", async () => {
    const ran = await run(["visit", "--url", `${service.url}/`, "--group", "nobody"]);
    expect(ran).toEqual({ code: 0, printed: "", warned: "'nobody' has no documents" });
  });

  test("an address with a path that the server has not says which path that was", async () => {
    const ran = await run(["groups", "--url", `${service.url}/x`]);
    expect(ran).toMatchObject({ code: 1, warned: expect.stringContaining("Nothing at '/x/brooklet/v1/groups'") });
  });

  test("an unreachable server is named", async () => {
    const port = await freePort();
    const gone = connect({ url: `http://127.0.0.1:${port}`, retry: { attempts: 1 } })
      .group("a")
      .remove(note, "1");
    await expect(gone).rejects.toMatchObject({ code: "UNREACHABLE", outcome: "not_applied" });
    await expect(gone).rejects.toThrow(
      `http://127.0.0.1:${port} cannot be reached (ECONNREFUSED): is the server running?`,
    );
  });
});

test.each([
  [["plan", "--users", "1", "--documents", "1", "--prices"], "{}", 0, ""],
  [["serve", "--port", "0", "--data", join(folder, "marked"), "--threads", "0", "--limits"], "{}", 0, ""],
  [["eval", "--schema", "note"], "[]", 2, "there is no question"],
  [["receipt"], '{"signature":1}', 2, "there is no signature in it"],
  [["receipt", "--public-key", "README.md"], "a.b.c", 2, "README.md is no key"],
])("a byte order mark is no part of a file: %j", async (words, content, code, message) => {
  const path = join(folder, "marked.json");
  writeFileSync(path, `\ufeff${content}`);
  expect(await run([...words, path])).toMatchObject({ code, warned: expect.stringContaining(message) });
});

test("help ends with 0 and names the commands", async () => {
  const { code, printed } = await run(["--help"]);
  expect(code).toBe(0);
  for (const command of ["serve", "feed", "query"]) expect(printed).toContain(command);
});

test.each([[["nosuch"]], [["model", "nosuch"]], [["query", "nosuch"]]])(
  "help is of commands there are: %j",
  async (names) => {
    const ran = await run(["help", ...names]);
    expect(ran).toEqual({ code: 2, printed: "", warned: "error: unknown command 'nosuch'" });
  },
);

test.each([
  [["help", "model", "pull"], "Usage: brooklet model pull"],
  [["model", "help", "pull"], "Usage: brooklet model pull"],
  [["help", "model"], "Usage: brooklet model"],
  [["help"], "Usage: brooklet [options]"],
  [["help", "help"], "Usage: brooklet help"],
])("help of a command is shown: %j", async (words, usage) => {
  expect(await run(words)).toMatchObject({ code: 0, printed: expect.stringContaining(usage), warned: "" });
});

test("serve serves until it is told to end", async () => {
  const seen: number[] = [];
  const words = ["serve", "--port", "0", "--data", join(folder, "mine"), "--app", application, "--threads", "0"];
  const ran = await run(words, "", async (line) => {
    const url = /^Listening on (\S+) \(serving note\)$/.exec(line)?.[1];
    if (url !== undefined) seen.push((await fetch(`${url}/state/v1/health`)).status);
  });
  expect(ran).toMatchObject({ code: 0, warned: "" });
  expect(seen).toEqual([200]);
});

test("documents may be called by dots over HTTP too", async () => {
  const alice = connect({ url: service.url }).group("dots");
  for (const id of [".", ".."]) {
    await alice.put(note, id, { title: `called ${id}` });
    expect(await alice.get(note, id)).toEqual({ title: `called ${id}` });
  }
  expect((await alice.search(note)).hits.map(({ id }) => id).sort()).toEqual([".", ".."]);
  await alice.remove(note, "..");
  expect(await alice.get(note, "..")).toBeUndefined();
  expect(await alice.get(note, ".")).toEqual({ title: "called ." });
});
