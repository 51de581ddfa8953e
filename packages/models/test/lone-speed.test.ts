/** The choice against machines that are simulated: what it costs is compared with always knowing the better way. */
import { describe, expect, test } from "vitest";
import { LoneSpeed } from "../src/pool/lone-speed.ts";

/** Milliseconds of a job of this weight, each way. */
type Machine = (weight: number) => { readonly wide: number; readonly narrow: number };

/** A generator of the same numbers between 0 and 1 each time. */
function numbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/** Runs so many jobs of mixed sizes; what they took, what the better way would have taken, and how many were wide. */
function run(speed: LoneSpeed, jobs: number, machine: Machine, { seed = 1, spikes = 0, clock = { ms: 0 } } = {}) {
  const random = numbers(seed);
  const ratios: number[] = [];
  let [wide, took, best] = [0, 0, 0];
  for (let job = 0; job < jobs; job += 1) {
    const weight = 8 + Math.floor(random() * 80);
    const of = machine(weight);
    const isWide = speed.prefersWide(weight, clock.ms);
    const ms = (isWide ? of.wide : of.narrow) * (random() < spikes ? 8 : 1) * (0.95 + random() * 0.1);
    clock.ms += ms;
    speed.measured(isWide, weight, ms, clock.ms);
    if (isWide) wide += 1;
    took += isWide ? of.wide : of.narrow;
    best += Math.min(of.wide, of.narrow);
    ratios.push((isWide ? of.wide : of.narrow) / Math.min(of.wide, of.narrow));
  }
  const median = ratios.sort((a, b) => a - b)[Math.floor(jobs / 2)] ?? 0;
  return { wide, cost: took / best, median };
}

const QUIET: Machine = (weight) => ({ wide: 2 + weight * 0.15, narrow: 1 + weight * 0.26 });
const LOADED: Machine = (weight) => ({ wide: 6 + weight * 0.7, narrow: 1 + weight * 0.4 });

describe("a lone job", () => {
  test("is wide where nothing was measured", () => {
    expect(new LoneSpeed().prefersWide(10, 0)).toBe(true);
  });

  test("goes the faster way, soon and most of the time", () => {
    const quiet = new LoneSpeed();
    expect(run(quiet, 40, QUIET).cost).toBeLessThan(1.15);
    const steady = run(quiet, 1000, QUIET);
    expect(steady).toMatchObject({ median: 1 });
    expect(steady.cost).toBeLessThan(1.035);
    const loaded = new LoneSpeed();
    expect(run(loaded, 40, LOADED).cost).toBeLessThan(1.4);
    expect(run(loaded, 1000, LOADED).cost).toBeLessThan(1.045);
  });

  test("goes the way of its size: a short text gains nothing from more cores", () => {
    const speed = new LoneSpeed();
    const sizes: Machine = (weight) =>
      weight < 23 ? { wide: 5, narrow: 3 } : { wide: weight * 0.2, narrow: weight * 0.3 };
    expect(run(speed, 1000, sizes).cost).toBeLessThan(1.06);
    expect([speed.prefersWide(15, 0), speed.prefersWide(64, 0)]).toEqual([false, true]);
  });

  test("goes the other way soon after the machine has changed", () => {
    const speed = new LoneSpeed();
    run(speed, 200, QUIET);
    expect(run(speed, 60, LOADED).cost).toBeLessThan(1.6);
    expect(run(speed, 200, LOADED).median).toBe(1);
    run(speed, 60, QUIET);
    expect(run(speed, 200, QUIET)).toMatchObject({ median: 1 });
  });

  test("is not led astray by runs that were disturbed", () => {
    const speed = new LoneSpeed();
    run(speed, 100, QUIET);
    expect(run(speed, 2000, QUIET, { spikes: 0.1 }).cost).toBeLessThan(1.06);
  });

  test("is wide again after a rest, whatever was true before", () => {
    const clock = { ms: 0 };
    const speed = new LoneSpeed();
    run(speed, 300, LOADED, { clock });
    expect(speed.prefersWide(64, clock.ms + 1000)).toBe(false);
    expect(speed.prefersWide(64, clock.ms + 60_000)).toBe(true);
  });
});

test("over machines that change at random, the choice costs little more than knowing the better way", () => {
  for (let seed = 1; seed <= 40; seed += 1) {
    const random = numbers(seed);
    const speed = new LoneSpeed();
    const clock = { ms: 0 };
    const costs: number[] = [];
    for (let phase = 0; phase < 8; phase += 1) {
      const ratio = 0.5 + random() * 1.5;
      const machine: Machine = (weight) => ({ wide: (4 + weight * 0.25) * ratio, narrow: 4 + weight * 0.25 });
      costs.push(run(speed, 400, machine, { seed: seed * 100 + phase, spikes: 0.05, clock }).cost);
    }
    const mean = costs.reduce((sum, cost) => sum + cost, 0) / costs.length;
    expect({ seed, isCheap: mean < 1.1, worst: Math.max(...costs) < 1.3 }).toEqual({
      seed,
      isCheap: true,
      worst: true,
    });
  }
});
