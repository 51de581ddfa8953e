/** What is told of searches that took long, and to whom. */
import { auditNames } from "@brooklet/wire";
import { describe, expect, test } from "vitest";
import { createGateway } from "../src/index.ts";
import { type FinishedSearch, type SlowSearch, SlowSearches, yqlShape } from "../src/load/slow-searches.ts";
import { type FakeCluster, fakeCluster, plainCluster } from "./fake-cluster.ts";

const SECRET = new Uint8Array(32);
const PATH = "http://localhost/brooklet/v1/queries/slow";

describe("a query without its literals", () => {
  test.each([
    ["select * from mail where subject contains 'private'", "select * from mail where subject contains ?"],
    [
      'select * from mail where subject contains "a \\" b" and year > 2019',
      "select * from mail where subject contains ? and year > ?",
    ],
    ["select f1 from mail where f2 = -3.5e2 or userQuery()", "select f1 from mail where f2 = ? or userQuery()"],
    [
      "select * from mail where {targetHits: 100}nearestNeighbor(vec, q1) limit 20",
      "select * from mail where {targetHits: ?}nearestNeighbor(vec, q1) limit ?",
    ],
    [
      'select * from mail where userInput(@words) and a contains ({prefix: true}"ab")',
      "select * from mail where userInput(@words) and a contains ({prefix: true}?)",
    ],
    ["select * from mail where x contains 'never ended", "select * from mail where x contains ?"],
    [
      `select * from mail where ${"a and ".repeat(400)}b`,
      `select * from mail where ${"a and ".repeat(400)}b`.slice(0, 1_000).concat(" …"),
    ],
  ])("%s", (yql, shape) => {
    expect(yqlShape(yql)).toBe(shape);
  });
});

describe("slow searches", () => {
  const search = (ms: number, more: Partial<FinishedSearch> = {}): FinishedSearch => ({
    ms,
    status: 200,
    stages: { search: ms / 2 },
    bytesRead: 1,
    bytesScanned: 2,
    outline: () => ({ keys: ["g:alice"], yql: "select * from mail where a contains 'x'", profile: "near" }),
    ...more,
  });

  test("are the latest that took as long as is said, and no more of them", async () => {
    const slow = new SlowSearches({ slowSearchMs: 100, slowSearches: 3 }, SECRET);
    for (const ms of [99.9, 100, 200, 300, 400]) slow.note(search(ms));
    const listed = await slow.listed();
    expect(listed.map(({ ms }) => ms)).toEqual([400, 300, 200]);
    const { time, ...told } = listed[0] ?? {};
    expect(Math.abs(Date.parse(time ?? "") - Date.now())).toBeLessThan(120_000);
    expect(told).toEqual({
      ms: 400,
      status: 200,
      stages: { wait: 200, search: 200 },
      bytesRead: 1,
      bytesScanned: 2,
      groups: [await auditNames(SECRET)("alice")],
      yql: "select * from mail where a contains ?",
      profile: "near",
    });
  });

  test("may be none at all", async () => {
    const slow = new SlowSearches({ slowSearchMs: 0, slowSearches: 0 }, SECRET);
    slow.note(search(5_000));
    expect(await slow.listed()).toEqual([]);
  });

  test("are not read where they were not slow", () => {
    const slow = new SlowSearches({ slowSearchMs: 100, slowSearches: 3 }, SECRET);
    let asked = 0;
    const outline = (): never => {
      asked += 1;
      throw new Error("it cannot be opened again");
    };
    slow.note(search(10, { outline }));
    expect(asked).toBe(0);
    slow.note(search(100, { outline }));
    expect(asked).toBe(1);
  });

  test("say nothing of what is no query, and of all groups that they are all", async () => {
    const slow = new SlowSearches({ slowSearchMs: 0, slowSearches: 9 }, SECRET);
    slow.note(search(1, { status: 400 }));
    slow.note(search(1, { outline: () => ({}) }));
    slow.note(search(1, { outline: () => ({ keys: Array.from({ length: 20 }, (_, at) => `g:${at}` as const) }) }));
    const [many, all, refused] = await slow.listed();
    expect(many?.groups).toHaveLength(8);
    expect(all).not.toHaveProperty("groups");
    expect(refused).not.toHaveProperty("yql");
    expect(refused).not.toHaveProperty("profile");
  });
});

describe.each([
  ["opened here", fakeCluster],
  ["opened where they are searched", plainCluster],
] as const)("searches that are %s", (_, make) => {
  const asked = async (
    cluster: FakeCluster,
    limits: { readonly slowSearchMs: number },
  ): Promise<readonly SlowSearch[]> => {
    const { fetch } = createGateway({ cluster, limits });
    const yql = "select * from mail where subject contains 'MARK'";
    const headers = { "content-type": "application/json" };
    const body = JSON.stringify({ yql, "streaming.groupname": "alice" });
    expect((await fetch("http://localhost/search/", { method: "POST", headers, body })).status).toBe(200);
    const answer = await fetch(PATH);
    expect(answer.status).toBe(200);
    const { thresholdMs, queries } = (await answer.json()) as {
      thresholdMs: number;
      queries: SlowSearch[];
    };
    expect(thresholdMs).toBe(limits.slowSearchMs);
    return queries;
  };

  test("are told with their stages", async () => {
    const [told, ...others] = await asked(make(), { slowSearchMs: 0 });
    expect(others).toEqual([]);
    expect(told).toMatchObject({
      status: 200,
      groups: [await auditNames(SECRET)("alice")],
      yql: "select * from mail where subject contains ?",
    });
    expect(JSON.stringify(told)).not.toMatch(/MARK|alice/);
    const { wait, ...stages } = told?.stages ?? {};
    expect(wait).toBeGreaterThanOrEqual(0);
    for (const ms of Object.values(stages)) expect(ms).toBeGreaterThanOrEqual(0);
  });

  test("are not told where they were fast", async () => {
    expect(await asked(make(), { slowSearchMs: 600_000 })).toEqual([]);
  });

  test("that fail are told too", async () => {
    const cluster = make();
    const { query } = cluster;
    Object.assign(cluster, {
      searchPlain: undefined,
      query: (request: Parameters<typeof query>[0]) => ({
        ...query(request),
        scope: { keys: ["g:alice"] },
        search: () => Promise.reject(new Error("a defect")),
      }),
    });
    const { fetch } = createGateway({ cluster, limits: { slowSearchMs: 0 } });
    expect((await fetch("http://localhost/search/?yql=x")).status).toBe(500);
    const { queries } = (await (await fetch(PATH)).json()) as { queries: readonly object[] };
    expect(queries).toMatchObject([{ status: 500, bytesRead: 0 }]);
  });
});

describe("the list", () => {
  test("is an operator's", async () => {
    const key = "a-key-of-an-admin-that-is-as-long-as-keys-have-to-be";
    const { fetch } = createGateway({ cluster: fakeCluster(), adminKeys: [key] });
    expect((await fetch(PATH)).status).toBe(401);
    expect((await fetch(PATH, { headers: { authorization: `Bearer ${key}` } })).status).toBe(200);
  });

  test("takes no parameters, and is only read", async () => {
    const { fetch } = createGateway({ cluster: fakeCluster() });
    const answer = await fetch(`${PATH}?limit=3`);
    expect([answer.status, await answer.text()]).toEqual([400, expect.stringContaining("no member 'limit'")]);
    expect((await fetch(PATH, { method: "DELETE" })).status).toBe(405);
  });
});
