/**
 * Several gateways over one store whose requests are late, lost before or after they worked; gateways that are stopped and begun
 * anew. Clients change documents on the condition of what they read: of each value there is one successor, a read is never older than
 * what was acknowledged before it began, and at the end everything acknowledged is there. Snapshots of the store are taken and removed at
 * any moment: a fork of one has what was acknowledged before it was taken, and nothing that never was.
 *
 * BROOKLET_SEED repeats a run, BROOKLET_STEPS makes it longer (600).
 */
import { expect, test } from "vitest";
import { forkStore } from "../src/fork.ts";
import { memoryObjectStore, ObjectMemory } from "../src/memory.ts";
import type { ObjectStoreCluster } from "../src/object-store-cluster.ts";
import { removeSnapshot, takeSnapshot } from "../src/store-snapshot.ts";
import { get, NOTE, openCluster, packageOf, put } from "./setting.ts";

const SEED = Number(process.env["BROOKLET_SEED"] ?? Math.floor(Math.random() * 2 ** 31));
const STEPS = Number(process.env["BROOKLET_STEPS"] ?? 600);
const GATEWAYS = 3;
const CLIENTS = 6;
const GROUPS = 4;
const DOCUMENTS = 3;

function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** A store whose requests go wrong, and those of them that are still to arrive though nobody waits for them. */
function faultyStore(
  memory: ObjectMemory,
  random: () => number,
  late: Set<Promise<void>>,
): ReturnType<typeof memoryObjectStore> {
  const sleep = (milliseconds: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, milliseconds));
  return memoryObjectStore(memory, async (work) => {
    const fate = random();
    if (fate < 0.03) throw new Error("lost on its way");
    if (fate < 0.5) await sleep(3 * random());
    // It arrives after its sender gave up.
    if (fate > 0.985) {
      const arrival = sleep(30 * random()).then(() => {
        late.delete(arrival);
        work();
      });
      late.add(arrival);
      throw new Error("late");
    }
    const result = work();
    if (fate > 0.95) throw new Error("its answer is lost");
    return result;
  });
}

/** Has the last gateway own everything and remove what the others left; then all that is stored is named. How much was left. */
async function strayOf(last: ObjectStoreCluster, memory: ObjectMemory): Promise<number> {
  for (let group = 0; group < GROUPS; group += 1)
    for (let name = 0; name < DOCUMENTS; name += 1)
      await put(last, `group${group}`, `d${name}`, { title: "the last note", seen: 0 });
  const before = memory.files.size;
  const removed = await last.removeStrayFiles();
  expect(await last.removeStrayFiles(), "nothing is left").toBe(0);
  await last.close();
  const { cluster: reader } = await openCluster(memoryObjectStore(memory));
  for (let group = 0; group < GROUPS; group += 1)
    for (let name = 0; name < DOCUMENTS; name += 1)
      expect(await get(reader, `group${group}`, `d${name}`)).toEqual({ title: "the last note", seen: 0 });
  expect(removed).toBeLessThanOrEqual(before);
  return removed;
}

/** A snapshot, and what had been acknowledged when it was begun. */
interface Taken {
  readonly id: string;
  readonly acknowledged: ReadonlyMap<string, number>;
}

/** Looks at forks of snapshots: each document is between what was acknowledged before and what it came to be. */
async function lookAtForks(
  memory: ObjectMemory,
  taken: readonly Taken[],
  last: ReadonlyMap<string, number>,
): Promise<void> {
  for (const { id, acknowledged } of taken) {
    const target = new ObjectMemory();
    await forkStore(memoryObjectStore(memory), memoryObjectStore(target), { snapshot: id });
    const { cluster, problems } = await openCluster(memoryObjectStore(target));
    for (const [place, least] of acknowledged) {
      const [group, name] = place.split(" ") as [string, string];
      const { seen } = (await get(cluster, group, name)) as { readonly seen: number };
      expect(seen, `${place} of a fork is not older than what was acknowledged before`).toBeGreaterThanOrEqual(least);
      expect(seen, `${place} of a fork is what it once was`).toBeLessThanOrEqual(last.get(place) ?? 0);
    }
    await cluster.close();
    expect(problems).toEqual([]);
  }
}

interface Known {
  /** The newest value that was acknowledged to somebody. */
  acknowledged: number;
  /** Who made each value of the one before: there may be one. */
  readonly successors: Map<number, number>;
}

