/**
 * The binary forms of the border (docs/abi.md): little endian, lengths before contents. What is inside the lengths is
 * the core's business.
 */

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const TWO_32 = 2 ** 32;
/** Whether this machine has numbers in memory as the border has them. */
const IS_LITTLE_ENDIAN = new Uint8Array(Uint16Array.of(1).buffer)[0] === 1;

interface Memory {
  readonly bytes: Uint8Array;
  readonly view: DataView;
}

const FIRST_BYTES = 256;
/** What a writer may leave to the next at most: one large request must not hold its memory for ever. */
const SPARE_BYTES_MAX = 64 << 10;
/** Texts up to here are looked at letter by letter, which is faster than to have them encoded or decoded. */
const SHORT_TEXT = 64;
/** Longer ones of up to so many UTF-16 units are encoded where they are to stand, in room for the longest that they may become. */
const UNITS_IN_PLACE_MAX = 16 << 10;
/** Bytes in UTF-8 of a UTF-16 unit at most. */
const BYTES_OF_UNIT_MAX = 3;
/** The memory of a writer that is done with. */
let spare: Memory | undefined;

/** Appends numbers, bytes and texts to a growing buffer. */
export class Writer {
  #bytes: Uint8Array;
  #view: DataView;
  #length = 0;

  /** `bytesExpected`: room that is made at once. */
  constructor(bytesExpected = 0) {
    const isEnough = spare !== undefined && spare.bytes.length >= bytesExpected;
    const { bytes, view } = (isEnough ? spare : undefined) ?? memory(Math.max(bytesExpected, FIRST_BYTES));
    [this.#bytes, this.#view] = [bytes, view];
    if (isEnough) spare = undefined;
  }

  /** What was written; the writer must not be used again. */
  finish(): Uint8Array {
    return this.#bytes.subarray(0, this.#length);
  }

  /** What `use` makes of what was written, which nobody holds afterwards: its memory is the next writer's. */
  finishFor<Result>(use: (written: Uint8Array) => Result): Result;
  finishFor<Given, Result>(use: (written: Uint8Array, given: Given) => Result, given: Given): Result;
  finishFor<Given, Result>(use: (written: Uint8Array, given: Given) => Result, given?: Given): Result {
    try {
      return use(this.finish(), given as Given);
    } finally {
      if (this.#bytes.length <= SPARE_BYTES_MAX) spare = { bytes: this.#bytes, view: this.#view };
    }
  }

  u8(value: number): this {
    const at = this.#take(1);
    this.#view.setUint8(at, value);
    return this;
  }

  u32(value: number): this {
    const at = this.#take(4);
    this.#view.setUint32(at, value, true);
    return this;
  }

  f32(value: number): this {
    const at = this.#take(4);
    this.#view.setFloat32(at, value, true);
    return this;
  }

  /** A number below 2^53 in 64 bits. */
  u64(value: number): this {
    return this.u32(value % TWO_32).u32(Math.floor(value / TWO_32));
  }

  varint(value: number): this {
    let rest = value;
    for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) this.u8((rest % 0x80) | 0x80);
    return this.u8(rest);
  }

  bytes(value: Uint8Array): this {
    this.varint(value.length);
    const at = this.#take(value.length);
    this.#bytes.set(value, at);
    return this;
  }

  /** Numbers of 32 bits, as bytes. */
  f32s(values: Float32Array): this {
    if (IS_LITTLE_ENDIAN) return this.bytes(new Uint8Array(values.buffer, values.byteOffset, values.byteLength));
    this.varint(4 * values.length);
    for (const value of values) this.f32(value);
    return this;
  }

  text(value: string): this {
    if (value.length <= SHORT_TEXT && this.#ascii(value)) return this;
    return value.length > UNITS_IN_PLACE_MAX ? this.bytes(encoder.encode(value)) : this.#encoded(value);
  }

  /** Appends a text letter by letter. Returns false, with nothing appended, at a letter that takes several bytes. */
  #ascii(value: string): boolean {
    const before = this.#length;
    this.varint(value.length);
    const at = this.#take(value.length);
    for (let index = 0; index < value.length; index += 1) {
      const code = value.charCodeAt(index);
      if (code >= 0x80) {
        this.#length = before;
        return false;
      }
      this.#bytes[at + index] = code;
    }
    return true;
  }

  /** Appends a text, encoded where it is to stand. */
  #encoded(value: string): this {
    const bytesMax = value.length * BYTES_OF_UNIT_MAX;
    const before = this.#take(varintWidth(bytesMax) + bytesMax);
    // Most texts have as many bytes as units, and stand where they belong at once.
    const encoded = before + varintWidth(value.length);
    const { written } = encoder.encodeInto(value, this.#bytes.subarray(encoded));
    const from = before + varintWidth(written);
    if (from !== encoded) this.#bytes.copyWithin(from, encoded, encoded + written);
    this.#length = before;
    this.varint(written);
    this.#length = from + written;
    return this;
  }

  /** Makes room for `count` bytes and returns where they go. The buffer may be another one afterwards. */
  #take(count: number): number {
    const at = this.#length;
    this.#length += count;
    if (this.#length > this.#bytes.length) {
      const { bytes, view } = memory(Math.max(this.#length, this.#bytes.length * 2));
      bytes.set(this.#bytes.subarray(0, at));
      [this.#bytes, this.#view] = [bytes, view];
    }
    return at;
  }
}

/** Bytes that `Writer.varint` takes for a number. */
function varintWidth(value: number): number {
  let width = 1;
  for (let rest = value; rest >= 0x80; rest = Math.floor(rest / 0x80)) width += 1;
  return width;
}

function memory(length: number): Memory {
  const bytes = new Uint8Array(length);
  return { bytes, view: new DataView(bytes.buffer) };
}

/** Reads what a `Writer`, or the core, wrote. Reading past the end is a defect and throws. */
export class Reader {
  readonly #bytes: Uint8Array;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  // No view is made for the few numbers of a short answer: that would cost more than to read them.
  u8(): number {
    return this.#byte(this.#skip(1));
  }

  u16(): number {
    const at = this.#skip(2);
    return this.#byte(at) | (this.#byte(at + 1) << 8);
  }

  u32(): number {
    const at = this.#skip(4);
    const low = this.#byte(at) | (this.#byte(at + 1) << 8) | (this.#byte(at + 2) << 16);
    return (low | (this.#byte(at + 3) << 24)) >>> 0;
  }

  /** So many numbers of 32 bits: a copy, because they need not be aligned here. */
  u32s(count: number): Uint32Array {
    const from = this.#skip(4 * count);
    return new Uint32Array(this.#bytes.slice(from, from + 4 * count).buffer);
  }

  /** 64 bits that must hold a number below 2^53. */
  u64(): number {
    const low = this.u32();
    return exact(this.u32() * TWO_32 + low);
  }

  varint(): number {
    let value = 0;
    for (let scale = 1; ; scale *= 0x80) {
      const byte = this.u8();
      value = exact(value + (byte & 0x7f) * scale);
      if (byte < 0x80) return value;
    }
  }

  /** A view into what is read, not a copy. */
  bytes(): Uint8Array {
    const length = this.varint();
    const from = this.#skip(length);
    return this.#bytes.subarray(from, from + length);
  }

  text(): string {
    const bytes = this.bytes();
    return bytes.length <= SHORT_TEXT && isAscii(bytes)
      ? String.fromCharCode.apply(null, bytes as never)
      : decoder.decode(bytes);
  }

  /** All that is left: a view into what is read. */
  rest(): Uint8Array {
    return this.#bytes.subarray(this.#skip(this.#bytes.length - this.#at));
  }

  /** A count, then that many things. */
  list<Item>(item: (reader: Reader) => Item): Item[] {
    const items: Item[] = [];
    for (let left = this.varint(); left > 0; left -= 1) items.push(item(this));
    return items;
  }

  /** Bytes that are left. */
  get remaining(): number {
    return this.#bytes.length - this.#at;
  }

  /** Requires that everything was read. */
  end(): void {
    if (this.#at !== this.#bytes.length) throw new RangeError(`${this.#bytes.length - this.#at} bytes too many`);
  }

  /** A byte that is there. */
  #byte(at: number): number {
    return this.#bytes[at] as number;
  }

  #skip(count: number): number {
    const from = this.#at;
    if (count > this.#bytes.length - from) throw new RangeError(`${count} bytes expected at ${from}`);
    this.#at += count;
    return from;
  }
}

/** Whether all bytes are letters of their own. */
function isAscii(bytes: Uint8Array): boolean {
  for (let at = 0; at < bytes.length; at += 1) if ((bytes[at] as number) >= 0x80) return false;
  return true;
}

function exact(value: number): number {
  if (value > Number.MAX_SAFE_INTEGER) throw new RangeError("a number larger than 2^53");
  return value;
}
