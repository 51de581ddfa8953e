/** Tensor values: what they are in TypeScript for each kind of type, and their JSON. */
import { CellDigits, digitsOf } from "@brooklet/wire";
import { unexpectedAnswer } from "../error.ts";
import { type Check, lists, numbers, objects, records, texts, values } from "./check.ts";
import { type Codec, mapValues, record } from "./codec.ts";
import { type CellType, type Dimensions, dimensionNames } from "./data-type.ts";

/** Numbers in a row. */
export type Numbers = readonly number[] | Float32Array | Float64Array | Int8Array;

/** A cell of a tensor with several mapped dimensions. */
export interface TensorCell {
  readonly address: Readonly<Record<string, string>>;
  readonly value: number;
}

/** The dense part at one address of a tensor with several mapped dimensions. */
export interface TensorBlock<Values = Numbers> {
  readonly address: Readonly<Record<string, string>>;
  readonly values: Values;
}

type MappedName<D extends Dimensions> = { [Name in keyof D]: D[Name] extends "mapped" ? Name : never }[keyof D];
type IndexedName<D extends Dimensions> = { [Name in keyof D]: D[Name] extends "mapped" ? never : Name }[keyof D];
type IsUnion<Type, Copy = Type> = Type extends unknown ? ([Copy] extends [Type] ? false : true) : never;

/**
 * The value of a tensor. Without mapped dimensions: its cells in a row, the last dimension (in alphabetical order)
 * running fastest. With one: an object by label. With more: a list of addresses.
 */
export type TensorValue<D extends Dimensions, Values = Numbers> = [MappedName<D>] extends [never]
  ? Values
  : IsUnion<MappedName<D>> extends true
    ? readonly ([IndexedName<D>] extends [never] ? TensorCell : TensorBlock<Values>)[]
    : Readonly<Record<string, [IndexedName<D>] extends [never] ? number : Values>>;

/** How tensors of these cells and dimensions are checked, written and read. */
export function tensorCodec(cell: CellType, dimensions: Dimensions): Codec {
  const names = dimensionNames(dimensions);
  const mapped = names.filter((name) => dimensions[name] === "mapped");
  const indexed = names.filter((name) => dimensions[name] !== "mapped");
  const length = indexed.reduce((size, name) => size * Number(dimensions[name]), 1);
  if (mapped.length === 0) return rowCodec(cell, length);
  const label = { name: mapped.join(), isOnly: mapped.length === 1 };
  return indexed.length === 0 ? cellsCodec(label.isOnly) : blocksCodec(cell, label.isOnly, length);
}

function rowCodec(cell: CellType, length: number): Codec {
  return {
    zod: rowOf(length),
    encode: (value) => ({ values: rowValue(cell, value as Numbers, true) }),
    decode: (json) => readRow(Array.isArray(json) ? json : record(json, "a tensor")["values"]),
  };
}

function cellsCodec(isByLabel: boolean): Codec {
  const address = records(texts());
  return {
    zod: isByLabel ? records(numbers()) : lists(objects({ address, value: numbers() })),
    encode: (value) => ({ cells: value }),
    decode: (json) => {
      const cells = record(json, "a tensor")["cells"];
      return isByLabel ? mapValues(record(cells, "cells by label"), readNumber) : cells;
    },
  };
}

function blocksCodec(cell: CellType, isByLabel: boolean, length: number): Codec {
  const row = rowOf(length);
  const written = (numbers: Numbers): unknown => rowValue(cell, numbers, true);
  const address = records(texts());
  return {
    zod: isByLabel ? records(row) : lists(objects({ address, values: row })),
    encode: (value) => ({
      blocks: isByLabel
        ? mapValues(value as Record<string, Numbers>, written)
        : (value as readonly TensorBlock[]).map((block) => ({ address: block.address, values: written(block.values) })),
    }),
    decode: (json) => {
      const blocks = record(json, "a tensor")["blocks"];
      if (isByLabel) return mapValues(record(blocks, "blocks by label"), readRow);
      return (blocks as readonly TensorBlock<unknown>[]).map((block) => ({ ...block, values: readRow(block.values) }));
    },
  };
}

/** A check of one pass: a vector has hundreds of numbers, and is checked at every put. */
function rowOf(length: number): Check<Numbers> {
  const isRow = (value: unknown): boolean => {
    if (!isNumbers(value) || value.length !== length) return false;
    // By number: an iterator would cost more than the look.
    for (let at = 0; at < length; at += 1) if (!Number.isFinite(value[at])) return false;
    return true;
  };
  return values((value) => (isRow(value) ? undefined : rowProblem(value, length)));
}

function isNumbers(value: unknown): value is Numbers {
  return (
    Array.isArray(value) || value instanceof Float32Array || value instanceof Float64Array || value instanceof Int8Array
  );
}

/** Why a value is no vector of so many numbers. */
function rowProblem(value: unknown, length: number): string {
  const expected = `expected ${length} finite numbers`;
  if (!isNumbers(value)) return `${expected}, got ${value === null ? "null" : `a value of type ${typeof value}`}`;
  if (value.length !== length) return `${expected}, got ${value.length}`;
  const wrong = Array.from(value as readonly unknown[]).findIndex((item) => !Number.isFinite(item));
  return `${expected}, got ${String(value[wrong])} at ${wrong}`;
}

/**
 * Numbers of a document or a request: the hexadecimal digits of their bits, most significant first, as Vespa takes them, which is
 * shorter than numbers and much faster to write and to read. Numbers that digits cannot say exactly stay numbers; cells of 32 bits
 * are not written as digits before somebody reads them, which is at once where they are lent.
 */
export function rowValue(cell: CellType, numbers: Numbers, isLent = false): readonly number[] | string | CellDigits {
  if (numbers instanceof Int8Array) return digitsOf(numbers);
  // Cells of int8 take digits of no other width.
  if (cell === "int8") return plainRow(numbers);
  if (cell === "float" || numbers instanceof Float32Array) {
    const digits = new CellDigits(numbers, isLent);
    // What is too large for cells of 32 bits is refused by its number.
    return numbers instanceof Float32Array || digits.cells.every(Number.isFinite) ? digits : plainRow(numbers);
  }
  return numbers instanceof Float64Array ? digitsOf(numbers) : plainRow(numbers);
}

/** Numbers as numbers. */
export function plainRow(numbers: Numbers): readonly number[] {
  return Array.isArray(numbers) ? numbers : Array.from(numbers);
}

function readRow(values: unknown): number[] {
  if (!Array.isArray(values)) throw unexpectedAnswer(`expected values, got ${JSON.stringify(values)}`);
  const isNested = Array.isArray(values[0]);
  return (isNested ? (values.flat(Number.POSITIVE_INFINITY) as unknown[]) : values).map(readNumber);
}

/** Cells that are not finite are null in answers. */
function readNumber(value: unknown): number {
  return typeof value === "number" ? value : Number.NaN;
}
