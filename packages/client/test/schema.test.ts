import { describe, expect, test } from "vitest";
import * as z from "zod/v4";
import { applicationFiles } from "../src/deployment/application.ts";
import {
  array,
  BrookletError,
  chunks,
  embedding,
  int,
  map,
  oneOf,
  schema,
  string,
  struct,
  text,
  vector,
  weightedSet,
} from "../src/index.ts";
import { mail } from "./mail.ts";

describe("the schema file", () => {
  test("lists the texts of a union, of parts of fields too, once and in signs that every parser takes", () => {
    const state = oneOf("to come", "été", "done");
    const visit = schema("visit", {
      state,
      kinds: array(oneOf("a")),
      weights: weightedSet(oneOf("x")),
      people: array(struct({ role: oneOf("host"), name: string() })),
      roles: map(string(), oneOf("100%")),
    });
    const listed = String(visit).match(/brooklet\.values.*/g);
    expect(listed).toEqual([
      'brooklet.values(state): "to%20come %C3%A9t%C3%A9 done"',
      "brooklet.values(kinds): a",
      "brooklet.values(weights): x",
      "brooklet.values(people.role): host",
      'brooklet.values(roles.value): "100%25"',
    ]);
    const own = schema(
      "own",
      { state },
      { profiles: { default: { properties: { "brooklet.statistics": "reference" } } } },
    );
    expect(String(own).match(/brooklet\.values/g)).toHaveLength(1);
  });

  test("has lists of lists as values that are not searched", () => {
    const board = schema("board", {
      title: text(),
      rows: array(array(oneOf("a"))),
      notes: array(array(text({ match: "gram", stemming: "none" }))),
      weights: array(weightedSet(string())).optional(),
    });
    expect(String(board).match(/type array.*\n.*\n.*/g)).toEqual(
      ["array<array<string>>", "array<array<string>>", "array<weightedset<string>>"].map(
        (type) => `type ${type} {\n      indexing: summary\n    }`,
      ),
    );
    expect(String(board)).toContain("fieldset default { fields: title }");
    expect(String(board)).not.toMatch(/brooklet[.](values|stemming|grams).*(rows|notes)/);
  });

  test("has fields, structs, field sets, and made profiles", () => {
    expect(String(mail)).toMatchInlineSnapshot(`
      "schema mail {
        document mail {
          struct person {
            field name type string {}
            field email type string {}
            field about type string {}
          }
          field subject type string {
            indexing: summary | index
            index: enable-bm25
            bolding: on
          }
          field body type string {
            indexing: summary | index
            index: enable-bm25
            match: substring
          }
          field sender type string {
            indexing: summary | attribute
            match: word
            rank: filter
          }
          field recipients type array<string> {
            indexing: summary | attribute
            match: word
            rank: filter
          }
          field notes type array<string> {
            indexing: summary | index
            index: enable-bm25
          }
          field sentAt type double {
            indexing: summary | attribute
            # timestamp()
          }
          field year type int {
            indexing: summary | attribute
          }
          field size type long {
            indexing: summary | attribute
          }
          field score type double {
            indexing: summary | attribute
          }
          field unread type bool {
            indexing: summary | attribute
          }
          field labels type weightedset<string> {
            indexing: summary | attribute
            match: word
            rank: filter
          }
          field counts type map<string, int> {
            indexing: summary
            struct-field key {
              indexing: attribute
              match: word
              rank: filter
            }
            struct-field value {
              indexing: attribute
            }
          }
          field people type array<person> {
            indexing: summary
            struct-field name {
              indexing: attribute
              match: word
              rank: filter
            }
            struct-field email {
              indexing: attribute
              match: word
              rank: filter
            }
            struct-field about {
              indexing: index
            }
          }
          field place type position {
            indexing: summary | attribute
          }
          field picture type raw {
            indexing: summary
          }
          field vec type tensor<bfloat16>(x[3]) {
            indexing: attribute
            attribute { distance-metric: angular }
          }
          field chunks type tensor<float>(chunk{},x[2]) {
            indexing: attribute
          }
          field weights type tensor<double>(word{}) {
            indexing: attribute
          }
          field pairs type tensor<float>(a{},b{}) {
            indexing: attribute
          }
        }
        fieldset default { fields: subject, body, notes }
        fieldset all { fields: subject, body, notes }
        rank-profile default {
          inputs {
            query(vec) tensor<float>(x[3])
          }
          rank-properties {
            brooklet.statistics: group
            brooklet.segmentation: cjk
            brooklet.stemming: english
            brooklet.accents: ignored
            brooklet.typos: forgiven
          }
          first-phase {
            expression: bm25(subject) + bm25(body) + bm25(notes)
          }
          match-features {
            bm25(subject)
            bm25(body)
            bm25(notes)
          }
        }
        rank-profile near_vec inherits default {
          function similarity() {
            expression: cos(min(distance(field, vec), 1.5707963267948966))
          }
          first-phase {
            expression: closeness(field, vec)
          }
          match-features {
            similarity
            closeness(field, vec)
          }
        }
        rank-profile hybrid_vec inherits default {
          function words() {
            expression: bm25(subject) + bm25(body) + bm25(notes)
          }
          function words_scaled() {
            expression: pow(words, 1.5) / (pow(words, 1.5) + 89.443)
          }
          function similarity() {
            expression: cos(min(distance(field, vec), 1.5707963267948966))
          }
          first-phase {
            expression: 0.45 * words_scaled + 0.55 * similarity
          }
          match-features {
            words
            similarity
            closeness(field, vec)
          }
        }
        rank-profile recent inherits default {
          inputs {
            query(now) double
          }
          function age() {
            expression: query(now) - attribute(sentAt)
          }
          first-phase {
            expression: bm25(subject) / (1 + age)
          }
          second-phase {
            expression: firstPhase + 1
          }
          summary-features {
            age
          }
        }
      }
      "
    `);
  });

  test("has no field set and no words to rank without texts", () => {
    expect(
      String(schema("event", { kind: string(), vec: vector(2, { cell: "int8", metric: "hamming" }) })),
    ).toMatchInlineSnapshot(`
      "schema event {
        document event {
          field kind type string {
            indexing: summary | attribute
            match: word
            rank: filter
          }
          field vec type tensor<int8>(x[2]) {
            indexing: attribute
            attribute { distance-metric: hamming }
          }
        }
        rank-profile default {
          inputs {
            query(vec) tensor<int8>(x[2])
          }
          rank-properties {
            brooklet.statistics: group
          }
        }
        rank-profile near_vec inherits default {
          function similarity() {
            expression: cos(min(distance(field, vec) * 0.19634954084936207, 1.5707963267948966))
          }
          first-phase {
            expression: closeness(field, vec)
          }
          match-features {
            similarity
            closeness(field, vec)
          }
        }
      }
      "
    `);
  });

  test("lets profiles inherit what they say, and be written over lines", () => {
    const both = schema(
      "note",
      { body: text() },
      {
        profiles: {
          base: { inherits: [], constants: { k: 2 } },
          "best-of": { inherits: ["base", "default"], functions: { "twice(x)": "x *\n  k" }, matchFeatures: [] },
        },
      },
    );
    expect(String(both)).toContain(
      "rank-profile base {\n    constants {\n      k: 2\n    }\n    rank-properties {\n      brooklet.statistics: group\n      brooklet.segmentation: cjk\n      brooklet.stemming: english\n      brooklet.accents: ignored\n      brooklet.typos: forgiven\n    }\n  }",
    );
    expect(String(both)).toContain(
      "rank-profile best-of inherits base, default {\n    function twice(x) {\n      expression: x * k\n    }\n    match-features {}\n  }",
    );
  });

  test("says how words are understood", () => {
    const person = struct({ about: text({ stemming: "none" }) }, { name: "person" });
    const note = schema(
      "note",
      {
        title: text({ match: "gram", gramSize: 3 }),
        body: text({ stemming: ["german", "english"] }),
        lines: array(text({ stemming: "french" })),
        people: array(person),
      },
      { stemming: "dutch", segmentation: "none", accents: "exact", typos: "exact" },
    );
    expect(String(note)).toContain(`
      match: gram
      match { gram-size: 3 }
`);
    expect(String(note)).toContain(`
    rank-properties {
      brooklet.statistics: group
      brooklet.stemming: dutch
      brooklet.grams(title): true
      brooklet.stemming(body): "german, english"
      brooklet.stemming(lines): french
      brooklet.stemming(people.about): none
    }
`);
    const plain = schema("plain", { year: int() });
    expect(String(plain)).not.toMatch(/segmentation|stemming|accents|typos/);
    expect(String(schema("exact", { body: text() }, { stemming: "none" }))).not.toContain("stemming");
  });

  test("goes into an application package", () => {
    const files = applicationFiles([mail, schema("note", { body: text() })], { cluster: "personal" });
    expect([...files.keys()]).toEqual(["services.xml", "hosts.xml", "schemas/mail.sd", "schemas/note.sd"]);
    expect(files.get("services.xml")).toContain('<content id="personal" version="1.0">');
    expect(files.get("services.xml")).toContain('<document type="note" mode="streaming"/>');
  });
});

