/** Streams of visits: what is made ahead of a reader, who gives up when, and what a continuation says. */
import { connect } from "node:net";
import type { OperationRequest, Outcome, VisitPage, VisitStep } from "@brooklet/partition";
import { ServiceError } from "@brooklet/wire";
import { expect, onTestFinished, test } from "vitest";
import { Continuations } from "../src/continuation.ts";
import { createGateway } from "../src/index.ts";
import { startServer } from "../src/node/server.ts";
import { prefersJsonLines } from "../src/routes/accept.ts";
import { type FakeCluster, fakeCluster, REPORT } from "./fake-cluster.ts";
import { settled } from "./settled.ts";

const PART_BYTES = 64 * 1024;
const MIB = 1024 * 1024;
/** What sockets of both sides and Node's own buffers hold, with room to spare; far less than what is visited. */
const AHEAD_BYTES_MAX = 16 * MIB;
const VISITED_BYTES = 256 * MIB;

/** A cluster of one bucket with so much to visit that nobody can hold it. */
function large(): { readonly cluster: FakeCluster; readonly made: () => number } {
  let madeBytes = 0;
  const body = new TextEncoder().encode(JSON.stringify({ id: "id:ns:mail::x", fields: { a: "x".repeat(PART_BYTES) } }));
  const cluster = {
    ...fakeCluster(),
    buckets: 1,
    visit: async (_visit: unknown, { from }: { readonly from: { readonly partition: number } }) => {
      madeBytes += body.length;
      const next = { partition: from.partition + 1, after: "" };
      return { documents: 1, body, ...(madeBytes < VISITED_BYTES ? { next } : {}) };
    },
  } as FakeCluster;
  return { cluster, made: () => madeBytes };
}

test("a reader that does not read stops a stream, and its place is free when it goes", async () => {
  const { cluster, made } = large();
  const server = await startServer(cluster, { port: 0, limits: { visits: { running: 1, queued: 0, waitMs: 10 } } });
  onTestFinished(() => server.close(0));
  const socket = connect(server.port, "127.0.0.1");
  socket.pause();
  socket.write("GET /document/v1/?cluster=mail&stream=true HTTP/1.1\r\nhost: localhost\r\n\r\n");
  await expect.poll(made).toBeGreaterThan(0);
  expect(await settled(made)).toBeLessThan(AHEAD_BYTES_MAX);
  const url = `http://127.0.0.1:${server.port}/document/v1/?cluster=mail&wantedDocumentCount=1`;
  expect((await fetch(url)).status).toBe(429);
  socket.destroy();
  await expect.poll(async () => (await fetch(url)).status).toBe(200);
});

test.each(["", "&stream=true"])(
  "a visit that finds nothing ends when its caller goes, and its place is free%s",
  async (how) => {
    let begun = 0;
    const visit = async (_visit: unknown, _step: unknown, _timeoutMs: number, gone?: AbortSignal): Promise<object> => {
      begun += 1;
      if (begun > 1) return { documents: 0, body: new Uint8Array() };
      await new Promise((resolve) => gone?.addEventListener("abort", resolve));
      return { documents: 0, body: new Uint8Array(), next: { partition: 1, after: "" } };
    };
    const cluster = { ...fakeCluster(), buckets: 1, visit } as FakeCluster;
    const server = await startServer(cluster, { port: 0, limits: { visits: { running: 1, queued: 0, waitMs: 10 } } });
    onTestFinished(() => server.close(0));
    const url = `http://127.0.0.1:${server.port}/document/v1/?cluster=mail${how}`;
    const leaving = new AbortController();
    const left = fetch(url, { signal: leaving.signal }).then((answer) => answer.text());
    left.catch(() => undefined);
    await expect.poll(() => begun).toBe(1);
    leaving.abort();
    await expect.poll(async () => (await fetch(url)).status).toBe(200);
  },
);

