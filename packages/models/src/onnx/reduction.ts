/**
 * What is made of the numbers that a transformer gives. The formulas are those of Vespa's embedders, in 64-bit sums over
 * 32-bit values; each text is reduced over its own tokens alone, so padding in a batch changes nothing.
 */
import { ServiceError } from "@brooklet/wire";
import type { Embedding } from "../embedder.ts";
import type { Reduction } from "./recipe.ts";

/** The output of a model for a batch. */
export interface Output {
  readonly values: Float32Array;
  /** `[texts, tokens, width]` or, if the model has pooled already, `[texts, width]`. */
  readonly shape: readonly number[];
}

/** The first `dimensions` values of the pooled output of text `index` that has `tokens` tokens. */
export function pool(
  output: Output,
  index: number,
  tokens: number,
  dimensions: number,
  reduction: Extract<Reduction, { kind: "pool" }>,
): Embedding {
  const width = widthOf(output, reduction.strategy === "none" ? 2 : 3, dimensions);
  const values = new Float32Array(dimensions);
  if (reduction.strategy === "mean") {
    const first = index * (output.shape[1] ?? 0) * width;
    for (let dimension = 0; dimension < dimensions; dimension += 1) {
      let sum = 0;
      for (let token = 0; token < tokens; token += 1) sum += output.values[first + token * width + dimension] ?? 0;
      values[dimension] = sum / tokens;
    }
  } else {
    const stride = reduction.strategy === "cls" ? (output.shape[1] ?? 0) * width : width;
    values.set(output.values.subarray(index * stride, index * stride + dimensions));
  }
  if (reduction.normalize) normalize(values);
  return { shape: "vector", values };
}

/** One vector for each of the first `rows` tokens of text `index`. */
export function rows(output: Output, index: number, count: number, dimensions: number): Embedding {
  const width = widthOf(output, 3, dimensions);
  const values = new Float32Array(count * dimensions);
  const first = index * (output.shape[1] ?? 0) * width;
  for (let row = 0; row < count; row += 1) {
    const from = first + row * width;
    values.set(output.values.subarray(from, from + dimensions), row * dimensions);
  }
  return { shape: "rows", width: dimensions, values };
}

/**
 * The weights of text `index`: for every entry of the vocabulary ln(1 + max(0, its largest logit over the tokens)), if
 * that is more than the threshold. `label` gives the text of an entry.
 */
export function weights(
  output: Output,
  index: number,
  tokens: number,
  threshold: number,
  label: (entry: number) => string,
): Embedding {
  const width = widthOf(output, 3, 0);
  const largest = new Float32Array(width);
  const first = index * (output.shape[1] ?? 0) * width;
  for (let token = 0; token < tokens; token += 1) {
    const from = first + token * width;
    for (let entry = 0; entry < width; entry += 1) {
      const logit = output.values[from + entry] ?? 0;
      if (logit > (largest[entry] ?? 0)) largest[entry] = logit;
    }
  }
  const labels: string[] = [];
  const kept: number[] = [];
  largest.forEach((logit, entry) => {
    const weight = Math.log1p(logit);
    if (weight <= threshold) return;
    labels.push(label(entry));
    kept.push(weight);
  });
  return { shape: "weights", labels, values: Float32Array.from(kept) };
}

function widthOf(output: Output, rank: number, dimensions: number): number {
  if (output.shape.length !== rank) {
    const text = `The model's output has the shape [${output.shape.join(", ")}]; this embedder needs ${rank} dimensions`;
    throw new ServiceError("BAD_REQUEST", text);
  }
  const width = output.shape[rank - 1] ?? 0;
  if (dimensions > width) {
    throw new ServiceError("BAD_REQUEST", `The model gives ${width} values, and ${dimensions} are asked for`);
  }
  return width;
}

/** Divides by the length; a vector of zeros becomes NaN, as in Vespa. */
function normalize(values: Float32Array): void {
  let square = 0;
  for (const value of values) square += value * value;
  const length = Math.sqrt(square);
  for (let index = 0; index < values.length; index += 1) values[index] = (values[index] ?? 0) / length;
}