describe("what cannot be a schema is refused with the reason", () => {
  const refused: readonly (readonly [string, () => unknown, string])[] = [
    [
      "a namespace",
      () => schema("mail", {}, { namespace: 5 as unknown as string }),
      '"5" cannot be a namespace: it is of type number, no text',
    ],
    ["a name", () => schema("my mail", {}), "'my mail' cannot be the name of a schema: use letters, digits and '_'"],
    [
      "a field",
      () => schema("a", { "x-y": int() }),
      "'x-y' cannot be the name of a field: use letters, digits and '_', no reserved word",
    ],
    [
      "a reserved word",
      () => schema("a", { from: int() }),
      "'from' cannot be the name of a field: use letters, digits and '_', no reserved word",
    ],
    [
      "another, of queries",
      () => schema("a", { as: int() }),
      "'as' cannot be the name of a field: use letters, digits and '_', no reserved word",
    ],
    [
      "one in other letters, which queries do not tell apart",
      () => schema("a", { In: int() }),
      "'In' cannot be the name of a field: use letters, digits and '_', no reserved word",
    ],
    [
      "the name of the fieldset of all texts, which conditions would ask",
      () => schema("a", { default: string(), subject: text() }),
      "'default' cannot be the name of a field: use letters, digits and '_', no reserved word",
    ],
    [
      "the name of a fieldset of one's own",
      () => schema("a", { subject: text(), body: text() }, { fieldsets: { body: ["subject"] } }),
      "'body' cannot be the name of a fieldset: a field has it",
    ],
    [
      "a part that the server should make",
      () => schema("a", { lines: array(struct({ body: text(), vec: embedding({ from: "body", model: "m" }) })) }),
      "'lines' of schema a has a part that the server should make: it makes fields alone",
    ],
    [
      "one of a map",
      () => schema("a", { body: text(), parts: map(string(), struct({ cut: chunks("body") })) }),
      "'parts' of schema a has a part that the server should make",
    ],
    ["marks within a struct", () => array(struct({ body: text({ show: "bold" }) })), "'show' has no effect in structs"],
    ["a teaser within a map", () => map(string(), text({ show: "teaser" })), "'show' has no effect in structs, maps"],
    ["marks within lists of lists", () => array(array(text({ show: "bold" }))), "'show' has no effect"],
    [
      "a field set",
      () => schema("a", { subject: text() }, { fieldsets: { all: ["subjekt" as "subject"] } }),
      "fieldset 'all' has 'subjekt', which is no field; did you mean 'subject'?",
    ],
    [
      "a profile with a member that is misspelt",
      () => String(schema("a", { body: text() }, { profiles: { p: { firstphase: "1" } as never } })),
      "profile 'p' has no option 'firstphase'; did you mean 'firstPhase'?",
    ],
    [
      "a profile that is a text",
      () => String(schema("a", { body: text() }, { profiles: { p: "bm25(body)" as never } })),
      "profile 'p' is \"bm25(body)\": give an object",
    ],
    ...["dubble", "float", "query(b) double"].map((type): [string, () => unknown, string] => [
      `an input of the type ${type}`,
      () => String(schema("a", { body: text() }, { profiles: { p: { inputs: { now: type }, firstPhase: "1" } } })),
      `input 'now' has the type '${type}': give 'double' or a tensor's`,
    ]),
    ["a dimension", () => vector(0), "dimension 'x' has size 0: give a positive integer, or \"mapped\""],
    [
      "two structs of one name",
      () => String(schema("a", { x: struct({ n: int() }, { name: "s" }), y: struct({ m: int() }, { name: "s" }) })),
      "two structs are called 's': give one another name, struct({ … }, { name })",
    ],
    ["two schemas of one name", () => applicationFiles([mail, mail]), "two schemas are called 'mail'"],
    ["the name of a schema", () => applicationFiles([mail, "note" as never]), "is made of a list of schemas: [mail]"],
    ["no schema", () => applicationFiles([]), "an application needs at least one schema"],
  ];
  test.each(refused)("%s", (_, make, message) => {
    expect(make).toThrow(message);
    expect(catching(make)).toMatchObject({ code: "INVALID_ARGUMENT", status: 0, outcome: "not_applied" });
  });
});

