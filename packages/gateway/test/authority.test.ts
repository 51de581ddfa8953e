/**
 * Who may ask what: every route there is, with a token of one group, against another group. A route that is not in the table fails
 * the first test. What is stored is the fake cluster's; that real documents do not leak is tested where there are some.
 */
import { tokenSecret, VERBS, type Verb } from "@brooklet/wire";
import { SignJWT } from "jose";
import { describe, expect, test } from "vitest";
import { createGateway, type GatewayOptions } from "../src/index.ts";
import { type FakeCluster, fakeCluster, plainCluster } from "./fake-cluster.ts";

const KEY = "Zk3Q0m7Jw1xUe8bVt5Yc2rNf6aHsLpDg9oKiTqXuEyA";
const OTHER_KEY = "b9Rk2Lq8Wz5Xc1Vn7Mt4Jh6Gf3Ds0Pa-Yu_Ie2OrTwQx";
const OUTSIDE = "The token of this request does not reach what it asks for";

interface Asked {
  readonly method: string;
  readonly target: string;
  readonly body?: string;
  readonly type?: string;
}

/** Moments, in milliseconds or seconds. */
const TIMES = /\d{10,}(\.\d+)?/g;

/** What a route is asked of a group. Without one of its own: what only admins may ask. */
type Attempts = (group: string) => readonly Asked[];

const json = (method: string, target: string, value: unknown): Asked => ({
  method,
  target,
  body: JSON.stringify(value),
  type: "application/json",
});
const get = (target: string): Asked => ({ method: "GET", target });

const yql = "select * from mail where true";
const fields = { fields: { subject: "x" } };
const DOCUMENTS = "/document/v1/mail/mail";

/** Every surface that reaches documents of a group. `whole` is beyond any token. */
const OF_GROUPS: Readonly<Record<string, { readonly ofGroup: Attempts; readonly whole?: readonly Asked[] }>> = {
  "/document/v1/*": {
    ofGroup: (group) => [
      get(`${DOCUMENTS}/group/${group}/1`),
      json("POST", `${DOCUMENTS}/group/${group}/1`, fields),
      json("POST", `${DOCUMENTS}/group/${group}/1?condition=true`, fields),
      json("PUT", `${DOCUMENTS}/group/${group}/1`, { fields: { subject: { assign: "x" } } }),
      json("PUT", `${DOCUMENTS}/group/${group}/1?create=true`, { fields: { subject: { assign: "x" } } }),
      { method: "DELETE", target: `${DOCUMENTS}/group/${group}/1` },
      get(`${DOCUMENTS}/group/${group}/`),
      get(`${DOCUMENTS}/group/${group}/?stream=true`),
      get(`${DOCUMENTS}/group/${group}/?selection=true&wantedDocumentCount=9`),
      json("PUT", `${DOCUMENTS}/group/${group}/?selection=true&cluster=mail`, { fields: { subject: { assign: "x" } } }),
      { method: "DELETE", target: `${DOCUMENTS}/group/${group}/?selection=true&cluster=mail` },
      { method: "POST", target: `${DOCUMENTS}/group/${group}/?selection=true&cluster=mail&destinationCluster=mail` },
    ],
    whole: [
      get("/document/v1/?cluster=mail"),
      get("/document/v1/?cluster=mail&selection=id.group%3D%3D%22alice%22"),
      get(`${DOCUMENTS}/docid/?cluster=mail`),
      get(`${DOCUMENTS}/docid/1`),
      json("POST", `${DOCUMENTS}/docid/1`, fields),
      get(`${DOCUMENTS}/number/7/1`),
      json("POST", `${DOCUMENTS}/number/7/1`, fields),
      { method: "DELETE", target: "/document/v1/?selection=true&cluster=mail" },
      { method: "DELETE", target: `${DOCUMENTS}/docid/?selection=true&cluster=mail` },
      get(`${DOCUMENTS}/group/Alice/1`),
      get(`${DOCUMENTS}/group/alice%20/1`),
      get(`${DOCUMENTS}/group/%61lice%2F..%2Fbob/1`),
    ],
  },
  "/search/*": {
    ofGroup: (group) => [
      get(`/search/?yql=${encodeURIComponent(yql)}&streaming.groupname=${group}`),
      json("POST", "/search/", { yql, "streaming.groupname": group }),
      json("POST", "/search/any", { yql, streaming: { groupname: group } }),
      json("POST", "/search/", { yql, "streaming.selection": `id.group == "${group}"` }),
      {
        method: "POST",
        target: "/search/",
        body: `yql=${encodeURIComponent(yql)}&streaming.groupname=${group}`,
        type: "application/x-www-form-urlencoded",
      },
    ],
    whole: [
      json("POST", "/search/", { yql, "streaming.selection": "true" }),
      json("POST", "/search/", { yql, "streaming.selection": 'id.group == "alice" or id.group == "bob"' }),
      json("POST", "/search/", { yql, "streaming.userid": 7 }),
    ],
  },
  "/brooklet/v1/search": {
    ofGroup: (group) => [json("POST", "/brooklet/v1/search", { group, schema: "mail", text: "x" })],
  },
  "/brooklet/v1/retrieve": {
    ofGroup: (group) => [
      json("POST", "/brooklet/v1/retrieve", { group, schema: "mail", question: "x", from: ["subject"] }),
    ],
  },
  "/brooklet/v1/groups/*": {
    ofGroup: (group) => [
      { method: "DELETE", target: `/brooklet/v1/groups/${group}` },
      get(`/brooklet/v1/groups/${group}/tail`),
    ],
  },
};

