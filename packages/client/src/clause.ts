/**
 * What callers write piece by piece in a callback: conditions, selections, filters, terms. A piece that was made there and
 * is no part of what the callback gave back is an error: `a && b` compiles, and is `b`.
 */
import { excerpt, invalidArgument } from "./error.ts";

/** A clause is known by it, also one of another copy of this package. */
const MARKER: unique symbol = Symbol.for("brooklet.Clause");

/** What a callback has made and nothing has used yet. Callbacks stand in one another. */
interface Ledger {
  readonly unused: Set<Clause>;
  readonly outer: Ledger | undefined;
}

let ledger: Ledger | undefined;

/** A piece of a query, a selection or a grouping. It is used as soon as its text is taken. */
export abstract class Clause<out Kind extends string = string> {
  /** What it is to be used as. */
  readonly kind: Kind;
  readonly #text: string;

  /** @internal */
  constructor(kind: Kind, text: string) {
    this.kind = kind;
    this.#text = text;
    Object.defineProperty(this, MARKER, { value: true });
    ledger?.unused.add(this);
  }

  /** The text, in the language it is for. */
  toString(): string {
    for (let open = ledger; open !== undefined; open = open.outer) open.unused.delete(this);
    return this.#text;
  }
}

/** Runs a callback of the caller, and whatever takes the text of what it gives back. What is left over is an error. */
export function withoutLeftovers<Result>(place: string, work: () => Result): Result {
  const own: Ledger = { unused: new Set(), outer: ledger };
  ledger = own;
  let result: Result;
  try {
    result = work();
  } finally {
    ledger = own.outer;
  }
  const [leftover] = own.unused;
  if (leftover === undefined) return result;
  const what = `a ${leftover.kind} that is no part of what it gives back: ${leftover}`;
  throw invalidArgument(
    `${place} makes ${what}. Join with .and(), .or() and .not(): \`a && b\` is only b, and \`a || b\` only a`,
  );
}

/** The text of a clause that a callback writes. */
export function clauseText(kind: string, place: string, write: () => unknown): string {
  return withoutLeftovers(place, () => textOfClause(kind, place, write()));
}

/** The text of what has to be a clause of this kind: `false` and nothing at all are no conditions. */
export function textOfClause(kind: string, place: string, given: unknown): string {
  if (isClause(given) && given.kind === kind) return String(given);
  const what = given instanceof Promise ? "a promise" : excerpt(given);
  throw invalidArgument(`${place} is ${what}, which is no ${kind}: write one with the fields it is given`);
}

function isClause(given: unknown): given is Clause {
  return typeof given === "object" && given !== null && (given as { [MARKER]?: unknown })[MARKER] === true;
}
