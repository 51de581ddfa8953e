/** Tensor values: what they are in TypeScript for each kind of type, and their JSON. */
import { CellDigits, digitsOf } from "@brooklet/wire";
import { unexpectedAnswer } from "../error.ts";
import { type Check, integers, lists, numbers, objects, records, texts, values } from "./check.ts";
import { type Codec, FLOAT_MAX, mapValues, record } from "./codec.ts";
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
  return indexed.length === 0 ? cellsCodec(cell, label.isOnly) : blocksCodec(cell, label.isOnly, length);
}

function rowCodec(cell: CellType, length: number): Codec {
  return {
    zod: rowOf(cell, length),
    anyCell: rowOf("double", length),
    encode: (value) => ({ values: rowValue(cell, value as Numbers, true) }),
    decode: (json) => readRow(Array.isArray(json) ? json : record(json, "a tensor")["values"]),
  };
}

function cellsCodec(cell: CellType, isByLabel: boolean): Codec {
  const address = records(texts());
  const most = MOST[cell];
  const value = cell === "int8" ? integers(-most - 1, most) : numbers(-most, most);
  return {
    zod: isByLabel ? records(value) : lists(objects({ address, value })),
    encode: (value) => ({ cells: value }),
    decode: (json) => {
      const cells = record(json, "a tensor")["cells"];
      return isByLabel ? mapValues(record(cells, "cells by label"), readNumber) : cells;
    },
  };
}

function blocksCodec(cell: CellType, isByLabel: boolean, length: number): Codec {
  const row = rowOf(cell, length);
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

/** The largest numbers that cells hold: those above are nearer to infinity, which is what would be stored. */
const MOST: Readonly<Record<CellType, number>> = {
  double: Number.MAX_VALUE,
  float: FLOAT_MAX,
  bfloat16: 2 ** 128 - 2 ** 119 - 2 ** 75,
  int8: 127,
};

/** A check of one pass: a vector has hundreds of numbers, and is checked at every put. */
function rowOf(cell: CellType, length: number): Check<Numbers> {
  const wrongAt = cell === "int8" ? wrongInteger : wrongNumber;
  const most = MOST[cell];
  return values((value) => {
    const isLong = isNumbers(value) && value.length === length;
    const at = isLong ? wrongAt(value, most) : -1;
    return isLong && at < 0 ? undefined : rowProblem(value, { cell, length, at });
  });
}

/** Where a number stands that cells do not hold; -1 where none does. By number: an iterator would cost more than the look. */
function wrongNumber(row: Numbers, most: number): number {
  // What is a number of 32 bits is held by a cell of them, and what is finite by one of 64: a comparison doubles the look.
  if (most < (row instanceof Float32Array ? MOST.float : MOST.double)) return largeNumber(row, most);
  for (let at = 0; at < row.length; at += 1) if (!Number.isFinite(row[at])) return at;
  return -1;
}

function largeNumber(row: Numbers, most: number): number {
  for (let at = 0; at < row.length; at += 1) {
    const it = row[at] as number;
    if (!(Number.isFinite(it) && Math.abs(it) <= most)) return at;
  }
  return -1;
}

/** The same of integers of 8 bits. */
function wrongInteger(row: Numbers): number {
  if (row instanceof Int8Array) return -1;
  return Array.from(row).findIndex((it) => !(Number.isInteger(it) && it >= -128 && it <= 127));
}

function isNumbers(value: unknown): value is Numbers {
  return (
    Array.isArray(value) || value instanceof Float32Array || value instanceof Float64Array || value instanceof Int8Array
  );
}

/** Why a value is no vector of so many numbers; `at`: which of them is wrong, if one is. */
function rowProblem(
  value: unknown,
  { cell, length, at }: { readonly cell: CellType; readonly length: number; readonly at: number },
): string {
  const expected = `expected ${length} ${cell === "int8" ? "integers from -128 to 127" : "finite numbers"}`;
  if (!isNumbers(value)) return `${expected}, got ${value === null ? "null" : `a value of type ${typeof value}`}`;
  if (at < 0) return `${expected}, got ${value.length}`;
  const why = cell !== "int8" && Number.isFinite(value[at]) ? `: too large for cells of ${cell}` : "";
  return `${expected}, got ${String(value[at])} at ${at}${why}`;
}

/**
 * Checked numbers of a document or a request: the hexadecimal digits of their bits, most significant first, as Vespa takes them, which is
 * shorter than numbers and much faster to write and to read. Numbers that digits cannot say exactly stay numbers; cells of 32 bits
 * are not written as digits before somebody reads them, which is at once where they are lent.
 */
export function rowValue(cell: CellType, numbers: Numbers, isLent = false): readonly number[] | string | CellDigits {
  if (numbers instanceof Int8Array) return digitsOf(numbers);
  // Cells of int8 take digits of no other width.
  if (cell === "int8") return plainRow(numbers);
  if (cell === "float" || numbers instanceof Float32Array) return new CellDigits(numbers, isLent);
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
