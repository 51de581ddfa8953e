/**
 * The parameters of a URL or a form: name and value pairs in their order. Nothing is interpreted here but text; a route
 * asks for the ones it knows, and unknown ones are left alone.
 */
import { ServiceError } from "@brooklet/wire";
import { echo } from "./echo.ts";
import { decodeForm } from "./target.ts";

/** One name and its value. */
export type Parameter = readonly [name: string, value: string];

/** Decodes `a=1&b=2`. */
export function parseParameters(encoded: string, countMax: number): Parameter[] {
  if (encoded === "") return [];
  const pairs = encoded.split("&", countMax + 1);
  if (pairs.length > countMax) throw new ServiceError("BAD_REQUEST", `More than ${countMax} parameters (limit L-head)`);
  const parameters: Parameter[] = [];
  for (const pair of pairs) {
    if (pair === "") continue;
    const equals = pair.indexOf("=");
    if (equals < 0) parameters.push([decodeForm(pair), ""]);
    else parameters.push([decodeForm(pair.slice(0, equals)), decodeForm(pair.slice(equals + 1))]);
  }
  return parameters;
}

const UNIT_MS: Readonly<Record<string, number>> = { "": 1_000, ks: 1_000_000, s: 1_000, ms: 1, µs: 0.001 };

/** The parameters of `/document/v1`, read the way its handler reads them. */
export class DocumentParameters {
  readonly #all: readonly Parameter[];
  readonly #path: string;

  /** `path` is the raw path, for messages. */
  constructor(all: readonly Parameter[], path: string) {
    this.#all = all;
    this.#path = path;
  }

  /** The last value of a parameter. One that is present and empty is refused. */
  text(name: string): string | undefined {
    if (this.#all.length === 0) return undefined;
    const value = this.#all.findLast((parameter) => parameter[0] === name)?.[1];
    if (value === "") {
      throw new ServiceError("BAD_REQUEST", `Expected non-empty value for request property '${name}'`);
    }
    return value;
  }

  /** Like `text`, for a parameter that decides whose documents are meant: two different values are refused. */
  unambiguous(name: string): string | undefined {
    const values = new Set(this.#all.filter((parameter) => parameter[0] === name).map((parameter) => parameter[1]));
    if (values.size > 1) throw new ServiceError("BAD_REQUEST", `Conflicting values of request property '${name}'`);
    return this.text(name);
  }

  /** The value of a parameter that was given once, even an empty one; else nothing. */
  only(name: string): string {
    if (this.#all.length === 0) return "";
    const given = this.#all.filter((parameter) => parameter[0] === name);
    return given.length === 1 ? (given[0]?.[1] ?? "") : "";
  }

  /** True only for `true`, in any case: `yes` and `1` are false. */
  flag(name: string): boolean {
    return this.choice(name) === true;
  }

  /** Like `flag`; nothing if it is not given. */
  choice(name: string): boolean | undefined {
    const value = this.text(name);
    return value === undefined ? undefined : value.toLowerCase() === "true";
  }

  /** A whole number within bounds. */
  integer(name: string, bounds: { readonly min: number; readonly max: number }): number | undefined {
    const value = this.text(name);
    if (value === undefined) return undefined;
    const number = /^[+-]?\d{1,15}$/.test(value) ? Number(value) : Number.NaN;
    if (number >= bounds.min && number <= bounds.max) return number;
    throw unparsable(value, `expected a number from ${bounds.min} to ${bounds.max}`);
  }

  /** A whole number of 64 bits without a sign. */
  unsigned(name: string): bigint | undefined {
    const value = this.text(name);
    if (value === undefined) return undefined;
    if (value.startsWith("-")) throw unparsable(value, `Illegal leading minus sign on unsigned string ${echo(value)}.`);
    if (!/^\+?\d{1,40}$/.test(value)) throw unparsable(value, `For input string: "${echo(value)}"`);
    const number = BigInt(value.replace("+", ""));
    if (number < 2n ** 64n) return number;
    throw unparsable(value, `String value ${echo(value)} exceeds range of unsigned long.`);
  }

  /** A whole number of at least one; others are refused by name, with the number cut to `max`. */
  positive(name: string, max: number): number | undefined {
    const value = this.text(name);
    if (value === undefined) return undefined;
    const number = /^[+-]?\d{1,10}$/.test(value) ? Number(value) : Number.NaN;
    if (!(Math.abs(number) < 2 ** 31)) throw unparsable(value, `For input string: "${echo(value)}"`);
    if (number < 1) throw new ServiceError("BAD_REQUEST", `${name} must be positive`);
    return Math.min(number, max);
  }

  /** A time span: a number with the unit `ks`, `s`, `ms` or `µs`; without one it means seconds. */
  timeSpanMs(name: string): number | undefined {
    const value = this.text(name);
    return value === undefined ? undefined : timeSpanMs(value);
  }

  /** Whether what was known a moment ago is enough, where several servers share what is stored. */
  isEventual(): boolean {
    const said = this.text("consistency");
    if (said === undefined || said === "strict" || said === "eventual") return said === "eventual";
    throw new ServiceError("BAD_REQUEST", `consistency must be 'strict' or 'eventual', not '${echo(said)}'`);
  }

  /** Refuses parameters that mean nothing here, empty ones too. */
  forbid(...names: readonly string[]): void {
    for (const name of names) {
      if (this.#all.some((parameter) => parameter[0] === name)) throw this.#refusal("May not", name);
    }
  }

  /** Demands a parameter. */
  demand(name: string): string {
    const value = this.text(name);
    if (value === undefined) throw this.#refusal("Must", name);
    return value;
  }

  #refusal(verb: "May not" | "Must", name: string): ServiceError {
    return new ServiceError("BAD_REQUEST", `${verb} specify '${name}' at '${echo(this.#path)}'`);
  }
}

const TIME_SPAN = /^\s*(\+?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*(ks|s|ms|µs)?\s*$/;

/** Whether a text is a time span. */
export function isTimeSpan(text: string): boolean {
  return TIME_SPAN.test(text.replace("μ", "µ"));
}

/** The milliseconds of a time span. */
export function timeSpanMs(text: string): number {
  const [, number, unit = ""] = TIME_SPAN.exec(text.replace("μ", "µ")) ?? [];
  const unitMs = UNIT_MS[unit];
  if (number === undefined || unitMs === undefined) throw unparsable(text, "Invalid number or unit of time");
  return Number(number) * unitMs;
}

function unparsable(value: string, reason: string): ServiceError {
  return new ServiceError("BAD_REQUEST", `Failed parsing '${echo(value)}': ${reason}`);
}
