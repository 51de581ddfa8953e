/** A store that says no, whatever it is asked: whoever asks is told so at once, and nothing is done twice when it says yes again. */
import { nodeSurroundings } from "@brooklet/partition/node";
import { expect, test } from "vitest";
import { memoryObjectStore } from "../src/memory.ts";
import { S3Error } from "../src/s3.ts";
import { get, NOTE, openCluster, packageOf, put } from "./setting.ts";

/** A cluster over a store that refuses while `state.code` says why, or loses an answer before. */
async function refusable() {
  const state: { code?: string; isLost?: boolean } = {};
  const refuse = (): void => {
    if (state.code !== undefined) throw new S3Error(`answered 403: <Error><Code>${state.code}</Code></Error>`, 403);
  };
  const store = memoryObjectStore(undefined, async (work) => {
    refuse();
    return work();
  });
  const append: typeof store.log.append = async (...asked) => {
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
    { ...store, log: { ...store.log, append } },
    { surroundings: { ...nodeSurroundings, every }, buckets: 1 },
  );
  await opened.cluster.deploy(packageOf({ note: NOTE }));
  const look = (): void => rounds.forEach((round) => void round());
  return { ...opened, state, look };
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
