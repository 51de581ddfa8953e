/**
 * What a transformer must be given and gives, held against what an embedder gives and takes: of an opened session, and of a
 * file that no runtime has opened yet. The file is read without its weights, of which there may be gigabytes.
 *
 * ONNX is protocol buffers (onnx.proto3 of ONNX 1.16): ModelProto 7 graph; GraphProto 5 initializer, 11 input, 12 output;
 * TensorProto 8 name, 13 external_data; StringStringEntryProto 1 key, 2 value; ValueInfoProto 1 name, 2 type; TypeProto 1 tensor_type;
 * TypeProto.Tensor 1 elem_type, 2 shape; TensorShapeProto 1 dim; Dimension 1 dim_value.
 */
import { closeSync, existsSync, fstatSync, openSync, readSync } from "node:fs";
import { dirname, join } from "node:path";
import { ServiceError } from "@brooklet/wire";
import type { Recipe } from "./recipe.ts";

/** An input or output of a model, as far as the model says it. */
export interface ModelValue {
  readonly name: string;
  /** The type of its elements, as the runtime calls it. */
  readonly element?: string | undefined;
  /** The size of each dimension; nothing where it may be any. */
  readonly sizes?: readonly (number | undefined)[] | undefined;
}

/** What a model must be given, and what it gives. */
export interface Signature {
  readonly inputs: readonly ModelValue[];
  readonly outputs: readonly ModelValue[];
}

const GRAPH = 7;
const INITIALIZER = 5;
const INPUT = 11;
const OUTPUT = 12;
const TENSOR_NAME = 8;
const EXTERNAL_DATA = 13;
/** Element types by their numbers, those that models of texts are made with. */
const ELEMENTS: Readonly<Record<number, string>> = {
  1: "float32",
  3: "int8",
  6: "int32",
  7: "int64",
  10: "float16",
  11: "float64",
  16: "bfloat16",
};
/** What ids may be, and what is made vectors of, as Vespa takes them. */
const IDS: readonly string[] = ["int64", "int32"];
const NUMBERS: readonly string[] = ["float32", "float16", "float64", "int8"];

/** Bytes that hold the tag and the length of any field. */
const HEAD_BYTES = 20;

/**
 * Refuses a model that a recipe does not fit: one that has not what the recipe names, takes or gives other tensors, or must be
 * given more.
 *
 * @throws ServiceError `BAD_REQUEST` with the name of the input or output.
 */
export function expectFitting(recipe: Recipe, { inputs, outputs }: Signature): void {
  const { inputIds, attentionMask, tokenTypeIds, reduction } = recipe;
  const given = [inputIds, attentionMask, ...(tokenTypeIds ? [tokenTypeIds] : [])];
  for (const name of given) {
    const input = named("input", name, inputs);
    expectTensor(`takes '${name}'`, input, IDS, 2);
    const [, length] = input.sizes ?? [];
    if (length === undefined) continue;
    throw unfit(
      `The model takes '${name}' of ${length} tokens only, and texts have any number: export it without that size`,
    );
  }
  const isPooled = reduction.kind === "pool" && reduction.strategy === "none";
  expectTensor(`gives '${recipe.output}'`, named("output", recipe.output, outputs), NUMBERS, isPooled ? 2 : 3);
  const more = inputs.find(({ name }) => !given.includes(name));
  if (more === undefined) return;
  const told = `an embedder of its kind gives ${given.join(", ")}`;
  throw unfit(`The model must be given the input '${more.name}', and ${told}`);
}

function named(what: string, name: string, offered: readonly ModelValue[]): ModelValue {
  const value = offered.find((other) => other.name === name);
  if (value !== undefined) return value;
  throw unfit(`The model has no ${what} '${name}'; it has ${offered.map((other) => other.name).join(", ")}`);
}

function expectTensor(told: string, { element, sizes }: ModelValue, wanted: readonly string[], rank: number): void {
  if (element !== undefined && !wanted.includes(element))
    throw unfit(`The model ${told} of ${element}; this embedder needs ${wanted.join(", ")}`);
  // Without dimensions it is one of which nothing is said.
  if (sizes === undefined || sizes.length === 0 || sizes.length === rank) return;
  const shape = sizes.map((size) => size ?? "?").join(", ");
  throw unfit(`The model ${told} of the shape [${shape}]; this embedder needs ${rank} dimensions`);
}

/**
 * The signature of the model in a file.
 *
 * @throws ServiceError `BAD_REQUEST` if it holds none, or weights of it are in a file that is not there.
 */
