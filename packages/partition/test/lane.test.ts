import { describe, expect, test } from "vitest";
import { LANE_LIMITS, Lane, type LaneLimits } from "../src/query/lane.ts";

/** A thread that takes so long for each search, and searches that come at fixed times whatever becomes of those before. */
class Load {
  nowMs = 0;
  readonly lane: Lane;
  readonly waits: number[] = [];
  refused = 0;
  #works: { readonly doneMs: number }[] = [];
  #freeMs = 0;

  constructor(limits: LaneLimits = LANE_LIMITS) {
    this.lane = new Lane(limits, () => this.nowMs);
  }

  /** Searches every `everyMs` for `forMs`, each of which takes the thread `tookMs`. */
  async run(everyMs: number, tookMs: number, forMs: number): Promise<void> {
    const end = this.nowMs + forMs;
    for (let due = this.nowMs; due < end; due += everyMs) {
      await this.#until(due);
      this.#ask(tookMs);
    }
    await this.#until(end);
  }

  /** Lets what is queued be done. */
  async rest(forMs: number): Promise<void> {
    await this.#until(this.nowMs + forMs);
  }

  #ask(tookMs: number): void {
    const dueMs = this.nowMs;
    const begin = (): void => {
      this.#freeMs = Math.max(this.#freeMs, this.nowMs) + tookMs;
      this.#works.push({ doneMs: this.#freeMs });
      this.waits.push(this.#freeMs - dueMs);
    };
    const entering = this.lane.enter();
    if (entering === undefined) begin();
    else
      entering.then(begin, () => {
        this.refused += 1;
      });
  }

  async #until(ms: number): Promise<void> {
    for (;;) {
      await Promise.resolve();
      await Promise.resolve();
      const next = this.#works[0];
      if (next === undefined || next.doneMs > ms) break;
      this.#works.shift();
      this.nowMs = next.doneMs;
      this.lane.leave();
    }
    this.nowMs = ms;
  }

  /** What was done since it was asked last, and how long the slowest but one in a hundred of it took. */
  take(): { readonly done: number; readonly p99: number; readonly refused: number } {
    const sorted = this.waits.splice(0).sort((left, right) => left - right);
    const { refused } = this;
    this.refused = 0;
    return { done: sorted.length, p99: sorted[Math.floor(sorted.length * 0.99)] ?? 0, refused };
  }
}

/** So short that what may wait by its time is more than what always may. */
const SERVICE_MS = 1;
const LOAD_MS = 6_000;

describe("an open loop of more searches than a thread can do (T11)", () => {
  async function loaded(times: number, limits?: LaneLimits): Promise<ReturnType<Load["take"]>> {
    const load = new Load(limits);
    await load.run(SERVICE_MS / times, SERVICE_MS, LOAD_MS);
    return load.take();
  }

  test("nothing is refused of what can be done", async () => {
    const { refused, done } = await loaded(0.95);
    expect({ refused, done }).toEqual({ refused: 0, done: expect.closeTo((0.95 * LOAD_MS) / SERVICE_MS, -1) });
  });

  test.each([1.1, 2, 4, 20])(
    "%s times of it: all that can be done is done, and what is accepted is soon done",
    async (times) => {
      const load = new Load();
      await load.run(SERVICE_MS / times, SERVICE_MS, 2_000);
      load.take();
      await load.run(SERVICE_MS / times, SERVICE_MS, LOAD_MS);
      const { refused, done, p99 } = load.take();
      expect(done).toBeGreaterThan(0.98 * (LOAD_MS / SERVICE_MS));
      expect(refused).toBeGreaterThan(0.9 * (times - 1) * (LOAD_MS / SERVICE_MS));
      expect(p99).toBeLessThanOrEqual(LANE_LIMITS.waitMs + 6 * SERVICE_MS);
    },
  );

  test("sabotage: a queue without a bound makes all of them late", async () => {
    const endless = Number.POSITIVE_INFINITY;
    const { p99, refused } = await loaded(2, { ...LANE_LIMITS, queued: endless, burstMs: endless });
    expect(refused).toBe(0);
    expect(p99).toBeGreaterThan(LOAD_MS / 4);
  });

  test("a moment in which nobody waits lets no burst in again", async () => {
    const load = new Load();
    await load.run(SERVICE_MS / 4, SERVICE_MS, 2_000);
    load.take();
    for (let turn = 0; turn < 20; turn += 1) {
      await load.run(SERVICE_MS / 4, SERVICE_MS, 200);
      while (load.lane.queued > 0) await load.rest(1);
    }
    expect(load.take().p99).toBeLessThanOrEqual(LANE_LIMITS.waitMs + 6 * SERVICE_MS);
  });

  test("nor do many of them, while others are refused", async () => {
    const load = new Load();
    await load.run(SERVICE_MS / 4, SERVICE_MS, 2_000);
    load.take();
    for (let turn = 0; turn < 40; turn += 1) {
      await load.run(SERVICE_MS / 4, SERVICE_MS, 40);
      // Longer than what may wait takes.
      await load.rest(40);
    }
    const { p99, refused } = load.take();
    expect(refused).toBeGreaterThan(0);
    expect(p99).toBeLessThanOrEqual(LANE_LIMITS.waitMs + 6 * SERVICE_MS);
  });

  test("when the load falls it is at once as it was before", async () => {
    const load = new Load();
    await load.run(SERVICE_MS / 4, SERVICE_MS, LOAD_MS);
    await load.rest(LANE_LIMITS.waitedMs);
    load.take();
    await load.run(SERVICE_MS * 2, SERVICE_MS, LOAD_MS);
    expect(load.take()).toEqual({ done: LOAD_MS / SERVICE_MS / 2, p99: SERVICE_MS, refused: 0 });
    expect([load.lane.queued, load.lane.refusal]).toEqual([0, undefined]);
  });
});

