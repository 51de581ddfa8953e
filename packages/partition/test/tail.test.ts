/** The tails of groups, wherever they are: in one partition, in several of a directory, and as objects of a platform. */
import { Core, instantiate } from "@brooklet/core";
import { DataDirectory } from "@brooklet/store/node";
import { expect, onTestFinished, test } from "vitest";
import type { Cluster, PartitionKey, Visit, VisitPosition } from "../src/cluster.ts";
import { LocalCluster } from "../src/local-cluster.ts";
import { nodeSurroundings } from "../src/node/surroundings.ts";
import { packageOf } from "./core-setting.ts";
import { Platform } from "./object-setting.ts";
import { folder, openSql } from "./setting.ts";
import { decoder, encoder, KEY, MINUTE_MS, NOTE } from "./shards-setting.ts";

const TAIL: Visit = {
  types: ["note"],
  namespace: "",
  selection: "",
  fieldSet: "",
  tensorFormat: "",
  format: "tail",
};

interface Operation {
  readonly put?: string;
  readonly remove?: string;
  readonly timestamp: number;
  readonly bytes: number;
}

const idOf = (own: number): string => `id:x:note:g=large:${own}`;

async function write(cluster: Cluster, kind: "put" | "remove", own: number): Promise<void> {
  const body = encoder.encode(kind === "put" ? JSON.stringify({ fields: { title: "river", n: own } }) : "");
  const request = { kind, rawPath: "", id: idOf(own), create: undefined, condition: "", body };
  expect(await cluster.partition(KEY).apply(request, MINUTE_MS)).toMatchObject({ status: 200 });
}

/** All pages of the tail of the group, each of `page` operations at most. */
async function tail(
  cluster: Cluster,
  page: number,
  visit: Visit = TAIL,
  key: PartitionKey = KEY,
): Promise<Operation[]> {
  const operations: Operation[] = [];
  let from: VisitPosition | undefined = { partition: 0, after: "" };
  while (from !== undefined) {
    const step = { bucket: cluster.bucketOf(key), key, from, documentsMax: page, bytesMax: 1 << 20 };
    const { documents, body, next } = await cluster.visit(visit, step, MINUTE_MS);
    const shown = JSON.parse(`[${decoder.decode(body)}]`) as Operation[];
    expect([shown.length, documents <= page]).toEqual([documents, true]);
    operations.push(...shown);
    from = next;
  }
  return operations;
}

const told = ({ put, remove }: Operation): string => (put === undefined ? `remove ${remove}` : `put ${put}`);

/** What every tail does, of a group that is written `write` by `write`. */
async function check(cluster: Cluster, divide?: () => Promise<void>): Promise<void> {
  expect(await tail(cluster, 10)).toEqual([]);
  const done: string[] = [];
  for (let own = 0; own < 12; own += 1) {
    await write(cluster, "put", own);
    done.unshift(`put ${idOf(own)}`);
  }
  for (const own of [3, 5]) {
    await write(cluster, "remove", own);
    done.unshift(`remove ${idOf(own)}`);
  }
  await write(cluster, "put", 3);
  done.unshift(`put ${idOf(3)}`);
  for (const page of [1, 4, 1_000]) expect((await tail(cluster, page)).map(told)).toEqual(done);
  await divide?.();
  // Of what was divided a document stands where it is now, as of when it was written.
  const [third] = (await tail(cluster, 1)).filter(({ put }) => put === idOf(3));
  expect(third?.bytes).toBeGreaterThan(0);
  const since: string[] = [];
  for (let own = 20; own < 40; own += 1) {
    await write(cluster, own % 5 === 0 ? "remove" : "put", own);
    since.unshift(`${own % 5 === 0 ? "remove" : "put"} ${idOf(own)}`);
  }
  for (const page of [1, 7, 1_000]) {
    const shown = await tail(cluster, page);
    // Of shards, what was done within a millisecond has no order among them.
    const lately = shown.map(told).filter((text) => since.includes(text));
    if (divide === undefined) expect(lately).toEqual(since);
    else expect([...lately].sort()).toEqual([...since].sort());
    const times = shown.map(({ timestamp }) => timestamp);
    expect(times).toEqual([...times].sort((one, other) => other - one));
  }
  const selected = await tail(cluster, 2, { ...TAIL, selection: `id == "${idOf(25)}" or note.n == 26` });
  expect(selected.map(told).sort()).toEqual([`put ${idOf(26)}`, `remove ${idOf(25)}`]);
  expect(await tail(cluster, 2, { ...TAIL, types: [] })).toEqual([]);
  expect(await tail(cluster, 2, TAIL, "g:nobody")).toEqual([]);
  const wrong = tail(cluster, 2, { ...TAIL, selection: "note.nosuch ==" });
  await expect(wrong).rejects.toMatchObject({ code: "BAD_REQUEST" });
}

test("a tail of a group, and of its shards when it has some, is one list", async () => {
  const cluster = new LocalCluster({
    storage: DataDirectory.open(folder(), openSql, 4),
    makeEngine: () => new Core({ instantiate, cacheBytes: 8 << 20 }),
    surroundings: nodeSurroundings,
  });
  onTestFinished(() => cluster.close());
  await cluster.deploy(packageOf({ note: NOTE }));
  await check(cluster, () => cluster.split(KEY));
});

test("the tail of a group that is an object", async () => {
  const platform = new Platform(() => new Core({ instantiate, cacheBytes: 8 << 20 }));
  const cluster = await platform.open();
  await cluster.deploy(packageOf({ note: NOTE }));
  await check(cluster);
});