const CONTENT = "/application/v2/tenant/default/application/default/environment/prod/region/default/instance/default";

/** What only who may do everything reaches. */
const OF_ADMINS: Readonly<Record<string, readonly Asked[]>> = {
  "/brooklet/v1/groups": [get("/brooklet/v1/groups")],
  "/brooklet/v1/queries/slow": [get("/brooklet/v1/queries/slow")],
  "/brooklet/v1/models": [get("/brooklet/v1/models")],
  "/application/v2/*": [
    get("/application/v2/tenant"),
    get(`${CONTENT}/content/`),
    get(`${CONTENT}/serviceconverge`),
    { method: "POST", target: "/application/v2/tenant/default/prepareandactivate", body: "x", type: "application/zip" },
    { method: "POST", target: "/application/v2/tenant/default/session", body: "x", type: "application/zip" },
    { method: "PUT", target: "/application/v2/tenant/default/session/1/prepared" },
    { method: "PUT", target: "/application/v2/tenant/default/session/1/active" },
  ],
  "/model-evaluation/*": [
    get("/model-evaluation/v1/"),
    get("/model-evaluation/v1/weighted/score/eval?a=1"),
    {
      method: "POST",
      target: "/model-evaluation/v1/weighted/eval",
      body: "a=1",
      type: "application/x-www-form-urlencoded",
    },
  ],
  "/": [get("/")],
  "/ApplicationStatus": [get("/ApplicationStatus")],
  "/status.html": [get("/status.html")],
  "/state/v1": [get("/state/v1"), get("/state/v1/")],
  "/state/v1/config": [get("/state/v1/config"), get("/state/v1/config/")],
  "/state/v1/health": [get("/state/v1/health"), get("/state/v1/health/")],
  "/state/v1/version": [get("/state/v1/version"), get("/state/v1/version/")],
  "/state/v1/metrics": [get("/state/v1/metrics"), get("/state/v1/metrics/")],
  "/metrics/v2/values": [get("/metrics/v2/values")],
  "/metrics": [get("/metrics")],
  "/readyz": [get("/readyz")],
  "/limits": [get("/limits")],
};

/** Tested by its own: what a feed may not do is told operation by operation. */
const FEED = "/brooklet/v1/feed";
const LIVE = "/livez";
/** There where it is asked for; what its tools reach is tested with real tokens and the protocol's own client. */
const MCP = "/mcp";

interface Claims {
  readonly groups?: unknown;
  readonly verbs?: unknown;
  readonly schemas?: unknown;
  readonly [name: string]: unknown;
}

const nowSeconds = (): number => Math.floor(Date.now() / 1_000);

/** A token as a correct minter makes it, but for what is given; `undefined` leaves a claim out. */
async function token(claims: Claims = {}, key: string = KEY): Promise<string> {
  const now = nowSeconds();
  const said = {
    groups: ["alice"],
    verbs: VERBS,
    iat: now,
    exp: now + 600,
    aud: "brooklet",
    jti: crypto.randomUUID(),
    ...claims,
  };
  return await new SignJWT(JSON.parse(JSON.stringify(said)) as Claims)
    .setProtectedHeader({ alg: "HS256", typ: "JWT" })
    .sign(await tokenSecret(key));
}

