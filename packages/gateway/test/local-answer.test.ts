/** That a request of this process is answered as `fetch` answers it, whatever becomes of it. */
import { runInNewContext } from "node:vm";
import type { SearchRequest } from "@brooklet/partition";
import { CellDigits } from "@brooklet/wire";
import { describe, expect, test } from "vitest";
import { createGateway, type LocalRequest } from "../src/index.ts";
import { localAnswer } from "../src/local-answer.ts";
import { fakeCluster } from "./fake-cluster.ts";

const URL_OF = "http://localhost:8080";
const DOCUMENT = "/document/v1/mail/mail/group/alice/m1";
const FEED = "/brooklet/v1/feed";
const json = { "content-type": "application/json" };

function made(): ReturnType<typeof createGateway> {
  return createGateway({ cluster: fakeCluster(), allowedHosts: ["localhost"], limits: { bodyBytes: 1_000 } });
}

const requests: Readonly<Record<string, readonly [target: string, request: LocalRequest]>> = {
  "a state": ["/state/v1/health", { method: "GET" }],
  "a document that is put": [DOCUMENT, { method: "POST", headers: json, body: '{"fields":{"subject":"é"}}' }],
  "a document in bytes": [DOCUMENT, { method: "POST", headers: json, body: new TextEncoder().encode('{"fields":{}}') }],
  "a document that is not there": ["/document/v1/mail/mail/group/alice/none", { method: "GET", body: null }],
  "dots, which are not collapsed": ["/document/v1/mail/mail/group/alice/%2e%2e", { method: "GET" }],
  "a body that is too large": [DOCUMENT, { method: "POST", headers: json, body: "x".repeat(2_000) }],
  "a method that is not there": [FEED, { method: "GET" }],
  "a feed": [
    FEED,
    { method: "POST", headers: { "Content-Type": "application/jsonl" }, body: '{"put":"id:a:mail::x"}\n' },
  ],
  "a search": ["/search/", { method: "POST", headers: json, body: '{"yql":"select * from mail where true"}' }],
  "a search without a body": ["/search/", { method: "POST", headers: json, body: "" }],
  "a search whose body is too large": ["/search/", { method: "POST", headers: json, body: "x".repeat(2_000) }],
  "a search by a method that is not there": ["/search/", { method: "DELETE" }],
  "what a search may be asked by": ["/search/", { method: "OPTIONS" }],
  "a search of another page": ["/search/", { method: "POST", headers: { Origin: "http://evil.example" }, body: "{}" }],
  "a search in a body that is squeezed wrongly": [
    "/search/",
    { method: "POST", headers: { ...json, "Content-Encoding": "br" }, body: "{}" },
  ],
  "a document whose id is no text": ["/document/v1/mail/mail/group/alice/%ff", { method: "GET" }],
  "a document of a group that cannot be": ["/document/v1/mail/mail/group/a%3Ab/m1", { method: "GET" }],
  "a document that is removed": [DOCUMENT, { method: "DELETE" }],
  "a document with a parameter that is none": [
    `${DOCUMENT}?create=perhaps`,
    { method: "PUT", headers: json, body: "{}" },
  ],
  "all documents of a group": ["/document/v1/mail/mail/group/alice/?wantedDocumentCount=x", { method: "GET" }],
  "only the head": ["/state/v1/health", { method: "HEAD" }],
  "nothing that there is": ["/nowhere?a=ü", { method: "GET" }],
};

describe.each(Object.entries(requests))("%s", (_, [target, request]) => {
  test("is answered alike", async () => {
    const fetched = await made().fetch(URL_OF + target, request as RequestInit);
    const answered = await made().answer(URL_OF + target, request);
    expect([answered.status, answered.ok]).toEqual([fetched.status, fetched.ok]);
    for (const name of ["Allow", "content-type", "cache-control"])
      expect(answered.headers.get(name)).toBe(fetched.headers.get(name));
    const text = timeless(await fetched.text());
    expect(timeless(await answered.text())).toBe(text);
    // The same as bytes, and as a stream.
    const again = await made().answer(URL_OF + target, request);
    expect(timeless(new TextDecoder().decode(await again.arrayBuffer()))).toBe(text);
    const { body } = await made().answer(URL_OF + target, request);
    expect(timeless(await new Response(body).text())).toBe(text);
  });
});

/** An answer without what is another each time. */
function timeless(text: string): string {
  return text
    .replace(/[0-9a-f]{8}-[0-9a-f-]{27}|"(?:from|to|snapshot|latency|uptime)":[^,}]*/g, "…")
    .replace(/\d+\.\d+|\d{10,}/g, "…");
}

