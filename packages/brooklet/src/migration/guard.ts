/**
 * The condition that a document is still as it was read, in the document selection language. Long texts are compared by the
 * server's hash of them; tensors, bytes, places, and what else maps and sets have, are what no selection can compare.
 */
import { createHash } from "node:crypto";
import { type AnySchema, type DataType, type PrimitiveName, selectionLiteral } from "@brooklet/client";

/** A condition, and whether nothing of what it is about can be another without it failing. */
export interface Guard {
  readonly selection: string;
  readonly isExact: boolean;
}

/** The fields of a document as they travel. */
export type RawFields = Readonly<Record<string, unknown>>;

/** Characters of a condition: a server takes 16 KiB. */
const SELECTION_MAX = 12_000;
/** Bytes from which a text is compared by its hash. */
const TEXT_MAX = 200;
const ELEMENTS_MAX = 100;

/** Whether a selection can compare all of a value of this type. */
export function isComparable(type: DataType): boolean {
  switch (type.kind) {
    case "primitive":
      return type.name !== "raw" && type.name !== "position";
    case "array":
      return isComparable(type.element);
    case "struct":
      return Object.values(type.struct.members).every(isComparable);
    default:
      return false;
  }
}

/**
 * The condition that these fields are as they were read. Where one of them cannot be compared, all that can be compared of the
 * document is. `unset` are those that must not have been stored at all; of others, an answer leaves out empty texts.
 */
export function guardOf(
  schema: AnySchema,
  raw: RawFields,
  names: readonly string[],
  unset: ReadonlySet<string>,
): Guard {
  const typeOf = (name: string): DataType | undefined => schema.fields[name]?.definition.type;
  const cannot = names.some((name) => {
    const type = typeOf(name);
    return raw[name] !== undefined && type !== undefined && !isComparable(type);
  });
  const others = cannot ? Object.keys(raw).filter((name) => !names.includes(name)) : [];
  let selection = schema.name;
  let isExact = !cannot;
  for (const name of [...names, ...others]) {
    const type = typeOf(name);
    if (type === undefined) continue;
    const path = `${schema.name}.${name}`;
    const clause = unset.has(name) ? { selection: `${path} == null`, isExact: true } : clauseOf(path, type, raw[name]);
    const longer = `${selection} and ${clause.selection}`;
    const fits = Buffer.byteLength(longer) <= SELECTION_MAX;
    if (fits) selection = longer;
    if (names.includes(name)) isExact = isExact && fits && clause.isExact;
  }
  return { selection, isExact };
}

function clauseOf(path: string, type: DataType, value: unknown): Guard {
  if (value === undefined || value === null)
    return {
      selection: isText(type) ? `(${path} == null or ${path} == "")` : `${path} == null`,
      isExact: true,
    };
  if (type.kind === "primitive") return primitiveClause(path, type.name, value);
  if (type.kind === "array" && Array.isArray(value)) return elementsClause(path, type.element, value);
  if (type.kind === "struct" && typeof value === "object") {
    const members = Object.entries(type.struct.members).map(([name, member]) =>
      clauseOf(`${path}.${name}`, member, (value as RawFields)[name]),
    );
    return all([{ selection: `${path} != null`, isExact: true }, ...members]);
  }
  return { selection: `${path} != null`, isExact: false };
}

function elementsClause(path: string, element: DataType, values: readonly unknown[]): Guard {
  if (values.length === 0) return { selection: `${path} == null`, isExact: true };
  const compared = values.slice(0, ELEMENTS_MAX).map((value, index) => clauseOf(`${path}[${index}]`, element, value));
  const { selection, isExact } = all([...compared, { selection: `${path}[${values.length}] == null`, isExact: true }]);
  return { selection, isExact: isExact && values.length <= ELEMENTS_MAX };
}

function primitiveClause(path: string, name: PrimitiveName, value: unknown): Guard {
  const is = (literal: string): Guard => ({ selection: `${path} == ${literal}`, isExact: true });
  if (typeof value === "boolean") return is(String(value));
  if (typeof value === "number") return is(selectionLiteral(name === "float" ? Math.fround(value) : value));
  if (typeof value !== "string" || name === "raw" || name === "position")
    return { selection: `${path} != null`, isExact: false };
  if (name !== "string" && name !== "uri")
    // Integers beyond what a number holds are digits; what is no number at all compares with nothing.
    return /^-?\d+$/.test(value) ? is(value) : { selection: `${path} != null`, isExact: false };
  const bytes = Buffer.from(value);
  if (bytes.length <= TEXT_MAX) return is(selectionLiteral(value));
  const hash = createHash("md5").update(bytes).digest().readBigInt64LE(0);
  return { selection: `${path}.hash() == ${hash}`, isExact: true };
}

function all(parts: readonly Guard[]): Guard {
  return {
    selection: parts.map(({ selection }) => selection).join(" and "),
    isExact: parts.every(({ isExact }) => isExact),
  };
}

function isText(type: DataType): boolean {
  return type.kind === "primitive" && (type.name === "string" || type.name === "uri");
}
