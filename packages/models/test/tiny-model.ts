/**
 * A model of a few hundred bytes, made here: each token's vector is its row of a table. ONNX is protocol buffers; only
 * the few fields that are needed are written (onnx.proto3 of ONNX 1.16).
 */
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const FLOAT = 1;
const INT64 = 7;

/** Values of a vector. */
export const WIDTH = 6;
/** Words the tokenizer knows, after the special tokens. */
const WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "reset", "a", "password", "invoice", "due", ".", "##s"];

function varint(value: number): number[] {
  const bytes: number[] = [];
  let rest = value;
  while (rest > 0x7f) {
    bytes.push((rest & 0x7f) | 0x80);
    rest = Math.floor(rest / 128);
  }
  return [...bytes, rest];
}
const number = (field: number, value: number): number[] => [...varint(field << 3), ...varint(value)];
const bytes = (field: number, value: ArrayLike<number>): number[] => [
  ...varint((field << 3) | 2),
  ...varint(value.length),
  ...Array.from(value),
];
const text = (field: number, value: string): number[] => bytes(field, new TextEncoder().encode(value));

function input(name: string, type: number, dimensions: readonly (string | number)[]): number[] {
  const shape = dimensions.flatMap((dimension) =>
    bytes(1, typeof dimension === "string" ? text(2, dimension) : number(1, dimension)),
  );
  return [...text(1, name), ...bytes(2, bytes(1, [...number(1, type), ...bytes(2, shape)]))];
}

const node = (
  kind: string,
  inputs: readonly string[],
  output: string,
  attributes: readonly number[] = [],
): number[] => [...inputs.flatMap((name) => text(1, name)), ...text(2, output), ...text(4, kind), ...attributes];

/** The vector of a token: no two alike, some parts negative. */
export function tokenVector(id: number): Float32Array {
  return Float32Array.from({ length: WIDTH }, (_, dimension) => Math.sin(id * 7 + dimension * 3) * (id + 1));
}

/** `last_hidden_state` is a row of the table for each token; the mask and the types are taken and added as nothing. */
function model(): Uint8Array {
  const table = Float32Array.from(WORDS.flatMap((_, id) => [...tokenVector(id)]));
  const zero = [...number(1, 1), ...number(2, INT64), ...text(8, "zero"), ...bytes(9, new Uint8Array(8))];
  const initializer = [
    ...number(1, WORDS.length),
    ...number(1, WIDTH),
    ...number(2, FLOAT),
    ...text(8, "table"),
    ...bytes(9, new Uint8Array(table.buffer)),
  ];
  const graph = [
    ...bytes(1, node("Mul", ["attention_mask", "zero"], "no_mask")),
    ...bytes(1, node("Mul", ["token_type_ids", "zero"], "no_types")),
    ...bytes(1, node("Add", ["input_ids", "no_mask"], "masked_ids")),
    ...bytes(1, node("Add", ["masked_ids", "no_types"], "ids")),
    ...bytes(1, node("Gather", ["table", "ids"], "last_hidden_state")),
    ...text(2, "tiny"),
    ...bytes(5, initializer),
    ...bytes(5, zero),
    ...["input_ids", "attention_mask", "token_type_ids"].flatMap((name) =>
      bytes(11, input(name, INT64, ["batch", "tokens"])),
    ),
    ...bytes(12, input("last_hidden_state", FLOAT, ["batch", "tokens", WIDTH])),
  ];
  return Uint8Array.from([...number(1, 8), ...bytes(7, graph), ...bytes(8, [...text(1, ""), ...number(2, 17)])]);
}

/** Writes model and vocabulary, and says where they are. */
export function tinyModel(): { model: string; tokenizer: string } {
  const folder = mkdtempSync(join(tmpdir(), "brooklet-tiny-model-"));
  const paths = { model: join(folder, "tiny.onnx"), tokenizer: join(folder, "vocab.txt") };
  writeFileSync(paths.model, model());
  writeFileSync(paths.tokenizer, `${WORDS.join("\n")}\n`);
  return paths;
}
