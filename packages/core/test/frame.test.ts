/** What the border's binary forms look like, byte for byte, and that nothing is read that is not there. */
import { describe, expect, test } from "vitest";
import { Reader, Writer } from "../src/frame.ts";
import { decodeChange, encodeManifest } from "../src/manifest.ts";

test("numbers and texts have the form of docs/abi.md", () => {
  const written = new Writer()
    .u8(1)
    .u32(0x01020304)
    .u64(2 ** 40 + 5)
    .varint(300)
    .text("é")
    .bytes(Uint8Array.of(9))
    .finish();
  expect([...written]).toEqual([1, 4, 3, 2, 1, 5, 0, 0, 0, 0, 1, 0, 0, 0xac, 0x02, 2, 0xc3, 0xa9, 1, 9]);
});

test("what is written at every length of the buffer is read back", () => {
  const numbers = [0, 1, 127, 128, 2 ** 14, 2 ** 31, 2 ** 32 + 1, Number.MAX_SAFE_INTEGER];
  for (let padding = 0; padding < 300; padding += 1) {
    const writer = new Writer().bytes(new Uint8Array(padding));
    for (const number of numbers) writer.varint(number).u64(number).text(`n${number}`);
    const reader = new Reader(writer.finish());
    expect(reader.bytes()).toHaveLength(padding);
    for (const number of numbers)
      expect([reader.varint(), reader.u64(), reader.text()]).toEqual([number, number, `n${number}`]);
    reader.end();
  }
});

test("texts of every length and width are their bytes in UTF-8 behind their length", () => {
  const encoder = new TextEncoder();
  const lengths = [0, 1, 41, 42, 43, 63, 64, 65, 126, 127, 128, 129, 5_461, 5_462, 16_383, 16_384, 16_385];
  for (const length of lengths)
    for (const letter of ["a", "é", "क", "😀", "\ud800"]) {
      const text = `${letter.repeat(Math.ceil(length / letter.length))}a`.slice(-length || 1);
      const bytes = encoder.encode(text);
      const expected = new Writer().u8(7).varint(bytes.length);
      for (const byte of bytes) expected.u8(byte);
      const written = new Writer().u8(7).text(text).u8(9).finish();
      expect(Buffer.compare(written, expected.u8(9).finish()), `${length} of ${letter}`).toBe(0);
    }
});

test("reading past the end, numbers above 2^53 and bytes left over are errors", () => {
  expect(() => new Reader(Uint8Array.of(1, 2, 3)).u32()).toThrow("4 bytes expected at 0");
  expect(() => new Reader(Uint8Array.of(200, 1, 0)).bytes()).toThrow("200 bytes expected");
  expect(() => new Reader(new Uint8Array(8).fill(255)).u64()).toThrow("2^53");
  expect(() => new Reader(new Uint8Array(12).fill(255)).varint()).toThrow("2^53");
  expect(() => new Reader(Uint8Array.of(1, 0xff)).text()).toThrow();
  expect(() => new Reader(Uint8Array.of(1)).end()).toThrow("1 bytes too many");
});

test("a reader of a part of a buffer sees only that part", () => {
  const whole = new Writer().u32(7).text("inside").text("outside").finish();
  const reader = new Reader(whole.subarray(4, 4 + 7));
  expect(reader.text()).toBe("inside");
  expect(() => reader.u8()).toThrow("1 bytes expected");
});

describe("manifest", () => {
  const operations = [{ number: 5, bytes: Uint8Array.of(1) }];
  test("with segments", () => {
    const segments = [{ number: 2, header: Uint8Array.of(3), liveness: new Uint8Array() }];
    const bytes = encodeManifest({ layout: 9, segments, operations });
    expect([...bytes]).toEqual([9, 0, 0, 0, 1, 1, 2, 0, 0, 0, 1, 3, 0, 1, 5, 0, 0, 0, 0, 0, 0, 0, 1, 1]);
  });
  test("of the layout that is known", () => {
    const bytes = encodeManifest({ layout: 9, segments: undefined, operations });
    expect([...bytes]).toEqual([9, 0, 0, 0, 0, 1, 5, 0, 0, 0, 0, 0, 0, 0, 1, 1]);
  });
  test("of a long tail has room for all of it at once, and hardly more", () => {
    const tail = Array.from({ length: 700 }, (_, number) => ({ number, bytes: new Uint8Array(1_500).fill(number) }));
    const bytes = encodeManifest({ layout: 9, segments: [], operations: tail });
    const reader = new Reader(bytes);
    expect([reader.u32(), reader.u8(), reader.varint()]).toEqual([9, 1, 0]);
    const read = reader.list((it) => [it.u64(), it.bytes().at(-1)]);
    expect(read).toEqual(tail.map(({ number }) => [number, number % 256]));
    reader.end();
    expect(bytes.buffer.byteLength - bytes.length).toBeLessThan(16 * (tail.length + 1));
  });
});

describe("change", () => {
  const writer = new Writer().u64(12).varint(1).u32(3).varint(1).u32(4).bytes(Uint8Array.of(5));
  const whole = writer
    .varint(1)
    .u32(6)
    .text("mail")
    .u32(2)
    .bytes(Uint8Array.of(7))
    .bytes(Uint8Array.of(8))
    .varint(1)
    .bytes(Uint8Array.of(9))
    .u8(1)
    .finish();

  test("is read whole", () => {
    expect(decodeChange(whole)).toEqual({
      hasMore: true,
      folded: 12,
      removedSegments: [3],
      liveness: [{ segment: 4, liveness: Uint8Array.of(5) }],
      newSegments: [
        {
          number: 6,
          schema: "mail",
          documents: 2,
          header: Uint8Array.of(7),
          liveness: Uint8Array.of(8),
          blocks: [Uint8Array.of(9)],
        },
      ],
    });
  });
  test("of no bytes is none", () => expect(decodeChange(new Uint8Array())).toBeUndefined());
  test("cut anywhere, or with more behind it, is an error", () => {
    for (let length = 1; length < whole.length; length += 1)
      expect(() => decodeChange(whole.subarray(0, length))).toThrow();
    expect(() => decodeChange(Uint8Array.of(...whole, 0))).toThrow("1 bytes too many");
  });
});
