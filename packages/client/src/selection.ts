/**
 * What a stored document has to fulfil for a write to happen, in Vespa's document selection language. A selection is
 * written field by field, so that the type checker knows the fields, and nothing in a value can be taken for language.
 */
import { clauseText, textOfClause } from "./clause.ts";
import { Condition } from "./condition.ts";
import { demandKind, excerpt, invalidArgument } from "./error.ts";
import type { Position } from "./schema/codec.ts";
import type { DataType } from "./schema/data-type.ts";
import type { Field, FieldMap, FieldShape, ShapeOf } from "./schema/field.ts";
import type { IntegerConditions, MapConditions, OrderConditions } from "./schema/field-condition.ts";
import { type Comparison, hasWholeSeconds, secondsOf, wholeBound } from "./schema/point-in-time.ts";
import { type AnySchema, noField } from "./schema/schema.ts";
import { Selection, selectionLiteral } from "./selection-clause.ts";

/** What any field offers. */
export interface AnySelections {
  /** The field has a value. */
  isSet(): Selection;
  /** The field has none. */
  isUnset(): Selection;
}

/** What fields that are compared offer. Of a list, one element that fulfils it is enough. */
export interface ValueSelections<Value> extends AnySelections {
  /** Is this value, upper and lower case apart. */
  is(value: Value): Selection;
  /** Is another value, or none. */
  isNot(value: Value): Selection;
  /** Is one of these values. */
  in(values: readonly Value[]): Selection;
}

/** What fields with an order offer. */
export interface OrderSelections<Value> extends ValueSelections<Value> {
  lt(bound: Value): Selection;
  le(bound: Value): Selection;
  gt(bound: Value): Selection;
  ge(bound: Value): Selection;
  /** Lies between the two; both count. */
  between(low: Value, high: Value): Selection;
}

/** What texts offer. */
export interface TextSelections extends OrderSelections<string> {
  /** Is of this form: `*` stands for any characters, `?` for one. */
  matches(pattern: string): Selection;
  /** Begins so. */
  prefix(start: string): Selection;
}

/** What lists offer beside what their elements do. */
export interface ListSelections<Element> {
  /** The element of this number, from 0, is this value. */
  at(index: number, value: Element): Selection;
}

/** What maps and weighted sets offer: one of their keys, one of their values or weights, or that of a key. */
export interface MapSelections<Value, Key = string> extends AnySelections {
  readonly key: SelectionsOfValue<Key>;
  readonly value: SelectionsOfValue<Value>;
  entry(key: string): SelectionsOfValue<Value>;
}

/** What a field with these values offers. */
export type SelectionsOfValue<Value> = [Value] extends [string]
  ? string extends Value
    ? TextSelections
    : ValueSelections<Value>
  : [Value] extends [boolean]
    ? ValueSelections<boolean>
    : [Value] extends [number]
      ? OrderSelections<number>
      : [Value] extends [Date]
        ? OrderSelections<Date>
        : [Value] extends [bigint]
          ? OrderSelections<bigint>
          : [Value] extends [Uint8Array | Position]
            ? AnySelections
            : [Value] extends [readonly (infer Element)[]]
              ? [Element] extends [string | number | bigint]
                ? ValueSelections<Element> & ListSelections<Element>
                : [Element] extends [readonly unknown[] | Date]
                  ? AnySelections
                  : StructSelections<Element>
              : [Value] extends [Readonly<Record<string, unknown>>]
                ? string extends keyof Value
                  ? MapSelections<Value[keyof Value]>
                  : StructSelections<Value>
                : AnySelections;

/** What a struct and its members offer, of which one may be named `isSet`; of a list of structs one that fulfils it is enough. */
type StructSelections<Struct> = Omit<AnySelections, keyof Struct> & {
  readonly [Name in keyof Struct]-?: SelectionsOfValue<NonNullable<Struct[Name]>>;
};

/** What a field with this shape offers: nothing if the server makes it, which is no part of a stored document. */
type SelectionsOfShape<Shape extends FieldShape> = [Shape["input"]] extends [never]
  ? never
  : Shape["inHits"] extends true
    ? Shape["kind"] extends "json"
      ? AnySelections
      : [Shape["output"], KeyOf<Shape>] extends [Readonly<Record<string, infer Value>>, number]
        ? MapSelections<Value, number>
        : SelectionsOfValue<Shape["output"]>
    : AnySelections;

/** The numbers that are keys of a map or a set with this shape, which its values have as texts. */
type KeyOf<Shape extends FieldShape> = Shape["kind"] extends "weighted"
  ? Shape["conditions"] extends IntegerConditions
    ? number
    : string
  : Shape["conditions"] extends MapConditions<OrderConditions<number>, unknown>
    ? number
    : string;

/** What a condition is given. */
export type SelectionsOf<Fields extends FieldMap> = {
  readonly [Name in keyof Fields]: Fields[Name] extends Field ? SelectionsOfShape<ShapeOf<Fields[Name]>> : never;
};

/** A condition of a write: a selection written field by field, or its text. */
export type WriteCondition<Fields extends FieldMap> = string | ((document: SelectionsOf<Fields>) => Selection);

type Value = string | number | bigint | boolean | Date;

/** What values are to JavaScript: all others are numbers. */
const KINDS: Readonly<Record<string, string>> = { string: "string", uri: "string", bool: "boolean" };

class FieldSelections {
  readonly #path: string;
  readonly #type: DataType;

  constructor(path: string, type: DataType) {
    this.#path = path;
    this.#type = type;
  }

  isSet(): Selection {
    return new Selection(`${this.#path} != null`);
  }

  isUnset(): Selection {
    return new Selection(`${this.#path} == null`);
  }

