import { describe, expect, test } from "vitest";
import { textsOfHit } from "../src/hit-texts.ts";
import {
  type FoundTexts,
  type Reranker,
  type RetrievalOptions,
  type RetrievalSearch,
  retrieve,
  tokensAtMost,
} from "../src/index.ts";

const document = (id: string, ...texts: readonly string[]): FoundTexts => ({
  documentId: id,
  relevance: 1,
  texts: texts.map((text, element) => ({ field: "body", text, ...(texts.length > 1 ? { element } : {}) })),
});

/** A search that answers from a list, page by page, and counts its pages. */
function listed(name: string, hits: readonly FoundTexts[]): RetrievalSearch & { readonly pages: number[] } {
  const pages: number[] = [];
  return {
    name,
    pages,
    run: async ({ limit, offset }) => {
      pages.push(limit);
      // The relevance falls from 1 to 0, as evenly as the ranks.
      const ranked = hits.map((hit, index) => ({ ...hit, relevance: 1 - index / Math.max(1, hits.length - 1) }));
      return ranked.slice(offset, offset + limit);
    },
  };
}

const DOCUMENTS = [
  document("id:a", "The deposit is two months' rent. It is paid back in May. Bicycles stand in the cellar."),
  document("id:b", "We walked along the sea, and it rained all day."),
  document("id:c", "The landlord keeps the deposit until the flat is empty."),
];

const words = (text: string): number => text.split(/\s+/u).filter((word) => word !== "").length;

