/** The conditions each type of field offers. A list, set or map fulfils a condition when one of its elements does. */

import { epochSeconds } from "./codec.ts";
import { Condition, type Literal, literal, nothing } from "./condition.ts";
import type { DataType } from "./data-type.ts";
import { invalidArgument } from "./error.ts";

/** Conditions on a searched text: on its words. */
export interface TextConditions {
  /** Has this word; of several words, has them side by side. */
  contains(words: string): Condition;
  /** Has these words side by side, in this order. */
  phrase(...words: readonly string[]): Condition;
  /** Has a word that begins so. */
  prefix(start: string): Condition;
  /** Has a word that ends so. */
  suffix(end: string): Condition;
  /** Has a word with this in it. */
  substring(part: string): Condition;
}

/** Conditions on a whole value. */
export interface StringConditions {
  /** Is this value; upper and lower case are the same. */
  is(value: string): Condition;
  /** Is one of these values. */
  in(values: readonly string[]): Condition;
  /** Begins so. */
  prefix(start: string): Condition;
}

/** Conditions on values that have an order. */
export interface OrderConditions<Value> {
  /** Is this value. */
  is(value: Value): Condition;
  /** Is less. */
  lt(bound: Value): Condition;
  /** Is less, or this value. */
  le(bound: Value): Condition;
  /** Is greater. */
  gt(bound: Value): Condition;
  /** Is greater, or this value. */
  ge(bound: Value): Condition;
  /** Lies between the two; both count. */
  between(low: Value, high: Value): Condition;
}

/** Conditions on integers. */
export interface IntegerConditions extends OrderConditions<number> {
  /** Is one of these values. */
  in(values: readonly number[]): Condition;
}

/** Conditions on truth values. */
export interface BoolConditions {
  /** Is this value. A document without the field is neither true nor false. */
  is(value: boolean): Condition;
}

/** Conditions on maps. */
export interface MapConditions<Key, Value> {
  readonly key: Key;
  readonly value: Value;
}

/** All that fields offer; which of it makes sense for a field is for the type checker. */
class FieldCondition {
  readonly #path: string;

  constructor(path: string) {
    this.#path = path;
  }

  contains(words: string): Condition {
    return this.#term(words);
  }

  phrase(...words: readonly string[]): Condition {
    if (words.length === 0) throw invalidArgument(`a phrase on '${this.#path}' needs words`);
    return new Condition(`${this.#path} contains phrase(${words.map(literal).join(", ")})`);
  }

  prefix(start: string): Condition {
    return this.#term(start, "{prefix: true}");
  }

  suffix(end: string): Condition {
    return this.#term(end, "{suffix: true}");
  }

  substring(part: string): Condition {
    return this.#term(part, "{substring: true}");
  }

  is(value: Literal | Date): Condition {
    return typeof value === "string" ? this.#term(value) : this.#compared("=", value);
  }

  in(values: readonly Literal[]): Condition {
    return values.length === 0 ? nothing : new Condition(`${this.#path} in (${values.map(literal).join(", ")})`);
  }

  lt(bound: number | Date): Condition {
    return this.#compared("<", bound);
  }

  le(bound: number | Date): Condition {
    return this.#compared("<=", bound);
  }

  gt(bound: number | Date): Condition {
    return this.#compared(">", bound);
  }

  ge(bound: number | Date): Condition {
    return this.#compared(">=", bound);
  }

  between(low: number | Date, high: number | Date): Condition {
    return new Condition(`range(${this.#path}, ${literal(plain(low))}, ${literal(plain(high))})`);
  }

  #term(text: string, annotation = ""): Condition {
    if (text === "") throw invalidArgument(`a condition on '${this.#path}' needs a text that is not empty`);
    const term = literal(text);
    return new Condition(`${this.#path} contains ${annotation === "" ? term : `(${annotation}${term})`}`);
  }

  #compared(operator: string, value: Literal | Date): Condition {
    return new Condition(`${this.#path} ${operator} ${literal(plain(value))}`);
  }
}

/** Dates are stored as seconds. */
function plain<Value extends Literal>(value: Value | Date): Value | number {
  return value instanceof Date ? epochSeconds(value) : value;
}

/** The conditions of a field at `path`, with those of its members below it. */
export function conditionsOf(path: string, type: DataType): object {
  switch (type.kind) {
    case "array":
    case "weightedset":
      return conditionsOf(path, type.element);
    case "map":
      return { key: conditionsOf(`${path}.key`, type.key), value: conditionsOf(`${path}.value`, type.value) };
    case "struct":
      return Object.fromEntries(
        Object.entries(type.struct.members).map(([name, member]) => [name, conditionsOf(`${path}.${name}`, member)]),
      );
    default:
      return new FieldCondition(path);
  }
}
