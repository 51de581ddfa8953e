/** Requests to the routes of our own: every member with every value that it cannot have, by its place in the refusal. */
import { describe, expect, test } from "vitest";
import type { z } from "zod";
import { createGateway } from "../src/index.ts";
import { FEED_PARAMETERS, RETRIEVAL, SEARCH } from "../src/request-shapes.ts";
import { fakeCluster, REPORT } from "./fake-cluster.ts";

const SCHEMA = {
  name: "note",
  cluster: "mail",
  fields: [
    { name: "body", type: "string", words: true },
    { name: "sender", type: "string" },
    { name: "vec", type: "tensor<float>(x[2])", metric: "angular" },
  ],
  rankProfiles: ["default", "unranked", "near_vec", "hybrid_vec", "own"],
};

async function send(target: string, body: unknown): Promise<{ readonly status: number; readonly text: string }> {
  const cluster = fakeCluster();
  cluster.report = { ...REPORT, schemas: [SCHEMA] };
  const gateway = createGateway({ cluster, reranker: () => [] });
  const init = { method: "POST", body: typeof body === "string" ? body : JSON.stringify(body) };
  const response = await gateway.fetch(`http://localhost${target}`, init);
  return { status: response.status, text: await response.text() };
}

test.each(["/brooklet/v1/feed", "/brooklet/v1/search", "/brooklet/v1/retrieve"])(
  "H9 a body of %s that says it is no JSON is refused, one that says nothing is read",
  async (target) => {
    const cluster = fakeCluster();
    cluster.report = { ...REPORT, schemas: [SCHEMA] };
    const gateway = createGateway({ cluster, reranker: () => [] });
    const body = target.endsWith("feed") ? "" : JSON.stringify({ group: "a", schema: "note", question: "x" });
    const statusOf = async (type: string): Promise<number> => {
      const headers = type === "" ? {} : { "content-type": type };
      const bytes = new TextEncoder().encode(body);
      return (await gateway.fetch(`http://localhost${target}`, { method: "POST", headers, body: bytes })).status;
    };
    for (const type of ["text/xml", "application/xml; charset=utf-8", "multipart/form-data; boundary=x", "text/csv"])
      expect(await statusOf(type), type).toBe(415);
    const read = ["", "application/json", "application/json; charset=utf-8", "Application/JSONL", "text/plain"];
    for (const type of [...read, "application/x-ndjson", "application/x-www-form-urlencoded"])
      expect(await statusOf(type), type).not.toBe(415);
  },
);

const messageOf = (text: string): string => {
  const { root, message } = JSON.parse(text) as {
    readonly root?: { readonly errors?: readonly [{ readonly message: string }] };
    readonly message?: string;
  };
  return root?.errors?.[0].message ?? message ?? "";
};

/** Values of every kind, by a name each. */
const VALUES = {
  nothing: null,
  yes: true,
  no: false,
  zero: 0,
  one: 1,
  negative: -2,
  half: 0.5,
  hundred: 100,
  large: 7_000,
  empty: "",
  word: "body",
  injection: 'body" or true',
  list: [],
  names: ["body"],
  numbers: [1, 0],
  mixed: [1, "x"],
  object: {},
  strange: { body: 7 },
} as const;
type ValueName = keyof typeof VALUES;

const NAMES: readonly ValueName[] = ["word"];
const TEXTS: readonly ValueName[] = ["word", "injection"];
const FLAGS: readonly ValueName[] = ["yes", "no"];
const COUNTS: readonly ValueName[] = ["one", "hundred", "large"];
/** What would be computed for too long is not asked for. */
const BOUNDED: readonly ValueName[] = ["one", "hundred"];
const POSITIVE: readonly ValueName[] = ["zero", "one", "half", "hundred", "large"];
const ANY_NUMBER: readonly ValueName[] = [...POSITIVE, "negative"];
const SHARES: readonly ValueName[] = ["zero", "one", "half"];

