/** Documents that are longer than the platform takes of a value: whoever sends one is told so, nothing beside it is lost, and its group is split as any other. */
import { randomBytes } from "node:crypto";
import { MESSAGES } from "@brooklet/partition/objects";
import { BrookletError, type Client, connect, int, schema, text } from "brooklet";
import type { Miniflare } from "miniflare";
import { afterAll, beforeAll, expect, test } from "vitest";
import { addressOf } from "../src/node/workerd.ts";
import { objectOf, startTested } from "./objects.ts";

const note = schema("note", { title: text(), body: text(), n: int() });
/** Of what the platform takes, and of what it does not: its runtime on a machine takes a little more than its limit. */
const [UNDER_BYTES, OVER_BYTES] = [2_000_000, 2_300_000];
const PATIENCE_MS = 600_000;
const REFUSED = { code: "TOO_LARGE", status: 413, outcome: "not_applied", message: expect.stringContaining("2 MB") };

let workerd: Miniflare;
let url: string;
let client: Client;

beforeAll(async () => {
  workerd = startTested({ variables: { SHARD_BYTES: String(1 << 20) } });
  url = await addressOf(workerd);
  client = await connect({ url, schemas: [note] });
});

afterAll(() => workerd.dispose());

/** So many bytes of words, none of which compresses. */
function words(bytes: number): string {
  const digits = randomBytes(bytes / 2).toString("hex");
  return digits.replace(/(.{9})./g, "$1 ");
}

/** The fields of a note in so many bytes. */
function fieldsOf(n: number, bytes: number): { title: string; body: string; n: number } {
  return { title: "stone", body: words(bytes), n };
}

async function children(group: string): Promise<number> {
  type Record = { readonly children: readonly unknown[] };
  type Home = {
    get(request: object, waiting: object): Promise<{ shard?: Record; moved?: Record }>;
    rest(): Promise<void>;
  };
  const home = objectOf<Home>(workerd, "GROUP", `g:${group}`);
  await home.rest();
  const request = { rawPath: "", id: `id:note:note:g=${group}:1`, fieldSet: "", tensorFormat: "" };
  const { shard, moved } = await home.get(request, { messages: MESSAGES, application: 0, timeoutMs: PATIENCE_MS });
  return (shard ?? moved)?.children.length ?? 0;
}

test("one by one", async () => {
  const group = client.group("single");
  await group.put(note, "under", fieldsOf(1, UNDER_BYTES));
  await expect(group.put(note, "over", fieldsOf(2, OVER_BYTES))).rejects.toMatchObject(REFUSED);
  // What an update makes of it is too long, and what was there stays.
  const grown = group.update(note, "under", { title: { assign: words(300_000) } });
  await expect(grown).rejects.toMatchObject(REFUSED);
  expect(await group.get(note, "under")).toMatchObject({ title: "stone", n: 1 });
  expect(await group.count(note)).toBe(1);
});

test.each([4, 120])("among %i of a feed, whose group is split like any other", async (documents) => {
  const name = `fed${documents}`;
  const group = client.group(name);
  const isLong = (n: number): boolean => n % 4 === 1;
  const all = Array.from({ length: documents }, (_, n) => {
    const bytes = isLong(n) && n < 24 ? OVER_BYTES : n === 2 ? UNDER_BYTES : 20_000;
    return { id: String(n), fields: fieldsOf(n, bytes) };
  });
  const refused: string[] = [];
  for await (const told of group.feed(note, all)) {
    if (told.ok) continue;
    expect(BrookletError.is(told.error) && told.error).toMatchObject(REFUSED);
    refused.push(told.id);
  }
  const long = all.filter(({ fields }) => fields.body.length > UNDER_BYTES).map(({ id }) => id);
  expect(
    refused
      .map(Number)
      .sort((one, other) => one - other)
      .map(String),
  ).toEqual(long);
  expect(await group.count(note)).toBe(documents - long.length);
  await expect.poll(() => children(name), { interval: 100, timeout: PATIENCE_MS }).toBeGreaterThan(0);
  expect(await group.count(note)).toBe(documents - long.length);
  expect(await group.get(note, "2")).toMatchObject({ n: 2 });
});
