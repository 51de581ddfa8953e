/** What the types of fields offer is answered: each condition is asked of a field of each type that has it, and finds what it means. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  array,
  type BigintConditions,
  bigint,
  bool,
  byte,
  type Condition,
  type Database,
  double,
  float,
  type IntegerConditions,
  int,
  long,
  map,
  type OrderConditions,
  oneOf,
  open,
  position,
  type StringConditions,
  schema,
  string,
  struct,
  type TextConditions,
  text,
  timestamp,
  vector,
  weightedSet,
  word,
} from "../src/index.ts";

const letter = schema("letter", {
  body: text(),
  parts: array(text()),
  sender: string(),
  state: oneOf("open", "done"),
  tags: array(string()),
  labels: weightedSet(string()),
  size: int(),
  bytes: long(),
  level: byte(),
  number: bigint(),
  part: float(),
  price: double(),
  isRead: bool(),
  at: timestamp(),
  place: position(),
  vec: vector(2),
  people: array(struct({ name: string(), age: int() }, { name: "person" })),
  sizes: array(int()),
  numbers: array(bigint()),
  times: array(timestamp({ unit: "seconds" })),
  moments: array(timestamp()),
  counts: map(string(), int()),
});
type It = typeof letter.conditions;

/** A letter whose values that have an order are 1, 2 or 3. */
const letterOf = (value: 1 | 2 | 3, name: string, body: string) => ({
  body,
  parts: [body, "yours"],
  sender: name,
  state: value === 2 ? ("open" as const) : ("done" as const),
  tags: [`of ${name}`, "all"],
  labels: { [name]: value },
  size: value,
  bytes: value,
  level: value,
  number: BigInt(value),
  part: value,
  price: value,
  isRead: value === 2,
  at: new Date(1_000 * value),
  place: { lat: 20 * value, lng: 20 * value },
  vec: [value, 1],
  people: [{ name, age: value }],
  sizes: [value, value],
  numbers: [BigInt(value), BigInt(value)],
  times: [new Date(1_000 * value), new Date(1_000 * value)],
  moments: [new Date(1_000 * value), new Date(1_000 * value)],
  counts: { [name]: value },
});
/** Ada's is the one in the middle. */
const LETTERS = {
  cy: letterOf(1, "cy", "a walk in the park"),
  ada: letterOf(2, "ada", "the invoice is due on friday"),
  bo: letterOf(3, "bo", "lunch at the museum"),
};

/**
 * One condition for each that a type offers, which Ada's letter alone fulfils. A member that is added to a type is missing here
 * until it is asked.
 */
type Asked<Conditions> = {
  readonly [Name in keyof Conditions]-?: Conditions[Name] extends (...parameters: never[]) => Condition
    ? (it: Conditions) => Condition
    : Asked<Conditions[Name]>;
};

