/** Models of a few hundred bytes, made here: one gives each token its row of a table, one compares two texts. */
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { attribute, constant, constantElsewhere, FLOAT, file, INT64, node, value } from "./onnx-file.ts";

/** Values of a vector. */
export const WIDTH = 6;
const TOKEN_INPUTS: readonly (readonly number[])[] = ["input_ids", "attention_mask", "token_type_ids"].map((name) =>
  value(name, INT64, ["batch", "tokens"]),
);
/** Words the tokenizer knows, after the special tokens. */
const WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "reset", "a", "password", "invoice", "due", ".", "##s"];

/** The vector of a token: no two alike, some parts negative. */
export function tokenVector(id: number): Float32Array {
  return Float32Array.from({ length: WIDTH }, (_, dimension) => Math.sin(id * 7 + dimension * 3) * (id + 1));
}

/** What a model says of its inputs and its output. */
export interface TinyTypes {
  readonly input?: number;
  readonly sizes?: readonly (string | number)[];
  readonly output?: number;
  /** The file that its table is said to be in. */
  readonly weights?: string;
}

/** `last_hidden_state` is a row of the table for each token; the mask and the types are taken and added as nothing. */
function model(
  more: readonly (readonly number[])[] = [],
  { input = INT64, sizes = ["batch", "tokens"], output = FLOAT, weights }: TinyTypes = {},
): Uint8Array {
  const table = Float32Array.from(WORDS.flatMap((_, id) => [...tokenVector(id)]));
  const names = ["input_ids", "attention_mask", "token_type_ids"];
  return file({
    nodes: [
      ...names.map((name) => node("Cast", [name], `${name}_64`, attribute("to", INT64))),
      node("Mul", ["attention_mask_64", "zero"], "no_mask"),
      node("Mul", ["token_type_ids_64", "zero"], "no_types"),
      node("Add", ["input_ids_64", "no_mask"], "masked_ids"),
      node("Add", ["masked_ids", "no_types"], "ids"),
      node("Gather", ["table", "ids"], "rows"),
      node("Cast", ["rows"], "last_hidden_state", attribute("to", output)),
    ],
    constants: [
      weights === undefined
        ? constant("table", [WORDS.length, WIDTH], table)
        : constantElsewhere("table", [WORDS.length, WIDTH], weights),
      constant("zero", [1], new BigInt64Array(1)),
    ],
    inputs: [...names.map((name) => value(name, input, sizes)), ...more],
    outputs: [value("last_hidden_state", output, [...sizes, WIDTH])],
  });
}

/** Writes a model of other types, and says where it is. */
export function typedModel(types: TinyTypes): { model: string; tokenizer: string } {
  const paths = tinyModel();
  writeFileSync(paths.model, model([], types));
  return paths;
}

/**
 * A cross-encoder: `logits` counts pairs of equal tokens, one of the first text, one of the second. The separators of the
 * two are such a pair.
 */
export function crossEncoder(): Uint8Array {
  const axes = (name: string, ...places: number[]) =>
    constant(name, [places.length], BigInt64Array.from(places.map(BigInt)));
  return file({
    nodes: [
      node("Unsqueeze", ["input_ids", "last"], "down"),
      node("Unsqueeze", ["input_ids", "middle"], "across"),
      node("Equal", ["down", "across"], "same"),
      node("Cast", ["same"], "pairs", attribute("to", FLOAT)),
      node("Cast", ["token_type_ids"], "second", attribute("to", FLOAT)),
      node("Cast", ["attention_mask"], "attended", attribute("to", FLOAT)),
      node("Sub", ["attended", "second"], "first"),
      node("Unsqueeze", ["second", "last"], "rows"),
      node("Unsqueeze", ["first", "middle"], "columns"),
      node("Mul", ["pairs", "rows"], "of_second"),
      node("Mul", ["of_second", "columns"], "of_both"),
      node("ReduceSum", ["of_both", "both"], "count", attribute("keepdims", 0)),
      node("Unsqueeze", ["count", "middle"], "logits"),
    ],
    constants: [axes("last", 2), axes("middle", 1), axes("both", 1, 2)],
    inputs: TOKEN_INPUTS,
    outputs: [value("logits", FLOAT, ["batch", 1])],
  });
}

/** Writes model and vocabulary, and says where they are. The model must be given `more` inputs, which it has no use for. */
export function tinyModel(...more: readonly string[]): { model: string; tokenizer: string } {
  const folder = mkdtempSync(join(tmpdir(), "brooklet-tiny-model-"));
  const paths = { model: join(folder, "tiny.onnx"), tokenizer: join(folder, "vocab.txt") };
  writeFileSync(paths.model, model(more.map((name) => value(name, FLOAT, ["batch", "tokens"]))));
  writeFileSync(paths.tokenizer, `${WORDS.join("\n")}\n`);
  return paths;
}
