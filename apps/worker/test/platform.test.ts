/** What the platform does with objects, in its runtime: it puts them out of memory while they are written, and has SQLite its own way. */
import { fileURLToPath } from "node:url";
import { connect, int, schema, text } from "brooklet";
import type { Miniflare } from "miniflare";
import { afterAll, beforeAll, expect, test } from "vitest";
import { workerModules } from "../../../tools/worker.mjs";
import { objectOf, startModules } from "./objects.ts";

const WORKER = fileURLToPath(new URL("tested-worker.ts", import.meta.url));
const CASES = 8;
const WRITERS = 4;
const WRITES = 60;
const ENDS = 8;
const note = schema("note", { title: text(), n: int() });
let workerd: Miniflare;

beforeAll(async () => {
  workerd = startModules(await workerModules(WORKER), ["GROUP", "DIRECTORY", "REGISTRY", "CONTRACT"]);
  await workerd.ready;
});

afterAll(() => workerd.dispose());

test("the contract of stores holds over the SQLite of an object", async () => {
  const contract = (name: string) =>
    objectOf<{ cases(): Promise<string[]>; hold(name: string): Promise<void> }>(workerd, "CONTRACT", name);
  const names = await contract("any").cases();
  expect(names.length).toBeGreaterThanOrEqual(CASES);
  for (const name of names) {
    const failure = await contract(name)
      .hold(name)
      .then(
        () => "",
        (error: unknown) => String(error),
      );
    expect([name, failure]).toEqual([name, ""]);
  }
});

test("what was acknowledged is there when an object is put out of memory again and again under writers", async () => {
  const url = (await workerd.ready).origin;
  await connect({ url, schemas: [note] });
  const group = connect({ url, retry: { attempts: 1 } }).group("moved");
  const acknowledged: string[] = [];
  const failed: string[] = [];
  let [open, ends] = [WRITERS, 0];
  const write = async (writer: number): Promise<void> => {
    for (let n = 0; n < WRITES; n += 1) {
      const id = `${writer}-${n}`;
      try {
        await group.put(note, id, { title: "red balloon", n });
        acknowledged.push(id);
      } catch (error) {
        // Its object ended before it answered: nobody knows whether it was done.
        expect(error).toMatchObject({ code: "UNAVAILABLE", status: 503, outcome: "unknown" });
        failed.push(id);
      }
    }
    open -= 1;
  };
  const end = async (): Promise<void> => {
    while (open > 0) {
      const before = acknowledged.length;
      await expect.poll(() => open === 0 || acknowledged.length >= before + (WRITERS * WRITES) / (ENDS * 2)).toBe(true);
      const object = objectOf<{ end(): Promise<void> }>(workerd, "GROUP", "g:moved");
      await object.end().catch(() => undefined);
      ends += 1;
    }
  };
  // What only reads is asked once more.
  const read = async (): Promise<void> => {
    while (open > 0) {
      const { totalCount } = await group.search(note, { text: "balloon", limit: 0 });
      expect(totalCount).toBeLessThanOrEqual(WRITERS * WRITES);
    }
  };
  await Promise.all([end(), read(), ...Array.from({ length: WRITERS }, (_, writer) => write(writer))]);
  expect(ends).toBeGreaterThanOrEqual(ENDS);
  const reader = connect({ url }).group("moved");
  const stored: string[] = [];
  for await (const { id } of reader.visit(note)) stored.push(id);
  expect(stored).toEqual(expect.arrayContaining(acknowledged));
  expect(stored.filter((id) => !acknowledged.includes(id) && !failed.includes(id))).toEqual([]);
  expect(acknowledged.length).toBeGreaterThan((WRITERS * WRITES) / 2);
  expect((await reader.search(note, { text: "balloon", limit: 0 })).totalCount).toBe(stored.length);
});

test("an object that was woken without its name is made anew for whoever calls it by that", async () => {
  const url = (await workerd.ready).origin;
  const client = await connect({ url, schemas: [note] });
  const group = client.group("woken");
  await objectOf<{ coreBytes(): Promise<number> }>(workerd, "GROUP", "g:woken", true).coreBytes();
  expect(await group.get(note, "1")).toBeUndefined();
  await group.put(note, "1", { title: "red", n: 1 });
  expect(await group.count(note)).toBe(1);
});
