/** Random operations on documents of `test/history.test.ts`: what is sent, and what it makes of a document. */
import type { Operation, State } from "./linearizable.ts";

/** The fields of a document. */
interface Fields {
  readonly n?: number;
  readonly list?: readonly number[];
}

/** A document that is not there. */
export const ABSENT: State = "absent";

/** A request, and what it does to a document. */
export interface Write {
  readonly method: "POST" | "PUT" | "DELETE";
  /** Parameters and their values, which are not encoded. */
  readonly parameters: Readonly<Record<string, string>>;
  readonly body?: unknown;
  /** What the document is afterwards; nothing if its condition is not fulfilled. */
  readonly apply: (state: State) => State | undefined;
}

/** A number below `bound`. */
export type Random = (bound: number) => number;

/** mulberry32: small, and the same everywhere. */
export function randomFrom(seed: number): Random {
  let state = seed;
  return (bound) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * bound);
  };
}

/** What a document with these fields is. */
export function stateOf({ n, list }: Fields): State {
  return JSON.stringify({ ...(n !== undefined && { n }), ...(list !== undefined && list.length > 0 && { list }) });
}

function fieldsOf(state: State): Fields {
  return JSON.parse(state) as Fields;
}

/** A condition in the language of selections, and whether a document that is there fulfils it. */
export interface Condition {
  readonly selection: string;
  readonly holds: (state: State) => boolean;
}

/** A condition that some documents fulfil. */
export function randomCondition(random: Random): Condition {
  const wanted = random(6);
  const number = (state: State): number | undefined => fieldsOf(state).n;
  const conditions: readonly Condition[] = [
    { selection: `note.n == ${wanted}`, holds: (state) => number(state) === wanted },
    { selection: `note.n != ${wanted}`, holds: (state) => number(state) !== wanted },
    { selection: `note.n >= ${wanted}`, holds: (state) => (number(state) ?? Number.NEGATIVE_INFINITY) >= wanted },
    { selection: "note.n == null", holds: (state) => number(state) === undefined },
    { selection: `note.list == ${wanted}`, holds: (state) => (fieldsOf(state).list ?? []).includes(wanted) },
  ];
  return conditions[random(conditions.length)] as Condition;
}

/** The fields of an update, and what it makes of those of a document. */
export interface Change {
  readonly fields: Readonly<Record<string, unknown>>;
  readonly change: (before: Fields) => Fields;
}

/** A change of one or two fields. */
export function randomChange(random: Random): Change {
  const value = random(6);
  const changes: readonly Change[] = [
    { fields: { n: { increment: 1 } }, change: ({ n = 0, ...rest }) => ({ ...rest, n: n + 1 }) },
    { fields: { n: { decrement: 1 } }, change: ({ n = 0, ...rest }) => ({ ...rest, n: n - 1 }) },
    { fields: { n: { assign: value } }, change: (before) => ({ ...before, n: value }) },
    { fields: { n: { assign: null } }, change: ({ n: _, ...rest }) => rest },
    {
      // The last of a list that nothing shortens tells orders apart that a number does not.
      fields: { list: { add: [value] } },
      change: ({ list = [], ...rest }) => ({ ...rest, list: [...list, value] }),
    },
    {
      fields: { list: { remove: [value] }, n: { increment: 2 } },
      change: ({ n = 0, list = [] }) => ({ n: n + 2, list: list.filter((of) => of !== value) }),
    },
  ];
  return changes[random(changes.length)] as Change;
}

/** A put, an update or a remove, conditional or not. */
export function randomWrite(random: Random): Write {
  const condition = random(2) === 0 ? randomCondition(random) : undefined;
  const create = random(3) === 0;
  const asked = condition === undefined ? {} : { condition: condition.selection };
  const fulfils = (state: State, made: boolean): boolean =>
    condition === undefined || (state === ABSENT ? made : condition.holds(state));
  const kind = random(10);
  if (kind < 3) {
    const fields: Fields = { n: random(6), ...(random(2) === 0 && { list: [random(6)] }) };
    const parameters = { ...asked, ...(create && { create: "true" }) };
    const apply = (state: State): State | undefined => (fulfils(state, create) ? stateOf(fields) : undefined);
    return { method: "POST", parameters, body: { fields }, apply };
  }
  if (kind < 5) {
    return {
      method: "DELETE",
      parameters: asked,
      apply: (state) => (fulfils(state, false) ? ABSENT : undefined),
    };
  }
  const { fields, change } = randomChange(random);
  const apply = (state: State): State | undefined => {
    if (!fulfils(state, create)) return undefined;
    if (state === ABSENT && !create) return ABSENT;
    return stateOf(change(state === ABSENT ? {} : fieldsOf(state)));
  };
  return { method: "PUT", parameters: { ...asked, ...(create && { create: "true" }) }, body: { fields }, apply };
}

/** A write that was answered: done (200), or refused because of its condition (412). Not answered: either, or neither. */
export function written(about: string, { apply }: Write, status?: number): Operation {
  const told = `${about}: ${status ?? "not answered"}`;
  if (status === undefined) return { about: told, outcomes: (state) => [state, apply(state) ?? state] };
  if (status === 200) return { about: told, outcomes: (state) => [apply(state) ?? []].flat() };
  return { about: told, reads: true, outcomes: (state) => (apply(state) === undefined ? [state] : []) };
}

/** That a document was found to be as `is` says. */
export function seen(about: string, is: (state: State) => boolean): Operation {
  return { about, reads: true, outcomes: (state) => (is(state) ? [state] : []) };
}

/**
 * An operation by selection, seen from one document: it happens if the document is selected at that moment. One that
 * was not answered may not have come to it.
 */
export function appliedWhere(
  about: string,
  condition: Condition,
  change: Change["change"] | undefined,
  isAnswered: boolean,
): Operation {
  return {
    about: isAnswered ? about : `${about}: not answered`,
    outcomes: (state) => {
      if (state === ABSENT || !condition.holds(state)) return [state];
      const after = change === undefined ? ABSENT : stateOf(change(fieldsOf(state)));
      return isAnswered ? [after] : [state, after];
    },
  };
}
