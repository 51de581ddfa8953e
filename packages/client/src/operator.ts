/** The operators of the query language that stand for themselves, and the words, phrases and annotations they are made of. */
import { Clause, textOfClause } from "./clause.ts";
import { Condition, joined, literal } from "./condition.ts";
import { demandKind, invalidArgument } from "./error.ts";

/** What may be said of a word beside the word itself. */
export interface TermOptions {
  /** How much it counts in ranking, per cent; 100 by default. */
  readonly weight?: number;
  /** Whether ranking may know of it at all. */
  readonly ranked?: boolean;
  /** Whether it only filters: it is not marked in what hits show. */
  readonly filter?: boolean;
  /** The name ranking asks for it by. */
  readonly label?: string;
  /** A number for other words to be connected to. */
  readonly id?: number;
  /** The word it belongs together with, and how strongly, 0 to 1. */
  readonly connectivity?: { readonly id: number; readonly weight: number };
  /** How rare it is, 0 to 1, instead of what the group says. */
  readonly significance?: number;
  readonly stem?: boolean;
  readonly normalizeCase?: boolean;
  readonly accentDrop?: boolean;
  readonly language?: string;
}

/** Which part of a word is meant. */
export interface WordOptions extends TermOptions {
  readonly part?: "prefix" | "suffix" | "substring";
}

/** A word, a phrase, or words that mean the same: what `phrase`, `near` and `equiv` are made of. `String(…)` gives its YQL. */
export class Term extends Clause<"term"> {
  /** @internal Terms are made by `word`, `phrase`, `equiv` and `alternatives`. */
  constructor(yql: string) {
    super("term", yql);
  }
}

type AnnotationValue = string | number | boolean | readonly number[] | { readonly [name: string]: number } | undefined;

/** @internal An expression with what is said of it; nothing that is not said is written. */
export function annotate(expression: string, options: object = {}): string {
  const said = Object.entries(options as Record<string, AnnotationValue>).filter(([, value]) => value !== undefined);
  if (said.length === 0) return expression;
  const wrong = said.find(([name]) => !/^[A-Za-z.]+$/.test(name));
  if (wrong !== undefined) throw invalidArgument(`${JSON.stringify(wrong[0])} cannot be said of a condition`);
  return `({${said.map(([name, value]) => `${name}: ${annotation(value)}`).join(", ")}}${expression})`;
}

function annotation(value: AnnotationValue): string {
  if (Array.isArray(value)) return `[${value.map(literal).join(", ")}]`;
  if (typeof value !== "object") return literal(value as string | number | boolean);
  return `{${Object.entries(value)
    .map(([name, number]) => `${name}: ${literal(number)}`)
    .join(", ")}}`;
}

/**
 * A word with what is said of it.
 *
 * @example
 * ```ts
 * await alice.search(mail, { where: (it) => it.subject.contains(word("invoice", { weight: 200 })) });
 * ```
 */
export function word(text: string, options: WordOptions = {}): Term {
  if (text === "") throw invalidArgument("a word may not be empty");
  const { part, ...others } = options;
  return new Term(annotate(literal(text), part === undefined ? others : { [part]: true, ...others }));
}

/**
 * Words side by side, in this order.
 *
 * @example
 * ```ts
 * await alice.search(mail, { where: (it) => it.body.contains(phrase("paid", "back")) });
 * ```
 */
export function phrase(...words: readonly (string | Term)[]): Term {
  return new Term(`phrase(${terms("a phrase", words, 1)})`);
}

/**
 * Words and phrases that mean the same: ranking takes them for one.
 *
 * @example
 * ```ts
 * await alice.search(mail, { where: (it) => it.body.contains(equiv("car", "automobile")) });
 * ```
 */
export function equiv(...words: readonly (string | Term)[]): Term {
  return new Term(`equiv(${terms("equiv", words, 2)})`);
}

/**
 * Forms of one word with how good each is, 0 to 1.
 *
 * @example
 * ```ts
 * await alice.search(mail, { where: (it) => it.body.contains(alternatives({ paid: 1, pay: 0.7 })) });
 * ```
 */
