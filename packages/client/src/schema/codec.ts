/**
 * Values between TypeScript and the JSON of documents. A codec checks what a caller gives, writes it, and reads
 * what an answer has; what the fields look like to the type checker is in `field.ts`.
 */
import { decodeBase64, encodeBase64 } from "@brooklet/wire";
import { unexpectedAnswer } from "../error.ts";
import {
  bytes,
  type Check,
  integers,
  lists,
  memberOf,
  numbers,
  objects,
  orNone,
  records,
  texts,
  truths,
} from "./check.ts";

/** How values of one type are checked, written and read. */
export interface Codec {
  /** Checks a value as callers give it; zod takes it for one of its schemas. */
  readonly zod: Check;
  /** A checked value as JSON, to be written in the same turn: what is the caller's is not copied. */
  encode(value: unknown): unknown;
  /** JSON as the value callers see. Throws if it is not of this type. */
  decode(json: unknown): unknown;
  /** What its parts are, if it has some that are numbered or have a key … */
  readonly element?: Codec;
  readonly parts?: "numbered" | "keyed";
  /** … or a name. */
  readonly members?: Readonly<Record<string, Member>>;
  /** How a vector near to which is searched is checked, if that is another: where each piece of a text has one, it is still one. */
  readonly near?: Codec;
  /** How a vector near to which is searched is checked where its profile says what its cells are. */
  readonly anyCell?: Check;
  /** How they are checked where they may be missing, or are parts of others, if that is another way. */
  readonly part?: Codec;
  /** The value that answers leave out although it was stored (an empty text or list, no bytes). */
  readonly empty?: () => unknown;
}

const same = (value: unknown): unknown => value;

function wrong(expected: string, json: unknown): Error {
  return unexpectedAnswer(`expected ${expected}, got ${JSON.stringify(json)?.slice(0, 80)}`);
}

function text(json: unknown): string {
  if (typeof json !== "string") throw wrong("a text", json);
  return json;
}

/** Numbers that are not finite are texts in JSON. */
function number(json: unknown): number {
  if (typeof json === "number") return json;
  if (typeof json === "string" && /^-?\d{16,19}$/.test(json)) return Number(json);
  if (json === "NaN" || json === "Infinity" || json === "-Infinity") return Number(json);
  throw wrong("a number", json);
}

function integer(json: unknown): number {
  const value = number(json);
  if (!Number.isSafeInteger(value)) throw wrong("an integer that a number can hold exactly (at most 2^53 - 1)", json);
  return value;
}

// What makes a check is marked as pure, so that a bundle has those of the fields alone that it makes.

/** Texts. */
export const TEXT: Codec = { zod: texts(), encode: same, decode: text, empty: () => "" };

/** Integers up to a number. Hits show the least of a type as no value, which a field that is required cannot be. */
function integersTo(maximum: number): Codec {
  const part = { zod: integers(-maximum - 1, maximum), encode: same, decode: integer };
  return { ...part, zod: integers(-maximum, maximum, ": less cannot be told from a value that is not set"), part };
}

/** The codec of values that may be missing, or are parts of others. */
export const partOf = (codec: Codec): Codec => codec.part ?? codec;

/** Integers of 8 bits. */
export const BYTE: Codec = /* @__PURE__ */ integersTo(127);
/** Integers of 32 bits. */
export const INT: Codec = /* @__PURE__ */ integersTo(2 ** 31 - 1);
/** Integers of 64 bits, as far as a number is exact. Larger ones are texts where they were read exactly. */
export const LONG: Codec = { zod: /* @__PURE__ */ integers(), encode: same, decode: integer };

/** The largest number that 32 bits hold: those above are nearer to infinity, which is what would be stored. */
export const FLOAT_MAX: number = 2 ** 128 - 2 ** 103 - 2 ** 75;

/** Floating-point numbers of 64 bits. */
export const NUMBER: Codec = { zod: /* @__PURE__ */ numbers(), encode: same, decode: number };
/** Those of 32 bits. */
export const FLOAT: Codec = { zod: /* @__PURE__ */ numbers(-FLOAT_MAX, FLOAT_MAX), encode: same, decode: number };

/** Truth values. */
export const BOOL: Codec = {
  zod: /* @__PURE__ */ truths(),
  encode: same,
  decode: (json) => {
    if (typeof json !== "boolean") throw wrong("true or false", json);
    return json;
  },
};

/** A place on earth, in degrees. */
export interface Position {
  readonly lat: number;
  readonly lng: number;
}

const LATITUDE_MAX = 90;
const LONGITUDE_MAX = 180;

/** Places on earth. */
export const POSITION: Codec = {
  zod: /* @__PURE__ */ objects({
    lat: /* @__PURE__ */ numbers(-LATITUDE_MAX, LATITUDE_MAX),
    lng: /* @__PURE__ */ numbers(-LONGITUDE_MAX, LONGITUDE_MAX),
  }),
  encode: same,
  decode: (json) => {
    const { lat, lng } = record(json, "a position");
    return { lat: number(lat), lng: number(lng) };
  },
};

