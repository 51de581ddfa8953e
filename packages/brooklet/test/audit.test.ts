/** Who did what, end to end: what a server tells of real requests, when it is on disk, and what is not done where it cannot be. */
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { runCommandLine } from "../src/command/program.ts";
import {
  type AuditEvent,
  type Connection,
  connect,
  type RunningService,
  schema,
  serve,
  string,
  text,
} from "../src/index.ts";
import { groupToken } from "../src/token.ts";
import { folder } from "./served.ts";

const KEY = "Zk3Q0m7Jw1xUe8bVt5Yc2rNf6aHsLpDg9oKiTqXuEyA";
const note = schema("note", { title: text(), secret: string() });
const diary = schema("diary", { title: text() });
const [YQL, CANARY] = ["select * from note where true", "canaryofbob"];

interface Audited {
  readonly service: RunningService;
  readonly admin: Connection;
  readonly data: string;
  ask(method: string, target: string, credential?: string, body?: unknown): Promise<Response>;
}

async function audited(audit: NonNullable<Parameters<typeof serve>[0]>["audit"]): Promise<Audited> {
  const data = join(folder(), "data");
  const service = await serve({ path: data, port: 0, adminKeys: [KEY], threads: 0, ...(audit && { audit }) });
  onTestFinished(() => service.close());
  const admin = await connect({ url: service.url, key: KEY, schemas: [note], retry: { attempts: 1 } });
  for (const group of ["alice", "bob"]) await admin.group(group).put(note, "1", { title: CANARY, secret: CANARY });
  const ask: Audited["ask"] = (method, target, credential, body) => {
    const headers = {
      "content-type": "application/json",
      ...(credential === undefined ? {} : { authorization: `Bearer ${credential}` }),
    };
    return fetch(service.url + target, { method, headers, body: body === undefined ? null : JSON.stringify(body) });
  };
  return { service, admin, data, ask };
}

