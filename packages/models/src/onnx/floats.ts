/** The numbers of a tensor that a model gives, as floats of 32 bits, whatever numbers they are. */
import type { Tensor } from "onnxruntime-node";

/** What halves of floats are, by their bits: made when a model gives the first. */
let halves: Float32Array | undefined;

/** The numbers; nothing: they are none that vectors are made of. */
export function floatsOf({ type, data }: Tensor): Float32Array | undefined {
  if (data instanceof Float32Array) return data;
  if (data instanceof Float64Array || data instanceof Int8Array) return Float32Array.from(data);
  if (type !== "float16") return undefined;
  // Where the platform has no array of halves they come as their bits.
  if (!(data instanceof Uint16Array)) return Float32Array.from(data as Iterable<number>);
  halves ??= Float32Array.from({ length: 1 << 16 }, (_, bits) => halfOf(bits));
  return Float32Array.from(data, (bits) => halves?.[bits] ?? Number.NaN);
}

/** The value of a half (binary16 of IEEE 754): a sign, five bits of an exponent, ten of a fraction. */
function halfOf(bits: number): number {
  const sign = bits >= 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 0x1f;
  const fraction = bits & 0x3ff;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 0x1f) return fraction === 0 ? sign * Number.POSITIVE_INFINITY : Number.NaN;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}
