import { expect, onTestFinished, test } from "vitest";
import { memoryObjectStore, ObjectMemory } from "../src/memory.ts";
import type { ObjectStoreCluster } from "../src/object-store-cluster.ts";
import type { PeerCall, PeerReply } from "../src/peers.ts";
import { get, NOTE, openCluster, packageOf, put, search } from "./setting.ts";

/** Gateways that reach each other by a call. */
async function peers(
  count: number,
): Promise<{ readonly clusters: ObjectStoreCluster[]; readonly calls: () => number; cut: (index: number) => void }> {
  const memory = new ObjectMemory();
  const clusters: ObjectStoreCluster[] = [];
  const away = new Set<number>();
  let calls = 0;
  for (let index = 0; index < count; index += 1) {
    const call = async (address: string, asked: PeerCall): Promise<PeerReply | undefined> => {
      calls += 1;
      const other = Number(address.slice("peer-".length));
      return away.has(other) ? undefined : await clusters[other]?.answer(asked);
    };
    const opened = await openCluster(memoryObjectStore(memory), { peers: { address: `peer-${index}`, call } });
    if (index === 0) await opened.cluster.deploy(packageOf({ note: NOTE }));
    clusters.push(opened.cluster);
    onTestFinished(() => expect(opened.problems).toEqual([]));
  }
  for (const cluster of clusters) await cluster.meet();
  return { clusters, calls: () => calls, cut: (index) => void away.add(index) };
}

test("writes of a bucket meet in one gateway, whichever they are sent to", async () => {
  const { clusters, calls } = await peers(3);
  for (let number = 0; number < 120; number += 1)
    await put(clusters[number % 3] as ObjectStoreCluster, `g${number % 7}`, String(number), {
      title: `note ${number}`,
      seen: number,
    });
  // Each bucket has an owner, and one alone.
  expect(clusters.reduce((sum, { owned }) => sum + owned, 0)).toBe(2);
  expect(calls()).toBeGreaterThan(40);
  for (const cluster of clusters)
    expect(await search(cluster, "note", [["streaming.selection", "true"]])).toMatchObject({ count: 120 });
});

test("who is not there any more is not asked, and others take over", async () => {
  const { clusters, cut } = await peers(2);
  const [one, two] = clusters as [ObjectStoreCluster, ObjectStoreCluster];
  for (let number = 0; number < 8; number += 1) await put(one, `g${number}`, "1", { title: "note", seen: number });
  expect([one.owned, two.owned].reduce((sum, owned) => sum + owned, 0)).toBe(2);
  cut(0);
  cut(1);
  for (let number = 0; number < 8; number += 1)
    await put(two, `g${number}`, "1", { title: "note", seen: 100 + number });
  expect(two.owned).toBe(2);
  expect(await get(one, "g3", "1")).toEqual({ title: "note", seen: 103 });
});
