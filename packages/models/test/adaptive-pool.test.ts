/** The pool over lanes that run when they are told to. */
import { describe, expect, test } from "vitest";
import { deadlineIn } from "../src/embedder.ts";
import { AdaptivePool } from "../src/pool/adaptive-pool.ts";
import type { Lane, PoolMode } from "../src/pool/lane.ts";

interface Run {
  readonly kind: "wide" | "narrow";
  readonly batch: readonly number[];
  readonly end: (failure?: Error) => void;
}

function setting(mode: PoolMode = "adaptive", changes: { queueJobs?: number } = {}) {
  const runs: Run[] = [];
  const closed: string[] = [];
  const open = (kind: Run["kind"]) => (): Promise<Lane<number, string>> =>
    Promise.resolve({
      run: (batch) =>
        new Promise((resolve, reject) => {
          const results = batch.map((job) => `${kind} ${job}`);
          runs.push({ kind, batch, end: (failure) => (failure === undefined ? resolve(results) : reject(failure)) });
        }),
      close: () => Promise.resolve(void closed.push(kind)),
    });
  const pool = new AdaptivePool<number, string>({
    mode,
    openWide: open("wide"),
    openNarrow: open("narrow"),
    narrowLanes: 2,
    weigh: (job) => job,
    batchJobs: 4,
    batchWeight: 1000,
    queueJobs: changes.queueJobs ?? 100,
  });
  const settle = async () => {
    for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
  };
  const run = (job: number, ms = 60_000, signal?: AbortSignal) => pool.run(job, deadlineIn(ms, signal));
  return { pool, runs, closed, settle, run };
}

describe("adapting", () => {
  test.each([
    ["wide", 0, 8],
    ["narrow", 8, 0],
  ])("a job alone is %s where that is faster, once both were tried", async (faster, wideMs, narrowMs) => {
    const { runs, settle, run } = setting();
    const kinds: (string | undefined)[] = [];
    for (let job = 1; job <= 12; job += 1) {
      const answer = run(1);
      await settle();
      const under = runs.at(-1);
      kinds.push(under?.kind);
      await new Promise((resolve) => setTimeout(resolve, under?.kind === "wide" ? wideMs : narrowMs));
      under?.end();
      await answer;
    }
    expect(kinds.slice(0, 6)).toEqual(["wide", "wide", "wide", "narrow", "narrow", "narrow"]);
    expect(new Set(kinds.slice(6))).toEqual(new Set([faster]));
  });

  test("jobs that come while another runs are narrow, in batches, until three in a row came alone", async () => {
    const { runs, settle, run } = setting();
    const first = run(1);
    await settle();
    const later = [10, 10, 10, 10, 10, 10].map((job) => run(job));
    await settle();
    expect(runs.map(({ kind }) => kind)).toEqual(["wide"]);
    runs[0]?.end();
    await first;
    await settle();
    expect(runs.slice(1).map(({ kind, batch }) => [kind, batch.length])).toEqual([
      ["narrow", 3],
      ["narrow", 3],
    ]);
    for (const under of runs.slice(1)) under.end();
    await Promise.all(later);
    const kinds: (string | undefined)[] = [];
    for (let job = 0; job < 4; job += 1) {
      const alone = run(1);
      await settle();
      kinds.push(runs.at(-1)?.kind);
      runs.at(-1)?.end();
      await alone;
    }
    expect(kinds).toEqual(["narrow", "narrow", "wide", "wide"]);
  });

  test("jobs given in one go to an idle pool share the cores", async () => {
    const { runs, settle, run } = setting();
    const all = Promise.all([run(5), run(5)]);
    await settle();
    expect(runs.map(({ kind }) => kind)).toEqual(["narrow", "narrow"]);
    for (const under of runs) under.end();
    await all;
  });

  test("a batch holds jobs of about one size", async () => {
    const { runs, settle, run } = setting("narrow");
    const blocking = [run(1), run(1)];
    await settle();
    const waiting = [10, 200, 11, 190].map((job) => run(job));
    runs[0]?.end();
    await settle();
    expect(runs.at(-1)?.batch).toEqual([10, 11]);
    runs[1]?.end();
    await settle();
    expect(runs.at(-1)?.batch).toEqual([200, 190]);
    for (const under of runs) under.end();
    await Promise.all([...blocking, ...waiting]);
  });
});

describe("bounds", () => {
  test("more than may wait is refused at once", async () => {
    const { runs, settle, run, pool } = setting("narrow", { queueJobs: 2 });
    const accepted = [run(1), run(1)];
    await settle();
    accepted.push(run(1), run(1));
    await expect(run(1)).rejects.toMatchObject({ code: "OVERLOADED", status: 429 });
    expect(pool.statistics()).toMatchObject({ waiting: 2, running: 2, refused: 1 });
    while (pool.statistics().running > 0) {
      for (const under of runs) under.end();
      await settle();
    }
    await Promise.all(accepted);
  });

  test("what would come too late is refused before it waits", async () => {
    const { runs, settle, run } = setting("narrow");
    const slow = run(100);
    await settle();
    await new Promise((resolve) => setTimeout(resolve, 60));
    runs[0]?.end();
    await slow;
    const busy = [run(100), run(100)];
    await settle();
    const behind = run(100);
    await expect(run(100, 20)).rejects.toMatchObject({ code: "OVERLOADED" });
    for (const under of runs) under.end();
    await settle();
    runs.at(-1)?.end();
    await Promise.all([...busy, behind]);
  });

  test("a job whose time was over while it waited is not run", async () => {
    const { runs, settle, run } = setting("narrow");
    const busy = [run(1), run(1)];
    await settle();
    const late = run(1, 5);
    const outcome = late.catch((error: { code: string }) => error.code);
    await new Promise((resolve) => setTimeout(resolve, 15));
    for (const under of runs) under.end();
    expect(await outcome).toBe("TIMED_OUT");
    await Promise.all(busy);
    expect(runs).toHaveLength(2);
  });

  test("an abort takes a job out of the queue", async () => {
    const { runs, settle, run, pool } = setting("narrow");
    const busy = [run(1), run(1)];
    await settle();
    const controller = new AbortController();
    const gone = run(1, 60_000, controller.signal);
    controller.abort(new Error("gone"));
    await expect(gone).rejects.toThrow("gone");
    expect(pool.statistics().waiting).toBe(0);
    for (const under of runs) under.end();
    await Promise.all(busy);
  });

  test("a batch that fails fails its jobs alone", async () => {
    const { runs, settle, run } = setting();
    const failing = run(1);
    await settle();
    runs[0]?.end(new Error("no"));
    await expect(failing).rejects.toThrow("no");
    const next = run(2);
    await settle();
    runs[1]?.end();
    expect(await next).toBe("wide 2");
  });
});

test("closing waits for what runs, refuses the rest, and closes every lane", async () => {
  const { pool, runs, settle, run, closed } = setting("narrow");
  const running = [run(1), run(1)];
  await settle();
  const waiting = run(1);
  const ended = pool.close();
  await expect(waiting).rejects.toMatchObject({ code: "UNAVAILABLE" });
  expect(closed).toEqual([]);
  for (const under of runs) under.end();
  await Promise.all([...running, ended]);
  expect(closed).toEqual(["narrow", "narrow"]);
  await expect(run(1)).rejects.toMatchObject({ code: "UNAVAILABLE" });
});
