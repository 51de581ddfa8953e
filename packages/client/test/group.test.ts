import { describe, expect, onTestFinished, test, vi } from "vitest";
import { BrookletError, type Client, connect, type Group, int, map, schema, string, text } from "../src/index.ts";
import { AT_ONCE, fakeServer } from "./fake-server.ts";
import { mail } from "./mail.ts";

const least = { subject: "s", body: "", sender: "a", recipients: [], sentAt: new Date(1_500), year: 1 };
const note = schema("note", { body: text() });
const counter = schema("counter", { count: int(), byName: map(string(), int()).optional() });
const url = "http://localhost:8080";

function client(server: { readonly fetch: Parameters<typeof connect>[0]["fetch"] }, attempts = 10): Client {
  return connect({
    url: `${url}/`,
    ...(server.fetch && { fetch: server.fetch }),
    retry: { ...AT_ONCE, attempts },
    headers: { "x-key": "k" },
  });
}

describe("documents", () => {
  test("are put as JSON, with types as the schema has them", async () => {
    const server = fakeServer(() => [200, {}]);
    await client(server)
      .group("alice")
      .put(mail, "m/1 ü+", {
        ...least,
        labels: { work: 2 },
        people: [{ name: "Ada", about: "x" }],
        picture: new Uint8Array([1, 2, 255]),
        vec: new Float32Array([0.5, 1, 2]),
        chunks: { a: [1, 2] },
        pairs: [{ address: { a: "x", b: "y" }, value: 3 }],
        place: { lat: 1.5, lng: -2 },
        unread: undefined,
      });
    expect(server.asked).toEqual([
      {
        method: "POST",
        url: `${url}/document/v1/mail/mail/group/alice/m%2F1%20%C3%BC%2B`,
        headers: { "x-key": "k", "content-type": "application/json" },
        body: {
          fields: {
            ...least,
            sentAt: 1.5,
            labels: { work: 2 },
            people: [{ name: "Ada", about: "x" }],
            picture: "AQL/",
            vec: { values: "3f0000003f80000040000000" },
            chunks: { blocks: { a: "3f80000040000000" } },
            pairs: { cells: [{ address: { a: "x", b: "y" }, value: 3 }] },
            place: { lat: 1.5, lng: -2 },
          },
        },
      },
    ]);
  });

  test("are read as new as it is said, and searches too", async () => {
    const answers = { root: { id: "toplevel", relevance: 1, fields: { totalCount: 0 } }, fields: {}, documents: [] };
    const server = fakeServer(() => [200, answers]);
    const group = client(server).group("alice");
    const eventual = { consistency: "eventual" } as const;
    await group.get(note, "1");
    await group.get(note, "1", eventual);
    await group.get(note, "1", { consistency: "strict" });
    await group.exists(note, "1", eventual);
    await group.exists(note, "1");
    await group.getMany(note, ["2"], eventual);
    await group.visit(note, eventual).next();
    const path = "/document/v1/note/note/group/alice";
    expect(server.asked.map(({ url: asked }) => decodeURIComponent(asked.slice(url.length)))).toEqual([
      `${path}/1`,
      `${path}/1?consistency=eventual`,
      `${path}/1?consistency=strict`,
      `${path}/1?fieldSet=[id]&consistency=eventual`,
      `${path}/1?fieldSet=[id]`,
      `${path}/2?consistency=eventual`,
      `${path}?wantedDocumentCount=500&consistency=eventual`,
    ]);
    await group.search(note, { text: "a", ...eventual });
    await group.searchYql(note, "select * from note where true", eventual);
    await group.count(note, undefined, eventual);
    await group.page(note, eventual);
    await group.search(note, { text: "a" });
    const said = server.asked.slice(-5).map(({ body }) => (body as { readonly consistency?: string }).consistency);
    expect(said).toEqual(["eventual", "eventual", "eventual", "eventual", undefined]);
    // @ts-expect-error There are two.
    const third = group.get(note, "1", { consistency: "strong" });
    await expect(third).rejects.toThrow('consistency is "strong": give strict or eventual');
  });

  test("are checked before anything is sent", async () => {
    const server = fakeServer(() => [200, {}]);
    const put = client(server)
      .group("alice")
      .put(mail, "1", { ...least, year: 1.5, colour: 1 } as typeof least);
    await expect(put).rejects.toThrow(/^document '1' of schema mail cannot be put: year: /);
    const misspelt = client(server)
      .group("alice")
      .put(mail, "1", { ...least, subjet: "a" } as typeof least);
    await expect(misspelt).rejects.toThrow("there is no field 'subjet'; did you mean 'subject'?");
    expect(server.asked).toEqual([]);
  });

  test("are read back", async () => {
    const fields = {
      subject: "s",
      sender: "a",
      sentAt: 1_772_323_200,
      year: 1,
      picture: "AQL/",
      vec: { type: "tensor<bfloat16>(x[3])", values: [0.5, 1, 2] },
      chunks: { type: "tensor<float>(chunk{},x[2])", blocks: { a: [1, 2] } },
      weights: { type: "tensor(word{})", cells: { a: 1, b: null } },
      labels: { work: 2 },
    };
    const server = fakeServer(() => [200, { id: "id:mail:mail:g=alice:1", fields }]);
    expect(await client(server).group("alice").get(mail, "1")).toEqual({
      subject: "s",
      body: "",
      recipients: [],
      sender: "a",
      sentAt: new Date("2026-03-01T00:00:00Z"),
      year: 1,
      picture: new Uint8Array([1, 2, 255]),
      vec: [0.5, 1, 2],
      chunks: { a: [1, 2] },
      weights: { a: 1, b: Number.NaN },
      labels: { work: 2 },
    });
  });

  test("that lack what their type promises are an error with the way out", async () => {
    const server = fakeServer(() => [200, { id: "id:mail:mail:g=alice:1", fields: { sentAt: 1 } }]);
    await expect(client(server).group("alice").get(mail, "1")).rejects.toThrow(
      "document '1': 'year' is not set: declare it .optional(), or .default(…), if documents may lack it",
    );
  });

  test("with integers that a number cannot hold are an error, not a rounded number", async () => {
    const server = fakeServer(() => [200, { fields: { sentAt: 1, year: 1, size: 2 ** 53 } }]);
    await expect(client(server).group("alice").get(mail, "1")).rejects.toThrow(
      "'size': expected an integer that a number can hold",
    );
  });

  test("that are not there are undefined; a server that knows no such path is an error", async () => {
    const missing = fakeServer(() => [404, { pathId: "/p", id: "id:…" }]);
    expect(await client(missing).group("alice").get(note, "1")).toBeUndefined();
    const elsewhere = fakeServer(() => [404, { pathId: "/p", message: "Nothing at '/p'" }]);
    await expect(client(elsewhere).group("alice").get(note, "1")).rejects.toMatchObject({
      code: "NOT_FOUND",
      status: 404,
    });
  });

  test("are removed, on a condition if there is one", async () => {
    const server = fakeServer(() => [200, {}]);
    await client(server).group("alice").remove(mail, "1", { condition: "mail.year > 5" });
    expect(server.asked[0]).toMatchObject({
      method: "DELETE",
      url: `${url}/document/v1/mail/mail/group/alice/1?condition=mail.year%20%3E%205`,
    });
  });

  test("called by dots travel only where dots are kept", async () => {
    const server = fakeServer(() => [200, {}]);
    await expect(client(server).group("alice").remove(note, "..")).rejects.toThrow(
      "'..' cannot be sent with this fetch",
    );
    await connect({ url, fetch: server.fetch, keepsDotSegments: true }).group("a.b").remove(note, "..");
    await client(server).group("alice").remove(note, "..x");
    expect(server.asked.map((it) => it.url)).toEqual([
      `${url}/document/v1/note/note/group/a.b/%2E%2E`,
      `${url}/document/v1/note/note/group/alice/..x`,
    ]);
    // Beside the address, for platforms that would take the name for a step; no other request has the header.
    expect(server.asked.map((it) => it.headers["x-brooklet-target"])).toEqual([
      "/document/v1/note/note/group/a.b/%2E%2E",
      undefined,
    ]);
  });

  test.each(["", "a:b", "a,b", "\0", "\ud800"])("%j cannot be a group", (name) => {
    expect(() => client(fakeServer(() => [200, {}])).group(name)).toThrow("cannot be the name of a group");
  });

  test.each([
    ["a/b", "a%2Fb"],
    ["a\\b", "a%5Cb"],
    ["../u2", "..%2Fu2"],
    ["%2F", "%252F"],
  ])("of group %j have it in one segment of their path", async (name, segment) => {
    const server = fakeServer(() => [200, { documents: [] }]);
    const group = client(server).group(name);
    await group.remove(note, "1");
    await group.removeWhere(note, "true");
    const paths = server.asked.map((it) => it.url.slice(url.length).split("?", 1)[0]);
    const set = `/document/v1/note/note/group/${segment}`;
    expect(paths).toEqual([`${set}/1`, set]);
  });

  test("of a group called by dots travel only where dots are kept", async () => {
    const server = fakeServer(() => [200, {}]);
    await expect(client(server).group("..").remove(note, "1")).rejects.toThrow("cannot be sent with this fetch");
    await connect({ url, fetch: server.fetch, keepsDotSegments: true }).group("..").remove(note, "1");
    expect(server.asked.map((it) => it.url)).toEqual([`${url}/document/v1/note/note/group/%2E%2E/1`]);
  });

  test.each(["", "\ud800"])("%j cannot be an id", async (id) => {
    await expect(
      client(fakeServer(() => [200, {}]))
        .group("alice")
        .remove(note, id),
    ).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
  });
});

