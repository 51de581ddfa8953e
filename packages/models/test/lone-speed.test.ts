import { expect, test } from "vitest";
import { LoneSpeed } from "../src/pool/lone-speed.ts";

/** Runs so many jobs, each as slow as its way; says how many were wide. */
function run(speed: LoneSpeed, jobs: number, ms: { readonly wide: number; readonly narrow: number }): number {
  let wide = 0;
  for (let job = 0; job < jobs; job += 1) {
    const isWide = speed.prefersWide();
    if (isWide) wide += 1;
    speed.measured(isWide, 10, isWide ? ms.wide : ms.narrow);
  }
  return wide;
}

test("the faster way is taken, and the other one tried from time to time", () => {
  expect(run(new LoneSpeed(), 1000, { wide: 8, narrow: 13 })).toBeGreaterThan(975);
  expect(run(new LoneSpeed(), 1000, { wide: 16, narrow: 13 })).toBeLessThan(30);
});

test("one slow run changes nothing, a machine that changed does", () => {
  const speed = new LoneSpeed();
  run(speed, 100, { wide: 8, narrow: 13 });
  speed.measured(true, 10, 200);
  expect(run(speed, 200, { wide: 8, narrow: 13 })).toBeGreaterThan(190);
  run(speed, 20, { wide: 30, narrow: 13 });
  expect(run(speed, 200, { wide: 30, narrow: 13 })).toBeLessThan(10);
  run(speed, 200, { wide: 8, narrow: 13 });
  expect(run(speed, 200, { wide: 8, narrow: 13 })).toBeGreaterThan(190);
});

test("ways that are about as fast do not take turns", () => {
  const speed = new LoneSpeed();
  run(speed, 50, { wide: 10, narrow: 9.5 });
  expect(run(speed, 640, { wide: 10, narrow: 9.5 })).toBe(630);
});
