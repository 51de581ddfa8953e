import type { SearchRequest } from "@brooklet/partition";
import { describe, expect, test } from "vitest";
import { createGateway } from "../src/index.ts";
import { type FakeCluster, fakeCluster, plainCluster } from "./fake-cluster.ts";

interface Sent {
  readonly status: number;
  readonly text: string;
  readonly headers: Headers;
  readonly cluster: FakeCluster;
}

async function send(target: string, init: RequestInit = {}): Promise<Sent> {
  const cluster = fakeCluster();
  const response = await createGateway({ cluster }).fetch(`http://localhost${target}`, init);
  return { status: response.status, text: await response.text(), headers: response.headers, cluster };
}

const post = (body: string, type = "application/json"): RequestInit => ({
  method: "POST",
  body,
  headers: { "content-type": type },
});

describe("the partition of a search", () => {
  test.each([
    ["/search/?streaming.groupname=u1", {}, "g:u1"],
    ["/search?streaming.groupname=u+1%2F", {}, "g:u 1/"],
    ["/search/any?streaming.groupname=u1", {}, "g:u1"],
    ["/search/?streaming.userid=007", {}, "n:7"],
    ["/search/?streaming.groupname=u1&streaming.groupname=u1", {}, "g:u1"],
    ["/search/", post('{"streaming.groupname":"u1"}'), "g:u1"],
    ["/search/", post('{"streaming":{"groupname":"u1"},"yql":"select"}'), "g:u1"],
    [
      "/search/",
      post(' {"yql":"{}[]\\"", "input":{"query(q)":[1,{"a":[2]}]}, "streaming.groupname" : "\\u0075\\u0031\\n" } '),
      "g:u1\n",
    ],
    ["/search/", post("{'streaming.groupname':'it\\'s'}"), "g:it's"],
    ["/search/", post('{"\\u0073treaming.groupname":"u1"}'), "g:u1"],
    ["/search/", post('{"streaming.userid":9007199254740993}'), "n:9007199254740993"],
    ["/search/", post('{"streaming.userid":"17"}', "Application/JSON; charset=utf-8"), "n:17"],
    ["/search/?streaming.groupname=u1", post('{"streaming.groupname":"u1"}'), "g:u1"],
    ["/search/", post("streaming.groupname=u%201&yql=x", "application/x-www-form-urlencoded"), "g:u 1"],
    ["/search/", post("streaming.groupname=é", "application/x-www-form-urlencoded"), "g:é"],
    ["/search/?streaming.groupname=u1", post("not looked at", "text/plain"), "g:u1"],
  ])("%s %o", async (target, init, partition) => {
    const sent = await send(target, init as RequestInit);
    expect(sent.cluster.asked.map((asked) => asked.partition)).toEqual([partition]);
    expect(sent.status).toBe(200);
    expect(sent.text).toBe(`{"root":{"id":"toplevel","relevance":1.0,"group":${JSON.stringify(partition)}}}`);
  });

  test.each([
    ["/search/?yql=x", {}],
    ["/search/?streaming.groupname=", {}],
    ["/search/?streaming.userid=abc", {}],
    ["/search/?streaming.userid=18446744073709551616", {}],
    ["/search/?streaming.groupname=u1&streaming.userid=1", {}],
    ["/search/?streaming.groupname=u1&streaming.selection=true", {}],
    ["/search/?Streaming.Groupname=u1", {}],
    ["/search/", post('{"other":{"groupname":"u1"},"streaming":{"groupname":{"x":1}}}')],
    ["/search/", post('{"streaming.groupname":["u1"]}')],
    ["/search/", post('{"streaming":{"groupname":null}}')],
    ["/search/", post('{"streaming.groupname":"u1"')],
    ["/search/", post('{"streaming.groupname":"u1"} x')],
    ["/search/", post("[]")],
    ["/search/", post("{".repeat(100_000))],
    ["/search/", post(`{"a":${"[".repeat(100_000)}`)],
    ["/search/", post("{}}")],
    ["/search/", post('{"a":}')],
    ["/search/", post('{"a" 1}')],
    ["/search/", post('{"a":1,}')],
  ])("none: the core says what is wrong with %s %o", async (target, init) => {
    const sent = await send(target, init as RequestInit);
    expect(sent.status).toBe(400);
    expect(sent.cluster.asked.map((asked) => asked.partition)).toEqual([undefined]);
  });

  test("none: all there are", async () => {
    const sent = await send("/search/", post('{"streaming":{"selection":"true"}}'));
    expect([sent.status, sent.cluster.asked.map((asked) => asked.partition)]).toEqual([200, [undefined]]);
  });

  test.each([
    ["/search/?streaming.groupname=u1&streaming.groupname=u2", {}],
    ["/search/?streaming.groupname=u1", post('{"streaming.groupname":"u2"}')],
    ["/search/?streaming.groupname=u1", post('{"streaming":{"groupname":"u2"}}')],
    ["/search/", post('{"streaming.groupname":"u1","streaming":{"groupname":"u2"}}')],
    ["/search/?streaming.userid=1", post('{"streaming.userid":2}')],
    ["/search/?streaming.groupname=u1", post("streaming.groupname=u2", "application/x-www-form-urlencoded")],
    ["/search/?streaming.groupname=u1", post('{"\\u0073treaming.groupname":"u2"}')],
  ])("two answers to whose documents: %s %o", async (target, init) => {
    const { status, text, cluster } = await send(target, init as RequestInit);
    expect([status, cluster.asked.map((asked) => asked.partition)]).toEqual([400, [undefined]]);
    expect(text).toMatch(
      /"errors":\[\{"code":3,"summary":"Illegal query","message":"Conflicting values of 'streaming\.\w+'/,
    );
  });
});

describe("what the core is given", () => {
  const asked = (sent: Sent): SearchRequest => sent.cluster.asked[0]?.request as SearchRequest;

  test("parameters of the URL in their order, and the body as bytes", async () => {
    const body = '{"hits": 1, "hits": 2, "big": 12345678901234567890}';
    const sent = await send("/search/?b=1&a=%22x%22&b=2&empty=&streaming.groupname=u1", post(body));
    expect(asked(sent).properties).toEqual([
      ["b", "1"],
      ["a", '"x"'],
      ["b", "2"],
      ["empty", ""],
      ["streaming.groupname", "u1"],
    ]);
    expect(new TextDecoder().decode(asked(sent).body)).toBe(body);
    expect(sent.cluster.asked[0]?.timeoutMs).toBe(60_000);
  });

  test("a timeout that is cut to the limit is told, wherever it stands", async () => {
    const group = "streaming.groupname=u1";
    const toldOf = async (target: string, init?: RequestInit): Promise<string | null> => {
      const response = await createGateway({ cluster: fakeCluster() }).fetch(`http://localhost${target}`, init);
      expect(response.status).toBe(200);
      return response.headers.get("x-brooklet-timeout-ms");
    };
    expect(await toldOf(`/search/?${group}&timeout=61`)).toBe("60000");
    expect(await toldOf(`/search/?${group}`, post('{"timeout":"2ks"}'))).toBe("60000");
    expect(await toldOf(`/search/?${group}&timeout=1s`, post('{"timeout":"2ks"}'))).toBeNull();
    const form = "application/x-www-form-urlencoded";
    expect(await toldOf(`/search/?${group}&timeout=1`, post("timeout=99", form))).toBe("60000");
    expect(await toldOf(`/search/?${group}&timeout=99`, post("timeout=1", form))).toBeNull();
    for (const timeout of ["60", "60000ms", "5s", "1 ms"])
      expect(await toldOf(`/search/?${group}&timeout=${encodeURIComponent(timeout)}`), timeout).toBeNull();
    const limits = { searchTimeoutMs: 2_000 };
    const shorter = createGateway({ cluster: fakeCluster(), limits });
    const { headers } = await shorter.fetch(`http://localhost/search/?${group}&timeout=3s`);
    expect(headers.get("x-brooklet-timeout-ms")).toBe("2000");
    const plain = await createGateway({ cluster: plainCluster() }).fetch(
      `http://localhost/search/?${group}&timeout=61`,
    );
    expect(plain.headers.get("x-brooklet-timeout-ms")).toBe("60000");
  });

  test("a form comes behind the URL, and counts more", async () => {
    const sent = await send("/search/?hits=2", post("hits=1&yql=a+b", "application/x-www-form-urlencoded"));
    expect(asked(sent)).toEqual({
      properties: [
        ["hits", "2"],
        ["hits", "1"],
        ["yql", "a b"],
      ],
      body: new Uint8Array(0),
      accept: "",
      waitedMs: expect.any(Number),
    });
  });

  test("a byte order mark is no part of the body", async () => {
    expect(
      new TextDecoder("utf-8", { ignoreBOM: true }).decode(asked(await send("/search/", post('\ufeff{"a":1}'))).body),
    ).toBe('{"a":1}');
  });

  test("the body of a GET and of another type is not looked at", async () => {
    expect(asked(await send("/search/?yql=x", post('{"yql":"y"}', "text/plain"))).body).toHaveLength(0);
  });
});

describe("failures are results with one error", () => {
  test.each([
    ["DELETE", "/search/?yql=x", 405, 17, "METHOD_NOT_ALLOWED"],
    ["POST", "/search/", 400, 3, "ILLEGAL_QUERY"],
    ["GET", "/search/?yql=%zz", 400, 17, "BAD_REQUEST"],
    ["GET", "/search/?streaming.groupname=broken", 500, 18, "INTERNAL"],
  ])("%s %s is %i", async (method, target, status, number, code) => {
    const init = method === "POST" ? { method, headers: { "content-type": "application/json" } } : { method };
    const sent = await send(target, init);
    expect(sent.status).toBe(status);
    expect(sent.text).toContain('{"root":{"id":"toplevel","relevance":1.0,"fields":{"totalCount":0},"errors":[');
    const { root, ...rest } = JSON.parse(sent.text);
    const said = { code: number, summary: expect.any(String), message: expect.any(String), name: code };
    expect(root.errors).toEqual([said]);
    expect(rest).toEqual({ outcome: "not_applied", code });
    expect(sent.text).not.toContain("secret");
  });

  test("the message cannot imitate the relevance", async () => {
    const sent = await send('/search/?"relevance":1,=%zz');
    expect(JSON.parse(sent.text).root.relevance).toBe(1);
  });

  test("without an application there is no backend", async () => {
    const cluster = fakeCluster();
    cluster.report = undefined;
    const response = await createGateway({ cluster }).fetch("http://localhost/search/?streaming.groupname=u1");
    expect(response.status).toBe(503);
    expect(await response.json()).toMatchObject({
      root: { errors: [{ code: 0, summary: "No backends in service. Try later" }] },
    });
  });
});

test("a search of everything can be forbidden, and only that is", async () => {
  const ask = async (target: string, searchOfAll?: boolean): Promise<{ status: number; cluster: FakeCluster }> => {
    const cluster = fakeCluster();
    const options = searchOfAll === undefined ? { cluster } : { cluster, searchOfAll };
    const response = await createGateway(options).fetch(`http://localhost${target}`);
    if (response.status === 403) expect(await response.text()).toContain("A search of all groups is not allowed here");
    return { status: response.status, cluster };
  };
  const everything = "/search/?streaming.selection=true&yql=x";
  const refused = await ask(everything, false);
  expect(refused.status).toBe(403);
  expect(refused.cluster.asked).toEqual([]);
  for (const allowed of [await ask(everything), await ask(everything, true)]) {
    expect(allowed.cluster.asked.map(({ partition }) => partition)).toEqual([undefined]);
  }
  expect((await ask("/search/?streaming.selection=id.group==%22a%22", false)).cluster.asked).toHaveLength(1);
  expect((await ask("/search/?streaming.groupname=a", false)).status).toBe(200);
});
