/** Calls of programs without types: what is no argument is a sentence before anything is sent, and nothing is left out silently. */
import { describe, expect, test } from "vitest";
import {
  array,
  BrookletError,
  bool,
  connect,
  dateHistogram,
  facet,
  type Group,
  grouping,
  int,
  map,
  position,
  query,
  ranges,
  schema,
  string,
  struct,
  tensor,
  text,
  timestamp,
  vector,
  weightedSet,
} from "../src/index.ts";
import { fakeServer } from "./fake-server.ts";

const note = schema(
  "note",
  {
    title: text(),
    size: int(),
    isRead: bool(),
    tags: array(string()),
    numbers: array(int()),
    vec: vector(2),
    at: timestamp().optional(),
    seconds: timestamp({ unit: "seconds" }).optional(),
    place: position().optional(),
  },
  {
    profiles: {
      own: { inputs: { q_vec: "tensor<float>(x[2])" }, firstPhase: "query(boost) * closeness(field, vec)" },
      heir: { inherits: "own", inputs: { now: "double" } },
    },
  },
);

/** A group, to programs without types. */
type Loose = { readonly [Name in keyof Group]: (...given: unknown[]) => Promise<unknown> };
type Conditions = Readonly<Record<string, Readonly<Record<string, (...given: unknown[]) => unknown>>>>;
type Language = Readonly<Record<string, (...given: unknown[]) => unknown>>;

async function messageOf(work: (group: Loose) => unknown): Promise<string> {
  const server = fakeServer(() => [200, { root: { children: [], fields: { totalCount: 0 } }, documents: [] }]);
  const error: unknown = await (async () =>
    work(connect({ url: "http://server", fetch: server.fetch }).group("alice") as unknown as Loose))().catch(
    (reason: unknown) => reason,
  );
  if (!BrookletError.is(error)) throw new Error(`no error of the package: ${String(error)}`);
  expect([error.code, server.asked]).toEqual(["INVALID_ARGUMENT", []]);
  return error.message;
}

const where = (write: (it: Conditions) => unknown) => (group: Loose) => group.search(note, { where: write });
const selected = (write: (it: Conditions) => unknown) => (group: Loose) => group.removeWhere(note, write);
const output = (write: (g: Language, it: Readonly<Record<string, unknown>>) => unknown) => () =>
  grouping(note, ((it: Readonly<Record<string, unknown>>, g: Language) => ({ output: { a: write(g, it) } })) as never);
const takesList = 'fields is "title": give a list';