interface Answered {
  readonly status: number;
  readonly text: string;
  readonly headers: Headers;
  readonly cluster: FakeCluster;
}

async function ask(
  asked: Asked,
  credential: string | undefined,
  options: Partial<GatewayOptions> = {},
): Promise<Answered> {
  const answered = await askOf(fakeCluster(), asked, credential, options);
  // Where queries are opened by whoever has the group, the same is refused, and nobody else is asked.
  const plain = await askOf(plainCluster(), asked, credential, options);
  const told = ({ status, text, cluster }: Answered): unknown => [
    status,
    text.replace(TIMES, "time"),
    cluster.asked.map(({ partition }) => partition),
  ];
  expect(told(plain)).toEqual(told(answered));
  return answered;
}

async function askOf(
  cluster: FakeCluster,
  { method, target, body, type }: Asked,
  credential: string | undefined,
  options: Partial<GatewayOptions>,
): Promise<Answered> {
  const gateway = createGateway({ cluster, adminKeys: [KEY], ...options });
  const headers = {
    ...(credential === undefined ? {} : { authorization: `Bearer ${credential}` }),
    ...(type === undefined ? {} : { "content-type": type }),
  };
  const response = await gateway.fetch(`http://localhost${target}`, { method, headers, body: body ?? null });
  return { status: response.status, text: await response.text(), headers: response.headers, cluster };
}

const everyAttempt = (group: string): readonly Asked[] => [
  ...Object.values(OF_GROUPS).flatMap(({ ofGroup, whole = [] }) => [...ofGroup(group), ...whole]),
  ...Object.values(OF_ADMINS).flat(),
];

/** The body without the path that was asked for, which answers of documents repeat. */
const withoutPath = (text: string): string => text.replace(/"pathId":"[^"]*",/, "");

/** A public key: whoever may ask anything may have it. */
const RECEIPT_KEY = "/brooklet/v1/receipt-key";

