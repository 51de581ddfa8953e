/**
 * Finds a few members of a JSON object without building the object: the gateway must know which partition a query is
 * for, and nothing else of its body. Values stay text, so that a number beyond 2^53 is not changed. Like the query
 * interface it accepts single quotes and raw line breaks in strings. It never recurses.
 */

const QUOTES = new Set([0x22, 0x27]);
const BACKSLASH = 0x5c;
const BRACE_OPEN = 0x7b;
const BRACE_CLOSE = 0x7d;
const BRACKET_OPEN = 0x5b;
const BRACKET_CLOSE = 0x5d;
const COMMA = 0x2c;
const COLON = 0x3a;
const LETTER_N = 0x6e;

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Names longer than this cannot be one of those looked for, even with every character written as an escape. */
const NAME_BYTES_MAX = 256;

/** One member that was found: the text of its value. Strings are decoded, everything else is as written. */
export type FoundMember = readonly [name: string, value: string];

/** What begins an object; and with it what else is no text, number or switch: an array, or `null`. */
const OBJECT: ReadonlySet<number> = new Set([BRACE_OPEN]);
const NO_TEXT: ReadonlySet<number> = new Set([BRACE_OPEN, BRACKET_OPEN, LETTER_N]);

/** A place in the text of a JSON document. */
class Reader {
  readonly #bytes: Uint8Array;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  /** The next byte that is not white space; `undefined` at the end. */
  peek(): number | undefined {
    while (this.#at < this.#bytes.length && (this.#bytes[this.#at] ?? 0) <= 0x20) this.#at += 1;
    return this.#bytes[this.#at];
  }

  /** Steps over one byte if it comes next. */
  accepts(byte: number): boolean {
    if (this.peek() !== byte) return false;
    this.#at += 1;
    return true;
  }

  /** Steps over one byte that must come next. */
  expect(byte: number): void {
    if (!this.accepts(byte)) throw new SyntaxError(`unexpected byte at ${this.#at}`);
  }

  /** Steps over a string and gives its text, or nothing if it is longer than `bytesMax`. */
  string(bytesMax: number): string | undefined {
    const start = this.#at + 1;
    const end = this.#skipString();
    return end - start > bytesMax ? undefined : withoutEscapes(utf8.decode(this.#bytes.subarray(start, end)));
  }

  /** Steps over any value; gives where it began and ended. */
  skipValue(): readonly [start: number, end: number] {
    this.peek();
    const start = this.#at;
    let depth = 0;
    do {
      const byte = this.peek();
      if (byte === undefined) throw new SyntaxError("the document ends within a value");
      if (QUOTES.has(byte)) this.#skipString();
      else if (byte === BRACE_OPEN || byte === BRACKET_OPEN) depth = this.#step(depth + 1);
      else if (byte === BRACE_CLOSE || byte === BRACKET_CLOSE) depth = this.#step(depth - 1);
      else if (depth > 0 && (byte === COMMA || byte === COLON)) this.#at += 1;
      else this.#skipWord();
    } while (depth > 0);
    if (depth < 0) throw new SyntaxError(`unexpected end of an object at ${start}`);
    return [start, this.#at];
  }

  /** The text between two places. */
  text(start: number, end: number): string {
    return utf8.decode(this.#bytes.subarray(start, end));
  }

  #step(depth: number): number {
    this.#at += 1;
    return depth;
  }

  #skipWord(): void {
    const start = this.#at;
    while (this.#at < this.#bytes.length && isWordByte(this.#bytes[this.#at] ?? 0)) this.#at += 1;
    if (this.#at === start) throw new SyntaxError(`unexpected byte at ${start}`);
  }

  /** Steps over a string; gives where its text ended. */
  #skipString(): number {
    const quote = this.#bytes[this.#at];
    for (let at = this.#at + 1; at < this.#bytes.length; at += 1) {
      const byte = this.#bytes[at];
      if (byte === BACKSLASH) at += 1;
      else if (byte === quote) {
        this.#at = at + 1;
        return at;
      }
    }
    throw new SyntaxError(`string at ${this.#at} does not end`);
  }
}

/** Bytes of numbers and of `true`, `false`, `null`. */
function isWordByte(byte: number): boolean {
  const isDigit = byte >= 0x30 && byte <= 0x39;
  const isLetter = (byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x7a;
  return isDigit || isLetter || byte === 0x2d || byte === 0x2b || byte === 0x2e;
}

const ESCAPES: Readonly<Record<string, string>> = { b: "\b", f: "\f", n: "\n", r: "\r", t: "\t" };

function withoutEscapes(text: string): string {
  if (!text.includes("\\")) return text;
  return text.replace(/\\(?:u([0-9a-fA-F]{4})|(.))/gsu, (_, hexadecimal: string | undefined, character: string) =>
    hexadecimal === undefined
      ? (ESCAPES[character] ?? character)
      : String.fromCharCode(Number.parseInt(hexadecimal, 16)),
  );
}

/**
 * All members of `object` whose dotted name is wanted: `{"a.b": 1}` and `{"a": {"b": 1}}` both have `a.b`. Nothing:
 * the bytes are not a JSON object as far as they had to be read. With `textsOnly`, arrays and `null` are no values.
 */
export function findJsonMembers(
  bytes: Uint8Array,
  wanted: ReadonlySet<string>,
  textsOnly = false,
): FoundMember[] | undefined {
  const passed = textsOnly ? NO_TEXT : OBJECT;
  const found: FoundMember[] = [];
  const prefixes = new Set([...wanted].map((name) => name.slice(0, name.lastIndexOf("."))));
  const reader = new Reader(bytes);
  try {
    forEachMember(reader, (name) => {
      if (name !== undefined && prefixes.has(name) && reader.peek() === BRACE_OPEN) {
        forEachMember(reader, (inner) =>
          take(reader, inner === undefined ? undefined : `${name}.${inner}`, wanted, passed, found),
        );
      } else take(reader, name, wanted, passed, found);
    });
    return reader.peek() === undefined ? found : undefined;
  } catch {
    // Not JSON: the core reads the same bytes and says what is wrong with them.
    return undefined;
  }
}

/** Visits each member of the object that comes next, with the reader before its value. */
function forEachMember(reader: Reader, visit: (name: string | undefined) => void): void {
  reader.expect(BRACE_OPEN);
  if (reader.peek() !== BRACE_CLOSE) {
    do {
      if (!QUOTES.has(reader.peek() ?? 0)) throw new SyntaxError("expected the name of a member");
      const name = reader.string(NAME_BYTES_MAX);
      reader.expect(COLON);
      visit(name);
    } while (reader.accepts(COMMA));
  }
  reader.expect(BRACE_CLOSE);
}

/** Notes the member's value if its name is wanted. An object is not a value: its members have longer names. */
function take(
  reader: Reader,
  name: string | undefined,
  wanted: ReadonlySet<string>,
  passed: ReadonlySet<number>,
  found: FoundMember[],
): void {
  if (name === undefined || !wanted.has(name) || passed.has(reader.peek() ?? 0)) {
    reader.skipValue();
    return;
  }
  if (QUOTES.has(reader.peek() ?? 0)) found.push([name, reader.string(Number.POSITIVE_INFINITY) ?? ""]);
  else found.push([name, reader.text(...reader.skipValue())]);
}