describe("passages", () => {
  test("come from all searches, the best of each document first, with exact ranges", async () => {
    const { passages, tokens } = await retrieve("When is the deposit paid back?", [
      listed("text", DOCUMENTS.slice(0, 1)),
      listed("vector", [...DOCUMENTS].reverse()),
    ]);
    expect(passages.map(({ documentId }) => documentId)).toEqual(["id:a", "id:c", "id:b"]);
    expect(passages[0]?.scores).toEqual({
      fused: 1 + 0,
      share: 1,
      ranks: { text: 1, vector: 3 },
      relevances: { text: 1, vector: 0 },
    });
    for (const { documentId, start, end, text } of passages) {
      const stored = DOCUMENTS.find((it) => it.documentId === documentId)?.texts[0]?.text ?? "";
      expect(stored.slice(start, end)).toBe(text);
    }
    expect(tokens).toBe(tokensAtMost(passages.map(({ text }) => text).join("\n\n")));
  });

  test("of a long text are those that answer", async () => {
    const filler = "Nothing of interest happened on this day, and nobody wrote about it. ".repeat(40);
    const stored = `${filler}The boiler was repaired on 3 March by Weber. ${filler}`;
    const search = listed("text", [document("id:x", stored)]);
    const { passages } = await retrieve("Who repaired the boiler?", [search], { passageLength: 200 });
    expect(passages[0]?.text).toContain("The boiler was repaired on 3 March by Weber.");
    expect(passages[0]?.text.length).toBeLessThan(300);
    expect(passages.length).toBeLessThanOrEqual(2);
  });

  test("follow stored ranges and what a ranking says of them", async () => {
    const text = "One. Two. Three.";
    const ranges = [
      { start: 0, end: 4 },
      { start: 5, end: 9 },
      { start: 10, end: 16 },
    ];
    const texts = [{ field: "body", text, ranges, rangeScores: [0.1, 0.9, -0.4] }];
    const search = listed("vector", [{ documentId: "id:x", relevance: 1, texts }]);
    const { passages } = await retrieve("unknown words", [search], { passagesOfDocument: 3 });
    expect(passages.map((it) => [it.text, it.scores.share])).toEqual([
      ["Two.", 1],
      ["One.", expect.closeTo(0.5 / 1.3)],
      ["Three.", 0],
    ]);
  });

  test("are the same whatever comes first", async () => {
    const slow = (search: RetrievalSearch, waitMs: number): RetrievalSearch => ({
      ...search,
      run: async (page) => {
        await new Promise((resolve) => setTimeout(resolve, waitMs));
        return search.run(page);
      },
    });
    const ask = (first: number, second: number) =>
      retrieve("deposit", [
        slow(listed("text", DOCUMENTS), first),
        slow(listed("vector", [...DOCUMENTS].reverse()), second),
      ]);
    expect(await ask(5, 0)).toEqual(await ask(0, 5));
  });

  test("that say nearly the same are one, and what they crowded out is reached", async () => {
    const spam = Array.from({ length: 1_000 }, (_, number) =>
      document(
        `id:spam:${number}`,
        `BUY the deposit now! Cheap deposit for everyone who reads this mail, number ${number}`,
      ),
    );
    const search = listed("text", [...spam, ...DOCUMENTS]);
    const { passages } = await retrieve("deposit", [search]);
    expect(passages.map(({ documentId }) => documentId)).toEqual(["id:spam:0", "id:a", "id:b", "id:c"]);
    expect(passages[0]?.duplicates).toHaveLength(999);
    expect(search.pages).toEqual([16, 400, 400, 400]);
  });

  test("wait for a reranker as long as is said, whatever it does with its signal", async () => {
    let seen: AbortSignal | undefined;
    const silent: Reranker = (_, __, signal) => {
      seen = signal;
      return new Promise(() => undefined);
    };
    const asked = retrieve("deposit", [listed("text", DOCUMENTS)], { rerank: silent, timeoutMs: 50 });
    await expect(asked).rejects.toMatchObject({
      failure: "timed out",
      message: "The reranker said nothing within 50 ms",
    });
    expect(seen?.aborted).toBe(true);
    const caller = new AbortController();
    const left = retrieve("deposit", [listed("text", DOCUMENTS)], { rerank: silent, signal: caller.signal });
    setTimeout(() => caller.abort(new Error("gone")), 10);
    await expect(left).rejects.toThrow("gone");
  });

  test("are ordered anew by a reranker, which sees the candidates only", async () => {
    const seen: string[][] = [];
    const options: RetrievalOptions = {
      rerankCount: 2,
      rerank: (_, texts) => {
        seen.push([...texts]);
        return texts.map((text) => (text.includes("walked") ? 7 : -7));
      },
    };
    const { passages } = await retrieve("deposit", [listed("text", DOCUMENTS)], options);
    expect(passages.map(({ documentId, score }) => [documentId, score])).toEqual([
      ["id:b", 7],
      ["id:a", -7],
      ["id:c", expect.any(Number)],
    ]);
    expect(seen).toEqual([[DOCUMENTS[0]?.texts[0]?.text, DOCUMENTS[1]?.texts[0]?.text]]);
    for (const given of [[1], [1, Number.NaN, 1], new Array(3), undefined]) {
      const broken = retrieve("deposit", [listed("text", DOCUMENTS)], { rerank: () => given as number[] });
      await expect(broken).rejects.toMatchObject({
        failure: "malformed",
        message: "The reranker must give a finite number for each of 3 passages",
      });
    }
  });

  describe("of one search have its scores,", () => {
    const ranked = (relevances: readonly number[], floor?: RetrievalSearch["floor"]): RetrievalSearch => ({
      name: "hybrid",
      ...(floor === undefined ? {} : { floor }),
      run: async ({ offset }) =>
        relevances.map((relevance, at) => ({ ...document(`id:${at}`, `Text ${at}.`), relevance })).slice(offset),
    });
    const scores = async (search: RetrievalSearch, options: RetrievalOptions = {}): Promise<readonly number[]> =>
      (await retrieve("unheard", [search], options)).passages.map(({ score }) => score);
    const usual = { share: 0.5, score: 0.2 };

    test("and those below the floor are left out", async () => {
      expect(await scores(ranked([0.8, 0.3, 0.19, 0.1]))).toEqual([0.8, 0.3, 0.19, 0.1]);
      expect(await scores(ranked([0.8, 0.3, 0.19, 0.1], usual))).toEqual([0.8, 0.3]);
      expect(await scores(ranked([0.2, 0.15, 0.11, 0.09], usual))).toEqual([0.2, 0.15, 0.11]);
      expect(await scores(ranked([20, 2, 1.9, 0], { share: 0.1 }))).toEqual([20, 2]);
    });

    test("and no further page is fetched where none could reach the floor", async () => {
      const pages: number[] = [];
      const copies = (relevances: readonly number[]): RetrievalSearch => ({
        name: "hybrid",
        floor: usual,
        run: async ({ limit, offset }) => {
          pages.push(offset);
          const all = relevances.map((relevance, at) => ({ ...document(`id:${at}`, "The same text."), relevance }));
          return all.slice(offset, offset + limit);
        },
      });
      expect(await scores(copies([0.9, 0.8, 0.3, 0.1]), { candidates: 2 })).toEqual([0.9]);
      expect(pages).toEqual([0, 2]);
      pages.length = 0;
      expect(await scores(copies([0.9, 0.8, 0.1, 0.1]), { candidates: 3 })).toEqual([0.9]);
      expect(pages).toEqual([0]);
    });

    test("unless the caller has another floor, or none", async () => {
      expect(await scores(ranked([0.8, 0.3, 0.1], usual), { floor: 0 })).toEqual([0.8, 0.3, 0.1]);
      expect(await scores(ranked([0.8, 0.5, 0.3], usual), { floor: 0.5 })).toEqual([0.8, 0.5]);
      await expect(scores(ranked([1]), { floor: 2 })).rejects.toThrow("floor is 2: give a share from 0 to 1");
      const rerank = (_: string, texts: readonly string[]): number[] => texts.map(() => 1);
      expect(await scores(ranked([0.8, 0.3, 0.1], usual), { rerank })).toEqual([1, 1, 1]);
    });

    test("also where they are distances, which are moved up", async () => {
      expect(await scores(ranked([-1, -2, -3]))).toEqual([1, 0.5, 0]);
    });
  });

  test.each([["passages"], ["candidates"], ["passageLength"]])("%s must be a count", async (name) => {
    await expect(retrieve("x", [], { [name]: 0 })).rejects.toThrow(`${name} is 0: give a positive integer`);
  });

  test("of nothing are none", async () => {
    expect(await retrieve("x", [listed("text", [])])).toEqual({ passages: [], tokens: 0 });
    expect(await retrieve("x", [])).toEqual({ passages: [], tokens: 0 });
  });
});

