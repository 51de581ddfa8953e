/** The pool over runners that run when they are told to. */
import { describe, expect, test } from "vitest";
import { deadlineIn } from "../src/embedder.ts";
import { AdaptivePool } from "../src/pool/adaptive-pool.ts";
import type { BatchRunner, GivenUpRun, PoolMode } from "../src/pool/batch-runner.ts";

interface Run {
  readonly kind: "wide" | "narrow";
  readonly batch: readonly number[];
  readonly end: (failure?: Error) => void;
}

interface Changes {
  readonly queueJobs?: number;
  readonly givenUpAfterMs?: number;
  readonly narrowMade?: Promise<void>;
  readonly isUrgent?: (job: number) => boolean;
}

function setting(mode: PoolMode = "adaptive", changes: Changes = {}) {
  const runs: Run[] = [];
  const clock = { ms: 0 };
  const givenUp: GivenUpRun[] = [];
  const abandoned: string[] = [];
  const closed: string[] = [];
  const open = (kind: Run["kind"]) => async (): Promise<BatchRunner<number, string>> => {
    if (kind === "narrow") await changes.narrowMade;
    return {
      run: (batch) =>
        new Promise((resolve, reject) => {
          const results = batch.map((job) => `${kind} ${job}`);
          runs.push({ kind, batch, end: (failure) => (failure === undefined ? resolve(results) : reject(failure)) });
        }),
      abandon: () => void abandoned.push(kind),
      close: () => Promise.resolve(void closed.push(kind)),
    };
  };
  const pool = new AdaptivePool<number, string>({
    mode,
    openWide: open("wide"),
    openNarrow: open("narrow"),
    narrowRunners: 2,
    weigh: (job) => job,
    batchJobs: 4,
    batchWeight: 1000,
    queueJobs: changes.queueJobs ?? 100,
    nowMs: () => clock.ms,
    onGivenUp: (run) => void givenUp.push(run),
    ...(changes.isUrgent === undefined ? {} : { isUrgent: changes.isUrgent }),
    ...(changes.givenUpAfterMs === undefined ? {} : { givenUpAfterMs: changes.givenUpAfterMs }),
  });
  const turns = async () => {
    for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
  };
  // Only a timer ends a wait: a busy machine would use up some milliseconds before the job is begun.
  const run = (job: number, ms = 60_000, signal?: AbortSignal) =>
    pool.run(job, { ...deadlineIn(ms, signal), leftMs: () => ms });
  return { pool, runs, closed, clock, givenUp, abandoned, turns, run };
}

