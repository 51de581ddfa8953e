/** Keys and tokens end to end: a server with an admin key, its client, its command, and what a token of one group reaches of real documents. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { adminKeysOf } from "@brooklet/gateway/node";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { runCommandLine } from "../src/command/program.ts";
import { type Client, connect, type RunningService, schema, serve, string, text } from "../src/index.ts";
import { type GroupTokenOptions, groupToken, type Verb } from "../src/token.ts";

const KEY = "Zk3Q0m7Jw1xUe8bVt5Yc2rNf6aHsLpDg9oKiTqXuEyA";
const OTHER_KEY = "b9Rk2Lq8Wz5Xc1Vn7Mt4Jh6Gf3Ds0Pa-Yu_Ie2OrTwQx";
const CANARY = "canaryofbob";
const ALL: readonly Verb[] = ["search", "ask", "get", "visit", "put", "update", "remove", "erase"];
const note = schema("note", { title: text(), secret: string() });
const diary = schema("diary", { title: text() });

let service: RunningService;
let admin: Client;

const scratch = mkdtempSync(join(tmpdir(), "brooklet-authority-"));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

beforeAll(async () => {
  service = await serve({ port: 0, adminKeys: [KEY, OTHER_KEY], threads: 0 });
  admin = await connect({ url: service.url, key: KEY, schemas: [note, diary] });
  for (const group of ["alice", "bob"])
    for (const id of ["1", "2"]) {
      await admin.group(group).put(note, id, { title: "every one", secret: group === "bob" ? CANARY : "mine" });
      await admin.group(group).put(diary, id, { title: "every day" });
    }
});
afterAll(async () => await service.close());

async function holder(options: Partial<GroupTokenOptions> = {}, key: string = KEY): Promise<Client> {
  const token = await groupToken(key, { group: "alice", verbs: ALL, ttl: "5m", ...options });
  return connect({ url: service.url, key: token });
}

const refused = { code: "SCOPE_REFUSED", status: 403, outcome: "not_applied" };

async function all<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const found: Item[] = [];
  for await (const item of items) found.push(item);
  return found;
}

describe("a token of one group", () => {
  test("does with that group what its verbs say", async () => {
    const alice = (await holder()).group("alice");
    expect((await alice.search(note, { text: "every" })).totalCount).toBe(2);
    expect(await alice.get(note, "1")).toMatchObject({ secret: "mine" });
    await alice.put(note, "3", { title: "third", secret: "mine" });
    await alice.update(note, "3", { title: { assign: "the third" } });
    expect((await all(alice.visit(note))).length).toBe(3);
    expect(await alice.count(note)).toBe(3);
    await alice.remove(note, "3");
    await alice.updateWhere(note, (it) => it.secret.is("nobody"), { title: "x" });
    const answer = await (await holder()).request({
      method: "POST",
      target: "/search/",
      body: JSON.stringify({ yql: "select * from note where true", timeout: "60s" }),
    });
    expect(answer.json).toMatchObject({ root: { fields: { totalCount: 2 } } });
  });

  test("reaches nothing of another, by whatever call, and nothing of what is there is told", async () => {
    const client = await holder();
    const before = await all(admin.group("bob").visit(note));
    const calls = (name: string): readonly (() => Promise<unknown>)[] => {
      const group = client.group(name);
      return [
        () => group.search(note, { text: "every" }),
        () => group.retrieve(note, "every one"),
        () => group.get(note, "1"),
        () => group.getMany(note, ["1", "2"]),
        () => group.exists(note, "1"),
        () => group.count(note),
        () => group.put(note, "1", { title: "x", secret: "x" }),
        () => group.update(note, "1", { title: { assign: "x" } }),
        () => group.remove(note, "1"),
        () => group.updateWhere(note, (it) => it.secret.is(CANARY), { title: "x" }),
        () => group.removeWhere(note, (it) => it.secret.is(CANARY)),
        () => all(group.visit(note)),
        () => group.clear(),
        () => group.erase(),
      ];
    };
    const told = async (name: string): Promise<string[]> => {
      const errors: string[] = [];
      for (const [index, call] of calls(name).entries()) {
        const error: unknown = await call().then(
          () => `call ${index} was answered`,
          (reason: unknown) => reason,
        );
        expect([index, error]).toMatchObject([index, refused]);
        errors.push(`${JSON.stringify(error)} ${String(error)}`);
      }
      return errors;
    };
    const foreign = await told("bob");
    expect(foreign.join()).not.toContain(CANARY);
    expect(foreign).toEqual(await told("xyz"));
    await expect(all(client.groups())).rejects.toMatchObject(refused);
    await expect(client.deploy([note])).rejects.toMatchObject(refused);
    expect(await all(admin.group("bob").visit(note))).toEqual(before);
  });

  test("feeds in bulk, and an operation on another's document fails alone", async () => {
    const token = await groupToken(KEY, { group: "alice", verbs: ALL, ttl: 60 });
    const operation = (group: string, id: string): string =>
      JSON.stringify({ put: `id:note:note:g=${group}:${id}`, fields: { title: "fed", secret: "x" } });
    const body = [operation("alice", "f1"), operation("bob", "f2"), operation("alice", "f3")].join("\n");
    const response = await fetch(`${service.url}/brooklet/v1/feed`, {
      method: "POST",
      body,
      headers: { authorization: `Bearer ${token}` },
    });
    expect(await response.json()).toMatchObject({
      applied: 2,
      failed: 1,
      failures: [{ operation: 1, id: "id:note:note:g=bob:f2", status: 403, code: "SCOPE_REFUSED" }],
    });
    expect(await admin.group("bob").exists(note, "f2")).toBe(false);
    expect(await admin.group("alice").exists(note, "f3")).toBe(true);
    const documents = ["f1", "f3"].map((id) => ({ id, fields: { title: "again", secret: "x" } }));
    expect(await (await holder()).group("alice").feed(note, documents)).toMatchObject({ applied: 2 });
    for (const id of ["f1", "f3"]) await admin.group("alice").remove(note, id);
  });

  test("of one schema searches that alone, also where nothing or everything is named", async () => {
    const client = await holder({ schemas: ["diary"] });
    const search = async (parameters: object): Promise<unknown> => {
      const body = JSON.stringify({ "streaming.groupname": "alice", timeout: "60s", ...parameters });
      return (await client.request({ method: "POST", target: "/search/", body })).json;
    };
    const yql = "select * from sources * where true";
    for (const more of [{}, { restrict: "*" }, { "model.restrict": "diary" }, { "model.sources": "*" }]) {
      const { root } = (await search({ yql, ...more })) as { root: { children: { id: string }[] } };
      expect(root.children.map(({ id }) => id.split(":")[2])).toEqual(["diary", "diary"]);
    }
    for (const more of [{ restrict: "note" }, { "model.restrict": "diary,note" }])
      await expect(search({ yql, ...more })).rejects.toMatchObject(refused);
    const other = await search({ yql: "select * from note where true" });
    expect(JSON.stringify(other)).not.toContain("every one");
    await expect(client.group("alice").get(note, "1")).rejects.toMatchObject(refused);
    expect(await client.group("alice").get(diary, "1")).toMatchObject({ title: "every day" });
  });

  test("is asked for before every request, and is none when it is over or another server's", async () => {
    let asked = 0;
    const client = connect({
      url: service.url,
      token: async () => {
        asked += 1;
        return await groupToken(OTHER_KEY, { group: "alice", verbs: ["get"], ttl: "1h" });
      },
    });
    await client.group("alice").get(note, "1");
    await client.group("alice").get(note, "2");
    expect(asked).toBe(2);
    const missing = { code: "UNAUTHENTICATED", status: 401 };
    await expect((await holder({ audience: "elsewhere" })).group("alice").get(note, "1")).rejects.toMatchObject(
      missing,
    );
    const stranger = await holder({}, `${KEY.slice(0, -1)}B`);
    await expect(stranger.group("alice").get(note, "1")).rejects.toMatchObject(missing);
    await expect(connect({ url: service.url }).group("alice").get(note, "1")).rejects.toMatchObject(missing);
  });
});

describe("groupToken", () => {
  test.each<[string, unknown]>([
    ["a short key", ["short", {}]],
    ["no group", [KEY, { group: undefined }]],
    ["both", [KEY, { groups: ["bob"] }]],
    ["17 groups", [KEY, { group: undefined, groups: Array.from({ length: 17 }, (_, index) => `g${index}`) }]],
    ["a wildcard", [KEY, { group: "*" }]],
    ["a verb that there is not", [KEY, { verbs: ["read"] }]],
    ["no verbs", [KEY, { verbs: [] }]],
    ["more than a day", [KEY, { ttl: "25h" }]],
    ["no time", [KEY, { ttl: 0 }]],
    ["a time without a unit", [KEY, { ttl: "15" }]],
    ["an unknown option", [KEY, { admin: true }]],
    ["a schema that is none", [KEY, { schemas: ["a b"] }]],
  ])("refuses %s", async (_, given) => {
    const [key, change] = given as [string, object];
    const options = { group: "alice", verbs: ["get"], ttl: "1h", ...change } as GroupTokenOptions;
    await expect(groupToken(key, options)).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
  });
});

describe("a server", () => {
  test("listens where others reach it only with a key, or when it is said", async () => {
    const start = (more: object): Promise<RunningService> => serve({ port: 0, host: "0.0.0.0", threads: 0, ...more });
    await expect(start({})).rejects.toMatchObject({
      code: "CANNOT_START",
      message: /BROOKLET_ADMIN_KEY/ as unknown as string,
    });
    await expect(start({ adminKeys: ["short"] })).rejects.toMatchObject({ code: "CANNOT_START" });
    await expect(start({ tokens: { publicKey: "no key" } })).rejects.toMatchObject({ code: "CANNOT_START" });
    const guarded = await start({ adminKeys: [KEY] });
    expect((await fetch(`http://127.0.0.1:${guarded.port}/state/v1`)).status).toBe(401);
    expect((await fetch(`http://127.0.0.1:${guarded.port}/livez`)).status).toBe(200);
    await guarded.close();
  });

  test("takes the keys of the environment: one, and those of a file", () => {
    const file = join(scratch, "keys");
    writeFileSync(file, `# new\n${OTHER_KEY}\n\n  ${KEY}  \n`);
    expect(adminKeysOf({})).toEqual([]);
    expect(adminKeysOf({ BROOKLET_ADMIN_KEY: ` ${KEY}\n` })).toEqual([KEY]);
    expect(adminKeysOf({ BROOKLET_ADMIN_KEY_FILE: file })).toEqual([OTHER_KEY, KEY]);
    expect(() => adminKeysOf({ BROOKLET_ADMIN_KEY: "" })).toThrow("is empty");
    expect(() => adminKeysOf({ BROOKLET_ADMIN_KEY_FILE: join(scratch, "none") })).toThrow("cannot be read (ENOENT)");
    writeFileSync(file, "# none\n");
    expect(() => adminKeysOf({ BROOKLET_ADMIN_KEY_FILE: file })).toThrow("has no key");
  });
});

describe("the command", () => {
  const before = { ...process.env };
  afterEach(() => {
    process.env = { ...before };
  });

  async function run(...words: readonly string[]): Promise<{ code: number; printed: string; warned: string }> {
    const printed: string[] = [];
    const warned: string[] = [];
    const code = await runCommandLine(words, {
      print: (line) => void printed.push(line),
      warn: (line) => void warned.push(line),
      progress: () => undefined,
      input: (async function* input() {})(),
      untilEnded: () => Promise.resolve(),
    });
    return { code, printed: printed.join("\n"), warned: warned.join("\n") };
  }

  test("makes keys and tokens, which it sends", async () => {
    const { printed: key } = await run("key");
    expect(key).toMatch(/^[\w-]{43}$/);
    expect((await run("key")).printed).not.toBe(key);
    const words = ["token", "--group", "alice", "--verbs", "search,get", "--ttl", "1h"];
    expect(await run(...words)).toMatchObject({ code: 2 });
    process.env["BROOKLET_ADMIN_KEY"] = KEY;
    const { printed: token } = await run(...words);
    const query = ["query", "--url", service.url, "--group", "alice", "select * from note where true"];
    const missing = await run(...query);
    expect([missing.code, missing.warned]).toEqual([
      1,
      expect.stringMatching(/UNAUTHENTICATED.*--key or BROOKLET_KEY$/),
    ]);
    expect((await run("visit", "--group", "alice", "--url", service.url)).warned).toMatch(/--key or BROOKLET_KEY$/);
    expect((await run(...query, "--key", token)).printed).toContain("2 documents match");
    process.env["BROOKLET_KEY"] = token;
    expect((await run(...query)).printed).toContain("2 documents match");
    const bob = await run("query", "--url", service.url, "--group", "bob", "select * from note where true");
    expect([bob.code, bob.warned.includes(CANARY)]).toEqual([1, false]);
    // What it may not ask is told to be that, and not that there is nothing.
    const refused = { code: 1, warned: expect.stringMatching(/^http\S+: The token of this request does not reach/) };
    for (const command of [
      ["visit", "--group", "alice"],
      ["forget", "alice"],
    ])
      expect(await run(...command, "--url", service.url)).toMatchObject(refused);
  });

  test("feeds, visits, exports and updates with a key", async () => {
    process.env["BROOKLET_KEY"] = KEY;
    const url = ["--url", service.url];
    const file = join(scratch, "feed.jsonl");
    writeFileSync(file, `${JSON.stringify({ put: "id:note:note:g=carol:1", fields: { title: "t", secret: "s" } })}\n`);
    expect(await run("feed", file, ...url)).toMatchObject({ code: 0 });
    expect(await run("update", "id:note:note:g=carol:1", "secret=changed", ...url)).toMatchObject({ code: 0 });
    expect((await run("visit", "--group", "carol", ...url)).printed).toContain("changed");
    const directory = join(scratch, "exported");
    expect(await run("export", directory, "--to", "vespa", ...url)).toMatchObject({ code: 0 });
    expect(readdirSync(join(directory, "application"))).toContain("services.xml");
    expect(readFileSync(join(directory, "feed.jsonl"), "utf8")).toContain("carol");
    expect(await run("forget", "carol", ...url)).toMatchObject({ code: 0 });
  });
});