test.each([
  ["PUT", ""],
  ["DELETE", ""],
  ["POST", "&destinationCluster=mail"],
])("%s of many documents ends when its caller goes, and its place is free", async (method, more) => {
  let begun = 0;
  const step = async (gone: AbortSignal | undefined): Promise<object> => {
    begun += 1;
    if (begun > 1) return { documents: 0, body: new Uint8Array() };
    await new Promise((resolve) => gone?.addEventListener("abort", resolve));
    return { documents: 0, body: new Uint8Array(), next: { partition: 1, after: "" } };
  };
  const visit = (_: unknown, __: unknown, ___: number, gone?: AbortSignal): Promise<object> => step(gone);
  const applyWhere = (...[, , , , gone]: Parameters<FakeCluster["applyWhere"]>): Promise<object> => step(gone);
  const cluster = { ...fakeCluster(), buckets: 1, visit, applyWhere } as FakeCluster;
  const server = await startServer(cluster, { port: 0, limits: { visits: { running: 1, queued: 0, waitMs: 10 } } });
  onTestFinished(() => server.close(0));
  const url = `http://127.0.0.1:${server.port}/document/v1/ns/mail/docid/?cluster=mail&selection=true${more}`;
  const asked = { method, ...(method === "PUT" && { body: '{"fields":{}}' }) };
  const leaving = new AbortController();
  const left = fetch(url, { ...asked, signal: leaving.signal }).then((answer) => answer.text());
  left.catch(() => undefined);
  await expect.poll(() => begun).toBe(1);
  leaving.abort();
  await expect.poll(async () => (await fetch(url, asked)).status).toBe(200);
  expect(begun).toBe(2);
});

test("a reader that reads gets everything", async () => {
  const { cluster } = large();
  const server = await startServer(cluster, { port: 0 });
  onTestFinished(() => server.close(0));
  const answer = await fetch(`http://127.0.0.1:${server.port}/document/v1/?cluster=mail&stream=true`);
  let bytes = 0;
  let end = "";
  for await (const part of answer.body ?? []) {
    bytes += part.length;
    end = (end + Buffer.from(part.subarray(-200)).toString()).slice(-200);
  }
  expect(bytes).toBeGreaterThan(VISITED_BYTES);
  expect(end).toMatch(/\],"documentCount":\d+\}$/);
});

/** A server whose cluster has one document, `text`, on the first page of a visit and fails on the second. */
async function failingOnPageTwo(text: string, failure: Error): Promise<Awaited<ReturnType<typeof startServer>>> {
  let pages = 0;
  const cluster = {
    ...fakeCluster(),
    buckets: 1,
    visit: async () => {
      pages += 1;
      if (pages === 2) throw failure;
      const body = new TextEncoder().encode(text);
      return { documents: 1, body, next: { partition: 7, after: "id:ns:mail::1" } };
    },
  } as FakeCluster;
  const server = await startServer(cluster, { port: 0 });
  onTestFinished(() => server.close(0));
  return server;
}

test.each([
  [500, "STORE_FAILED", true],
  [504, "TIMED_OUT", true],
  [400, "INVALID_DOCUMENT", false],
])("a visit that fails with %i on the way", async (status, code, isShown) => {
  const failure = ServiceError.from({ code, message: "as it was said", status });
  const server = await failingOnPageTwo('{"id":"id:ns:mail::1","fields":{}}', failure);
  const answer = await fetch(`http://127.0.0.1:${server.port}/document/v1/?cluster=mail&wantedDocumentCount=9`);
  const told = { pathId: "/document/v1/", message: "as it was said", code };
  const documents = [{ id: "id:ns:mail::1", fields: {} }];
  const shown = { documents, documentCount: 1, continuation: expect.any(String) };
  expect([answer.status, await answer.json()]).toEqual([
    status,
    { ...told, outcome: "not_applied", ...(isShown ? shown : {}) },
  ]);
});

test("a visit ends before what is too large to be answered", async () => {
  const failure = ServiceError.from({ code: "TOO_LARGE", message: "The answer has too many bytes", status: 413 });
  const server = await failingOnPageTwo('{"id":"id:ns:mail::1","fields":{}}', failure);
  const answer = await fetch(`http://127.0.0.1:${server.port}/document/v1/?cluster=mail&wantedDocumentCount=9`);
  const documents = [{ id: "id:ns:mail::1", fields: {} }];
  const told = { pathId: "/document/v1/", documents, documentCount: 1, continuation: expect.any(String) };
  expect([answer.status, await answer.json()]).toEqual([200, told]);
});

