/**
 * Answers do not depend on how many partitions a group is in: the recorded conversations over groups of four shards, some of them with one
 * more type in the application, come to the bytes that groups of one partition give, and so do visits and removals of all documents
 * of a type. That the answers are right is asserted elsewhere.
 */
import { isDeepStrictEqual } from "node:util";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import type { Cluster, Visit, VisitPosition } from "../src/cluster.ts";
import { conversationFiles, type Recorded, recordedIn, runsOf, type Step } from "./conversation-rows.ts";
import {
  type House,
  localHouse,
  type Outcome,
  objectHouse,
  removed,
  slowClocks,
  Talk,
  visitOf,
  withoutNames,
} from "./conversation-talk.ts";
import { besideOther, restricted, typesOf } from "./other-type.ts";

const MINUTE_MS = 60_000;
/** Of the conversations every so many is held; `BROOKLET_SHARDS=1` holds all. */
const STRIDE = Number(process.env["BROOKLET_SHARDS"] ?? 7);
const HELD_MIN = 40;
const START: VisitPosition = { partition: 0, after: "" };
const BOUNDS = { documentsMax: 2, bytesMax: 1 << 20 };

const decoder = new TextDecoder();
const all = recordedIn(conversationFiles()).filter(({ conversation }) => (conversation.steps?.length ?? 0) > 0);
const held = all.filter((_, index) => index % STRIDE === 0);
const count = { divided: 0, compared: 0, apart: 0 };

beforeAll(() => {
  slowClocks();
});

afterAll(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

test("there are conversations", () => {
  expect(held.length).toBeGreaterThanOrEqual(HELD_MIN);
});

test.each(held.map((recorded, index) => ({ about: recorded.about, recorded, index })))(
  "$about",
  async ({ recorded, index }) => {
    const hasOther = index % 3 === 0;
    const own = hasOther ? restricted(recorded) : recorded;
    const other = { name: "a0", turn: index, clusters: ["first"], mode: "streaming" } as const;
    const [types, folded] = [typesOf(recorded), index % 2 === 0];
    const whole = await outcomes(own, { types, folded, isDivided: false, inObjects: false });
    // Objects run no models.
    const inObjects = index % 4 === 1 && runsOf(recorded).length === 0;
    const several = hasOther ? besideOther(own, other) : own;
    const inShards = await outcomes(several, { types, folded, isDivided: true, inObjects });
    expect(inShards.length).toBe(whole.length);
    for (const [at, outcome] of inShards.entries()) {
      const step = own.conversation.steps[at];
      const isApart = step !== undefined && !isDeepStrictEqual(outcome, whole[at]) && isOther(step, outcome);
      if (!isApart) expect(outcome, JSON.stringify(step)).toEqual(whole[at]);
      count[isApart ? "apart" : "compared"] += 1;
    }
  },
);

test("groups were in shards, and hardly any answer is another one", () => {
  expect(count.divided).toBeGreaterThan(held.length / 2);
  expect(count.compared).toBeGreaterThan(4 * held.length);
  expect(count.apart).toBeLessThan(count.compared / 50);
});

/** Whether an answer may be another one, and is: these are all the reasons. */
function isOther({ search, scoped }: Step, [status]: Outcome): boolean {
  // Why a document is no hit would have to be told of what is in other shards (0079).
  if (JSON.stringify(search ?? {}).includes("explain.id") && status === 400) return true;
  // No host sends a query of all groups to one of them. The home refuses it; shards answer parts, of which each group is one.
  return scoped === false && status === 200;
}

interface Setting {
  readonly types: readonly string[];
  readonly folded: boolean;
  readonly isDivided: boolean;
  readonly inObjects: boolean;
}

/** What the steps of a conversation come to, and then visits and the removal of each of the types. */
async function outcomes(recorded: Recorded, setting: Setting): Promise<readonly Outcome[]> {
  const { types, folded, isDivided, inObjects } = setting;
  let house: House | undefined;
  const talk = new Talk(
    async (makeEngine) => {
      house = await (inObjects ? objectHouse(makeEngine) : localHouse(makeEngine, runsOf(recorded)));
      return house;
    },
    { isDivided },
  );
  const found = [...(await talk.hold(recorded, folded))];
  count.divided += talk.divided.size;
  if (house !== undefined) {
    for (const type of types) found.push([200, await visited(house.cluster, visitOf(type, ""))]);
    for (const type of types) found.push([200, await visited(house.cluster, visitOf(type, type))]);
    for (const type of types) found.push([200, await removed(house.cluster, type)]);
    for (const type of types) found.push([200, await visited(house.cluster, visitOf(type, ""))]);
  }
  await talk.close();
  return found.map(withoutNames);
}

/** The documents of a visit, in an order of their own: that of groups is the cluster's. */
async function visited(cluster: Cluster, visit: Visit): Promise<string> {
  const lines: string[] = [];
  for (let bucket = 0; bucket < cluster.buckets; bucket += 1) {
    for (let from: VisitPosition | undefined = START; from !== undefined; ) {
      const page = await cluster.visit(visit, { ...BOUNDS, bucket, from }, MINUTE_MS);
      lines.push(...decoder.decode(page.body).split("\n"));
      from = page.next;
    }
  }
  return lines.sort().join("\n").trim();
}
