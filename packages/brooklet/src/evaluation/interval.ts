/** Means with confidence intervals, by resampling. The same seed gives the same interval on every machine. */

/** A mean, and between which values the mean of other questions of the kind is likely to be. */
export interface Mean {
  readonly mean: number;
  /** Ends of the 95 % interval. */
  readonly low: number;
  readonly high: number;
}

const LOW = 0.025;
const HIGH = 0.975;

/**
 * The mean of values with its bootstrap interval: percentiles of the means of samples that are drawn, with replacement, from
 * the values.
 */
export function meanOf(values: readonly number[], samples: number, seed: number): Mean {
  const { length } = values;
  const mean = length === 0 ? 0 : sum(values) / length;
  if (length === 0) return { mean, low: mean, high: mean };
  const draw = numbers(seed);
  const means = Float64Array.from({ length: samples }, () => {
    let total = 0;
    for (let count = 0; count < length; count += 1) total += values[Math.floor(draw() * length)] ?? 0;
    return total / length;
  }).sort();
  const at = (share: number): number => means[Math.round(share * (samples - 1))] ?? mean;
  return { mean, low: at(LOW), high: at(HIGH) };
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

/** Numbers from 0 to 1, 1 left out, by Marsaglia's xorshift of 32 bits: what a resampling needs, and no more. */
function numbers(seed: number): () => number {
  // State 0 would stay 0; the odd constant spreads seeds that are near each other.
  let state = (Math.imul(seed, 0x9e3779b1) ^ 0x6d2b79f5) >>> 0 || 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    state >>>= 0;
    return state / 2 ** 32;
  };
}
