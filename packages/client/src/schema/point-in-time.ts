/**
 * Points in time: a `Date` here, seconds since the epoch there. In a `double` they have their fraction, so that no
 * millisecond is lost; a `long` holds whole seconds, and what has a fraction is refused (docs/decisions/0035).
 */
import { invalidArgument, unexpectedAnswer } from "../error.ts";
import { dates } from "./check.ts";
import type { Codec } from "./codec.ts";
import type { DataType } from "./data-type.ts";

const MS_PER_SECOND = 1000;
/** A `Date` goes no farther from the epoch. */
const DATE_MAX_MS = 8.64e15;

/** The comparison of a value with a bound. */
export type Comparison = "=" | "<" | "<=" | ">" | ">=";

/** Seconds since the epoch, with their fraction. An invalid date is refused: nothing equals it, and so everything would be another. */
export function secondsOf(date: Date): number {
  const seconds = date.getTime() / MS_PER_SECOND;
  if (Number.isNaN(seconds)) throw invalidArgument("an invalid Date cannot be compared with");
  return seconds;
}

/**
 * The first date that is not before so many seconds since the epoch: the end of a range that has 12:00:00.5 in it is just
 * behind that. An open end is the first or last date there is.
 */
export function dateOf(seconds: number): Date {
  const nearest = Math.round(seconds * MS_PER_SECOND);
  const ms = nearest / MS_PER_SECOND < seconds ? nearest + 1 : nearest;
  return new Date(Math.min(Math.max(ms, -DATE_MAX_MS), DATE_MAX_MS));
}

/** Whether the points in time of a field are whole seconds. */
export function hasWholeSeconds(type: DataType): boolean {
  return type.kind === "primitive" && type.name !== "double" && type.name !== "float";
}

/**
 * The bound that whole seconds are compared with in place of a date, so that the same of them fulfil it: none is after
 * 12:00:00.5 that is not after 12:00:00. Nothing: none equals it.
 */
export function wholeBound(comparison: Comparison, date: Date): number | undefined {
  const seconds = secondsOf(date);
  if (comparison === "=") return Number.isInteger(seconds) ? seconds : undefined;
  return comparison === "<" || comparison === ">=" ? Math.ceil(seconds) : Math.floor(seconds);
}

function decodeDate(json: unknown, isWhole: boolean): Date {
  const date = typeof json === "number" ? dateOf(json) : undefined;
  if (date === undefined || secondsOf(date) !== json || (isWhole && !Number.isInteger(json))) {
    const what = isWhole ? "whole seconds since the epoch" : "seconds since the epoch, to the millisecond";
    throw unexpectedAnswer(`expected ${what}, got ${JSON.stringify(json)?.slice(0, 80)}`);
  }
  return date;
}

/** Dates to the millisecond, as seconds with a fraction. */
export const TIMESTAMP: Codec = {
  // A double of seconds tells any two milliseconds apart that a date can be in.
  zod: dates(),
  encode: (date) => secondsOf(date as Date),
  decode: (json) => decodeDate(json, false),
};

/** Dates to the second. */
export const WHOLE_SECONDS: Codec = {
  zod: dates((date) =>
    Number.isInteger(secondsOf(date))
      ? undefined
      : "has milliseconds, which timestamp({ unit: 'seconds' }) does not keep: cut them off, or declare timestamp()",
  ),
  encode: (date) => secondsOf(date as Date),
  decode: (json) => decodeDate(json, true),
};
