/**
 * Numbers as the hexadecimal digits of their bits, most significant first, as Vespa takes the cells of a tensor: shorter than decimals
 * and much faster to write and to read.
 */

/** How this machine keeps the bytes of a number. */
const IS_LITTLE_ENDIAN = new Uint8Array(Uint16Array.of(1).buffer)[0] === 1;
const BYTES: readonly string[] = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));
/** The two digits of each byte, as they lie in memory. */
const DIGITS = new Uint16Array(Uint8Array.from(BYTES.join(""), (digit) => digit.charCodeAt(0)).buffer);
const DIGIT_DECODER = new TextDecoder("latin1");

/** The digits of numbers. */
export function digitsOf(numbers: Float32Array | Float64Array | Int8Array): string {
  const digits = new Uint16Array(numbers.byteLength);
  writeDigits(numbers, digits);
  return DIGIT_DECODER.decode(digits);
}

/** Writes the digits of numbers, the two of each byte as they lie in memory, from the beginning of `digits` on. */
function writeDigits(numbers: Float32Array | Float64Array | Int8Array, digits: Uint16Array): void {
  const { buffer, byteOffset, byteLength, BYTES_PER_ELEMENT } = numbers;
  if (numbers instanceof Float32Array) {
    writeDigitsOf32(new Uint32Array(buffer, byteOffset, numbers.length), digits);
    return;
  }
  const bytes = new Uint8Array(buffer, byteOffset, byteLength);
  // The bytes of a number are turned round where the last is first: a number has 1, 4 or 8 of them.
  const turn = IS_LITTLE_ENDIAN ? BYTES_PER_ELEMENT - 1 : 0;
  for (let at = 0; at < byteLength; at += 1) digits[at] = DIGITS[bytes[at ^ turn] as number] as number;
}

/** The same of the bits of 32, as nearly all vectors have: two thirds of the time that bytes take. */
function writeDigitsOf32(numbers: Uint32Array, digits: Uint16Array): void {
  for (let at = 0, to = 0; at < numbers.length; at += 1, to += 4) {
    const bits = numbers[at] as number;
    digits[to] = DIGITS[bits >>> 24] as number;
    digits[to + 1] = DIGITS[(bits >>> 16) & 0xff] as number;
    digits[to + 2] = DIGITS[(bits >>> 8) & 0xff] as number;
    digits[to + 3] = DIGITS[bits & 0xff] as number;
  }
}

/** Cells of 32 bits as a value of JSON, where they are their digits; who is in the same process takes them as they are. */
export class CellDigits {
  readonly cells: Float32Array;

  /** The cells as they are now: what is done to the numbers later changes nothing; unless they are lent, to be read at once. */
  constructor(numbers: ArrayLike<number>, isLent = false) {
    this.cells = isLent && numbers instanceof Float32Array ? numbers : new Float32Array(numbers);
  }

  /** Writes them as `JsonBytes` does, the two of each byte as they lie in memory, from the beginning of `digits` on. */
  writeTo(digits: Uint16Array): void {
    writeDigits(this.cells, digits);
  }

  toString(): string {
    return digitsOf(this.cells);
  }

  toJSON(): string {
    return digitsOf(this.cells);
  }
}
