/** The clock where the platform's runs, where it stands still, and where it jumps. */
import { expect, test } from "vitest";
import { Clock } from "./clock.ts";

const PAUSE = { bytes: 0, paused: true } as const;
const MEGABYTE = { bytes: 1 << 20, paused: false } as const;

function clockOver(): { readonly clock: Clock; readonly platform: { ms: number } } {
  const platform = { ms: 1_000 };
  return { clock: new Clock(() => platform.ms), platform };
}

test("work moves it while the platform's stands still", () => {
  const { clock } = clockOver();
  for (let step = 0; step < 1_000; step += 1) clock.worked(PAUSE);
  expect(clock.now() - 1_000).toBeGreaterThan(100);
  const before = clock.now();
  for (let step = 0; step < 10; step += 1) clock.worked(MEGABYTE);
  expect(clock.now() - before).toBeGreaterThan(5);
});

test("where the platform's moves, work adds nothing", () => {
  const { clock, platform } = clockOver();
  for (let step = 0; step < 1_000; step += 1) {
    platform.ms += 0.001;
    clock.worked(PAUSE);
  }
  expect(clock.now()).toBeCloseTo(1_001, 6);
});

test("it never goes back, and comes to agree with the platform's", () => {
  const { clock, platform } = clockOver();
  for (let step = 0; step < 100; step += 1) clock.worked(PAUSE);
  const ahead = clock.now();
  for (const ms of [1_001, 1_010, 1_020, 1_100, 5_000]) {
    platform.ms = ms;
    const now = clock.now();
    expect(now).toBeGreaterThanOrEqual(ahead);
    expect(now).toBeGreaterThanOrEqual(ms);
  }
  expect(clock.now()).toBe(5_000);
});
