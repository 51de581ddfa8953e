/**
 * Everything that a database over an object store does, at once, while everything goes wrong that can: servers are killed, stopped for longer
 * than anybody waits, cut off, have clocks that are minutes apart; requests are late, lost, done twice, refused; the store is killed. Over a
 * store in memory with servers of this process, which is fast, and over an S3 service and PostgreSQL with processes.
 *
 * BROOKLET_FLEET_STEPS asks for more operations (200 of each store), BROOKLET_FLEET_SERVERS for more servers (3), BROOKLET_SEED makes
 * other choices than those of each run.
 */
import { join } from "node:path";
import process from "node:process";
import { expect, test } from "vitest";
import { freePort } from "../../../tools/free-port.mjs";
import type { Running } from "../../object-store/test/servers.ts";
import { openCluster } from "../../object-store/test/setting.ts";
import { storeAt } from "../src/command/store.ts";
import { serve } from "../src/index.ts";
import {
  forkStore,
  memoryObjectStore,
  ObjectMemory,
  type ObjectStore,
  removeSnapshot,
  takeSnapshot,
} from "../src/object-store.ts";
import { MemoryServers, SharedMemory } from "./fleet-memory.ts";
import { filesWith, GROUPS, marksIn, World } from "./fleet-world.ts";
import { randomFrom } from "./history-documents.ts";
import { type Reached, testReached } from "./object-store-reached.ts";
import { Pace, Servers, Trouble, type Troubled } from "./object-store-trouble.ts";
import { type Asking, asking, folder, serveWith, writeFiles } from "./served.ts";

const STEPS = Number(process.env["BROOKLET_FLEET_STEPS"] ?? 200);
const SERVERS = Number(process.env["BROOKLET_FLEET_SERVERS"] ?? 3);
const SEED = Number(process.env["BROOKLET_SEED"] ?? 20_261_130);
const CLIENTS = 6;
/** Steps between two starts of all servers, and between two that go wrong, more or less. */
const LIFE_STEPS = 150;
const FAULT_STEPS = 15;
const SKEW_MS = 4 * 60_000;
const CLOCK = new URL("skewed-clock.mjs", import.meta.url).href;
const timeout = 600_000 + STEPS * 200;

/** Servers, and what is known of their store. */
interface Fleet {
  readonly servers: Troubled & {
    readonly running: readonly { readonly ask: Asking }[];
    beginAll(): Promise<void>;
    killAll(): Promise<void>;
  };
  readonly store: Pick<Running, "kill" | "start">;
  /** The store, past whatever lies between it and servers. */
  readonly direct: () => Promise<ObjectStore>;
  /** Has everything come that is late. */
  readonly deliver: () => void;
}

/** A fork of a snapshot that is taken now. */
async function forkOf(source: ObjectStore): Promise<{ readonly ask: Asking; readonly close: () => Promise<void> }> {
  const { id } = await takeSnapshot(source);
  const target = memoryObjectStore(new ObjectMemory());
  await forkStore(source, target, { snapshot: id });
  await removeSnapshot(source, id);
  await source.close?.();
  const fork = await serve({ store: target, port: 0 });
  return { ask: asking(fork.port), close: () => fork.close() };
}

async function run({ servers, store, direct, deliver }: Fleet): Promise<World> {
  const random = randomFrom(SEED);
  const any = (): Asking => {
    const there = servers.running;
    return there[random(there.length)]?.ask ?? (() => Promise.reject(new Error("no server runs")));
  };
  const world = new World(random, any);
  const pace = new Pace();
  const trouble = new Trouble(random, pace, servers, store, async () => {
    await world.readFork(async () => forkOf(await direct()));
  });
  for (let life = 0; pace.steps < STEPS; life += 1) {
    await servers.beginAll();
    if (life === 0) await world.begin();
    await world.takeOver();
    const until = Math.min(pace.steps + LIFE_STEPS, STEPS);
    const client = async (): Promise<void> => {
      while (pace.steps < until) {
        await pace.step();
        await world.step();
      }
    };
    await Promise.all([trouble.run(until, FAULT_STEPS), ...Array.from({ length: CLIENTS }, client)]);
    // What is late comes while those who sent it live, or are gone.
    if (life % 2 === 0) deliver();
    await servers.killAll();
  }
  await servers.beginAll();
  await world.takeOver();
  trouble.deliverAll();
  deliver();
  await world.readAll(servers.running.map(({ ask }) => ask));
  console.log(`seed ${SEED}: ${pace.steps} steps, ${JSON.stringify({ ...trouble.reached, ...world.counts })}`);
  expect(trouble.happened).toBeGreaterThan(0);
  expect(world.counts.write + world.counts.feed).toBeGreaterThan(STEPS / 8);
  expect(world.counts.get + world.counts.query + world.counts.visit).toBeGreaterThan(STEPS / 8);
  return world;
}

test(`a store in memory and ${SERVERS} servers of this process (seed ${SEED})`, { timeout }, async () => {
  const memory = new ObjectMemory();
  const store = new SharedMemory(memory);
  const servers = new MemoryServers(randomFrom(SEED + 1), store, SERVERS);
  const first = await serve({
    store: memoryObjectStore(memory),
    application: writeFiles(join(folder(), "application"), filesWith([])),
    buckets: 3,
    port: 0,
  });
  await first.close();
  const direct = async (): Promise<ObjectStore> => memoryObjectStore(memory);
  const world = await run({ servers, store, direct, deliver: () => store.deliver() }).catch((error: unknown) => {
    console.log(servers.defects());
    throw error;
  });
  for (const line of servers.relays) line.isCalm = true;
  await world.eraseAll();
  await servers.killAll();
  // Whatever still comes is removed by who owns the buckets; nothing that was erased is left.
  store.deliver();
  const { cluster } = await openCluster(memoryObjectStore(memory));
  for (const group of GROUPS) await cluster.erase(`g:${group}`);
  await cluster.removeStrayFiles();
  const left = [
    ...[...memory.files].map(([name, bytes]) => [name, bytes] as const),
    ...[...memory.places].flatMap(([log, places]) =>
      [...places].map(([at, bytes]) => [`${log} ${at}`, bytes] as const),
    ),
  ].filter(([, bytes]) => marksIn(bytes).length > 0);
  expect(left.map(([name, bytes]) => [name, marksIn(bytes)])).toEqual([]);
  expect(servers.defects()).toEqual([]);
});

/** Processes over a real store. */
async function runProcesses({ store, port, at }: Reached): Promise<void> {
  const application = writeFiles(join(folder(), "application"), filesWith([]));
  const first = at(port);
  const made = await serve({ store: await storeAt(first.address, first.environment), application, port: 0 });
  await made.close();
  const peers = async (): Promise<readonly string[]> =>
    SEED % 2 === 0 ? ["--peer-address", `http://127.0.0.1:${await freePort()}`] : [];
  const ports: number[] = [];
  const servers = await Servers.over(port, SERVERS, async (near) => {
    if (!ports.includes(near)) ports.push(near);
    const { address, environment } = at(near);
    const skew = { BROOKLET_SKEW_MS: String((ports.indexOf(near) - 1) * SKEW_MS), NODE_OPTIONS: `--import=${CLOCK}` };
    return serveWith({ ...environment, ...skew }, "unused", "--store", address, ...(await peers()));
  });
  const direct = (): Promise<ObjectStore> => storeAt(first.address, first.environment);
  try {
    await run({ servers, store, direct, deliver: () => undefined });
  } finally {
    await servers.close();
  }
}

testReached(`processes, ${SERVERS} of them (seed ${SEED})`, { folder: "fleet", timeout }, runProcesses);