export function alternatives(words: Readonly<Record<string, number>>): Term {
  demandKind("alternatives", words, "an object");
  const entries = Object.entries(words).map(([form, exactness]) => `${literal(form)}: ${fraction(exactness)}`);
  if (entries.length === 0) throw invalidArgument("alternatives need words");
  return new Term(`alternatives({${entries.join(", ")}})`);
}

/** A number that YQL takes for one with a fraction. */
function fraction(value: number): string {
  const text = literal(value);
  return text.includes(".") ? text : `${text.replace(/L$/, "")}.0`;
}

/** @internal Words as arguments. */
export function terms(what: string, words: readonly (string | Term)[], least: number): string {
  demandKind(what, words, "a list");
  if (words.length < least) throw invalidArgument(`${what} needs ${least === 1 ? "words" : `${least} words at least`}`);
  return words.map(termText).join(", ");
}

/** @internal A word or a term in a condition: nothing else becomes part of it. */
export function termText(given: string | Term): string {
  return typeof given === "string" ? String(word(given)) : textOfClause("term", "a word", given);
}

/**
 * The first decides what matches; the others only tell ranking more.
 *
 * @example
 * ```ts
 * await alice.search(mail, { where: (it) => rank(it.isUnread.is(true), it.body.contains("invoice")) });
 * ```
 */
export function rank(first: Condition, ...others: readonly Condition[]): Condition {
  return new Condition(`rank(${joined("rank", [first, ...others])})`);
}

/**
 * Any of these, with leave to skip documents that would rank low; a scan skips none.
 *
 * @example
 * ```ts
 * await alice.search(mail, { where: (it) => weakAnd([it.body.contains("rent"), it.body.contains("may")]) });
 * ```
 */
export function weakAnd(
  conditions: readonly Condition[],
  options: { readonly targetHits?: number; readonly totalTargetHits?: number } = {},
): Condition {
  demandKind("weakAnd", conditions, "a list");
  if (conditions.length === 0) throw invalidArgument("weakAnd needs conditions");
  return new Condition(annotate(`weakAnd(${joined("weakAnd", conditions)})`, options));
}

/**
 * What the condition says; refused if there is nothing in it to search for.
 *
 * @example
 * ```ts
 * await alice.search(mail, { where: nonEmpty(userInput("invoice")) });
 * ```
 */
export function nonEmpty(condition: Condition): Condition {
  return new Condition(`nonEmpty(${joined("nonEmpty", [condition])})`);
}

/**
 * What the condition says, with a fixed raw score that ranking finds under a label.
 *
 * @example
 * ```ts
 * await alice.search(mail, { where: (it) => labeled(it.sender.is("boss@x.org"), "boss", 10) });
 * ```
 */
export function labeled(condition: Condition, label: string, score: number): Condition {
  return new Condition(`labeled(${joined("labeled", [condition])}, ${literal(label)}, ${fraction(score)})`);
}

/** How a text that someone typed is read. */
export interface InputOptions extends Omit<TermOptions, "id" | "connectivity" | "significance"> {
  readonly grammar?: "weakAnd" | "all" | "any" | "web" | "phrase" | "tokenize" | "linguistics" | "raw" | "segment";
  /** The field or field set to look in; `default` by default. */
  readonly defaultIndex?: string;
  /** Whether a text with nothing to search for is no error. */
  readonly allowEmpty?: boolean;
  readonly targetHits?: number;
  readonly totalTargetHits?: number;
  readonly distance?: number;
}

/**
 * What someone typed, as a part of a condition. `search({ text })` is the shorter way where it is all there is.
 *
 * @example
 * ```ts
 * await alice.search(mail, { where: userInput("invoice may", { grammar: "all", defaultIndex: "subject" }) });
 * ```
 */
export function userInput(text: string, options: InputOptions = {}): Condition {
  return new Condition(annotate(`userInput(${literal(text)})`, options));
}

/**
 * The request's own `query`.
 *
 * @example
 * ```ts
 * await alice.searchYql(mail, `select * from mail where ${userQuery}`, { parameters: { query: "invoice" } });
 * ```
 */
export const userQuery: Condition = new Condition("userQuery()");
