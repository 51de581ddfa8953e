import { describe, expectTypeOf, test } from "vitest";
import {
  type AnySchema,
  array,
  bigint,
  bool,
  chunks,
  connect,
  type Explanation,
  embedding,
  type FeatureValue,
  type Infer,
  type InferInput,
  int,
  json,
  map,
  oneOf,
  position,
  query,
  raw,
  schema,
  string,
  struct,
  text,
  timestamp,
  vector,
  weightedSet,
} from "../src/index.ts";
import { mail } from "./mail.ts";

const alice = connect({ url: "http://localhost:8080" }).group("alice");

describe("documents", () => {
  test("are read as the fields say", () => {
    type Mail = Infer<typeof mail>;
    expectTypeOf<Mail["subject"]>().toEqualTypeOf<string>();
    expectTypeOf<Mail["sentAt"]>().toEqualTypeOf<Date>();
    expectTypeOf<Mail["recipients"]>().toEqualTypeOf<readonly string[]>();
    expectTypeOf<Mail>().toHaveProperty("unread");
    expectTypeOf<Mail["unread"]>().toEqualTypeOf<boolean | undefined>();
    expectTypeOf<Mail["labels"]>().toEqualTypeOf<Readonly<Record<string, number>> | undefined>();
    expectTypeOf<NonNullable<Mail["people"]>[number]["name"]>().toEqualTypeOf<string>();
    expectTypeOf<NonNullable<Mail["people"]>[number]["email"]>().toEqualTypeOf<string | undefined>();
    expectTypeOf<Mail["vec"]>().toEqualTypeOf<readonly number[] | undefined>();
    expectTypeOf<Mail["chunks"]>().toEqualTypeOf<Readonly<Record<string, readonly number[]>> | undefined>();
    expectTypeOf<Mail["weights"]>().toEqualTypeOf<Readonly<Record<string, number>> | undefined>();
    expectTypeOf<NonNullable<Mail["pairs"]>[number]["value"]>().toEqualTypeOf<number>();
  });

  test("are given with what they must have, and with typed arrays", () => {
    type Given = InferInput<typeof mail>;
    expectTypeOf<{ subject: string }>().not.toExtend<Given>();
    expectTypeOf<Float32Array>().toExtend<NonNullable<Given["vec"]>>();
    const least = { subject: "", body: "", sender: "", recipients: [], sentAt: new Date(), year: 1 };
    expectTypeOf(alice.put<typeof mail>).toBeCallableWith(mail, "1", least);
    // @ts-expect-error a text is no number
    void (() => alice.put(mail, "1", { ...least, year: "1" }));
    // @ts-expect-error there is no such field
    void (() => alice.put(mail, "1", { ...least, colour: "red" }));
  });

  test("come from get as they may be missing", () => {
    expectTypeOf(alice.get<typeof mail>).returns.resolves.toEqualTypeOf<Infer<typeof mail> | undefined>();
  });
});