describe("every route", () => {
  test("is in the table of who may ask what", () => {
    const mcp = (): Promise<Response> => Promise.resolve(new Response());
    const { app } = createGateway({ cluster: fakeCluster(), mcp });
    const known = [...Object.keys(OF_GROUPS), ...Object.keys(OF_ADMINS), FEED, LIVE, MCP, RECEIPT_KEY];
    expect([...new Set(app.routes.map(({ path }) => path))].sort()).toEqual(known.sort());
  });

  test("but /livez answers nobody without a key or token", async () => {
    for (const asked of [
      ...everyAttempt("alice"),
      get(FEED),
      get(RECEIPT_KEY),
      get("/nothing"),
      { method: "OPTIONS", target: "/search/" },
    ])
      for (const credential of [undefined, "wrong", OTHER_KEY]) {
        const { status, headers, text, cluster } = await ask(asked, credential);
        expect([asked, status, headers.get("www-authenticate")]).toEqual([asked, 401, "Bearer"]);
        expect(text).toContain("UNAUTHENTICATED");
        expect([cluster.asked, cluster.packages]).toEqual([[], []]);
      }
    expect((await ask(get(LIVE), undefined)).status).toBe(200);
  });

  test("gives a token of alice one answer for what is bob's and what is not there, before anything is opened", async () => {
    const alice = await token();
    for (const [path, { ofGroup, whole = [] }] of Object.entries(OF_GROUPS)) {
      for (const [index, asked] of ofGroup("bob").entries()) {
        const foreign = await ask(asked, alice);
        expect([path, index, foreign.status]).toEqual([path, index, 403]);
        expect(foreign.text).toContain(OUTSIDE);
        expect([foreign.cluster.asked, foreign.cluster.packages]).toEqual([[], []]);
        const absent = await ask(ofGroup("xyz")[index] as Asked, alice);
        expect([absent.status, withoutPath(absent.text)]).toEqual([403, withoutPath(foreign.text)]);
      }
      for (const asked of whole) {
        const { status, text, cluster } = await ask(asked, alice);
        expect([asked, status, text.includes(OUTSIDE), cluster.asked]).toEqual([asked, 403, true, []]);
      }
    }
    for (const asked of Object.values(OF_ADMINS).flat()) {
      const { status, text, cluster } = await ask(asked, alice);
      expect([asked, status, text.includes(OUTSIDE), cluster.packages]).toEqual([asked, 403, true, []]);
    }
  });

  test("lets a token of alice do what is hers, and an admin key all of it", async () => {
    const alice = await token();
    const isTaken = ({ status }: Answered): boolean => status !== 401 && status !== 403;
    expect((await ask(get(RECEIPT_KEY), alice)).text).toMatch(/"kty":"OKP","crv":"Ed25519","x":"[\w-]{43}","kid"/);
    for (const asked of Object.values(OF_GROUPS).flatMap(({ ofGroup }) => ofGroup("alice"))) {
      // The fake cluster has no search chains and its own words for retrievals; here it counts who was let in.
      expect([asked, isTaken(await ask(asked, alice))]).toEqual([asked, true]);
    }
    for (const asked of everyAttempt("bob")) expect([asked, isTaken(await ask(asked, KEY))]).toEqual([asked, true]);
  });

  test("asks for the verbs of what is done, and names the one that is missing", async () => {
    const needed: readonly (readonly [Asked, readonly Verb[]])[] = (
      [
        [get(`${DOCUMENTS}/group/alice/1`), ["get"]],
        [json("POST", `${DOCUMENTS}/group/alice/1`, fields), ["put"]],
        [json("POST", `${DOCUMENTS}/group/alice/1?condition=true`, fields), ["put", "get"]],
        [json("PUT", `${DOCUMENTS}/group/alice/1`, { fields: {} }), ["update"]],
        [json("PUT", `${DOCUMENTS}/group/alice/1?create=true`, { fields: {} }), ["update", "put"]],
        [{ method: "DELETE", target: `${DOCUMENTS}/group/alice/1` }, ["remove"]],
        [get(`${DOCUMENTS}/group/alice/`), ["visit"]],
        [{ method: "DELETE", target: `${DOCUMENTS}/group/alice/?selection=true&cluster=mail` }, ["visit", "remove"]],
        [json("PUT", `${DOCUMENTS}/group/alice/?selection=true&cluster=mail`, { fields: {} }), ["visit", "update"]],
        [json("POST", "/search/", { yql, "streaming.groupname": "alice" }), ["search"]],
        [json("POST", "/brooklet/v1/search", { group: "alice", schema: "mail", text: "x" }), ["search"]],
        [json("POST", "/brooklet/v1/retrieve", { group: "alice", schema: "mail", question: "x" }), ["search"]],
        [{ method: "DELETE", target: "/brooklet/v1/groups/alice" }, ["erase"]],
        [{ method: "POST", target: FEED, body: "" }, ["put", "update", "remove", "get"]],
      ] as const
    ).map(([asked, verbs]) => [asked, verbs]);
    for (const [asked, verbs] of needed) {
      expect([asked, (await ask(asked, await token({ verbs }))).status === 403]).toEqual([asked, false]);
      for (const missing of verbs) {
        const others = VERBS.filter((verb) => verb !== missing);
        const { status, text, cluster } = await ask(asked, await token({ verbs: others }));
        expect([asked, status, text.includes(`no verb '${missing}'`), cluster.asked]).toEqual([asked, 403, true, []]);
      }
    }
  });

  test("keeps a token to its schemas", async () => {
    const mails = await token({ schemas: ["mail"] });
    const isTaken = async (asked: Asked): Promise<boolean> => (await ask(asked, mails)).status !== 403;
    expect(await isTaken(get(`${DOCUMENTS}/group/alice/1`))).toBe(true);
    expect(await isTaken(get("/document/v1/mail/note/group/alice/1"))).toBe(false);
    expect(await isTaken(get("/document/v1/mail/note/group/alice/"))).toBe(false);
    expect(await isTaken({ method: "DELETE", target: "/brooklet/v1/groups/alice" })).toBe(false);
    expect(await isTaken({ method: "POST", target: FEED, body: "" })).toBe(false);
    expect(await isTaken(json("POST", "/search/", { yql, restrict: "note" }))).toBe(false);
    expect(await isTaken(json("POST", "/search/", { yql, "model.restrict": "mail,note" }))).toBe(false);
    const { cluster } = await ask(json("POST", "/search/", { yql, restrict: "*" }), mails);
    const [{ request } = { request: undefined }] = cluster.asked;
    expect(request).toMatchObject({
      properties: [
        ["streaming.groupname", "alice"],
        ["model.restrict", "mail"],
      ],
    });
  });
});

