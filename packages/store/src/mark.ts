/**
 * Marks: 64 bits that tell a sequence of stored things from every other. What the core seals ends with its checksum, so that a mark is
 * made of where a thing stands, how long it is, and its last bytes, not of all of it again.
 */

/** The mark of a sequence. */
export interface Mark {
  readonly high: number;
  readonly low: number;
}

/** The mark of nothing. */
export const NOTHING: Mark = { high: 0x243f6a88, low: 0x85a308d3 };

const END_BYTES = 8;
const HALF = 2 ** 32;

/** What a thing is told by. */
export interface Told {
  readonly number: number;
  readonly length: number;
  /** Its last bytes; all of it, if there are fewer. */
  readonly end: Uint8Array;
}

/** The mark of a sequence with one thing more. */
export function follow(mark: Mark, { number, length, end }: Told): Mark {
  const view = new DataView(end.buffer, end.byteOffset, end.length);
  let [first, second] = [0, 0];
  if (end.length >= END_BYTES) {
    first = view.getUint32(end.length - END_BYTES, true);
    second = view.getUint32(end.length - END_BYTES + 4, true);
  } else for (const byte of end) [first, second] = [second, Math.imul(second, 257) + byte + 1];
  return mix(mark, [number >>> 0, Math.floor(number / HALF), length, first, second]);
}

/** The same for a thing of which all bytes are at hand. */
export function followAll(mark: Mark, number: number, bytes: Uint8Array): Mark {
  return follow(mark, { number, length: bytes.length, end: bytes });
}

/** The mark of a sequence with a text after it. */
export function followText(mark: Mark, text: string): Mark {
  return mix(mark, [text.length, ...Array.from(text, (character) => character.codePointAt(0) ?? 0)]);
}

/** Two lanes of MurmurHash3's mixing with constants of their own. It holds against accidents; what is sealed holds against more. */
function mix({ high, low }: Mark, words: readonly number[]): Mark {
  let [left, right] = [high, low];
  for (const word of words) {
    left = lane(left ^ lane(word, 0xcc9e2d51, 15), 0x1b873593, 13);
    right = lane(right ^ lane(word, 0x239b961b, 16), 0x38b34ae5, 19);
    [left, right] = [(left + right) | 0, (right + Math.imul(left, 5)) | 0];
  }
  return { high: left >>> 0, low: right >>> 0 };
}

function lane(value: number, factor: number, bits: number): number {
  const product = Math.imul(value, factor) + 0xe6546b64;
  return (product << bits) | (product >>> (32 - bits));
}