test("a burst waits as long as it takes, however slow each of it is", async () => {
  const load = new Load();
  await load.run(0.5, 10, 0.5 * 40);
  await load.rest(1_000);
  expect(load.take()).toMatchObject({ done: 40, refused: 0 });
});

test("a few that ask again when they are answered are never refused", async () => {
  const load = new Load();
  // Twelve clients, and one search takes a tenth of a second.
  for (let turn = 0; turn < 50; turn += 1) {
    for (let client = 0; client < 12; client += 1) await load.run(1, 100, 1);
    await load.rest(1_188);
  }
  expect(load.take().refused).toBe(0);
});

test("more than the longest queue is refused at once, and told why", async () => {
  const lane = new Lane({ ...LANE_LIMITS, running: 1, queued: 1 });
  expect(lane.enter()).toBeUndefined();
  const waiting = lane.enter();
  expect(lane.refusal).toBe("Rejecting execution due to overload: 1 searches already enqueued");
  await expect(lane.enter()).rejects.toMatchObject({ code: "UNAVAILABLE", status: 503, outcome: "not_applied" });
  lane.leave();
  await waiting;
  expect([lane.running, lane.queued]).toEqual([1, 0]);
});

test("who is refused keeps an overload, and who only looks does not", () => {
  let nowMs = 0;
  const limits = { running: 1, runningMost: 1, queued: 1, burstMs: 500, waitMs: 0, queuedAlways: 0, waitedMs: 1_000 };
  const lane = new Lane(limits, () => nowMs);
  const reason = expect.stringContaining("already enqueued");
  const overloads = (): void => {
    lane.enter();
    lane.enter();
    nowMs += limits.burstMs;
    expect(lane.refusal).toEqual(reason);
  };
  /** What is said to the next, some time after all were done. */
  const after = (): string | undefined => {
    lane.leave();
    lane.leave();
    nowMs += 90;
    lane.enter();
    lane.leave();
    return lane.refusal;
  };
  overloads();
  expect(after()).toBeUndefined();
  overloads();
  lane.countRefusal();
  expect(after()).toEqual(reason);
});

describe("a thread that is heard of once in a turn of many milliseconds", () => {
  /** Turns of `turnMs` in which a thread that takes `tookMs` for each does what is with it; searches always wait. What was done. */
  async function turns(
    lane: Lane,
    count: number,
    turnMs: number,
    tookMs: number,
    turnEnds: (() => void)[],
  ): Promise<number> {
    let done = 0;
    const ask = (): void => void lane.enter()?.catch(() => undefined);
    for (let turn = 0; turn < count; turn += 1) {
      while (lane.queued < LANE_LIMITS.queuedAlways) ask();
      const finished = Math.min(lane.running, Math.floor(turnMs / tookMs));
      done += finished;
      for (let one = 0; one < finished; one += 1) {
        lane.leave();
        ask();
      }
      for (const work of turnEnds.splice(0)) work();
      await Promise.resolve();
    }
    return done;
  }

  test("has as much with it as it can do meanwhile, and no more than that twice", async () => {
    const ends: (() => void)[] = [];
    const lane = new Lane(
      LANE_LIMITS,
      () => 0,
      (work) => void ends.push(work),
    );
    const [turnMs, tookMs] = [20, 1];
    await turns(lane, 10, turnMs, tookMs, ends);
    expect(await turns(lane, 100, turnMs, tookMs, ends)).toBe(100 * (turnMs / tookMs));
    expect(lane.places).toBeLessThanOrEqual((2 * turnMs) / tookMs);
    // Turns that are short again need few.
    await turns(lane, 100, 1, tookMs, ends);
    expect(lane.places).toBe(LANE_LIMITS.running);
  });

  test("sabotage: with the same few always, four fifths of its time are lost", async () => {
    const lane = new Lane(LANE_LIMITS, () => 0);
    expect(await turns(lane, 100, 20, 1, [])).toBe(100 * LANE_LIMITS.running);
  });

  test("the places are few again when nobody waits", async () => {
    const ends: (() => void)[] = [];
    const lane = new Lane(
      LANE_LIMITS,
      () => 0,
      (work) => void ends.push(work),
    );
    await turns(lane, 10, 20, 1, ends);
    expect(lane.places).toBeGreaterThan(LANE_LIMITS.running);
    while (lane.running > 0) {
      lane.leave();
      for (const work of ends.splice(0)) work();
      await Promise.resolve();
    }
    expect([lane.places, lane.queued]).toEqual([LANE_LIMITS.running, 0]);
  });
});
