/** How far time zones are ahead of UTC: the platform's tables of zones, which are kept up to date, say it. */

const MS_PER_SECOND = 1_000;
/** Formats that are kept: making one takes far longer than using it. */
const FORMATS_MAX = 64;

const formats = new Map<string, Intl.DateTimeFormat | undefined>();

/** Seconds eastward of UTC at a time given in seconds; `undefined` if there is no such zone. */
export function zoneOffset(name: string, atSeconds: number): number | undefined {
  const format = formatOf(name);
  if (format === undefined) return undefined;
  const at = new Date(atSeconds * MS_PER_SECOND);
  const parts = new Map(format.formatToParts(at).map(({ type, value }) => [type, Number(value)]));
  const part = (type: Intl.DateTimeFormatPartTypes): number => parts.get(type) ?? 0;
  const local = Date.UTC(part("year"), part("month") - 1, part("day"), part("hour"), part("minute"), part("second"));
  return Math.round((local - at.getTime()) / MS_PER_SECOND);
}

function formatOf(name: string): Intl.DateTimeFormat | undefined {
  if (!formats.has(name)) {
    if (formats.size >= FORMATS_MAX) formats.clear();
    formats.set(name, zoneFormat(name));
  }
  return formats.get(name);
}

function zoneFormat(timeZone: string): Intl.DateTimeFormat | undefined {
  try {
    const digits = "2-digit";
    return new Intl.DateTimeFormat("en-US", {
      timeZone,
      calendar: "iso8601",
      numberingSystem: "latn",
      hourCycle: "h23",
      year: "numeric",
      month: digits,
      day: digits,
      hour: digits,
      minute: digits,
      second: digits,
    });
  } catch {
    // The only thing that can be wrong is the zone.
    return undefined;
  }
}
