/** Groups of one database of somebody's own: which of them are in memory, and that no two of one table are. */
import { Core, instantiate } from "@brooklet/core";
import { durableObject, isUnsettled } from "@brooklet/store";
import { expect, test } from "vitest";
import { nodeSurroundings } from "../src/node/surroundings.ts";
import type { GroupCalls } from "../src/objects/object-calls.ts";
import { ObjectCluster } from "../src/objects/object-cluster.ts";
import { OwnObjects } from "../src/objects/own-objects.ts";
import { SharedCores } from "../src/objects/shared-cores.ts";
import { packageOf } from "./core-setting.ts";
import { newStorage } from "./object-setting.ts";
import { pause } from "./pause.ts";

const MINUTE_MS = 60_000;
const NOTE = "schema note { document note { field title type string { indexing: summary | index } } }";
/** More groups than are held in memory. */
const MANY = 300;
const encoder = new TextEncoder();
const makeEngine = (): Core => new Core({ instantiate, cacheBytes: 8 << 20 });

/** Groups of a database, an empty one by default. `platform.turn` is waited for at every turn. */
async function opened(storage = newStorage()) {
  const platform = { turn: (): Promise<void> => nodeSurroundings.turn() };
  const problems: unknown[] = [];
  const onProblem = (problem: unknown): void => void problems.push(problem);
  const core = new SharedCores(makeEngine).open();
  const surroundings = { ...nodeSurroundings, turn: () => platform.turn(), every: () => () => undefined };
  const objects = new OwnObjects({ connection: durableObject(storage), core, surroundings, onProblem });
  const cluster = await ObjectCluster.open({ port: objects, isolate: core, directories: 1, makeEngine, onProblem });
  await cluster.deploy(packageOf({ note: NOTE }));
  const write = async (kind: "put" | "remove", group: string, name: string): Promise<void> => {
    const body = encoder.encode(kind === "put" ? '{"fields":{"title":"red"}}' : "");
    const id = `id:x:note:g=${group}:${name}`;
    const request = { kind, rawPath: "", id, create: false, condition: "", body } as const;
    expect(await cluster.partition(`g:${group}`).apply(request, MINUTE_MS)).toEqual({ status: 200 });
  };
  const put = (group: string, name: string): Promise<void> => write("put", group, name);
  const remove = (group: string, name: string): Promise<void> => write("remove", group, name);
  const get = async (group: string, name: string): Promise<number> => {
    const request = { rawPath: "", id: `id:x:note:g=${group}:${name}`, fieldSet: "", tensorFormat: "" };
    return (await cluster.partition(`g:${group}`).get(request, MINUTE_MS)).status;
  };
  const readOthers = async (): Promise<void> => {
    for (let n = 0; n < MANY; n += 1) expect(await get(`other${n}`, "1")).toBe(404);
  };
  return { platform, problems, objects, put, remove, get, readOthers };
}

test.each([1, 2, 3, 4])(
  "a group that rests while many others are read stays in memory, at its turn %i",
  async (nth) => {
    const { platform, problems, objects, put, get, readOthers } = await opened();
    await put("alice", "0");
    await objects.rest();
    await put("alice", "1");
    // It waits for that turn until all of the others were read.
    const held = pause();
    let turns = 0;
    platform.turn = () => {
      turns += 1;
      return turns < nth ? nodeSurroundings.turn() : held.wait();
    };
    const resting = objects.rest();
    await held.reached;
    await readOthers();
    await put("alice", "2");
    platform.turn = nodeSurroundings.turn;
    held.goOn();
    await resting;
    await put("alice", "3");
    await objects.rest();
    // It leaves memory, so that it is read as it is stored.
    await readOthers();
    expect(await Promise.all(["0", "1", "2", "3"].map((name) => get("alice", name)))).toEqual([200, 200, 200, 200]);
    expect(problems).toEqual([]);
  },
);

test("groups that have to rest stay in memory, and as few as ever do after that", async () => {
  const { objects, put, get, readOthers } = await opened();
  const names = Array.from({ length: MANY }, (_, n) => `written${n}`);
  const kept = new Map<string, GroupCalls>();
  const isKept = (name: string): boolean => objects.group(`g:${name}`) === kept.get(name);
  for (const name of names) {
    kept.set(name, objects.group(`g:${name}`));
    await put(name, "1");
  }
  await readOthers();
  expect(names.filter(isKept)).toEqual(names);
  await objects.rest();
  await readOthers();
  expect(names.filter(isKept)).toEqual([]);
  for (const name of names) expect(await get(name, "1")).toBe(200);
});

test("what was written before the object lost its memory rests with the next one", async () => {
  const storage = newStorage();
  const first = await opened(storage);
  for (const name of ["0", "1", "2"]) await first.put("alice", name);
  expect(first.objects.isRestless).toBe(true);
  const second = await opened(storage);
  expect([second.objects.isRestless, await second.objects.rest(), second.objects.isRestless]).toEqual([
    true,
    true,
    false,
  ]);
  await second.remove("alice", "1");
  const third = await opened(storage);
  expect([await third.objects.rest(), await third.objects.rest()]).toEqual([true, false]);
  const last = await opened(storage);
  expect([last.objects.isRestless, await last.objects.rest()]).toEqual([false, false]);
  expect([await last.get("alice", "0"), await last.get("alice", "1")]).toEqual([200, 404]);
});

test("a group that cannot rest keeps no other from it", async () => {
  const storage = newStorage();
  const { exec } = storage.sql;
  let refused: string | undefined;
  const sql = {
    exec: (...asked: Parameters<typeof exec>) => {
      if (refused !== undefined && asked[0].includes(refused) && !asked[0].startsWith("SELECT"))
        throw new Error("the disk is away");
      return exec(...asked);
    },
  };
  const { objects, put } = await opened({ ...storage, sql });
  for (const group of ["alice", "bob"]) await put(group, "1");
  refused = `brooklet_${Buffer.from("g:alice").toString("hex")}`;
  await expect(objects.rest()).rejects.toThrow("the disk is away");
  const isUnsettledGroup = (group: string): boolean =>
    isUnsettled(durableObject(storage), `brooklet_${Buffer.from(`g:${group}`).toString("hex")}`);
  expect([isUnsettledGroup("alice"), isUnsettledGroup("bob"), objects.isRestless]).toEqual([true, false, true]);
});

test.each([
  ["disk I/O error: SQLITE_IOERR", true],
  ["internal error; reference 4f1d", true],
  ["database disk image is malformed: SQLITE_CORRUPT", false],
])("a group rests of which could not be read once whether it has to, unless it is damaged: %s", async (said, rests) => {
  const storage = newStorage();
  const first = await opened(storage);
  for (const group of ["alice", "bob"]) await first.put(group, "1");
  const { exec } = storage.sql;
  let isFailing = true;
  const table = `brooklet_${Buffer.from("g:alice").toString("hex")}`;
  const sql = {
    exec: (...asked: Parameters<typeof exec>) => {
      if (!isFailing || !asked.includes(table)) return exec(...asked);
      isFailing = false;
      throw new Error(said);
    },
  };
  const { objects, problems } = await opened({ ...storage, sql });
  // Nobody asks for the group meanwhile, which would show that it has to.
  await objects.rest();
  const isLeft = isUnsettled(durableObject(storage), table);
  expect([isFailing, problems.length, isLeft, objects.isRestless]).toEqual([false, 1, !rests, false]);
});