const STEP_TWO = { documents: 0, next: { partition: 7, after: "" } };

test.each([
  ["GET", "/document/v1/?cluster=mail"],
  ["GET", "/document/v1/?cluster=mail&stream=true"],
  ["DELETE", "/document/v1/?cluster=mail&selection=true"],
  ["POST", "/document/v1/?cluster=mail&selection=true&destinationCluster=mail"],
  ["GET", "/brooklet/v1/groups"],
])("%s %s ends where a request may ask no more, if it has come further", async (method, path) => {
  const failure = ServiceError.from({ code: "TOO_LARGE", message: "too many groups", status: 413 });
  let steps = 0;
  const step =
    <Page extends object>(page: Page) =>
    async (): Promise<Page & typeof STEP_TWO> => {
      steps += 1;
      if (steps === 2 || steps > 3) throw failure;
      return { ...page, ...STEP_TWO };
    };
  const body = new Uint8Array();
  const cluster = { ...fakeCluster(), buckets: 1, visit: step({ body }), applyWhere: step({}) } as FakeCluster;
  const server = await startServer(cluster, { port: 0 });
  onTestFinished(() => server.close(0));
  const ask = async (from: string): Promise<[number, object]> => {
    const answer = await fetch(`http://127.0.0.1:${server.port}${path}${from}`, { method });
    return [answer.status, (await answer.json()) as object];
  };
  const [status, first] = await ask("");
  expect([status, first]).toEqual([200, expect.not.objectContaining({ message: expect.anything() })]);
  const { continuation } = first as { readonly continuation: string };
  const from = `${path.includes("?") ? "&" : "?"}continuation=${continuation}`;
  expect((await ask(from))[0]).toBe(200);
  // Who comes no further is told why.
  const [, last] = await ask(from);
  expect(last).toMatchObject({ message: "too many groups" });
});

test("groups are listed a bucket in one step", async () => {
  const asked: VisitStep[] = [];
  const visit = async (_: unknown, step: VisitStep): Promise<VisitPage> => {
    asked.push(step);
    const ids = ["g=alice:1", "g=bob:1", "n=7:1", ":1"].map((name) => `{"id":"id:x:mail:${name}"}`);
    return { documents: ids.length, body: new TextEncoder().encode(ids.join(",")) };
  };
  const cluster = { ...fakeCluster(), buckets: 2, visit } as unknown as FakeCluster;
  const server = await startServer(cluster, { port: 0 });
  onTestFinished(() => server.close(0));
  const answer = await fetch(`http://127.0.0.1:${server.port}/brooklet/v1/groups?wantedGroupCount=5`);
  expect(await answer.json()).toEqual({ groups: ["alice", "bob", "alice", "bob"] });
  expect(asked).toMatchObject([
    { bucket: 0, documentsMax: 5, isFirstOnly: true },
    { bucket: 1, documentsMax: 3, isFirstOnly: true },
  ]);
});

