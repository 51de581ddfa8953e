/** What is told of a write or a deployment stays true, whatever comes later. */
import type { Embedding } from "@brooklet/core";
import type { TextEmbedder } from "@brooklet/partition";
import { expect, onTestFinished, test, vi } from "vitest";
import { memoryObjectStore, ObjectMemory } from "../src/memory.ts";
import type { ObjectStore } from "../src/object-store.ts";
import { begunInTime } from "../src/outcomes.ts";
import { get, NOTE, openCluster, packageOf, put } from "./setting.ts";

const EMBEDDED = `schema note { document note {
  field title type string { indexing: index | summary }
  field seen type int { indexing: attribute | summary }
}
field near type tensor<float>(x[1]) { indexing: input title | embed any | attribute } }`;

/** A store that can be kept from answering. */
function stalling(memory: ObjectMemory): { readonly store: ObjectStore; stall(): () => void } {
  let answers = Promise.resolve();
  const store = memoryObjectStore(memory, async (work) => {
    await answers;
    return work();
  });
  const stall = (): (() => void) => {
    let goOn = (): void => undefined;
    answers = new Promise((resolve) => {
      goOn = resolve;
    });
    onTestFinished(() => goOn());
    return goOn;
  };
  return { store, stall };
}

test("a write whose time was over before it was begun is told that it was not done, and is not done when the store answers", async () => {
  const memory = new ObjectMemory();
  const { store, stall } = stalling(memory);
  const { cluster: other } = await openCluster(memoryObjectStore(memory));
  await other.deploy(packageOf({ note: NOTE }));
  await put(other, "alice", "1", { title: "first", seen: 1 });
  const { cluster } = await openCluster(store);
  const goOn = stall();
  const late = put(cluster, "alice", "1", { title: "late", seen: 2 }, "", 20);
  await expect(late).rejects.toMatchObject({ code: "TIMED_OUT", outcome: "not_applied" });
  goOn();
  // Behind everything that was asked before.
  await put(cluster, "alice", "2", { title: "second", seen: 3 });
  expect(await get(cluster, "alice", "1")).toEqual({ title: "first", seen: 1 });
  expect(await get(other, "alice", "1")).toEqual({ title: "first", seen: 1 });
});

test("a write that was begun and may be stored is told to be so, also where texts are embedded before", async () => {
  const memory = new ObjectMemory();
  const { store, stall } = stalling(memory);
  const embedder: TextEmbedder = {
    embed: async (wanted) => wanted.map((): Embedding => ({ shape: "vector", values: Float32Array.of(1) })),
    close: async () => undefined,
  };
  const { cluster } = await openCluster(store, { embedder });
  await cluster.deploy(packageOf({ note: EMBEDDED }));
  await put(cluster, "alice", "1", { title: "first", seen: 1 });
  const goOn = stall();
  const late = put(cluster, "alice", "1", { title: "late", seen: 2 }, "", 20);
  await expect(late).rejects.toMatchObject({ code: "TIMED_OUT", outcome: "unknown" });
  goOn();
  await put(cluster, "alice", "2", { title: "second", seen: 3 });
  expect(await get(cluster, "alice", "1")).toMatchObject({ title: "late", seen: 2 });
});

test("work that waited for its bucket has the rest of its time", async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const left: number[] = [];
  const work = async (leftMs: number): Promise<void> => void left.push(leftMs);
  const pass = async (begin: () => Promise<void>): Promise<void> => {
    await vi.advanceTimersByTimeAsync(400);
    await begin();
    await vi.advanceTimersByTimeAsync(500);
    await begin();
  };
  await begunInTime("write", 1_000, pass, work);
  await begunInTime("write", Number.POSITIVE_INFINITY, pass, work);
  expect(left).toEqual([600, 100, Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY]);
});

test("servers that begin together over an empty store deploy the same application once; another is refused", async () => {
  const memory = new ObjectMemory();
  const { store, stall } = stalling(memory);
  const clusters = await Promise.all([1, 2, 3, 4].map(async () => (await openCluster(store)).cluster));
  const others = `${NOTE.slice(0, NOTE.lastIndexOf("}"))} rank-profile other { first-phase { expression: 1 } } }`;
  const [same, another] = [packageOf({ note: NOTE }), packageOf({ note: others })];
  const goOn = stall();
  const deployed = clusters.map((cluster, index) => cluster.deploy(index < 3 ? same : another));
  const outcomes = Promise.allSettled(deployed);
  goOn();
  const fulfilled = (await outcomes).map(({ status }) => status);
  const isSame = fulfilled[3] === "rejected";
  expect(fulfilled).toEqual(
    isSame ? ["fulfilled", "fulfilled", "fulfilled", "rejected"] : ["rejected", "rejected", "rejected", "fulfilled"],
  );
  const refused = (await outcomes).find((outcome) => outcome.status === "rejected");
  expect(refused).toMatchObject({ reason: { code: "DEPLOYMENT_UNDER_WAY", status: 409 } });
  // What a server has that begins later is what those have that were not refused.
  const { cluster: later } = await openCluster(store);
  const served = clusters.filter((_, index) => fulfilled[index] === "fulfilled");
  for (const cluster of served) expect(cluster.application()).toEqual(later.application());
});

test("a check is made against what another gateway has deployed, and deploys nothing", async () => {
  const memory = new ObjectMemory();
  const [{ cluster }, { cluster: other }] = [
    await openCluster(memoryObjectStore(memory)),
    await openCluster(memoryObjectStore(memory)),
  ];
  await other.deploy(packageOf({ note: NOTE }));
  await expect(cluster.checkDeployment(packageOf({ letter: NOTE.replaceAll("note", "letter") }))).rejects.toThrow(
    /schema-removal/,
  );
  const base = await cluster.applicationNumber();
  await other.deploy(packageOf({ note: NOTE.replace("seen", "read") }), base);
  await expect(cluster.deploy(packageOf({ note: NOTE }), base)).rejects.toMatchObject({ status: 409 });
  const served = other.applicationPackage();
  await cluster.checkDeployment(packageOf({ note: EMBEDDED }));
  expect([cluster.applicationPackage(), other.applicationPackage()]).toEqual([served, served]);
});
