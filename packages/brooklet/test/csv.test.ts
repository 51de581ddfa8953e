import { describe, expect, test } from "vitest";
import { readCsv } from "../src/command/import/csv.ts";

async function rows(text: string, chunkBytes = 1_000, delimiter = ","): Promise<Record<string, string>[]> {
  const bytes = new TextEncoder().encode(text);
  async function* parts(): AsyncGenerator<Uint8Array> {
    for (let at = 0; at < bytes.length; at += chunkBytes) yield bytes.subarray(at, at + chunkBytes);
  }
  const found: Record<string, string>[] = [];
  for await (const row of readCsv(parts(), delimiter)) found.push(Object.fromEntries(row));
  return found;
}

test("values are read as they were written, wherever the text is cut", async () => {
  const text = '\ufeffa,b b,c\r\n1,"x, ""y""\r\nz",\n\n"",ü,"ü\n"';
  const expected = [
    { a: "1", "b b": 'x, "y"\r\nz', c: "" },
    { a: "", "b b": "ü", c: "ü\n" },
  ];
  for (const chunkBytes of [1, 2, 3, 7, 1_000]) expect(await rows(text, chunkBytes)).toEqual(expected);
});

test("whatever is written comes back", async () => {
  const alphabet = ["a", '"', ",", "\n", "\r\n", "ü", "", ";"];
  let seed = 7;
  const random = (count: number): number => {
    seed = (seed * 48_271) % 2_147_483_647;
    return seed % count;
  };
  for (let turn = 0; turn < 200; turn += 1) {
    const values = Array.from({ length: 1 + random(5) }, () =>
      Array.from({ length: 3 }, () =>
        Array.from({ length: random(5) }, () => alphabet[random(alphabet.length)] ?? "").join(""),
      ),
    );
    const quoted = values.map((row) => row.map((value) => `"${value.replaceAll('"', '""')}"`).join(",")).join("\n");
    const found = await rows(`x,y,z\n${quoted}\n`, 1 + random(9));
    expect(found.map(({ x, y, z }) => [x, y, z])).toEqual(values);
  }
});

describe("what is no table is refused with its line", () => {
  test.each([
    ["a,b\n1,2\n1\n", "line 3: there are 1 values for 2 columns"],
    ['a\n"x\ny', "line 2: a quoted value does not end"],
    ['a\nx"y\n', "line 2: a quote stands inside a value"],
    ['a\n"x"y\n', "line 2: 'y' stands after a quoted value"],
    ["a,a\n", "line 1: two columns are called 'a'"],
  ])("%j", async (text, message) => {
    await expect(rows(text)).rejects.toThrow(message);
  });

  test("a delimiter of several characters", async () => {
    await expect(rows("a", 1, "::")).rejects.toThrow("give one character");
    expect(await rows("a;b\n1;2", 1, ";")).toEqual([{ a: "1", b: "2" }]);
  });
});

test("what is no text in UTF-8 is told by its line, also where the text ends within a character", async () => {
  for (const end of [[0xff, 0x0a], [0xc3]]) {
    async function* parts(): AsyncGenerator<Uint8Array> {
      yield new Uint8Array([...new TextEncoder().encode("a,b\n1,2\n"), ...end]);
    }
    const read = async (): Promise<void> => {
      for await (const _ of readCsv(parts(), ","));
    };
    await expect(read()).rejects.toThrow(/^line \d+ or one after it is no text in UTF-8$/);
  }
});
