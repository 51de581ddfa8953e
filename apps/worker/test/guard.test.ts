/** Keys and tokens before the Worker: the same as on Node, in the platform's runtime. */
import { connect, schema, text } from "brooklet";
import { groupToken } from "brooklet/token";
import { strToU8, zipSync } from "fflate";
import type { Miniflare } from "miniflare";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { addressOf, startWorkerd } from "../src/node/workerd.ts";

const KEY = "Zk3Q0m7Jw1xUe8bVt5Yc2rNf6aHsLpDg9oKiTqXuEyA";
const NEXT_KEY = "b9Rk2Lq8Wz5Xc1Vn7Mt4Jh6Gf3Ds0Pa-Yu_Ie2OrTwQx";
const CANARY = "canaryofbob";
const note = schema("note", { title: text() });

let workerd: Miniflare;
let url: string;

beforeAll(async () => {
  const variables = {
    BROOKLET_ADMIN_KEY: `${NEXT_KEY}\n${KEY}\n`,
    BROOKLET_REVOKED_TOKENS: "lost-phone stolen-laptop",
    BROOKLET_ALLOWED_ORIGINS: "https://notes.example.com",
  };
  workerd = startWorkerd({ variables });
  url = await addressOf(workerd);
  const admin = await connect({ url, key: KEY, schemas: [note] });
  await admin.group("alice").put(note, "1", { title: "lease" });
  await admin.group("bob").put(note, "1", { title: CANARY });
});
afterAll(() => workerd.dispose());

const BOBS: readonly (readonly [method: string, path: string, body?: object])[] = [
  ["GET", "/document/v1/note/note/group/bob/1"],
  ["POST", "/document/v1/note/note/group/bob/1", { fields: { title: "x" } }],
  ["PUT", "/document/v1/note/note/group/bob/1", { fields: { title: { assign: "x" } } }],
  ["DELETE", "/document/v1/note/note/group/bob/1"],
  ["GET", "/document/v1/note/note/group/bob/?cluster=documents"],
  ["DELETE", "/document/v1/note/note/group/bob/?cluster=documents&selection=true"],
  ["GET", "/document/v1/?cluster=documents"],
  ["GET", "/document/v1/note/note/group/alice/../bob/1"],
  ["POST", "/search/", { yql: "select * from note where true", "streaming.groupname": "bob" }],
  ["POST", "/search/", { yql: "select * from note where true", "streaming.selection": "true" }],
  ["POST", "/brooklet/v1/search", { group: "bob", schema: "note", text: CANARY }],
  ["POST", "/brooklet/v1/retrieve", { group: "bob", schema: "note", question: CANARY }],
  ["GET", "/brooklet/v1/groups"],
  ["DELETE", "/brooklet/v1/groups/bob"],
  [
    "GET",
    "/application/v2/tenant/default/application/default/environment/prod/region/default/instance/default/content/",
  ],
  ["POST", "/application/v2/tenant/default/prepareandactivate", {}],
  ["GET", "/state/v1/metrics"],
  ["GET", "/metrics/v2/values"],
  ["GET", "/ApplicationStatus"],
];

