/** Fills a PostgreSQL that has pgvector, and serves it to psql until this process ends. */
import { readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { PGlite } from "@electric-sql/pglite";
import { vector } from "@electric-sql/pglite-pgvector";
import { PGLiteSocketServer } from "@electric-sql/pglite-socket";

const { documents, questions, neighbours } = JSON.parse(readFileSync("sample.json", "utf8"));
const db = await PGlite.create({ extensions: { vector } });
await db.exec(`
  CREATE EXTENSION vector;
  CREATE TABLE documents (id bigint PRIMARY KEY, user_id text, body text, page integer, embedding vector(3))`);
const text = (numbers) => JSON.stringify(numbers);
await db.transaction(async (open) => {
  for (const { user, id, text: body, embedding, metadata } of documents) {
    const values = [id, user, body, metadata.page, text(embedding)];
    await open.query("INSERT INTO documents VALUES ($1, $2, $3, $4, $5)", values);
  }
});
const nearest = [];
for (const { user, vector: asked } of questions) {
  const near = "SELECT id::text FROM documents WHERE user_id = $1 ORDER BY embedding <=> $2 LIMIT $3";
  nearest.push((await db.query(near, [user, text(asked), neighbours])).rows.map(({ id }) => id));
}
writeFileSync("nearest.json", JSON.stringify(nearest));
const port = await new Promise((settle) => {
  const taken = createServer().listen(0, "127.0.0.1", () => {
    const { port: free } = taken.address();
    taken.close(() => settle(free));
  });
});
await new PGLiteSocketServer({ db, host: "127.0.0.1", port }).start();
const environment = { PGHOST: "127.0.0.1", PGPORT: String(port), PGUSER: "postgres", PGDATABASE: "postgres" };
console.log(JSON.stringify({ environment: { ...environment, PGSSLMODE: "disable", PGPASSWORD: "postgres" } }));
