import { describe, expect, test } from "vitest";
import { allOf, anyOf, type Condition, not, query, schema, string, text, vector, yqlQuery } from "../src/index.ts";
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
    [it.sentAt.ge(new Date("2026-03-01T00:00:00.900Z")), "sentAt >= 1772323200"],
    [it.unread.is(true), "unread = true"],
    [it.people.name.is("Ada"), 'people.name contains "Ada"'],
    [it.counts.key.is("a"), 'counts.key contains "a"'],
    [it.year.is(1).and(it.year.is(2), it.year.is(3)), "(year = 1 and year = 2 and year = 3)"],
    [it.year.is(1).or(it.year.is(2)).and(it.unread.is(false).not()), "((year = 1 or year = 2) and !(unread = false))"],
    [anyOf(), "false"],
    [allOf(), "true"],
    [not(anyOf(it.year.is(1))), "!(year = 1)"],
  ];
  test.each(written)("%s", (condition, yql) => expect(String(condition)).toBe(yql));

  test("an empty text or a number that is none is refused", () => {
    expect(() => it.sender.is("")).toThrow("a condition on 'sender' needs a text that is not empty");
    expect(() => it.year.is(Number.NaN)).toThrow("NaN cannot be compared with: give a finite number");
  });
});

describe("queries", () => {
  test("without anything find everything", () => {
    expect(query(mail).toJSON()).toEqual({
      yql: "select * from mail where true",
      hits: 10,
      offset: 0,
      timeout: "5000ms",
      "ranking.profile": "default",
      "model.restrict": "mail",
    });
  });

  test("carry what a user typed beside the YQL, whatever it is", () => {
    const typed = '") or true; select * from sources * where userInput("x';
    const asked = query(mail, { text: typed, where: (it) => it.year.ge(2020) });
    expect(String(asked)).toBe("select * from mail where userInput(@text) and year >= 2020");
    expect(asked.parameters["text"]).toBe(typed);
  });

  test("take an empty text as none", () => {
    expect(String(query(mail, { text: "  ", orderBy: "sentAt desc" }))).toBe(
      "select * from mail where true order by sentAt desc",
    );
    expect(query(mail, { text: "", orderBy: "sentAt" }).parameters["ranking.profile"]).toBe("unranked");
  });

  test("say how the text is taken", () => {
    const asked = query(mail, { text: { query: "a b", match: "all", in: "all" } });
    expect(asked.yql).toBe('select * from mail where ({grammar: "all", defaultIndex: "all"}userInput(@text))');
  });

  test("near a vector, and near or by words", () => {
    const near = { field: "vec", vector: new Float32Array([0.5, 0, -1]) } as const;
    const nearest = query(mail, { near: { ...near, targetHits: 7, distanceMax: 0.5 } });
    expect(nearest.yql).toBe(
      "select * from mail where ({targetHits: 7, distanceThreshold: 0.5}nearestNeighbor(vec, vec))",
    );
    expect(nearest.parameters).toMatchObject({ "input.query(vec)": [0.5, 0, -1], "ranking.profile": "near_vec" });
    const both = query(mail, { near, text: "a", limit: 150, where: mail.conditions.unread.is(true) });
    expect(both.yql).toBe(
      "select * from mail where (userInput(@text) or ({targetHits: 150}nearestNeighbor(vec, vec))) and unread = true",
    );
    expect(both.parameters["ranking.profile"]).toBe("hybrid_vec");
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
      "ranking.profile": "recent",
      "model.restrict": "mail",
      "input.query(now)": 5,
      hits: 3,
      offset: 6,
      timeout: "70ms",
      "presentation.timing": true,
    });
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
});
