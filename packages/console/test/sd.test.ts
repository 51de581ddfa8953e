/** What the page reads of the text of a schema. */
import { expect, test } from "vitest";
import { interfaceOf, isCounted, isVector, nearProfile, schemaOf } from "../page/sd.ts";

const NOTE = `# schema other { }
schema note {
  document note {
    field title type string { indexing: summary | index }
    field tags type array<string> {
      indexing: summary | attribute
    }
    field seen type long { indexing: attribute }  # milliseconds
    field weights type weightedset<int> { indexing { attribute | summary } }
    struct person { field name type string { } }
    field people type map<string, person> { indexing: summary }
    field vec type tensor<bfloat16>(x[384]) { indexing: attribute }
    field chunks type tensor<float>(p{}, x[8]) { indexing: attribute }
  }
  field made type string { indexing: input title | attribute }
  rank-profile near {
    inputs {
      query(q) tensor<float>(x[384])
      query(weight): 0.5
    }
    first-phase { expression { closeness(field, vec) * query(weight) } }
  }
}`;

const note = schemaOf("schemas/note.sd", NOTE);

test("fields, types and profiles are those of the text, comments left out", () => {
  if (note === undefined) throw new Error("no schema");
  expect(note.name).toBe("note");
  expect(note.fields.map(({ name }) => name)).toEqual([
    "title",
    "tags",
    "seen",
    "weights",
    "people",
    "vec",
    "chunks",
    "made",
  ]);
  expect(note.profiles).toEqual([
    { name: "default", inputs: [], firstPhase: "" },
    {
      name: "near",
      inputs: [
        { name: "q", type: "tensor<float>(x[384])", value: 0 },
        { name: "weight", type: "double", value: 0.5 },
      ],
      firstPhase: "expression { closeness(field, vec) * query(weight) }",
    },
  ]);
  expect(interfaceOf(note)).toBe(`interface Note {
  title?: string;  // string
  tags?: readonly string[];  // array<string>
  seen?: number | bigint;  // long
  weights?: Readonly<Record<number, number>>;  // weightedset<int>
  people?: Readonly<Record<string, person>>;  // map<string, person>
  vec?: Float32Array;  // tensor<bfloat16>(x[384])
  chunks?: Tensor;  // tensor<float>(p{}, x[8])
  made?: string;  // string
}`);
});

test("what can be counted and what is near something is told by types", () => {
  if (note === undefined) throw new Error("no schema");
  expect(note.fields.filter(isCounted).map(({ name }) => name)).toEqual(["tags", "weights", "made"]);
  const vectors = note.fields.filter(isVector);
  expect(vectors.map(({ name }) => name)).toEqual(["vec"]);
  expect(vectors.map((field) => nearProfile(note, field))).toEqual([{ profile: "near", input: "q" }]);
});

test("of several profiles that take a vector the one is near that orders by it, with inputs that it inherits", () => {
  const place = schemaOf(
    "schemas/place.sd",
    `schema place {
      document place { field at type tensor<float>(x[2]) { indexing: attribute }
        field other type tensor<float>(x[2]) { indexing: attribute } }
      rank-profile default { inputs { query(at) tensor<float>(x[2]) } first-phase { expression: bm25(title) } }
      rank-profile near_other inherits default { first-phase { expression: closeness(field, other) } }
      rank-profile near_at inherits default { first-phase { expression: closeness(field, at) } }
    }`,
  );
  const taken = place?.fields.map((field) => nearProfile(place, field));
  expect(taken).toEqual([
    { profile: "near_at", input: "at" },
    { profile: "near_other", input: "at" },
  ]);
});

test.each(["", "document note { }", "schema", "}{", "{{{{"])("a text that is no schema is none: %j", (text) => {
  expect(schemaOf("schemas/x.sd", text)).toBeUndefined();
});