describe("searches", () => {
  test("hits have all fields but vectors", async () => {
    const result = query(mail, { text: "a" });
    type HitName = NonNullable<(typeof result)["hitFields"]>[number];
    expectTypeOf<"subject">().toExtend<HitName>();
    expectTypeOf<"vec">().not.toExtend<HitName>();
    const search = () => alice.search(mail, { text: "a" });
    type Fields = Awaited<ReturnType<typeof search>>["hits"][number]["fields"];
    expectTypeOf<Fields["subject"]>().toEqualTypeOf<string>();
  });

  test("hits have the selected fields", () => {
    const search = () => alice.search(mail, { fields: ["subject", "vec"] });
    type Fields = Awaited<ReturnType<typeof search>>["hits"][number]["fields"];
    expectTypeOf<Fields>().toEqualTypeOf<{ readonly subject: string; readonly vec?: readonly number[] }>();
  });

  test("hits have some fields when the server chooses them", () => {
    const search = () => alice.searchYql(mail, "select * from mail where true");
    type Fields = Awaited<ReturnType<typeof search>>["hits"][number]["fields"];
    expectTypeOf<Fields["subject"]>().toEqualTypeOf<string | undefined>();
  });

  test("conditions fit their fields", () => {
    query(mail, { where: (it) => it.year.ge(2020).and(it.sender.is("a"), it.subject.contains("b")) });
    query(mail, { where: (it) => it.sentAt.lt(new Date()).or(it.recipients.in(["a"]), it.people.name.is("x")) });
    query(mail, { where: (it) => it.labels.is("work").and(it.counts.key.is("a"), it.counts.value.gt(1)) });
    query(mail, { where: (it) => it.subject.near(["a", "b"]).and(it.vec.nearestNeighbor({ targetHits: 5 })) });
    query(mail, { where: (it) => it.people.sameElement((person) => person.name.is("a")).or(it.recipients.at(0, "x")) });
    query(mail, { where: (it) => it.place.geoLocation({ lat: 1, lng: 2 }, "5 km").and(it.sender.fuzzy("a")) });
    // @ts-expect-error a distance has a unit
    void (() => query(mail, { where: (it) => it.place.geoLocation({ lat: 1, lng: 2 }, "5") }));
    // @ts-expect-error a name that is one value has no words near each other
    void (() => query(mail, { where: (it) => it.sender.near(["a"]) }));
    // @ts-expect-error the elements have no such member
    void (() => query(mail, { where: (it) => it.people.sameElement((person) => person.colour.is("a")) }));
    // @ts-expect-error the words of a searched text are not compared by edits: the server refuses it
    void (() => query(mail, { where: (it) => it.subject.fuzzy("a") }));
    // @ts-expect-error nor are those of the texts of a list
    void (() => query(mail, { where: (it) => it.notes.fuzzy("a") }));
    // @ts-expect-error a fraction has no edits
    void (() => query(mail, { where: (it) => it.score.fuzzy("1") }));
    // @ts-expect-error weights of integers are by integer
    void (() => query(mail, { where: (it) => it.year.weightedSet({ a: 1 }) }));
    // @ts-expect-error a list has no order, however it is said
    void (() => query(mail, { orderBy: { by: "recipients" } }));
    // @ts-expect-error a number has no words
    void (() => query(mail, { where: (it) => it.year.contains("a") }));
    // @ts-expect-error a date is compared with a date
    void (() => query(mail, { where: (it) => it.sentAt.lt(5) }));
    // @ts-expect-error fractions are not looked up in lists
    void (() => query(mail, { where: (it) => it.score.in([1]) }));
    // @ts-expect-error there is no such field
    void (() => query(mail, { where: (it) => it.colour.is("red") }));
  });

  test("conditions on elements are those that an element can be asked", () => {
    const { conditions: it } = schema("list", {
      names: array(string()),
      texts: array(text()),
      states: array(oneOf("open", "done")),
      sizes: array(int()),
      ids: array(bigint()),
      times: array(timestamp()),
      flags: array(bool()).optional(),
      places: array(position()),
      files: array(raw()),
      facts: array(json()),
      people: array(struct({ age: int(), tags: array(string()) })),
      rows: array(array(string())),
      grid: struct({ rows: array(array(int())), tags: array(string()) }),
      byName: map(string(), struct({ tags: array(string()), counts: map(string(), int()) })),
      odd: array(struct({ at: string(), sameElement: int() })),
      weights: array(weightedSet(text())),
      tracks: array(array(struct({ age: int() }))),
    });
    it.tracks.age.is(1);
    it.names.sameElement((name) => name.is("a").or(name.prefix("b"), name.fuzzy("c")));
    it.texts.sameElement((part) => part.contains("a").and(part.phrase("b", "c"), part.prefix("d"), part.text("e")));
    it.states.sameElement((state) => state.is("open"));
    it.people.sameElement((person) => person.age.gt(1).and(person.age.in([2]), person.tags.is("a")));
    it.people.tags.is("a").and(it.people.at(0, "a"), it.grid.tags.at(0, "a"), it.byName.value.tags.is("a"));
    it.odd.at.is("a").and(
      it.odd.sameElement.is(1),
      it.byName.sameElement((entry) => entry.value.counts.key.is("a")),
    );
    it.names.at(0, "a").and(it.sizes.at(0, 1), it.flags.at(0, true), it.ids.at(0, 1n), it.states.at(0, "done"));
    it.times.at(0, new Date()).and(it.people.at(0, "a"));
    void (() => {
      // @ts-expect-error an element by itself has words, and no name to compare a value with
      it.names.sameElement((name) => name.in(["a"]));
      // @ts-expect-error nor to look for an expression in
      it.texts.sameElement((part) => part.matches("a"));
      // @ts-expect-error nor to have weights
      it.names.sameElement((name) => name.weightedSet({ a: 1 }));
      // @ts-expect-error it is none of the values
      it.states.sameElement((state) => state.is("closed"));
      // @ts-expect-error numbers have no words: the list itself is asked
      it.sizes.sameElement((size) => size.is(1));
      // @ts-expect-error nor have truth values
      it.flags.sameElement((flag) => flag.is(true));
      // @ts-expect-error nor have places
      it.places.sameElement((place) => place.geoLocation({ lat: 1, lng: 2 }, "1 km"));
      // @ts-expect-error bytes are not searched
      it.files.sameElement(() => it.sizes.is(1));
      // @ts-expect-error JSON neither
      it.facts.at(0, "a");
      // @ts-expect-error a name is no number
      it.names.at(0, 1);
      // @ts-expect-error a number is no name
      it.sizes.at(0, "a");
      // @ts-expect-error it is none of the values
      it.states.at(0, "closed");
      // @ts-expect-error a number is no point in time
      it.times.at(0, 1);
      // @ts-expect-error a place is no number
      it.places.at(0, 1);
      // @ts-expect-error the numbered elements are the structs: what is listed in them has no numbers of its own
      it.people.tags.at(0, "a");
      // @ts-expect-error nor in an element of them
      it.people.sameElement((person) => person.tags.at(0, "a"));
      // @ts-expect-error nor in the values of a map
      it.byName.value.tags.at(0, "a");
      // @ts-expect-error and no entries of its own that fulfil all of a condition
      it.byName.value.counts.sameElement((entry) => entry.key.is("a"));
      // @ts-expect-error nor within such a condition
      it.byName.sameElement((entry) => entry.value.tags.sameElement((tag) => tag.is("a")));
      // @ts-expect-error a member of that name is the member
      it.odd.at(0, "a");
      // @ts-expect-error what is in lists of lists is not searched
      it.rows.is("a");
      // @ts-expect-error within a struct neither
      it.grid.rows.is(1);
      // @ts-expect-error nor in lists of sets
      it.weights.contains("a");
      // @ts-expect-error the server makes pieces as a field of their own
      array(chunks("texts"));
    });
  });

  test("profiles, vectors and orders are the schema's own", () => {
    query(mail, { profile: "recent", inputs: { now: 1 }, orderBy: ["sentAt desc", "year"] });
    query(mail, { near: { field: "vec", vector: [1, 2, 3] } });
    // @ts-expect-error there is no such profile
    void (() => query(mail, { profile: "resent" }));
    // @ts-expect-error a text has no neighbours
    void (() => query(mail, { near: { field: "subject", vector: [1] } }));
    // @ts-expect-error a list has no order
    void (() => query(mail, { orderBy: "recipients" }));
    // @ts-expect-error a word that is not known is not ignored
    void (() => alice.search(mail, { txet: "a" }));
    // @ts-expect-error a made profile is chosen by text and near
    void (() => query(schema("t", { a: text(), v: vector(2) }), { profile: "nowhere" }));
  });
});