const GROUP = { group: TEXTS, schema: NAMES, filter: TEXTS, timeoutMs: POSITIVE };
const WORDS = { in: NAMES, match: [], language: [], asYouType: FLAGS, typos: FLAGS };
const VECTOR = {
  field: NAMES,
  input: NAMES,
  vector: ["numbers"],
  embedder: NAMES,
  targetHits: COUNTS,
  distanceMax: ANY_NUMBER,
  similarityMin: SHARES,
} as const;
const SIDE = { profile: NAMES, weight: POSITIVE };

/** What each member takes, by route. */
const ROUTES: readonly {
  readonly target: string;
  readonly shape: unknown;
  readonly base: Readonly<Record<string, unknown>>;
  readonly members: Readonly<Record<string, readonly ValueName[]>>;
  readonly inside: Readonly<Record<string, Readonly<Record<string, readonly ValueName[]>>>>;
}[] = [
  {
    target: "/brooklet/v1/retrieve",
    shape: RETRIEVAL,
    base: { group: "a", schema: "note", question: "when" },
    members: {
      ...GROUP,
      question: TEXTS,
      from: ["names"],
      text: ["no", "object"],
      near: ["no"],
      elementScores: ["object"],
      passages: BOUNDED,
      passagesOfDocument: BOUNDED,
      tokens: POSITIVE,
      candidates: COUNTS,
      floor: SHARES,
      passageLength: ["hundred", "large"],
      fusion: [],
      rerank: FLAGS,
      rerankCount: BOUNDED,
    },
    inside: { text: { ...WORDS, ...SIDE }, near: { ...VECTOR, ...SIDE } },
  },
  {
    target: "/brooklet/v1/search",
    shape: SEARCH,
    base: { group: "a", schema: "note", text: "when" },
    members: {
      ...GROUP,
      text: TEXTS,
      near: ["no"],
      matchBy: [],
      profile: NAMES,
      limit: [...COUNTS, "zero"],
      offset: [...COUNTS, "zero"],
    },
    inside: { text: { query: TEXTS, ...WORDS }, near: VECTOR },
  },
];

const REQUIRED: Readonly<Record<string, object>> = { text: { query: "when" }, near: { field: "vec" } };

