/** What fields with types of their own are to the type checker. */
import { expectTypeOf, test } from "vitest";
import * as z from "zod";
import {
  array,
  bigint,
  byte,
  chunks,
  double,
  embedding,
  float,
  type Group,
  type Infer,
  type InferInput,
  int,
  json,
  map,
  oneOf,
  schema,
  string,
  struct,
  tensor,
  text,
  timestamp,
  vector,
  weightedSet,
} from "../src/index.ts";

const task = schema(
  "task",
  {
    title: text(),
    state: oneOf("open", "done"),
    priority: oneOf("low", "high").default("low"),
    sequence: bigint().optional(),
    any: json<{ a: number }>(),
    checked: json({ schema: z.object({ pages: z.number().default(1) }) }),
    count: json<number>().optional(),
    weight: int().default(3).optional(),
    at: timestamp(),
    vec: vector(2).optional(),
  },
  { expires: { after: "30d", of: "at" } },
);
declare const group: Group;

test("documents have unions, bigints, what JSON is said to be, and defaults", () => {
  expectTypeOf<Infer<typeof task>>().toEqualTypeOf<{
    readonly title: string;
    readonly state: "open" | "done";
    readonly priority: "low" | "high";
    readonly sequence?: bigint;
    readonly any: { a: number };
    readonly checked: { pages: number };
    readonly count?: number;
    readonly weight?: number;
    readonly at: Date;
    readonly vec?: readonly number[];
  }>();
  expectTypeOf<InferInput<typeof task>["checked"]>().toEqualTypeOf<{ pages?: number | undefined }>();
  expectTypeOf<Pick<InferInput<typeof task>, "priority">>().toEqualTypeOf<{
    readonly priority?: "low" | "high" | undefined;
  }>();
});

test("what is added to, computed with or asked of a document is what can be", () => {
  const note = schema("note", {
    body: text(),
    tags: array(string()).optional(),
    labels: weightedSet(string()),
    counts: map(string(), int()),
    size: struct({ width: int(), height: int() }),
    dense: tensor("float", { x: 2 }),
    sparse: tensor("float", { word: "mapped" }),
    pieces: chunks("body"),
    vec: embedding({ from: "body", model: "m" }),
  });
  () => {
    void group.update(note, "1", { tags: { add: ["a"] }, labels: { add: { a: 1 } } });
    void group.update(note, "1", { tags: { remove: ["a"] }, labels: { remove: ["a"] }, counts: { assign: { a: 1 } } });
    // What is undefined is no change, as it is no field of a document that is put.
    void group.update(note, "1", { tags: undefined });
    // @ts-expect-error: entries of maps are changed by their paths
    void group.update(note, "1", { counts: { add: { a: 1 } } });
    // @ts-expect-error: and removed so
    void group.update(note, "1", { counts: { remove: ["a"] } });
    // @ts-expect-error: a struct is no set
    void group.update(note, "1", { size: { add: { width: 1, height: 1 } } });
    // @ts-expect-error: a tensor is no list
    void group.update(note, "1", { dense: { add: [1, 2] } });
    // @ts-expect-error: and no set
    void group.update(note, "1", { sparse: { remove: ["a"] } });
    // @ts-expect-error: the server makes it
    void group.update(note, "1", { pieces: { assign: null } });
    // @ts-expect-error: it is no part of a stored document
    void group.removeWhere(note, (it) => it.pieces.isSet());
    // @ts-expect-error: nor is this
    void group.removeWhere(note, (it) => it.vec.isUnset());
  };
});

test("keys of maps and sets are selected as what they are in the schema", () => {
  const tally = schema("tally", {
    byYear: map(int(), string()),
    labels: weightedSet(string()),
    years: weightedSet(int()),
    marks: struct({ isSet: string(), isUnset: int() }),
  });
  () => {
    void group.removeWhere(tally, (it) => it.byYear.key.gt(2020).and(it.byYear.entry("2021").is("a")));
    void group.removeWhere(tally, (it) => it.labels.key.prefix("a").and(it.labels.value.ge(3), it.years.key.is(2020)));
    void group.removeWhere(tally, (it) => it.years.entry("2020").is(1).and(it.labels.entry("a").isUnset()));
    void group.removeWhere(tally, (it) => it.marks.isSet.is("a").and(it.marks.isUnset.gt(1)));
    // @ts-expect-error: a year is a number
    void group.removeWhere(tally, (it) => it.byYear.key.is("2020"));
    // @ts-expect-error: a label is a text
    void group.removeWhere(tally, (it) => it.labels.key.is(1));
    // @ts-expect-error: so is it in a set
    void group.removeWhere(tally, (it) => it.years.key.is("2020"));
    // @ts-expect-error: a member of that name is the member
    void group.removeWhere(tally, (it) => it.marks.isSet());
  };
});

test("conditions, selections and changes are of these types", () => {
  () => {
    const { conditions } = task;
    conditions.state.is("open");
    // @ts-expect-error: it is none of the values
    conditions.state.is("closed");
    // @ts-expect-error: it is none of the values
    conditions.state.in(["open", "closed"]);
    conditions.sequence.between(1n, 2n);
    // @ts-expect-error: a number is no bigint
    conditions.sequence.gt(1);
    // @ts-expect-error: JSON is not searched
    conditions.any.is("a");
    void group.removeWhere(task, (it) => it.state.is("done").and(it.sequence.gt(3n)).and(it.any.isSet()));
    // @ts-expect-error: it is none of the values
    void group.removeWhere(task, (it) => it.state.is("closed"));
    // @ts-expect-error: JSON is not compared
    void group.removeWhere(task, (it) => it.count.gt(3));
    void group.update(task, "1", { state: { assign: "done" }, sequence: { assign: 3n }, count: { assign: 3 } });
    // @ts-expect-error: JSON is not computed with
    void group.update(task, "1", { count: { increment: 3 } });
    // @ts-expect-error: what has a default cannot be cleared
    void group.update(task, "1", { priority: { assign: null } });
    void group.search(task, { orderBy: ["state", "sequence desc"] });
    // @ts-expect-error: it is no point in time
    schema("s", { title: text(), at: timestamp() }, { expires: { after: "30d", of: "title" } });
    // @ts-expect-error: it is no time span
    schema("s", { title: text(), at: timestamp() }, { expires: { after: "a month", of: "at" } });
    // @ts-expect-error: it is none of the values
    oneOf("a", "b").default("c");
    map(int(), weightedSet(oneOf("a", "b")));
    // @ts-expect-error: a bigint is no key of an object
    weightedSet(bigint());
    for (const of of [weightedSet(text()), weightedSet(int()), weightedSet(byte()), weightedSet(string().optional())])
      void of;
    // @ts-expect-error: sets have weights of texts and integers
    weightedSet(float());
    // @ts-expect-error: nor of fractions of 64 bits
    weightedSet(double());
    // @ts-expect-error: a list of vectors is a tensor with one more dimension
    array(vector(2));
    // @ts-expect-error: as one of tensors is
    struct({ rows: array(tensor("float", { x: 2 })) });
    // @ts-expect-error: nor is a point in time
    map(timestamp(), int());
    // @ts-expect-error: of relevance there is no page
    group.cursor(task, { orderBy: { by: "title" } });
  };
});
