/** Evaluation by judged questions: measures by hand, intervals, searches of a database, and the command. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { runCommandLine } from "../src/command/program.ts";
import { meanOf } from "../src/evaluation/interval.ts";
import { evaluate, ndcg, recall, reciprocalRank } from "../src/evaluation.ts";
import { type Client, connect, type Database, int, open, schema, serve, text } from "../src/index.ts";
import { judgedSets } from "./judged-set.ts";

const note = schema(
  "note",
  { text: text(), year: int() },
  { stemming: "english", profiles: { backwards: { firstPhase: "-bm25(text)" } } },
);

describe("measures", () => {
  const grades = { best: 2, good: 1, bad: 0 };

  test("are those of the books", () => {
    // By hand: gains 3, 1; discounts 1, 1/log2(3), 1/2.
    const ideal = 3 + 1 / Math.log2(3);
    expect(ndcg(["best", "good"], grades, 10)).toBe(1);
    expect(ndcg(["x", "best", "good"], grades, 10)).toBeCloseTo((3 / Math.log2(3) + 1 / 2) / ideal, 12);
    expect(ndcg(["x", "best", "good"], grades, 2)).toBeCloseTo(3 / Math.log2(3) / ideal, 12);
    expect(recall(["x", "good"], grades, 10)).toBe(0.5);
    expect(recall(["x", "good"], grades, 1)).toBe(0);
    expect(reciprocalRank(["x", "bad", "good"], grades)).toBeCloseTo(1 / 3, 12);
    expect(reciprocalRank(["x"], grades)).toBe(0);
  });

  test("take no name of JavaScript's for a document", () => {
    expect(ndcg(["constructor"], grades, 10)).toBe(0);
    expect(reciprocalRank(["toString"], grades)).toBe(0);
  });

  test("of nothing good are 0", () => {
    expect([ndcg(["bad"], { bad: 0 }, 10), recall(["bad"], { bad: 0 }, 10)]).toEqual([0, 0]);
  });

  test("count an id once, where it comes first", () => {
    const ids = ["m7", "m7", "m1", "m1", "m2"];
    expect(ndcg(["m1", "m1"], { m1: 1 }, 10)).toBe(1);
    expect(ndcg(ids, { m1: 1, m2: 1 }, 3)).toBe(ndcg(["m7", "m1", "m2"], { m1: 1, m2: 1 }, 3));
    expect(recall(ids, { m1: 1, m2: 1 }, 3)).toBe(1);
    expect(reciprocalRank(ids, { m1: 1 })).toBe(1 / 2);
  });
});

describe("intervals", () => {
  test("hold the mean, are narrower with more values, and the same for a seed", () => {
    const values = (count: number): number[] => Array.from({ length: count }, (_, index) => index % 2);
    const [few, many] = [meanOf(values(20), 2_000, 1), meanOf(values(2_000), 2_000, 1)];
    expect(few.mean).toBe(0.5);
    // The standard error of 20 coins is 0.112; 1.96 of it each way.
    expect(few.low).toBeGreaterThan(0.22);
    expect(few.low).toBeLessThan(0.34);
    expect(few.high).toBeGreaterThan(0.66);
    expect(few.high).toBeLessThan(0.78);
    expect(many.high - many.low).toBeLessThan((few.high - few.low) / 5);
    expect(meanOf(values(20), 2_000, 1)).toEqual(few);
    expect(meanOf(values(21), 2_000, 2)).not.toEqual(meanOf(values(21), 2_000, 1));
    expect(meanOf([0.25, 0.25], 100, 0)).toEqual({ mean: 0.25, low: 0.25, high: 0.25 });
  });
});

const DOCUMENTS = {
  both: { text: "invoice invoice paid", year: 2001 },
  one: { text: "a long letter that has one invoice in the midst of it", year: 2002 },
  other: { text: "lunch", year: 2003 },
};
const JUDGED = [
  { question: "invoice", answers: { both: 2, one: 1 } },
  { question: "lunch", answers: ["other"] },
];

async function filled(database: Client, name: string): Promise<void> {
  const documents = Object.entries(DOCUMENTS).map(([id, fields]) => ({ id, fields }));
  await database.group(name).feed(note, documents);
}

describe("searches of a database", () => {
  let database: Database;
  beforeAll(async () => {
    database = await open({ schemas: [note] });
    await filled(database, "alice");
  });
  afterAll(() => database.close());

  test("are compared, the first with the others", async () => {
    const evaluation = await evaluate(database.group("alice"), note, JUDGED, { profiles: ["default", "backwards"] });
    const ideal = 3 + 1 / Math.log2(3);
    const backwards = (1 + 3 / Math.log2(3)) / ideal;
    const { profiles } = evaluation;
    expect(profiles["default"]?.ndcg).toEqual({ mean: 1, low: 1, high: 1 });
    expect(profiles["default"]?.ndcgGain).toBeUndefined();
    expect(profiles["backwards"]?.ndcg.mean).toBeCloseTo((backwards + 1) / 2, 12);
    expect(profiles["backwards"]?.ndcgGain?.mean).toBeCloseTo((backwards - 1) / 2, 12);
    expect(profiles["backwards"]?.recall.mean).toBe(1);
    expect(evaluation).toMatchObject({ depth: 100, questionCount: 2 });
    expect(JSON.parse(JSON.stringify(evaluation))).toEqual({ ...evaluation });
    expect(String(evaluation).split("\n")).toEqual([
      expect.stringMatching(/^profile +nDCG@10 +recall@100 +MRR +nDCG gain$/),
      expect.stringMatching(/^default +1\.000 \[1\.000, 1\.000\]/),
      expect.stringMatching(/^backwards +0\.\d{3} \[0\.\d{3}, 1\.000\] .*-0\.\d{3} \[-0\.\d{3}, 0\.000\]$/),
      "2 questions; in brackets the 95 % intervals",
    ]);
  });

  test("may be options, functions that make them, or rankings", async () => {
    const { profiles } = await evaluate(database.group("alice"), note, JUDGED, {
      profiles: {
        newest: { orderBy: "year desc" },
        made: ({ question }) => ({ text: question, where: (it) => it.year.ge(2002) }),
        passages: async ({ question, group, depth }) => {
          const { passages } = await group.retrieve(note, question, { passages: depth });
          return passages.map(({ documentId }) => documentId);
        },
        none: () => [],
      },
    });
    expect(profiles["newest"]?.questions[0]).toMatchObject({ question: "invoice", recall: 1, reciprocalRank: 1 });
    expect(profiles["newest"]?.questions[0]?.ndcg).toBeLessThan(1);
    expect(profiles["made"]?.questions[0]).toMatchObject({ recall: 0.5, missed: ["both"] });
    expect(profiles["passages"]?.recall.mean).toBe(1);
    expect(profiles["none"]).toMatchObject({ ndcg: { mean: 0, high: 0 }, recall: { mean: 0 } });
  });

  test("know a document by its whole id too", async () => {
    const whole = (id: string): string => `id:note:note:g=alice:${id}`;
    const judged = JUDGED.map(({ question, answers }) => ({
      question,
      answers: Array.isArray(answers)
        ? answers.map(whole)
        : Object.fromEntries(Object.entries(answers).map(([id, grade]) => [whole(id), grade])),
    }));
    const alice = database.group("alice");
    const expected = await evaluate(alice, note, JUDGED);
    expect(expected.profiles["default"]?.ndcg.mean).toBe(1);
    expect(await evaluate(alice, note, judged)).toEqual(expected);
    const ranked = { profiles: { ranked: () => ["both"].map(whole) } };
    expect((await evaluate(alice, note, JUDGED, ranked)).profiles["ranked"]?.questions[0]?.missed).not.toContain(
      "both",
    );
  });

  test("are asked in the group that a question names", async () => {
    const judged = JUDGED.map((one) => ({ ...one, group: "alice" }));
    const { profiles } = await evaluate(database, note, judged);
    expect(profiles["default"]?.ndcg.mean).toBe(1);
    await expect(evaluate(database, note, JUDGED)).rejects.toThrow(/judged\[0\] has no `group`/);
    const bob = evaluate(database.group("bob"), note, judged);
    await expect(bob).rejects.toThrow("a judged question is about group 'alice', and 'bob' is evaluated");
  });

  test.each([
    [[], {}, "there is no question"],
    [[{ question: "", answers: ["x"] }], {}, "judged[0].question: expected a text that is not empty"],
    [[{ question: "x", answers: {} }], {}, "judged[0].answers: no document answers"],
    [[{ question: "x", answers: { a: -1 } }], {}, "judged[0].answers.a: -1 is no grade"],
    [[{ question: "x", answers: ["a"], grade: 1 }], {}, "a judged question has no 'grade'"],
    [JUDGED, { depth: 401 }, "depth of an evaluation is 401: give a whole number from 10 to 400"],
    [JUDGED, { profiles: ["backward"] }, "has no profile 'backward'; did you mean 'backwards'?"],
    [JUDGED, { profiles: {} }, "profiles is empty: name one"],
    [JUDGED, { profile: ["default"] }, "'profile'"],
  ])("say what is wrong with %j and %j", async (judged, options, told) => {
    const evaluated = evaluate(database.group("alice"), note, judged as never, options as never);
    await expect(evaluated).rejects.toMatchObject({ code: "INVALID_ARGUMENT", message: expect.stringContaining(told) });
  });
});

describe("the command", () => {
  const folder = mkdtempSync(join(tmpdir(), "brooklet-eval-"));
  afterAll(() => rmSync(folder, { recursive: true }));

  async function run(...words: string[]): Promise<{ code: number; printed: string; warned: string }> {
    const [printed, warned]: [string[], string[]] = [[], []];
    async function* nothing(): AsyncGenerator<Uint8Array> {}
    const code = await runCommandLine(["eval", ...words], {
      print: (line) => printed.push(line),
      warn: (line) => warned.push(line),
      progress: () => {},
      input: nothing(),
      untilEnded: async () => {},
    });
    return { code, printed: printed.join("\n"), warned: warned.join("\n") };
  }

  function stored(name: string, content: unknown): string {
    const file = join(folder, name);
    writeFileSync(file, typeof content === "string" ? content : JSON.stringify(content));
    return file;
  }

  test("prints a table, or JSON, of the profiles of a server", async () => {
    const service = await serve({ port: 0, threads: 0, path: join(folder, "data") });
    onTestFinished(() => service.close());
    const client = connect({ url: service.url });
    await client.deploy([note]);
    await filled(client, "alice");
    const where = ["--url", service.url, "--schema", "note"];
    const file = stored("judged.json", { about: "notes", questions: JUDGED });
    const table = await run(file, ...where, "--group", "alice", "--profile", "default", "backwards");
    expect(table).toMatchObject({ code: 0, warned: "" });
    expect(table.printed).toMatch(/^default +1\.000 \[1\.000, 1\.000\]/m);
    expect(table.printed).toMatch(/^backwards +0\.\d{3}/m);
    const json = await run(file, ...where, "--group", "alice", "--depth", "10", "--json");
    expect(JSON.parse(json.printed)).toMatchObject({
      depth: 10,
      questionCount: 2,
      profiles: { default: { ndcg: { mean: 1 }, questions: [{ question: "invoice", missed: [] }, {}] } },
    });
    const own = stored(
      "own.json",
      JUDGED.map((one) => ({ ...one, group: "alice" })),
    );
    expect((await run(own, ...where)).printed).toMatch(/^default +1\.000/m);
    expect(await run(file, ...where)).toMatchObject({ code: 2, warned: expect.stringContaining("--group NAME") });
    expect(await run(file, ...where, "--group", "alice", "--profile", "no")).toMatchObject({ code: 1 });
  });

  test("says what is wrong with a file", async () => {
    const where = ["--schema", "note", "--group", "alice"];
    const broken = await run(stored("broken.json", "{"), ...where);
    expect(broken).toMatchObject({ code: 2, warned: expect.stringContaining("is no JSON") });
    const wrong = await run(stored("wrong.json", { questions: [{ question: "x" }] }), ...where);
    expect(wrong).toMatchObject({ code: 2, warned: expect.stringContaining("questions[0].answers: expected ids") });
    expect(await run(join(folder, "none.json"), ...where)).toMatchObject({ code: 2 });
  });

  test("takes the judged sets of this project", async () => {
    const database = await open({ schemas: [note] });
    onTestFinished(() => database.close());
    const set = judgedSets.find(({ name }) => name === "abstracts");
    const group = database.group("abstracts");
    await group.feed(
      note,
      [...(set?.texts ?? [])].map(([id, content]) => ({ id, fields: { text: content, year: 2000 } })),
    );
    const { profiles } = await evaluate(group, note, set?.questions ?? []);
    const { ndcg: measured } = profiles["default"] ?? {};
    expect(measured?.mean).toBeGreaterThan(0.9);
    expect((measured?.high ?? 0) - (measured?.low ?? 0)).toBeLessThan(0.06);
    expect(measured?.low).toBeLessThan(measured?.mean ?? 0);
  });
});
