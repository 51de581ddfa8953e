/** Filters of Mastra and LangChain, which are written as those of MongoDB, as conditions. What is not supported is refused by name. */
import { type AnySchema, allOf, anyOf, type Condition, invalidArgument, not } from "@brooklet/client";
import { type Comparison, comparisonCondition, excerpt } from "./comparison.ts";
import { unsupportedError } from "./documents.ts";

/** A filter: values and operators by the names of fields, `$and`, `$or`, `$nor` and `$not`. */
export type ObjectFilter = Readonly<Record<string, unknown>> | null | undefined;

const COMPARISONS: Readonly<Record<string, Comparison>> = {
  $eq: "is",
  $ne: "isNot",
  $gt: "gt",
  $gte: "ge",
  $lt: "lt",
  $lte: "le",
  $in: "in",
  $nin: "notIn",
  $all: "all",
};
/** Operators within operators at most. */
const DEPTH_MAX = 20;
const PARTS_MAX = 1_000;

/** The condition that a filter means; nothing where it says nothing. */
export function objectCondition(schema: AnySchema, filter: ObjectFilter): Condition | undefined {
  if (filter === undefined || filter === null) return undefined;
  const left = { parts: PARTS_MAX };
  return isPlain(filter) && Object.keys(filter).length === 0 ? undefined : conditionOf(schema, filter, DEPTH_MAX, left);
}

function conditionOf(schema: AnySchema, filter: unknown, depth: number, left: { parts: number }): Condition {
  if (!isPlain(filter)) throw invalidArgument(`a filter is an object of fields and operators, not ${excerpt(filter)}`);
  if (depth === 0) throw invalidArgument(`a filter has operators within operators: ${DEPTH_MAX} at most`);
  const parts = Object.entries(filter).map(([key, value]) => {
    left.parts -= 1;
    if (left.parts < 0) throw invalidArgument(`a filter has ${PARTS_MAX} parts at most`);
    const all = (): Condition[] => {
      if (!Array.isArray(value) || value.length === 0)
        throw invalidArgument(`'${key}' of a filter takes a list of filters, not ${excerpt(value)}`);
      return value.map((one) => conditionOf(schema, one, depth - 1, left));
    };
    if (key === "$and") return allOf(...all());
    if (key === "$or") return anyOf(...all());
    if (key === "$nor") return not(anyOf(...all()));
    if (key === "$not") return not(conditionOf(schema, value, depth - 1, left));
    if (key.startsWith("$"))
      throw unsupportedError(`'${key}' is no operator of a filter: $and, $or, $nor and $not are`);
    return fieldCondition(schema, key, value, depth - 1);
  });
  if (parts.length === 0)
    throw invalidArgument("a part of a filter is empty: leave it out, or give a field and a value");
  return allOf(...parts);
}

function fieldCondition(schema: AnySchema, name: string, value: unknown, depth: number): Condition {
  if (Array.isArray(value)) return comparisonCondition(schema, name, "in", value);
  if (!isPlain(value)) return comparisonCondition(schema, name, "is", value);
  const operators = Object.entries(value);
  if (operators.length === 0)
    throw invalidArgument(`'${name}' of a filter is an empty object: give a value or an operator`);
  if (depth === 0) throw invalidArgument(`a filter has operators within operators: ${DEPTH_MAX} at most`);
  return allOf(
    ...operators.map(([operator, operand]) => {
      if (operator === "$not") return not(fieldCondition(schema, name, operand, depth - 1));
      const comparison = Object.hasOwn(COMPARISONS, operator) ? COMPARISONS[operator] : undefined;
      if (comparison === undefined)
        throw unsupportedError(
          `'${operator}' of '${name}' is not supported: ${Object.keys(COMPARISONS).join(", ")} and $not are`,
        );
      return comparisonCondition(schema, name, comparison, operand);
    }),
  );
}

/**
 * Whether it is an object of names and values: a map, a promise or an expression has none, nor has one that inherits them, and would be
 * no filter at all. What comes from another realm is one, too.
 */
export function isPlain(value: unknown): value is Readonly<Record<string, unknown>> {
  if (Object.prototype.toString.call(value) !== "[object Object]") return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}
