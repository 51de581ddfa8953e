/** Changes of parts of fields by their path, `people[0].seen` or `counts{work}`: typed by what is there, checked as it is. */
import { suggestion } from "@brooklet/wire";
import { invalidArgument } from "./error.ts";
import { memberOf } from "./schema/check.ts";
import type { Codec, Position } from "./schema/codec.ts";
import type { Field, FieldMap, ShapeOf } from "./schema/field.ts";
import type { AnySchema } from "./schema/schema.ts";

/** What can become of a part that is a value of this type. */
export type PartChange<Value> =
  | { readonly assign: Value }
  | ([Value] extends [number]
      ?
          | { readonly increment: number }
          | { readonly decrement: number }
          | { readonly multiply: number }
          | { readonly divide: number }
      : [Value] extends [readonly unknown[]]
        ? { readonly add: Value }
        : never);

/** What can become of an element of a list, a set or a map: it can go, too. */
export type ElementChange<Value> = PartChange<Value> | { readonly remove: true };

/** Values that have no parts. */
type Whole = string | number | bigint | boolean | Date | Uint8Array | Position | null;

type MemberPaths<Prefix extends string, Value> = [Value] extends [Whole]
  ? unknown
  : Value extends readonly unknown[]
    ? unknown
    : string extends keyof Value
      ? unknown
      : { readonly [Name in keyof Value & string as `${Prefix}.${Name}`]?: PartChange<NonNullable<Value[Name]>> };

type PartsOf<Name extends string, Value> = [Value] extends [Whole]
  ? unknown
  : Value extends readonly (infer Element)[]
    ? { readonly [Path in `${Name}[${number}]`]?: ElementChange<Element> } & MemberPaths<`${Name}[${number}]`, Element>
    : string extends keyof Value
      ? { readonly [Path in `${Name}{${string}}`]?: ElementChange<Value[keyof Value]> } & MemberPaths<
          `${Name}{${string}}`,
          Value[keyof Value]
        >
      : MemberPaths<Name, Value>;

/** A union of functions of the parts of each field; a function of all of them is one of their intersection. */
type TakesParts<Fields extends FieldMap> = {
  [Name in keyof Fields & string]: (
    parts: ShapeOf<Fields[Name]>["inHits"] extends true
      ? ShapeOf<Fields[Name]>["kind"] extends "json"
        ? unknown
        : PartsOf<Name, ShapeOf<Fields[Name]>["input"]>
      : unknown,
  ) => void;
}[keyof Fields & string];

/** The parts of fields and what can become of them. Vectors, tensors and JSON are changed as a whole. */
export type PathChanges<Fields extends FieldMap = FieldMap> = string extends keyof Fields
  ? Readonly<Record<string, Readonly<Record<string, unknown>>>>
  : TakesParts<Fields> extends (parts: infer All) => void
    ? All
    : never;

const SEGMENT = /^(?:\.([A-Za-z_]\w*)|\[(\d+)\]|\{("(?:[^"\\]|\\.)*"|[^{}"]+)\})/;
const CALCULATIONS: readonly string[] = ["increment", "decrement", "multiply", "divide"];

/** What a calculation is done with, of a value with this codec; nothing if it is another operation. What would count as another number is refused. */
export function calculationOf(
  [operation, operand]: readonly [string, unknown],
  { zod }: Codec,
  refuse: (reason: string) => Error,
): number | undefined {
  if (!CALCULATIONS.includes(operation)) return undefined;
  if (!zod.safeParse(0).success) throw refuse(`'${operation}' is for numbers`);
  if (typeof operand !== "number" || !Number.isFinite(operand)) throw refuse(`${operation} takes a finite number`);
  if (Number.isInteger(operand) || zod.safeParse(0.5).success) return operand;
  throw refuse(`${operation} of an integer takes an integer: ${operand} would be cut`);
}

/** What is said of an operation that there is not, or not there. */
export function noChange(operation: string): string {
  return `there is no operation '${operation}'${suggestion(operation, ["assign", ...CALCULATIONS])}`;
}

/** What a change does, and with what; nothing if it is not one operation: a text or a list in its place has members of its own. */
export function operationOf(change: unknown): readonly [string, unknown] | undefined {
  const [operation, ...others] = isObject(change) ? Object.entries(change) : [];
  return others.length === 0 ? operation : undefined;
}

/** What has members by their names, for those who have no types. */
export function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Promise);
}

/** Changes of parts as JSON, checked before they are sent. */
export function encodePaths(schema: AnySchema, changes: PathChanges, refuse: (reason: string) => Error): object {
  const given = Object.entries(changes as Readonly<Record<string, object | undefined>>);
  const encoded = given.flatMap(([path, change]) => {
    if (change === undefined) return [];
    const of = (reason: string): Error => refuse(`${path}: ${reason}`);
    const part = partOf(schema, path, of);
    const operation = operationOf(change);
    if (operation === undefined) throw of("needs one operation, such as { assign: … }");
    return [[path, { [operation[0]]: operandOf(operation, part, of) }] as const];
  });
  return Object.fromEntries(encoded);
}

interface Part {
  readonly codec: Codec;
  /** Whether it is an element of a list, a set or a map. */
  readonly isElement: boolean;
}

/** The field that a change names. */
export function fieldNamed({ fields }: AnySchema, name: string, refuse: (reason: string) => Error): Field {
  const field = memberOf(fields, name) as Field | undefined;
  if (field === undefined) throw refuse(`there is no field '${name}'${suggestion(name, Object.keys(fields))}`);
  return field;
}

/** The part of a field that a path names. */
function partOf(schema: AnySchema, path: string, refuse: (reason: string) => Error): Part {
  const [name = ""] = /^\w*/.exec(path) ?? [];
  const field = fieldNamed(schema, name, refuse);
  if (field.definition.made !== undefined) throw refuse("the server makes it of other fields");
  let part: Part = { codec: field.codec, isElement: false };
  let rest = path.slice(name.length);
  if (rest === "") throw refuse("it is a whole field: change it beside `paths`");
  while (rest !== "") {
    const [segment, member, index, key] = SEGMENT.exec(rest) ?? [];
    if (segment === undefined) throw refuse(`'${rest}' is no part of a path: write .name, [number] or {key}`);
    const { members, element, parts } = part.codec;
    const below = member === undefined ? element : members?.[member]?.codec;
    const isRight = member !== undefined || (parts === "numbered" ? index !== undefined : key !== undefined);
    if (below === undefined || !isRight) throw refuse(`there is no '${segment}' in it`);
    part = { codec: below, isElement: member === undefined };
    rest = rest.slice(segment.length);
  }
  return part;
}

function operandOf(
  [operation, operand]: readonly [string, unknown],
  { codec, isElement }: Part,
  refuse: (reason: string) => Error,
): unknown {
  if (operation === "remove" && isElement) return 0;
  const calculation = calculationOf([operation, operand], codec, refuse);
  if (calculation !== undefined) return calculation;
  const isAddition = operation === "add" && codec.parts !== undefined;
  if (operation !== "assign" && !isAddition) throw refuse(noChange(operation));
  const checked = codec.zod.safeParse(operand);
  if (checked.success) return codec.encode(operand);
  throw refuse(checked.error.issues[0]?.message ?? "not a value of this part");
}

/** @internal What `paths` has to be, for those who have no types. */
export function checkPaths(paths: unknown): asserts paths is PathChanges {
  if (!isObject(paths)) throw invalidArgument("paths are an object: { 'people[0].seen': { assign: true } }");
}
