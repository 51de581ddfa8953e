/** Fields of values that schema files have no type for: one of some texts, any JSON, integers beyond what a number holds. */
import type { Condition } from "../condition.ts";
import { invalidArgument, refuseUnknown, unexpectedAnswer } from "../error.ts";
import type { TermOptions } from "../operator.ts";
import { type Problem, values as valuesOf } from "./check.ts";
import type { Codec } from "./codec.ts";
import { type Field, makeField, type Plain } from "./field.ts";
import type { OrderConditions } from "./field-condition.ts";

/** Conditions on a field of few values. */
export interface ChoiceConditions<Value extends string> {
  /** Is this value. */
  is(value: Value, options?: TermOptions): Condition;
  /** Is one of these values. */
  in(values: readonly Value[]): Condition;
}

/**
 * A text that is one of these, which is a union to the type checker. Any other is refused when it is put, by the server too, whoever
 * asks: the schema that is deployed lists them (a Vespa takes the list, and refuses nothing). What was stored before a value was
 * taken out is read as it stands, and `task.zod` says what is wrong with it.
 *
 * @example
 * ```ts
 * const task = schema("task", { title: text(), state: oneOf("open", "done") });
 * await alice.put(task, "t1", { title: "Write", state: "open" });
 * await alice.search(task, { where: (it) => it.state.is("open") });
 * ```
 */
export function oneOf<const Values extends readonly [string, ...string[]]>(
  ...values: Values
): Plain<"sortable", Values[number], ChoiceConditions<Values[number]>> {
  const known: ReadonlySet<unknown> = new Set(values);
  const wrong = values.find((value) => typeof value !== "string" || value === "");
  if (values.length === 0 || wrong !== undefined || known.size < values.length)
    throw invalidArgument("oneOf takes texts, each once and none of them empty: oneOf('open', 'done')");
  // Conditions take upper and lower case for the same.
  if (new Set(values.map((value) => value.toLowerCase())).size < values.length)
    throw invalidArgument("two values of oneOf differ by case alone: searches could not tell them apart");
  const expected = `expected one of ${values.map((value) => `'${value}'`).join(", ")}`;
  const codec: Codec = {
    zod: valuesOf((value) => (known.has(value) ? undefined : `${expected}, got ${excerpt(value)}`)),
    encode: (value) => value,
    // One document that says something else must not keep a search from answering.
    decode: (json) => {
      if (typeof json !== "string") throw unexpectedAnswer(`${expected}, got ${excerpt(json)}`);
      return json;
    },
  };
  const settings = ["match: word", "rank: filter"];
  const type = { kind: "primitive", name: "string" } as const;
  return makeField({ type, indexing: ["summary", "attribute"], settings, values }, codec);
}

/** Conditions on integers of 64 bits. */
export interface BigintConditions extends OrderConditions<bigint> {
  /** Is one of these values. */
  in(values: readonly bigint[]): Condition;
}

const INT64_MAX = 2n ** 63n - 1n;

/**
 * An integer of 64 bits, exactly: a `bigint`. The least one, -2^63, stands for no value in the engine, and is refused.
 *
 * @example
 * ```ts
 * const event = schema("event", { sequence: bigint() });
 * await alice.put(event, "e1", { sequence: 9_007_199_254_740_993n });
 * await alice.search(event, { where: (it) => it.sequence.gt(9_007_199_254_740_992n) });
 * ```
 */
export function bigint(): Plain<"sortable", bigint, BigintConditions> {
  const type = { kind: "primitive", name: "long" } as const;
  return makeField({ type, indexing: ["summary", "attribute"], settings: [], isExact: true }, BIGINT);
}

const BIGINT: Codec = {
  zod: valuesOf((value) =>
    typeof value === "bigint" && value >= -INT64_MAX && value <= INT64_MAX
      ? undefined
      : `expected a bigint from ${-INT64_MAX} to ${INT64_MAX}, got ${excerpt(value)}`,
  ),
  // A text of digits is an integer to the server, and keeps those that a number of JavaScript would round.
  encode: (value) => (Number.isSafeInteger(Number(value)) ? Number(value) : String(value)),
  decode: (json) => {
    if (Number.isSafeInteger(json) || (typeof json === "string" && /^-?\d{1,19}$/.test(json)))
      return BigInt(json as number | string);
    throw unexpectedAnswer(`expected an integer of 64 bits, got ${excerpt(json)}`);
  },
};

/** A validator as its libraries share them (zod, valibot, arktype): https://standardschema.dev. */
export interface Validator<Input = unknown, Output = Input> {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => unknown;
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
  };
}