const linesIn = (file: string): readonly AuditEvent[] =>
  readFileSync(file, "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as AuditEvent);

const toldOf = (events: readonly AuditEvent[]): readonly string[] =>
  events.map(({ action, phase = "", by, status = "" }) =>
    `${action} ${phase} ${by} ${status}`.replaceAll(/ +/g, " ").trim(),
  );

const tokenOf = (group: string): Promise<string> =>
  groupToken(KEY, { group, verbs: ["search", "get", "erase"], ttl: "5m", id: `token-of-${group.length}` });

async function run(...words: readonly string[]): Promise<{ code: number; printed: string; warned: string }> {
  const [printed, warned]: [string[], string[]] = [[], []];
  const code = await runCommandLine(words, {
    print: (line) => void printed.push(line),
    warn: (line) => void warned.push(line),
    progress: () => undefined,
    input: (async function* input() {})(),
    untilEnded: () => Promise.resolve(),
  });
  return { code, printed: printed.join("\n"), warned: warned.join("\n") };
}

describe("the audit file", () => {
  test("has what is done with all groups before it is done, and what came of it before that is answered", async () => {
    const file = join(folder(), "audit.jsonl");
    const { admin, ask, service } = await audited(file);
    expect(toldOf(linesIn(file))).toEqual(["start undefined", "deploy asked admin", "deploy answered admin 200"]);
    const since = async (work: () => Promise<unknown>): Promise<readonly string[]> => {
      const before = linesIn(file).length;
      await work();
      return toldOf(linesIn(file).slice(before));
    };
    expect(await since(() => admin.deploy([diary]))).toEqual(["deploy asked admin", "deploy answered admin 200"]);
    const all = { yql: YQL, timeout: "60s", "streaming.selection": "true" };
    expect(await since(() => ask("POST", "/search/", KEY, all))).toContain("search asked admin");
    expect(await since(() => ask("GET", "/document/v1/?cluster=documents", KEY))).toContain("visit asked admin");
    expect(await since(() => ask("GET", "/brooklet/v1/groups", KEY))).toContain("visit asked admin");
    const change = (): Promise<Response> =>
      ask("DELETE", "/document/v1/?cluster=documents&selection=note.secret%3D%3D%22none%22", KEY);
    expect(await since(change)).toEqual(expect.arrayContaining(["change asked admin", "change answered admin 200"]));
    expect(await since(() => admin.group("bob").erase())).toEqual(["erase asked admin", "erase answered admin 200"]);
    const alice = await tokenOf("alice");
    const erased = await since(() => ask("DELETE", "/brooklet/v1/groups/alice", alice));
    expect(erased).toEqual(expect.arrayContaining(["token token", "erase asked token", "erase answered token 200"]));
    // What is done in a group is not told, nor a token that was seen.
    expect(await since(() => admin.group("alice").put(note, "2", { title: "x", secret: "y" }))).toEqual([]);
    expect(await since(() => ask("POST", "/search/", alice, { yql: YQL, timeout: "60s" }))).toEqual([]);
    expect((await ask("GET", "/document/v1/note/note/group/bob/1", alice)).status).toBe(403);
    expect((await ask("GET", "/", undefined)).status).toBe(401);
    for (let at = 0; at < 13; at += 1) await ask("GET", "/", "wrong");
    await service.close();
    expect(toldOf(linesIn(file).slice(-5))).toEqual(
      expect.arrayContaining(["refused token 403", "refused nobody 401", "throttled nobody 429", "end undefined"]),
    );
    expect(linesIn(file)).toContainEqual(expect.objectContaining({ action: "throttled", count: 3 }));
  });

  test("tells no content, no credential and no name of a group; who has the directory's secret finds one all the same", async () => {
    const file = join(folder(), "audit.jsonl");
    const { ask, data, service } = await audited(file);
    const token = await tokenOf("alice");
    await ask("POST", "/search/", token, { yql: `${YQL} and title contains "secretword"`, timeout: "60s" });
    await ask("GET", "/document/v1/note/note/group/bob/1", token);
    await ask("POST", "/search/", KEY, {
      yql: YQL,
      timeout: "60s",
      "streaming.selection": 'id.group == "bob" or true',
    });
    await ask("DELETE", "/brooklet/v1/groups/bob", KEY);
    await ask("GET", "/document/v1/note/note/group/bob/1", `${KEY}x`);
    await service.close();
    const said = readFileSync(file, "utf8");
    for (const hidden of ["alice", "bob", CANARY, "secretword", "select", KEY, token, token.split(".")[2]])
      expect(said).not.toContain(hidden);
    const [bob, alice] = [
      (await run("audit", "group", "bob", "--data", data)).printed,
      (await run("audit", "group", "alice", "--data", data)).printed,
    ];
    expect(bob).toMatch(/^[0-9a-f]{32}$/);
    const lines = linesIn(file);
    expect(lines.find(({ action }) => action === "erase")?.groups).toEqual([bob]);
    expect(lines.find(({ action }) => action === "refused")).toMatchObject({ groups: [bob], id: "token-of-5" });
    expect(lines.find(({ action }) => action === "token")).toMatchObject({
      groups: [alice],
      id: "token-of-5",
      verbs: ["search", "get", "erase"],
    });
    expect(lines.find(({ action }) => action === "deploy")).toMatchObject({
      by: "admin",
      address: "127.0.0.1",
      method: "POST",
    });
    expect(await run("audit", "group", "bob", "--data", folder())).toMatchObject({ code: 2 });
  });

  test("is verified by the command, which says where its chain breaks", async () => {
    const file = join(folder(), "audit.jsonl");
    const { service } = await audited(file);
    await service.close();
    const whole = await run("audit", "verify", file);
    expect(whole).toMatchObject({ code: 0, printed: expect.stringContaining("4 lines") });
    const [last = ""] = /[0-9a-f]{64}/.exec(whole.printed) ?? [];
    expect((await run("audit", "verify", file, "--last", last)).code).toBe(0);
    const lines = readFileSync(file, "utf8").trimEnd().split("\n");
    writeFileSync(file, `${lines.slice(0, -1).join("\n")}\n`);
    expect(await run("audit", "verify", file, "--last", last)).toMatchObject({
      code: 1,
      warned: expect.stringContaining("its end was cut off"),
    });
    writeFileSync(file, `${lines.join("\n").replace('"by":"admin"', '"by":"nobody"')}\n`);
    expect(await run("audit", "verify", file)).toMatchObject({
      code: 1,
      warned: expect.stringContaining("breaks at line 3: it does not carry the hash"),
    });
    expect(JSON.parse((await run("audit", "verify", file, "--json")).printed)).toMatchObject({ broken: { line: 3 } });
    expect((await run("audit", "verify", join(file, "none"))).code).toBe(2);
  });
});

describe("without its audit", () => {
  test("a server does not start", async () => {
    const data = join(folder(), "data");
    const start = serve({ path: data, port: 0, threads: 0, adminKeys: [KEY], audit: join(folder(), "no", "file") });
    await expect(start).rejects.toMatchObject({ message: expect.stringContaining("cannot be written") });
    expect(existsSync(data)).toBe(false);
    await expect(serve({ audit: 7 as unknown as string })).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
  });

  test("a server does nothing with all groups, deploys and erases nothing, and goes on with everything else", async () => {
    const file = join(folder(), "audit.jsonl");
    const { admin, ask } = await audited(file);
    const token = await tokenOf("bob");
    renameSync(file, `${file}.1`);
    const unavailable = { code: "UNAVAILABLE", status: 503, outcome: "not_applied" };
    await expect(admin.deploy([diary])).rejects.toMatchObject(unavailable);
    await expect(admin.group("bob").erase()).rejects.toMatchObject(unavailable);
    expect((await ask("DELETE", "/brooklet/v1/groups/bob", token)).status).toBe(503);
    expect(
      (await ask("POST", "/search/", KEY, { yql: YQL, timeout: "60s", "streaming.selection": "true" })).status,
    ).toBe(503);
    expect((await ask("GET", "/brooklet/v1/groups", KEY)).status).toBe(503);
    for (const method of ["GET", "DELETE"]) {
      const answer = await ask(method, "/document/v1/?cluster=documents&selection=true", KEY);
      expect([method, answer.status, (await answer.text()).includes(CANARY)]).toEqual([method, 503, false]);
    }
    expect(await admin.group("bob").get(note, "1")).toMatchObject({ secret: CANARY });
    expect((await ask("POST", "/search/", token, { yql: YQL, timeout: "60s" })).status).toBe(200);
    expect((await ask("GET", "/", token)).status).toBe(403);
    await expect(admin.group("bob").get(diary, "1")).rejects.toMatchObject({ status: 400 });
    renameSync(`${file}.1`, file);
    await admin.deploy([diary]);
    expect(toldOf(linesIn(file)).slice(-2)).toEqual(["deploy asked admin", "deploy answered admin 200"]);
  });

  test("what was done and cannot be told is answered as such", async () => {
    let isFailing = false;
    const events: AuditEvent[] = [];
    const { admin } = await audited((event) => {
      if (isFailing && event.phase === "answered") throw new Error("no room");
      events.push(event);
    });
    isFailing = true;
    await expect(admin.group("bob").erase()).rejects.toMatchObject({ code: "UNAVAILABLE", outcome: "unknown" });
    expect(await admin.group("bob").exists(note, "1")).toBe(false);
    expect(toldOf(events)).toEqual(["deploy asked admin", "deploy answered admin 200", "erase asked admin"]);
    expect(new Set(events.slice(0, 2).map(({ request }) => request)).size).toBe(1);
  });
});