describe("a token", () => {
  test("of one group searches that where none is named; of several it has to be named", async () => {
    const one = await ask(json("POST", "/search/", { yql }), await token());
    expect([one.status, one.cluster.asked.map(({ partition }) => partition)]).toEqual([200, ["g:alice"]]);
    const two = await token({ groups: ["alice", "carol"] });
    expect((await ask(json("POST", "/search/", { yql }), two)).status).toBe(403);
    const named = await ask(json("POST", "/search/", { yql, "streaming.groupname": "carol" }), two);
    expect([named.status, named.cluster.asked.map(({ partition }) => partition)]).toEqual([200, ["g:carol"]]);
    const conflict = { ...json("POST", "/search/?streaming.groupname=alice", { yql, "streaming.groupname": "bob" }) };
    expect([400, 403]).toContain((await ask(conflict, two)).status);
  });

  test("feeds documents of its groups, and is told which were others'", async () => {
    const lines = ["id:mail:mail:g=alice:1", "id:mail:mail:g=bob:1", "id:mail:mail::1", "id:mail:mail:n=7:1"];
    const body = lines.map((put) => JSON.stringify({ put })).join("\n");
    const { status, text } = await ask({ method: "POST", target: FEED, body }, await token());
    const { applied, failures } = JSON.parse(text) as { applied: number; failures: { id: string; status: number }[] };
    expect([status, applied, failures.map((one) => [one.id, one.status])]).toEqual([
      200,
      1,
      lines.slice(1).map((id) => [id, 403]),
    ]);
  });

  test("is told that a group is another's also where there is one group only", async () => {
    const asked = get(`${DOCUMENTS}/group/alice/1`);
    expect((await ask(asked, await token(), { group: "bob" })).status).toBe(403);
    expect((await ask(asked, await token(), { group: "alice" })).status).not.toBe(403);
  });

  test("that is revoked is none, at once", async () => {
    const revoked = new Set<string>();
    const gateway = createGateway({
      cluster: fakeCluster(),
      adminKeys: [KEY],
      tokens: { isRevoked: (id) => revoked.has(id) },
    });
    const headers = { authorization: `Bearer ${await token({ jti: "t1" })}` };
    const status = async (): Promise<number> =>
      (await gateway.fetch(`http://localhost${DOCUMENTS}/group/alice/1`, { headers })).status;
    expect(await status()).toBe(404);
    revoked.add("t1");
    expect(await status()).toBe(401);
  });
});

describe("a page of another origin", () => {
  const ORIGIN = "https://notes.example.com";
  const options = { adminKeys: [KEY], allowedOrigins: [ORIGIN] };
  const send = async (method: string, headers: Record<string, string>): Promise<Answered> => {
    const cluster = fakeCluster();
    const target = `http://localhost${DOCUMENTS}/group/alice/1`;
    const response = await createGateway({ cluster, ...options }).fetch(target, { method, headers });
    return { status: response.status, text: await response.text(), headers: response.headers, cluster };
  };
  const asking = { "access-control-request-method": "PUT", "access-control-request-headers": "authorization" };

  test("may ask where its origin is allowed, and its browser is told so before, without a token", async () => {
    const { status, headers, cluster } = await send("OPTIONS", { origin: ORIGIN, ...asking });
    expect([status, cluster.asked]).toEqual([204, []]);
    expect(headers.get("access-control-allow-origin")).toBe(ORIGIN);
    expect(headers.get("access-control-allow-headers")).toContain("authorization");
    expect(headers.get("access-control-allow-methods")).toContain("PUT");
    expect(headers.get("access-control-allow-credentials")).toBeNull();
    const refused = await send("GET", { origin: ORIGIN });
    expect([refused.status, refused.headers.get("access-control-allow-origin")]).toEqual([401, ORIGIN]);
    const answered = await send("GET", { origin: ORIGIN, authorization: `Bearer ${await token()}` });
    expect([answered.status, answered.headers.get("vary")]).toEqual([404, "origin"]);
  });

  test("may not where it is none of them, whatever it shows, and nobody is told that others are", async () => {
    for (const origin of ["https://evil.example", "https://notes.example.com.evil.example", "null", `${ORIGIN}:8443`])
      for (const method of ["OPTIONS", "GET"]) {
        const shown = { origin, ...asking, authorization: `Bearer ${await token()}` };
        const { status, headers } = await send(method, shown);
        expect([origin, status, headers.get("access-control-allow-origin")]).toEqual([origin, 403, null]);
      }
    expect((await send("OPTIONS", asking)).status).toBe(401);
    const plain = await send("GET", { authorization: `Bearer ${await token()}` });
    expect([plain.status, plain.headers.get("access-control-allow-origin")]).toEqual([404, null]);
  });
});