test("a copy ends before a page whose puts are more than a request may ask, and goes on there", async () => {
  const DOCUMENTS = 1_000;
  const put = new Set<string>();
  let calls = 0;
  const visit = async (_: unknown, { from, documentsMax }: VisitStep): Promise<VisitPage> => {
    calls -= 1;
    const end = Math.min(from.partition + documentsMax, DOCUMENTS);
    const lines = Array.from(
      { length: end - from.partition },
      (_, at) => `{"put":"id:ns:mail::${from.partition + at}"}`,
    );
    const page = { documents: lines.length, body: new TextEncoder().encode(lines.join("\n")) };
    return { ...page, ...(end < DOCUMENTS && { next: { partition: end, after: "" } }) };
  };
  const apply = async ({ id }: OperationRequest): Promise<Outcome> => {
    calls -= 1;
    if (calls < 0) return { status: 413, code: "TOO_LARGE", message: "too many groups", outcome: "not_applied" };
    put.add(id);
    return { status: 200 };
  };
  const clusters = ["mail", "other"].map((name) => ({ name, types: ["mail"] }));
  const report = { ...REPORT, clusters };
  const partition = (): object => ({ apply });
  const cluster = {
    ...fakeCluster(),
    buckets: 1,
    visit,
    partition,
    application: () => report,
  } as unknown as FakeCluster;
  const server = await startServer(cluster, { port: 0 });
  onTestFinished(() => server.close(0));
  const url = `http://127.0.0.1:${server.port}/document/v1/?cluster=mail&selection=true&destinationCluster=other`;
  const copy = async (from: string, most: number): Promise<{ status: number; told: Record<string, unknown> }> => {
    calls = most;
    const answer = await fetch(`${url}${from}`, { method: "POST" });
    return { status: answer.status, told: (await answer.json()) as Record<string, unknown> };
  };
  // Who may ask for less than a page is told why.
  const refused = { code: "TOO_LARGE", outcome: "unknown", message: "too many groups" };
  expect(await copy("", 10)).toMatchObject({ status: 413, told: refused });
  let documents = 0;
  for (let from: string | undefined = ""; from !== undefined; ) {
    const { status, told } = await copy(from, 300);
    expect([status, told]).toEqual([200, expect.not.objectContaining({ message: expect.anything() })]);
    documents += Number(told["documentCount"]);
    from = told["continuation"] === undefined ? undefined : `&continuation=${told["continuation"]}`;
  }
  expect([documents, put.size]).toEqual([DOCUMENTS, DOCUMENTS]);
});

test("a stream that fails says so, and where to go on", async () => {
  const failure = new TypeError("a secret of the implementation");
  const server = await failingOnPageTwo('{"put":"id:ns:mail::1","fields":{}}\n', failure);
  const headers = { accept: "application/jsonl" };
  const answer = await fetch(`http://127.0.0.1:${server.port}/document/v1/?cluster=mail&stream=true`, { headers });
  const lines = (await answer.text()).trimEnd().split("\n");
  expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual([
    { put: "id:ns:mail::1", fields: {} },
    { continuation: { token: expect.any(String), percentFinished: 0 } },
    { message: { text: "Internal server error", severity: "error" } },
    { sessionStats: { documentCount: 1 } },
    { continuation: { token: expect.any(String), percentFinished: 0 } },
  ]);
});

test.each([
  ["application/json", 1],
  ["application/jsonl", 3],
])("a stream of %s ends after the wanted document, or with the last one: %i", async (accept, expected) => {
  const cluster = {
    ...fakeCluster(),
    buckets: 1,
    visit: async (_visit: unknown, { from: { partition } }: { readonly from: { readonly partition: number } }) => {
      const body = new TextEncoder().encode('{"put":"id:ns:mail::1","fields":{}}\n');
      return { documents: 1, body, ...(partition < 2 && { next: { partition: partition + 1, after: "" } }) };
    },
  } as unknown as FakeCluster;
  const server = await startServer(cluster, { port: 0 });
  onTestFinished(() => server.close(0));
  const url = `http://127.0.0.1:${server.port}/document/v1/?cluster=mail&wantedDocumentCount=1&stream=true`;
  const text = await (await fetch(url, { headers: { accept } })).text();
  expect(text.match(/"put"/g)).toHaveLength(expected);
  expect(text.endsWith('{"continuation":{"percentFinished":100}}\n')).toBe(expected > 1);
});

test.each([
  ["application/jsonl", true],
  ["application/json, application/jsonl", true],
  ["application/jsonl;q=0.5, application/json", false],
  ["application/jsonl;q=0.5, application/json;q=0.5", true],
  ["application/jsonl; q=0", false],
  ["*/*", false],
  ["text/plain", false],
  ["", false],
])("of Accept '%s' JSON lines are preferred: %s", (accept, expected) => {
  expect(prefersJsonLines(accept)).toBe(expected);
});