const ranked = schema(
  "ranked",
  { title: text(), year: int(), vec: vector(3).optional() },
  {
    profiles: {
      plain: {
        inputs: {
          now: "double",
          q: "tensor<float>(x[3])",
          words: "tensor(word{})",
          parts: "tensor<float>(p{}, x[2])",
          both: "tensor(a{},b{})",
          long: "tensor<float>(x[384])",
        },
        functions: { fresh: "freshness(year)", "twice(x)": "x * 2" },
        firstPhase: "bm25(title) + fresh",
        matchFeatures: ["bm25(title)", "fresh", "closeness(field, vec)"],
        summaryFeatures: ["fieldMatch(title).completeness", "attribute(year)"],
      },
      child: { inherits: "plain", inputs: { more: "double" } },
      open: { firstPhase: "nativeRank" },
    },
  },
);

type HitOf<Search extends (...given: never[]) => Promise<{ readonly hits: readonly unknown[] }>> = Awaited<
  ReturnType<Search>
>["hits"][number];
const cursor = () => alice.cursor(ranked, { text: "a" });
type CursorHit = ReturnType<typeof cursor> extends AsyncGenerator<infer Found> ? Found : never;

describe("explanations", () => {
  test("are there if they are asked for", () => {
    const asked = () => alice.search(ranked, { explain: true });
    expectTypeOf<HitOf<typeof asked>["explain"]>().toEqualTypeOf<() => Explanation>();
    const perhaps = (explain: boolean) => alice.search(ranked, { explain });
    expectTypeOf<HitOf<typeof perhaps>["explain"]>().toEqualTypeOf<(() => Explanation) | undefined>();
    const yql = () => alice.searchYql(ranked, "select * from ranked where true", { explain: true });
    expectTypeOf<HitOf<typeof yql>["explain"]>().toEqualTypeOf<() => Explanation>();
    const paged = () => alice.page(ranked, { explain: true });
    expectTypeOf<HitOf<typeof paged>["explain"]>().toEqualTypeOf<() => Explanation>();
  });

  test("are not there otherwise", () => {
    const silent = () => alice.search(ranked, { text: "a", explain: false });
    // @ts-expect-error it is not asked for
    void ((hit: HitOf<typeof silent>) => hit.explain());
    // @ts-expect-error nor here
    void ((hit: CursorHit) => hit.explain());
    const written = () => alice.run(query(ranked, { text: "a" }));
    // @ts-expect-error nor by a query that was written before
    void ((hit: HitOf<typeof written>) => hit.explain());
  });
});

