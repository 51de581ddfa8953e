import { describe, expect, test } from "vitest";
import {
  allOf,
  alternatives,
  anyOf,
  BrookletError,
  type Condition,
  connect,
  dateHistogram,
  equiv,
  facet,
  labeled,
  nonEmpty,
  not,
  phrase,
  query,
  ranges,
  rank,
  type SearchOptions,
  schema,
  string,
  text,
  userInput,
  userQuery,
  vector,
  weakAnd,
  word,
  yqlQuery,
} from "../src/index.ts";
import { mail } from "./mail.ts";

describe("conditions", () => {
  const it = mail.conditions;
  const written: readonly (readonly [Condition, string])[] = [
    [it.subject.contains("new york"), 'subject contains "new york"'],
    [it.subject.phrase("new", "york"), 'subject contains phrase("new", "york")'],
    [it.subject.prefix("inv"), 'subject contains ({prefix: true}"inv")'],
    [it.subject.suffix("ice"), 'subject contains ({suffix: true}"ice")'],
    [it.body.substring("voi"), 'body contains ({substring: true}"voi")'],
    [it.sender.is('a"\\\n\u2028é'), 'sender contains "a\\"\\\\\\n\u2028é"'],
    [it.sender.in(["a", "b"]), 'sender in ("a", "b")'],
    [it.sender.in([]), "false"],
    [it.year.is(-5), "year = -5"],
    [it.size.ge(2 ** 31), "size >= 2147483648L"],
    [it.score.lt(1e-7), "score < 1.0e-7"],
    [it.score.gt(2.5e21), "score > 2.5e+21"],
    [it.year.between(1, 3), "range(year, 1, 3)"],
    [it.year.between(2.5, 3.5), "range(year, 2.5, 3.5)"],
    [it.sentAt.ge(new Date("2026-03-01T00:00:00.900Z")), "sentAt >= 1772323200.9"],
    [it.unread.is(true), "unread = true"],
    [it.people.name.is("Ada"), 'people.name contains "Ada"'],
    [it.counts.key.is("a"), 'counts.key contains "a"'],
    [it.year.is(1).and(it.year.is(2), it.year.is(3)), "(year = 1 and year = 2 and year = 3)"],
    [it.year.is(1).or(it.year.is(2)).and(it.unread.is(false).not()), "((year = 1 or year = 2) and !(unread = false))"],
    [it.subject.contains("a", { weight: 150, ranked: false }), 'subject contains ({weight: 150, ranked: false}"a")'],
    [it.subject.contains(word("a", { part: "prefix", id: 1 })), 'subject contains ({prefix: true, id: 1}"a")'],
    [
      it.subject.contains("a", { connectivity: { id: 1, weight: 0.5 } }),
      'subject contains ({connectivity: {id: 1, weight: 0.5}}"a")',
    ],
    [
      it.subject.phrase("new", alternatives({ york: 1, yorck: 0.7 })),
      'subject contains phrase("new", alternatives({"york": 1.0, "yorck": 0.7}))',
    ],
    [
      it.subject.near(["a", phrase("b", "c")], { distance: 5, not: ["d"], exclusionDistance: 1 }),
      'subject contains ({distance: 5, exclusionDistance: 1}near("a", phrase("b", "c"), !"d"))',
    ],
    [it.subject.onear(["a", equiv("b", "c")]), 'subject contains onear("a", equiv("b", "c"))'],
    [it.subject.equiv("a", phrase("b", "c")), 'subject contains equiv("a", phrase("b", "c"))'],
    [it.subject.alternatives({ a: 1 }), 'subject contains alternatives({"a": 1.0})'],
    [it.subject.text('a "b"', { grammar: "all" }), 'subject contains ({grammar: "all"}text("a \\"b\\""))'],
    [it.subject.in(["a"]), 'subject in ("a")'],
    [
      it.sender.fuzzy("adA", { maxEditDistance: 1, prefixLength: 2, prefix: true }),
      'sender contains ({maxEditDistance: 1, prefixLength: 2, prefix: true}fuzzy("adA"))',
    ],
    [it.sender.matches("^a.*\\d"), 'sender matches "^a.*\\\\d"'],
    [it.sender.weightedSet({ a: 1, "b c": -2 }), 'weightedSet(sender, {"a": 1, "b c": -2})'],
    [it.year.dotProduct({ 11: 1, 3: 2 }, { label: "d" }), '({label: "d"}dotProduct(year, [[3, 2], [11, 1]]))'],
    [
      it.labels.wand({ a: 1 }, { targetHits: 5, scoreThreshold: 0.5 }),
      '({targetHits: 5, scoreThreshold: 0.5}wand(labels, {"a": 1}))',
    ],
    [it.year.between(1, 3, { bounds: "leftOpen" }), '({bounds: "leftOpen"}range(year, 1, 3))'],
    [it.place.geoLocation({ lat: 59.9, lng: -10 }, "5 km"), 'geoLocation(place, 59.9, -10, "5 km")'],
    [it.place.geoBoundingBox({ south: 1, west: 2, north: 3, east: 4 }), "geoBoundingBox(place, 1, 2, 3, 4)"],
    [it.vec.nearestNeighbor(), '({targetHits: 100}nearestNeighbor(vec, "vec"))'],
    [
      it.vec.nearestNeighbor({ input: "q", totalTargetHits: 7, distanceThreshold: 0.5, label: "n" }),
      '({totalTargetHits: 7, distanceThreshold: 0.5, label: "n"}nearestNeighbor(vec, "q"))',
    ],
    [
      it.people.sameElement((person) => person.name.is("Ada").and(person.about.contains("x"))),
      'people contains sameElement((name contains "Ada" and about contains "x"))',
    ],
    [
      it.counts.sameElement((entry) => entry.key.is("a").and(entry.value.gt(3))),
      'counts contains sameElement((key contains "a" and value > 3))',
    ],
    [
      it.recipients.sameElement((value) => value.is("a").or(value.prefix("b")), { elementFilter: [0, 2] }),
      'recipients contains ({elementFilter: [0, 2]}sameElement((({grammar: "raw"}"a") or ({prefix: true}"b"))))',
    ],
    [it.recipients.at(0, "a b"), 'recipients contains ({elementFilter: [0]}sameElement(({grammar: "raw"}"a b")))'],
    [it.notes.at(0, "a b"), 'notes[0] = "a b"'],
    [rank(it.year.is(1), it.subject.contains("a")), 'rank(year = 1, subject contains "a")'],
    [weakAnd([it.year.is(1), it.year.is(2)], { targetHits: 5 }), "({targetHits: 5}weakAnd(year = 1, year = 2))"],
    [nonEmpty(userQuery), "nonEmpty(userQuery())"],
    [labeled(it.year.is(1), "l", 2), 'labeled(year = 1, "l", 2.0)'],
    [
      userInput('") or true or userInput("', { grammar: "web", defaultIndex: "all" }),
      '({grammar: "web", defaultIndex: "all"}userInput("\\") or true or userInput(\\""))',
    ],
    [anyOf(), "false"],
    [allOf(), "true"],
    [not(anyOf(it.year.is(1))), "!(year = 1)"],
  ];
  test.each(written)("%s", (condition, yql) => expect(String(condition)).toBe(yql));

  test("what is said of a condition cannot end it", () => {
    const options = { 'a: 1}"x") or true or ({b': 1 } as object;
    expect(() => it.subject.contains("a", options)).toThrow("cannot be said of a condition");
    expect(() => word("")).toThrow("a word may not be empty");
    expect(() => equiv("a")).toThrow("equiv needs 2 words at least");
    expect(() => it.sender.weightedSet({ a: 0.5 })).toThrow("the weight 0.5 of 'a' is not an integer");
    expect(() => it.recipients.at(-1, "a")).toThrow("-1 is no number of an element");
  });

  test("an empty text or a number that is none is refused", () => {
    expect(() => it.sender.is("")).toThrow("a condition on 'sender' may not be empty");
    expect(() => it.score.is(Number.NaN)).toThrow("NaN cannot be compared with: give a finite number");
  });

  // Of a fraction a server takes the integer next to it.
  test.each<[string, () => Condition, string]>([
    ["a fraction", () => it.year.is(2.5), "year cannot be compared with 2.5: give an integer"],
    ["one of a list", () => it.year.in([1, 2.5]), "year cannot be compared with 2.5: give an integer"],
    ["a value of a map", () => it.counts.value.is(0.5), "counts.value cannot be compared with 0.5: give an integer"],
    ["a weight's", () => it.year.weightedSet({ 2.5: 1 }), "year cannot be compared with 2.5: give an integer"],
    ["of an element", () => it.recipients.at(0, 2 as never), "recipients[0] cannot be compared with 2: give a text"],
    ["a text", () => it.year.is("2" as never), 'year cannot be compared with "2": give an integer'],
    [
      "nothing",
      () => it.score.is(undefined as never),
      "score cannot be compared with undefined: give a number or a Date",
    ],
    ["no truth value", () => it.unread.is(1 as never), "unread cannot be compared with 1: give true or false"],
    [
      "a bound that is a text",
      () => it.score.lt("2" as never),
      'score cannot be compared with "2": give a number or a Date',
    ],
  ])("what no value can be equal to is refused: %s", (_, write, message) => {
    expect(write).toThrow(message);
  });
});

