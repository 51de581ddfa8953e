/** `brooklet feed` and `brooklet export` against a server in this process. */

import { spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { gzipSync } from "node:zlib";
import { applicationFiles } from "@brooklet/client/application";
import { expect, onTestFinished, test } from "vitest";
import { runCommandLine } from "../src/command/program.ts";
import { fieldsOf } from "../src/command/update.ts";
import { connect, type RunningService, schema, serve, text, vector } from "../src/index.ts";

const note = schema("note", { title: text(), v: vector(2).optional() });

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), "brooklet-feed-"));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

async function served(application: string = packageOf()): Promise<RunningService> {
  const service = await serve({ application, port: 0, threads: 0 });
  onTestFinished(() => service.close());
  return service;
}

function packageOf(): string {
  const directory = folder();
  for (const [path, content] of applicationFiles([note])) {
    mkdirSync(dirname(join(directory, path)), { recursive: true });
    writeFileSync(join(directory, path), content);
  }
  return directory;
}

interface Ran {
  readonly code: number;
  readonly printed: readonly string[];
  readonly warned: string;
}

async function run(words: readonly string[], input: string | Uint8Array = "", chunkBytes = 7): Promise<Ran> {
  const [printed, warned]: [string[], string[]] = [[], []];
  const bytes = typeof input === "string" ? new TextEncoder().encode(input) : input;
  async function* chunks(): AsyncGenerator<Uint8Array> {
    for (let at = 0; at < bytes.length; at += chunkBytes) yield bytes.subarray(at, at + chunkBytes);
  }
  const code = await runCommandLine(words, {
    print: (line) => printed.push(line),
    warn: (line) => warned.push(line),
    progress: () => {},
    input: chunks(),
    untilEnded: () => Promise.resolve(),
  });
  return { code, printed, warned: warned.join("\n") };
}

const put = (id: string | number, title = `Note ${id}`): string =>
  `{"put":"id:note:note:g=alice:${id}","fields":{"title":"${title}"}}\n`;

test("a feed may be compressed, wherever its bytes are cut", async () => {
  const service = await served();
  const bytes = gzipSync(put(1) + put(2));
  for (const chunkBytes of [1, 3, 1_000]) {
    const { code, printed } = await run(["feed", "-", "--url", service.url, "--json"], bytes, chunkBytes);
    expect([code, JSON.parse(printed[0] ?? "")]).toMatchObject([0, { applied: 2, failed: 0, failures: {} }]);
  }
  const cut = await run(["feed", "-", "--url", service.url], bytes.subarray(0, bytes.length - 12));
  expect([cut.code, cut.warned]).toEqual([2, expect.stringContaining("- cannot be read: unexpected end of file")]);
});

test.each([
  ["a string", 15 << 20, /A string of 15728640 bytes is longer than the limit of 4194304/],
  ["an operation", 20 << 20, /An operation is longer than 16777216 bytes/],
])("%s that is too long is told as that", async (_, length, told) => {
  const { url } = await served();
  const { code, warned } = await run(["feed", "-", "--url", url], put(1, "x".repeat(length)), 1 << 20);
  expect([code, warned]).toEqual([1, expect.stringMatching(told)]);
});

