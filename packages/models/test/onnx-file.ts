/** The few fields of ONNX's messages that small models need (onnx.proto3 of ONNX 1.16). */

/** Numbers of element types. */
export const FLOAT = 1;
export const INT8 = 3;
export const INT32 = 6;
export const INT64 = 7;
export const HALF = 10;
export const DOUBLE = 11;

function varint(value: number): number[] {
  const bytes: number[] = [];
  let rest = value;
  while (rest > 0x7f) {
    bytes.push((rest & 0x7f) | 0x80);
    rest = Math.floor(rest / 128);
  }
  return [...bytes, rest];
}
export const number = (field: number, value: number): number[] => [...varint(field << 3), ...varint(value)];
export const bytes = (field: number, value: ArrayLike<number>): number[] => [
  ...varint((field << 3) | 2),
  ...varint(value.length),
  ...Array.from(value),
];
export const text = (field: number, value: string): number[] => bytes(field, new TextEncoder().encode(value));

/** An input or output of a graph; a size is a number or a name. */
export function value(name: string, type: number, dimensions: readonly (string | number)[]): number[] {
  const shape = dimensions.flatMap((dimension) =>
    bytes(1, typeof dimension === "string" ? text(2, dimension) : number(1, dimension)),
  );
  return [...text(1, name), ...bytes(2, bytes(1, [...number(1, type), ...bytes(2, shape)]))];
}

/** An operator. */
export const node = (
  kind: string,
  inputs: readonly string[],
  output: string,
  attributes: readonly number[] = [],
): number[] => [...inputs.flatMap((name) => text(1, name)), ...text(2, output), ...text(4, kind), ...attributes];

/** An attribute with a whole number. */
export const attribute = (name: string, value: number): number[] =>
  bytes(5, [...text(1, name), ...number(3, value), ...number(20, 2)]);

/** Floats, or whole numbers, that are part of the model. */
export function constant(name: string, sizes: readonly number[], values: Float32Array | BigInt64Array): number[] {
  const type = values instanceof Float32Array ? FLOAT : INT64;
  const shape = sizes.flatMap((size) => number(1, size));
  return bytes(5, [...shape, ...number(2, type), ...text(8, name), ...bytes(9, new Uint8Array(values.buffer))]);
}

/** Floats that are in another file. */
export function constantElsewhere(name: string, sizes: readonly number[], location: string): number[] {
  const shape = sizes.flatMap((size) => number(1, size));
  const place = bytes(13, [...text(1, "location"), ...text(2, location)]);
  return bytes(5, [...shape, ...number(2, FLOAT), ...text(8, name), ...place, ...number(14, 1)]);
}

/** A file: nodes, constants, inputs and outputs, of operators' version 17. */
export function file(parts: {
  readonly nodes: readonly (readonly number[])[];
  readonly constants: readonly (readonly number[])[];
  readonly inputs: readonly (readonly number[])[];
  readonly outputs: readonly (readonly number[])[];
}): Uint8Array {
  const graph = [
    ...parts.nodes.flatMap((part) => bytes(1, part)),
    ...text(2, "tiny"),
    ...parts.constants.flat(),
    ...parts.inputs.flatMap((part) => bytes(11, part)),
    ...parts.outputs.flatMap((part) => bytes(12, part)),
  ];
  return Uint8Array.from([...number(1, 8), ...bytes(7, graph), ...bytes(8, [...text(1, ""), ...number(2, 17)])]);
}
