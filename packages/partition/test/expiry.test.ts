/** When expiry looks, and what it does about failures; that documents go is tested with the real core. */

import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { DeployReport, MassOutcome, Visit, VisitStep } from "../src/cluster.ts";
import { Expiry } from "../src/expiry.ts";
import { tooLate } from "../src/failure.ts";
import { nodeSurroundings } from "../src/node/surroundings.ts";

const SELECTION = "not (mail.expires > now())";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval", "performance"] });
});

afterEach(() => {
  vi.useRealTimers();
});

function reportOf(intervalSeconds: number | undefined): DeployReport {
  const garbageCollection =
    intervalSeconds === undefined ? {} : { garbageCollection: { selection: SELECTION, intervalSeconds } };
  const schemas = [{ name: "mail", cluster: "c", fields: [], ...garbageCollection }];
  return { schemas, clusters: [], warnings: [], fingerprint: "" };
}

function expiryOf(intervalSeconds: number | undefined, outcomes: (MassOutcome | Error)[] = []) {
  const asked: { readonly visit: Visit; readonly step: VisitStep; readonly timeoutMs: number }[] = [];
  const problems: unknown[] = [];
  const expiry = new Expiry({
    buckets: 2,
    surroundings: nodeSurroundings,
    report: () => reportOf(intervalSeconds),
    applyWhere: async (visit, step, _, timeoutMs) => {
      asked.push({ visit, step, timeoutMs });
      const outcome = outcomes.shift() ?? { documents: 0 };
      if (outcome instanceof Error) throw outcome;
      return outcome;
    },
    onProblem: (problem) => problems.push(problem),
  });
  const after = async (seconds: number): Promise<void> => {
    for (let second = 0; second < seconds; second += 1) {
      vi.advanceTimersByTime(1_000);
      await expiry.idle();
    }
  };
  return { expiry, asked, problems, after };
}

test("every bucket is gone through once in an interval, the first time soon", async () => {
  const { expiry, asked, after } = expiryOf(60);
  await after(9);
  expect(asked).toEqual([]);
  await after(3);
  expect(asked.map(({ step }) => step.bucket)).toEqual([0, 1]);
  expect(asked[0]?.visit).toMatchObject({ types: ["mail"], selection: SELECTION });
  await after(58);
  expect(asked.length).toBe(2);
  await after(4);
  expect(asked.length).toBe(4);
  await expiry.stop();
});

test("a bucket is gone on with where a step ended", async () => {
  const next = { partition: 7, after: "id:n:mail:g=a:1" };
  const { expiry, asked, after } = expiryOf(5, [{ documents: 3, next }, { documents: 1 }]);
  await after(7);
  expect(asked.map(({ step }) => [step.bucket, step.from.partition])).toEqual([
    [0, 0],
    [0, 7],
    [1, 0],
  ]);
  await expiry.stop();
});

test("a failure is told, and the next interval tries again", async () => {
  const failure = { status: 507, message: "The storage is full" };
  const { expiry, problems, asked, after } = expiryOf(5, [{ documents: 0, failure }]);
  await after(7);
  expect(String(problems[0])).toContain("The storage is full");
  expect(asked.map(({ step }) => step.bucket)).toEqual([0, 1]);
  await after(6);
  expect(asked.length).toBe(4);
  await expiry.stop();
});

test("a step that ran out of time ends nothing: the next goes on, and has more time where that one came no further", async () => {
  const failure = { status: 504, code: "TIMED_OUT", message: "Timeout before 'id:n:mail:g=a:1' was read" };
  const next = { partition: 7, after: "id:n:mail:g=a:1" };
  const { expiry, asked, problems, after } = expiryOf(5, [
    { documents: 3, next, failure },
    { documents: 0, next, failure },
    { documents: 0, failure },
    { documents: 1, next: { partition: 9, after: "" } },
  ]);
  await after(7);
  expect(asked.map(({ step, timeoutMs }) => [step.bucket, step.from.partition, timeoutMs])).toEqual([
    [0, 0, 1_000],
    [0, 7, 1_000],
    [0, 7, 2_000],
    [0, 7, 4_000],
    [0, 9, 1_000],
    [1, 0, 1_000],
  ]);
  expect(problems).toEqual([]);
  await expiry.stop();
});

test("a thread that does not come to a step is asked again, and one that never does is told of", async () => {
  const { expiry, asked, problems, after } = expiryOf(5, [tooLate(), ...Array.from({ length: 7 }, tooLate)]);
  await after(7);
  expect(asked.map(({ step, timeoutMs }) => [step.bucket, timeoutMs])).toEqual([
    ...Array.from({ length: 7 }, (_, at) => [0, 1_000 * 2 ** at]),
    [1, 1_000],
    [1, 2_000],
  ]);
  expect(problems.map(String)).toEqual([expect.stringContaining("Timed out before the operation was begun")]);
  await expiry.stop();
});

test("what is damaged is passed over", async () => {
  const failure = { status: 500, code: "STORE_CORRUPT", message: "A block is damaged" };
  const next = { partition: 8, after: "" };
  const { expiry, problems, asked, after } = expiryOf(5, [
    { documents: 0, next, failure },
    { documents: 0, failure },
  ]);
  await after(7);
  expect(asked.map(({ step }) => [step.bucket, step.from.partition])).toEqual([
    [0, 0],
    [0, 8],
    [1, 0],
  ]);
  expect(problems).toEqual([]);
  await expiry.stop();
});

test("nothing is looked for without garbage collection, nor after the end", async () => {
  const { expiry, asked, after } = expiryOf(undefined);
  await after(20);
  expect(asked).toEqual([]);
  await expiry.stop();
});