describe("the zod schema", () => {
  const least = { subject: "", body: "", sender: "", recipients: [], sentAt: new Date(), year: 1 };

  test("takes documents, and says what is wrong with others", () => {
    expect(mail.zod.safeParse(least).success).toBe(true);
    expect(mail.zod.safeParse({ ...least, year: 1.5 }).success).toBe(false);
    expect(mail.zod.safeParse({ ...least, year: 2 ** 31 }).success).toBe(false);
    expect(mail.zod.safeParse({ ...least, size: 2 ** 53 }).success).toBe(false);
    expect(mail.zod.safeParse({ ...least, vec: [1, 2] }).success).toBe(false);
    expect(mail.zod.safeParse({ ...least, vec: [1, 2, Number.NaN] }).success).toBe(false);
    expect(mail.zod.safeParse({ ...least, vec: new Float32Array(3) }).success).toBe(true);
    expect(mail.zod.safeParse({ ...least, colour: "red" }).success).toBe(false);
  });

  test("describes itself to tools", () => {
    const { properties } = z.toJSONSchema(schema("t", { a: text(), n: array(int()), m: map(string(), int()) }).zod);
    expect(properties).toMatchObject({ a: { type: "string" }, n: { type: "array" }, m: { type: "object" } });
  });
});

test("structs without a name are named after their field, and one struct is written once", () => {
  const address = struct({ street: text() });
  const person = struct({ home: address, work: address.optional() });
  const written = String(schema("people", { owner: person, others: array(person) }));
  expect(written).toContain("struct owner_home_type {");
  expect(written).toContain("field others type array<owner_type> {");
  expect(written.match(/struct owner_type \{/g)).toHaveLength(1);
});

function catching(work: () => unknown): unknown {
  try {
    return work();
  } catch (error) {
    expect(BrookletError.is(error)).toBe(true);
    return error;
  }
}
