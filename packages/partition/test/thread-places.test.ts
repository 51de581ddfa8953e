/** What threads keep of a query that is over: nothing, whenever it ended. */
import type { FloorBytes, Merged, Query, QueryBytes } from "@brooklet/core";
import { expect, test } from "vitest";
import type { BucketHost } from "../src/bucket-host.ts";
import type { SearchStep } from "../src/cluster.ts";
import type { Correspondent } from "../src/correspondent.ts";
import { LANE_LIMITS, Lane } from "../src/query/lane.ts";
import { OpenQueries, type SentQuery } from "../src/query/open-queries.ts";
import type { SearchStage } from "../src/query/open-search.ts";
import { ThreadPlaces } from "../src/query/thread-places.ts";
import { pause } from "./pause.ts";

const WAITING = { timeoutMs: 60_000, startMs: 0, gone: undefined };
const GIVEN = { outputs: [] };
const STEP: SearchStep = { bucket: 0, floor: new Uint8Array() as FloorBytes };
const MERGED = { partial: new Uint8Array(), floor: new Uint8Array(), over: false } as unknown as Merged;
const MODELS = { kind: "models", runs: [] } as unknown as SearchStage;

/** A thread with one place, and the queries that are open in it. Its answers wait for `answer`. */
function thread(answer: () => Promise<void> = async () => undefined) {
  const open = new Set<Query>();
  const lane = new Lane({ ...LANE_LIMITS, running: 1, runningMost: 1 });
  const query = (): Query => {
    const opened: Partial<Query> = { [Symbol.dispose]: () => open.delete(opened as Query) };
    open.add(opened as Query);
    return opened as Query;
  };
  const search = { goOn: () => answer().then(() => MODELS), [Symbol.dispose]: () => undefined };
  const host = {
    query,
    partition: () => ({ search: () => search }),
    searchBucket: () => answer().then(() => MERGED),
  } as unknown as BucketHost;
  const queries = new OpenQueries(host);
  const call = async (name: string, packed: (by: unknown) => unknown): Promise<unknown> => {
    const given = packed({ copy: (bytes: Uint8Array) => bytes });
    if (name === "forget") return queries.forget(given as number);
    const { query: sent, step } = given as { query: SentQuery; step: SearchStep };
    return name === "search"
      ? await queries.search("g:a", sent, WAITING)
      : await queries.searchBucket(sent, step, WAITING);
  };
  return { open, lane, thread: { lane, call } as unknown as Correspondent };
}

const placesOf = (): ThreadPlaces => new ThreadPlaces(1, new Uint8Array() as QueryBytes);

test("a query that is over is not sent to a thread in which it waited for a place", async () => {
  const { open, lane, thread: busy } = thread();
  for (const end of ["step", "search"] as const) {
    expect(lane.enter()).toBeUndefined();
    const places = placesOf();
    const asked =
      end === "step"
        ? places.searchBucket(busy, STEP, GIVEN, WAITING)
        : places.searchPartition(busy, "g:a", GIVEN, WAITING).goOn();
    places.forget();
    lane.leave();
    await expect(asked).rejects.toMatchObject({ code: "UNAVAILABLE" });
    expect([end, open.size, lane.running]).toEqual([end, 0, 0]);
  }
});

test("a query that ends while a thread is at it is let go of there", async () => {
  for (const end of ["step", "search"] as const) {
    const held = pause();
    const { open, thread: busy } = thread(held.wait);
    const places = placesOf();
    const asked =
      end === "step"
        ? places.searchBucket(busy, STEP, GIVEN, WAITING)
        : places.searchPartition(busy, "g:a", GIVEN, WAITING).goOn();
    await held.reached;
    expect(open.size).toBe(1);
    places.forget();
    held.goOn();
    await asked;
    expect([end, open.size]).toEqual([end, 0]);
  }
});