const ofText: Asked<TextConditions> = {
  contains: (it) => it.contains("due"),
  phrase: (it) => it.phrase("due", word("on")),
  near: (it) => it.near(["friday", "due"], { distance: 3, not: ["park"] }),
  onear: (it) => it.onear(["due", "friday"], { distance: 3 }),
  equiv: (it) => it.equiv("invoice", "bill"),
  alternatives: (it) => it.alternatives({ invoice: 1, bill: 0.5 }),
  text: (it) => it.text("invoice friday"),
  in: (it) => it.in(["invoice", "bill"]),
  prefix: (it) => it.prefix("inv"),
  suffix: (it) => it.suffix("oice"),
  substring: (it) => it.substring("voi"),
  matches: (it) => it.matches("inv.*due"),
};
const ofName: Asked<StringConditions> = {
  is: (it) => it.is("ada"),
  in: (it) => it.in(["ada", "dee"]),
  prefix: (it) => it.prefix("ad"),
  fuzzy: (it) => it.fuzzy("adda", { maxEditDistance: 1, prefixLength: 2 }),
  matches: (it) => it.matches("^ad"),
  weightedSet: (it) => it.weightedSet({ ada: 2 }),
  dotProduct: (it) => it.dotProduct({ ada: 2 }),
  wand: (it) => it.wand({ ada: 2 }, { targetHits: 3 }),
};
const ofTag: Asked<StringConditions> = {
  is: (it) => it.is("of ada"),
  in: (it) => it.in(["of ada", "of dee"]),
  prefix: (it) => it.prefix("of a"),
  fuzzy: (it) => it.fuzzy("of adda", { maxEditDistance: 1 }),
  matches: (it) => it.matches("^of a"),
  weightedSet: (it) => it.weightedSet({ "of ada": 2 }),
  dotProduct: (it) => it.dotProduct({ "of ada": 2 }),
  wand: (it) => it.wand({ "of ada": 2 }, { targetHits: 3 }),
};
const orderOf = <Value>(low: Value, middle: Value, high: Value): Asked<OrderConditions<Value>> => ({
  is: (it) => it.is(middle),
  lt: (it) => it.lt(high).and(it.gt(low)),
  le: (it) => it.le(middle).and(it.gt(low)),
  gt: (it) => it.gt(low).and(it.lt(high)),
  ge: (it) => it.ge(middle).and(it.lt(high)),
  between: (it) => it.between(middle, middle),
});
const ofInteger: Asked<IntegerConditions> = {
  ...orderOf(1, 2, 3),
  in: (it) => it.in([2, 9]),
  weightedSet: (it) => it.weightedSet({ 2: 1 }),
  dotProduct: (it) => it.dotProduct({ 2: 1 }),
  wand: (it) => it.wand({ 2: 1 }, { targetHits: 3 }),
};
const ofBigint: Asked<BigintConditions> = { ...orderOf(1n, 2n, 3n), in: (it) => it.in([2n]) };
const ofTime = orderOf(new Date(1_000), new Date(2_000), new Date(3_000));

const ASKED: Asked<It> = {
  body: ofText,
  parts: {
    ...ofText,
    sameElement: (it) => it.sameElement((part) => part.contains("due")),
    at: (it) => it.at(0, "the invoice is due on friday"),
  },
  sender: ofName,
  state: { is: (it) => it.is("open"), in: (it) => it.in(["open"]) },
  tags: {
    ...ofTag,
    sameElement: (it) => it.sameElement((tag) => tag.is("of ada")),
    at: (it) => it.at(0, "of ada"),
  },
  labels: ofName,
  size: ofInteger,
  bytes: ofInteger,
  level: ofInteger,
  number: ofBigint,
  part: orderOf(1, 2, 3),
  price: orderOf(1, 2, 3),
  isRead: { is: (it) => it.is(true) },
  at: ofTime,
  place: {
    geoLocation: (it) => it.geoLocation({ lat: 40, lng: 40 }, "5 km"),
    geoBoundingBox: (it) => it.geoBoundingBox({ south: 39, west: 39, north: 41, east: 41 }),
  },
  vec: { nearestNeighbor: (it) => it.nearestNeighbor({ targetHits: 1 }).and(letter.conditions.size.is(2)) },
  people: {
    name: ofName,
    age: ofInteger,
    sameElement: (it) => it.sameElement((person) => person.name.is("ada").and(person.age.is(2))),
    at: (it) => it.at(0, "ada"),
  },
  sizes: { ...ofInteger, at: (it) => it.at(1, 2) },
  numbers: { ...ofBigint, at: (it) => it.at(1, 2n) },
  times: { ...ofTime, at: (it) => it.at(1, new Date(2_000)) },
  moments: { ...ofTime, at: (it) => it.at(1, new Date(2_000)) },
  counts: {
    key: ofName,
    value: ofInteger,
    sameElement: (it) => it.sameElement((count) => count.key.is("ada").and(count.value.is(2))),
  },
};

let database: Database;
beforeAll(async () => {
  database = await open({ schemas: [letter] });
  for (const [id, fields] of Object.entries(LETTERS)) await database.group("ada").put(letter, id, fields);
});
afterAll(() => database.close());

