/** What documents have to fulfil, as YQL. Conditions are values: they are combined, printed, and used again. */
import { Clause, textOfClause } from "./clause.ts";
import { excerpt, invalidArgument } from "./error.ts";

/**
 * A condition on documents. `String(…)` gives its YQL. Conditions are joined by their methods: to JavaScript's `&&`, `||`
 * and `!` each is simply true.
 *
 * @example
 * ```ts
 * const recent: Condition = mail.conditions.size.lt(1_000).and(mail.conditions.isUnread.is(true));
 * await alice.search(mail, { where: recent });
 * ```
 */
export class Condition extends Clause<"condition"> {
  /** @internal Conditions are made by the fields of a schema. */
  constructor(yql: string) {
    super("condition", yql);
  }

  /** This one and all the others. */
  and(...others: readonly Condition[]): Condition {
    return joinConditions("and", [this, ...others]);
  }

  /** This one or any of the others. */
  or(...others: readonly Condition[]): Condition {
    return joinConditions("or", [this, ...others]);
  }

  /** Whatever does not fulfil this one. */
  not(): Condition {
    return not(this);
  }
}

/**
 * Fulfilled by all documents.
 *
 * @example
 * ```ts
 * await alice.search(mail, { where: everything, orderBy: "sentAt desc" });
 * ```
 */
export const everything: Condition = new Condition("true");

/**
 * Fulfilled by none.
 *
 * @example
 * ```ts
 * const { totalCount } = await alice.search(mail, { where: nothing }); // 0
 * ```
 */
export const nothing: Condition = new Condition("false");

/**
 * All of these; of none, everything.
 *
 * @example
 * ```ts
 * const senders = ["a@x.org", "b@x.org"];
 * await alice.search(mail, { where: (it) => allOf(...senders.map((sender) => it.sender.is(sender).not())) });
 * ```
 */
export function allOf(...conditions: readonly Condition[]): Condition {
  return conditions.length === 0 ? new Condition(String(everything)) : joinConditions("and", conditions);
}

/**
 * Any of these; of none, nothing.
 *
 * @example
 * ```ts
 * await alice.search(mail, { where: (it) => anyOf(it.sender.is("a@x.org"), it.isUnread.is(true)) });
 * ```
 */
export function anyOf(...conditions: readonly Condition[]): Condition {
  return conditions.length === 0 ? new Condition(String(nothing)) : joinConditions("or", conditions);
}

/**
 * Not this one.
 *
 * @example
 * ```ts
 * await alice.search(mail, { where: (it) => not(it.sender.is("a@x.org")) });
 * ```
 */
export function not(condition: Condition): Condition {
  return new Condition(`!(${joined("not", [condition])})`);
}

function joinConditions(operator: "and" | "or", conditions: readonly Condition[]): Condition {
  const [first] = conditions;
  const text = joined(operator, conditions, ` ${operator} `);
  return first !== undefined && conditions.length === 1 ? first : new Condition(`(${text})`);
}

/** @internal The texts of conditions: nothing else becomes part of one. */
export function joined(place: string, conditions: readonly Condition[], separator = ", "): string {
  return conditions.map((it) => textOfClause("condition", `what ${place} takes`, it)).join(separator);
}

/** Values that can be compared with. */
export type Literal = string | number | bigint | boolean;

const INT32_MAX = 2 ** 31 - 1;

/**
 * A value in YQL. Texts are quoted and escaped (YQL's escapes are JSON's), so that nothing in them can be taken for
 * YQL.
 */
export function literal(value: Literal): string {
  if (typeof value === "bigint") return `${value}L`;
  if (typeof value === "string" || typeof value === "boolean") return JSON.stringify(value);
  if (typeof value !== "number") throw invalidArgument(`${excerpt(value)} cannot be compared with`);
  if (!Number.isFinite(value)) throw invalidArgument(`${value} cannot be compared with: give a finite number`);
  if (Number.isInteger(value) && Math.abs(value) <= Number.MAX_SAFE_INTEGER) {
    return Math.abs(value) > INT32_MAX ? `${value}L` : String(value);
  }
  // An exponent is only read after a fraction.
  return String(value).replace(/^(-?\d+)e/, "$1.0e");
}
