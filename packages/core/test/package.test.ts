/** Packages as the host handles them: their files, and the outlines of models behind them. */
import { expect, test } from "vitest";
import { Writer } from "../src/frame.ts";
import { fileOfPackage, withHistory, withOutlines } from "../src/package.ts";

const files = new Writer().varint(2).text("a.xml").text("A").text("b.onnx").text("").finish();
const bytes = (text: string) => new TextEncoder().encode(text);

test("outlines are appended, replaced, and found by their address; files stay what they are", () => {
  const first = withOutlines(files, [["https://x/m", bytes("one")]]);
  const second = withOutlines(first, [
    ["https://x/n", bytes("two")],
    ["a.xml", bytes("not the file")],
  ]);
  for (const given of [files, first, second]) {
    expect(fileOfPackage(given, "a.xml")).toEqual(bytes("A"));
    expect(fileOfPackage(given, "b.onnx")).toEqual(bytes(""));
    expect(fileOfPackage(given, "c")).toBeUndefined();
  }
  expect(fileOfPackage(files, "https://x/m")).toBeUndefined();
  expect(fileOfPackage(first, "https://x/m")).toEqual(bytes("one"));
  expect(fileOfPackage(second, "https://x/m")).toBeUndefined();
  expect(fileOfPackage(second, "https://x/n")).toEqual(bytes("two"));
  expect(withOutlines(second, [])).toEqual(files);
});

test("what is remembered stands behind files and outlines, once, and leaves them readable", () => {
  const files = new Writer().varint(1).text("services.xml").bytes(Uint8Array.of(1)).finish();
  const withOutline = withOutlines(files, [["https://models/m.onnx", Uint8Array.of(2)]]);
  for (const given of [files, withOutline]) {
    const first = withHistory(given, Uint8Array.of(7));
    expect(fileOfPackage(first, "services.xml")).toEqual(Uint8Array.of(1));
    expect(fileOfPackage(first, "history")).toEqual(Uint8Array.of(7));
    const second = withHistory(first, Uint8Array.of(8, 9));
    expect(second).toEqual(withHistory(given, Uint8Array.of(8, 9)));
    expect(withHistory(given, new Uint8Array())).toEqual(given);
  }
  expect(fileOfPackage(withHistory(withOutline, Uint8Array.of(7)), "https://models/m.onnx")).toEqual(Uint8Array.of(2));
});