describe("queries", () => {
  test("are ordered by fields, scores, and languages", () => {
    const orderBy = [
      { by: "sender", function: "uca", locale: "en_US", direction: "desc" },
      { by: "[relevance]" },
    ] as const;
    expect(String(query(mail, { orderBy }))).toBe(
      'select * from mail where true order by {function: "uca", locale: "en_US"}(sender) desc, "[relevance]"',
    );
  });

  test("leave a few hits of each value", () => {
    const { collapsefield, ...sizes } = query(mail, { collapse: ["sender", { by: "year", size: 3 }] }).parameters;
    expect(collapsefield).toBe("sender,year");
    expect(sizes).toMatchObject({ "collapsesize.sender": 1, "collapsesize.year": 3 });
    expect(query(mail, { collapse: "sender" }).parameters).toMatchObject({ collapsefield: "sender" });
    expect(query(mail, { collapse: [] }).parameters).not.toHaveProperty("collapsefield");
    expect(() => query(mail, { collapse: { by: "sender", size: 0 } })).toThrow("collapse leaves 0 hits of a 'sender'");
    // @ts-expect-error no field of this name
    query(mail, { collapse: "nosuch" });
  });

  test("without anything find everything", () => {
    expect(query(mail).toJSON()).toEqual({
      "brooklet.controlMarks": true,
      yql: "select * from mail where true",
      hits: 10,
      offset: 0,
      timeout: "5000ms",
      "ranking.profile": "default",
      "model.restrict": "mail",
    });
  });

  test("carry what a user typed beside the YQL, whatever it is", () => {
    const typed = "') or true; select * from sources * where userInput('x";
    const asked = query(mail, { text: typed, where: (it) => it.year.ge(2020) });
    expect(String(asked)).toBe('select * from mail where ({grammar: "tokenize"}userInput(@text)) and year >= 2020');
    expect(asked.parameters["text"]).toBe(typed);
  });

  test("make phrases of what stands in quotes", () => {
    const words = '({grammar: "tokenize"}userInput(@text))';
    const phrase = (number: number) => `({grammar: "phrase", stem: false}userInput(@text${number}))`;
    const asked = query(mail, { text: 'a "red house" -b “k:x” "!"' });
    expect(asked.yql).toBe(`select * from mail where (${words} or ${phrase(1)} or ${phrase(2)})`);
    expect(asked.parameters).toMatchObject({ text: "a   -b    ", text1: "red house", text2: "k:x" });
    expect(query(mail, { text: '"red house"' }).yql).toBe(`select * from mail where ${phrase(1)}`);
    expect(query(mail, { text: { query: 'a "b c"', match: "all" } }).yql).toBe(
      `select * from mail where (({grammar: "tokenize", grammar.composite: "and"}userInput(@text)) and ${phrase(1)})`,
    );
    // A quote without another is between words, as other signs are.
    expect(query(mail, { text: 'a "b' })).toMatchObject({ parameters: { text: 'a "b' } });
    expect(query(mail, { text: 'a "b' }).yql).toBe(`select * from mail where ${words}`);
  });

  test("find nothing by a text without a word, and say so", () => {
    for (const typed of ['"', "!!!", "-", "(", "*", '""', "👋", "²", "\u{301}"]) {
      const asked = query(mail, { text: typed });
      expect(asked.yql).toBe('select * from mail where ({grammar: "tokenize"}userInput(@text))');
      expect(asked.note).toEqual({
        code: "NO_WORDS",
        message: `${JSON.stringify(typed)} has no word to search for`,
      });
      expect(query(mail, { text: { query: typed, language: "simple" } }).yql).toBe(asked.yql);
    }
    expect(query(mail, { text: "a" })).not.toHaveProperty("note");
    const both = query(mail, { text: "!!!", near: { field: "vec", vector: [1, 0, 0] } });
    expect(both.yql).toContain('(({grammar: "tokenize"}userInput(@text)) or (');
  });

  test("take the signs of the query language only where they are asked for", () => {
    const simple = query(mail, { text: { query: 'k:x -word "a b"', language: "simple" } });
    expect(simple.yql).toBe("select * from mail where userInput(@text)");
    expect(simple.parameters["text"]).toBe('k:x -word "a b"');
    // @ts-expect-error there is no such language
    expect(() => query(mail, { text: { query: "a", language: "yql" } })).toThrow("'words' or 'simple', not \"yql\"");
    // @ts-expect-error a misspelt option
    expect(() => query(mail, { text: { query: "a", asYoutype: true } })).toThrow("asYouType");
  });

  test("say that the user is typing, and how words are taken", () => {
    const typing = "ranking.properties.brooklet.typing";
    const typos = "ranking.properties.brooklet.typos";
    expect(query(mail, { text: { query: "inv", asYouType: true } }).parameters).toMatchObject({ [typing]: "true" });
    expect(query(mail, { text: { query: "inv", typos: false } }).parameters).toMatchObject({ [typos]: "exact" });
    expect(query(mail, { text: "inv" }).parameters).not.toHaveProperty([typing]);
    expect(query(mail, { text: "inv" }).parameters).not.toHaveProperty([typos]);
  });

  test("take an empty text as none", () => {
    expect(String(query(mail, { text: "  ", orderBy: "sentAt desc" }))).toBe(
      "select * from mail where true order by sentAt desc",
    );
    expect(query(mail, { text: "", orderBy: "sentAt" }).parameters["ranking.profile"]).toBe("unranked");
  });

  test("say how the text is taken", () => {
    const asked = query(mail, { text: { query: "a b", match: "all", in: "all" } });
    expect(asked.yql).toBe(
      'select * from mail where ({grammar: "tokenize", grammar.composite: "and", defaultIndex: "all"}userInput(@text))',
    );
    const simple = query(mail, { text: { query: "a b", match: "all", in: "all", language: "simple" } });
    expect(simple.yql).toBe('select * from mail where ({grammar: "all", defaultIndex: "all"}userInput(@text))');
  });

  test("near a vector, and near or by words", () => {
    const near = { field: "vec", vector: new Float32Array([0.5, 0, -1]) } as const;
    const nearest = query(mail, { near: { ...near, targetHits: 7, distanceMax: 0.5 } });
    expect(nearest.yql).toBe(
      "select * from mail where ({targetHits: 7, distanceThreshold: 0.5}nearestNeighbor(vec, vec))",
    );
    expect(JSON.parse(JSON.stringify(nearest))).toMatchObject({
      "input.query(vec)": "3f00000000000000bf800000",
      "ranking.profile": "near_vec",
    });
    // What becomes of the numbers later is another query's business.
    near.vector.fill(0);
    expect(JSON.stringify(nearest.parameters["input.query(vec)"])).toBe(`"3f00000000000000bf800000"`);
    expect(String(nearest.parameters["input.query(vec)"])).toBe("3f00000000000000bf800000");
    const both = query(mail, { near, text: "a", limit: 150, where: mail.conditions.unread.is(true) });
    const close = `distanceThreshold: ${Math.acos(0.15)}`;
    expect(both.yql).toBe(
      `select * from mail where (({grammar: "tokenize"}userInput(@text)) or ({targetHits: 150, ${close}}nearestNeighbor(vec, vec))) and unread = true`,
    );
    expect(both.parameters["ranking.profile"]).toBe("hybrid_vec");
  });

  test.each([
    [{ matchBy: "words" }, "rank(WORDS, ({targetHits: 100}nearestNeighbor(vec, vec)))"],
    [{ matchBy: "neighbours", near: { targetHits: 3, distanceMax: 1 } }, "rank(NEAR(3, 1), WORDS)"],
    [{ matchBy: "both", near: { similarityMin: 1 } }, "WORDS and NEAR(10000, 0)"],
    [{ matchBy: "either", near: { similarityMin: -1 } }, "(WORDS or ({targetHits: 100}nearestNeighbor(vec, vec)))"],
    // All that are near enough match where a floor is said; what is on a page does not change that.
    [{ offset: 990, near: { distanceMax: 1 } }, "(WORDS or NEAR(10000, 1))"],
    // Where a vector is all, the page takes its own neighbours, and one that tells whether more follow.
    [{ text: "" }, "({targetHits: 11}nearestNeighbor(vec, vec))"],
    [{ text: "", offset: 90, limit: 5 }, "({targetHits: 96}nearestNeighbor(vec, vec))"],
    // What is counted, sorted or ranked otherwise is of as many as ever.
    [{ text: "", limit: 0 }, "({targetHits: 100}nearestNeighbor(vec, vec))"],
    [{ text: "", offset: 90, profile: "default" }, "({targetHits: 100}nearestNeighbor(vec, vec))"],
    [
      { text: "", near: { similarityMin: 0 } },
      `({targetHits: 10000, distanceThreshold: ${Math.acos(0)}}nearestNeighbor(vec, vec))`,
    ],
  ] as const)("of words and a vector, %o matches", (options, expected) => {
    const near = { field: "vec", vector: [1, 0, 0], ...("near" in options ? options.near : {}) } as const;
    const { yql } = query(mail, { text: "a", ...options, near } as SearchOptions<typeof mail>);
    const written = expected
      .replace(/NEAR\((\d+), (\d+)\)/, "({targetHits: $1, distanceThreshold: $2}nearestNeighbor(vec, vec))")
      .replace("WORDS", '({grammar: "tokenize"}userInput(@text))');
    expect(yql).toBe(`select * from mail where ${written}`);
  });

  test.each([
    [{ matchBy: "words" }, "give near too"],
    [{ matchBy: "all", near: {} }, "matchBy is 'all': give 'either', 'words', 'neighbours', 'both'"],
    [{ near: { similarityMin: 2 } }, "similarityMin is 2: give a cosine"],
    [{ near: { similarityMin: 0.5, distanceMax: 1 } }, "has both distanceMax and similarityMin"],
  ])("of words and a vector, %o is refused", (options, message) => {
    const near = "near" in options ? { near: { field: "vec", vector: [1, 0, 0], ...options.near } } : {};
    expect(() => query(mail, { text: "a", ...options, ...near } as never)).toThrow(message);
  });

  test("select fields, with the features of the profile", () => {
    const asked = query(mail, { fields: ["subject", "vec"], orderBy: ["year", "sentAt desc"] });
    expect(asked.yql).toBe(
      "select subject, vec, matchfeatures, summaryfeatures from mail where true order by year, sentAt desc",
    );
  });

  test("give inputs, pages, times", () => {
    const asked = query(mail, {
      profile: "recent",
      inputs: { now: 5 },
      limit: 3,
      offset: 6,
      timeoutMs: 70,
      timing: true,
    });
    expect(asked.parameters).toEqual({
      "brooklet.controlMarks": true,
      "ranking.profile": "recent",
      "model.restrict": "mail",
      "input.query(now)": 5,
      hits: 3,
      offset: 6,
      timeout: "70ms",
      "presentation.timing": true,
    });
  });

  test("give inputs that a profile declares, reads, inherits, or is near to, and those of what only the server knows", () => {
    const profiles = {
      own: { inputs: { now: "double" }, firstPhase: "query( boost ) * query(now)" },
      heir: { inherits: "own", functions: { least: "query(low)" } },
      round: { inherits: ["heir", "round"] },
      foreign: { inherits: "theirs" },
      filed: { firstPhase: "file:own.expression" },
    } as const;
    const ranked = schema("ranked", { vec: vector(2) }, { profiles });
    const asked = (profile: string, inputs: object) =>
      Object.keys(query(ranked, { profile, inputs } as never).parameters).filter((name) => name.startsWith("input"));
    const all = { now: 1, boost: 2, low: 3, vec: [1, 2] };
    const named = Object.keys(all).map((name) => `input.query(${name})`);
    for (const profile of ["heir", "round"]) expect(asked(profile, all)).toEqual(named);
    for (const profile of ["foreign", "filed"]) expect(asked(profile, { any: 1 })).toEqual(["input.query(any)"]);
    expect(() => asked("own", { low: 1 })).toThrow(
      "profile 'own' of schema ranked has no input 'low'; did you mean 'now'?",
    );
  });

  test("may be given in YQL, with parameters", () => {
    const yql = "select subject from mail where subject contains @word";
    const asked = yqlQuery(mail, yql, { parameters: { word: "a" }, summary: "short" });
    expect(asked.toJSON()).toMatchObject({ yql, word: "a", "presentation.summary": "short" });
  });

  test("that make no sense are refused", () => {
    expect(() => query(mail, { limit: -1 })).toThrow("limit is -1: give an integer that is not negative");
    expect(() => query(mail, { profile: "resent" as "recent" })).toThrow(
      "schema mail has no profile 'resent'; did you mean 'recent'?",
    );
    expect(() => query(mail, { text: { query: "a", in: "subjet" } })).toThrow("did you mean 'subject'?");
    const near = (field: string, vector: number[]) => () => query(mail, { near: { field: field as "vec", vector } });
    expect(near("vec", [1, 2])).toThrow("near 'vec' of schema mail cannot be searched: expected 3 finite numbers");
    expect(near("vek", [1, 2, 3])).toThrow("there is no such field; did you mean 'vec'?");
    const silent = schema("event", { kind: string(), vec: vector(2) });
    expect(() => query(silent, { text: "a" })).toThrow("schema event has no text to search: declare a text() field");
    expect(query(silent, { near: { field: "vec", vector: [1, 2] } }).parameters["ranking.profile"]).toBe("near_vec");
    expect(query(schema("note", { a: text() }), { text: "a" }).parameters["ranking.profile"]).toBe("default");
  });

  test("with an argument of another type are refused by its name", async () => {
    expect(() => query(mail, { text: 5 as never })).toThrow("text is no text: give one, or { query, in }");
    expect(() => query(mail, { text: { query: 5 as never } })).toThrow("text is no text");
    expect(() => query(mail, null as never)).toThrow("a search is null: give an object");
    expect(() => text({ mach: "prefix" } as never)).toThrow("text has no option 'mach'; did you mean 'match'?");
    expect(() => vector(3, { cells: "int8" } as never)).toThrow("vector has no option 'cells'; did you mean 'cell'?");
    const { group } = connect({
      url: "http://localhost:8080",
      fetch: () => Promise.reject(new Error("nothing is sent")),
    });
    const refused = { code: "INVALID_ARGUMENT", message: "signal is no AbortSignal" };
    await expect(group("a").get(mail, "1", { signal: 5 as never })).rejects.toMatchObject(refused);
  });

  test("with a name that is not known are refused, also where no type checker looks", () => {
    const loose = (options: object) => () => query(mail, options);
    expect(loose({ limt: 3 })).toThrow("a search has no option 'limt'; did you mean 'limit'?");
    expect(loose({ yql: "select * from mail where true" })).toThrow("a search has no option 'yql'");
    expect(() => yqlQuery(mail, "select * from mail where true", { text: "a" } as object)).toThrow("no option 'text'");
    const misspelt = (it: Record<string, { contains(word: string): Condition } | undefined>) =>
      it["subjet"]?.contains("a") as Condition;
    expect(loose({ where: misspelt })).toThrow("schema mail has no field 'subjet'; did you mean 'subject'?");
    const { signal } = new AbortController();
    expect(query(mail, { text: "a", signal } as object).yql).toContain("userInput");
  });
});