describe("adapting", () => {
  test.each([
    ["wide", 5, 8],
    ["narrow", 8, 5],
  ])("a job alone is %s where that is faster, once both were tried", async (faster, wideMs, narrowMs) => {
    const { runs, turns, run, clock } = setting();
    const kinds: (string | undefined)[] = [];
    for (let job = 1; job <= 32; job += 1) {
      const answer = run(1);
      await turns();
      const under = runs.at(-1);
      kinds.push(under?.kind);
      clock.ms += under?.kind === "wide" ? wideMs : narrowMs;
      under?.end();
      await answer;
    }
    expect(kinds[0]).toBe("wide");
    expect(kinds.slice(0, 6)).toContain("narrow");
    expect(kinds.slice(8).filter((kind) => kind === faster).length).toBeGreaterThan(20);
  });

  test("a job alone does not wait for a session that is made to try another way", async () => {
    let made = (): void => undefined;
    const waited = new Promise<void>((resolve) => {
      made = resolve;
    });
    const { runs, turns, run, pool } = setting("adaptive", { narrowMade: waited });
    const one = async (): Promise<string | undefined> => {
      const answer = run(1);
      await turns();
      runs.at(-1)?.end();
      await answer;
      return runs.at(-1)?.kind;
    };
    for (let job = 0; job < 10; job += 1) expect(await one()).toBe("wide");
    made();
    await turns();
    expect(pool.statistics().runners).toBe(2);
    const kinds: (string | undefined)[] = [];
    for (let job = 0; job < 4; job += 1) kinds.push(await one());
    expect(kinds).toContain("narrow");
  });

  test("jobs that come while another runs are narrow, in batches, until three in a row came alone", async () => {
    const { runs, turns, run } = setting();
    const first = run(1);
    await turns();
    const later = [10, 10, 10, 10, 10, 10].map((job) => run(job));
    await turns();
    expect(runs.map(({ kind }) => kind)).toEqual(["wide"]);
    runs[0]?.end();
    await first;
    await turns();
    expect(runs.slice(1).map(({ kind, batch }) => [kind, batch.length])).toEqual([
      ["narrow", 3],
      ["narrow", 3],
    ]);
    for (const under of runs.slice(1)) under.end();
    await Promise.all(later);
    const kinds: (string | undefined)[] = [];
    for (let job = 0; job < 3; job += 1) {
      const alone = run(1);
      await turns();
      kinds.push(runs.at(-1)?.kind);
      runs.at(-1)?.end();
      await alone;
    }
    expect(kinds).toEqual(["narrow", "narrow", "wide"]);
  });

  test("jobs given in one go to an idle pool share the cores", async () => {
    const { runs, turns, run } = setting();
    const all = Promise.all([run(5), run(5)]);
    await turns();
    expect(runs.map(({ kind }) => kind)).toEqual(["narrow", "narrow"]);
    for (const under of runs) under.end();
    await all;
  });

  test("a batch holds jobs of about one size", async () => {
    const { runs, turns, run } = setting("narrow");
    const blocking = [run(1), run(1)];
    await turns();
    const waiting = [10, 200, 11, 190].map((job) => run(job));
    runs[0]?.end();
    await turns();
    expect(runs.at(-1)?.batch).toEqual([10, 11]);
    runs[1]?.end();
    await turns();
    expect(runs.at(-1)?.batch).toEqual([200, 190]);
    for (const under of runs) under.end();
    await Promise.all([...blocking, ...waiting]);
  });
});

describe("bounds", () => {
  test("more than may wait is refused at once", async () => {
    const { runs, turns, run, pool } = setting("narrow", { queueJobs: 2 });
    const accepted = [run(1), run(1)];
    await turns();
    accepted.push(run(1), run(1));
    await expect(run(1)).rejects.toMatchObject({ code: "OVERLOADED", status: 429 });
    expect(pool.statistics()).toMatchObject({ waiting: 2, running: 2, refused: 1 });
    while (pool.statistics().running > 0) {
      for (const under of runs) under.end();
      await turns();
    }
    await Promise.all(accepted);
  });

  test("what would come too late is refused before it waits", async () => {
    const { runs, turns, run, clock } = setting("narrow");
    const slow = run(100);
    await turns();
    clock.ms += 60;
    runs[0]?.end();
    await slow;
    const busy = [run(100), run(100)];
    await turns();
    const behind = run(100);
    await expect(run(100, 20)).rejects.toMatchObject({ code: "OVERLOADED" });
    for (const under of runs) under.end();
    await turns();
    runs.at(-1)?.end();
    await Promise.all([...busy, behind]);
  });

  test("a job whose time was over while it waited is not run", async () => {
    const { runs, turns, run } = setting("narrow");
    const busy = [run(1), run(1)];
    await turns();
    const late = run(1, 5);
    const outcome = late.catch((error: { code: string }) => error.code);
    await new Promise((resolve) => setTimeout(resolve, 15));
    for (const under of runs) under.end();
    expect(await outcome).toBe("TIMED_OUT");
    await Promise.all(busy);
    expect(runs).toHaveLength(2);
  });

  test("an abort takes a job out of the queue", async () => {
    const { runs, turns, run, pool } = setting("narrow");
    const busy = [run(1), run(1)];
    await turns();
    const controller = new AbortController();
    const gone = run(1, 60_000, controller.signal);
    controller.abort(new Error("gone"));
    await expect(gone).rejects.toThrow("gone");
    expect(pool.statistics().waiting).toBe(0);
    for (const under of runs) under.end();
    await Promise.all(busy);
  });

  test("who waits for a run is told when the time is over, or gone, and the run ends by itself", async () => {
    const { runs, turns, run, pool } = setting("narrow");
    const controller = new AbortController();
    const [late, gone] = [run(1, 10), run(1, 60_000, controller.signal)];
    await turns();
    expect(runs).toHaveLength(2);
    controller.abort(new Error("gone"));
    await expect(gone).rejects.toThrow("gone");
    await expect(late).rejects.toMatchObject({ code: "TIMED_OUT", status: 504 });
    expect(pool.statistics()).toMatchObject({ running: 2, givenUp: 0 });
    for (const under of runs) under.end();
    await turns();
    expect(pool.statistics()).toMatchObject({ running: 0, runners: 2 });
  });

  test("a batch that fails fails its jobs alone", async () => {
    const { runs, turns, run } = setting();
    const failing = run(1);
    await turns();
    runs[0]?.end(new Error("no"));
    await expect(failing).rejects.toThrow("no");
    const next = run(2);
    await turns();
    runs[1]?.end();
    expect(await next).toBe("wide 2");
  });
});

