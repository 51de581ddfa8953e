/** Time zones by name, as the platform knows them. */
import { invalidArgument } from "../error.ts";

const FIXED = /^(?:UTC|GMT|UT)?([+-])(\d{1,2})(?::?(\d{2}))?$/;
const MS_PER_MINUTE = 60_000;

/** @internal How many minutes a zone is ahead of UTC at a time. */
export function minutesAhead(timeZone: string, at: Date): number {
  const [, sign, hours, minutes = "0"] = FIXED.exec(timeZone) ?? [];
  if (hours !== undefined) return (sign === "-" ? -1 : 1) * (Number(hours) * 60 + Number(minutes));
  const parts = new Map(
    formatOf(timeZone)
      .formatToParts(at)
      .map(({ type, value }) => [type, Number(value)]),
  );
  const part = (type: Intl.DateTimeFormatPartTypes): number => parts.get(type) ?? 0;
  const local = Date.UTC(part("year"), part("month") - 1, part("day"), part("hour"), part("minute"));
  return (local - Math.floor(at.getTime() / MS_PER_MINUTE) * MS_PER_MINUTE) / MS_PER_MINUTE;
}

/** @internal The name of a zone that is so many minutes ahead of UTC at all times. */
export function fixedZone(minutes: number): string {
  const padded = (number: number): string => String(number).padStart(2, "0");
  const distance = Math.abs(minutes);
  return `GMT${minutes < 0 ? "-" : "+"}${padded(Math.floor(distance / 60))}:${padded(distance % 60)}`;
}

function formatOf(timeZone: string): Intl.DateTimeFormat {
  try {
    return new Intl.DateTimeFormat("en-US", {
      timeZone,
      calendar: "gregory",
      numberingSystem: "latn",
      hourCycle: "h23",
      year: "numeric",
      month: "numeric",
      day: "numeric",
      hour: "numeric",
      minute: "numeric",
    });
  } catch {
    throw invalidArgument(`${JSON.stringify(timeZone)} is no time zone that is known here`);
  }
}
