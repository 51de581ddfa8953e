/**
 * Checks of what callers give, with zod's messages and in zod's form, and without zod: its code is many times that of a
 * client. What asks for a zod schema can be given one of these (docs/decisions/0059). What becomes of a checked value is in
 * `codec.ts`.
 */

/** What is wrong with a value, as zod says it. */
export interface CheckIssue {
  readonly code: string;
  readonly message: string;
  readonly path: PropertyKey[];
  /** Of members that there are not: their names. */
  readonly keys?: readonly string[];
}

/** The error of `parse`. */
export class CheckError extends Error {
  override readonly name = "CheckError";
  readonly issues: readonly CheckIssue[];

  constructor(issues: readonly CheckIssue[]) {
    super(issues.map(({ path, message }) => [...path.map(String), message].join(": ")).join("; "));
    this.issues = issues;
  }
}

/** The outcome of a check. */
export type Checked<Value> =
  | { readonly success: true; readonly data: Value }
  | { readonly success: false; readonly error: CheckError };

/** The types of a check, where zod reads them; the members are for zod alone. */
interface CheckInternals<Value> {
  readonly output: Value;
  readonly input: Value;
  readonly version: never;
  readonly def: never;
  readonly deferred: never;
  readonly run: never;
  readonly parse: never;
  readonly traits: Set<string>;
  readonly pattern: never;
  readonly constr: never;
  readonly bag: Record<string, unknown>;
  readonly isst: never;
  readonly values?: undefined;
  readonly propValues?: undefined;
  readonly optin?: undefined;
  readonly optout?: undefined;
}

type StandardResult<Value> =
  | { readonly value: Value; readonly issues?: undefined }
  | { readonly issues: readonly CheckIssue[] };

/** A check of values, which zod takes for one of its schemas, and others for one of https://standardschema.dev. */
export interface Check<out Value = unknown> {
  /** The value, if it is right; throws a `CheckError` otherwise. */
  parse(value: unknown): Value;
  /** The value, or what is wrong with it. */
  safeParse(value: unknown): Checked<Value>;
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    readonly types?: { readonly input: Value; readonly output: Value } | undefined;
    readonly validate: (value: unknown) => StandardResult<Value>;
  };
  /** @internal As zod looks at it. */
  readonly _zod: CheckInternals<Value>;
}

/** Finds what is wrong with a value. */
type Look = (value: unknown, issues: CheckIssue[]) => void;

/** What zod is told of a check, to describe it. */
interface Kind {
  readonly type: string;
  readonly [detail: string]: unknown;
}

class KindCheck implements Check {
  readonly look: Look;
  readonly #kind: Kind;
  readonly #bag: Record<string, unknown>;
  readonly isOptional: boolean;
  #internals: CheckInternals<unknown> | undefined;

  constructor(kind: Kind, look: Look, bag: Record<string, unknown> = {}, isOptional = false) {
    this.#kind = kind;
    this.look = look;
    this.#bag = bag;
    this.isOptional = isOptional;
  }

  parse(value: unknown): unknown {
    const checked = this.safeParse(value);
    if (checked.success) return checked.data;
    throw checked.error;
  }

  safeParse(value: unknown): Checked<unknown> {
    const issues = this.#issuesOf(value);
    return issues.length === 0 ? { success: true, data: value } : { success: false, error: new CheckError(issues) };
  }

  get "~standard"(): Check["~standard"] {
    const validate = (value: unknown): StandardResult<unknown> => {
      const issues = this.#issuesOf(value);
      return issues.length === 0 ? { value } : { issues };
    };
    // Whoever knows zod's schemas hands it to zod, which takes it.
    return { version: 1, vendor: "zod", validate };
  }

  /** What zod's own code reads of a schema, made when it does. */
  get _zod(): CheckInternals<unknown> {
    this.#internals ??= this.#described();
    return this.#internals;
  }

