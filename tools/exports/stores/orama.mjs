/** Fills Orama: one database of one user, saved as a whole. */
import { readFileSync, writeFileSync } from "node:fs";
import { create, insertMultiple, save, search } from "@orama/orama";

const { documents, questions, neighbours } = JSON.parse(readFileSync("sample.json", "utf8"));
const db = create({ schema: { text: "string", embedding: "vector[3]" } });
await insertMultiple(
  db,
  documents.map(({ id, text, embedding, metadata }) => ({ id, text, embedding, ...metadata })),
);
const nearest = [];
for (const { vector } of questions) {
  const asked = { mode: "vector", vector: { value: vector, property: "embedding" }, similarity: 0, limit: neighbours };
  nearest.push((await search(db, asked)).hits.map(({ id }) => id));
}
writeFileSync("nearest.json", JSON.stringify(nearest));
writeFileSync("orama.json", JSON.stringify(save(db)));
