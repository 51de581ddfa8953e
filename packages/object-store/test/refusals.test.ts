/** A store that says no, whatever it is asked: whoever asks is told so at once, and nothing is done twice when it says yes again. */
import { nodeSurroundings } from "@brooklet/partition/node";
import { expect, test } from "vitest";
import { memoryObjectStore } from "../src/memory.ts";
import { S3Error } from "../src/s3.ts";
import { get, NOTE, openCluster, packageOf, put } from "./setting.ts";

/** A cluster over a store that refuses while `state.code` says why, all or what is written, or loses an answer before. */
async function refusable() {
  const state: { code?: string; isRead?: boolean; isLost?: boolean } = {};
  const refuse = (): void => {
    if (state.code !== undefined) throw new S3Error(`answered 403: <Error><Code>${state.code}</Code></Error>`, 403);
  };
  const store = memoryObjectStore(undefined, async (work) => {
    if (state.isRead !== true) refuse();
    return work();
  });
  const put: typeof store.files.put = async (...asked) => {
    refuse();
    await store.files.put(...asked);
  };
  const append: typeof store.log.append = async (...asked) => {
    refuse();
    const outcome = await store.log.append(...asked);
    if (state.isLost !== true) return outcome;
    state.code = "ExpiredToken";
    throw new Error("no answer");
  };
  const rounds: (() => void)[] = [];
  const every: (typeof nodeSurroundings)["every"] = (_, work) => {
    rounds.push(work);
    return () => undefined;
  };
  const opened = await openCluster(
    { ...store, files: { ...store.files, put }, log: { ...store.log, append } },
    { surroundings: { ...nodeSurroundings, every }, buckets: 1 },
  );
  await opened.cluster.deploy(packageOf({ note: NOTE }));
  const look = (): void => rounds.forEach((round) => void round());
  return { ...opened, store, state, look };
}

test.each([
  ["RequestTimeTooSkewed", "the clock of this machine"],
  ["SignatureDoesNotMatch", "the secret access key"],
  ["InvalidAccessKeyId", "no such access key"],
  ["AccessDenied", "get, put, delete and list"],
  ["ExpiredToken", "the session of the credentials is over"],
])(
  "whoever is refused for %s is told so at once, as is the operator, once, until it is mended",
  async (code, words) => {
    const { cluster, problems, state, look } = await refusable();
    await put(cluster, "alice", "1", { title: "first", seen: 1 });
    expect(await cluster.health()).toEqual([]);
    state.code = code;
    const refused = { code: "STORE_FAILED", outcome: "unknown" };
    await expect(put(cluster, "alice", "2", { title: "second", seen: 2 })).rejects.toMatchObject(refused);
    await expect(get(cluster, "alice", "1")).rejects.toMatchObject({ code: "STORE_FAILED" });
    await expect(cluster.applicationNumber()).rejects.toThrow(words);
    look();
    await expect.poll(() => cluster.health()).toEqual([expect.stringContaining(words)]);
    expect(problems.filter((problem) => String(problem).includes(words))).toHaveLength(1);
    delete state.code;
    await put(cluster, "alice", "2", { title: "second", seen: 2 });
    expect(await get(cluster, "alice", "1")).toEqual({ title: "first", seen: 1 });
    await cluster.applicationNumber();
    expect(await cluster.health()).toEqual([]);
  },
);

test("a store that may be read and takes no writes is told of until it takes one, though nobody sends one meanwhile", async () => {
  const { cluster, problems, store, state, look } = await refusable();
  await put(cluster, "alice", "1", { title: "first", seen: 1 });
  Object.assign(state, { code: "AccessDenied", isRead: true });
  await expect(put(cluster, "alice", "2", { title: "second", seen: 2 })).rejects.toMatchObject({
    code: "STORE_FAILED",
  });
  for (let round = 0; round < 3; round += 1) {
    await cluster.applicationNumber();
    expect(await get(cluster, "alice", "1")).toEqual({ title: "first", seen: 1 });
    expect(await cluster.health()).toEqual([expect.stringContaining("get, put, delete and list")]);
  }
  expect(problems).toHaveLength(1);
  const before = await store.files.names("file/");
  delete state.code;
  look();
  await expect.poll(() => cluster.health()).toEqual([]);
  expect(await store.files.names("file/")).toEqual(before);
});

test("a write whose answer was lost before it was refused is not known to be done, and is not done again", async () => {
  const { cluster, state } = await refusable();
  await put(cluster, "alice", "1", { title: "first", seen: 1 });
  state.isLost = true;
  await expect(put(cluster, "alice", "1", { title: "second", seen: 2 }, "note.seen == 1")).rejects.toMatchObject({
    code: "STORE_FAILED",
    outcome: "unknown",
  });
  state.isLost = false;
  delete state.code;
  expect(await get(cluster, "alice", "1")).toEqual({ title: "second", seen: 2 });
});

test("a deployment that is refused by the store is told as every other request", async () => {
  const { cluster, state } = await refusable();
  state.code = "ExpiredToken";
  const other = packageOf({
    note: NOTE.replace("field seen", "field more type int { indexing: attribute } field seen"),
  });
  const refused = { code: "STORE_FAILED", status: 500, message: expect.stringContaining("refuses what it is asked") };
  await expect(cluster.deploy(other)).rejects.toMatchObject(refused);
  await expect(cluster.checkDeployment(other)).rejects.toMatchObject(refused);
  await expect(cluster.applicationNumber()).rejects.toMatchObject(refused);
});
