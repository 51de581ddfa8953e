/**
 * All recorded conversations with a cluster over an object store, an S3 service where one is installed: every answer has the status and
 * the bytes of a cluster in this thread, whose answers are those recorded. Those that follow one another with the same application are
 * held with one cluster, of which what was written is erased in between; that in this thread is another each time.
 */
import { randomUUID } from "node:crypto";
import type { Core } from "@brooklet/core";
import { nodeSurroundings } from "@brooklet/partition/node";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import {
  applicationOf,
  conversationFiles,
  modelRunner,
  type Recorded,
  type Run,
  recordedIn,
  runsOf,
} from "../../partition/test/conversation-rows.ts";
import { type House, localHouse, Talk } from "../../partition/test/conversation-talk.ts";
import { memoryObjectStore, ObjectMemory } from "../src/memory.ts";
import type { ObjectStore } from "../src/object-store.ts";
import { openObjectStoreCluster } from "../src/object-store-cluster.ts";
import { s3ObjectStore } from "../src/s3.ts";
import { REQUIRED, startS3, versitygw } from "./servers.ts";
import { openMemory } from "./setting.ts";

/** The time of all hosts. */
const NOW_MS = 1_790_000_000_000;
/** That of this machine, which the service looks at. */
const RealDate = Date;
let server: Awaited<ReturnType<typeof startS3>> | undefined;
let clockMs = 0;

beforeAll(async () => {
  if (REQUIRED || versitygw() !== undefined) server = await startS3();
  vi.spyOn(performance, "now").mockImplementation(() => {
    clockMs += 1e-9;
    return clockMs;
  });
});
afterAll(async () => {
  await shared?.talk.close();
  vi.restoreAllMocks();
  await server?.stop();
});

function newStore(): ObjectStore {
  if (server === undefined) return memoryObjectStore(new ObjectMemory());
  return s3ObjectStore({ ...server.options, prefix: randomUUID(), now: () => new RealDate() });
}

async function sharedHouse(makeEngine: () => Core, runs: readonly Run[]): Promise<House> {
  const cluster = await openObjectStoreCluster({
    store: newStore(),
    makeEngine,
    surroundings: nodeSurroundings,
    openCache: openMemory,
    modelRunner: modelRunner(runs),
    buckets: 1,
  });
  return { cluster, fold: (key) => cluster.maintain(key) };
}

const talks = recordedIn(conversationFiles());

/** The talk that goes on, and the application and runs that it has. */
let shared: { readonly about: string; readonly talk: Talk } | undefined;

async function sharedTalk(recorded: Recorded, runs: readonly Run[]): Promise<Talk> {
  const files = [...applicationOf(recorded)].map(([path, bytes]) => [path, Buffer.from(bytes).toString("base64")]);
  const about = JSON.stringify([files, runs]);
  if (shared?.about !== about) {
    await shared?.talk.close();
    shared = { about, talk: new Talk((makeEngine) => sharedHouse(makeEngine, runs)) };
  }
  return shared.talk;
}

test.each(talks)("$about", async (recorded) => {
  const runs = runsOf(recorded);
  vi.useFakeTimers({ toFake: ["Date"], now: NOW_MS });
  try {
    for (const folded of [false, true]) {
      const local = new Talk((makeEngine) => localHouse(makeEngine, runs));
      const expected = await local.hold(recorded, folded);
      await local.close();
      const talk = await sharedTalk(recorded, runs);
      expect(await talk.hold(recorded, folded)).toEqual(expected);
      await talk.erase(recorded);
    }
  } finally {
    vi.useRealTimers();
  }
});
