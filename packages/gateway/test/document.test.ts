import type { DocumentRead, GetRequest, OperationRequest } from "@brooklet/partition";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { createGateway, type GatewayLimits } from "../src/index.ts";
import { type FakeCluster, fakeCluster } from "./fake-cluster.ts";

interface Sent {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Record<string, unknown>;
  readonly cluster: FakeCluster;
}

async function send(target: string, init: RequestInit = {}, limits: Partial<GatewayLimits> = {}): Promise<Sent> {
  const cluster = fakeCluster();
  const response = await createGateway({ cluster, limits }).fetch(`http://localhost${target}`, init);
  const text = await response.text();
  return { status: response.status, headers: response.headers, body: text === "" ? {} : JSON.parse(text), cluster };
}

const put = (body: string | Uint8Array<ArrayBuffer> = '{"fields":{}}'): RequestInit => ({ method: "POST", body });
const asked = (sent: Sent): OperationRequest => sent.cluster.asked[0]?.request as OperationRequest;

describe("paths mean document ids, as sent and decoded once", () => {
  test.each([
    ["/document/v1/ns/mail/group/u1/7", "g:u1", "id:ns:mail:g=u1:7"],
    ["/document/v1/ns/mail/number/17/7", "n:17", "id:ns:mail:n=17:7"],
    ["/document/v1/ns/mail/number/007/7", "n:7", "id:ns:mail:n=7:7"],
    ["/document/v1/ns/mail/group/u1/a/b%2Fc", "g:u1", "id:ns:mail:g=u1:a/b/c"],
    ["/document/v1/ns/mail/group/u1/a+b%20c%2Bd", "g:u1", "id:ns:mail:g=u1:a b c+d"],
    ["/document/v1/ns/mail/group/u1/x//", "g:u1", "id:ns:mail:g=u1:x"],
    ["/document/v1/ns/mail/group/u1//x", "g:u1", "id:ns:mail:g=u1:/x"],
    ["/document/v1/ns/mail/group/a+b/x", "g:a b", "id:ns:mail:g=a b:x"],
    ["/document/v1/ns/mail/group/u%3D1/x", "g:u=1", "id:ns:mail:g=u=1:x"],
    ["/document/v1/ns/mail/group/u1/%3A%3D%2F%3F%23%2B*~%252F", "g:u1", "id:ns:mail:g=u1::=/?#+*~%2F"],
    ["/document/v1/ns/mail/group/u1/../u2/x", "g:u1", "id:ns:mail:g=u1:../u2/x"],
    ["/document/v1/ns/mail/group/u1/%2e%2e/u2/x", "g:u1", "id:ns:mail:g=u1:../u2/x"],
    ["/document/v1/ns/mail/group/u1/.", "g:u1", "id:ns:mail:g=u1:."],
    ["/document/v1/ns/mail/group/u1/C:%5Cx", "g:u1", "id:ns:mail:g=u1:C:\\x"],
    ["/document/v1/ns/mail/group/u1/%F0%9F%90%9F%E2%80%8F%09", "g:u1", "id:ns:mail:g=u1:🐟\u200f\t"],
    ["/document/v1/ns/mail/group/u1%2Fu2/x", "g:u1/u2", "id:ns:mail:g=u1/u2:x"],
    ["/document/v1/ns/mail/group/u1%2F..%2Fu2/x", "g:u1/../u2", "id:ns:mail:g=u1/../u2:x"],
    ["/document/v1/ns/mail/group/u1%252Fu2/x", "g:u1%2Fu2", "id:ns:mail:g=u1%2Fu2:x"],
    ["/document/v1/ns/mail/group/u1%5Cu2/x", "g:u1\\u2", "id:ns:mail:g=u1\\u2:x"],
    ["/document/v1/ns/mail/group/u1\\u2/x", "g:u1\\u2", "id:ns:mail:g=u1\\u2:x"],
    ["/document/v1/ns/mail/group/%2e%2E/u2/x", "g:..", "id:ns:mail:g=..:u2/x"],
    ["/document/v1/a%2Fb/mail/docid/1", "d:", "id:a/b:mail::1"],
    ["/document/v1/a%5Cb/mail/group/u1/1", "g:u1", "id:a\\b:mail:g=u1:1"],
    ["/document/v1/ns/mail/gro%75p/u1/7", "g:u1", "id:ns:mail:g=u1:7"],
  ])("%s", async (target, partition, id) => {
    const sent = await send(target, put());
    expect(sent.cluster.asked[0]?.partition).toBe(partition);
    expect(asked(sent)).toMatchObject({ kind: "put", id, rawPath: target });
    expect(sent.body).toEqual({ pathId: target, id });
    expect(sent.headers.get("content-type")).toBe("application/json; charset=UTF-8");
  });
});

