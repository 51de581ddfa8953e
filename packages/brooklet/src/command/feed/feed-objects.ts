/** A feed cut into its operations, as bytes: JSON objects one after the other, on a line each or not, or in one list. */
import { UsageError } from "../surroundings.ts";

const OBJECT_BYTES_MAX = 64 << 20;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN = 0x7b;
const CLOSE = 0x7d;
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;
/** What may stand between objects: white space, the commas and brackets of a list. */
const BETWEEN: ReadonlySet<number> = new Set([..." \t\n\v\f\r,[]"].map((character) => character.charCodeAt(0)));
const BYTE_ORDER_MARK = [0xef, 0xbb, 0xbf];

/** The objects of a feed, together those that a part of the input brings to their end. */
export async function* splitBytes(input: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array[], void, undefined> {
  const splitter = new ByteSplitter();
  for await (const bytes of input) {
    const objects: Uint8Array[] = [];
    try {
      splitter.add(bytes, objects);
    } finally {
      // Those before the place where something else stands are objects.
      if (objects.length > 0) yield objects;
    }
  }
  splitter.end();
}

/** The objects of a feed, as text. */
export async function* splitObjects(input: AsyncIterable<Uint8Array>): AsyncGenerator<string, void, undefined> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  for await (const objects of splitBytes(input)) for (const object of objects) yield decoder.decode(object);
}

/** Where the next quote or brace is; the end of the bytes if there is none. */
function structureFrom(bytes: Uint8Array, from: number): number {
  let at = from;
  for (const end = bytes.length; at < end; at += 1) {
    const byte = bytes[at];
    if (byte === QUOTE || byte === OPEN || byte === CLOSE) break;
  }
  return at;
}

/** Cuts by counting braces outside of strings. What is between objects is not looked at closely. */
class ByteSplitter {
  /** What came of an object before the current part. */
  #begun: Uint8Array[] = [];
  #begunBytes = 0;
  #depth = 0;
  #inString = false;
  #isEscaped = false;
  #count = 0;
  #seen = 0;
  /** A list was begun, and did not end yet. */
  #isInList = false;

  /** Adds to `objects` those that end in these bytes. */
  add(bytes: Uint8Array, objects: Uint8Array[]): void {
    let start = 0;
    for (let at = this.#inString ? this.#stringEnd(bytes, 0) : 0; at < bytes.length; at += 1) {
      // Most of a feed is numbers.
      if (this.#depth > 0) at = structureFrom(bytes, at);
      const byte = bytes[at];
      if (byte === undefined) break;
      if (byte === OPEN) {
        if (this.#depth === 0) start = at;
        this.#depth += 1;
      } else if (this.#depth === 0) this.#passBetween(bytes, at);
      else if (byte === QUOTE) at = this.#stringEnd(bytes, at + 1) - 1;
      else {
        this.#depth -= 1;
        if (this.#depth === 0) objects.push(this.#whole(bytes.subarray(start, at + 1)));
      }
    }
    this.#seen += bytes.length;
    if (this.#depth > 0) this.#keep(bytes.subarray(start));
  }

  end(): void {
    if (this.#depth > 0) throw new UsageError(`operation ${this.#count + 1} does not end: a '}' is missing`);
    // What was cut off between two of them is no whole feed either.
    if (this.#isInList)
      throw new UsageError(`the list of operations does not end after ${this.#count}: a ']' is missing`);
  }

  /** Where it goes on after the string in which `at` is; the end of the bytes if the string does not end in them. */
  #stringEnd(bytes: Uint8Array, at: number): number {
    let next = at;
    if (this.#isEscaped) next += 1;
    for (; next < bytes.length; next += 1) {
      const byte = bytes[next];
      if (byte === BACKSLASH) next += 1;
      else if (byte === QUOTE) {
        this.#inString = false;
        this.#isEscaped = false;
        return next + 1;
      }
    }
    this.#inString = true;
    this.#isEscaped = next > bytes.length;
    return bytes.length;
  }

  #passBetween(bytes: Uint8Array, at: number): void {
    const byte = bytes[at] ?? 0;
    if (byte === OPEN_LIST && this.#count === 0) this.#isInList = true;
    if (byte === CLOSE_LIST) this.#isInList = false;
    if (BETWEEN.has(byte) || byte === BYTE_ORDER_MARK[this.#seen + at]) return;
    const [character = ""] = new TextDecoder().decode(bytes.subarray(at, at + 4));
    const hint = this.#count === 0 ? ": a feed is JSON; brooklet import takes CSV, JSON lines and mail" : "";
    throw new UsageError(`'${character}' stands where operation ${this.#count + 1} should begin with '{'${hint}`);
  }

  #whole(last: Uint8Array): Uint8Array {
    this.#count += 1;
    if (this.#begun.length === 0) return last;
    const whole = Buffer.concat([...this.#begun, last]);
    this.#begun = [];
    this.#begunBytes = 0;
    return whole;
  }

  #keep(part: Uint8Array): void {
    this.#begun.push(part);
    this.#begunBytes += part.length;
    if (this.#begunBytes <= OBJECT_BYTES_MAX) return;
    throw new UsageError(`operation ${this.#count + 1} is longer than ${OBJECT_BYTES_MAX} bytes, or does not end`);
  }
}