describe("runs that do not return", () => {
  const until = async (holds: () => boolean): Promise<void> => {
    while (!holds()) await new Promise((resolve) => setTimeout(resolve, 2));
  };

  test("another session takes the place of one that is given up, and is not one too many when it returns", async () => {
    const { pool, runs, turns, run, givenUp, abandoned, closed } = setting("narrow", { givenUpAfterMs: 30 });
    await expect(run(1, 5)).rejects.toMatchObject({ code: "TIMED_OUT" });
    expect(givenUp).toEqual([]);
    await until(() => givenUp.length > 0);
    expect(givenUp).toEqual([{ afterMs: 30, givenUp: 1, isLast: false }]);
    expect(abandoned).toEqual(["narrow"]);
    expect(pool.statistics()).toMatchObject({ running: 0, givenUp: 1, runners: 1 });
    const both = [run(2), run(3)];
    await turns();
    expect(runs.slice(1).map(({ batch }) => batch)).toEqual([[2], [3]]);
    expect(pool.statistics().runners).toBe(3);
    runs[0]?.end();
    await turns();
    expect(closed).toEqual(["narrow"]);
    for (const under of runs.slice(1)) under.end();
    expect(await Promise.all(both)).toEqual(["narrow 2", "narrow 3"]);
    expect(pool.statistics()).toMatchObject({ givenUp: 0, runners: 2 });
  });

  test("a run that somebody waits for is not given up", async () => {
    const { runs, turns, run, givenUp } = setting("adaptive", { givenUpAfterMs: 5 });
    const slow = run(1, 60_000);
    await new Promise((resolve) => setTimeout(resolve, 30));
    expect(givenUp).toEqual([]);
    runs[0]?.end();
    expect(await slow).toBe("wide 1");
    await turns();
  });

  test("one job takes the place of the first; after the second nothing more is run, and what waits is refused, until one returns", async () => {
    const { pool, runs, turns, run, givenUp } = setting("narrow", { givenUpAfterMs: 30 });
    const late = [run(1, 5), run(1, 5)].map((job) => job.catch((error: { code: string }) => error.code));
    await turns();
    // Of different sizes, so that they are no batch.
    const [first, second] = [run(1), run(500)];
    const refused = second.catch((error: { code: string; status: number }) => [error.code, error.status]);
    expect(await Promise.all(late)).toEqual(["TIMED_OUT", "TIMED_OUT"]);
    await until(() => givenUp.length === 2);
    expect(givenUp[1]).toMatchObject({ givenUp: 2, isLast: true });
    expect(await refused).toEqual(["UNAVAILABLE", 503]);
    await turns();
    expect(runs).toHaveLength(3);
    runs[2]?.end();
    expect(await first).toBe("narrow 1");
    await expect(run(1)).rejects.toMatchObject({ code: "UNAVAILABLE", status: 503 });
    runs[0]?.end();
    await turns();
    expect(pool.statistics().givenUp).toBe(1);
    const next = run(7);
    await turns();
    runs.at(-1)?.end();
    expect(await next).toBe("narrow 7");
  });

  test("closing does not wait for them", async () => {
    const { pool, run, givenUp, closed } = setting("narrow", { givenUpAfterMs: 10 });
    await expect(run(1, 5)).rejects.toMatchObject({ code: "TIMED_OUT" });
    await until(() => givenUp.length > 0);
    await pool.close();
    expect(closed).toEqual(["narrow"]);
  });
});