describe("what could be read as another document is refused before any partition is touched", () => {
  test.each([
    ["/document/v1/ns/mail/group/../group/u2/x", "Illegal group '..'"],
    ["/document/v1/ns/mail/group/./x", "Illegal group '.'"],
    ["/document/v1/../mail/group/u1/x", "Illegal namespace '..'"],
    ["/document/v1/ns/mail/group//x", "Illegal group ''"],
    ["/document/v1/ns/mail/group/u1:x/y", "Illegal group 'u1:x'"],
    ["/document/v1/ns/mail/group/u1,n=5/y", "Illegal group 'u1,n=5'"],
    ["/document/v1/ns%3At%3Ag=u2%3A/mail/group/u1/x", "Illegal namespace"],
    ["/document/v1/ns/mail%3Ag=u2/group/u1/x", "Illegal document type"],
    ["/document/v1//mail/group/u1/x", "Illegal namespace ''"],
    ["/document/v1/ns/../group/u1/x", "Illegal document type '..'"],
    ["/document/v1/ns/mail/group/u1%00/x", "Illegal code point U0000 in group"],
    ["/document/v1/ns/mail/group/u%EF%B7%90/x", "Illegal code point UFDD0 in group"],
    ["/document/v1/ns/mail/group/u1/%00", "Contains illegal code point 0x0"],
    ["/document/v1/ns/mail/group/u1/%07", "Contains illegal code point 0x7"],
    ["/document/v1/ns/mail/group/u1/%EF%B7%90", "Contains illegal code point 0xFDD0"],
    ["/document/v1/ns/mail/group/u1/%EF%BF%BE", "Contains illegal code point 0xFFFE"],
    ["/document/v1/ns/mail/group/u1/%F0%9F%BF%BF", "Contains illegal code point 0x1FFFF"],
    ["/document/v1/ns/mail/group/u1/%ff", "not UTF-8"],
    ["/document/v1/ns/mail/group/u1/%ED%A0%80", "not UTF-8"],
    ["/document/v1/ns/mail/group/u1/a%zz", "malformed percent-encoding at offset 1"],
    ["/document/v1/ns/mail/group/u1/a%2", "malformed percent-encoding at offset 1"],
    ["/document/v1/ns/mail/number/abc/x", "Failed parsing 'abc': "],
    ["/document/v1/ns/mail/number/-1/x", "Failed parsing '-1': "],
    ["/document/v1/ns/mail/number/1.0/x", "Failed parsing '1.0': "],
    ["/document/v1/ns/mail/number/18446744073709551616/x", "exceeds range of unsigned long"],
    ["/document/v1/ns/mail/number/9223372036854775808/x", "Failed parsing '9223372036854775808': "],
  ])("%s", async (target, message) => {
    const sent = await send(target, put());
    expect(sent.status).toBe(400);
    expect(sent.body).toEqual({
      pathId: target,
      message: expect.stringContaining(message),
      outcome: "not_applied",
      code: expect.any(String),
    });
    expect(sent.cluster.asked).toEqual([]);
  });
});