/** The conditions with the path of each, and what they are asked of. */
function asked(of: object, it: object, path: readonly string[] = []): [string, () => Condition][] {
  return Object.entries(of).flatMap(([name, member]) => {
    if (typeof member === "function") return [[[...path, name].join("."), () => member(it)]];
    return asked(member, (it as Record<string, object>)[name] as object, [...path, name]);
  });
}

describe("each condition that a type of field offers", () => {
  test.each(asked(ASKED, letter.conditions))("%s finds the letter it is of", async (_, condition) => {
    const { hits } = await database.group("ada").search(letter, { where: condition, inputs: { vec: [2, 1] } });
    expect(hits.map(({ id }) => id)).toEqual(["ada"]);
  });
});

test("what was read fulfils the condition of a write, of numbers of either precision", async () => {
  const measure = schema("measure", {
    single: float(),
    double: double(),
    several: array(float()),
    named: map(string(), float()),
  });
  await using db = await open({ schemas: [measure] });
  const alice = db.group("alice");
  for (const value of [0.1, 1 / 3, -2.7, 16_777_217, 1e-45, 3.4e38]) {
    await alice.put(measure, "1", { single: value, double: value, several: [7, value], named: { one: value } });
    const { single, double, several, named } = (await alice.get(measure, "1")) ?? expect.unreachable();
    await alice.update(
      measure,
      "1",
      { several: { add: [8] } },
      {
        condition: (it) =>
          it.single
            .is(single)
            .and(it.double.is(double), it.several.is(several[1] ?? 0), it.named.entry("one").is(named["one"] ?? 0))
            .and(it.single.is(value), it.single.le(value), it.single.ge(value), it.single.isNot(value).not()),
      },
    );
    expect((await alice.get(measure, "1"))?.several, `${value}`).toEqual([7, single, 8]);
  }
});

test("stored documents are selected by the keys and weights of their sets, and by keys that are numbers", async () => {
  const tally = schema("tally", {
    labels: weightedSet(string()),
    years: weightedSet(int()),
    byYear: map(int(), string()),
    part: struct({ labels: weightedSet(string()) }),
  });
  await using db = await open({ schemas: [tally] });
  const alice = db.group("alice");
  const labels = { work: 3, home: 1 };
  await alice.put(tally, "1", { labels, years: { 2020: 2 }, byYear: { 2021: "a" }, part: { labels } });
  await alice.put(tally, "2", { labels: { sea: 9 }, years: { 1999: 5 }, byYear: {}, part: { labels: {} } });
  const selected = async (where: Parameters<typeof alice.visit<typeof tally>>[1]) => {
    const ids: string[] = [];
    for await (const { id } of alice.visit(tally, where)) ids.push(id);
    return ids;
  };
  expect(await selected({ where: (it) => it.labels.key.is("work") })).toEqual(["1"]);
  expect(await selected({ where: (it) => it.labels.key.prefix("se").and(it.labels.value.gt(8)) })).toEqual(["2"]);
  expect(await selected({ where: (it) => it.labels.entry("home").is(1) })).toEqual(["1"]);
  expect(await selected({ where: (it) => it.labels.entry("home").isUnset() })).toEqual(["2"]);
  expect(await selected({ where: (it) => it.part.labels.entry("work").ge(3) })).toEqual(["1"]);
  expect(await selected({ where: (it) => it.years.key.lt(2000).and(it.years.entry("1999").is(5)) })).toEqual(["2"]);
  expect(await selected({ where: (it) => it.byYear.key.ge(2021).and(it.byYear.entry("2021").is("a")) })).toEqual(["1"]);
});

const WORDS = ["and", "as", "asc", "contains", "false", "from", "in", "null", "or", "timeout", "true", "From"];

