import { expect, onTestFinished, test, vi } from "vitest";
import { askedWaitMs, pause, waitMs } from "./backoff.ts";

test("waits double up to the longest, each somewhere in its second half", () => {
  const waits = { firstWaitMs: 100, longestWaitMs: 1_000 };
  for (const [failures, most] of [
    [1, 100],
    [2, 200],
    [4, 800],
    [5, 1_000],
    [2_000, 1_000],
  ] as const) {
    const seen = Array.from({ length: 100 }, () => waitMs(waits, failures));
    expect(Math.min(...seen)).toBeGreaterThanOrEqual(most / 2);
    expect(Math.max(...seen)).toBeLessThanOrEqual(most);
    expect(new Set(seen).size).toBeGreaterThan(1);
  }
});

test("what was asked for comes before the wait itself", () => {
  expect(waitMs({ firstWaitMs: 0, longestWaitMs: 0 }, 1, 7_000)).toBe(7_000);
  expect(waitMs({ firstWaitMs: 100, longestWaitMs: 100 }, 1, 7_000)).toBeGreaterThanOrEqual(7_050);
});

test.each([
  ["2", 2_000],
  ["0", 0],
  ["-1", undefined],
  ["Fri, 01 Jan 2027 00:00:07 GMT", 7_000],
  ["Thu, 31 Dec 2026 23:59:59 GMT", undefined],
  ["soon", undefined],
  [null, undefined],
])("an answer that says %o asks to wait %o", (value, expected) => {
  vi.useFakeTimers({ now: Date.UTC(2027, 0, 1), toFake: ["Date"] });
  onTestFinished(() => void vi.useRealTimers());
  expect(askedWaitMs({ get: (name) => (name === "retry-after" ? value : null) })).toBe(expected);
});

test("a pause ends with its signal, also with one that is aborted before", async () => {
  await expect(pause(60_000, AbortSignal.abort(new Error("over")))).rejects.toThrow("over");
  const aborting = new AbortController();
  const paused = pause(60_000, aborting.signal);
  aborting.abort(new Error("late"));
  await expect(paused).rejects.toThrow("late");
  await pause(0, new AbortController().signal);
});