describe("paths that mean nothing", () => {
  test.each(["/document/v1/a/b/nosuch/c", "/document/v1/a/b", "/document/v1/a/b/group", "/document/v1/a"])(
    "%s",
    async (target) => {
      const sent = await send(target);
      expect(sent.status).toBe(404);
      const message = String(sent.body["message"]);
      expect(message).toMatch(`Nothing at '${target}'. Available paths are:\n/document/v1/\n`);
      expect(message.split("\n")).toHaveLength(8);
    },
  );

  test.each(["/document//v1/ns/mail/group/u1/x", "/document/./v1/ns/mail/group/u1/x", "/documents", "*"])(
    "%s is not a path of ours at all",
    async (target) => {
      const { status, body } = await send(target === "*" ? "/*" : target);
      expect(status).toBe(404);
      expect(body).toMatchObject({ outcome: "not_applied", code: "NOT_FOUND" });
    },
  );
});

describe("methods", () => {
  test.each([
    ["/document/v1/", "GET,POST,DELETE"],
    ["/document/v1/ns/mail/docid/", "GET,POST,PUT,DELETE"],
    ["/document/v1/ns/mail/group/u1/x", "GET,POST,PUT,DELETE"],
    // Names are read where something is done to what they name.
    ["/document/v1/ns/mail/number/abc/", "GET,POST,PUT,DELETE"],
    ["/document/v1/ns/mail/group/a:b/x", "GET,POST,PUT,DELETE"],
    ["/document/v1/ns/mail/group/%ff/x", "GET,POST,PUT,DELETE"],
  ])("OPTIONS %s", async (target, allow) => {
    const { status, headers, body } = await send(target, { method: "OPTIONS" });
    expect([status, headers.get("allow"), body]).toEqual([204, allow, {}]);
  });

  test("PATCH is not allowed, whatever the path names, and the answer says what is", async () => {
    expect((await send("/document/v1/ns/mail/number/abc/1", { method: "PATCH" })).status).toBe(405);
    const { status, headers, body } = await send("/document/v1/ns/mail/group/u1/x", { method: "PATCH" });
    expect([status, headers.get("allow")]).toEqual([405, "GET,POST,PUT,DELETE"]);
    expect(body["message"]).toBe(
      "'PATCH' not allowed at '/document/v1/ns/mail/group/u1/x'. Allowed methods are: GET, POST, PUT, DELETE",
    );
  });

  test("PUT is not allowed at the root, HEAD nowhere", async () => {
    expect((await send("/document/v1/", { method: "PUT", body: "{}" })).status).toBe(405);
    expect((await send("/document/v1/ns/mail/group/u1/x", { method: "HEAD" })).status).toBe(405);
  });
});

