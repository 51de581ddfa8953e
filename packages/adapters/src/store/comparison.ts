/**
 * The comparisons that filters of other libraries are made of, as conditions on a schema's fields. Their syntax is each library's;
 * what is here has a field, what is asked of it, and a value, and refuses by name what a field cannot answer.
 */
import { type AnySchema, allOf, anyOf, type Condition, type Field, invalidArgument, not } from "@brooklet/client";
import { suggestion } from "@brooklet/wire";
import { type Kind, kindOf } from "../model-field.ts";
import { fieldValue } from "./documents.ts";

/** What is asked of a field. */
export type Comparison = "is" | "isNot" | "lt" | "le" | "gt" | "ge" | "in" | "notIn" | "all" | "words";

type FieldConditions = Readonly<Record<string, (value: unknown) => Condition>>;

/** Values of one comparison at most. */
const VALUES_MAX = 1_000;

const TYPES: Readonly<Record<Kind, string>> = {
  text: "a text",
  number: "a number",
  truth: "true or false",
  date: "a date, as a Date or as ISO text",
};

/** The condition that a filter means. */
export function comparisonCondition(
  schema: AnySchema,
  name: string,
  comparison: Comparison,
  value: unknown,
): Condition {
  const field = Object.hasOwn(schema.fields, name) ? schema.fields[name] : undefined;
  if (field === undefined)
    throw invalidArgument(
      `'${name}' cannot be filtered by: it is no field of schema ${schema.name}${suggestion(name, Object.keys(schema.fields))}`,
    );
  const conditions = (schema.conditions as Readonly<Record<string, FieldConditions>>)[name] ?? {};
  if (comparison === "words") return wordsOf(field, name, conditions, value);
  const kind = comparedKind(field);
  if (kind === undefined)
    throw invalidArgument(
      `'${name}' of schema ${schema.name} cannot be filtered by: fields of texts that are values, numbers, dates and truth values can`,
    );
  const single = (one: unknown): Condition => conditions["is"]?.(checkedValue(field, kind, name, one)) as Condition;
  switch (comparison) {
    case "is":
      return single(value);
    case "isNot":
      return not(single(value));
    case "in":
      return anyOf(...valuesOf(name, value).map(single));
    case "notIn":
      return not(anyOf(...valuesOf(name, value).map(single)));
    case "all": {
      const all = valuesOf(name, value).map(single);
      // As in MongoDB: a list that was meant to say something says nothing of every document.
      return all.length === 0 ? anyOf() : allOf(...all);
    }
    default:
      if (kind === "text" || kind === "truth")
        throw invalidArgument(`'${name}' has no order: it cannot be less or greater`);
      return conditions[comparison]?.(checkedValue(field, kind, name, value)) as Condition;
  }
}

/** What the values of a field are, or its elements, where they are compared as a whole. */
function comparedKind(field: Field): Kind | undefined {
  const { type, indexing } = field.definition;
  if (!indexing.includes("attribute")) return undefined;
  if (type.kind === "primitive") return kindOf(field);
  if (type.kind !== "array" && type.kind !== "weightedset") return undefined;
  if (type.element.kind !== "primitive") return undefined;
  if (type.element.name === "string") return "text";
  return ["byte", "int", "long", "float", "double"].includes(type.element.name) ? "number" : undefined;
}

function checkedValue(field: Field, kind: Kind, name: string, given: unknown): unknown {
  const value = fieldValue(field, name, given);
  const isRight =
    (kind === "text" && typeof value === "string") ||
    (kind === "number" && typeof value === "number" && Number.isFinite(value)) ||
    (kind === "truth" && typeof value === "boolean") ||
    (kind === "date" && value instanceof Date && !Number.isNaN(value.getTime()));
  if (!isRight) throw invalidArgument(`'${name}' is compared with ${TYPES[kind]}, not with ${excerpt(given)}`);
  return value;
}

function valuesOf(name: string, value: unknown): readonly unknown[] {
  if (!Array.isArray(value))
    throw invalidArgument(`'${name}' is compared with a list of values here, not with ${excerpt(value)}`);
  if (value.length > VALUES_MAX)
    throw invalidArgument(`'${name}' is compared with ${value.length} values: ${VALUES_MAX} at most`);
  return value;
}

function wordsOf(field: Field, name: string, conditions: FieldConditions, value: unknown): Condition {
  const { type, indexing } = field.definition;
  if (type.kind !== "primitive" || type.name !== "string" || !indexing.includes("index"))
    throw invalidArgument(`'${name}' has no words that could be searched: declare it as text()`);
  if (typeof value !== "string") throw invalidArgument(`'${name}' is searched for a text, not for ${excerpt(value)}`);
  return conditions["contains"]?.(value) as Condition;
}

/** A value as an error names it. */
export function excerpt(value: unknown): string {
  const text = typeof value === "bigint" ? `${value}n` : JSON.stringify(value);
  return (text ?? String(value)).slice(0, 60);
}
