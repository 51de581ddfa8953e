/** Fields and members named as what every object has, or as what conditions, documents and queries have: as good as any other. */
import { describe, expect, onTestFinished, test } from "vitest";
import { array, bool, facet, type InferInput, int, map, open, schema, string, struct, text } from "../src/index.ts";
import { doorsOf } from "./doors.ts";

const odd = schema("odd", {
  where: string(),
  constructor: string().optional(),
  toString: string().optional(),
  valueOf: int().optional(),
  hasOwnProperty: bool().optional(),
  length: int().optional(),
  select: text().optional(),
  is: string().optional(),
  id: string().optional(),
  nested: struct({ in: string().optional(), constructor: int().optional() }).optional(),
  people: array(
    struct({
      at: string().optional(),
      sameElement: string().optional(),
      constructor: string().optional(),
      name: string(),
    }),
  ).optional(),
  byName: map(string(), struct({ constructor: string().optional(), key: string() })).optional(),
});
type Odd = InferInput<typeof odd>;

const full = {
  where: "here",
  constructor: "c",
  toString: "t",
  valueOf: 5,
  hasOwnProperty: true,
  length: 3,
  select: "some words",
  is: "it",
  id: "other",
  nested: { in: "inside", constructor: 7 },
  people: [{ at: "home", sameElement: "twin", constructor: "builder", name: "Ada" }, { name: "Bo" } as object],
  byName: { constructor: { constructor: "q", key: "k" }, length: { key: "l" } },
};
/** The compiler takes members that every object has for given ones. */
const least = { where: "there" } as unknown as Odd;

const DOORS = doorsOf(odd);

describe.each(DOORS)("%s", (_, door) => {
  test("documents are read as they were put, with these fields and without", async () => {
    const alice = await door();
    await alice.put(odd, "full", full as unknown as Odd);
    await alice.put(odd, "least", least);
    expect(await alice.get(odd, "full")).toEqual(full);
    expect(Object.keys((await alice.get(odd, "least")) ?? {})).toEqual(["where"]);
    const { hits } = await alice.search(odd, { orderBy: "where" });
    expect(hits.map(({ fields }) => Object.keys(fields).length)).toEqual([12, 1]);
    const selected = await alice.search(odd, { orderBy: "where", fields: ["constructor", "toString", "length"] });
    expect(selected.hits.map(({ fields }) => Object.entries(fields))).toEqual([
      [
        ["constructor", "c"],
        ["toString", "t"],
        ["length", 3],
      ],
      [],
    ]);
    await expect(alice.put(odd, "x", { where: "x", people: [{ name: 1 }] } as unknown as Odd)).rejects.toThrow(
      "people.0.name: Invalid input: expected string, received number",
    );
  });

  test("every condition on them finds what it says", async () => {
    const alice = await door();
    await alice.put(odd, "full", full as unknown as Odd);
    await alice.put(odd, "least", least);
    const { conditions: it } = odd;
    const found = [
      it.where.is("here"),
      it.constructor.is("c"),
      it.toString.is("t"),
      it.valueOf.is(5),
      it.hasOwnProperty.is(true),
      it.length.between(3, 4),
      it.select.contains("some"),
      it.is.is("it"),
      it.id.is("other"),
      it.nested.in.is("inside").and(it.nested.constructor.is(7)),
      it.people.at.is("home").and(it.people.sameElement.is("twin"), it.people.constructor.is("builder")),
      it.byName.sameElement((entry) => entry.key.is("constructor").and(entry.value.constructor.is("q"))),
    ];
    for (const where of found) expect([String(where), await alice.count(odd, where)]).toEqual([String(where), 1]);
  });

  test("they are ordered by, counted, and paged through", async () => {
    const alice = await door();
    await alice.put(odd, "full", full as unknown as Odd);
    await alice.put(odd, "least", least);
    for (const by of ["constructor", "toString", "valueOf", "length", "is", "id"] as const) {
      const ids: string[] = [];
      for await (const { id } of alice.cursor(odd, { orderBy: `${by} desc`, pageSize: 1 })) ids.push(id);
      expect([by, ...ids]).toEqual([by, "full", "least"]);
    }
    const { facets } = await alice.search(odd, { facets: { constructor: facet("constructor") } });
    expect(facets.constructor).toEqual([
      { value: "", count: 1 },
      { value: "c", count: 1 },
    ]);
  });

  test("they are changed, and decided by", async () => {
    const alice = await door();
    await alice.put(odd, "full", full as unknown as Odd);
    await alice.put(odd, "least", least);
    const changes = { constructor: { assign: "new" }, toString: { assign: "T" }, length: { increment: 3 } };
    await alice.update(odd, "least", changes as never);
    const paths = { "people[1].constructor": { assign: "guest" }, "nested.constructor": { increment: 1 } };
    await alice.update(odd, "full", {} as never, {
      paths: paths as never,
      condition: (it) => it.byName.entry("constructor").constructor.is("q").and(it.nested.in.is("inside")),
    });
    const { selected } = await alice.updateWhere(odd, (it) => it.constructor.is("new"), { is: "now" } as never);
    expect(selected).toBe(1);
    expect(await alice.get(odd, "least")).toEqual({
      where: "there",
      constructor: "new",
      toString: "T",
      length: 3,
      is: "now",
    });
    const read = await alice.get(odd, "full");
    expect([read?.people?.[1], read?.nested]).toEqual([
      { name: "Bo", constructor: "guest" },
      { in: "inside", constructor: 8 },
    ]);
  });
});

test("what every object has is no field of a schema without one of that name", async () => {
  const plain = schema("plain", { title: string() });
  const db = await open({ schemas: [plain] });
  onTestFinished(() => db.close());
  const alice = db.group("alice");
  await alice.put(plain, "p", { title: "x" });
  await expect(alice.updateWhere(plain, (it) => it.title.is("x"), { constructor: "x" } as never)).rejects.toThrow(
    "schema plain has no field 'constructor'",
  );
  await expect(alice.search(plain, { fields: ["constructor" as never] })).rejects.toThrow("has no field 'constructor'");
});

test("a migration gives them values where there are none", async () => {
  const before = schema("odd", { where: string(), constructor: string().optional() });
  const db = await open({ schemas: [before] });
  onTestFinished(() => db.close());
  const alice = db.group("alice");
  await alice.put(before, "least", least);
  await db.migrate(before, { constructor: { from: "where", by: (where: string) => where.toUpperCase() } } as never);
  expect(await alice.get(before, "least")).toEqual({ where: "there", constructor: "THERE" });
});
