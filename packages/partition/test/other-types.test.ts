/**
 * What is asked of one type does not depend on which others are deployed: the recorded conversations, in an application
 * with one more type, whose fields, profiles and summaries have the same names and mean something else, come to the same
 * bytes; so do visits and removals of all documents of a type. That the answers are right is asserted elsewhere.
 */
import { Core, type EmbeddingWanted, instantiate } from "@brooklet/core";
import { memoryStorage } from "@brooklet/store";
import { beforeAll, expect, onTestFinished, test, vi } from "vitest";
import type { VisitPosition } from "../src/cluster.ts";
import { LocalCluster } from "../src/local-cluster.ts";
import { nodeSurroundings } from "../src/node/surroundings.ts";
import { searchOnce } from "../src/query/cluster-query.ts";
import { conversationFiles, feedOf, type Recorded, recordedIn, runsOf } from "./conversation-rows.ts";
import {
  type House,
  localHouse,
  type Outcome,
  removed,
  slowClocks,
  Talk,
  visitOf,
  withoutNames,
} from "./conversation-talk.ts";
import { packageOf } from "./core-setting.ts";
import { besideOther, type Other, restricted, typesOf } from "./other-type.ts";
import { openSql } from "./setting.ts";

const MINUTE_MS = 60_000;
/** Of the conversations every so many is held; `BROOKLET_OTHER_TYPES=1` holds all. */
const STRIDE = Number(process.env["BROOKLET_OTHER_TYPES"] ?? 3);
const HELD_MIN = 50;
const WHERES: readonly Other[] = [
  { name: "a0", turn: 0, clusters: ["first"], mode: "streaming" },
  { name: "zz", turn: 5, clusters: ["first"], mode: "streaming" },
  { name: "a0", turn: 10, clusters: ["own"], mode: "streaming" },
  { name: "a0", turn: 2, clusters: ["first", "own"], mode: "streaming" },
  { name: "a0", turn: 7, clusters: ["first"], mode: "store-only" },
];

const START: VisitPosition = { partition: 0, after: "" };
const STEP = { bucket: 0, documentsMax: 2, bytesMax: 1 << 20 };

const decoder = new TextDecoder();
const all = recordedIn(conversationFiles()).filter(({ conversation }) => (conversation.steps?.length ?? 0) > 0);
const held = all.filter((_, index) => index % STRIDE === 0);

beforeAll(() => {
  slowClocks();
  return () => {
    vi.useRealTimers();
    vi.restoreAllMocks();
  };
});

test("there are conversations", () => {
  expect(held.length).toBeGreaterThanOrEqual(HELD_MIN);
});

test.each(held.map((recorded, index) => ({ about: recorded.about, recorded, index })))(
  "$about",
  async ({ recorded, index }) => {
    const own = restricted(recorded);
    const types = typesOf(recorded);
    const other = WHERES[index % WHERES.length] as Other;
    const beside = besideOther(own, other);
    const talks = index % 4 === 0 ? [withoutSteps(own), onlyOf(beside, other.name)] : [beside];
    expect(await outcomes(talks, types, index % 3 === 0)).toEqual(await outcomes([own], types, false));
  },
);

test("only texts that a searched type has embedded are", async () => {
  const schema = (name: string, size: number): string => `schema ${name} { document ${name} {
    field v type tensor<float>(x[${size}]) { indexing: attribute\n attribute { distance-metric: dotproduct } }
  }
  rank-profile default {
    inputs { query(q) tensor<float>(x[${size}]) }
    first-phase { expression: sum(query(q) * attribute(v)) }
  } }`;
  const asked: EmbeddingWanted[] = [];
  const cluster = new LocalCluster({
    storage: memoryStorage(openSql),
    makeEngine: () => new Core({ instantiate, cacheBytes: 16 << 20 }),
    surroundings: nodeSurroundings,
    embedder: {
      embed: (wanted) => {
        asked.push(...wanted);
        return Promise.resolve(wanted.map(({ values }) => ({ shape: "vector", values: new Float32Array(values) })));
      },
      close: () => Promise.resolve(),
    },
  });
  onTestFinished(() => cluster.close());
  await cluster.deploy(packageOf({ a: schema("a", 9), item: schema("item", 2), z: schema("z", 5) }));
  const search = async (yql: string, ...more: readonly (readonly [string, string])[]): Promise<readonly number[]> => {
    asked.length = 0;
    const properties = [
      ["yql", yql],
      ["input.query(q)", "embed(e, 'x')"],
      ["streaming.groupname", "g"],
      ...more,
    ] as const;
    const { status, body } = await searchOnce(cluster, { properties, body: new Uint8Array(), accept: "" }, MINUTE_MS);
    expect(status, decoder.decode(body)).toBe(200);
    return asked.map(({ values }) => values);
  };
  expect(await search("select * from item where true")).toEqual([2]);
  expect(await search("select * from sources * where true", ["model.restrict", "item,z"])).toEqual([2, 5]);
  expect(await search("select * from sources * where true", ["model.sources", "z"])).toEqual([5]);
  expect(await search("select * from sources * where true")).toEqual([2, 5, 9]);
});

/** Its application and its feed. */
function withoutSteps(recorded: Recorded): Recorded {
  return { ...recorded, conversation: { ...recorded.conversation, steps: [] } };
}

/** Of its feed only what is of one type. */
function onlyOf(recorded: Recorded, type: string): Recorded {
  const feed = feedOf(recorded.file).filter(({ put }) => put?.split(":")[2] === type);
  return { ...recorded, file: { ...recorded.file, feed } };
}

/** What the steps of a conversation come to, and then visits and the removal of each of the types. Several are held one after the other. */
async function outcomes(
  talks: readonly Recorded[],
  types: readonly string[],
  folded: boolean,
): Promise<readonly Outcome[]> {
  let house: House | undefined;
  const talk = new Talk((makeEngine) => {
    house = localHouse(makeEngine, talks.flatMap(runsOf));
    return house;
  });
  const found: Outcome[] = [];
  for (const recorded of talks) found.push(...(await talk.hold(recorded, folded)));
  for (const type of types) found.push([200, await visited(house, type, "")], [200, await visited(house, type, type)]);
  if (house !== undefined) for (const type of types) found.push([200, await removed(house.cluster, type)]);
  await talk.close();
  return found.map(withoutNames);
}

async function visited(house: House | undefined, type: string, selection: string): Promise<string> {
  let [from, text]: [VisitPosition | undefined, string] = [START, ""];
  while (from !== undefined && house !== undefined) {
    const page = await house.cluster.visit(visitOf(type, selection), { ...STEP, from }, MINUTE_MS);
    text += decoder.decode(page.body);
    from = page.next;
  }
  return text;
}