export function signatureOf(path: string): Signature {
  const file = openSync(path, "r");
  try {
    const inputs: ModelValue[] = [];
    const outputs: ModelValue[] = [];
    const constants = new Set<string>();
    const weights = new Set<string>();
    let graphs = 0;
    for (const graph of fields(file, { from: 0, to: fstatSync(file).size })) {
      if (graph.number !== GRAPH) continue;
      graphs += 1;
      for (const field of fields(file, graph)) {
        if (field.number === INPUT) inputs.push(valueIn(file, field));
        else if (field.number === OUTPUT) outputs.push(valueIn(file, field));
        else if (field.number === INITIALIZER) constants.add(constantIn(file, field, weights));
      }
    }
    if (graphs === 0) throw malformedModel();
    const missing = [...weights].find((name) => !existsSync(join(dirname(path), name)));
    if (missing !== undefined) throw unfit(`its weights are in the file ${missing}, which is not beside it`);
    // A constant that is an input too has a value that need not be given.
    return { inputs: inputs.filter(({ name }) => !constants.has(name)), outputs };
  } finally {
    closeSync(file);
  }
}

/** The name of a constant; the file that holds its numbers is noted, if they are in another. */
function constantIn(file: number, tensor: Stretch, weights: Set<string>): string {
  let name = "";
  for (const field of fields(file, tensor)) {
    if (field.number === TENSOR_NAME) name = textOf(file, field);
    if (field.number !== EXTERNAL_DATA) continue;
    const [key, value] = [...fields(file, field)].map((part) => textOf(file, part));
    if (key === "location" && value !== undefined) weights.add(value);
  }
  return name;
}

function valueIn(file: number, message: Stretch): ModelValue {
  const [name] = within(file, message, [1]);
  const [element] = within(file, message, [2, 1, 1]);
  const [shape] = within(file, message, [2, 1, 2]);
  const dimensions = shape && within(file, shape, [1]);
  return {
    name: name === undefined ? "" : textOf(file, name),
    element: element?.value === undefined ? undefined : (ELEMENTS[element.value] ?? `the type ${element.value}`),
    sizes: dimensions?.map((dimension) => fixedSize(within(file, dimension, [1])[0]?.value)),
  };
}

/** A size that is not said is nothing; so is none, or the -1 of some exporters. */
function fixedSize(size: unknown): number | undefined {
  return typeof size === "number" && size > 0 && size < 2 ** 31 ? size : undefined;
}

/** What a session says of an input or output. */
export function sessionValue(told: {
  readonly name: string;
  readonly isTensor: boolean;
  readonly type?: string;
  readonly shape?: readonly (number | string)[];
}): ModelValue {
  return { name: told.name, element: told.type, sizes: told.shape?.map(fixedSize) };
}

/** The fields that a path of numbers leads to, message within message. */
function within(file: number, message: Stretch, path: readonly number[]): readonly Field[] {
  const [number, ...rest] = path;
  const found = [...fields(file, message)].filter((field) => field.number === number);
  return rest.length === 0 ? found : found.flatMap((field) => within(file, field, rest));
}

/** A stretch of the file. */
interface Stretch {
  readonly from: number;
  readonly to: number;
}

/** A field of the message: a stretch of the file, or a number. */
interface Field extends Stretch {
  readonly number: number;
  readonly value?: number;
}

/** The fields of a message that have a length, which are not read, and whole numbers. */
function* fields(file: number, { from, to }: Stretch): Generator<Field> {
  const head = new Uint8Array(HEAD_BYTES);
  let at = from;
  while (at < to) {
    const read = readSync(file, head, 0, Math.min(HEAD_BYTES, to - at), at);
    const tag = varint(head.subarray(0, read), 0);
    at += tag.bytes;
    const wire = tag.value % 8;
    if (wire === 1) at += 8;
    else if (wire === 5) at += 4;
    else {
      const value = varint(head.subarray(0, read), tag.bytes);
      at += value.bytes;
      const number = Math.floor(tag.value / 8);
      if (wire === 2) {
        if (at + value.value > to) throw malformedModel();
        yield { number, from: at, to: at + value.value };
        at += value.value;
      } else if (wire === 0) yield { number, from: at, to: at, value: value.value };
      else throw malformedModel();
    }
  }
}

function textOf(file: number, { from, to }: Stretch): string {
  const bytes = new Uint8Array(to - from);
  readSync(file, bytes, 0, bytes.length, from);
  return new TextDecoder().decode(bytes);
}

/** A number at a place of a head, and how many bytes it takes. One of 64 bits may be rounded: it is no length. */
function varint(head: Uint8Array, from: number): { readonly value: number; readonly bytes: number } {
  let value = 0;
  for (let at = from; at < Math.min(head.length, from + 10); at += 1) {
    const byte = head[at] ?? 0;
    value += (byte & 0x7f) * 128 ** (at - from);
    if (byte < 0x80) return { value, bytes: at - from + 1 };
  }
  throw malformedModel();
}

function malformedModel(): ServiceError {
  return unfit("The file is no ONNX model, or cut short");
}

function unfit(why: string): ServiceError {
  return new ServiceError("BAD_REQUEST", why);
}
