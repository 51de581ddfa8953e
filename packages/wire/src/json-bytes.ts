/**
 * JSON as bytes: one value after the other into one buffer. The cells of a vector become digits there at once, without a text of
 * them that would be made, looked through and encoded. An entry of its own, which holds nothing of others: a page loads it with its
 * first feed.
 */
import type { UnsharedBytes } from "./bytes.ts";
import type { CellDigits } from "./digits.ts";

const FIRST_BYTES = 4 << 10;
/** Bytes of UTF-8 that a UTF-16 unit becomes at most. */
const UNIT_BYTES_MAX = 3;
/** Texts up to so many units are written where they are to stand; there is room for the most that they may become. */
const SHORT_UNITS = 64 << 10;
/** How deep within a value cells are looked for: those of a document stand at most so deep. */
const CELLS_DEPTH = 5;

const encoder = new TextEncoder();

/**
 * A buffer of JSON that grows.
 *
 * @example
 * ```ts
 * const json = new JsonBytes();
 * json.value({ vec: { values: new CellDigits([1, 2]) } });
 * json.text("\n");
 * ```
 */
export class JsonBytes {
  #bytes: UnsharedBytes = new Uint8Array(FIRST_BYTES);
  #length = 0;
  #digits = new Uint16Array(0);

  /** The number of bytes that are written. */
  get length(): number {
    return this.#length;
  }

  /** What is written, until something else is. */
  get bytes(): UnsharedBytes {
    return this.#bytes.subarray(0, this.#length);
  }

  /** Forgets what was written beyond the first bytes, and keeps the room. */
  cut(length = 0): void {
    this.#length = Math.min(length, this.#length);
  }

  /** Writes a value that JSON has, as `JSON.stringify` does. */
  value(value: unknown): void {
    this.text(this.#untilLast("", value, CELLS_DEPTH));
  }

  /** Writes a text as it stands. */
  text(text: string): void {
    if (text.length > SHORT_UNITS) {
      this.raw(encoder.encode(text));
      return;
    }
    this.#makeRoom(text.length * UNIT_BYTES_MAX);
    this.#length += encoder.encodeInto(text, this.#bytes.subarray(this.#length)).written;
  }

  /** Writes bytes as they stand. */
  raw(bytes: Uint8Array): void {
    this.#makeRoom(bytes.length);
    this.#bytes.set(bytes, this.#length);
    this.#length += bytes.length;
  }

  /** Writes a text and a value up to its last cells; what comes after those is returned, to be written with what follows. */
  #untilLast(before: string, value: unknown, depth: number): string {
    if (isCells(value)) {
      this.text(`${before}"`);
      this.#cells(value);
      return '"';
    }
    if (!hasCells(value, depth)) return before + JSON.stringify(value);
    let text = before;
    if (Array.isArray(value)) {
      for (let at = 0; at < value.length; at += 1)
        text = this.#untilLast(text + (at === 0 ? "[" : ","), isNothing(value[at]) ? null : value[at], depth - 1);
      return `${text}]`;
    }
    let mark = "{";
    for (const name of Object.keys(value)) {
      const member = (value as Readonly<Record<string, unknown>>)[name];
      if (isNothing(member)) continue;
      text = this.#untilLast(`${text}${mark}${JSON.stringify(name)}:`, member, depth - 1);
      mark = ",";
    }
    return `${text}}`;
  }

  #cells(value: CellDigits): void {
    const { byteLength } = value.cells;
    if (this.#digits.length < byteLength) this.#digits = new Uint16Array(byteLength);
    value.writeTo(this.#digits);
    this.raw(new Uint8Array(this.#digits.buffer, 0, byteLength * 2));
  }

  #makeRoom(bytes: number): void {
    const end = this.#length + bytes;
    if (end <= this.#bytes.length) return;
    const larger = new Uint8Array(Math.max(end, 2 * this.#bytes.length));
    larger.set(this.bytes);
    this.#bytes = larger;
  }
}

/** Whether a value is cells, by what it has and not by its class: several copies of that may be loaded. */
function isCells(value: unknown): value is CellDigits {
  if (typeof value !== "object" || value === null) return false;
  return (value as Partial<CellDigits>).cells instanceof Float32Array && "writeTo" in value;
}

/** Whether JSON has no value for it. */
function isNothing(value: unknown): boolean {
  return value === undefined || typeof value === "function" || typeof value === "symbol";
}

/**
 * Whether cells stand in a value. Where they are not found (deeper, or in a list that begins with something else) the value is
 * written as any other, which takes longer.
 */
function hasCells(value: unknown, depth: number): value is readonly unknown[] | Readonly<Record<string, unknown>> {
  if (typeof value !== "object" || value === null || depth === 0) return false;
  if (Array.isArray(value)) return isOrHasCells(value[0], depth - 1);
  const made: unknown = Object.getPrototypeOf(value);
  if ((made !== Object.prototype && made !== null) || "toJSON" in value) return false;
  for (const name in value) if (isOrHasCells((value as Record<string, unknown>)[name], depth - 1)) return true;
  return false;
}

function isOrHasCells(value: unknown, depth: number): boolean {
  return isCells(value) || hasCells(value, depth);
}
