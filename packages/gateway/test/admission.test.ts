import { expect, onTestFinished, test, vi } from "vitest";
import { Admission, KeyedAdmission } from "../src/load/admission.ts";

/** More than there is room for, whatever becomes of the places. */
const ASKED_MAX = 200;
const LIMITS = { running: 4, runningMost: 16, queued: 28, waitMs: 60_000 };

/** Turns in which all that run are done at once, and others take their places. How many were done. */
async function turns(admission: Admission, count: number, ofTurn: number): Promise<number> {
  let done = 0;
  const ask = (): void => void admission.enter()?.catch(() => undefined);
  for (let turn = 0; turn < count; turn += 1) {
    for (let asked = 0; asked < ASKED_MAX && admission.refusal === undefined; asked += 1) ask();
    const finished = Math.min(admission.running, ofTurn);
    for (let one = 0; one < finished; one += 1) admission.leave();
    done += finished;
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  return done;
}

test("a hot group has as many places as are given back in one turn, and no more wait or run than before", async () => {
  const admission = new Admission(LIMITS);
  await turns(admission, 5, 100);
  expect(admission.places).toBe(LIMITS.runningMost);
  expect(admission.running + admission.queued).toBeLessThanOrEqual(LIMITS.running + LIMITS.queued);
  expect(await turns(admission, 20, 100)).toBe(20 * LIMITS.runningMost);
  // What is done one by one needs few.
  await turns(admission, 40, 1);
  expect(admission.places).toBeLessThanOrEqual(LIMITS.running + 1);
});

test("sabotage: with the same few always a turn does no more than those", async () => {
  const { runningMost: _, ...fixed } = LIMITS;
  const admission = new Admission(fixed);
  expect(await turns(admission, 20, 100)).toBe(20 * LIMITS.running);
});

test("when nobody is left the places are few again, and all of them are free", async () => {
  const admission = new Admission(LIMITS);
  await turns(admission, 5, 100);
  while (admission.running > 0) admission.leave();
  await new Promise((resolve) => setTimeout(resolve, 5));
  expect([admission.running, admission.queued, admission.places]).toEqual([0, 0, LIMITS.running]);
});

test("one refusal is told to all while as many wait, and says how many, and nobody is refused when there is room", async () => {
  const admission = new Admission({ running: 1, queued: 2, waitMs: 60_000 });
  const settled: Promise<void>[] = [];
  for (let one = 0; one < 3; one += 1) settled.push(Promise.resolve(admission.enter()));
  const refusal = admission.refusal;
  expect(refusal).toMatchObject({
    code: "OVERLOADED",
    message: expect.stringContaining("2 requests already enqueued"),
  });
  expect(admission.refusal).toBe(refusal);
  admission.leave();
  expect(admission.refusal).toBe(undefined);
  settled.push(Promise.resolve(admission.enter()));
  expect(admission.refusal).toMatchObject({ message: refusal?.message });
  while (admission.running > 0) admission.leave();
  await Promise.all(settled);
  expect(admission.refusal).toBe(undefined);
});

test("a queue that is full takes nobody more, and says so at once", async () => {
  const admission = new Admission({ running: 1, queued: 2, waitMs: 60_000 });
  const waiting = [admission.enter(), admission.enter(), admission.enter()].slice(1);
  await expect(admission.enter()).rejects.toMatchObject({
    code: "OVERLOADED",
    message: expect.stringContaining("2 requests already enqueued"),
  });
  expect([admission.running, admission.queued]).toEqual([1, 2]);
  for (const _ of waiting) admission.leave();
  await Promise.all(waiting);
  admission.leave();
  expect([admission.running, admission.queued]).toEqual([0, 0]);
});

test.each([
  [999, "UNAVAILABLE"],
  [1_000, "OVERLOADED"],
])("who waited %i ms is told %s and does not wait any more: the place is the next one's", async (waitMs, code) => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const admission = new Admission({ running: 1, queued: 2, waitMs });
  admission.enter();
  const late = expect(admission.enter()).rejects.toMatchObject({
    code,
    message: expect.stringContaining(`waited ${waitMs} ms for a place`),
  });
  await vi.advanceTimersByTimeAsync(waitMs - 1);
  const next = admission.enter();
  expect(admission.queued).toBe(2);
  await vi.advanceTimersByTimeAsync(1);
  await late;
  expect(admission.queued).toBe(1);
  admission.leave();
  await next;
  await vi.advanceTimersByTimeAsync(10 * waitMs);
  expect([admission.running, admission.queued]).toEqual([1, 0]);
});

test("places that are given back and taken where nobody waits become no more", async () => {
  const admission = new Admission(LIMITS);
  const fill = (): void => {
    for (let one = admission.running; one < LIMITS.running; one += 1) admission.enter();
  };
  for (let turn = 0; turn < 3; turn += 1) {
    fill();
    for (let one = 0; one < LIMITS.running; one += 1) admission.leave();
    fill();
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  expect([admission.places, admission.running]).toEqual([LIMITS.running, LIMITS.running]);
});

test("a turn in which a quarter was given back has one place less than before, one with more has as many", async () => {
  const admission = new Admission(LIMITS);
  await turns(admission, 5, 100);
  await turns(admission, 1, LIMITS.runningMost / 4 + 1);
  expect([admission.places, admission.running]).toEqual([LIMITS.runningMost, LIMITS.runningMost]);
  await turns(admission, 1, LIMITS.runningMost / 4);
  expect(admission.places).toBe(LIMITS.runningMost - 1);
});

test("each key has places of its own, as long as somebody uses it", async () => {
  const keyed = new KeyedAdmission({ running: 1, queued: 1, waitMs: 60_000 });
  const ends: (() => void)[] = [];
  const work = (): Promise<string> => new Promise((resolve) => ends.push(() => resolve("done")));
  const done = [keyed.run("a", work), keyed.run("a", work)];
  await expect.poll(() => ends.length).toBe(1);
  expect([keyed.refusal("a")?.code, keyed.refusal("b"), keyed.keys]).toEqual(["OVERLOADED", undefined, 1]);
  done.push(keyed.run("b", work));
  await expect(keyed.run("a", work)).rejects.toMatchObject({ code: "OVERLOADED" });
  await expect.poll(() => ends.length).toBe(2);
  expect(keyed.keys).toBe(2);
  for (let ended = 0; ended < 3; ended += 1) {
    await expect.poll(() => ends.length).toBeGreaterThan(ended);
    ends[ended]?.();
  }
  expect(await Promise.all(done)).toEqual(["done", "done", "done"]);
  await expect(keyed.run("a", () => Promise.reject(new Error("failed")))).rejects.toThrow("failed");
  expect(keyed.keys).toBe(0);
});