async function send(credential: string | undefined, method: string, path: string, body?: object): Promise<Response> {
  return await fetch(url + path, {
    method,
    headers: {
      "content-type": "application/json",
      ...(credential === undefined ? {} : { authorization: `Bearer ${credential}` }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
}

test("nobody is answered without a key or token, but for /livez", async () => {
  for (const [method, path, body] of BOBS) {
    const answer = await send(undefined, method, path, body);
    expect([path, answer.status, answer.headers.get("www-authenticate")]).toEqual([path, 401, "Bearer"]);
  }
  expect((await fetch(`${url}/livez`)).status).toBe(200);
  expect((await send(NEXT_KEY, "GET", "/brooklet/v1/groups")).status).toBe(200);
});

test("a token of alice does what is hers, and reaches nothing of bob's", async () => {
  const token = await groupToken(KEY, {
    group: "alice",
    verbs: ["search", "ask", "get", "visit", "put", "update", "remove", "erase"],
    ttl: "5m",
  });
  const alice = connect({ url, token: () => token }).group("alice");
  await alice.put(note, "2", { title: "deposit" });
  expect((await alice.search(note, { text: "deposit" })).hits.map(({ id }) => id)).toEqual(["2"]);
  for (const [method, path, body] of BOBS) {
    const answer = await send(token, method, path, body);
    const said = await answer.text();
    expect([path, answer.status, said.includes("does not reach"), said.includes(CANARY)]).toEqual([
      path,
      403,
      true,
      false,
    ]);
  }
  expect(await connect({ url, key: KEY }).group("bob").get(note, "1")).toMatchObject({ title: CANARY });
});

test("a token that was taken back is not taken", async () => {
  const answers = ["lost-phone", "kept"].map(async (id) => {
    const token = await groupToken(KEY, { group: "alice", verbs: ["get"], ttl: "5m", id });
    return (await send(token, "GET", "/document/v1/note/note/group/alice/1")).status;
  });
  expect(await Promise.all(answers)).toEqual([401, 200]);
});

test("pages of an origin that is named may ask and read the answer, others may not", async () => {
  const token = await groupToken(KEY, { group: "alice", verbs: ["get"], ttl: "5m" });
  const asked = async (method: string, origin: string): Promise<Response> =>
    await fetch(`${url}/document/v1/note/note/group/alice/1`, {
      method,
      headers: { origin, "access-control-request-method": "GET", authorization: `Bearer ${token}` },
    });
  const seen = async (method: string, origin: string): Promise<readonly unknown[]> => {
    const { status, headers } = await asked(method, origin);
    return [status, headers.get("access-control-allow-origin")];
  };
  const named = "https://notes.example.com";
  expect([await seen("OPTIONS", named), await seen("GET", named)]).toEqual([
    [204, named],
    [200, named],
  ]);
  for (const method of ["OPTIONS", "GET"]) expect(await seen(method, "https://evil.example")).toEqual([403, null]);
});

test("a package is refused that would have a model asked in a private network, or with a secret", async () => {
  const services = (settings: string): string => `<services version="1.0"><container id="default" version="1.0">
    <component id="m" class="ai.vespa.llm.clients.OpenAI"><config name="ai.vespa.llm.clients.llm-client">${settings}</config></component>
    </container><content id="documents" version="1.0"><redundancy>1</redundancy>
    <documents><document type="note" mode="streaming"/></documents></content></services>`;
  for (const settings of [
    "<endpoint>http://169.254.169.254/</endpoint>",
    "<endpoint>https://evil.example/</endpoint><apiKeySecretRef>openai</apiKeySecretRef>",
  ]) {
    const files = { "services.xml": strToU8(services(settings)), "schemas/note.sd": strToU8(String(note)) };
    const answer = await fetch(`${url}/application/v2/tenant/default/prepareandactivate`, {
      method: "POST",
      headers: { authorization: `Bearer ${KEY}`, "content-type": "application/zip" },
      body: zipSync(files) as BodyInit,
    });
    expect([answer.status, await answer.text()]).toEqual([
      400,
      expect.stringMatching(/language model 'm': .*(TLS|secret)/),
    ]);
  }
});

test.each([
  [{ BROOKLET_ADMIN_KEY: "short" }],
  [{ BROOKLET_ADMIN_KEY: " " }],
  [{ BROOKLET_DEPLOY: "no" }],
  [{ BROOKLET_ALLOWED_ORIGINS: "https://a.example/path" }],
])("a Worker with %o answers nobody", async (variables) => {
  const other = startWorkerd({ variables });
  onTestFinished(() => other.dispose());
  const answer = await fetch(`${await addressOf(other)}/livez`);
  expect([answer.status, await answer.json()]).toMatchObject([
    500,
    { message: expect.stringContaining("could not begin") },
  ]);
});
