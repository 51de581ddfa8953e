/** A document type in several content clusters, over a store that several gateways share: each has all of what any of them wrote. */
import { type PartitionKey, searchOnce, type Visit } from "@brooklet/partition";
import { expect, test } from "vitest";
import { memoryObjectStore, ObjectMemory } from "../src/memory.ts";
import type { ObjectStoreCluster } from "../src/object-store-cluster.ts";
import { NOTE, openCluster, packageOf, put } from "./setting.ts";

const MINUTE_MS = 60_000;
const KEY: PartitionKey = "g:alice";
const MARK = "\u0001";
const decoder = new TextDecoder();
const contents = ["hot", "archive"].map(
  (name) => `<content id="${name}" version="1.0"><redundancy>1</redundancy><documents>
    <document type="note" mode="streaming"${name === "archive" ? ' selection="note.seen &gt; 9"' : ""}/></documents>
    <nodes><node hostalias="n" distribution-key="0"/></nodes></content>`,
);
const SERVICES = `<services version="1.0">${contents.join("")}</services>`;

async function ids(cluster: ObjectStoreCluster, type: string): Promise<readonly string[]> {
  const form = { fieldSet: "[id]", tensorFormat: "", format: "jsonl" } as const;
  const visit: Visit = { types: [type], namespace: "", selection: "", ...form };
  const step = { bucket: cluster.bucketOf(KEY), key: KEY, from: { partition: 0, after: "" } };
  const page = await cluster.visit(visit, { ...step, documentsMax: 10_000, bytesMax: 1e9 }, MINUTE_MS);
  const lines = decoder.decode(page.body).split("\n");
  return lines.filter((line) => line !== "").map((line) => (JSON.parse(line) as { readonly put: string }).put);
}

async function sources(cluster: ObjectStoreCluster): Promise<readonly string[]> {
  const yql = "select * from note where title contains 'note' limit 400";
  const properties = Object.entries({ yql, "streaming.groupname": "alice", timeout: "60s" });
  const { body } = await searchOnce(cluster, { properties, body: new Uint8Array() }, MINUTE_MS);
  const { root } = JSON.parse(decoder.decode(body)) as {
    readonly root: { readonly children?: readonly { readonly source: string }[] };
  };
  return (root.children ?? []).map(({ source }) => source);
}

test("what one gateway writes in both is in both at the others, from the log and from files", async () => {
  const memory = new ObjectMemory();
  const { cluster: one, problems } = await openCluster(memoryObjectStore(memory));
  await one.deploy(packageOf({ note: NOTE }, SERVICES));
  const { cluster: two } = await openCluster(memoryObjectStore(memory));
  for (let number = 0; number < 120; number += 1) {
    await put(number % 2 === 0 ? one : two, "alice", String(number), { title: `note ${number}`, seen: number % 20 });
  }
  const { cluster: three } = await openCluster(memoryObjectStore(memory));
  for (const cluster of [one, two, three]) {
    const [hot, archive] = [await ids(cluster, "note"), await ids(cluster, `note${MARK}archive`)];
    expect([hot.length, archive.length]).toEqual([120, 60]);
    expect(archive.filter((id) => !hot.includes(id))).toEqual([]);
    const found = await sources(cluster);
    expect([found.length, found.filter((source) => source === "archive").length]).toEqual([180, 60]);
  }
  await one.idle();
  await one.close();
  const { cluster: four } = await openCluster(memoryObjectStore(memory));
  expect((await ids(four, `note${MARK}archive`)).length).toBe(60);
  expect((await four.erase(KEY)).documents).toBe(180);
  expect(await sources(two)).toEqual([]);
  expect(problems).toEqual([]);
});