test("what the selection of the content cluster does not let in is counted apart", async () => {
  const app = packageOf();
  const services = readFileSync(join(app, "services.xml"), "utf8");
  const selecting = services.replace(/type="note"/, "$& selection='note.title == \"kept\"'");
  writeFileSync(join(app, "services.xml"), selecting);
  const { url } = await served(app);
  const fed = put(1, "kept") + put(2, "other");
  for (const target of [
    ["--url", url],
    ["--data", join(folder(), "data"), "--app", app],
  ]) {
    const { code, printed } = await run(["feed", "-", ...target], fed);
    expect([code, printed]).toEqual([
      0,
      [expect.stringMatching(/^1 applied, 0 failed, 1 ignored by the cluster's selection, \d/)],
    ]);
    const json = await run(["feed", "-", "--results", "--json", ...target], put(3, "other"));
    expect(json.printed.map((line) => JSON.parse(line))).toMatchObject([
      { id: "id:note:note:g=alice:3", ok: true, ignored: true },
      { applied: 0, failed: 0, ignored: 1 },
    ]);
  }
});

test("what cannot be begun is said once, and nothing is sent", async () => {
  const nobody = await run(["feed", "-", "--url", "http://127.0.0.1:9"], put(1) + put(2));
  const reason = /^http:\/\/127.0.0.1:9 cannot be reached \(.*\): is the server running\? Nothing was sent/;
  expect([nobody.code, nobody.printed, nobody.warned]).toEqual([1, [], expect.stringMatching(reason)]);
  const { url } = await served();
  const missing = await run(["feed", join(folder(), "no.jsonl"), "--url", url]);
  expect([missing.code, missing.warned]).toEqual([
    2,
    expect.stringMatching(/no\.jsonl cannot be read: there is no such file/),
  ]);
  const directory = await run(["feed", folder(), "--url", url]);
  expect([directory.code, directory.warned]).toEqual([2, expect.stringMatching(/cannot be read: it is a directory/)]);
});

test("an operation that names no document is told by its number", async () => {
  const { url } = await served();
  const { code, warned } = await run(["feed", "-", "--url", url], `${put(1)}{"fields":{}}\n${put(2)}`);
  expect([code, warned]).toEqual([1, expect.stringMatching(/^operation 2: Missing a document operation/)]);
});

test("every operation has its result, and failures are counted by kind", async () => {
  const service = await served();
  const wrong = '{"put":"id:note:note:g=alice:x","fields":{"nosuch":1}}\n{"put":"id:no:no:g=a:1","fields":{}}\n';
  const { code, printed, warned } = await run(["feed", "-", "--url", service.url, "--results"], put(1) + wrong);
  expect(code).toBe(1);
  const results = printed.slice(0, -1).map((line) => JSON.parse(line) as { id: string; ok: boolean; code?: string });
  expect(results.sort((left, right) => (left.id < right.id ? -1 : 1))).toMatchObject([
    { id: "id:no:no:g=a:1", ok: false, code: "INVALID_DOCUMENT" },
    { id: "id:note:note:g=alice:1", ok: true },
    { id: "id:note:note:g=alice:x", ok: false, code: "INVALID_DOCUMENT" },
  ]);
  expect(warned).toContain("failures by kind: INVALID_DOCUMENT 2");
});

test("an interrupted feed goes on where it was", async () => {
  const service = await served();
  const checkpoint = join(folder(), "checkpoint");
  const words = ["feed", "-", "--checkpoint", checkpoint, "--json", "--url"];
  // The third operation breaks off in the middle, as the output of a program that was killed.
  const broken = await run([...words, service.url], `${put(1)}${put(2)}{"put":`);
  expect(broken.code).toBe(2);
  expect(JSON.parse(readFileSync(checkpoint, "utf8"))).toEqual({ operations: 2 });
  const alice = connect({ url: service.url }).group("alice");
  await alice.remove(note, "1");
  const rest = await run([...words, service.url], put(1) + put(2) + put(3) + put(4));
  expect([rest.code, JSON.parse(rest.printed[0] ?? "")]).toMatchObject([0, { applied: 2 }]);
  expect(rest.warned).toContain("2 operations were done before");
  expect([await alice.get(note, "1"), await alice.get(note, "4")]).toEqual([undefined, { title: "Note 4" }]);
  const again = await run([...words, service.url], put(1) + put(2) + put(3) + put(4));
  expect(JSON.parse(again.printed[0] ?? "")).toMatchObject({ applied: 0 });
  writeFileSync(checkpoint, "no checkpoint");
  expect(await run([...words, service.url], put(1))).toMatchObject({ code: 2 });
});

test.runIf(process.platform !== "win32")("a checkpoint takes the place of a file, and of nothing else", async () => {
  const service = await served();
  const home = folder();
  const [pipe, link, dangling] = [join(home, "pipe"), join(home, "link"), join(home, "dangling")];
  expect(spawnSync("mkfifo", [pipe]).status).toBe(0);
  symlinkSync(join(home, "no", "such"), dangling);
  const said: readonly (readonly [place: string, message: string])[] = [
    ["/dev/null", "is no file"],
    [pipe, "is no file"],
    [home, "is no file"],
    [dangling, "there is no such file"],
    [join(home, "none", "at"), "there is no folder"],
    [join(import.meta.filename, "at"), "is no directory"],
  ];
  const migrations = join(home, "migrations.mjs");
  writeFileSync(migrations, "export const migrations = [{ schema: { name: 'note' }, changes: {} }];");
  const commands = [
    ["feed", "-", "--url", service.url],
    ["import", service.url, "--from", "vespa", "--url", service.url],
    ["migrate", migrations, "--url", service.url],
  ];
  for (const words of commands)
    for (const [place, message] of said)
      expect(await run([...words, "--checkpoint", place], put(1))).toMatchObject({
        code: 2,
        warned: expect.stringContaining(message),
      });
  expect([statSync("/dev/null").isCharacterDevice(), statSync(pipe).isFIFO()]).toEqual([true, true]);
  expect(await connect({ url: service.url }).group("alice").get(note, "1")).toBeUndefined();
  // Of a link the file that it names is written, and the link stays.
  writeFileSync(join(home, "file"), '{"operations":0}');
  symlinkSync("file", link);
  expect(await run(["feed", "-", "--url", service.url, "--checkpoint", link], put(1))).toMatchObject({ code: 0 });
  expect(JSON.parse(readFileSync(join(home, "file"), "utf8"))).toEqual({ operations: 1 });
  expect([readlinkSync(link), existsSync(`${link}.new`)]).toEqual(["file", false]);
});

test("what could not be sent is not done, what was refused is", async () => {
  const checkpoint = join(folder(), "checkpoint");
  const nobody = ["feed", "-", "--checkpoint", checkpoint, "--url", "http://127.0.0.1:9"];
  expect(await run(nobody, put(1) + put(2))).toMatchObject({ code: 1 });
  expect(existsSync(checkpoint)).toBe(false);
  // One that is there when it is looked for, and loses every operation.
  const losing = createServer((asked, answer) => {
    if (asked.method === "GET") answer.writeHead(404).end("{}");
    else asked.socket.destroy();
  }).listen(0, "127.0.0.1");
  onTestFinished(() => void losing.close());
  await once(losing, "listening");
  const url = `http://127.0.0.1:${(losing.address() as AddressInfo).port}`;
  const { code } = await run(["feed", "-", "--checkpoint", checkpoint, "--url", url], put(1) + put(2));
  expect([code, JSON.parse(readFileSync(checkpoint, "utf8"))]).toEqual([1, { operations: 0 }]);
  const service = await served();
  const refused = '{"put":"id:note:note:g=alice:x","fields":{"nosuch":1}}\n';
  await run(["feed", "-", "--checkpoint", checkpoint, "--url", service.url], refused + put(2));
  expect(JSON.parse(readFileSync(checkpoint, "utf8"))).toEqual({ operations: 2 });
});

test("a data directory is fed without a server, and served afterwards", async () => {
  const data = join(folder(), "data");
  const all = Array.from({ length: 600 }, (_, number) => put(number)).join("");
  expect(await run(["feed", "-", "--threads", "0", "--data", data], all, 10_000)).toMatchObject({ code: 2 });
  const words = ["feed", "-", "--threads", "0", "--data", data, "--app", packageOf(), "--json"];
  const { code, printed, warned } = await run(words, all, 10_000);
  expect(warned).toBe("");
  expect([code, JSON.parse(printed[0] ?? "")]).toMatchObject([0, { applied: 600, failed: 0 }]);
  // What was deployed once is there the next time.
  const more = await run(
    ["feed", "-", "--threads", "0", "--data", data, "--results"],
    `${put(7, "other")}{"put":"id:no:no::1","fields":{}}`,
  );
  expect(more.code).toBe(1);
  expect(more.printed.map((line) => line.slice(0, 42))).toContain('{"id":"id:note:note:g=alice:7","ok":true}');
  const service = await serve({ path: data, port: 0, threads: 0 });
  onTestFinished(() => service.close());
  const alice = connect({ url: service.url }).group("alice");
  expect([await alice.get(note, "7"), await alice.get(note, "599")]).toEqual([
    { title: "other" },
    { title: "Note 599" },
  ]);
});

test("a server that knows nothing of feeds is sent operation by operation", async () => {
  const service = await served();
  const paths: string[] = [];
  // What a Vespa, or a release before, answers.
  const front = createServer((asked, answer) => {
    paths.push(`${asked.method} ${asked.url}`);
    if (asked.url?.startsWith("/feed/") === true) {
      answer.writeHead(404).end("{}");
      return;
    }
    const to = request(`${service.url}${asked.url}`, {
      method: asked.method,
      headers: { "content-type": "application/json" },
    });
    asked.pipe(to);
    to.once("response", (came) => {
      answer.writeHead(came.statusCode ?? 500);
      came.pipe(answer);
    });
  }).listen(0, "127.0.0.1");
  onTestFinished(() => void front.close());
  await once(front, "listening");
  const url = `http://127.0.0.1:${(front.address() as AddressInfo).port}`;
  expect(await run(["feed", "-", "--url", url], put(1) + put(2))).toMatchObject({ code: 0 });
  expect(paths).toEqual([
    "GET /brooklet/v1/feed",
    expect.stringContaining("POST /document/v1/note/note/group/alice/"),
    expect.stringContaining("POST /document/v1/note/note/group/alice/"),
  ]);
});

test("a server behind what speaks HTTP/1.1 alone is fed in bulk", async () => {
  const service = await served();
  const asked: string[] = [];
  const front = createServer((request_, answer) => {
    const { method, headers, url } = request_;
    asked.push(`${method} ${url}`);
    const to = request(`${service.url}${url}`, { method, headers });
    request_.pipe(to);
    to.once("response", (came) => {
      answer.writeHead(came.statusCode ?? 500, came.headers);
      came.pipe(answer);
    });
  }).listen(0, "127.0.0.1");
  onTestFinished(() => void front.close());
  await once(front, "listening");
  const url = `http://127.0.0.1:${(front.address() as AddressInfo).port}`;
  expect(await run(["feed", "-", "--url", url], put(1) + put(2), 10_000)).toMatchObject({ code: 0 });
  expect(asked).toEqual(["GET /brooklet/v1/feed", "POST /brooklet/v1/feed"]);
  expect((await run(["visit", "--url", url])).printed).toHaveLength(2);
});

test("an address that moved, that lets nobody in or reaches no server is told before anything is sent", async () => {
  const asked: string[] = [];
  const front = createServer((request_, answer) => {
    asked.push(`${request_.method} ${request_.url}`);
    if (request_.headers.authorization === undefined)
      answer.writeHead(308, { location: "https://search.example.com/brooklet/v1/feed" }).end();
    else if (request_.headers.authorization === "Bearer wrong")
      answer.writeHead(401).end('{"code":"UNAUTHENTICATED","message":"The key is not known"}');
    else answer.writeHead(502).end("<html><head><title>502 Bad Gateway</title></head><h1>Bad\nGateway</h1></html>");
  }).listen(0, "127.0.0.1");
  onTestFinished(() => void front.close());
  await once(front, "listening");
  const url = `http://127.0.0.1:${(front.address() as AddressInfo).port}`;
  const moved = await run(["feed", "-", "--url", url], put(1));
  expect(moved).toMatchObject({ code: 2, warned: expect.stringContaining("is at https://search.example.com now") });
  const refused = await run(["feed", "-", "--url", url, "--key", "wrong"], put(1));
  expect(refused).toMatchObject({ code: 1, warned: expect.stringContaining("The key is not known") });
  const away = await run(["feed", "-", "--url", url, "--key", "right"], put(1));
  expect(away).toMatchObject({ code: 1, warned: expect.stringContaining(`${url}: Bad Gateway. Nothing was sent`) });
  expect(asked).toEqual(Array(3).fill("GET /brooklet/v1/feed"));
});

test("what is exported deploys and feeds again, document by document", async () => {
  const service = await served();
  const db = connect({ url: service.url });
  for (const name of ["alice", "bob"]) {
    const documents = Array.from({ length: 300 }, (_, number) => ({
      id: `${number}/x`,
      fields: { title: `Ünïcode "${number}"\n`, ...(number % 2 === 0 ? { v: [number, 0.5] } : {}) },
    }));
    await db.group(name).feed(note, documents);
  }
  const directory = join(folder(), "out");
  const { code, printed } = await run(["export", directory, "--to", "vespa", "--url", service.url]);
  expect([code, printed]).toEqual([0, [expect.stringMatching(/^3 files in .*, 600 documents in /)]]);
  for (const [path, content] of applicationFiles([note])) {
    expect(readFileSync(join(directory, "application", path), "utf8")).toBe(content);
  }
  const other = await served(join(directory, "application"));
  const fed = await run(["feed", join(directory, "feed.jsonl"), "--json", "--url", other.url]);
  expect(JSON.parse(fed.printed[0] ?? "")).toMatchObject({ applied: 600, failed: 0 });
  for (const name of ["alice", "bob"]) {
    const visited = async (url: string): Promise<unknown[]> => {
      const documents: unknown[] = [];
      for await (const document of connect({ url }).group(name).visit(note, { pageSize: 99 })) documents.push(document);
      return documents;
    };
    expect(await visited(other.url)).toEqual(await visited(service.url));
  }
  expect(await run(["export", directory, "--to", "vespa", "--url", service.url])).toMatchObject({ code: 2 });
  const selected = join(folder(), "selected");
  await run(["export", selected, "--to", "vespa", "--url", service.url, "--selection", "id.group == 'bob'"]);
  expect(readFileSync(join(selected, "feed.jsonl"), "utf8").trimEnd().split("\n").length).toBe(300);
  expect(existsSync(join(selected, "feed.jsonl.part"))).toBe(false);
  const none = join(folder(), "no", "such");
  const wrong = ["export", none, "--to", "vespa", "--url", service.url, "--selection", "id.group =="];
  expect(await run(wrong)).toMatchObject({ code: 2 });
  expect(existsSync(dirname(none))).toBe(false);
});

test("what is visited feeds again, by group, selection, fields, time and slice; and a group is forgotten", async () => {
  const service = await served();
  const to = ["--url", service.url];
  const ofAlice = Array.from({ length: 20 }, (_, number) => put(number)).join("");
  const name = String.raw`o'"\b`;
  const ofOther = JSON.stringify({ put: `id:note:note:g=${name}:1`, fields: { title: "Other" } });
  expect(await run(["feed", "-", ...to], ofAlice + ofOther)).toMatchObject({ code: 0 });
  const visited = async (...words: string[]): Promise<readonly string[]> => {
    const { code, printed, warned } = await run(["visit", ...words, ...to]);
    expect([code, warned]).toEqual([0, ""]);
    return [...printed].sort();
  };
  const all = await visited();
  expect(all.length).toBe(21);
  expect(await visited("--group", name)).toEqual(all.filter((line) => !line.includes("alice")));
  const alice = await visited("--group", "alice");
  expect(alice.length).toBe(20);
  expect(await visited("--group", "alice", "--selection", 'note.title == "Note 3" or false')).toEqual(
    alice.filter((line) => line.includes('alice:3"')),
  );
  expect(await visited("--group", name, "--field-set", "[id]")).toEqual([
    JSON.stringify({ put: `id:note:note:g=${name}:1`, fields: {} }),
  ]);
  const slices = await Promise.all(["0", "1"].map((slice) => visited("--slices", "2", "--slice", slice)));
  expect(slices.flat().sort()).toEqual(all);
  expect([await visited("--since", "2999-01-01"), await visited("--until", "1")]).toEqual([[], []]);
  expect(await visited("--since", "2020-01-01T00:00:00Z")).toEqual(all);
  for (const wrong of [
    ["--slices", "2"],
    ["--since", "soon"],
    ["--since", "soon 1"],
    ["--until", "2026-11-31"],
  ]) {
    expect(await run(["visit", ...wrong, ...to])).toMatchObject({ code: 2 });
  }
  expect(await run(["visit", "--selection", "nothing ==", ...to])).toMatchObject({ code: 2 });

  expect((await run(["forget", "alice", ...to])).printed).toEqual(["20 documents of 'alice' removed"]);
  expect(await visited()).toEqual(all.filter((line) => !line.includes("alice")));
  expect((await visited("--removes")).filter((line) => line.startsWith('{"remove":')).length).toBe(20);
  const forgotten = await run(["forget", name, "--json", ...to]);
  expect(JSON.parse(forgotten.printed[0] ?? "")).toEqual({ group: name, documents: 1 });
  expect(await visited()).toEqual([]);
  const other = await served();
  expect(await run(["feed", "-", "--url", other.url], all.join("\n"))).toMatchObject({ code: 0 });
  expect([...(await run(["visit", "--url", other.url])).printed].sort()).toEqual(all);
});

test("rows and objects become documents", async () => {
  const service = await served();
  const alice = connect({ url: service.url }).group("alice");
  const to = ["--schema", "note", "--id-from", "key", "--url", service.url];
  const table = 'key,Subject,owner\r\n1,"a ""quoted"", title",alice\n2,,alice\n3,x,bob\n';
  const words = ["import", "-", "--from", "csv", "--group-from", "owner", "--map", "title=Subject", ...to];
  expect(await run(words, table)).toMatchObject({ code: 0, printed: [expect.stringMatching(/^3 applied, 0 failed/)] });
  const [first, second] = [await alice.get(note, "1"), await alice.get(note, "2")];
  expect([first, second]).toEqual([{ title: 'a "quoted", title' }, { title: "" }]);
  expect(await connect({ url: service.url }).group("bob").get(note, "3")).toEqual({ title: "x" });
  const lines = '{"key":4,"title":"four","v":[1,2.5]}\n{"key":"5","title":null}\n';
  expect(await run(["import", "-", "--from", "jsonl", "--group", "alice", ...to], lines)).toMatchObject({ code: 0 });
  expect(await alice.get(note, "4")).toEqual({ title: "four", v: [1, 2.5] });
  expect(await alice.get(note, "5")).toEqual({ title: "" });
  // Ids that a number would round, as those of messages often are, would be the same one.
  const great = ["9007199254740992", "9007199254740993"];
  const messages = great.map((key) => `{"key":${key},"owner":${key},"title":${key}}\n`).join("");
  const grouped = ["import", "-", "--from", "jsonl", "--group-from", "owner", ...to];
  expect(await run(grouped, messages)).toMatchObject({ code: 0, printed: [expect.stringMatching(/^2 applied/)] });
  for (const key of great)
    expect(await connect({ url: service.url }).group(key).get(note, key)).toEqual({ title: key });
});

test("a document is updated by words or by JSON", async () => {
  const service = await served();
  const alice = connect({ url: service.url }).group("alice");
  const update = (...words: string[]): Promise<Ran> => run(["update", "--url", service.url, ...words]);
  const id = "id:note:note:g=alice:1";
  await alice.put(note, "1", { title: "one" });
  expect(await update(id, "title=two words")).toMatchObject({ code: 0, printed: [`${id} is updated, if it is there`] });
  expect(await update(id, "v=[1,2]", "--condition", "note.title == 'two words'")).toMatchObject({
    code: 0,
    printed: [`${id} is updated`],
  });
  expect(await alice.get(note, "1")).toEqual({ title: "two words", v: [1, 2] });
  const failed = await update(id, "title=three", "--condition", "note.title == 'other'");
  expect([failed.code, failed.warned]).toEqual([1, expect.stringContaining("CONDITION_NOT_MET")]);
  const made = await update("id:note:note:g=alice:2", '{"title":{"assign":"made"}}', "--create", "--json");
  expect([made.code, JSON.parse(made.printed[0] ?? "")]).toMatchObject([0, { id: "id:note:note:g=alice:2" }]);
  expect(await alice.get(note, "2")).toEqual({ title: "made" });
  expect(await update(id, "title")).toMatchObject({ code: 2, warned: expect.stringContaining("'title' is no change") });
  const great = "9007199254740993";
  for (const words of [[`title=${great}`], [`{"title":{"assign":${great}}}`]]) {
    expect(await update(id, "title=x")).toMatchObject({ code: 0 });
    expect(await update(id, ...words)).toMatchObject({ code: 0 });
    expect(await alice.get(note, "1")).toMatchObject({ title: great });
  }
  expect(JSON.parse(fieldsOf(["year+=1", "year*=2", "m{a}=x"]))).toEqual({
    year: { increment: 1, multiply: 2 },
    "m{a}": { assign: "x" },
  });
});

test.each([
  [
    "import",
    "id,title\n1,one\n2,two\n,three\n",
    ["--from", "csv", "--schema", "note", "--group", "a", "--id-from", "id"],
  ],
  ["feed", `${put(1)}${put(2)}{"put":`, []],
])("%s tells how far it came before it broke off", async (command, input, options) => {
  const { url } = await served();
  const broken = await run([command, "-", "--url", url, ...options], input);
  expect([broken.code, broken.warned]).toEqual([2, expect.stringMatching(/^It broke off: 2 applied, 0 failed, .*\n/)]);
});

test("messages become documents; what cannot be read is told and counted", async () => {
  const service = await served();
  const alice = connect({ url: service.url }).group("alice");
  const words = ["import", "-", "--from", "mbox", "--schema", "note", "--group", "alice", "--url", service.url];
  const good = "From a Thu\nMessage-ID: <m1@x>\nFrom: a@x\nSubject: Hello\n\nwords\n\n";
  expect(await run([...words, "--map", "title=subject"], good)).toMatchObject({ code: 0 });
  expect(await alice.get(note, "m1@x")).toEqual({ title: "Hello" });
  const broken = await run([...words, "--map", "title=text"], `${good}From b Thu\n\nnothing\n\n`);
  expect([broken.code, broken.warned]).toEqual([
    1,
    expect.stringMatching(/message 2 .*\n1 messages were passed over$/),
  ]);
  expect(await alice.get(note, "m1@x")).toEqual({ title: "words\n" });
});

test.each([
  [["--from", "csv"], "whose documents?"],
  [["--from", "csv", "--group", "a", "--group-from", "b"], "whose documents?"],
  [["--from", "pst", "--group", "a"], "argument 'pst' is invalid. Allowed choices are csv, jsonl, "],
  [["--from", "mbox", "--group", "a"], "say what goes where with --map field=column; mail has the columns id, "],
  [["--from", "csv", "--group", "a", "--map", "x"], "'x' is no mapping"],
  [["--from", "csv", "--group", "a"], "document 1 has no 'id' to be its id"],
])("an import of %j makes no sense", async (words, message) => {
  const ran = await run(["import", "-", "--schema", "note", "--id-from", "id", ...words], "key\n1\n");
  expect([ran.code, ran.warned]).toEqual([2, expect.stringContaining(message)]);
});