describe("searches", () => {
  const hit = {
    id: "id:mail:mail:g=alice:m:1",
    relevance: 0.5,
    source: "documents",
    fields: {
      sddocname: "mail",
      documentid: "id:…",
      subject: "s",
      sender: "a",
      sentAt: 1,
      year: 1,
      matchfeatures: { "bm25(subject)": 2 },
    },
  };

  test("are sent for the group, and read as typed hits", async () => {
    const coverage = { coverage: 100, documents: 3, full: true, nodes: 1, results: 1, resultsFull: 1 };
    const stages = { scan: { time: 0.0005, bytesread: 4, bytesscanned: 8 } };
    const timing = { searchtime: 0.0015, bytesread: 10, bytesscanned: 20, stages };
    const dropped = { ...hit, relevance: "-Infinity" };
    const server = fakeServer(() => [
      200,
      { timing, root: { id: "toplevel", fields: { totalCount: 2 }, coverage, children: [hit, dropped] } },
    ]);
    const result = await client(server).group("alice").search(mail, { text: "a", timing: true });
    expect(server.asked[0]).toMatchObject({
      method: "POST",
      url: `${url}/search/`,
      body: { "streaming.groupname": "alice", text: "a" },
    });
    expect(result).toMatchObject({
      totalCount: 2,
      coverage,
      timing: {
        searchMs: 1.5,
        bytesRead: 10,
        bytesScanned: 20,
        stages: { scan: { ms: 0.5, bytesRead: 4, bytesScanned: 8 } },
      },
    });
    expect(result.hits[0]).toEqual({
      id: "m:1",
      relevance: 0.5,
      fields: { subject: "s", body: "", recipients: [], sender: "a", sentAt: new Date(1_000), year: 1 },
      matchFeatures: { "bm25(subject)": 2 },
    });
    expect(result.hits[1]?.relevance).toBe(Number.NEGATIVE_INFINITY);
  });

  test("explain their hits, if they are asked to", async () => {
    const explanation = {
      query: { operator: "term", matched: true },
      ranking: { profile: "default", firstPhase: { expression: "bm25(subject)", value: 0.5 } },
    };
    const server = fakeServer(() => [200, { root: { children: [{ ...hit, explain: explanation }, hit] } }]);
    const { hits } = await client(server)
      .group("alice")
      .search(mail, { text: "a", explain: true, partialResults: true });
    expect(server.asked[0]).toMatchObject({ body: { explain: true, "brooklet.partial": true } });
    expect(hits[0]?.explain()).toEqual(explanation);
    expect(Object.keys(hits[0] ?? {})).not.toContain("explain");
    // What the type says is so: without being asked for there is none.
    const { hits: plain } = await client(server).group("alice").search(mail, { text: "a" });
    expect(server.asked[1]?.body).not.toHaveProperty("explain");
    expect("explain" in (plain[1] ?? {})).toBe(false);
  });

  test("tell what became of a document that is no hit", async () => {
    const explained = {
      id: "id:mail:mail:g=alice:m2",
      outcome: "NOT_MATCHED",
      reasons: ["not matched: 'a' in subject"],
    };
    const server = fakeServer(() => [200, { explain: explained, root: { children: [hit] } }]);
    expect(await client(server).group("alice").explain(mail, "m2", { text: "a" })).toEqual(explained);
    expect(server.asked[0]).toMatchObject({ body: { "explain.id": "id:mail:mail:g=alice:m2", text: "a" } });
    const silent = fakeServer(() => [200, { root: { children: [hit] } }]);
    await expect(client(silent).group("alice").explain(mail, "m2")).rejects.toThrow("explains nothing");
  });

  test("without hits are empty", async () => {
    const server = fakeServer(() => [200, { root: { id: "toplevel", fields: { totalCount: 0 } } }]);
    expect(await client(server).group("nobody").search(mail)).toEqual({ hits: [], totalCount: 0 });
  });

  test("show what the server chose to show", async () => {
    const server = fakeServer(() => [200, { root: { children: [{ ...hit, fields: { subject: "s" } }] } }]);
    const { hits } = await client(server)
      .group("alice")
      .searchYql(mail, "select * from mail where true", { summary: "short" });
    expect(hits[0]?.fields).toEqual({ subject: "s" });
  });

  test("that are only partly answered are errors", async () => {
    const error = { code: 8, summary: "Error in search reply.", message: "no such input" };
    const server = fakeServer(() => [200, { root: { errors: [error], children: [hit] } }]);
    const told = {
      code: "ERROR_IN_REPLY",
      message: "The result is not complete: no such input",
      outcome: "not_applied",
    };
    await expect(client(server).group("alice").search(mail)).rejects.toMatchObject(told);
  });
});