/** A field of JSON. */
export type JsonField<Output, Input = Output> = Field<{
  readonly kind: "json";
  readonly output: Output;
  readonly input: Input;
  readonly optional: false;
  readonly inHits: true;
  readonly conditions: unknown;
}>;

/** What values of JSON have to be. */
export interface JsonOptions<Input, Output> {
  /** Checks what is put, and makes of what is stored what is read: a zod schema, or of another library that shares its interface. */
  readonly schema: Validator<Input, Output>;
}

/**
 * Any JSON, stored whole and returned, and not searched. With a validator values are checked when they are put; they are
 * stored as they were given, and go through it when they are read, so that its defaults and changes apply to all there are.
 *
 * @example
 * ```ts
 * const page = schema("page", { body: text(), meta: json<{ source: string; pages?: number }>() });
 * await alice.put(page, "p1", { body: "Hello", meta: { source: "scan", pages: 3 } });
 * ```
 */
export function json<Value = unknown>(): JsonField<Value>;
export function json<Input, Output>(options: JsonOptions<Input, Output>): JsonField<Output, Input>;
export function json(options?: JsonOptions<unknown, unknown>): JsonField<unknown> {
  if (options !== undefined) refuseUnknown("json", options, ["schema"]);
  const validator = options?.schema;
  if (validator !== undefined && typeof validator?.["~standard"]?.validate !== "function")
    throw invalidArgument("the schema of json() is no validator: give one of zod, or of a library with '~standard'");
  const codec: Codec = {
    zod: valuesOf(
      (value) => jsonProblem(value) ?? (validator === undefined ? undefined : validate(validator, value).problem),
      "unknown",
    ),
    encode: (value) => JSON.stringify(value),
    decode: (stored) => {
      const value = parseStored(stored);
      if (validator === undefined) return value;
      const { problem, value: read } = validate(validator, value);
      if (problem === undefined) return read;
      throw unexpectedAnswer(`${["stored JSON", ...problem.path].join(".")}: ${problem.message}`);
    },
  };
  return makeField({ type: { kind: "primitive", name: "string" }, indexing: ["summary"], settings: [] }, codec);
}

interface Issue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[];
}

function validate(validator: Validator, value: unknown): { readonly problem?: Problem; readonly value?: unknown } {
  const result = validator["~standard"].validate(value) as {
    readonly value?: unknown;
    readonly issues?: readonly Issue[];
  };
  if (result instanceof Promise)
    return { problem: { message: "its validator answers later (async): give one that answers at once", path: [] } };
  const [first] = result.issues ?? [];
  if (first === undefined) return { value: result.value };
  const path = (first.path ?? []).map((part) => String(typeof part === "object" ? part.key : part));
  return { problem: { message: first.message, path } };
}

/** How deep JSON may be: what is in itself has no end. */
const DEPTH_MAX = 100;

/** What of a value JSON does not keep as it is; nothing if it keeps all of it. */
function jsonProblem(value: unknown, path: (string | number)[] = []): Problem | undefined {
  if (value === null || typeof value === "string" || typeof value === "boolean") return undefined;
  if (typeof value === "number" && Number.isFinite(value)) return undefined;
  if (path.length > DEPTH_MAX) return { message: `is more than ${DEPTH_MAX} levels deep`, path: path.slice(0, 3) };
  if (Array.isArray(value)) return firstProblem(value.entries(), path);
  if (isPlain(value)) {
    const set = Object.entries(value).filter(([, member]) => member !== undefined);
    return firstProblem(set, path);
  }
  return { message: `${excerpt(value)} is nothing that JSON keeps`, path };
}

function firstProblem(
  members: Iterable<readonly [string | number, unknown]>,
  path: (string | number)[],
): Problem | undefined {
  for (const [key, member] of members) {
    const problem = jsonProblem(member, [...path, key]);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function isPlain(value: unknown): value is object {
  if (typeof value !== "object" || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return (prototype === null || prototype === Object.prototype) && !("toJSON" in value);
}

function parseStored(stored: unknown): unknown {
  try {
    return JSON.parse(stored as string);
  } catch {
    throw unexpectedAnswer(`expected JSON, got ${excerpt(stored)}`);
  }
}

const SHOWN_MAX = 60;

/** A value in a sentence. */
function excerpt(value: unknown): string {
  if (typeof value === "bigint") return `${value}n`;
  if (typeof value === "number" || value === undefined) return String(value);
  if (typeof value === "string") return `'${value.slice(0, SHOWN_MAX)}'`;
  if (typeof value === "function") return "a function";
  if (value instanceof Date) return "a Date";
  return typeof value === "object" && value !== null ? `a ${value.constructor?.name ?? "value"}` : String(value);
}