  is(value: Value): Selection {
    return this.#bounded("==", "=", value);
  }

  isNot(value: Value): Selection {
    return this.#bounded("!=", "=", value);
  }

  lt(bound: Value): Selection {
    return this.#bounded("<", "<", bound);
  }

  le(bound: Value): Selection {
    return this.#bounded("<=", "<=", bound);
  }

  gt(bound: Value): Selection {
    return this.#bounded(">", ">", bound);
  }

  ge(bound: Value): Selection {
    return this.#bounded(">=", ">=", bound);
  }

  matches(pattern: string): Selection {
    return this.#compared("=", pattern);
  }

  in(values: readonly Value[]): Selection {
    demandKind("in", values, "a list");
    const [first, ...others] = values.map((value) => this.is(value));
    return first?.or(...others) ?? new Selection("false");
  }

  between(low: Value, high: Value): Selection {
    return this.ge(low).and(this.le(high));
  }

  prefix(start: string): Selection {
    demandKind("prefix", start, "a text");
    const expression = `^${start.replaceAll(/[\\^$.*+?()[\]{}|]/g, "\\$&")}`;
    return new Selection(`${this.#path} =~ ${selectionLiteral(expression)}`);
  }

  at(index: number, value: Value): Selection {
    if (!Number.isInteger(index) || index < 0) throw invalidArgument(`${index} is no number of an element`);
    return new FieldSelections(`${this.#path}[${index}]`, this.#type).is(value);
  }

  #bounded(operator: string, comparison: Comparison, value: Value): Selection {
    if (!(value instanceof Date)) return this.#compared(operator, value);
    const seconds = hasWholeSeconds(this.#type) ? wholeBound(comparison, value) : secondsOf(value);
    // No whole second is this one.
    return seconds === undefined ? new Selection(`${operator === "!="}`) : this.#compared(operator, seconds);
  }

  #compared(operator: string, value: Exclude<Value, Date>): Selection {
    const type = this.#type;
    const kind = typeof value === "bigint" ? "number" : typeof value;
    if (type.kind === "primitive" && kind !== (KINDS[type.name] ?? "number"))
      throw invalidArgument(`${this.#path} cannot be compared with ${excerpt(value)}`);
    return new Selection(`${this.#path} ${operator} ${selectionLiteral(heldBy(type, value))}`);
  }
}

/** What a field holds of a value. Selections compare in double precision, where what a float holds of 0.1 is another number. */
function heldBy(type: DataType, value: Exclude<Value, Date>): Exclude<Value, Date> {
  if (typeof value !== "number" || type.kind !== "primitive" || type.name !== "float") return value;
  const held = Math.fround(value);
  return Number.isFinite(held) ? held : value;
}

/** What searches have and the selection language has not: told by name to callers without types. */
const OF_SEARCHES =
  "contains phrase near onear equiv alternatives text suffix substring fuzzy weightedSet dotProduct wand " +
  "geoLocation geoBoundingBox nearestNeighbor sameElement";

/** What a field at `path` offers, with its members below it. */
function selectionsOf(path: string, type: DataType, place: string): object {
  const offered: Record<string, unknown> = {};
  for (const name of OF_SEARCHES.split(" "))
    offered[name] = () => {
      throw invalidArgument(
        `${place} cannot say '${name}' of '${path}': only searches can. Search, and go on with the ids`,
      );
    };
  const entries = entriesOf(type);
  for (const [name, member] of Object.entries(entries ?? membersOf(type)))
    offered[name] = selectionsOf(`${path}.${name}`, member, place);
  if (entries !== undefined)
    offered["entry"] = (key: string) => selectionsOf(`${path}{${selectionLiteral(key)}}`, entries.value, place);
  const own = new FieldSelections(path, type.kind === "array" ? type.element : type);
  // Defined, not assigned: a member of a struct goes before what fields offer under its name.
  for (const [name, value] of Object.entries(offered)) Object.defineProperty(own, name, { value });
  return own;
}

/** What the keys and values of a map are, or the elements and weights of a set. */
function entriesOf(type: DataType): { readonly key: DataType; readonly value: DataType } | undefined {
  if (type.kind === "map") return { key: type.key, value: type.value };
  return type.kind === "weightedset" ? { key: type.element, value: { kind: "primitive", name: "int" } } : undefined;
}

/** The members of a struct, or of the structs of a list. */
function membersOf(type: DataType): Readonly<Record<string, DataType>> {
  if (type.kind === "array") return membersOf(type.element);
  return type.kind === "struct" ? type.struct.members : {};
}

/** The fields of a schema, where another is an error that names it: for callers without types. */
function fieldSelections(schema: AnySchema, place: string): object {
  const named = Object.entries(schema.fields).map(([name, { definition }]) => {
    return [name, selectionsOf(`${schema.name}.${name}`, definition.type, place)] as const;
  });
  return new Proxy(Object.fromEntries(named), {
    get(fields, name, receiver): unknown {
      if (typeof name !== "string" || name in fields) return Reflect.get(fields, name, receiver);
      throw noField(schema, name);
    },
  });
}

/** The text of a condition; `place` is where it was given. */
export function conditionText<S extends AnySchema>(
  schema: S,
  condition: WriteCondition<S["fields"]>,
  place: string,
): string {
  if (typeof condition === "string") return condition;
  if (condition instanceof Condition)
    throw invalidArgument(
      `${place} is a condition of searches (${condition}): write it as a function of the fields it is given`,
    );
  if (typeof condition !== "function") return textOfClause("selection", place, condition);
  const fields = fieldSelections(schema, place);
  return clauseText("selection", place, () => condition(fields as unknown as SelectionsOf<S["fields"]>));
}
