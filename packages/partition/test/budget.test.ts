/**
 * What searches of a group cost in numbers that a busy machine does not change: blocks looked for, bytes looked at, bytes read from a file,
 * calls across the border. `budget.json` says how much each may be; what needs less by a fifth has to say so there, so that it stays.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Core, instantiate } from "@brooklet/core";
import { expect, onTestFinished, test } from "vitest";
import type { SearchRequest } from "../src/cluster.ts";
import { LocalCluster } from "../src/local-cluster.ts";
import { nodeSurroundings } from "../src/node/surroundings.ts";
import { searchOnce } from "../src/query/cluster-query.ts";
import { idOf, packageOf } from "./core-setting.ts";
import { directory, folder } from "./setting.ts";

const CACHE_BYTES = 64 << 20;
const MINUTE_MS = 60_000;
const DOCUMENTS = 1_000;
/** Below so much of a budget it says too much. */
const SPARE = 0.8;
const SIZE = 64;
const encoder = new TextEncoder();

const note = `schema note {
  document note {
    field title type string { indexing: summary | index }
    field year type int { indexing: summary | attribute }
    field vec type tensor<float>(x[${SIZE}]) { indexing: summary | attribute
      attribute { distance-metric: angular } }
  }
  fieldset default { fields: title }
  rank-profile default { first-phase { expression: bm25(title) } }
  rank-profile near { inputs { query(q) tensor<float>(x[${SIZE}]) }
    first-phase { expression: closeness(field, vec) } }
  rank-profile hybrid { inputs { query(q) tensor<float>(x[${SIZE}]) }
    first-phase { expression: bm25(title) + closeness(field, vec) } }
}`;

/** A repeatable stream of numbers from 0 to 1. */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return (state >>> 8) / 2 ** 24;
  };
}

function vectorText(next: () => number): string {
  return JSON.stringify(Array.from({ length: SIZE }, () => Number((next() + next() + next() - 1.5).toFixed(4))));
}

const word = (next: () => number): string => `word${Math.floor(1_000 * next() ** 3)}`;

/** What a search cost. */
type Costs = Readonly<Record<"blocks" | "kilobytesScanned" | "kilobytesRead" | "calls", number>>;
type Budget = Readonly<Record<string, Costs>>;

const file = new URL("budget.json", import.meta.url);
const budget = JSON.parse(readFileSync(file, "utf8")) as Budget;

/** An open cluster whose core counts what is called. */
function counted(path: string): { readonly cluster: LocalCluster; readonly core: Core; readonly calls: () => number } {
  let calls = 0;
  const counting = <Made extends object>(made: Made): Made =>
    new Proxy(made, {
      get(target, name) {
        const value = Reflect.get(target, name, target) as unknown;
        if (typeof value !== "function") return value;
        return (...given: readonly unknown[]) => {
          calls += 1;
          const result: unknown = value.apply(target, given);
          // Queries and tasks are called as well.
          const isOpened = (name === "query" || name === "open") && typeof result === "object" && result !== null;
          return isOpened ? counting(result) : result;
        };
      },
    });
  const cores: Core[] = [];
  const makeEngine = (): Core => {
    const core = new Core({
      instantiate: () => {
        const raw = instantiate();
        const made: ProxyHandler<typeof raw.Core> = {
          construct: (Made, given) => counting(new Made(...(given as ConstructorParameters<typeof Made>))),
        };
        return { memory: raw.memory, Core: new Proxy(raw.Core, made) };
      },
      cacheBytes: CACHE_BYTES,
    });
    cores.push(core);
    return core;
  };
  const cluster = new LocalCluster({ storage: directory(path), makeEngine, surroundings: nodeSurroundings });
  onTestFinished(() => cluster.close());
  return { cluster, core: cores[0] as Core, calls: () => calls };
}

/** Puts the documents at a time, so that they become one segment however busy the machine is. */
async function put(cluster: LocalCluster): Promise<void> {
  const next = random(7);
  const puts = Array.from({ length: DOCUMENTS }, (_, at) => {
    const title = Array.from({ length: 12 }, () => word(next)).join(" ");
    const fields = { title, year: 1990 + (at % 40), vec: JSON.parse(vectorText(next)) as unknown };
    const body = encoder.encode(JSON.stringify({ fields }));
    const request = { kind: "put", rawPath: "", id: idOf(`n${at}`, "g"), create: false, condition: "", body } as const;
    return cluster.partition("g:g").apply(request, MINUTE_MS);
  });
  for (const { status } of await Promise.all(puts)) expect(status).toBe(200);
}

function searches(): Readonly<Record<string, SearchRequest>> {
  const next = random(11);
  const nearest = "({targetHits: 11}nearestNeighbor(vec, q))";
  const asked = (where: string, profile: string): SearchRequest => ({
    properties: Object.entries({
      yql: `select year from note where ${where}`,
      "ranking.profile": profile,
      "streaming.groupname": "g",
      "input.query(q)": vectorText(next),
      words: `${word(next)} ${word(next)}`,
      timeout: "30s",
    }),
    body: new Uint8Array(),
  });
  return {
    near: asked(nearest, "near"),
    "near, filter of 10 %": asked(`${nearest} and year < 1994`, "near"),
    words: asked("userInput(@words)", "default"),
    hybrid: asked(`userInput(@words) or ${nearest}`, "hybrid"),
    "sorted by a number": asked("true order by year desc", "unranked"),
  };
}

test("searches of a thousand documents cost what they may", async () => {
  const path = join(folder(), "data");
  const feeding = counted(path);
  await feeding.cluster.deploy(packageOf({ note }));
  await put(feeding.cluster);
  await feeding.cluster.idle();
  await feeding.cluster.close();
  const found: Record<string, Costs> = {};
  for (const [name, request] of Object.entries(searches())) {
    // Each finds nothing in memory; the second time all of it is there.
    const { cluster, core, calls } = counted(path);
    const blocks = (): number => Number(core.statistics()["hits"]) + Number(core.statistics()["misses"]);
    const cold = await searchOnce(cluster, request, MINUTE_MS);
    expect(cold.status, `${name}: ${new TextDecoder().decode(cold.body)}`).toBe(200);
    const [before, called] = [blocks(), calls()];
    const warm = await searchOnce(cluster, request, MINUTE_MS);
    const made = calls() - called;
    expect(warm.body, name).toEqual(cold.body);
    expect(warm.bytesRead, name).toBe(0);
    const kilobytes = (bytes: number): number => Math.ceil(bytes / 1_000);
    found[name] = {
      blocks: blocks() - before,
      kilobytesScanned: kilobytes(warm.bytesScanned),
      kilobytesRead: kilobytes(cold.bytesRead),
      calls: made,
    };
    await cluster.close();
  }
  const wrong = Object.entries(found).flatMap(([name, costs]) =>
    Object.entries(costs).flatMap(([what, cost]) => {
      const most = budget[name]?.[what as keyof Costs] ?? 0;
      return cost <= most && cost >= Math.floor(SPARE * most) ? [] : [`${name}: ${cost} ${what}, not ${most}`];
    }),
  );
  expect(wrong, `as found: ${JSON.stringify(found)}`).toEqual([]);
});