describe("a document of very many texts", () => {
  const COUNT = 150_000;

  test("of a list is retrieved", async () => {
    const tags = Array.from({ length: COUNT }, (_, number) => `tag ${number}`);
    const texts = textsOfHit({ fields: { title: "a title", tags }, features: {} }, ["title", "tags"], {});
    expect(texts).toHaveLength(COUNT + 1);
    const hit = { documentId: "id:a", relevance: 1, texts };
    const { passages } = await retrieve("14999", [listed("text", [hit]), listed("vector", [hit])]);
    expect(passages[0]?.text).toBe("tag 14999");
  });

  test("has its best passages found", async () => {
    const hit = document("id:a", `${"It is here. ".repeat(COUNT)}The deposit.`);
    const { passages } = await retrieve("deposit", [listed("text", [hit])], { passageLength: 12 });
    expect(passages[0]?.text).toBe("The deposit.");
  });
});

describe("the budget", () => {
  const texts = Array.from({ length: 40 }, (_, number) =>
    document(
      `id:${String(number).padStart(2, "0")}`,
      `Text ${number} ${"äöü 😀 word, ".repeat((number * 7) % 23)}end ${number}.`,
    ),
  );

  test.each([0, 1, 5, 17, 50, 120, 400, 3_000])("of %i tokens is never passed", async (tokens) => {
    for (const countTokens of [words, tokensAtMost]) {
      const retrieved = await retrieve("end", [listed("text", texts)], { tokens, countTokens, passages: 20 });
      const joined = retrieved.passages.map(({ text }) => text).join("\n\n");
      expect(countTokens(joined)).toBeLessThanOrEqual(tokens);
      expect(retrieved.tokens).toBe(retrieved.passages.length === 0 ? 0 : countTokens(joined));
    }
  });

  test("is filled by what fits, and the best is shortened rather than left out", async () => {
    const long = document("id:long", `First sentence here. ${"And another one follows it. ".repeat(20)}`);
    const search = listed("text", [long, document("id:short", "Short one.")]);
    const { passages } = await retrieve("sentence", [search], { tokens: 7, countTokens: words });
    expect(passages.map(({ text, start, end }) => [text, start, end])).toEqual([
      ["First sentence here.", 0, 20],
      ["Short one.", 0, 10],
    ]);
  });

  test("is counted in the time of what is counted, and filled to the last token", async () => {
    const many = Array.from({ length: 300 }, (_, number) =>
      document(`id:${number}`, `Thing ${number} ${"x".repeat(90)}`),
    );
    let characters = 0;
    // Two tokens begin and end whatever is counted, and one that ends a text is none where another follows.
    const countTokens = (text: string): number => {
      characters += text.length;
      return 2 + text.replaceAll("x\n\n", "\n").length;
    };
    const options = { passages: 300, candidates: 300, floor: 0, countTokens };
    const all = await retrieve("thing", [listed("text", many)], { ...options, tokens: 1_000_000 });
    expect(all.passages).toHaveLength(300);
    expect(characters).toBeLessThan(6 * all.tokens);
    const some = await retrieve("thing", [listed("text", many)], { ...options, tokens: 10_000 });
    const joined = (count: number) =>
      many
        .slice(0, count)
        .map(({ texts }) => texts[0]?.text)
        .join("\n\n");
    expect(countTokens(joined(some.passages.length))).toBe(some.tokens);
    expect(countTokens(joined(some.passages.length + 1))).toBeGreaterThan(10_000);
  });

  test("is of numbers: a counter that gives none is refused", async () => {
    const later = (async (text: string) => text.length) as unknown as () => number;
    for (const countTokens of [() => Number.NaN, () => -1, () => "7" as never, later]) {
      const counted = retrieve("deposit", [listed("text", DOCUMENTS)], { countTokens });
      await expect(counted).rejects.toThrow(/^countTokens gave .*: it has to give a number/);
    }
  });

  test("shortens the best of a script without spaces, too, between its characters", async () => {
    const search = listed("text", [document("id:ja", `${"保証金は家賃か\u3099".repeat(30)}。`)]);
    const { passages } = await retrieve("保証金", [search], { tokens: 23 });
    expect(passages.map(({ text }) => text)).toEqual(["保証金は家賃"]);
    const flags = listed("text", [document("id:eu", "🇩🇪🇫🇷".repeat(30))]);
    expect((await retrieve("x", [flags], { tokens: 29 })).passages.map(({ text }) => text)).toEqual(["🇩🇪🇫🇷🇩🇪"]);
  });
});