describe("parameters", () => {
  // What is left of a timeout depends on nothing but the clock, which stands still.
  beforeEach(() => void vi.useFakeTimers({ toFake: ["performance"] }));
  afterEach(() => void vi.useRealTimers());
  const path = "/document/v1/ns/mail/group/u1/x";

  test.each([
    ["timeout=10s", 10_000],
    ["timeout=10", 10_000],
    ["timeout=60000ms", 60_000],
    ["timeout=1e1s", 10_000],
    ["timeout=.05ks", 50_000],
    ["timeout=500000%C2%B5s", 500],
    ["timeout=20+ms", 20],
    ["timeout=1ms&timeout=2ms", 2],
    ["", 180_000],
  ])("%s", async (query, timeoutMs) => {
    const sent = await send(`${path}?${query}`, put());
    expect(sent.status).toBe(200);
    expect(sent.cluster.asked[0]?.timeoutMs).toBeCloseTo(timeoutMs, 6);
    expect(sent.headers.has("x-brooklet-timeout-ms")).toBe(false);
  });

  test("a timeout beyond the limit is cut, and the answer says so", async () => {
    const sent = await send(`${path}?timeout=1ks`, put());
    expect(sent.cluster.asked[0]?.timeoutMs).toBe(180_000);
    expect(sent.headers.get("x-brooklet-timeout-ms")).toBe("180000");
  });

  test.each([
    ["timeout=abc", "Failed parsing 'abc': "],
    ["timeout=5parsecs", "Failed parsing '5parsecs': "],
    ["timeout=-1", "Failed parsing '-1': "],
    ["timeout=", "Expected non-empty value for request property 'timeout'"],
    ["condition=", "Expected non-empty value for request property 'condition'"],
    ["create=", "Expected non-empty value for request property 'create'"],
    ["route=", "Expected non-empty value for request property 'route'"],
    ["tracelevel=ten", "Failed parsing 'ten': "],
    ["tracelevel=10", "Failed parsing '10': "],
    ["timeout=%zz", "malformed percent-encoding"],
  ])("%s is refused", async (query, message) => {
    const sent = await send(`${path}?${query}`, put());
    expect([sent.status, sent.body["message"]]).toEqual([400, expect.stringContaining(message)]);
    expect(sent.cluster.asked).toEqual([]);
  });

  test.each([
    ["create=true", true],
    ["create=TRUE", true],
    ["create=maybe", false],
    ["create=false&create=true", true],
  ])("%s", async (query, create) => {
    expect(asked(await send(`${path}?${query}`, put())).create).toBe(create);
  });

  test("a condition is passed on decoded, the last one of several", async () => {
    const sent = await send(`${path}?condition=a&condition=mail.x%3D%3D%22y+z%22&unknown=&=`, put());
    expect(asked(sent).condition).toBe('mail.x=="y z"');
  });

  test("fields that are passed over, and what no cluster takes, are told in headers", async () => {
    const headers = async (local: string): Promise<unknown[]> => {
      const gateway = createGateway({ cluster: fakeCluster() });
      const answer = await gateway.fetch(`http://localhost/document/v1/ns/mail/group/u1/${local}`, put());
      return [answer.status, ...["fields", "operation"].map((what) => answer.headers.get(`x-vespa-ignored-${what}`))];
    };
    expect(await headers("known")).toEqual([200, null, null]);
    expect(await headers("unknown")).toEqual([200, "true", null]);
    expect(await headers("unselected")).toEqual([200, null, "true"]);
  });

  test("a dry run is answered at once: no body, no type, no partition", async () => {
    const target = "/document/v1/feeder/handshake/docid/dummy?dryRun=true&timeout=180000ms";
    const sent = await send(target, { method: "POST" });
    expect(sent.status).toBe(200);
    expect(sent.body).toEqual({
      pathId: "/document/v1/feeder/handshake/docid/dummy",
      id: "id:feeder:handshake::dummy",
    });
    expect(sent.cluster.asked).toEqual([]);
    expect((await send(`${path}?dryRun=yes`, { method: "POST" })).status).toBe(400);
  });

  test("a trace is one flat list of messages", async () => {
    const sent = await send(`${path}?tracelevel=1`, put());
    expect(Object.keys(sent.body)).toEqual(["pathId", "id", "trace"]);
    expect(sent.body["trace"]).toEqual([{ message: expect.stringContaining("put") }]);
  });

  test("more parameters than the limit", async () => {
    const sent = await send(`${path}?${"a=1&".repeat(10)}`, put(), { parameterCount: 9 });
    expect([sent.status, sent.body["message"]]).toEqual([400, "More than 9 parameters (limit L-head)"]);
  });
});

