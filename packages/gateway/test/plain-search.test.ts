/** Queries that are opened by whoever has their group: which are guessed to be such, and what becomes of a wrong guess. */
import { describe, expect, test } from "vitest";
import { createGateway, type GatewayOptions } from "../src/index.ts";
import { plainGroup } from "../src/search/plain-group.ts";
import { type FakeCluster, plainCluster, REPORT } from "./fake-cluster.ts";

const encoder = new TextEncoder();
const yql = "select * from mail where true";
const named = (group: string): object => ({ yql, "streaming.groupname": group });

describe("the group that a request seems to be about", () => {
  const guess = (body: unknown, properties: readonly (readonly [string, string])[] = []): string | undefined =>
    plainGroup({ properties, body: encoder.encode(typeof body === "string" ? body : JSON.stringify(body)) });

  test.each([
    ["in the body", named("alice"), [], "alice"],
    ["with white space", '{ "streaming.groupname"\t:\n "al ice" }', [], "al ice"],
    ["not ASCII", named("älice✓"), [], "älice✓"],
    ["in the URL", { yql }, [["streaming.groupname", "bob"]], "bob"],
    ["in both: the URL counts", named("alice"), [["streaming.groupname", "bob"]], "bob"],
    [
      "twice in the URL: the last",
      "",
      [
        ["streaming.groupname", "a"],
        ["streaming.groupname", "b"],
      ],
      "b",
    ],
    ["in a text of the body, where it is no name", { yql, text: '"streaming.groupname": "alice"' }, [], undefined],
    ["written with escapes", '{"streaming.groupname":"\\u0061lice"}', [], undefined],
    ["empty", named(""), [], undefined],
    ["in parts", { yql, streaming: { groupname: "alice" } }, [], undefined],
    ["not at all", { yql, "streaming.selection": "true" }, [], undefined],
    ["with an embedder in the body", { ...named("alice"), "input.query(v)": "embed(minilm, @text)" }, [], undefined],
    ["with an embedder in the URL", named("alice"), [["input.query(v)", "embed(a text)"]], undefined],
    ["in a body that is long", { ...named("alice"), text: "x".repeat(300_000) }, [], undefined],
  ] as const)("%s", (_, body, properties, group) => {
    expect(guess(body, properties)).toBe(group);
  });
});

async function ask(body: object, options: Partial<GatewayOptions> = {}, cluster: FakeCluster = plainCluster()) {
  let opened = 0;
  const { query } = cluster;
  Object.assign(cluster, {
    query: (request: Parameters<typeof query>[0]) => {
      opened += 1;
      return query(request);
    },
  });
  const { fetch } = createGateway({ cluster, limits: { slowSearchMs: 3_600_000 }, ...options });
  const headers = { "content-type": "application/json" };
  const response = await fetch("http://localhost/search/", { method: "POST", headers, body: JSON.stringify(body) });
  return {
    status: response.status,
    text: await response.text(),
    opened,
    asked: cluster.asked.map(({ partition }) => partition),
  };
}

describe("a search", () => {
  test("of one group is not opened by the gateway", async () => {
    expect(await ask(named("alice"))).toMatchObject({ status: 200, opened: 0, asked: ["g:alice"] });
  });

  test.each([
    [
      "of another group than it seems",
      { ...named("alice"), decoy: 1, x: { "streaming.groupname": "bob" } },
      ["g:alice"],
    ],
    ["that names the group in a decoy first", { x: { "streaming.groupname": "bob" }, ...named("alice") }, ["g:alice"]],
    ["of all groups", { yql, x: { "streaming.groupname": "bob" }, "streaming.selection": "true" }, [undefined]],
    ["of nothing", { yql, x: { "streaming.groupname": "bob" } }, undefined],
    ["that is wrong", { yql: "select", "streaming.groupname": "alice" }, undefined],
  ] as const)("%s is answered as if nothing had been guessed", async (_, body, asked) => {
    const guessed = await ask(body);
    const cluster = plainCluster();
    Object.assign(cluster, { searchPlain: undefined });
    const opened = await ask(body, {}, cluster);
    expect([guessed.status, guessed.text, guessed.asked]).toEqual([opened.status, opened.text, opened.asked]);
    if (asked !== undefined) expect(guessed.asked).toEqual(asked);
  });

  test("where a group is said by the server, or has a rate, or a chain may be meant, is opened", async () => {
    expect(await ask(named("alice"), { group: "alice" })).toMatchObject({ status: 200, opened: 1, asked: ["g:alice"] });
    const groupRate = { requestsPerSecond: 1, burstSeconds: 1, groups: 9 };
    expect(await ask(named("alice"), { limits: { groupRate } })).toMatchObject({ status: 200, opened: 1 });
    const cluster = plainCluster();
    cluster.report = { ...REPORT, searchChains: [{ id: "rag", settings: [] }] } as unknown as typeof REPORT;
    expect(await ask(named("alice"), {}, cluster)).toMatchObject({ opened: 1 });
  });
});
