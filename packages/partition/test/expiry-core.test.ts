/** Documents that expire, and counters that many change at once, with the shipped core over a real store. */

import { Core, instantiate, Writer } from "@brooklet/core";
import { memoryStorage } from "@brooklet/store";
import { expect, onTestFinished, test } from "vitest";
import type { Outcome } from "../src/cluster.ts";
import { LocalCluster } from "../src/local-cluster.ts";
import { nodeSurroundings } from "../src/node/surroundings.ts";
import { getNote, openCore, packageOf, putNote } from "./core-setting.ts";
import { directory, folder, openSql } from "./setting.ts";

const SD = `schema note { document note {
  field text type string { indexing: summary | index }
  field count type int { indexing: summary | attribute }
  field expires type long { indexing: summary | attribute }
} }`;
const SERVICES = `<services version="1.0"><content id="all" version="1.0"><redundancy>1</redundancy>
  <documents garbage-collection="true" garbage-collection-interval="1">
    <document type="note" mode="streaming" selection="note.expires &gt; now()"/>
  </documents></content></services>`;
const INCREMENTS = 200;
const DAY_S = 86_400;
const MINUTE_MS = 60_000;

type Kind = "put" | "update" | "remove";

async function notes(): Promise<{
  readonly write: (kind: Kind, id: string, fields: unknown, condition?: string) => Promise<Outcome>;
  readonly get: (id: string) => Promise<{ readonly status: number; readonly fields: unknown }>;
}> {
  const makeEngine = (): Core => new Core({ instantiate, cacheBytes: 16 << 20 });
  const cluster = new LocalCluster({ storage: memoryStorage(openSql), makeEngine, surroundings: nodeSurroundings });
  onTestFinished(() => cluster.close());
  const writer = new Writer().varint(2).text("services.xml").text(SERVICES).text("schemas/note.sd").text(SD);
  await cluster.deploy(writer.finish());
  const partition = cluster.partition("g:a");
  return {
    write: (kind, id, fields, condition = "") => {
      const body = new TextEncoder().encode(JSON.stringify({ fields }));
      const request = { kind, rawPath: "/x", id: `id:n:note:g=a:${id}`, create: false, condition, body };
      return partition.apply(request, MINUTE_MS);
    },
    get: async (id) => {
      const request = { rawPath: "/x", id: `id:n:note:g=a:${id}`, fieldSet: "", tensorFormat: "" };
      const { status, body } = await partition.get(request, MINUTE_MS);
      return { status, fields: (JSON.parse(new TextDecoder().decode(body)) as { fields?: unknown }).fields };
    },
  };
}

test("what has expired goes, what is renewed or says nothing stays", async () => {
  const { write, get } = await notes();
  const now = Math.floor(Date.now() / 1_000);
  await write("put", "soon", { expires: now + 2 });
  await write("put", "renewed", { expires: now + 2 });
  await write("put", "never", { text: "no date" });
  await write("update", "renewed", { expires: { assign: now + DAY_S } });
  expect(await write("put", "late", { expires: now - DAY_S })).toEqual({ status: 200, ignoredOperation: true });
  expect((await get("late")).status).toBe(404);
  expect((await get("soon")).status).toBe(200);
  await expect.poll(async () => (await get("soon")).status, { interval: 200 }).toBe(404);
  expect((await get("renewed")).status).toBe(200);
  expect((await get("never")).status).toBe(200);
});

test("no change of a document is lost among many at once", async () => {
  const { write, get } = await notes();
  await write("put", "counter", { count: 0 });
  const all = await Promise.all(
    Array.from({ length: INCREMENTS }, () => write("update", "counter", { count: { increment: 1 } })),
  );
  expect(all.every(({ status }) => status === 200)).toBe(true);
  expect((await get("counter")).fields).toEqual({ count: INCREMENTS });
  // Of many that want to be the one that takes the number further, one is.
  const condition = `note.count == ${INCREMENTS}`;
  const claims = await Promise.all(
    Array.from({ length: INCREMENTS }, () => write("update", "counter", { count: { increment: 1 } }, condition)),
  );
  expect(claims.filter(({ status }) => status === 200).length).toBe(1);
  expect(claims.filter(({ status }) => status === 412).length).toBe(INCREMENTS - 1);
});

/** Flips a bit of every block of a group of a closed directory. */
function damage(path: string, group: string): number {
  const opened = directory(path);
  let count = 0;
  for (let bucket = 0; bucket < opened.buckets; bucket += 1) {
    const sql = opened.openBucket(bucket);
    const ofGroup = `SELECT number FROM segment WHERE partition = (SELECT number FROM partition WHERE key = 'g:${group}')`;
    for (const { id, bytes } of sql.all<{ id: number; bytes: Uint8Array }>(
      `SELECT id, bytes FROM block WHERE id >> 20 IN (${ofGroup})`,
    )) {
      bytes.set([(bytes[bytes.length >> 1] ?? 0) ^ 1], bytes.length >> 1);
      sql.run("UPDATE block SET bytes = ? WHERE id = ?", bytes, id);
      count += 1;
    }
    sql.close();
  }
  opened.close();
  return count;
}

test("a group whose data is damaged is passed over, and told of; what expired in others goes", async () => {
  const path = folder();
  const groups = ["a", "b", "c", "d", "e", "f"];
  const damaged = ["b", "e"];
  const first = openCore(path).cluster;
  await first.deploy(packageOf({ note: SD }));
  for (const group of groups) {
    await putNote(first, group, "old", { expires: 1 });
    await putNote(first, group, "kept", { text: "no date" });
    await first.maintain(`g:${group}`);
  }
  await first.close();
  for (const group of damaged) expect(damage(path, group)).toBeGreaterThan(0);
  const { cluster, problems } = openCore(path);
  await cluster.deploy(packageOf({ note: SD }, { "services.xml": SERVICES }));
  const sound = groups.filter((group) => !damaged.includes(group));
  const left = async (): Promise<string[]> =>
    (await Promise.all(sound.map((group) => getNote(cluster, group, "old")))).map((answer) => answer.slice(0, 3));
  await expect.poll(left, { interval: 200 }).toEqual(sound.map(() => "404"));
  expect((await Promise.all(sound.map((group) => getNote(cluster, group, "kept")))).join()).not.toContain("404");
  for (const group of damaged) expect(await getNote(cluster, group, "old")).toBe("STORE_CORRUPT");
  const told = (): number => problems.filter((problem) => String(problem).includes("damaged")).length;
  await expect.poll(told).toBeGreaterThanOrEqual(damaged.length);
});
