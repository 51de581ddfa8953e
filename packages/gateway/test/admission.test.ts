import { expect, test } from "vitest";
import { Admission } from "../src/load/admission.ts";

const LIMITS = { running: 4, runningMost: 16, queued: 28, waitMs: 60_000 };

/** Turns in which all that run are done at once, and others take their places. How many were done. */
async function turns(admission: Admission, count: number, ofTurn: number): Promise<number> {
  let done = 0;
  const ask = (): void => void admission.enter()?.catch(() => undefined);
  for (let turn = 0; turn < count; turn += 1) {
    while (admission.refusal === undefined) ask();
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