test(`several gateways are as one (seed ${SEED})`, async () => {
  const random = randomFrom(SEED);
  const memory = new ObjectMemory();
  const { cluster: first } = await openCluster(memoryObjectStore(memory));
  await first.deploy(packageOf({ note: NOTE }));
  await first.close();
  const late = new Set<Promise<void>>();
  const opened: ObjectStoreCluster[] = [];
  const open = async (): Promise<ObjectStoreCluster> => {
    const { cluster } = await openCluster(faultyStore(memory, random, late));
    opened.push(cluster);
    return cluster;
  };
  const clusters = await Promise.all(Array.from({ length: GATEWAYS }, open));
  const known = new Map<string, Known>();
  const reached = {
    changed: 0,
    refused: 0,
    unknown: 0,
    failed: 0,
    restarts: 0,
    sweeps: 0,
    stray: 0,
    snapshots: 0,
    removals: 0,
  };
  const taken: Taken[] = [];
  let steps = 0;

  const read = async (cluster: ObjectStoreCluster, group: string, name: string): Promise<number | undefined> => {
    const state = known.get(`${group} ${name}`) as Known;
    const before = state.acknowledged;
    try {
      const fields = (await get(cluster, group, name)) as { readonly seen: number } | undefined;
      const seen = fields?.seen ?? 0;
      expect(seen, "a read is not older than what was acknowledged before it").toBeGreaterThanOrEqual(before);
      state.acknowledged = Math.max(state.acknowledged, seen);
      return seen;
    } catch (error) {
      if (error instanceof Error && error.name === "AssertionError") throw error;
      reached.failed += 1;
      return undefined;
    }
  };
  const step = async (): Promise<void> => {
    const index = Math.floor(random() * GATEWAYS);
    const cluster = clusters[index] as ObjectStoreCluster;
    const [group, name] = [`group${Math.floor(random() * GROUPS)}`, `d${Math.floor(random() * DOCUMENTS)}`];
    const place = `${group} ${name}`;
    const state = known.get(place) ?? { acknowledged: 0, successors: new Map() };
    known.set(place, state);
    if (random() < 0.01) {
      reached.restarts += 1;
      clusters[index] = await open();
      // Whoever is at work on the one before goes on, and does not know.
      if (random() < 0.5) void cluster.close().catch(() => undefined);
      return;
    }
    if (random() < 0.01) {
      reached.sweeps += 1;
      await cluster.removeStrayFiles().catch(() => undefined);
      return;
    }
    if (random() < 0.01) {
      const acknowledged = new Map([...known].map(([of, { acknowledged: least }]) => [of, least]));
      reached.snapshots += 1;
      taken.push({ id: (await takeSnapshot(faultyStore(memory, random, late))).id, acknowledged });
      return;
    }
    if (random() < 0.005 && taken.length > 0) {
      reached.removals += 1;
      const [one] = taken.splice(Math.floor(random() * taken.length), 1);
      await removeSnapshot(faultyStore(memory, random, late), one?.id ?? "");
      return;
    }
    const seen = await read(cluster, group, name);
    if (seen === undefined || random() < 0.3) return;
    const condition = seen === 0 ? "not note" : `note.seen == ${seen}`;
    const id = steps;
    try {
      const status = await put(
        cluster,
        group,
        name,
        { title: `note ${id}`, seen: seen + 1 },
        seen === 0 ? "" : condition,
      );
      if (status === 412) reached.refused += 1;
      else if (seen > 0) {
        reached.changed += 1;
        expect(state.successors.has(seen), `${seen} of ${place} has one successor`).toBe(false);
        state.successors.set(seen, id);
        state.acknowledged = Math.max(state.acknowledged, seen + 1);
      }
    } catch (error) {
      if (error instanceof Error && error.name === "AssertionError") throw error;
      const { outcome } = error as { readonly outcome?: string };
      if (outcome === "unknown") reached.unknown += 1;
      else reached.failed += 1;
    }
  };
  // Documents are there before they are changed: a put without a condition would begin anew.
  for (let group = 0; group < GROUPS; group += 1)
    for (let name = 0; name < DOCUMENTS; name += 1) {
      known.set(`group${group} d${name}`, { acknowledged: 1, successors: new Map() });
      for (let done = false; !done; )
        done = await put(clusters[0] as ObjectStoreCluster, `group${group}`, `d${name}`, {
          title: "note",
          seen: 1,
        }).then(
          () => true,
          () => false,
        );
    }
  const client = async (): Promise<void> => {
    while (steps < STEPS) {
      steps += 1;
      await step();
    }
  };
  await Promise.all(Array.from({ length: CLIENTS }, client));
  const { cluster: last } = await openCluster(memoryObjectStore(memory));
  const final = new Map<string, number>();
  for (const [place, { acknowledged }] of known) {
    const [group, name] = place.split(" ") as [string, string];
    const { seen } = (await get(last, group, name)) as { readonly seen: number };
    expect(seen, `${place} is at least what was acknowledged`).toBeGreaterThanOrEqual(acknowledged);
    final.set(place, seen);
  }
  await lookAtForks(memory, taken, final);
  // What is left is counted when nobody can leave more: a file may be stored as late as its request arrives.
  await Promise.all(opened.map(async (cluster) => await cluster.close().catch(() => undefined)));
  while (late.size > 0) await Promise.all(late);
  reached.stray = await strayOf(last, memory);
  expect(reached.changed).toBeGreaterThan(STEPS / 20);
  expect(reached.refused).toBeGreaterThan(0);
  console.log(reached);
});