describe("what a caller without types was given does not become query language", () => {
  const odd = "year) or true | all(group(year) each(output(count())))";
  const vector = [1, 2, 3];
  const given: Readonly<Record<string, object>> = {
    "a field to be near to": { near: { field: odd, vector } },
    "an input": { near: { field: "vec", vector, input: odd } },
    "how many of the nearest": { near: { field: "vec", vector, targetHits: odd } },
    "a distance": { near: { field: "vec", vector, distanceMax: odd } },
    "a similarity": { near: { field: "vec", vector, similarityMin: odd } },
    "an embedder": { near: { field: "vec", text: "a", embedder: odd } },
    "a limit": { text: "a", limit: odd },
    "a field of words": { text: { query: "a", in: odd } },
    "a field of hits": { fields: [odd] },
    "an order in words": { orderBy: odd },
    "two words for an order": { orderBy: "year desc | all(group(year))" },
    "a direction in words": { orderBy: "year down" },
    "an order": { orderBy: { by: odd } },
    "a direction": { orderBy: { by: "year", direction: odd } },
    "what is said of an order": { orderBy: { by: "year", [odd]: 1 } },
    "a facet": { facets: { it: facet(odd as never) } },
    "a sum": { facets: { it: facet("year", { sum: odd as never }) } },
    "how many groups": { facets: { it: facet("year", { top: odd as never }) } },
    "an edge of ranges": { facets: { it: ranges("year", [odd as never, 3]) } },
    "a zone": { facets: { it: dateHistogram("sentAt", "month") }, timeZone: odd },
    "a number": { where: (it: typeof mail.conditions) => it.year.is(odd as never) },
    "a bound": { where: (it: typeof mail.conditions) => it.year.ge(odd as never) },
  };
  test.each(Object.entries(given))("%s", (_, options) => {
    expect(() => query(mail, options)).toThrow(BrookletError);
  });
});