/** Paths at the edges of those that are mounted. */
const PATHS = [
  "/document/v1",
  "/search",
  "/application/v2",
  "/brooklet/v1/groups",
  "/metrics",
  "/state/v1",
  "/state/v1/health",
];

describe.each(PATHS)("%s", (path) => {
  test.each(["", "/", "//", "/more", "/more/", "more", "?a=b", "/?a=b"])(
    "with '%s' leads where the router leads",
    async (end) => {
      const target = `${URL_OF}${path}${end}`;
      const fetched = await made().fetch(target);
      const answered = await made().answer(target, {});
      expect([answered.status, timeless(await answered.text())]).toEqual([
        fetched.status,
        timeless(await fetched.text()),
      ]);
    },
  );
});

const yql = "select * from mail where subject contains @word";
const asked: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  "texts, numbers and switches": { yql, word: "a", hits: 5, timeout: "2s", "presentation.timing": true },
  "letters beyond ASCII, and halves of them": { yql, word: 'é \u{1f600} \ud800 \u0000 " \\' },
  "numbers of every size": { yql, word: 1e21, offset: -0, a: 5e-324, b: 0.1 },
  "what is not there": { yql, word: undefined },
  "no value": { yql, word: null },
  "what is no number": { yql, word: Number.NaN },
  "a list": { yql, word: [1, 2] },
  "an object of names": { yql, ranking: { profile: "unranked" } },
  "an object that is a value": { yql, "input.query(q)": { a: 1 } },
  "a vector": { yql, word: "a", "input.query(q)": new CellDigits([1, -2, 0.1]) },
  "a vector where a number is wanted": { yql, word: "a", hits: new CellDigits([1]) },
  "a vector that is a text elsewhere": { yql, word: new CellDigits([1.5]) },
  "a vector that names the group": { yql, word: "a", "streaming.groupname": new CellDigits([2]) },
  "a group that is named": { yql, word: "a", "streaming.groupname": "alice" },
  "a group that cannot be": { yql, word: "a", "streaming.groupname": "" },
  "a parameter that is not supported": { yql, word: "a", recall: "+x:y" },
  "a wrong number": { yql, word: "a", hits: "many" },
  "more than a body may be": { yql, word: "x".repeat(990) },
  "what is only as a body too long": { yql, word: "\u0001".repeat(170) },
  "many values": Object.fromEntries(Array.from({ length: 80 }, (_, at) => [`p${at}`, "x"])),
};

describe.each(Object.entries(asked))("a search that says %s", (_, parameters) => {
  test("is answered as its JSON is", async () => {
    const request = { method: "POST", headers: json };
    const fetched = await made().fetch(`${URL_OF}/search/`, { ...request, body: JSON.stringify(parameters) });
    const answered = await made().answer(`${URL_OF}/search/`, { ...request, parameters });
    expect(answered.status).toBe(fetched.status);
    expect(await answered.text()).toBe(await fetched.text());
    // The URL goes before either.
    const target = `${URL_OF}/search/?hits=1000000000`;
    const over = await made().fetch(target, { ...request, body: JSON.stringify(parameters) });
    expect(await (await made().answer(target, { ...request, parameters })).text()).toBe(await over.text());
  });
});

test("what a search says is not written and read where it is plain", async () => {
  const cluster = fakeCluster();
  const gateway = createGateway({ cluster });
  const q = new CellDigits([1, 2]);
  const parameters = { yql, word: "é", hits: 5, "input.query(q)": q, "streaming.groupname": "alice" };
  await gateway.answer(`${URL_OF}/search/`, { method: "POST", headers: json, parameters });
  const [search] = cluster.asked as unknown as readonly { readonly request: SearchRequest }[];
  const { properties, vectors, body } = search?.request ?? {};
  expect(properties).toEqual([
    ["yql", yql],
    ["word", "é"],
    ["hits", "5"],
    ["streaming.groupname", "alice"],
  ]);
  expect(vectors).toEqual([["input.query(q)", Float32Array.of(1, 2)]]);
  expect(body).toHaveLength(0);
});

test("another host is refused as over HTTP", async () => {
  const { status } = await made().answer(`http://elsewhere${DOCUMENT}`, { method: "GET" });
  expect(status).toBe((await made().fetch(`http://elsewhere${DOCUMENT}`)).status);
  expect(status).toBeGreaterThanOrEqual(400);
});

test("bytes of a thread are read where a test runner gives its tests globals of their own, as jsdom does", async () => {
  const body = runInNewContext("new Uint8Array([123, 125])") as Uint8Array;
  const answer = localAnswer({ status: 200, headers: {}, body });
  const streamed: Uint8Array[] = [];
  for await (const part of answer.body ?? []) streamed.push(part);
  expect([await answer.text(), (await answer.arrayBuffer()).byteLength, streamed]).toEqual(["{}", 2, [body]]);
});