  #issuesOf(value: unknown): CheckIssue[] {
    const issues: CheckIssue[] = [];
    this.look(value, issues);
    return issues;
  }

  #described(): CheckInternals<unknown> {
    const run = (payload: { readonly value: unknown; readonly issues: unknown[] }): unknown => {
      payload.issues.push(...this.#issuesOf(payload.value));
      return payload;
    };
    const optional = this.isOptional ? { optin: "optional", optout: "optional" } : {};
    const traits = new Set(["$ZodType"]);
    return { def: this.#kind, bag: this.#bag, traits, run, parse: run, version: {}, ...optional } as never;
  }
}

function lookOf(check: Check): Look {
  return (check as KindCheck).look;
}

/** Adds that a value is of another type. */
function addType(issues: CheckIssue[], expected: string, value: unknown): void {
  const message = `Invalid input: expected ${expected}, received ${typeName(value)}`;
  issues.push({ code: "invalid_type", expected, path: [], message } as CheckIssue);
}

function typeName(value: unknown): string {
  if (typeof value === "number") return Number.isFinite(value) ? "number" : String(value);
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  if (typeof value !== "object" || Object.getPrototypeOf(value) === Object.prototype) return typeof value;
  return (value.constructor as object["constructor"] | undefined)?.name || "object";
}

/** Values for which a test is true. */
function typeCheck(type: string, isRight: (value: unknown) => boolean, expected: string = type): Check {
  return new KindCheck({ type }, (value, issues) => {
    if (!isRight(value)) addType(issues, expected, value);
  });
}

/** Texts. */
export function texts(): Check<string> {
  return typeCheck("string", (value) => typeof value === "string") as Check<string>;
}

/** Truth values. */
export function truths(): Check<boolean> {
  return typeCheck("boolean", (value) => typeof value === "boolean") as Check<boolean>;
}

/** Bytes. */
export function bytes(): Check<Uint8Array> {
  return typeCheck("custom", (value) => value instanceof Uint8Array, "Uint8Array") as Check<Uint8Array>;
}

/** Points in time; of some of them a sentence says what is wrong. */
export function dates(problemOf?: (date: Date) => string | undefined): Check<Date> {
  return new KindCheck({ type: "date" }, (value, issues) => {
    if (!(value instanceof Date) || Number.isNaN(value.getTime())) return addType(issues, "date", value);
    const message = problemOf?.(value);
    if (message !== undefined) issues.push({ code: "custom", path: [], message });
  }) as Check as Check<Date>;
}

/** Finite numbers, within bounds if there are some. */
export function numbers(minimum?: number, maximum?: number): Check<number> {
  return new KindCheck(
    { type: "number" },
    (value, issues) => {
      if (!Number.isFinite(value)) return addType(issues, "number", value);
      addBounds(issues, value as number, { origin: "number", minimum, maximum });
    },
    { minimum, maximum },
  ) as Check as Check<number>;
}

/** Integers within bounds, that a number holds exactly. */
export function integers(
  minimum: number = Number.MIN_SAFE_INTEGER,
  maximum: number = Number.MAX_SAFE_INTEGER,
  why?: string,
): Check<number> {
  return new KindCheck(
    { type: "number" },
    (value, issues) => {
      if (!Number.isFinite(value)) return addType(issues, "number", value);
      if (!Number.isInteger(value)) return addType(issues, "int", value);
      const bounds = Number.isSafeInteger(value)
        ? { origin: "number", minimum, maximum, why }
        : { origin: "int", minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER };
      addBounds(issues, value as number, bounds);
    },
    { format: "safeint", minimum, maximum },
  ) as Check as Check<number>;
}

interface Bounds {
  readonly origin: string;
  readonly minimum: number | undefined;
  readonly maximum: number | undefined;
  /** What is said of a value below, after its bound. */
  readonly why?: string | undefined;
}

function addBounds(issues: CheckIssue[], value: number, { origin, minimum, maximum, why = "" }: Bounds): void {
  const add = (code: string, words: string, bound: object, why = ""): void => {
    const message = words + Object.values(bound)[0] + why;
    issues.push({ origin, code, ...bound, inclusive: true, path: [], message } as CheckIssue);
  };
  if (minimum !== undefined && value < minimum)
    add("too_small", `Too small: expected ${origin} to be >=`, { minimum }, why);
  if (maximum !== undefined && value > maximum) add("too_big", `Too big: expected ${origin} to be <=`, { maximum });
}

