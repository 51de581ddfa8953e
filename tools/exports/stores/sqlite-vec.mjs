/** Fills sqlite-vec: a table of documents, and a virtual table of their vectors with the user as partition key. */
import { readFileSync, writeFileSync } from "node:fs";
import Database from "better-sqlite3";
import * as vec from "sqlite-vec";

const { documents, questions, neighbours } = JSON.parse(readFileSync("sample.json", "utf8"));
const db = new Database("old.db");
vec.load(db);
db.exec(`
  CREATE TABLE documents (user_id TEXT, body TEXT, page INTEGER);
  CREATE VIRTUAL TABLE vectors USING vec0(user_id TEXT PARTITION KEY, embedding FLOAT[3] distance_metric=cosine)`);
const document = db.prepare("INSERT INTO documents (rowid, user_id, body, page) VALUES (?, ?, ?, ?)");
const vector = db.prepare("INSERT INTO vectors (rowid, user_id, embedding) VALUES (?, ?, ?)");
db.transaction(() => {
  for (const { user, id, text, embedding, metadata } of documents) {
    document.run(BigInt(id), user, text, metadata.page);
    vector.run(BigInt(id), user, new Float32Array(embedding));
  }
})();
const near = db.prepare("SELECT rowid AS id FROM vectors WHERE embedding MATCH ? AND user_id = ? AND k = ?");
const nearest = questions.map(({ user, vector: asked }) =>
  near.all(new Float32Array(asked), user, neighbours).map(({ id }) => String(id)),
);
writeFileSync("nearest.json", JSON.stringify(nearest));
db.close();
