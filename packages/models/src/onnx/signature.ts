/**
 * What a transformer must be given and gives, held against what an embedder gives and takes: of an opened session, and of a
 * file that no runtime has opened yet. The file is read without its weights, of which there may be gigabytes.
 *
 * ONNX is protocol buffers (onnx.proto3 of ONNX 1.16): ModelProto 7 graph; GraphProto 5 initializer, 11 input, 12 output;
 * TensorProto 8 name; ValueInfoProto 1 name.
 */
import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { ServiceError } from "@brooklet/wire";
import type { Recipe } from "./recipe.ts";

/** Names of what a model must be given, and of what it gives. */
export interface Signature {
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
}

const GRAPH = 7;
const INITIALIZER = 5;
const INPUT = 11;
const OUTPUT = 12;
const TENSOR_NAME = 8;
const VALUE_NAME = 1;

/** Bytes that hold the tag and the length of any field. */
const HEAD_BYTES = 20;

/**
 * Refuses a model that a recipe does not fit: one that has not what the recipe names, or that must be given more.
 *
 * @throws ServiceError `BAD_REQUEST` with the name of the input or output.
 */
export function expectFitting(recipe: Recipe, { inputs, outputs }: Signature): void {
  const given = [recipe.inputIds, recipe.attentionMask, ...(recipe.tokenTypeIds ? [recipe.tokenTypeIds] : [])];
  const expect = (what: string, named: readonly string[], offered: readonly string[]): void => {
    const missing = named.find((name) => !offered.includes(name));
    if (missing === undefined) return;
    throw new ServiceError("BAD_REQUEST", `The model has no ${what} '${missing}'; it has ${offered.join(", ")}`);
  };
  expect("input", given, inputs);
  expect("output", [recipe.output], outputs);
  const more = inputs.find((name) => !given.includes(name));
  if (more === undefined) return;
  const told = `an embedder of its kind gives ${given.join(", ")}`;
  throw new ServiceError("BAD_REQUEST", `The model must be given the input '${more}', and ${told}`);
}

/**
 * The signature of the model in a file.
 *
 * @throws ServiceError `BAD_REQUEST` if it holds none.
 */
export function signatureOf(path: string): Signature {
  const file = openSync(path, "r");
  try {
    const inputs: string[] = [];
    const outputs: string[] = [];
    const constants = new Set<string>();
    let graphs = 0;
    for (const graph of fields(file, { from: 0, to: fstatSync(file).size })) {
      if (graph.number !== GRAPH) continue;
      graphs += 1;
      for (const field of fields(file, graph)) {
        if (field.number === INPUT) inputs.push(textIn(file, field, VALUE_NAME));
        else if (field.number === OUTPUT) outputs.push(textIn(file, field, VALUE_NAME));
        else if (field.number === INITIALIZER) constants.add(textIn(file, field, TENSOR_NAME));
      }
    }
    if (graphs === 0) throw malformedModel();
    // A constant that is an input too has a value that need not be given.
    return { inputs: inputs.filter((name) => !constants.has(name)), outputs };
  } finally {
    closeSync(file);
  }
}

/** A stretch of the file. */
interface Stretch {
  readonly from: number;
  readonly to: number;
}

/** A field of the message that is a stretch of the file. */
interface Field extends Stretch {
  readonly number: number;
}

/** The fields of a message that have a length; what they hold is not read. */
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
      if (wire === 2) {
        if (at + value.value > to) throw malformedModel();
        yield { number: Math.floor(tag.value / 8), from: at, to: at + value.value };
        at += value.value;
      } else if (wire !== 0) throw malformedModel();
    }
  }
}

/** The text of a field of a message; empty where it has none. */
function textIn(file: number, message: Stretch, number: number): string {
  for (const field of fields(file, message)) {
    if (field.number !== number) continue;
    const bytes = new Uint8Array(field.to - field.from);
    readSync(file, bytes, 0, bytes.length, field.from);
    return new TextDecoder().decode(bytes);
  }
  return "";
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
  return new ServiceError("BAD_REQUEST", "The file is no ONNX model, or cut short");
}
