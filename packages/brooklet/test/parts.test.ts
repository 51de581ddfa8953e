/** Conditions on stored documents, and changes of parts of them: what the types allow is what the engine does. */
import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
import {
  array,
  bool,
  type Group,
  int,
  json,
  map,
  oneOf,
  open,
  schema,
  string,
  struct,
  text,
  timestamp,
  weightedSet,
} from "../src/index.ts";

const person = struct({ name: string(), seen: bool().optional(), born: timestamp().optional() }, { name: "person" });
const note = schema("note", {
  title: text(),
  state: oneOf("open", "done").default("open"),
  number: int().optional(),
  at: timestamp().optional(),
  people: array(person).optional(),
  author: person.optional(),
  tags: array(string()).optional(),
  counts: map(string(), int()).optional(),
  shares: weightedSet(string()).optional(),
  by: map(string(), struct({ x: int() }, { name: "by" })).optional(),
  any: json<{ a: number }>().optional(),
});
const at = new Date(1_700_000_000_123);
const first = {
  title: "50% of (a+b)*",
  number: 3,
  at,
  people: [{ name: "Ada", seen: false }, { name: "Bo" }],
  author: { name: "Cy", born: at },
  tags: ["red", "blue"],
  counts: { work: 1, 'a "b}': 2 },
  shares: { k: 5 },
  by: { q: { x: 1 } },
} as const;

async function opened(): Promise<Group> {
  const db = await open({ schemas: [note] });
  onTestFinished(() => db.close());
  const alice = db.group("alice");
  await alice.put(note, "1", first);
  await alice.put(note, "2", { title: "500", number: 7, state: "done" });
  return alice;
}

type Where = Exclude<NonNullable<Parameters<typeof Group.prototype.removeWhere<typeof note>>[1]>, string>;

describe("conditions on stored documents", () => {
  const wheres: readonly (readonly [Where, readonly string[]])[] = [
    [(it) => it.number.in([3, 4]), ["1"]],
    [(it) => it.number.in([]), []],
    [(it) => it.number.between(3, 7), ["1", "2"]],
    [(it) => it.at.between(at, at), ["1"]],
    [(it) => it.at.in([new Date(at.getTime() + 1)]), []],
    [(it) => it.title.prefix("50% of (a+b)*"), ["1"]],
    [(it) => it.title.prefix("50"), ["1", "2"]],
    [(it) => it.title.prefix("5.%"), []],
    [(it) => it.state.is("done"), ["2"]],
    [(it) => it.tags.at(1, "blue"), ["1"]],
    [(it) => it.tags.at(0, "blue"), []],
    [(it) => it.people.name.is("Bo"), ["1"]],
    [(it) => it.author.born.ge(at), ["1"]],
    [(it) => it.author.born.gt(at), []],
    [(it) => it.counts.key.is("work"), ["1"]],
    [(it) => it.counts.value.gt(1), ["1"]],
    [(it) => it.counts.entry('a "b}').is(2), ["1"]],
    [(it) => it.counts.entry("work").gt(1), []],
    [(it) => it.by.entry("q").x.is(1), ["1"]],
    [(it) => it.any.isUnset(), ["1", "2"]],
  ];

  test.each(wheres.map(([where, ids]) => ({ where, ids, said: String(where) })))("$said", async ({ where, ids }) => {
    const alice = await opened();
    const found: string[] = [];
    for await (const { id } of alice.visit(note, { where })) found.push(id);
    expect(found).toEqual(ids);
    expect(await alice.updateWhere(note, where, { number: 100 })).toEqual({ selected: ids.length });
  });

  test("that only searches can are refused by name, as are fields that are not there", async () => {
    const alice = await opened();
    const loose = (where: (it: Record<string, Record<string, (word: string) => never>>) => unknown): Where =>
      where as never;
    await expect(
      alice.removeWhere(
        note,
        loose((it) => it["title"]?.["contains"]?.("x")),
      ),
    ).rejects.toThrow("the selection of removeWhere cannot say 'contains' of 'note.title': only searches can");
    await expect(
      alice.removeWhere(
        note,
        loose((it) => it["titl"]?.["is"]?.("x")),
      ),
    ).rejects.toThrow("schema note has no field 'titl'; did you mean 'title'?");
    await expect(alice.removeWhere(note, note.conditions.state.is("open") as never)).rejects.toThrow(
      "is a condition of searches (state contains",
    );
    expect(await alice.count(note)).toBe(2);
  });
});