describe("reading a document", () => {
  const path = "/document/v1/ns/mail/group/u1/x";

  test("field set, cluster and tensor format are passed on; the core's answer is sent untouched", async () => {
    const cluster = fakeCluster();
    const gateway = createGateway({ cluster });
    const stored = '{"fields":{"long":9223372036854775807}}';
    await gateway.fetch(`http://localhost${path}`, put(stored));
    const target = `${path}?fieldSet=mail:subject&cluster=mail&format.tensors=hex`;
    const response = await gateway.fetch(`http://localhost${target}`);
    expect(await response.text()).toBe(`{"pathId":"${path}","id":"id:ns:mail:g=u1:x",${stored.slice(1)}`);
    expect(cluster.asked[1]?.request as GetRequest).toEqual({
      rawPath: path,
      id: "id:ns:mail:g=u1:x",
      fieldSet: "mail:subject",
      tensorFormat: "hex",
    });
  });

  test("a trace comes before the fields, which stay as they are", async () => {
    const gateway = createGateway({ cluster: fakeCluster() });
    const odd = "/document/v1/ns/mail/group/u1/,%22fields%22:";
    const stored = '{"fields":{"long":9223372036854775807,"text":",\\"fields\\":"}}';
    await gateway.fetch(`http://localhost${odd}`, put(stored));
    const plain = await (await gateway.fetch(`http://localhost${odd}`)).text();
    const traced = await (await gateway.fetch(`http://localhost${odd}?tracelevel=3`)).text();
    const answer = JSON.parse(traced) as { readonly trace: unknown };
    expect(Object.keys(answer)).toEqual(["pathId", "id", "trace", "fields"]);
    expect(answer.trace).toEqual([{ message: expect.stringContaining("get") }]);
    expect(traced.replace(`,"trace":${JSON.stringify(answer.trace)}`, "")).toBe(plain);
    expect(plain).toContain("9223372036854775807");
    const missing = await (await gateway.fetch(`http://localhost${path}?tracelevel=1`)).json();
    expect(Object.keys(missing as object)).toEqual(["pathId", "id", "trace"]);
  });

  test("how new it has to be is passed on, where it is not the newest; anything else is refused by name", async () => {
    const path = "/document/v1/ns/mail/group/u1/7";
    const cluster = fakeCluster();
    const gateway = createGateway({ cluster });
    const got = async (query: string): Promise<Response> => await gateway.fetch(`http://localhost${path}${query}`);
    for (const query of ["", "?consistency=strict", "?consistency=eventual"]) await got(query);
    expect(cluster.asked.map(({ request }) => (request as DocumentRead).isEventual)).toEqual([
      undefined,
      undefined,
      true,
    ]);
    const refused = await got("?consistency=strong");
    expect([refused.status, await refused.json()]).toEqual([
      400,
      expect.objectContaining({ message: "consistency must be 'strict' or 'eventual', not 'strong'" }),
    ]);
    const visit = await gateway.fetch("http://localhost/document/v1/ns/mail/group/u1?consistency=strong");
    expect(visit.status).toBe(400);
    expect(cluster.asked).toHaveLength(3);
  });

  test("a document that is not there is 404 with pathId and id, and nothing else", async () => {
    const { status, body } = await send(path);
    expect([status, body]).toEqual([404, { pathId: path, id: "id:ns:mail:g=u1:x" }]);
  });

  test("a tensor format given twice counts as the default", async () => {
    const sent = await send(`${path}?format.tensors=hex&format.tensors=long`);
    expect(sent.cluster.asked[0]?.request).toMatchObject({ tensorFormat: "" });
  });

  test.each([
    ["dryRun=true", `May not specify 'dryRun' at '${path}'`],
    ["cluster=x", "Your Vespa deployment has no content cluster 'x', only 'mail'"],
    ["fieldSet=", "Expected non-empty value for request property 'fieldSet'"],
  ])("%s is refused", async (query, message) => {
    const { status, body } = await send(`${path}?${query}`);
    expect([status, body["message"]]).toEqual([400, message]);
  });
});