describe("highlights", () => {
  test("are there if they are to be ranges", () => {
    const asked = () => alice.search(ranked, { text: "a", highlights: "ranges" });
    expectTypeOf<keyof HitOf<typeof asked>["highlights"]>().toEqualTypeOf<"title">();
    expectTypeOf<HitOf<typeof asked>["fields"]["title"]>().toBeString();
    const html = () => alice.search(ranked, { text: "a", highlights: "html" });
    // @ts-expect-error they are in the texts
    void ((hit: HitOf<typeof html>) => hit.highlights);
    // @ts-expect-error there is no such form
    void (() => alice.search(ranked, { highlights: "markdown" }));
  });
});

describe("ranking", () => {
  test("features that a profile lists are keys of its hits", () => {
    const search = () => alice.search(ranked, { text: "a", profile: "plain" });
    type Found = Awaited<ReturnType<typeof search>>["hits"][number];
    expectTypeOf<keyof Found["matchFeatures"]>().toEqualTypeOf<"bm25(title)" | "fresh" | "closeness(field,vec)">();
    expectTypeOf<Found["matchFeatures"]["fresh"]>().toEqualTypeOf<FeatureValue>();
    expectTypeOf<keyof Found["summaryFeatures"]>().toEqualTypeOf<
      "fieldMatch(title).completeness" | "attribute(year)"
    >();
    // @ts-expect-error the profile does not list it
    void ((hit: Found) => hit.matchFeatures["bm25(body)"]);
  });

  test("features are inherited from the schema's own profiles", () => {
    const search = () => alice.searchYql(ranked, "select * from ranked where true", { profile: "child" });
    type Found = Awaited<ReturnType<typeof search>>["hits"][number];
    expectTypeOf<keyof Found["matchFeatures"]>().toEqualTypeOf<"bm25(title)" | "fresh" | "closeness(field,vec)">();
  });

  test("features that are numbers whatever they are of are numbers", () => {
    const search = () => alice.search(ranked, { text: "a", profile: "plain" });
    type Found = Awaited<ReturnType<typeof search>>["hits"][number];
    expectTypeOf<Found["matchFeatures"]["bm25(title)"]>().toBeNumber();
    expectTypeOf<Found["matchFeatures"]["closeness(field,vec)"]>().toBeNumber();
    expectTypeOf<Found["summaryFeatures"]["fieldMatch(title).completeness"]>().toBeNumber();
    expectTypeOf<Found["summaryFeatures"]["attribute(year)"]>().toEqualTypeOf<FeatureValue>();
  });

  test("features without a profile are those of the one that is made for the search", () => {
    const words = () => alice.search(ranked, { text: "a" });
    const open = () => alice.search(ranked, { text: "a", profile: "open" });
    const yql = () => alice.searchYql(ranked, "select * from ranked where true");
    type Words = { readonly "bm25(title)": number };
    expectTypeOf<HitOf<typeof words>["matchFeatures"]>().toEqualTypeOf<Words>();
    expectTypeOf<HitOf<typeof open>["matchFeatures"]>().toEqualTypeOf<Words>();
    expectTypeOf<HitOf<typeof yql>["matchFeatures"]>().toEqualTypeOf<Words>();
    expectTypeOf<HitOf<typeof words>["summaryFeatures"]>().toEqualTypeOf<undefined>();
    // @ts-expect-error a number has no words
    void ((hit: HitOf<typeof words>) => hit.matchFeatures["bm25(year)"]);

    const near = () => alice.search(ranked, { text: "a", near: { field: "vec", vector: [1, 2, 3] } });
    expectTypeOf<keyof HitOf<typeof near>["matchFeatures"]>().toEqualTypeOf<
      "similarity" | "closeness(field,vec)" | "words"
    >();
    expectTypeOf<HitOf<typeof near>["matchFeatures"]["words"]>().toEqualTypeOf<number | undefined>();
    expectTypeOf<HitOf<typeof near>["matchFeatures"]["similarity"]>().toBeNumber();

    const ordered = () => alice.search(ranked, { orderBy: "year desc" });
    expectTypeOf<HitOf<typeof ordered>["matchFeatures"]>().toEqualTypeOf<Words | undefined>();
    const unranked = () => alice.search(ranked, { text: "a", profile: "unranked" });
    expectTypeOf<HitOf<typeof unranked>["matchFeatures"]>().toEqualTypeOf<undefined>();
    // A cursor ranks by no profile unless one is named.
    expectTypeOf<CursorHit["matchFeatures"]>().toEqualTypeOf<undefined>();
  });

  test("features of an own default, of pieces, and of schemas with nothing to rank", () => {
    const own = schema("own", { a: text() }, { profiles: { default: { matchFeatures: ["fieldLength(a)"] }, b: {} } });
    const ranks = () => alice.search(own, { text: "a" });
    expectTypeOf<HitOf<typeof ranks>["matchFeatures"]>().toEqualTypeOf<{ readonly "fieldLength(a)": number }>();

    const page = schema("page", { body: text(), vec: embedding({ from: "body", model: "m", chunk: "sentence" }) });
    const near = () => alice.search(page, { near: { field: "vec", text: "a" } });
    expectTypeOf<keyof HitOf<typeof near>["matchFeatures"]>().toEqualTypeOf<
      "similarity" | "closeness(field,vec)" | "words" | "vec_chunks"
    >();
    expectTypeOf<HitOf<typeof near>["matchFeatures"]["vec_chunks"]>().toEqualTypeOf<FeatureValue>();

    const point = schema("point", { at: vector(2), year: int() });
    const all = () => alice.search(point, {});
    expectTypeOf<HitOf<typeof all>["matchFeatures"]>().toEqualTypeOf<undefined>();
    const nearest = () => alice.search(point, { near: { field: "at", vector: [1, 2] } });
    expectTypeOf<keyof HitOf<typeof nearest>["matchFeatures"]>().toEqualTypeOf<"similarity" | "closeness(field,at)">();

    const any = (schema: AnySchema) => alice.search(schema, { text: "a" });
    expectTypeOf<HitOf<typeof any>["matchFeatures"]>().toEqualTypeOf<
      Readonly<Record<string, FeatureValue>> | undefined
    >();
  });

  test("inputs have the types that the profile declares", () => {
    query(ranked, { profile: "plain", inputs: { now: 1, q: [1, 2, 3], words: { a: 1 }, parts: { a: [1, 2] } } });
    query(ranked, { profile: "plain", inputs: { q: new Float32Array(3), long: [1, 2, 3], vec: [1, 2, 3] } });
    query(ranked, { profile: "plain", inputs: { both: { cells: [{ address: { a: "1", b: "2" }, value: 3 }] } } });
    query(ranked, { profile: "plain", inputs: { q: "embed(@text)" } });
    query(ranked, { profile: "child", inputs: { more: 1, now: 2 } });
    // @ts-expect-error a number is wanted
    void (() => query(ranked, { profile: "plain", inputs: { now: "soon" } }));
    // @ts-expect-error the dimension has three
    void (() => query(ranked, { profile: "plain", inputs: { q: [1, 2] } }));
    // @ts-expect-error the dimension is mapped
    void (() => query(ranked, { profile: "plain", inputs: { words: [1, 2] } }));
    // @ts-expect-error each part has two
    void (() => query(ranked, { profile: "plain", inputs: { parts: { a: [1, 2, 3] } } }));
    // @ts-expect-error an address names both dimensions
    void (() => query(ranked, { profile: "plain", inputs: { both: { cells: [{ address: { a: "1" }, value: 3 }] } } }));
    // @ts-expect-error there is no such input
    void (() => query(ranked, { profile: "plain", inputs: { soon: 1 } }));
  });

  test("features that there are not cannot be listed", () => {
    const fields = { title: text() };
    // @ts-expect-error there is no such feature
    void (() => schema("x", fields, { profiles: { p: { matchFeatures: ["bm26(title)"] } } }));
    // @ts-expect-error there is no such field
    void (() => schema("x", fields, { profiles: { p: { matchFeatures: ["bm25(titel)"] } } }));
    // @ts-expect-error there is no such function
    void (() => schema("x", fields, { profiles: { p: { functions: { f: "1" }, summaryFeatures: ["g"] } } }));
    void (() => schema("x", fields, { profiles: { p: { functions: { f: "1" }, summaryFeatures: ["f"] } } }));
    void (() => schema("x", fields, { profiles: { p: { matchFeatures: ["onnx(judge).score", "term(0).weight"] } } }));
    // @ts-expect-error there is no such feature without parameters
    void (() => schema("x", fields, { profiles: { p: { summaryFeatures: ["nativeRang"] } } }));
  });

  test("inputs are inherited, and those of a parent are checked too", () => {
    // @ts-expect-error the parent says that it is a number
    void (() => query(ranked, { profile: "child", inputs: { now: [1] } }));
    // @ts-expect-error three cells are wanted, not four
    void (() => query(ranked, { profile: "child", inputs: { q: { values: [1, 2, 3, 4] } } }));
    // @ts-expect-error labels are no places
    void (() => query(ranked, { profile: "plain", inputs: { words: { cells: [{ address: { x: "a" }, value: 1 }] } } }));
  });
});

