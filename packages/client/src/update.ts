/** Changes of a stored document, typed by the field they change, and the JSON they travel as. */

import { invalidArgument } from "./error.ts";
import { calculationOf, checkPaths, encodePaths, fieldNamed, isObject, noChange, operationOf } from "./path-change.ts";
import type { Codec } from "./schema/codec.ts";
import type { DataType } from "./schema/data-type.ts";
import type { Field, FieldMap, FieldShape, ShapeOf } from "./schema/field.ts";
import type { AnySchema } from "./schema/schema.ts";

/** Sets the field; `null` clears one that documents may lack. */
export interface Assign<Shape extends FieldShape> {
  readonly assign: Shape["input"] | (Shape["optional"] extends true ? null : never);
}

/** Computes with the number that is stored; a field that is not set counts as 0. */
export type Calculate =
  | { readonly increment: number }
  | { readonly decrement: number }
  | { readonly multiply: number }
  | { readonly divide: number };

/** Changes of a field with this shape; none of one that the server makes. */
export type ChangeOf<Shape extends FieldShape> = [Shape["input"]] extends [never]
  ? never
  : Assign<Shape> | OtherChangeOf<Shape>;

type OtherChangeOf<Shape extends FieldShape> = Shape["kind"] extends "sortable"
  ? [Shape["output"]] extends [number]
    ? Calculate
    : never
  : Shape["kind"] extends "array"
    ? { readonly add: Shape["input"] } | { readonly remove: Shape["input"] }
    : Shape["kind"] extends "weighted"
      ? { readonly add: Shape["input"] } | { readonly remove: readonly string[] }
      : never;

/** What an update changes, field by field; fields that are not named stay as they are. */
export type UpdateOf<Fields extends FieldMap> = {
  readonly [Name in keyof Fields]?: (Fields[Name] extends Field ? ChangeOf<ShapeOf<Fields[Name]>> : never) | undefined;
};

/**
 * The `fields` of an update as JSON, checked before they are sent; whether doing it twice leaves the same: what computes counts twice. `create`:
 * whether it makes the document where there is none.
 */
export function encodeUpdate(
  schema: AnySchema,
  id: string,
  changes: object,
  options: { readonly paths?: unknown; readonly create?: boolean },
): { readonly fields: object; readonly isRepeatable: boolean } {
  const refuse = (reason: string): Error =>
    invalidArgument(`document '${id}' of schema ${schema.name} cannot be updated: ${reason}`);
  const { paths = {}, create } = Object(options) as typeof options;
  if (!isObject(changes)) throw refuse("its changes are an object: { year: { assign: 2026 } }");
  const encoded: Record<string, object> = {};
  for (const [name, change] of Object.entries(changes)) {
    if (change === undefined) continue;
    const field = fieldNamed(schema, name, refuse);
    const operation = operationOf(change);
    if (operation === undefined) throw refuse(`'${name}' needs one operation, such as { assign: … }`);
    encoded[name] = { [operation[0]]: operandOf(operation, field, (reason) => refuse(`${name}: ${reason}`)) };
  }
  checkPaths(paths);
  const fields: Record<string, object> = { ...encoded, ...encodePaths(schema, paths, refuse) };
  const lacking = create === true ? lackingFields(schema, Object.keys(fields)) : [];
  if (lacking.length > 0)
    throw refuse(`create would make a document without ${lacking.join(", ")}, which it has to have: assign it too`);
  return { fields, isRepeatable: Object.values(fields).every((change) => "assign" in change) };
}

/** Fields that documents cannot be read without, and that none of these changes, whole or in part, sets. */
function lackingFields({ fields }: AnySchema, changed: readonly string[]): readonly string[] {
  const set = new Set(changed.map((path) => /^\w*/.exec(path)?.[0]));
  return Object.entries(fields)
    .filter(([name, { isOptional, codec, defaultValue }]) => {
      return !(isOptional || codec.empty !== undefined || defaultValue !== undefined || set.has(name));
    })
    .map(([name]) => name);
}

function operandOf(
  [operation, operand]: readonly [string, unknown],
  { codec, isOptional, definition }: Field,
  refuse: (reason: string) => Error,
): unknown {
  if (definition.made !== undefined) throw refuse("the server makes it of other fields");
  const calculation = calculationOf([operation, operand], codec, refuse);
  // JSON that is a number is stored as a text.
  if (calculation !== undefined && isText(definition.type)) throw refuse(`'${operation}' is for numbers`);
  if (calculation !== undefined) return calculation;
  if (operation === "remove" && definition.type.kind === "weightedset" && isKeys(operand))
    return Object.fromEntries(operand.map((key) => [key, 0]));
  if (operation === "assign" && operand === null) {
    if (isOptional) return null;
    throw refuse("a field that is not optional cannot be cleared");
  }
  if (!["assign", "add", "remove"].includes(operation)) throw refuse(noChange(operation));
  const type = definition.type.kind;
  if (operation !== "assign" && type !== "array" && type !== "weightedset") {
    throw refuse(`'${operation}' is for lists and weighted sets; entries of maps are changed by their paths`);
  }
  return encodeValue(codec, operand, refuse);
}

function isText(type: DataType): boolean {
  return type.kind === "primitive" && type.name === "string";
}

/** Keys of a weighted set, which are removed by their names. */
function isKeys(operand: unknown): operand is readonly string[] {
  return Array.isArray(operand) && operand.every((key) => typeof key === "string");
}

function encodeValue(codec: Codec, value: unknown, refuse: (reason: string) => Error): unknown {
  const result = codec.zod.safeParse(value);
  if (result.success) return codec.encode(value);
  throw refuse(result.error.issues[0]?.message ?? "not a value of this field");
}
