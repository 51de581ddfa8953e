/**
 * Outlines of ONNX models: all but the weights, and the digest of the file. A model that is larger than an application
 * package may be stands in the server's folder of models, and its outline in the package: what the core wants to know of
 * a model is in it, and the digest pins the file that is run.
 *
 * ONNX is protocol buffers (onnx.proto3 of ONNX 1.16): ModelProto 7 graph, 14 metadata_props; GraphProto 5 initializer,
 * 15 sparse_initializer; SparseTensorProto 1 values, 2 indices; TensorProto 8 name, 13 external_data, 14 data_location;
 * StringStringEntryProto 1 key, 2 value.
 */
import { createHash } from "node:crypto";
import { ServiceError } from "@brooklet/wire";

const GRAPH = 7;
const METADATA = 14;
const INITIALIZER = 5;
const SPARSE_INITIALIZER = 15;
/** Of a sparse tensor: its values and where they are. */
const SPARSE_TENSORS: readonly number[] = [1, 2];
/** Of weights: their name, and that they are in another file, which the core refuses. */
const KEPT: readonly number[] = [8, 13, 14];
const DIGEST_KEY = "brooklet.sha256";

/** A field of a message: what it holds, and all of it with its tag. */
interface Field {
  readonly number: number;
  readonly content: Uint8Array;
  readonly whole: Uint8Array;
}

/** The outline of a model. */
export function outlineOf(file: Uint8Array): Uint8Array {
  const parts: Uint8Array[] = [];
  for (const field of fieldsOf(file)) {
    parts.push(field.number === GRAPH ? message(GRAPH, withoutWeights(field.content)) : field.whole);
  }
  const digest = createHash("sha256").update(file).digest("hex");
  parts.push(message(METADATA, concatenate([text(1, DIGEST_KEY), text(2, digest)])));
  return concatenate(parts);
}

/** The digest of the model that a file is the outline of; nothing if it is a model itself. */
export function pinnedDigest(file: Uint8Array): string | undefined {
  for (const field of fieldsOf(file)) {
    if (field.number !== METADATA) continue;
    const [key, value] = [...fieldsOf(field.content)].map(({ content }) => new TextDecoder().decode(content));
    if (key === DIGEST_KEY) return value;
  }
  return undefined;
}

/** A graph without the numbers of its weights. Their names tell which of its inputs need not be given. */
function withoutWeights(graph: Uint8Array): Uint8Array {
  const parts: Uint8Array[] = [];
  for (const { number, content, whole } of fieldsOf(graph)) {
    if (number === INITIALIZER) parts.push(message(number, withoutNumbers(content)));
    else if (number === SPARSE_INITIALIZER) {
      const tensors = [...fieldsOf(content)].filter((of) => SPARSE_TENSORS.includes(of.number));
      parts.push(message(number, concatenate(tensors.map((of) => message(of.number, withoutNumbers(of.content))))));
    } else parts.push(whole);
  }
  return concatenate(parts);
}

function withoutNumbers(tensor: Uint8Array): Uint8Array {
  return concatenate([...fieldsOf(tensor)].filter((of) => KEPT.includes(of.number)).map((of) => of.whole));
}

function* fieldsOf(bytes: Uint8Array): Generator<Field> {
  let at = 0;
  const varint = (): number => {
    let value = 0;
    for (let scale = 1; scale < 2 ** 56; scale *= 128) {
      const byte = bytes[at];
      if (byte === undefined) throw malformedModel();
      at += 1;
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value;
    }
    // The rest of a number of 64 bits, which is no length.
    while ((bytes[at] ?? 0) >= 0x80) at += 1;
    at += 1;
    return value;
  };
  while (at < bytes.length) {
    const begin = at;
    const tag = varint();
    const wire = tag % 8;
    let from = at;
    if (wire === 0) varint();
    else if (wire === 1) at += 8;
    else if (wire === 5) at += 4;
    else if (wire === 2) {
      const length = varint();
      from = at;
      at += length;
    } else throw malformedModel();
    if (at > bytes.length) throw malformedModel();
    yield { number: Math.floor(tag / 8), content: bytes.subarray(from, at), whole: bytes.subarray(begin, at) };
  }
}

function message(number: number, content: Uint8Array): Uint8Array {
  return concatenate([Uint8Array.from([...varintOf(number * 8 + 2), ...varintOf(content.length)]), content]);
}

function text(number: number, content: string): Uint8Array {
  return message(number, new TextEncoder().encode(content));
}

function varintOf(value: number): number[] {
  const bytes: number[] = [];
  let rest = value;
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) bytes.push((rest % 0x80) | 0x80);
  return [...bytes, rest];
}

function concatenate(parts: readonly Uint8Array[]): Uint8Array {
  const all = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

function malformedModel(): ServiceError {
  return new ServiceError("BAD_REQUEST", "The file is no ONNX model, or cut short");
}