describe("changes of parts", () => {
  let alice: Group;
  beforeAll(async () => {
    const db = await open({ schemas: [note] });
    alice = db.group("alice");
    return () => db.close();
  });

  test("are done to elements, members, entries and weights, and checked as those are", async () => {
    await alice.put(note, "1", first);
    await alice.update(
      note,
      "1",
      { title: { assign: "x" } },
      {
        paths: {
          "people[0].seen": { assign: true },
          "people[1].born": { assign: at },
          "author.name": { assign: "Di" },
          "tags[0]": { assign: "green" },
          "counts{work}": { increment: 2 },
          "counts{new}": { assign: 1 },
          'counts{"a \\"b}"}': { remove: true },
          "shares{k}": { decrement: 1 },
          "by{q}.x": { multiply: 4 },
        },
      },
    );
    expect(await alice.get(note, "1")).toEqual({
      ...first,
      title: "x",
      state: "open",
      people: [
        { name: "Ada", seen: true },
        { name: "Bo", born: at },
      ],
      author: { name: "Di", born: at },
      tags: ["green", "blue"],
      counts: { work: 3, new: 1 },
      shares: { k: 4 },
      by: { q: { x: 4 } },
    });
  });

  const refusals: readonly (readonly [object, string])[] = [
    [{ "people[0].sen": { assign: true } }, "people[0].sen: there is no '.sen' in it"],
    [{ "peple[0]": { remove: true } }, "peple[0]: there is no field 'peple'; did you mean 'people'?"],
    [{ "people{0}": { remove: true } }, "people{0}: there is no '{0}' in it"],
    [{ "counts[0]": { assign: 1 } }, "counts[0]: there is no '[0]' in it"],
    [{ "people[0].seen": { assign: "yes" } }, "people[0].seen: "],
    [{ "people[0].name": { increment: 1 } }, "people[0].name: 'increment' is for numbers"],
    [{ "counts{a}": { increment: Number.NaN } }, "counts{a}: increment takes a finite number"],
    [{ "author.name": { remove: true } }, "author.name: there is no operation 'remove'"],
    [{ "people[0": { remove: true } }, "is no part of a path"],
    [{ "people[0].name": "x" }, "people[0].name: needs one operation, such as { assign: … }"],
    [{ "people[0]": null }, "people[0]: needs one operation"],
    [{ title: { assign: "x" } }, "title: it is a whole field"],
    [{ "any.a": { assign: 1 } }, "any.a: there is no '.a' in it"],
  ];
  test.each(refusals)("%o is refused: %s", async (paths, message) => {
    await expect(alice.update(note, "1", {}, { paths: paths as never })).rejects.toThrow(message);
  });

  test("are typed", () => {
    () => {
      void alice.update(note, "1", {}, { paths: { "people[3].seen": { assign: true }, "counts{x}": { divide: 2 } } });
      // @ts-expect-error: the member is a truth value
      void alice.update(note, "1", {}, { paths: { "people[3].seen": { assign: 1 } } });
      // @ts-expect-error: there is no such member
      void alice.update(note, "1", {}, { paths: { "people[3].sen": { assign: true } } });
      // @ts-expect-error: JSON is changed as a whole
      void alice.update(note, "1", {}, { paths: { "any.a": { assign: 1 } } });
      // @ts-expect-error: only searches can
      void alice.removeWhere(note, (it) => it.title.contains("x"));
      // @ts-expect-error: the entry is a number
      void alice.visit(note, { where: (it) => it.counts.entry("a").is("x") });
    };
  });
});
