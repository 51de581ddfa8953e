/** What gateways and objects say to each other while two releases of a Worker are at work. */
import { createHash } from "node:crypto";
import { fileURLToPath } from "node:url";
import { Core, encodeQuery, instantiate } from "@brooklet/core";
import { expect, test } from "vitest";
import { MESSAGES, type ObjectReply, type ObjectWaiting } from "../src/objects/object-calls.ts";
import type { ObjectCluster } from "../src/objects/object-cluster.ts";
import { platformFailure } from "../src/objects/platform-failure.ts";
import { searchOnce } from "../src/query/cluster-query.ts";
import { packageOf } from "./core-setting.ts";
import { Platform } from "./object-setting.ts";
import { apply, feed, found, idOf, KEY, MINUTE_MS, NOTE, numberOf, plain } from "./shards-setting.ts";

/** Where a line of it changes, `MESSAGES` is raised, and this recorded anew: `npx vitest run --root packages/partition test/object-messages.test.ts -u`. */
const RECORDED = fileURLToPath(new URL("object-messages.json", import.meta.url));
const makeEngine = (): Core => new Core({ instantiate, cacheBytes: 8 << 20 });

async function opened(): Promise<{ readonly platform: Platform; readonly cluster: ObjectCluster }> {
  const platform = new Platform(makeEngine);
  const cluster = await platform.open();
  await cluster.deploy(packageOf({ note: NOTE }));
  return { platform, cluster };
}

test("who speaks another number is told to ask again, and nothing of it is done", async () => {
  const { platform, cluster } = await opened();
  expect(await apply(cluster, "put", 1, { n: 1 })).toBe(200);
  const heard: [string, readonly unknown[]][] = [];
  platform.overheard = (verb, asked) => heard.push([verb, asked]);
  await apply(cluster, "put", 1, { n: 1 });
  await feed(cluster, [plain(2, { n: 1 })]);
  await found(cluster, "select * from note where true");
  await numberOf(cluster, 1);
  platform.overheard = undefined;
  expect(heard.map(([verb]) => verb)).toEqual(expect.arrayContaining(["apply", "load", "get"]));
  platform.billOf(KEY);
  for (const [verb, asked] of heard)
    for (const messages of [MESSAGES + 1, MESSAGES - 1, undefined]) {
      const waiting = { ...(asked.at(-1) as ObjectWaiting), messages };
      const object = platform.object(KEY) as unknown as Record<string, (...asked: unknown[]) => Promise<unknown>>;
      const reply = (await object[verb]?.(...asked.slice(0, -1), waiting)) as ObjectReply<unknown>;
      const failed = { code: "UNAVAILABLE", status: 503, outcome: "not_applied" };
      expect([verb, messages, reply]).toMatchObject([verb, messages, { failed }]);
    }
  expect(platform.billOf(KEY).written).toBe(0);
  const shard = { number: 1, bits: 1 };
  const preparing = platform.object(`${KEY}\u00011` as typeof KEY).prepareShard(shard, 1, 1, MESSAGES + 1);
  await expect(preparing).rejects.toMatchObject({ code: "UNAVAILABLE", status: 503 });
  expect(platform.stored()).toEqual([KEY]);
});

test("a call that an object of another release does not have is told in the same way", () => {
  const error = new Error('The RPC receiver does not implement the method "searchAgain".');
  expect(platformFailure(error, true)).toMatchObject({ code: "UNAVAILABLE", status: 503, outcome: "not_applied" });
});

/** What a value consists of, without the value. */
function shapeOf(value: unknown): unknown {
  if (value instanceof Uint8Array) return "bytes";
  if (Array.isArray(value)) return value.length === 0 ? [] : [shapeOf(value[0])];
  if (typeof value !== "object" || value === null) return value === null ? "null" : typeof value;
  const named = Object.entries(value).filter(([, one]) => one !== undefined);
  return Object.fromEntries(
    named.sort(([left], [right]) => (left < right ? -1 : 1)).map(([key, one]) => [key, shapeOf(one)]),
  );
}

test("what gateways and objects say is what was recorded under its number", async () => {
  const { platform, cluster } = await opened();
  const said = new Set<string>();
  platform.overheard = (verb, asked, told) => {
    said.add(`${verb} ${JSON.stringify(asked.map(shapeOf))} ${JSON.stringify(shapeOf(told))}`);
  };
  await feed(
    cluster,
    Array.from({ length: 40 }, (_, number) => plain(number, { n: number })),
  );
  await apply(cluster, "put", 1, { n: 1 });
  await numberOf(cluster, 1);
  await found(cluster, "select * from note where n > 3");
  const properties = [
    ["yql", "select * from note where n > 3"],
    ["streaming.selection", "true"],
  ] as const;
  const wide = { properties, body: new Uint8Array() };
  await searchOnce(cluster, wide, MINUTE_MS);
  const visit = {
    types: [],
    namespace: "",
    selection: "",
    fieldSet: "[all]",
    tensorFormat: "",
    format: "jsonl",
  } as const;
  const step = {
    bucket: cluster.bucketOf(KEY),
    from: { partition: 0, after: "" },
    documentsMax: 10,
    bytesMax: 1 << 20,
  };
  await cluster.visit(visit, step, MINUTE_MS);
  const request = {
    rawPath: "",
    id: idOf(2),
    kind: "remove",
    create: false,
    condition: "",
    body: new Uint8Array(),
  } as const;
  await cluster.applyWhere({ ...visit, selection: "note.n < 2" }, step, request as never, MINUTE_MS);
  await platform.split(KEY);
  await found(cluster, "select * from note where n > 3");
  await cluster.erase(KEY);
  expect(platform.problems).toEqual([]);
  const query = createHash("sha256").update(encodeQuery(wide, 1_700_000_000)).digest("hex");
  const record = { messages: MESSAGES, query, said: [...said].sort() };
  await expect(`${JSON.stringify(record, undefined, 2)}\n`).toMatchFileSnapshot(RECORDED);
});