test("a trace stands where the reference implementation has it", async () => {
  const server = await startServer(fakeCluster(), { port: 0 });
  onTestFinished(() => server.close(0));
  const send = async (method: string, path: string, accept = "*/*"): Promise<string> => {
    const answer = await fetch(`http://127.0.0.1:${server.port}/document/v1/${path}`, { method, headers: { accept } });
    expect(answer.status).toBe(200);
    return await answer.text();
  };
  const members = (text: string): string[] => Object.keys(JSON.parse(text) as object);
  const visited = ["pathId", "documents", "documentCount", "trace"];
  expect(members(await send("GET", "?cluster=mail&tracelevel=1"))).toEqual(visited);
  expect(members(await send("GET", "?cluster=mail&tracelevel=1&stream=true"))).toEqual(visited);
  expect(members(await send("GET", "?cluster=mail&tracelevel=0"))).toEqual(visited.slice(0, -1));
  const removed = await send("DELETE", "ns/mail/docid?cluster=mail&selection=true&tracelevel=1");
  expect(members(removed)).toEqual(["pathId", "documentCount", "trace"]);
  const lines = (await send("GET", "?cluster=mail&tracelevel=1&stream=true", "application/jsonl"))
    .trimEnd()
    .split("\n");
  expect(lines.slice(-3).map((line) => members(line)[0])).toEqual(["sessionTrace", "sessionStats", "continuation"]);
  expect(JSON.parse(lines.at(-3) ?? "")).toEqual({ sessionTrace: { trace: [{ message: expect.any(String) }] } });
});

test("an operation on many documents that breaks off says where to go on, unless nothing was done yet", async () => {
  let steps = 0;
  const cluster = {
    ...fakeCluster(),
    buckets: 3,
    applyWhere: async () => {
      steps += 1;
      if (steps % 2 === 0) throw new ServiceError("STORE_FAILED", "The storage failed");
      return { documents: 5 };
    },
  } as unknown as FakeCluster;
  const server = await startServer(cluster, { port: 0 });
  onTestFinished(() => server.close(0));
  const path = "/document/v1/ns/mail/docid/?cluster=mail&selection=true";
  const remove = async (more: string): Promise<readonly [number, Record<string, unknown>]> => {
    const answer = await fetch(`http://127.0.0.1:${server.port}${path}${more}`, { method: "DELETE" });
    return [answer.status, (await answer.json()) as Record<string, unknown>];
  };
  const [status, first] = await remove("");
  expect([status, first]).toMatchObject([
    500,
    { documentCount: 5, message: "The storage failed", code: "STORE_FAILED", outcome: "unknown" },
  ]);
  const onwards = `&continuation=${String(first["continuation"])}`;
  const [second, failed] = await remove(onwards);
  expect([second, failed]).toMatchObject([500, { documentCount: 5, continuation: expect.any(String) }]);
  steps = 1;
  const [third, nothing] = await remove(onwards);
  expect([third, nothing["documentCount"], nothing["continuation"]]).toEqual([500, undefined, undefined]);
});