describe.each(ROUTES)("$target", ({ target, shape, base, members, inside }) => {
  test("has each member in the table", () => {
    expect(Object.keys(members).sort()).toEqual(Object.keys((shape as z.ZodObject).shape).sort());
  });

  const places: [string, string | undefined][] = [
    ...Object.keys(members).map((name): [string, undefined] => [name, undefined]),
    ...Object.entries(inside).flatMap(([name, own]) =>
      Object.keys(own).map((inner): [string, string] => [name, inner]),
    ),
  ];
  test.each(places)("%s %s", async (name, inner) => {
    const takes = (inner === undefined ? members[name] : inside[name]?.[inner]) ?? [];
    for (const [kind, value] of Object.entries(VALUES)) {
      const required = target.endsWith("search") || name !== "text" ? REQUIRED[name] : {};
      const given = inner === undefined ? value : { ...required, [inner]: value };
      const { status, text } = await send(target, { ...base, [name]: given });
      const message = messageOf(text);
      const at = `${name}${inner === undefined ? "" : `.${inner}`}`;
      if (takes.includes(kind as ValueName)) {
        expect([at, kind, message]).toEqual([at, kind, expect.not.stringContaining(": expected")]);
        expect(status).not.toBe(500);
      } else {
        expect([at, kind, status, message.startsWith(at) || message]).toEqual([at, kind, 400, true]);
        expect(message).toMatch(/^[\w.]+(\[\d+\])?: expected .+, got .+$|has no member '/);
        expect(message).not.toContain("Invalid input");
      }
    }
  });

  test.each([
    [{ grup: "a" }, "The body has no member 'grup'; did you mean 'group'?"],
    [{ zzzzzzz: 1 }, "The body has no member 'zzzzzzz': there are group, schema, filter"],
    [{ near: { field: "vec", fields: "vec" } }, "near has no member 'fields'; did you mean 'field'?"],
    [{ near: { field: "vec", vector: [1, "x"] } }, 'near.vector[1]: expected a number, got "x"'],
    [{ near: {} }, "near.field: expected the name of a field, got nothing"],
    [{ near: { field: "vek" } }, "schema note has no field 'vek'; did you mean 'vec'?"],
    [{ schema: "nte" }, "There is no schema 'nte'"],
    [{ group: undefined }, "group: expected the name of a group, got nothing"],
  ])("%o is refused by name", async (wrong, message) => {
    const { status, text } = await send(target, { ...base, ...wrong });
    expect([status, messageOf(text)]).toEqual([400, expect.stringContaining(message)]);
  });

  test.each([
    ["", "The body must be a JSON object"],
    ["{", "The body must be a JSON object"],
    ["[]", "The body: expected an object, got []"],
    ["7", "The body: expected an object, got 7"],
  ])("a body %o is refused", async (body, message) => {
    const { status, text } = await send(target, body);
    expect([status, messageOf(text)]).toEqual([400, message]);
  });

  test("takes no parameters", async () => {
    const { status, text } = await send(`${target}?timeout=1s`, base);
    expect([status, messageOf(text)]).toEqual([400, expect.stringContaining("The URL has no member 'timeout'")]);
  });
});

test("of a retrieval the place and the value of what is wrong are told", async () => {
  const base = { group: "a", schema: "note", question: "when" };
  const told = async (wrong: object): Promise<string> =>
    messageOf((await send("/brooklet/v1/retrieve", { ...base, ...wrong })).text);
  expect(await told({ from: "subject" })).toBe('from: expected a list of names of fields, got "subject"');
  expect(await told({ fusion: "sum" })).toBe('fusion: expected "relativeScore" or "reciprocalRank", got "sum"');
  expect(await told({ passages: 0 })).toBe("passages: expected an integer from 1 to 400, got 0");
  expect(await told({ near: { field: "vec", profile: "owm" } })).toContain("did you mean 'own'?");
  expect(await told({ near: { field: "body", vector: [1], similarityMin: 0.5 } })).toContain("give distanceMax");
});

describe("/brooklet/v1/feed", () => {
  const table = { timeout: ["10s", "500ms", "7", " 1 s", "1e2ms", "3µs"], cluster: ["mail"] };
  test("has each parameter in the table", () => {
    expect(Object.keys(table)).toEqual(Object.keys((FEED_PARAMETERS as unknown as z.ZodObject).shape));
  });
  test.each(table.timeout)("takes timeout=%s", async (timeout) => {
    expect((await send(`/brooklet/v1/feed?timeout=${encodeURIComponent(timeout)}`, "")).status).toBe(200);
  });
  test.each(["", "x", "-1s", "1 hour", "1s2", "NaN"])("refuses timeout=%o", async (timeout) => {
    const { status, text } = await send(`/brooklet/v1/feed?timeout=${encodeURIComponent(timeout)}`, "");
    const message = `timeout: expected a time span such as 500ms, 10s or 10, got ${JSON.stringify(timeout)}`;
    expect([status, messageOf(text)]).toEqual([400, message]);
  });
  test.each(table.cluster)("takes cluster=%s", async (cluster) => {
    expect((await send(`/brooklet/v1/feed?cluster=${cluster}`, "")).status).toBe(200);
  });
  test.each([
    ["", 'cluster: expected the id of a content cluster, got ""'],
    ["attic", "Your Vespa deployment has no content cluster 'attic', only 'mail'"],
  ])("refuses cluster=%o", async (cluster, expected) => {
    const { status, text } = await send(`/brooklet/v1/feed?cluster=${cluster}`, "");
    expect([status, messageOf(text)]).toEqual([400, expected]);
  });
  test("refuses others by name", async () => {
    const { status, text } = await send("/brooklet/v1/feed?timout=1s", "");
    expect([status, messageOf(text)]).toEqual([400, "The URL has no member 'timout'; did you mean 'timeout'?"]);
  });
});
