import { describe, expect, test } from "vitest";
import { passageRanges } from "../src/index.ts";

const cut = (text: string, length: number): string[] =>
  passageRanges(text, length).map(({ start, end }) => text.slice(start, end));

describe("a text is cut", () => {
  test("at the ends of sentences, whatever marks and quotes are there", () => {
    expect(cut('One. "Two!" (Three?) Four... 3.14 five.\n\nSix', 8)).toEqual([
      "One.",
      '"Two!"',
      "(Three?)",
      "Four...",
      "3.14 five.",
      "Six",
    ]);
  });

  test("at the ends of sentences that no space follows, where a script has none", () => {
    expect(cut("今日は晴れ。「明日も？」とても！3.5度。", 6)).toEqual([
      "今日は晴れ。",
      "「明日も？」",
      "とても！",
      "3.5度。",
    ]);
  });

  test.each([
    ["marks of ends", "."],
    ["quotes after a mark", '."'],
    ["ideographs", "語"],
    ["flags", "🇩🇪"],
    ["spaces", " "],
    ["ends of lines", "\n"],
  ])("in a moment, be it half a million %s", (_, unit) => {
    const text = `a${unit.repeat(500_000)}x`;
    const ranges = passageRanges(text, 600);
    expect(ranges.at(-1)?.end).toBe(text.length);
  });

  test("between characters as a reader sees them, and never on without end", () => {
    expect(cut("日👍👍👍", 1)).toEqual(["日", "👍", "👍", "👍"]);
    expect(cut("e\u0301".repeat(9), 5).join("|").normalize("NFC")).toBe("éé|éé|ééééé");
    expect(cut("👩‍👩‍👧".repeat(4), 10)).toEqual(["👩‍👩‍👧", "👩‍👩‍👧", "👩‍👩‍👧👩‍👩‍👧"]);
    expect(cut("👍🏽".repeat(6), 7)).toEqual(["👍🏽", "👍🏽", "👍🏽", "👍🏽👍🏽👍🏽"]);
    expect(cut("🇩🇪🇫🇷🇮🇹🇪🇸", 6)).toEqual(["🇩🇪", "🇫🇷🇮🇹🇪🇸"]);
    expect(cut("🏴󠁧󠁢󠁥󠁮󠁧󠁿".repeat(3), 8)).toEqual(["🏴󠁧󠁢󠁥󠁮󠁧󠁿", "🏴󠁧󠁢󠁥󠁮󠁧󠁿", "🏴󠁧󠁢󠁥󠁮󠁧󠁿"]);
    expect(cut("각".normalize("NFD").repeat(3), 2).join("|").normalize("NFC")).toBe("각|각|각");
    const marks = `a${"\u0301".repeat(500)}`;
    expect(cut(marks, 100).join("")).toBe(marks);
  });
});
