/** Searches that are content with what was known a moment ago: they ask the store nothing that they wait for. */
import { searchOnce } from "@brooklet/partition";
import { nodeSurroundings } from "@brooklet/partition/node";
import { expect, test } from "vitest";
import { memoryObjectStore, ObjectMemory } from "../src/memory.ts";
import { get, NOTE, openCluster, packageOf, put, search, visitAll } from "./setting.ts";

const ALICE = ["streaming.groupname", "alice"] as const;
const EVENTUAL = ["consistency", "eventual"] as const;
const LONG_MS = 10_000;

/** Two gateways; requests of the second wait while its store is away, and its clock is the test's. */
async function twoGateways() {
  const memory = new ObjectMemory();
  const { cluster: writer } = await openCluster(memoryObjectStore(memory));
  await writer.deploy(packageOf({ note: NOTE }));
  let away: Promise<void> | undefined;
  let hold = (): void => undefined;
  let held = Promise.resolve();
  const store = memoryObjectStore(memory, async (work) => {
    if (away !== undefined) hold();
    await away;
    return work();
  });
  let nowMs = 0;
  const surroundings = { ...nodeSurroundings, every: () => () => undefined, sharedMs: () => nowMs };
  const { cluster: reader } = await openCluster(store, { surroundings });
  let back = (): void => undefined;
  return {
    writer,
    reader,
    leave: () => {
      away = new Promise((resolve) => {
        back = resolve;
      });
      held = new Promise((resolve) => {
        hold = resolve;
      });
    },
    /** Until a request waits for the store that is away. */
    isHeld: () => held,
    comeBack: () => {
      away = undefined;
      back();
    },
    pass: (milliseconds: number) => {
      nowMs += milliseconds;
    },
  };
}

/** As many turns as whatever waits for nothing takes. */
async function turns(): Promise<void> {
  for (let turn = 0; turn < 100; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}
const countOf = async (...asked: Parameters<typeof search>): Promise<number> => (await search(...asked)).count;

test("what is eventual is answered without the store, and sees what is new a moment later", async () => {
  const { writer, reader, leave, comeBack, pass } = await twoGateways();
  await put(writer, "alice", "1", { title: "a note", seen: 1 });
  expect(await countOf(reader, "note", [ALICE, EVENTUAL])).toBe(1);
  await put(writer, "alice", "2", { title: "a note", seen: 2 });
  leave();
  // Nobody who is not content would be answered now.
  expect(await countOf(reader, "note", [ALICE, EVENTUAL])).toBe(1);
  let isAnswered = false;
  const strict = countOf(reader, "note", [ALICE]).then((count) => {
    isAnswered = true;
    return count;
  });
  expect(await countOf(reader, "note", [ALICE, EVENTUAL])).toBe(1);
  expect(isAnswered).toBe(false);
  comeBack();
  expect(await strict).toBe(2);
  await put(writer, "alice", "3", { title: "a note", seen: 3 });
  // A moment later it is looked, beside the answer, whether there is anything new.
  pass(1_000);
  await expect.poll(() => countOf(reader, "note", [ALICE, EVENTUAL])).toBe(3);
  expect(await countOf(reader, "note", [["streaming.selection", "true"], EVENTUAL])).toBe(3);
});

test("gets and visits may be content with what was known, too", async () => {
  const { writer, reader, leave, isHeld, comeBack } = await twoGateways();
  await put(writer, "alice", "1", { title: "a note", seen: 1 });
  await get(reader, "alice", "1");
  await visitAll(reader);
  await put(writer, "alice", "1", { title: "a note", seen: 2 });
  await put(writer, "alice", "2", { title: "a note", seen: 2 });
  leave();
  expect(await get(reader, "alice", "1", true)).toEqual({ title: "a note", seen: 1 });
  expect(await get(reader, "alice", "2", true)).toBeUndefined();
  expect(await visitAll(reader, true)).toEqual(["id:test:note:g=alice:1"]);
  let answered = 0;
  const strict = [get(reader, "alice", "1"), visitAll(reader)].map((read) => read.finally(() => (answered += 1)));
  await isHeld();
  await turns();
  expect(answered).toBe(0);
  comeBack();
  expect(await Promise.all(strict)).toEqual([
    { title: "a note", seen: 2 },
    ["id:test:note:g=alice:1", "id:test:note:g=alice:2"],
  ]);
});

test("a search that is not eventual costs requests, one that is costs none within a second", async () => {
  const { writer, reader, pass } = await twoGateways();
  await put(writer, "alice", "1", { title: "a note", seen: 1 });
  await countOf(reader, "note", [ALICE]);
  pass(1_000);
  await countOf(reader, "note", [ALICE, EVENTUAL]);
  await countOf(reader, "note", [ALICE]);
  const { gets } = reader.sharedStore();
  for (let time = 0; time < 10; time += 1) await countOf(reader, "note", [ALICE, EVENTUAL]);
  expect(reader.sharedStore().gets).toBe(gets);
  await countOf(reader, "note", [ALICE]);
  expect(reader.sharedStore().gets).toBeGreaterThan(gets);
});

test("what is being written is told to nobody before it is won, eventual or not", async () => {
  const { writer, reader, leave, isHeld, comeBack } = await twoGateways();
  await put(writer, "alice", "1", { title: "a note", seen: 1 });
  await put(reader, "alice", "2", { title: "a note", seen: 2 });
  leave();
  const written = put(reader, "alice", "3", { title: "a note", seen: 3 });
  // By then it is done in the database of this process, and on its way to the log.
  await isHeld();
  let isAnswered = false;
  const read = countOf(reader, "note", [ALICE, EVENTUAL]).then((count) => {
    isAnswered = true;
    return count;
  });
  await turns();
  const wasAnswered = isAnswered;
  comeBack();
  // Whoever saw it before might have seen what is lost.
  expect([wasAnswered, await written, await read]).toEqual([false, 200, 3]);
});

test("any other consistency is refused by name", async () => {
  const { reader } = await twoGateways();
  const properties = [
    ["yql", "select * from note where true"],
    ALICE,
    ["consistency", "strong"],
    ["timeout", "60s"],
  ] as const;
  const refused = async (): Promise<unknown> =>
    await searchOnce(reader, { properties, body: new Uint8Array() }, LONG_MS);
  await expect(refused()).rejects.toMatchObject({
    status: 400,
    code: "ILLEGAL_QUERY",
    message: "Parameter 'consistency' must be 'strict' or 'eventual', not 'strong'",
  });
});
