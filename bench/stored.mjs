/**
 * `npm run bench:stored [-- --words N] [--cases NAME,…] [--documents N]`: what a document weighs, which `brooklet plan` stands on: bytes on disk when its group rests, and bytes that
 * the first search of a group reads when nothing of it is in memory. Documents with vectors alone, and with texts alone; a group
 * of one document besides, which is what a group itself weighs.
 */
import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { searchOnce } from "@brooklet/partition";
import { openCluster } from "../packages/brooklet/dist/node/threads.js";
import { packageOf } from "./application.mjs";
import { place, random, word } from "./corpus.mjs";
import { settled } from "./settled.mjs";

// It belongs to the package that stores.
const Database = createRequire(new URL("../packages/brooklet/package.json", import.meta.url))("better-sqlite3");
const DIMENSIONS = 384;
const { values: asked } = parseArgs({
  options: {
    words: { type: "string", default: "200" },
    documents: { type: "string", default: "2000" },
    cases: { type: "string", default: "vectors,texts,groups of one text" },
  },
});
const WORDS = Number(asked.words);
const DOCUMENTS = Number(asked.documents);
const TIMEOUT_MS = 600_000;
const encoder = new TextEncoder();
const SCHEMA = `schema doc {
  document doc {
    field body type string { indexing: summary | index }
    field vector type tensor<bfloat16>(x[${DIMENSIONS}]) {
      indexing: summary | attribute
      attribute { distance-metric: angular }
    }
  }
  rank-profile near {
    inputs { query(q) tensor<bfloat16>(x[${DIMENSIONS}]) }
    first-phase { expression: closeness(field, vector) }
  }
  rank-profile text { first-phase { expression: bm25(body) } }
}`;
const VOCABULARY = 28_000;
const next = random(7);
const anyWord = () => word(place(next, VOCABULARY));

/** Bytes of a database that are in use: pages that folding left free are written again by what comes next. */
function usedBytes(file) {
  const database = new Database(file, { readonly: true });
  const of = (name) => database.pragma(name, { simple: true });
  const bytes = (of("page_count") - of("freelist_count")) * of("page_size");
  database.close();
  return bytes;
}

/** Bytes of the same texts in FTS5 of the same SQLite, a table for each group, when it is merged and nothing of its file is free. */
function fts5Bytes(groups, path) {
  const file = join(path, "fts5.sqlite");
  const database = new Database(file);
  for (const [group, bodies] of groups.entries()) {
    database.exec(`CREATE VIRTUAL TABLE words${group} USING fts5(body)`);
    const insert = database.prepare(`INSERT INTO words${group}(body) VALUES (?)`);
    database.transaction(() => {
      for (const body of bodies) insert.run(body);
    })();
    database.exec(`INSERT INTO words${group}(words${group}) VALUES ('optimize')`);
  }
  database.exec("VACUUM");
  database.close();
  return statSync(file).size;
}

const vector = () => Array.from({ length: DIMENSIONS }, () => Math.round((next() - 0.5) * 1_000) / 1_000);
const text = () => Array.from({ length: WORDS }, anyWord).join(" ");
const near = () => [
  ["yql", "select * from doc where {targetHits:10}nearestNeighbor(vector,q)"],
  ["ranking", "near"],
  ["input.query(q)", JSON.stringify(vector())],
];
const typed = () => [
  [
    "yql",
    `select * from doc where {grammar: "any", defaultIndex: "body"}userInput("${anyWord()} ${anyWord()} ${anyWord()}")`,
  ],
  ["ranking", "text"],
];
const CASES = [
  { name: "vectors", fields: () => ({ vector: { values: vector() } }), groups: 5, documents: DOCUMENTS, query: near },
  { name: "texts", fields: () => ({ body: text() }), groups: 5, documents: DOCUMENTS, query: typed },
  { name: "groups of one text", fields: () => ({ body: text() }), groups: 2_000, documents: 1, query: typed },
];

for (const { name, fields, groups, documents, query } of CASES.filter(({ name }) =>
  asked.cases.split(",").includes(name),
)) {
  const path = mkdtempSync(join(tmpdir(), "brooklet-stored-"));
  const options = { path, threads: 0, onProblem: (problem) => process.stderr.write(`${problem}\n`) };
  let cluster = openCluster(options);
  const bodies = Array.from({ length: groups }, () => []);
  try {
    await cluster.deploy(packageOf("doc", SCHEMA));
    for (let group = 0; group < groups; group += 1) {
      const pending = Array.from({ length: documents }, (_, number) => {
        const value = fields();
        if (value.body !== undefined) bodies[group].push(value.body);
        const id = `id:b:doc:g=g${group}:${number}`;
        const body = encoder.encode(JSON.stringify({ fields: value }));
        return cluster
          .partition(`g:g${group}`)
          .apply({ kind: "put", rawPath: "", id, create: false, condition: "", body }, TIMEOUT_MS);
      });
      for (const { status, message } of await Promise.all(pending)) if (status !== 200) throw new Error(message);
    }
    if (documents > 1) await settled(path, groups, async () => {});
    await cluster.close();
    const all = groups * documents;
    const files = readdirSync(join(path, "buckets")).filter((file) => file.endsWith(".sqlite"));
    const sum = (sizeOf) => files.reduce((total, file) => total + sizeOf(join(path, "buckets", file)), 0);
    const [stored, whole] = [sum(usedBytes), sum((file) => statSync(file).size)];
    cluster = openCluster(options);
    let read = 0;
    for (let group = 0; group < groups; group += 1) {
      const properties = [["streaming.groupname", `g${group}`], ["timeout", "60s"], ...query()];
      const answer = await searchOnce(cluster, { properties, body: new Uint8Array(0) }, TIMEOUT_MS);
      if (answer.status !== 200) throw new Error(new TextDecoder().decode(answer.body));
      read += answer.bytesRead;
    }
    const given = bodies.flat().reduce((total, body) => total + body.length, 0);
    const fts5 = given === 0 ? "" : `, ${Math.round(fts5Bytes(bodies, path) / all)} in FTS5`;
    process.stdout.write(
      `${name}: ${Math.round(stored / all)} bytes on disk a document (${Math.round(given / all)} of text given), ${Math.round(read / all)} read by the first search, ${Math.round(whole / all)} with the free pages of the files${fts5}\n`,
    );
  } finally {
    await cluster.close();
    rmSync(path, { recursive: true, force: true });
  }
}