test.each([
  ["https://notes.example.com/"],
  ["notes.example.com"],
  ["https://Notes.example.com"],
  ["*"],
  ["null"],
  ["https://a b"],
])("%s is no origin that a browser sends: it is refused when the gateway is made", (origin) => {
  const make = (...origins: string[]): unknown => createGateway({ cluster: fakeCluster(), allowedOrigins: origins });
  expect(() => make("https://notes.example.com", "chrome-extension://abcdef", "http://localhost:3000")).not.toThrow();
  expect(() => make(origin)).toThrow(`'${origin}' is no origin of a page`);
});

describe("admin keys", () => {
  test("are several, so that one can take the place of another; tokens of each are taken", async () => {
    const both = { adminKeys: [KEY, OTHER_KEY] };
    for (const key of both.adminKeys) {
      expect((await ask(get("/brooklet/v1/groups"), key, both)).status).toBe(200);
      expect((await ask(get(`${DOCUMENTS}/group/alice/1`), await token({}, key), both)).status).toBe(404);
    }
    expect((await ask(get(`${DOCUMENTS}/group/alice/1`), await token({}, OTHER_KEY))).status).toBe(401);
  });

  test("are 16 at most: one more is refused when the gateway is made", () => {
    const keys = (count: number): readonly string[] =>
      Array.from({ length: count }, (_, at) => `${KEY.slice(0, -2)}${String.fromCharCode(65 + at)}${at % 10}`);
    const make = (count: number) => (): unknown => createGateway({ cluster: fakeCluster(), adminKeys: keys(count) });
    expect(make(16)).not.toThrow();
    expect(make(17)).toThrow("17 admin keys are given: 16 at most");
  });

  test.each([["short"], [KEY.slice(1)], ["a".repeat(64)], [`${KEY.slice(2)}é!`], [`${KEY} `], ["x.y".repeat(20)]])(
    "%s is refused when the gateway is made, without being told",
    (key) => {
      const make = (): unknown => createGateway({ cluster: fakeCluster(), adminKeys: [OTHER_KEY, key] });
      expect(make).toThrow(/Admin key 2 of 2 cannot be used/);
      expect(make).not.toThrow(new RegExp(key.replace(/[^\w]/g, ".")));
    },
  );

  test.each([["Bearer"], ["Basic abc"], [`Bearer ${KEY} ${KEY}`], [`Bearer ${KEY},Bearer x`], [KEY], [`Token ${KEY}`]])(
    "are a bearer's: %s is none",
    async (authorization) => {
      const gateway = createGateway({ cluster: fakeCluster(), adminKeys: [KEY] });
      expect((await gateway.fetch("http://localhost/state/v1", { headers: { authorization } })).status).toBe(401);
    },
  );

  test("switch deployments off, whoever asks", async () => {
    const [deploy] = (OF_ADMINS["/application/v2/*"] ?? []).filter(({ method }) => method === "POST");
    const { status, text } = await ask(deploy as Asked, KEY, { deploys: false });
    expect([status, text.includes("Nothing can be deployed")]).toEqual([403, true]);
    expect((await ask(get(`${CONTENT}/content/`), KEY, { deploys: false })).status).toBe(404);
  });
});

describe("a gateway that is mounted in an application", () => {
  test("may be told by that what a request reaches", async () => {
    const gateway = createGateway({
      cluster: fakeCluster(),
      authorise: (context) => {
        const user = context.req.header("x-user");
        return user === undefined ? undefined : { groups: [user], verbs: ["get"] };
      },
    });
    const status = async (target: string, headers: Record<string, string>): Promise<number> =>
      (await gateway.app.fetch(new Request(`http://localhost${target}`, { headers }))).status;
    expect(await status(`${DOCUMENTS}/group/alice/1`, { "x-user": "alice" })).toBe(404);
    expect(await status(`${DOCUMENTS}/group/bob/1`, { "x-user": "alice" })).toBe(403);
    expect(await status(`${DOCUMENTS}/group/alice/1`, {})).toBe(401);
  });
});