test.each<readonly [(group: Loose) => unknown, string | RegExp]>([
  [(group) => group.getMany(note, "ab"), 'ids is "ab": give a list'],
  [(group) => group.getMany(note), "ids is undefined: give a list"],
  [(group) => group.get(note, "1", null), "a read is null: give an object"],
  [(group) => group.get(note, "1", { fields: ["title"] }), "a read has no option 'fields'"],
  [(group) => group.exists(note, "1", { group: "b" }), "a read has no option 'group'"],
  [(group) => group.run({}), "run takes what query() makes"],
  [(group) => group.run(), "run takes what query() makes"],
  [(group) => group.update(note, "1", {}, null), "a write is null: give an object"],
  [(group) => group.remove(note, "1", { cluster: 5 }), "cluster is 5: give a text"],
  [(group) => group.updateWhere(note, "true", null), "fields is null: give an object"],
  [(group) => group.updateWhere(note, "true", 5), "fields is 5"],
  [selected((it) => it["size"]?.["is"]?.("1")), 'note.size cannot be compared with "1"'],
  [selected((it) => it["size"]?.["lt"]?.(null)), "note.size cannot be compared with null"],
  [selected((it) => it["title"]?.["is"]?.(1)), "note.title cannot be compared with 1"],
  [selected((it) => it["title"]?.["is"]?.(new Date(0))), "note.title cannot be compared with 0"],
  [selected((it) => it["isRead"]?.["is"]?.("true")), 'note.isRead cannot be compared with "true"'],
  [selected((it) => it["tags"]?.["in"]?.([1])), "note.tags cannot be compared with 1"],
  [selected((it) => it["numbers"]?.["at"]?.(0, "1")), 'note.numbers[0] cannot be compared with "1"'],
  [(group) => group.erase(null), "erase is null: give an object"],
  [(group) => group.search(note, { signal: null }), "signal is no AbortSignal"],
  [(group) => group.search(note, { fields: "title" }), takesList],
  [(group) => group.page(note, { fields: "title" }), takesList],
  [(group) => group.page(note, null), "a cursor is null: give an object"],
  [(group) => group.page(note, 3), "a cursor is 3: give an object"],
  [(group) => (group.cursor(note, null) as unknown as AsyncGenerator).next(), "a cursor is null: give an object"],
  [(group) => (group.cursor(note, 3) as unknown as AsyncGenerator).next(), "a cursor is 3: give an object"],
  [(group) => group.ask(note, "a", null), "an answer is null: give an object"],
  [(group) => group.ask(note, "a", 3), "an answer is 3: give an object"],
  [(group) => (group.visit(note, { fields: "title" }) as unknown as AsyncGenerator).next(), takesList],
  [(group) => group.search(note, { limit: "5" }), 'limit is "5": give an integer'],
  [(group) => group.put(note, "1", Promise.resolve({})), "what is put is a Promise: await it"],
  [
    (group) => group.search(note, { near: { field: "title", vector: [1, 2] } }),
    "near 'title' of schema note cannot be searched: it is no vector",
  ],
  [(group) => group.search(note, { inputs: 5 }), "inputs is 5: give an object"],
  [
    (group) => group.search(note, { profile: "own", inputs: { qvec: [1, 2] } }),
    "profile 'own' of schema note has no input 'qvec'; did you mean 'q_vec'?",
  ],
  [
    (group) => group.search(note, { profile: "own", inputs: { now: 1 } }),
    "profile 'own' of schema note has no input 'now'",
  ],
  [(group) => group.search(note, { inputs: { boost: 1 } }), "profile 'default' of schema note has no input 'boost'"],
  [(group) => group.searchYql(note, "select * from note", { inputs: { x: 1 } }), "has no input 'x'"],
  ...[null, Number.NaN, Number.POSITIVE_INFINITY, 5n, new Date(0), new Map(), new Uint8Array(2)].flatMap((value) => [
    [
      (group: Loose) => group.search(note, { profile: "own", inputs: { boost: value } }),
      /^boost is .+, which cannot be sent$/,
    ] as const,
    [
      (group: Loose) =>
        group.searchYql(note, "select * from note where size > @least", { parameters: { least: value } }),
      /^least is .+, which cannot be sent$/,
    ] as const,
  ]),
  [(group) => group.search(note, { facets: 5 }), "facets is 5: give an object"],
  [(group) => group.search(note, { facets: { a: "title" } }), "facets are made by facet()"],
  [
    (group) => group.search(note, { facets: { a: facet(undefined as never) } }),
    "the field of a facet is undefined: give a text",
  ],
  [() => facet("tags", { topp: 1 } as never), "a facet has no option 'topp'; did you mean 'top'?"],
  [() => facet("tags", { sum: 5 } as never), "sum is 5: give a text"],
  [() => dateHistogram("size", "fortnight" as never), 'interval is "fortnight": give year or quarter'],
  [() => dateHistogram("size", undefined as never), "interval is undefined: give year or quarter"],
  [
    (group) => group.search(note, { facets: { a: dateHistogram("title", "day") } }),
    "numbers, which 'title' has none of",
  ],
  [(group) => group.search(note, { facets: { a: ranges("tags", [0, 1]) } }), "numbers, which 'tags' has none of"],
  [
    (group) => group.search(note, { facets: { a: facet("tags", { sum: "title" }) } }),
    "numbers, which 'title' has none of",
  ],
  [(group) => group.search(note, { facets: { a: facet("tags", { avg: "vec" }) } }), "numbers, which 'vec' has none of"],
  [(group) => group.search(note, { grouping: {} }), "groupings by grouping()"],
  [(group) => group.search(note, { profile: null }), "profile is null: give a text"],
  [(group) => group.search(note, { explain: "yes" }), 'explain is "yes": give true or false'],
  [(group) => group.search(note, { consistency: "new" }), "give strict or eventual"],
  [(group) => group.search(note, { collapse: null }), "collapse is null: give an object"],
  [(group) => group.search(note, { near: null }), "near is null: give an object"],
  [
    (group) => group.search(note, { near: { vector: [1, 2] } }),
    "near 'undefined' of schema note cannot be searched: there is no",
  ],
  [(group) => group.search(note, { near: { field: 5, text: "a" } }), "schema note has no field '5'"],
  [(group) => group.retrieve(note, "a", { near: { text: "a" } }), "schema note has no field 'undefined'"],
  [(group) => group.search(note, { near: { field: "vec", vector: [1, 2], hits: 5 } }), "near has no option 'hits'"],
  [(group) => group.search(note, { text: { query: "a", match: "x" } }), 'match is "x": give any or all'],
  [(group) => group.search(note, { text: { query: "a", in: 5 } }), "in is 5: give a text"],
  [(group) => group.searchYql(note, "select * from note", { parameters: "a" }), 'parameters is "a": give an object'],
  [(group) => group.retrieve(note, 5), "question is 5: give a text"],
  [(group) => group.retrieve(note, "a", { near: true }), "near is true: give an object"],
  [(group) => group.retrieve(note, "a", { text: true }), "text is true: give an object"],
  [(group) => group.retrieve(note, "a", { from: "title" }), 'from is "title": give a list'],
  [where((it) => it["numbers"]?.["sameElement"]?.((e: never) => (e as Conditions[string])["is"]?.(3))), "sameElement"],
  [
    where((it) => it["numbers"]?.["sameElement"]?.((e: never) => (e as Conditions[string])["in"]?.([3]))),
    "sameElement",
  ],
  [where((it) => it["tags"]?.["sameElement"]?.()), "sameElement is undefined: give a function"],
  [where((it) => it["tags"]?.["in"]?.("a")), 'in is "a": give a list'],
  [where((it) => it["tags"]?.["weightedSet"]?.()), "weightedSet is undefined: give an object"],
  [where((it) => it["title"]?.["near"]?.("a")), 'near is "a": give a list'],
  [where((it) => it["title"]?.["alternatives"]?.()), "alternatives is undefined: give an object"],
  [where((it) => it["title"]?.["prefix"]?.()), "undefined cannot be compared with"],
  ...[undefined, null, 5, ["a"], new Date(0)].map(
    (start) => [selected((it) => it["title"]?.["prefix"]?.(start)), /^prefix is .+: give a text$/] as const,
  ),
  ...["at", "seconds"].flatMap((field) => {
    const invalid = (comparison: string) => (it: Conditions) => it[field]?.[comparison]?.(new Date(Number.NaN));
    const message = "an invalid Date cannot be compared with";
    return [
      ...["is", "lt", "ge"].map((it) => [where(invalid(it)), message] as const),
      ...["is", "isNot", "lt", "ge"].map((it) => [selected(invalid(it)), message] as const),
    ];
  }),
  [where((it) => it["place"]?.["geoBoundingBox"]?.()), "undefined cannot be compared with"],
  [() => schema("a", undefined as never), "fields is undefined: give an object"],
  [() => array(string as never), "array() is made of fields, and a function is none"],
  [() => weightedSet("string" as never), 'weightedSet() is made of fields, and "string" is none'],
  [() => map(string(), undefined as never), "map() is made of fields, and undefined is none"],
  [() => struct({ name: string } as never), "struct() is made of fields, and a function is none"],
  [() => struct({}, { named: "a" } as never), "struct has no option 'named'; did you mean 'name'?"],
  [() => tensor("float", 3 as never), "the dimensions of a tensor is 3: give an object"],
  [() => tensor("float32" as never, { x: 2 }), 'cell is "float32": give float or double or bfloat16 or int8'],
  [where((it) => it["title"]?.["contains"]?.(["a"])), "a word is a list, which is no term"],
  [output((g) => g["quantiles"]?.(0.5)), "what quantiles is given first is 0.5: give a list"],
  [output((g, it) => g["quantiles"]?.([0.5], [it["size"]])), "an argument is"],
  [output((g) => g["max"]?.()), "an argument is undefined"],
  [() => grouping(note, {} as never), "what grouping is given is an object: give a function"],
])("%s", async (work, message) => {
  expect(await messageOf(work)).toMatch(message);
});

describe("nothing but conditions becomes part of one", () => {
  test.each(["true", { toString: () => "true" }, [note.conditions.size.is(1)], undefined])("%s", (given) => {
    const loose = given as never;
    expect(() => query(note, { where: (it) => it.size.is(1).or(loose) })).toThrow("which is no condition");
    expect(() => query(note, { where: (it) => it.size.is(1).and(loose) })).toThrow("which is no condition");
    if (typeof given !== "string")
      expect(() => query(note, { where: (it) => it.title.phrase(loose) })).toThrow("which is no term");
  });
});
