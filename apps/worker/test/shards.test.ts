/** A group that becomes large in the runtime of the platform: it goes on in several objects, and answers as before. */
import { randomBytes } from "node:crypto";
import { MESSAGES } from "@brooklet/partition/objects";
import { connect, type Group, int, schema, text, vector } from "brooklet";
import type { Miniflare } from "miniflare";
import { afterAll, beforeAll, expect, test } from "vitest";
import { addressOf } from "../src/node/workerd.ts";
import { objectOf, startTested } from "./objects.ts";

const note = schema("note", { title: text(), n: int(), vec: vector(8).optional() });
const DOCUMENTS = 4_000;
const PATIENCE_MS = 600_000;

let workerd: Miniflare;
let group: Group;

beforeAll(async () => {
  workerd = startTested({ variables: { SHARD_BYTES: String(1 << 20) } });
  const client = await connect({ url: await addressOf(workerd), schemas: [note] });
  group = client.group("large");
});

afterAll(() => workerd.dispose());

/** The shards that the home of the group has given documents to, as it says with whatever it is asked. */
async function children(): Promise<number> {
  type Record = { readonly children: readonly unknown[] };
  type Reply = { readonly shard?: Record; readonly moved?: Record };
  type Home = { get(request: object, waiting: object): Promise<Reply> };
  const request = { rawPath: "", id: "id:note:note:g=large:77", fieldSet: "", tensorFormat: "" };
  const home = objectOf<Home>(workerd, "GROUP", "g:large");
  const { shard, moved } = await home.get(request, { messages: MESSAGES, application: 0, timeoutMs: PATIENCE_MS });
  return (shard ?? moved)?.children.length ?? 0;
}

async function answers(): Promise<unknown> {
  const words = await group.search(note, { text: "winter garden", limit: 20 });
  const near = await group.search(note, { near: { field: "vec", vector: [1, 0, 0.5, 0, 1, 0, 0, 0.25] }, limit: 20 });
  const shown = [words, near].map(({ hits, totalCount }) => [
    totalCount,
    hits.map(({ id, relevance }) => [id, relevance]),
  ]);
  return [...shown, await group.count(note, (it) => it.n.lt(100)), await group.get(note, "77")];
}

test("a group of more than a megabyte is split after it rests, and answers the same bits", async () => {
  const documents = Array.from({ length: DOCUMENTS }, (_, n) => {
    const vec = Array.from({ length: 8 }, (_, at) => ((n * (at + 3)) % 17) / 16);
    const word = n % 7 === 0 ? "winter" : n % 11 === 0 ? "garden" : "stone";
    return { id: String(n), fields: { title: `${word} ${randomBytes(300).toString("hex")}`, n, vec } };
  });
  expect(await group.feed(note, documents)).toMatchObject({ applied: DOCUMENTS });
  const before = await answers();
  await expect.poll(children, { interval: 1_000, timeout: PATIENCE_MS }).toBeGreaterThan(0);
  expect(await answers()).toEqual(before);
  await group.put(note, "77", { title: "winter", n: 77 });
  expect(await group.get(note, "77")).toMatchObject({ title: "winter" });
  await group.erase();
  expect(await group.count(note)).toBe(0);
});