describe("failures of operations", () => {
  const path = "/document/v1/ns/mail/group/u1/";
  const id = "id:ns:mail:g=u1:";

  test.each([
    ["x?condition=false", put(), 412, { id: `${id}x`, outcome: "not_applied", code: "CONDITION_NOT_MET" }],
    ["x", { method: "PUT", body: '{"fields":{}}' }, 400, { outcome: "not_applied", code: "UNSUPPORTED" }],
    ["x", put("[]"), 400, { outcome: "not_applied", code: "INVALID_DOCUMENT" }],
    ["slow", put(), 504, { id: `${id}slow`, outcome: "unknown", code: "TIMED_OUT" }],
    ["crash", put(), 500, { outcome: "unknown", code: "INTERNAL" }],
  ])("%s %o is %i", async (local, init, status, expected) => {
    const sent = await send(path + local, init as RequestInit);
    expect(sent.status).toBe(status);
    expect(sent.body).toEqual({ pathId: path + local.split("?")[0], message: expect.any(String), ...expected });
  });

  test("a defect is told by reference only, and to the listener in full", async () => {
    const defects: unknown[] = [];
    const gateway = createGateway({
      cluster: fakeCluster(),
      onDefect: (error, reference) => defects.push([error, reference]),
    });
    const response = await gateway.fetch(`http://localhost${path}crash`, put());
    const { message } = (await response.json()) as { message: string };
    expect(message).not.toContain("secret");
    expect(defects).toEqual([[expect.any(TypeError), message.split(" ").at(-1)]]);
  });

  test.each(["POST", "PUT"])("an empty body of %s", async (method) => {
    const sent = await send(`${path}x`, { method });
    expect([sent.status, sent.body["message"]]).toEqual([400, "Could not read document, no document?"]);
  });

  test("the id and the group in a body mean nothing: the path decides", async () => {
    const sent = await send(`${path}x`, put('{"put":"id:ns:mail:g=u2:x","fields":{}}'));
    expect([...sent.cluster.stored.keys()]).toEqual(["g:u1"]);
  });

  test("before a deployment nothing is there to answer", async () => {
    const cluster = fakeCluster();
    cluster.report = undefined;
    const response = await createGateway({ cluster }).fetch(`http://localhost${path}x`, put());
    expect([response.status, response.headers.get("retry-after")]).toEqual([503, "1"]);
  });

  test("a document without a group has a partition of its own", async () => {
    const { status, body, cluster } = await send("/document/v1/ns/mail/docid/x", put());
    expect(status).toBe(200);
    expect(body).toEqual({ pathId: "/document/v1/ns/mail/docid/x", id: "id:ns:mail::x" });
    expect(cluster.asked).toMatchObject([{ partition: "d:" }]);
  });

  test("every error has flat members only", async () => {
    for (const target of ["a/b", "ns/mail/group/u1/%zz", "ns/mail/number/abc/x", "ns/mail/docid/"]) {
      const { body } = await send(`/document/v1/${target}`, put());
      expect(Object.values(body).filter((value) => typeof value === "object")).toEqual([]);
      expect(body).toMatchObject({ outcome: "not_applied", code: expect.any(String) });
    }
  });
});

describe("requests for many documents are refused for what is wrong with their parameters", () => {
  const root = "/document/v1/";
  const type = "/document/v1/ns/mail/docid/";
  test.each([
    [
      "GET",
      `${root}?cluster=%2A&wantedDocumentCount=1000`,
      "Your Vespa deployment has no content cluster '*', only 'mail'",
    ],
    [
      "GET",
      root,
      "Must set 'cluster' parameter to a valid content cluster id when visiting at a root /document/v1/ level",
    ],
    ["GET", `${root}?cluster=mail&dryRun=true`, `May not specify 'dryRun' at '${root}'`],
    [
      "GET",
      "/document/v1/ns/x/docid/?cluster=mail",
      "There is no document type 'x' in cluster 'mail', only 'mail', 'note'",
    ],
    ["GET", `${type}?slices=4&sliceId=4`, "'sliceId' must be less than 'slices', but was 4"],
    ["GET", `${type}?slices=4`, "None or both of 'slices' and 'sliceId' must be set"],
    ["GET", `${type}?selection=a&selection=b`, "Conflicting values of request property 'selection'"],
    ["DELETE", type, `Must specify 'selection' at '${type}'`],
    ["DELETE", `${type}?selection=true`, `Must specify 'cluster' at '${type}'`],
    ["DELETE", `${type}?selection=true&cluster=mail&fieldSet=x`, `May not specify 'fieldSet' at '${type}'`],
    ["DELETE", `${type}?selection=true&cluster=mail&route=`, `May not specify 'route' at '${type}'`],
    ["GET", `${type}?bucketSpace=`, "Expected non-empty value for request property 'bucketSpace'"],
    ["PUT", `${type}?selection=true`, `Must specify 'cluster' at '${type}'`],
    ["POST", `${type}?selection=true`, `Must specify 'destinationCluster' at '${type}'`],
  ])("%s %s", async (method, target, message) => {
    const sent = await send(target, { method });
    expect([sent.status, sent.body["message"]]).toEqual([400, message]);
    expect(sent.cluster.asked).toEqual([]);
  });
});
