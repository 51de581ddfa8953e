/**
 * What is lost of a group in shards is found where the group is read (P10): its home never answers for its half as if that were all, and no
 * shard for another one. What is not lost of it, and every other group, is answered as before; and the group can be erased.
 */
import type { Cluster, PartitionKey } from "@brooklet/partition";
import { searchOnce } from "@brooklet/partition";
import { bucketOf } from "@brooklet/store";
import { expect, onTestFinished, test } from "vitest";
import { openCluster } from "../src/node/threads.ts";
import { BUCKETS, COUNT, HOME, LOSSES, type Loss, putBack, spread, storedNames } from "./large-losses.ts";
import { fill, KEY, MINUTE_MS, visited } from "./large-setting.ts";

const decoder = new TextDecoder();
/** Buckets are looked into soon after a start; where they are not, tests that take this guard out wait no longer. */
const WAIT = { timeout: 100_000, interval: 200 };
const DAMAGE = { status: 500, code: "STORE_CORRUPT" };
/** A group in a bucket that has nothing of the large one. */
const OTHER = "river stone cloud"
  .split(" ")
  .find((name) => (bucketOf(`g:${name}`, BUCKETS) - HOME + BUCKETS) % BUCKETS > 3);

/** A directory that is served, and what the operator is told. */
function served(path: string, threads: number): { readonly cluster: Cluster; readonly told: string[] } {
  const told: string[] = [];
  const onProblem = (problem: unknown): void => void told.push(String((problem as Error).message ?? problem));
  const cluster = openCluster({ path, threads, buckets: 8, onProblem });
  onTestFinished(() => cluster.close());
  return { cluster, told };
}

const idOf = (number: number): string => `id:x:note:g=large:1-${number}`;

async function search(cluster: Cluster, group: string): Promise<number> {
  const yql = "select * from note where true";
  const properties = Object.entries({ "streaming.groupname": group, timeout: "60s", hits: "0", yql });
  const { status, body } = await searchOnce(cluster, { properties, body: new Uint8Array() }, MINUTE_MS);
  expect(status).toBe(200);
  return JSON.parse(decoder.decode(body)).root.fields.totalCount;
}

/** How many documents of the group are answered, and how many are not. */
async function got(cluster: Cluster): Promise<{ readonly answered: number; readonly refused: number }> {
  const counts = { answered: 0, refused: 0 };
  for (let number = 0; number < COUNT; number += 1) {
    const request = { rawPath: "", id: idOf(number), fieldSet: "", tensorFormat: "" };
    const told = await cluster
      .partition(KEY as PartitionKey)
      .get(request, MINUTE_MS)
      .catch((error: unknown) => error as { status: number; code: string });
    if (told.status === 200) counts.answered += 1;
    else expect(told).toMatchObject(DAMAGE);
    counts.refused += told.status === 200 ? 0 : 1;
  }
  return counts;
}

async function put(cluster: Cluster, group: string, name: string): Promise<{ status: number; code?: string }> {
  const body = new TextEncoder().encode(JSON.stringify({ fields: { writer: 2, n: 1, title: "river" } }));
  const id = `id:x:note:g=${group}:${name}`;
  const request = { kind: "put", rawPath: "", id, create: false, condition: "", body } as const;
  return await cluster.partition(`g:${group}` as PartitionKey).apply(request, MINUTE_MS);
}

const cases = Object.keys(LOSSES).map((loss, at) => ({ loss, threads: at % 2 }));

test.each(cases)(
  "$loss: found where it is read, with $threads threads",

  async ({ loss, threads }) => {
    const { data, before } = await spread();
    const whole = served(data, threads);
    expect(await search(whole.cluster, "large")).toBe(COUNT);
    expect(await got(whole.cluster)).toEqual({ answered: COUNT, refused: 0 });
    expect((await put(whole.cluster, `${OTHER}`, "1")).status).toBe(200);
    await whole.cluster.close();
    const { lose, isOfBucket = false } = LOSSES[loss] as Loss;
    lose(data, before);

    const { cluster, told } = served(data, threads);
    await expect(search(cluster, "large")).rejects.toMatchObject(DAMAGE);
    await expect(search(cluster, "large")).rejects.toMatchObject(DAMAGE);
    const { answered, refused } = await got(cluster);
    expect(refused).toBeGreaterThan(0);
    // A shard that is whole answers for its documents.
    if (loss.includes("home")) expect(answered).toBe(0);
    else expect(answered).toBeGreaterThan(COUNT / 4);
    const outcomes = await Promise.all(Array.from({ length: 16 }, (_, at) => put(cluster, "large", `new-${at}`)));
    expect(outcomes.some(({ code }) => code === "STORE_CORRUPT")).toBe(true);
    expect(outcomes.every(({ status, code }) => status === 200 || code === "STORE_CORRUPT")).toBe(true);
    expect(told.join("\n")).toMatch(/lost|missing|belong together|rows of partitions are gone/);
    expect(await search(cluster, `${OTHER}`)).toBe(1);
    // A visit passes over the group.
    if (isOfBucket) await expect(visited(cluster)).rejects.toMatchObject(DAMAGE);
    else expect((await visited(cluster)).map(({ id }) => id)).toEqual([`id:x:note:g=${OTHER}:1`]);

    await cluster.erase(KEY as PartitionKey);
    expect(await search(cluster, "large")).toBe(0);
    await fill(cluster, 20);
    expect(await search(cluster, "large")).toBe(20);
    await cluster.close();
    expect(storedNames(data).filter((name) => name.startsWith(KEY))).toEqual([KEY]);
  },
);

test.each([
  { number: 0, threads: 0 },
  { number: 0, threads: 2 },
  { number: 1, threads: 0 },
])(
  "shard $number, which is of before its split with all of its bucket, is soon found by what came from it, with $threads threads",

  async ({ number, threads }) => {
    const { data, before, between } = await spread();
    putBack(data, number === 0 ? before : between, number);
    const { cluster, told } = served(data, threads);
    await expect.poll(() => search(cluster, "large").catch((error: unknown) => error), WAIT).toMatchObject(DAMAGE);
    const { answered } = await got(cluster);
    if (number === 0) expect(answered).toBe(0);
    else expect(answered).toBeGreaterThan(COUNT / 4);
    const outcomes = await Promise.all(Array.from({ length: 16 }, (_, at) => put(cluster, "large", `new-${at}`)));
    expect(outcomes.some(({ code }) => code === "STORE_CORRUPT")).toBe(true);
    expect(told.join("\n")).toContain("it is older than what came from it, or lost");
    expect((await put(cluster, `${OTHER}`, "1")).status).toBe(200);
    expect((await visited(cluster)).map(({ id }) => id)).toEqual([`id:x:note:g=${OTHER}:1`]);
    await cluster.erase(KEY as PartitionKey);
    await fill(cluster, 20);
    expect(await search(cluster, "large")).toBe(20);
    await cluster.close();
    expect(storedNames(data).filter((name) => name.startsWith(KEY))).toEqual([KEY]);
  },
);
