/** What is kept of a vector that has more values than are wanted, as models that were trained for it allow (Matryoshka). */

/** How far the square of a length may be from 1 for a vector to be a unit vector: endpoints round. */
const ROUNDING = 0.02;

/**
 * The first values of a vector; nothing where one is no finite number. Those of a unit vector are one again: a part of it is
 * shorter, which counts in dot products and Euclidean distances. Where lengths mean something, they stay.
 */
export function firstValues(vector: readonly unknown[], count: number): Float32Array | undefined {
  // A typed array would make a number of nothing, of a text, and of true.
  if (!vector.every((value) => typeof value === "number")) return undefined;
  const isUnit = Math.abs(square(vector) - 1) < ROUNDING;
  const kept = vector.slice(0, count);
  const length = count < vector.length && isUnit ? Math.sqrt(square(kept)) : 1;
  const values = Float32Array.from(kept, (value) => (length > 0 ? value / length : value));
  return values.every(Number.isFinite) ? values : undefined;
}

function square(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value * value, 0);
}