/** Bytes, as base64. */
export const RAW: Codec = {
  zod: /* @__PURE__ */ bytes(),
  encode: (value) => encodeBase64(value as Uint8Array),
  decode: (json) => {
    const bytes = decodeBase64(text(json));
    if (bytes === undefined) throw wrong("base64", json);
    return bytes;
  },
  empty: () => new Uint8Array(),
};

/** Lists of what `element` is about. */
export function arrayCodec(of: Codec): Codec {
  const element = partOf(of);
  return {
    zod: lists(element.zod),
    encode: (value) => (value as readonly unknown[]).map((item) => element.encode(item)),
    decode: (json) => {
      if (!Array.isArray(json)) throw wrong("a list", json);
      return json.map((item) => element.decode(item));
    },
    empty: () => [],
    element,
    parts: "numbered",
  };
}

/** Objects with any keys. Keys are texts in JSON whatever their type is. */
export function recordCodec(keys: Codec, values: Codec): Codec {
  const [key, value] = [partOf(keys), partOf(values)];
  const isKey = (it: string): boolean => key.zod.safeParse(it).success || key.zod.safeParse(Number(it)).success;
  return {
    zod: records(value.zod, key === TEXT ? undefined : isKey),
    encode: (given) => mapValues(given as Record<string, unknown>, (item) => value.encode(item)),
    decode: (json) => mapValues(record(json, "an object"), (item) => value.decode(item)),
    empty: () => ({}),
    element: value,
    parts: "keyed",
  };
}

/** Objects with known members. */
export function objectCodec(members: Readonly<Record<string, Member>>): Codec {
  const shape = mapValues(members, ({ codec, isOptional, defaultValue }) =>
    isOptional || defaultValue !== undefined ? orNone(codec.zod) : codec.zod,
  );
  const entries = Object.entries(members);
  return {
    zod: objects(shape),
    encode: (value) => encodeMembers(entries, value as Record<string, unknown>),
    decode: (json) => decodeMembers(members, record(json, "an object"), Object.keys(members)),
    members,
  };
}

/** A member of an object: how its values travel, and whether it may be missing. */
export interface Member {
  readonly codec: Codec;
  readonly isOptional: boolean;
  /** What it is where it is not given. */
  readonly defaultValue?: { readonly value: unknown };
}

/** The members of a checked object that are set, or have a default, as JSON. */
function encodeMembers(members: readonly (readonly [string, Member])[], value: Record<string, unknown>): unknown {
  const encoded: Record<string, unknown> = {};
  for (const [name, { codec, defaultValue }] of members) {
    let given = memberOf(value, name);
    if (given === undefined) given = defaultValue?.value;
    if (given !== undefined) encoded[name] = codec.encode(given);
  }
  return encoded;
}

/**
 * The members `wanted` of an answer. One that is left out is empty if its type has an empty value and it is required;
 * a required one without an empty value is a fault: the type that was promised would be a lie.
 */
export function decodeMembers(
  members: Readonly<Record<string, Member>>,
  json: Readonly<Record<string, unknown>>,
  wanted: readonly string[],
  missing: "refused" | "left out" = "refused",
): Record<string, unknown> {
  const decoded: Record<string, unknown> = {};
  for (const name of wanted) {
    const member = memberOf(members, name) as Member | undefined;
    if (member === undefined) continue;
    const shown = memberOf(json, name);
    if (shown !== undefined) decoded[name] = inMember(name, () => member.codec.decode(shown));
    else if (member.isOptional || missing === "left out") continue;
    else if (member.codec.empty !== undefined) decoded[name] = member.codec.empty();
    // Written and read, so that nobody shares it.
    else if (member.defaultValue !== undefined)
      decoded[name] = member.codec.decode(member.codec.encode(member.defaultValue.value));
    else
      throw unexpectedAnswer(`'${name}' is not set: declare it .optional(), or .default(…), if documents may lack it`);
  }
  return decoded;
}

function inMember<Result>(name: string, work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    throw unexpectedAnswer(`'${name}': ${(error as Error).message}`);
  }
}

/** JSON that has to be an object. */
export function record(json: unknown, what: string): Readonly<Record<string, unknown>> {
  if (typeof json !== "object" || json === null || Array.isArray(json)) throw wrong(what, json);
  return json as Readonly<Record<string, unknown>>;
}

/** An object with the same keys and other values. */
export function mapValues<Value, Result>(
  object: Readonly<Record<string, Value>>,
  change: (value: Value, key: string) => Result,
): Record<string, Result> {
  return Object.fromEntries(Object.entries(object).map(([key, value]) => [key, change(value, key)]));
}