describe("retrieval", () => {
  test("takes the schema's own fields and profiles", () => {
    expectTypeOf(alice.retrieve<typeof mail>).toBeCallableWith(mail, "x", {
      from: ["subject", "notes"],
      near: { field: "vec", embedder: "minilm", profile: "recent" },
      where: (it) => it.year.ge(2020),
      text: { match: "all", profile: "recent" },
    });
    // @ts-expect-error a number is no text to take passages from
    void (() => alice.retrieve(mail, "x", { from: ["year"] }));
    // @ts-expect-error a text is no vector
    void (() => alice.retrieve(mail, "x", { near: { field: "subject" } }));
    // @ts-expect-error there is no such profile
    void (() => alice.retrieve(mail, "x", { text: { profile: "old" } }));
    // @ts-expect-error there is no such field to filter by
    void (() => alice.retrieve(mail, "x", { where: (it) => it.size.contains("x") }));
  });

  test("has passages and parts that are told apart by their type", async () => {
    const { passages } = await alice.retrieve(mail, "x");
    expectTypeOf(passages[0]?.scores.ranks).toEqualTypeOf<Readonly<Record<string, number>> | undefined>();
    for await (const part of alice.ask(mail, "x")) {
      expectTypeOf(part.text).toBeString();
      if (part.type === "end") expectTypeOf(part.reason).toBeString();
      // @ts-expect-error only the end has a reason
      else void part.reason;
    }
    const answer = await alice.ask(mail, "x");
    expectTypeOf(answer.text).toBeString();
    expectTypeOf(answer.inventedCitations).toEqualTypeOf<readonly string[]>();
  });
});