test.each(WORDS)("a member that is called as the word %s of YQL is asked for together with others", async (word) => {
  const name = word as "from";
  const trip = schema("trip", {
    places: array(struct({ [name]: string(), number: int() })),
    counts: array(struct({ [name]: long(), number: int() })),
    lengths: array(struct({ [name]: float(), number: int() })),
    days: array(struct({ [name]: timestamp({ unit: "seconds" }), number: int() })),
    stops: array(struct({ [name]: bool(), number: int() })),
  });
  const pair = <Value>(...values: readonly Value[]) => values.map((value, number) => ({ [name]: value, number }));
  await using db = await open({ schemas: [trip] });
  const alice = db.group("alice");
  const [early, late] = [new Date(1_000), new Date(9_000)];
  await alice.put(trip, "1", {
    places: pair("oslo", "bergen"),
    counts: pair(-3, 2 ** 40),
    lengths: pair(1.1, 2.5),
    days: pair(early, late),
    stops: pair(true, false),
  });
  const { places, counts, lengths, days, stops } = trip.conditions;
  const asked: readonly (readonly [(number: number) => Condition, found: readonly [number, number]])[] = [
    [(n) => places.sameElement((it) => it[name].is("oslo").and(it.number.is(n))), [1, 0]],
    [(n) => places.sameElement((it) => it[name].prefix("ber").and(it.number.is(n))), [0, 1]],
    [(n) => places.sameElement((it) => it[name].in(["oslo", "rome"]).and(it.number.is(n))), [1, 0]],
    [(n) => counts.sameElement((it) => it[name].is(-3).and(it.number.is(n))), [1, 0]],
    [(n) => counts.sameElement((it) => it[name].gt(-3).and(it.number.is(n))), [0, 1]],
    [(n) => lengths.sameElement((it) => it[name].is(1.1).and(it.number.is(n))), [1, 0]],
    [(n) => lengths.sameElement((it) => it[name].between(2, 3).and(it.number.is(n))), [0, 1]],
    [(n) => days.sameElement((it) => it[name].le(early).and(it.number.is(n))), [1, 0]],
    [(n) => days.sameElement((it) => it[name].lt(late).and(it.number.is(n))), [1, 0]],
    [(n) => days.sameElement((it) => it[name].ge(late).and(it.number.is(n))), [0, 1]],
    [(n) => stops.sameElement((it) => it[name].is(false).and(it.number.is(n))), [0, 1]],
  ];
  for (const [condition, found] of asked) {
    const counted = await Promise.all([0, 1].map((number) => alice.count(trip, condition(number))));
    expect(counted, String(condition(0))).toEqual(found);
  }
});

test("lists of lists and of sets are stored as they are, wherever they stand", async () => {
  const board = schema("board", {
    rows: array(array(string())),
    grid: array(array(array(int()))),
    notes: array(array(text())),
    weights: array(weightedSet(oneOf("a", "b"))),
    numbers: map(string(), array(array(bigint()))),
    part: struct({ places: array(array(position())) }),
    tracks: array(array(struct({ name: string() }))),
  });
  await using db = await open({ schemas: [board] });
  const alice = db.group("alice");
  const document = {
    rows: [["a"], ["b", "c"]],
    grid: [[[1], [2]], [[3]]],
    notes: [["one two"], ["three"]],
    weights: [{ a: 1 }, { b: 2 }],
    numbers: { x: [[2n ** 60n], [1n]] },
    part: { places: [[{ lat: 1, lng: 2 }]] },
    tracks: [[{ name: "d" }], [{ name: "e" }]],
  };
  await alice.put(board, "1", document);
  expect(await alice.get(board, "1")).toEqual(document);
  const { hits } = await alice.search(board, { where: (it) => it.tracks.name.is("e") });
  expect(hits.map(({ fields }) => fields)).toEqual([document]);
});

test("a field that is called as an operator is ordered by, however its texts compare", async () => {
  const game = schema("game", { matches: string() });
  await using db = await open({ schemas: [game] });
  const alice = db.group("alice");
  await alice.put(game, "1", { matches: "a" });
  await alice.put(game, "2", { matches: "B" });
  const found = async (order: "raw" | "lowercase" | "uca") => {
    const { hits } = await alice.search(game, { orderBy: { by: "matches", function: order, direction: "desc" } });
    return hits.map(({ id }) => id);
  };
  expect(await found("raw")).toEqual(["1", "2"]);
  expect(await found("lowercase")).toEqual(["2", "1"]);
  expect(await found("uca")).toEqual(["2", "1"]);
});
