/** Documents that are removed some time after a point in time of theirs: `garbage-collection` in services.xml. */
import { suggestion } from "@brooklet/wire";
import { invalidArgument, refuseUnknown } from "../error.ts";
import type { FieldMap } from "./field.ts";
import { TIMESTAMP, WHOLE_SECONDS } from "./point-in-time.ts";

/** A length of time: `90s`, `15m`, `12h`, `30d`, `8w`. */
export type TimeSpan = `${number}${"s" | "m" | "h" | "d" | "w"}`;

/** When documents are removed without being asked. */
export interface Expiry<Name extends string = string> {
  /** How long after. */
  readonly after: TimeSpan;
  /** After what: a timestamp of the document. */
  readonly of: Name;
}

/** The time that documents of a schema are kept. */
export interface Lifetime {
  readonly of: string;
  readonly seconds: number;
  /** What those fulfil that are kept, in the document selection language. */
  readonly selection: string;
}

const SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400, w: 604_800 };

/** The lifetime that a schema says. Throws if its field is no timestamp, or its time span none. */
export function lifetimeOf(schema: string, fields: FieldMap, expires: Expiry): Lifetime {
  refuseUnknown("expires", expires, ["after", "of"]);
  const { after, of } = expires;
  const dates = Object.keys(fields).filter((name) => isDate(fields, name));
  if (!dates.includes(of)) {
    const hint = suggestion(of, dates);
    throw invalidArgument(`expires.of of schema ${schema} is '${of}', which is no timestamp() of it${hint}`);
  }
  const [, count, unit = ""] = /^(\d+(?:\.\d+)?)([smhdw])$/.exec(String(after)) ?? [];
  const seconds = Math.round(Number(count) * (SECONDS[unit] ?? Number.NaN));
  if (!(seconds >= 1 && Number.isSafeInteger(seconds)))
    throw invalidArgument(`expires.after of schema ${schema} is '${after}': give a time span such as '12h' or '30d'`);
  const path = `${schema}.${of}`;
  return { of, seconds, selection: `${path} == null or ${path} > now() - ${seconds}` };
}

function isDate(fields: FieldMap, name: string): boolean {
  const codec = fields[name]?.codec;
  return codec === TIMESTAMP || codec === WHOLE_SECONDS;
}