describe("failures", () => {
  test.each([
    [
      400,
      { message: "no", code: "INVALID_DOCUMENT", outcome: "not_applied" },
      { code: "INVALID_DOCUMENT", message: "no", outcome: "not_applied" },
    ],
    [412, { message: "no" }, { code: "CONDITION_NOT_MET", outcome: "not_applied" }],
    [500, { message: "no" }, { code: "INTERNAL", outcome: "unknown" }],
    [507, { message: "full" }, { code: "INSUFFICIENT_STORAGE", outcome: "not_applied" }],
    [
      504,
      { root: { errors: [{ code: 12, message: "late" }] } },
      { code: "TIMED_OUT", message: "late", outcome: "unknown" },
    ],
  ])("%i %j", async (status, json, expected) => {
    const failed = client(fakeServer(() => [status, json]))
      .group("alice")
      .remove(note, "1");
    await expect(failed).rejects.toMatchObject({ ...expected, status });
  });

  test.each(["<html>", "null", "1", '"text"'])("an answer that is no JSON object is told as such: %s", async (body) => {
    const group = client({ fetch: async () => new Response(body, { status: 200 }) }).group("alice");
    const asked = [group.remove(note, "1"), group.get(note, "1"), group.search(note, { text: "a" }), group.count(note)];
    for (const one of asked)
      await expect(one).rejects.toMatchObject({
        code: "UNEXPECTED_ANSWER",
        message: "The answer of http://localhost:8080 is no JSON object",
      });
  });

  test("of the page of a proxy the words are told, and the code is that of its status", async () => {
    const page =
      "<html>\r\n<head><title>502 Bad Gateway</title></head>\n<body>\n<hr><center>nginx</center></body></html>\n";
    const failed = async (status: number, text: string): Promise<unknown> =>
      client({ fetch: async () => new Response(text, { status }) }, 1)
        .group("alice")
        .remove(note, "1")
        .catch(({ code, message }) => `${code}: ${message}`);
    expect(await failed(502, page)).toBe("UNAVAILABLE: The answer was 502 502 Bad Gateway nginx");
    expect(await failed(413, "<h1>Request Entity\nToo Large</h1>")).toBe(
      "TOO_LARGE: The answer was 413 Request Entity Too Large",
    );
    expect(await failed(502, "")).toBe("UNAVAILABLE: The answer was 502");
    expect(await failed(502, `<${"<".repeat(1 << 20)}`)).toMatch(/^UNAVAILABLE: The answer was 502 <+$/);
  });

  test("429, 503 and 502 are tried again, others are not", async () => {
    const busy = fakeServer((_, count) => [count < 3 ? 429 : 200, {}]);
    await client(busy).group("alice").remove(note, "1");
    expect(busy.asked).toHaveLength(3);
    const absent = fakeServer(() => [503, { message: "starting" }]);
    await expect(client(absent, 4).group("alice").remove(note, "1")).rejects.toMatchObject({ code: "UNAVAILABLE" });
    expect(absent.asked).toHaveLength(4);
    // What a proxy says while the server behind it is restarted.
    const restarted = fakeServer((_, count) => [count < 3 ? 502 : 200, {}]);
    await client(restarted).group("alice").remove(note, "1");
    expect(restarted.asked).toHaveLength(3);
    const counted = fakeServer((_, count) => [count < 3 ? 502 : 200, {}]);
    const counting = client(counted)
      .group("alice")
      .update(counter, "1", { count: { increment: 1 } });
    await expect(counting).rejects.toMatchObject({ status: 502, outcome: "unknown" });
    expect(counted.asked).toHaveLength(1);
    const full = fakeServer(() => [507, {}]);
    await expect(client(full).group("alice").remove(note, "1")).rejects.toMatchObject({ code: "INSUFFICIENT_STORAGE" });
    expect(full.asked).toHaveLength(1);
  });

  test.each([
    ["a search", (alice: Group) => alice.search(note)],
    ["a put", (alice: Group) => alice.put(note, "1", { body: "x" })],
    ["a feed that goes one by one", (alice: Group) => alice.feed(note, [{ id: "1", remove: true }]).then()],
  ])("%s waits for as long as the server asks", async (_, call) => {
    // A clock that stands still loads nothing.
    await import("../src/group-verbs.ts");
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const answer = { fields: {}, root: {} };
    const server = fakeServer((_, count) => (count === 1 ? [503, answer, { "retry-after": "7" }] : [200, answer]));
    const called = call(client(server).group("alice"));
    await vi.advanceTimersByTimeAsync(6_999);
    expect(server.asked).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(1);
    await called;
    expect(server.asked).toHaveLength(2);
  });

  test("a server that asks to wait for more than a minute is told of at once", async () => {
    const server = fakeServer(() => [429, { message: "later" }, { "retry-after": "61" }]);
    const failed = client(server).group("alice").remove(note, "1");
    await expect(failed).rejects.toMatchObject({ code: "OVERLOADED", message: "later", retryAfterMs: 61_000 });
    expect(server.asked).toHaveLength(1);
  });

  test.each([
    ["what may have happened is not sent again", { code: "UNAVAILABLE", outcome: "unknown" }, 1],
    ["nor what a proxy answered, which does not say what happened", { message: "Service Unavailable" }, 1],
    ["what certainly did not happen is", { code: "UNAVAILABLE", outcome: "not_applied" }, 3],
  ])("503 of a write that may not be done twice: %s", async (_, json, times) => {
    const calls = [
      (alice: Group) => alice.update(counter, "1", { count: { increment: 1 } }),
      (alice: Group) => alice.update(counter, "1", {}, { paths: { "byName{a}": { increment: 1 } } }),
      (alice: Group) => alice.put(counter, "1", { count: 1 }, { condition: (it) => it.count.is(0) }),
      (alice: Group) => alice.remove(counter, "1", { condition: (it) => it.count.is(0) }),
    ];
    for (const call of calls) {
      const server = fakeServer(() => [503, json]);
      const failed = call(client(server, 3).group("alice"));
      await expect(failed).rejects.toMatchObject({
        code: "UNAVAILABLE",
        outcome: times === 1 ? "unknown" : "not_applied",
      });
      expect(server.asked).toHaveLength(times);
    }
  });

  test("a write that may be done twice is sent again after any 503", async () => {
    const calls = [
      (alice: Group) => alice.remove(counter, "1"),
      (alice: Group) => alice.update(counter, "1", { count: { assign: 1 } }, { paths: { "byName{a}": { assign: 1 } } }),
    ];
    for (const call of calls) {
      const server = fakeServer(() => [503, { code: "UNAVAILABLE", outcome: "unknown" }]);
      await expect(call(client(server, 4).group("alice"))).rejects.toMatchObject({ outcome: "unknown" });
      expect(server.asked).toHaveLength(4);
    }
  });

  test.each([
    ["https://page.example", ": is the server running, and does it allow https://page.example?"],
    ["http://localhost:808", ": is the server running, and does it allow http://localhost:808?"],
    ["http://localhost:8080", ": is the server running?"],
    [undefined, ": is the server running?"],
  ])("a page of %s is told what may keep an answer from it", async (origin, told) => {
    onTestFinished(() => void vi.unstubAllGlobals());
    vi.stubGlobal("location", origin === undefined ? undefined : { origin });
    const fetch = (): Promise<Response> => Promise.reject(new TypeError("Failed to fetch"));
    const alice = connect({ url: "http://localhost:8080", fetch, retry: { attempts: 1 } }).group("alice");
    const message = `http://localhost:8080 cannot be reached (Failed to fetch)${told}`;
    await expect(alice.get(note, "1")).rejects.toMatchObject({ code: "UNREACHABLE", message });
  });

  test("a broken connection is tried twice more, unless the write has a condition", async () => {
    let tries = 0;
    const fetch = (): Promise<Response> => {
      tries += 1;
      return Promise.reject(new TypeError("fetch failed", { cause: { code: "ECONNRESET" } }));
    };
    const alice = client({ fetch }).group("alice");
    await expect(alice.remove(note, "1")).rejects.toThrow(
      "http://localhost:8080 cannot be reached (ECONNRESET): is the server running?",
    );
    expect(tries).toBe(3);
    await expect(alice.remove(note, "1", { condition: "true" })).rejects.toMatchObject({
      code: "UNREACHABLE",
      outcome: "unknown",
    });
    expect(tries).toBe(4);
  });

  const unopened = ["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "UND_ERR_CONNECT_TIMEOUT"];
  test.each(unopened)(
    "a connection that never was is tried twice more, whatever was to be written: %s",
    async (code) => {
      let tries = 0;
      const fetch = (): Promise<Response> => {
        tries += 1;
        return Promise.reject(new TypeError("fetch failed", { cause: { code } }));
      };
      const writing = client({ fetch })
        .group("alice")
        .update(counter, "1", { count: { increment: 1 } });
      await expect(writing).rejects.toMatchObject({ code: "UNREACHABLE", outcome: "not_applied" });
      expect(tries).toBe(3);
    },
  );

  test.each([
    ["no connection", () => Promise.reject(new TypeError("fetch failed", { cause: { code: "ECONNREFUSED" } }))],
    ["a refusal", async () => Response.json({ code: "OVERLOADED", message: "later" }, { status: 429 })],
  ])("a write that was lost once may have been done, whatever came of later tries: %s", async (_, later) => {
    let tries = 0;
    const fetch = (): Promise<Response> => {
      tries += 1;
      if (tries > 1) return later();
      return Promise.reject(new TypeError("fetch failed", { cause: { code: "ECONNRESET" } }));
    };
    await expect(client({ fetch }).group("alice").remove(note, "1")).rejects.toMatchObject({ outcome: "unknown" });
    expect(tries).toBeGreaterThan(2);
  });

  describe("a token", () => {
    const withToken = (token: unknown) => {
      const server = fakeServer(() => [200, {}]);
      const options = { url: "http://localhost:8080", fetch: server.fetch, retry: AT_ONCE, token: token as string };
      return { asked: server.asked, group: connect(options).group("alice") };
    };

    test.each([
      ["a text", "t-1"],
      ["a function", () => "t-1"],
      ["a promise's function", async () => "t-1"],
    ])("is sent: %s", async (_, token) => {
      const { group, asked } = withToken(token);
      await group.exists(mail, "1");
      expect(asked[0]?.headers).toMatchObject({ authorization: "Bearer t-1" });
    });

    test("that cannot be had is told as the caller's own failure, and not asked for again", async () => {
      const cause = new Error("session expired");
      const token = vi.fn(async () => Promise.reject(cause));
      const { group, asked } = withToken(token);
      const failed = { code: "UNAUTHENTICATED", outcome: "not_applied", status: 0, cause };
      await expect(group.exists(mail, "1")).rejects.toMatchObject(failed);
      expect(token).toHaveBeenCalledTimes(1);
      await expect(group.exists(mail, "1")).rejects.toThrow("session expired");
      await expect(Promise.resolve(group.feed(mail, [{ id: "1", remove: true }]))).rejects.toThrow("session expired");
      expect(asked).toEqual([]);
    });

    test.each([undefined, "", "a\nb", "ä"])("that is none is not sent: %j", async (given) => {
      const { group, asked } = withToken(() => given);
      await expect(group.exists(mail, "1")).rejects.toMatchObject({ code: "UNAUTHENTICATED", outcome: "not_applied" });
      expect(asked).toEqual([]);
    });

    test.each([5, null, {}])("that is no token is refused: %j", (token) => {
      expect(() => withToken(token)).toThrow(expect.objectContaining({ code: "INVALID_ARGUMENT" }));
    });
  });

  test("an abort ends the waiting, with its own reason", async () => {
    const controller = new AbortController();
    const server = fakeServer(() => [429, {}]);
    const slow = connect({ url, fetch: server.fetch, retry: { firstWaitMs: 60_000, longestWaitMs: 60_000 } });
    const removing = slow.group("alice").remove(note, "1", { signal: controller.signal });
    setTimeout(() => controller.abort(new Error("enough")), 5);
    await expect(removing).rejects.toThrow("enough");
    expect(server.asked).toHaveLength(1);
  });

  test("an abort ends a request whose answer does not come, also where fetch does not look at the signal", async () => {
    const controller = new AbortController();
    const never = { fetch: () => new Promise<Response>(() => {}) };
    const searching = client(never).group("alice").search(note, { signal: controller.signal });
    setTimeout(() => controller.abort(new Error("enough")), 5);
    await expect(searching).rejects.toThrow("enough");
    const late = client(never)
      .group("alice")
      .search(note, { signal: AbortSignal.abort(new Error("before")) });
    await expect(late).rejects.toThrow("before");
  });

  test("errors are recognised by their marker, not their class", () => {
    const foreign = Object.assign(new Error("x"), { [Symbol.for("brooklet.BrookletError")]: true });
    expect(BrookletError.is(foreign)).toBe(true);
    expect(BrookletError.is(new Error("x"))).toBe(false);
  });
});

test("schemas are deployed as a zip, and its warnings are returned", async () => {
  const log = [
    { time: 1, level: "WARNING", message: "careful" },
    { time: 1, level: "INFO", message: "fine" },
  ];
  const server = fakeServer(() => [200, { log }]);
  const to = connect({ url, configUrl: "http://localhost:19071", fetch: server.fetch });
  expect(await to.deploy([note])).toEqual({ warnings: ["careful"], kept: [] });
  expect(server.asked[1]).toMatchObject({
    url: "http://localhost:19071/application/v2/tenant/default/prepareandactivate",
    headers: { "content-type": "application/zip" },
  });
  const bytes = server.asked[1]?.body as Uint8Array;
  expect([...bytes.subarray(0, 4)]).toEqual([0x50, 0x4b, 3, 4]);
});

const NO_ADDRESSES = [
  "localhost:8080",
  "ftp://x",
  "http://",
  "http://x/?a=b",
  "http://x#a",
  "http://a:b@x",
  "http://x ",
];
test.each(NO_ADDRESSES)("%j is no address", (address) => {
  expect(() => connect({ url: address })).toThrow("is no address: give one like http://localhost:8080");
});

describe("a call that says no schema is refused in a sentence", () => {
  const never = fakeServer(() => {
    throw new Error("asked");
  });
  // As plain JavaScript calls it.
  const alice = client(never).group("alice") as unknown as Record<string, (...given: unknown[]) => unknown>;
  const model = { url: "http://localhost:1/v1", model: "small" };
  const calls: Readonly<Record<string, readonly unknown[]>> = {
    put: ["m1", least],
    update: ["m1", { year: { assign: 1 } }],
    get: ["m1"],
    exists: ["m1"],
    remove: ["m1"],
    getMany: [["m1"]],
    search: [{ text: "s" }],
    searchYql: ["select * from mail where true"],
    count: [],
    explain: ["m1"],
    feed: [[{ id: "m1", fields: least }]],
    visit: [],
    removeWhere: ["true"],
    updateWhere: ["true", { year: 1 }],
    cursor: [],
    page: [],
    retrieve: ["when"],
    ask: ["when", { model }],
  };
  test.each(Object.entries(calls))("%s", async (verb, rest) => {
    for (const given of [[], rest, [undefined, ...rest], ["mail", ...rest]]) {
      const called = async (): Promise<void> => {
        const result = alice[verb]?.(...given);
        if (typeof result === "object" && result !== null && Symbol.asyncIterator in result)
          for await (const _ of result as AsyncIterable<unknown>);
        else await result;
      };
      await expect(called(), JSON.stringify(given)).rejects.toMatchObject({
        code: "INVALID_ARGUMENT",
        message: expect.stringContaining("the schema of the documents"),
      });
    }
    expect(never.asked).toEqual([]);
  });
});