test("a selection of one group looks into the bucket of that group alone, and into no other group there", async () => {
  const looked: unknown[] = [];
  const step = async (_visit: unknown, { bucket, key }: VisitStep): Promise<unknown> => {
    looked.push([bucket, key]);
    return { documents: 0, body: new Uint8Array() };
  };
  const cluster = { ...fakeCluster(), bucketOf: () => 2, visit: step, applyWhere: step } as unknown as FakeCluster;
  const gateway = createGateway({ cluster });
  const lookedAt = async (selection: string, method: string): Promise<readonly unknown[]> => {
    looked.length = 0;
    const query = new URLSearchParams({ cluster: "mail", selection });
    expect((await gateway.fetch(`http://localhost/document/v1/?${query}`, { method })).status).toBe(200);
    return [...looked];
  };
  const everywhere = [0, 1, 2, 3].map((bucket) => [bucket, undefined]);
  for (const method of ["DELETE", "GET"]) {
    expect(await lookedAt('id.group == "alice"', method)).toEqual([[2, "g:alice"]]);
    expect(await lookedAt("id.group=='a\\\\l\\'i\"ce' ", method)).toEqual([[2, "g:a\\l'i\"ce"]]);
    for (const one of [
      '(id.group == "ab")',
      'id.group == "a\\x62"',
      '"ab" == id.group and mail.subject = "x*"',
      'mail and (id.group = "ab" or id.group == "ab")',
      'not id.group != "ab"',
      'id == "id:mail:mail:g=ab:1"',
    ])
      expect(await lookedAt(one, method), one).toEqual([[2, "g:ab"]]);
    expect(await lookedAt("id.user == 7 and true", method)).toEqual([[2, "n:7"]]);
    for (const other of [
      'id.group == "a" or id.group == "b"',
      'id.group == "a" or mail.subject == "a"',
      'id.group != "a"',
      'id.group = "a*"',
      'not id.group == "a"',
      'id.group == ""',
      'id.group == "a:b"',
    ])
      expect(await lookedAt(other, method), other).toEqual(everywhere);
  }
});

test("an operation on many documents whose time is over says how many were done and where to go on, unless nothing was", async () => {
  const late = new ServiceError("TIMED_OUT", "Timeout before a document was read; nothing was written");
  const told = { status: 504, code: "TIMED_OUT", message: late.message, outcome: "not_applied" };
  const next = { partition: 1, after: "id:ns:mail::7" };
  const answers = [
    { does: "is told of a step that did some", steps: [{ documents: 5, next, failure: told }], ends: [200, 5] },
    { does: "is thrown by the second step", steps: [{ documents: 5 }, late], ends: [200, 5] },
    { does: "is told before any was done", steps: [{ documents: 0, next, failure: told }], ends: [504, 0] },
    { does: "is thrown by the first step", steps: [late], ends: [504, undefined] },
  ];
  for (const { does, steps, ends } of answers) {
    const left = [...steps];
    const applyWhere = async (): Promise<unknown> => {
      const step = left.shift();
      if (step instanceof Error) throw step;
      return step;
    };
    const gateway = createGateway({ cluster: { ...fakeCluster(), buckets: 3, applyWhere } as unknown as FakeCluster });
    const path = "/document/v1/ns/mail/docid/?cluster=mail&selection=true";
    for (const method of ["DELETE", "PUT"]) {
      left.splice(0, left.length, ...steps);
      const body = method === "PUT" ? { body: '{"fields":{}}' } : {};
      const answer = await gateway.fetch(`http://localhost${path}`, { method, ...body });
      const { documentCount, continuation, code } = (await answer.json()) as Record<string, unknown>;
      expect([answer.status, documentCount], `${method}: ${does}`).toEqual(ends);
      if (ends[0] === 200) expect([typeof continuation, code], does).toEqual(["string", undefined]);
    }
  }
});

test("an Accept header that cannot be read is refused", () => {
  expect(() => prefersJsonLines("bad accept;;")).toThrow("unparseable HTTP Accept header");
});

test("a continuation is read where it was written, and by nobody else", async () => {
  const made = new Continuations(new Uint8Array(32).fill(1));
  const progress = { open: [{ bucket: 3, partition: 19, after: "id:ns:mail:g=ä'\":1" }], nextBucket: 4 };
  const token = await made.write("scope", progress);
  expect(token).toMatch(/^[A-Za-z0-9_-]+$/);
  expect(await made.read("scope", token)).toEqual(progress);
  await expect(made.read("another", token)).rejects.toThrow(/^Failed parsing '/);
  await expect(new Continuations(new Uint8Array(32)).read("scope", token)).rejects.toThrow(/^Failed parsing '/);
  const wrong = ["A", "xyz", "%%%", "AAAA".repeat(10)];
  for (let at = 0; at < token.length; at += 7) {
    const changed = token[at] === "A" ? "B" : "A";
    wrong.push(token.slice(0, at) + changed + token.slice(at + 1));
  }
  for (const text of wrong) await expect(made.read("scope", text)).rejects.toThrow(/^Failed parsing '/);
});