/** What is wrong with a value of one's own kind, and where. */
export interface Problem {
  readonly message: string;
  readonly path: PropertyKey[];
}

/** Values of one's own kind: what is wrong with one is a sentence, or one with its place. */
export function values<Value>(
  problemOf: (value: unknown) => Problem | string | undefined,
  type: "custom" | "unknown" = "custom",
): Check<Value> {
  return new KindCheck({ type }, (value, issues) => {
    const problem = problemOf(value);
    if (problem === undefined) return;
    const { message, path } = typeof problem === "string" ? { message: problem, path: [] } : problem;
    issues.push({ code: "custom", message, path: [...path] });
  }) as Check as Check<Value>;
}

/** The same values, or none. */
export function orNone<Value>(check: Check<Value>): Check<Value | undefined> {
  const look = lookOf(check);
  const lookIfThere: Look = (value, issues) => {
    if (value !== undefined) look(value, issues);
  };
  return new KindCheck({ type: "optional", innerType: check }, lookIfThere, {}, true) as Check as Check<
    Value | undefined
  >;
}

/** What is wrong with a part, at its place. */
function lookAt(look: Look, key: PropertyKey, value: unknown, issues: CheckIssue[]): void {
  const before = issues.length;
  look(value, issues);
  for (let at = before; at < issues.length; at += 1) issues[at]?.path.unshift(key);
}

/** Lists of what `element` takes. */
export function lists<Value>(element: Check<Value>): Check<readonly Value[]> {
  const look = lookOf(element);
  return new KindCheck({ type: "array", element }, (value, issues) => {
    if (!Array.isArray(value)) return addType(issues, "array", value);
    for (let at = 0; at < value.length; at += 1) lookAt(look, at, value[at], issues);
  }) as Check as Check<readonly Value[]>;
}

/** Objects with any keys, of which a test may refuse some. */
export function records<Value>(
  value: Check<Value>,
  isKey: (key: string) => boolean = () => true,
): Check<Readonly<Record<string, Value>>> {
  const look = lookOf(value);
  return new KindCheck({ type: "record", keyType: texts(), valueType: value }, (given, issues) => {
    if (!isPlain(given)) return addType(issues, "record", given);
    for (const key of Reflect.ownKeys(given)) {
      if (key === "__proto__" || !Object.prototype.propertyIsEnumerable.call(given, key)) continue;
      if (typeof key === "string" && isKey(key)) lookAt(look, key, (given as Record<string, unknown>)[key], issues);
      else
        issues.push({ code: "invalid_key", origin: "record", path: [key], message: "Invalid key in record" } as never);
    }
  }) as Check as Check<Readonly<Record<string, Value>>>;
}

function isPlain(value: unknown): value is object {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  const made: unknown = value.constructor;
  return typeof made !== "function" || Object.hasOwn(Object(made.prototype), "isPrototypeOf");
}

/** A member of an object, unless it is what every object inherits: fields may be named `constructor` or `toString`. */
export function memberOf(value: object, name: string): unknown {
  const member = value[name as never];
  return member === {}[name as never] ? undefined : member;
}

/** Objects with these members and no others. */
export function objects(shape: Readonly<Record<string, Check>>): Check<Readonly<Record<string, unknown>>> {
  const members = Object.entries(shape).map(([name, check]) => [name, lookOf(check)] as const);
  const kind = { type: "object", shape, catchall: { _zod: { def: { type: "never" }, traits: new Set(["$ZodType"]) } } };
  return new KindCheck(kind, (value, issues) => {
    if (typeof value !== "object" || value === null || Array.isArray(value)) return addType(issues, "object", value);
    for (const [name, look] of members) lookAt(look, name, memberOf(value, name), issues);
    const keys: string[] = [];
    for (const key in value) if (!Object.hasOwn(shape, key)) keys.push(key);
    if (keys.length === 0) return;
    const message = `Unrecognized key${keys.length > 1 ? "s" : ""}: ${keys.map((key) => `"${key}"`).join(", ")}`;
    issues.push({ code: "unrecognized_keys", keys, path: [], message });
  }) as Check as Check<Readonly<Record<string, unknown>>>;
}
