import { expect, test } from "vitest";
import { type ChunksField, chunks, embedding, schema, text } from "../src/index.ts";

test("pieces of a text and a vector for each are fields that the server makes", () => {
  const note = schema("note", {
    body: text(),
    parts: chunks("body", { length: 300 }),
    vec: embedding({ from: "body", chunk: { length: 300 }, model: "minilm", dimensions: 3 }),
  });
  expect(String(note)).toBe(`schema note {
  document note {
    field body type string {
      indexing: summary | index
      index: enable-bm25
    }
  }
  field parts type array<string> {
    indexing: input body | chunk fixed-length 300 | summary | index
    index: enable-bm25
  }
  field vec type tensor<float>(chunk{},x[3]) {
    indexing: input body | chunk fixed-length 300 | embed minilm | attribute
    attribute { distance-metric: angular }
  }
  fieldset default { fields: body }
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
      expression: bm25(body)
    }
    match-features {
      bm25(body)
    }
  }
  rank-profile near_vec inherits default {
    function similarity() {
      expression: cos(min(distance(field, vec), 1.5707963267948966))
    }
    function vec_chunks() {
      expression: reduce(query(vec) * attribute(vec), sum, x)
    }
    first-phase {
      expression: closeness(field, vec)
    }
    match-features {
      similarity
      closeness(field, vec)
      vec_chunks
    }
  }
  rank-profile hybrid_vec inherits default {
    function words() {
      expression: bm25(body)
    }
    function words_scaled() {
      expression: pow(words, 1.5) / (pow(words, 1.5) + 89.443)
    }
    function similarity() {
      expression: cos(min(distance(field, vec), 1.5707963267948966))
    }
    function vec_chunks() {
      expression: reduce(query(vec) * attribute(vec), sum, x)
    }
    first-phase {
      expression: 0.45 * words_scaled + 0.55 * similarity
    }
    match-features {
      words
      similarity
      closeness(field, vec)
      vec_chunks
    }
  }
}
`);
});

test("a length that is none is refused", () => {
  expect((): ChunksField => chunks("body", { length: 0 })).toThrow(
    "the length of chunks is 0: give a positive integer",
  );
  expect(() => schema("note", { body: text(), parts: chunks("bdy") })).toThrow(
    "made from 'bdy', which is no text; did you mean 'body'?",
  );
  // As plain JavaScript calls it.
  expect(() => schema("note", { body: text(), parts: chunks(undefined as unknown as string) })).toThrow(
    "made from 'undefined', which is no text",
  );
});
