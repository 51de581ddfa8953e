import { describe, expect, test } from "vitest";
import {
  allOf,
  anyOf,
  type Condition,
  connect,
  everything,
  grouping,
  nothing,
  query,
  userInput,
  weakAnd,
  word,
} from "../src/index.ts";
import { fakeServer } from "./fake-server.ts";
import { mail } from "./mail.ts";

const server = fakeServer(() => [200, { root: { fields: { totalCount: 0 } }, documents: [], documentCount: 0 }]);
const alice = connect({ url: "http://localhost:8080", fetch: server.fetch }).group("alice");
const { subject, unread, year, people } = mail.conditions;

type It = typeof mail.conditions;
const written = (where: (it: It) => Condition) => () => query(mail, { where });

describe("a condition that a callback makes and does not give back is refused", () => {
  test.each<[string, (it: It) => Condition, string]>([
    ["the first of &&", (it) => it.year.is(2020) && it.unread.is(true), "year = 2020"],
    [
      "of three",
      (it) => it.year.is(2020).and(it.unread.is(true)) && it.sender.is("a"),
      "(year = 2020 and unread = true)",
    ],
    ["one that a test looks at", (it) => (it.year.is(2020) ? it.unread.is(true) : it.sender.is("a")), "year = 2020"],
    ["an empty list", (it) => it.sender.in([]) && it.year.is(2020), "false"],
    ["none of several", (it) => anyOf() && it.year.is(2020), "false"],
    ["what was typed", (it) => userInput("a") && it.year.is(2020), 'userInput("a")'],
    ["inside of an operator", (it) => weakAnd([it.year.is(2020) && it.unread.is(true)]), "year = 2020"],
    ["a term", (it) => it.subject.contains(word("a") && word("b")), '"a"'],
    ["of an element", (it) => it.people.sameElement((p) => p.name.is("a") && p.email.is("b")), 'name contains "a"'],
  ])("%s", (_, where, leftover) => {
    expect(written(where)).toThrow(leftover);
    expect(written(where)).toThrow(".and()");
    // What was left over of one callback is no concern of the next.
    expect(written((it) => it.year.is(1))).not.toThrow();
  });

  test("in each call that takes conditions", async () => {
    const options = { where: (it: It) => it.year.is(2020) && it.unread.is(true) };
    const refused = { code: "INVALID_ARGUMENT", message: expect.stringContaining("year = 2020") as string };
    await expect(alice.search(mail, options)).rejects.toMatchObject(refused);
    await expect(alice.explain(mail, "1", options)).rejects.toMatchObject(refused);
    await expect(alice.retrieve(mail, "a", options)).rejects.toMatchObject(refused);
    const model = { url: "http://localhost:1", model: "m" };
    await expect(Promise.resolve(alice.ask(mail, "a", { ...options, model }))).rejects.toMatchObject(refused);
    expect(server.asked).toEqual([]);
  });

  test("in each call that takes selections", async () => {
    type Selected = Parameters<typeof alice.removeWhere<typeof mail>>[1];
    const both: Selected = (it) => it.year.is(2020) && it.unread.is(true);
    const refused = { code: "INVALID_ARGUMENT", message: expect.stringContaining("mail.year == 2020") as string };
    await expect(alice.removeWhere(mail, both)).rejects.toMatchObject(refused);
    await expect(alice.updateWhere(mail, both, { year: 1 })).rejects.toMatchObject(refused);
    await expect(alice.remove(mail, "1", { condition: both })).rejects.toMatchObject(refused);
    await expect(alice.update(mail, "1", {}, { condition: both })).rejects.toMatchObject(refused);
    await expect(alice.visit(mail, { where: both }).next()).rejects.toMatchObject(refused);
    expect(server.asked).toEqual([]);
  });

  test("in filters of groupings, at any depth", () => {
    const filtered = (depth: number) =>
      grouping(mail, (it, g) => {
        const inner = g.groups(it.year, { filter: g.range(0, 5, it.year) && g.isTrue(it.unread) });
        return { groups: { list: depth === 0 ? inner : g.groups(it.sender, { groups: { inner } }) } };
      });
    expect(() => filtered(0)).toThrow("range(0, 5, year)");
    expect(() => filtered(1)).toThrow("a grouping makes a filter that is no part of what it gives back");
  });
});

describe("conditions stay values", () => {
  test.each<[string, (it: It) => Condition]>([
    ["made outside", () => year.is(2020)],
    ["made outside and joined inside", (it) => it.unread.is(true).and(year.is(2020))],
    ["used twice", (it) => ((one) => one.and(it.unread.is(true)).or(one))(it.year.is(2020))],
    ["shared by an element's", (it) => ((own) => it.people.sameElement(() => own))(it.people.name.is("a"))],
    ["everything and nothing", () => everything.and(nothing)],
    ["all of none", () => allOf()],
    ["taken as it is", (it) => it.sender.in([])],
  ])("%s", (_, where) => {
    expect(written(where)).not.toThrow();
  });

  test("made outside of a callback they are never asked for", () => {
    const unused = [subject.contains("a"), people.sameElement((it) => it.name.is("a"))];
    expect(String(query(mail, { where: unread.is(true) }))).toBe("select * from mail where unread = true");
    expect(unused).toHaveLength(2);
  });

  test("after a callback that threw, the next one begins anew", () => {
    const thrown = written((it) => {
      it.year.is(2020);
      throw new Error("own");
    });
    expect(thrown).toThrow("own");
    expect(written((it) => it.unread.is(true))).not.toThrow();
    expect(() => query(mail, { where: year.is(1) && unread.is(true) })).not.toThrow();
  });
});

describe("what is no condition is refused, where it was taken for its text", () => {
  const loose = (where: unknown) => () => query(mail, { where } as never);
  test.each([
    [false, "where is false"],
    [null, "where is null"],
    ["true", 'where is "true"'],
    [[year.is(1)], "where is a list"],
    [() => false, "where is false"],
    [() => undefined, "where is undefined"],
    [async () => year.is(1), "where is a promise"],
    [() => mail.conditions, "where is an object"],
    [() => word("a"), "where is an object"],
  ])("%s", (where, message) => {
    expect(loose(where)).toThrow(message);
  });

  test("in selections and filters too", async () => {
    await expect(alice.removeWhere(mail, (() => false) as never)).rejects.toThrow("is no selection");
    await expect(alice.removeWhere(mail, undefined as never)).rejects.toThrow("is undefined, which is no selection");
    const bad = () => grouping(mail, (it, g) => ({ groups: { a: g.groups(it.year, { filter: false as never }) } }));
    expect(bad).toThrow("the filter of 'a' is false, which is no filter");
  });
});

test("a visit takes a selection as the other calls do", async () => {
  for await (const _ of alice.visit(mail, { where: (it) => it.year.lt(2000) })) throw new Error("nothing is there");
  expect(server.asked.at(-1)?.url).toContain("selection=mail.year+%3C+2000");
});