test("closing waits for what runs, refuses the rest, and closes every runner", async () => {
  const { pool, runs, turns, run, closed } = setting("narrow");
  const running = [run(1), run(1)];
  await turns();
  const waiting = run(1);
  const ended = pool.close();
  await expect(waiting).rejects.toMatchObject({ code: "UNAVAILABLE" });
  expect(closed).toEqual([]);
  for (const under of runs) under.end();
  await Promise.all([...running, ended]);
  expect(closed).toEqual(["narrow", "narrow"]);
  await expect(run(1)).rejects.toMatchObject({ code: "UNAVAILABLE" });
});

describe("urgent jobs", () => {
  const URGENT = 7;
  const isUrgent = (job: number): boolean => job === URGENT;

  test("go before all others, whenever they come", async () => {
    const { runs, turns, run } = setting("narrow", { isUrgent });
    const answers = Array.from({ length: 20 }, () => run(5));
    await turns();
    expect(runs.map(({ batch }) => batch)).toEqual([
      [5, 5, 5, 5],
      [5, 5, 5, 5],
    ]);
    answers.push(run(URGENT));
    await turns();
    expect(runs).toHaveLength(2);
    runs[0]?.end();
    await turns();
    expect(runs[2]?.batch).toEqual([URGENT]);
    for (let at = 0; at < 20; at += 1) {
      runs[at]?.end();
      await turns();
    }
    await Promise.all(answers);
  });

  test("wait no longer for a runner than a short batch takes", async () => {
    const { runs, turns, run, clock } = setting("narrow", { isUrgent });
    const first = run(10);
    await turns();
    // 2 ms for each unit of cost: 50 ms are 25.
    clock.ms += 20;
    runs[0]?.end();
    await first;
    const answers = [...Array.from({ length: 20 }, () => run(10)), ...Array.from({ length: 4 }, () => run(URGENT))];
    await turns();
    expect(runs.slice(1).map(({ batch }) => batch)).toEqual([
      [URGENT, URGENT],
      [URGENT, URGENT],
    ]);
    clock.ms += 28;
    runs[1]?.end();
    await turns();
    expect(runs[3]?.batch).toEqual([10, 10]);
    for (let at = 2; at < 20; at += 1) {
      runs[at]?.end();
      await turns();
    }
    await Promise.all(answers);
  });

  test("are not refused for what others have waiting", async () => {
    const { runs, turns, run, clock } = setting("narrow", { isUrgent, queueJobs: 10 });
    const first = run(10);
    await turns();
    clock.ms += 1_000;
    runs[0]?.end();
    await first;
    const others = Array.from({ length: 8 }, () => run(10));
    await turns();
    others.push(...Array.from({ length: 4 }, () => run(10)));
    await expect(run(10)).rejects.toMatchObject({ code: "OVERLOADED" });
    const urgent = run(URGENT, 900);
    await turns();
    runs[1]?.end();
    await turns();
    runs.at(-1)?.end();
    expect(await urgent).toBe(`narrow ${URGENT}`);
    for (let at = 2; at < 20; at += 1) {
      runs[at]?.end();
      await turns();
    }
    await Promise.all(others);
  });
});
