/**
 * What SQLite does for it: sqlite-vec for vectors, FTS5 for texts, both for the two together. The same SQLite that brooklet stores in, with
 * a transaction a batch that is on stable storage when it ends. sqlite-vec keeps a group by a partition key, which is its fastest layout
 * for searches of one group; FTS5 has a table for each group, or else its statistics would be those of all, and every search read all.
 * The package of sqlite-vec has no AVX in it.
 */
import { createRequire } from "node:module";
import { join } from "node:path";
import { DIMENSIONS, SPAN, TOP, unit } from "../corpus.mjs";
import { cacheFolder } from "../install.mjs";

const Database = createRequire(new URL("../../../packages/brooklet/package.json", import.meta.url))("better-sqlite3");
const fromCache = createRequire(join(cacheFolder(), "npm", "package.json"));
const bytesOf = (cells) => Buffer.from(cells.buffer, cells.byteOffset, cells.byteLength);
/** How deep each list goes into a fusion of two. */
const DEPTH = 100;
const RANK_CONSTANT = 60;

function connect(folder, vectors) {
  const database = new Database(join(folder, "peer.sqlite"));
  if (vectors) fromCache("sqlite-vec").load(database);
  database.pragma("journal_mode = WAL");
  database.pragma("synchronous = FULL");
  return database;
}

/** Cells of a kind: as they are, or of eight bits by the largest there may be. */
const KINDS = {
  f32: { column: `float[${DIMENSIONS}] distance_metric=L2`, value: "?", bytes: (vector) => bytesOf(unit(vector)) },
  int8: {
    column: `int8[${DIMENSIONS}] distance_metric=L2`,
    value: "vec_int8(?)",
    bytes: (vector) =>
      bytesOf(Int8Array.from(unit(vector), (cell) => Math.max(-127, Math.min(127, Math.round(cell * 500))))),
  },
};

function vectorTable(database, kind) {
  const { column, value, bytes } = KINDS[kind];
  database.exec(
    `CREATE VIRTUAL TABLE IF NOT EXISTS near USING vec0(id INTEGER PRIMARY KEY, part INTEGER PARTITION KEY, cells ${column}, time INTEGER)`,
  );
  const insert = database.prepare(`INSERT INTO near(id, part, cells, time) VALUES (?, ?, ${value}, ?)`);
  const from = `SELECT id FROM near WHERE cells MATCH ${value} AND part = ? AND k = ?`;
  const nearest = database.prepare(`${from} ORDER BY distance`).pluck();
  const filtered = database.prepare(`${from} AND time >= ? AND time < ? ORDER BY distance`).pluck();
  const erase = database.prepare("DELETE FROM near WHERE part = ?");
  return {
    put: ({ number, group, vector, time }) => insert.run(BigInt(number), BigInt(group), bytes(vector), BigInt(time)),
    near: ({ group, vector }, count) => nearest.all(bytes(vector), BigInt(group), BigInt(count)),
    nearFiltered: ({ group, vector, low }, count) =>
      filtered.all(bytes(vector), BigInt(group), BigInt(count), BigInt(low), BigInt(low + SPAN)),
    erase: (group) => erase.run(BigInt(group)),
  };
}

function textTables(database) {
  const statements = new Map();
  const statement = (sql) => {
    if (!statements.has(sql)) statements.set(sql, database.prepare(sql));
    return statements.get(sql);
  };
  const made = new Set(
    database
      .prepare("SELECT name FROM sqlite_master WHERE name GLOB 'words[0-9]*' AND sql LIKE 'CREATE VIRTUAL%'")
      .pluck()
      .all(),
  );
  return {
    put({ number, group, body, time }) {
      const table = `words${group}`;
      if (!made.has(table)) database.exec(`CREATE VIRTUAL TABLE ${table} USING fts5(body, time UNINDEXED)`);
      made.add(table);
      statement(`INSERT INTO ${table}(rowid, body, time) VALUES (?, ?, ?)`).run(number, body, time);
    },
    search({ group, words, low }, count, filtered = false) {
      const table = `words${group}`;
      if (!made.has(table)) return [];
      const where = filtered ? " AND time >= ? AND time < ?" : "";
      const query = words.map((word) => `"${word}"`).join(" OR ");
      return statement(`SELECT rowid FROM ${table} WHERE ${table} MATCH ?${where} ORDER BY rank LIMIT ${count}`)
        .pluck()
        .all(query, ...(filtered ? [low, low + SPAN] : []));
    },
    merge() {
      for (const table of made) database.exec(`INSERT INTO ${table}(${table}) VALUES ('optimize')`);
    },
    erase(group) {
      statements.clear();
      database.exec(`DROP TABLE words${group}`);
      made.delete(`words${group}`);
    },
  };
}

/** The best of two lists by the sum of 1 / (60 + rank). */
function fused(left, right) {
  const scores = new Map();
  for (const list of [left, right]) {
    for (const [rank, number] of list.entries())
      scores.set(number, (scores.get(number) ?? 0) + 1 / (RANK_CONSTANT + rank + 1));
  }
  const order = [...scores].sort((one, other) => other[1] - one[1]);
  return order.slice(0, TOP).map(([number]) => number);
}

function sqlite({ vectors, texts }) {
  return ({ folder }) => {
    let database;
    let near;
    let words;
    const putAll = (documents) => {
      for (const document of documents) {
        near?.put(document);
        words?.put(document);
      }
    };
    const within = (work) => database.transaction(work)();
    const kinds = {
      near: (query) => near.near(query, TOP),
      "near-filter": (query) => near.nearFiltered(query, TOP),
      "words-2": (query) => words.search(query, TOP),
      "words-4": (query) => words.search(query, TOP),
      "words-filter": (query) => words.search(query, TOP, true),
      hybrid: (query) => fused(words.search(query, DEPTH), near.near(query, DEPTH)),
    };
    const peer = {
      batch: 5_000,
      async open() {
        database = connect(folder, vectors);
        near = vectors && vectorTable(database, vectors);
        words = texts && textTables(database);
        const of = database.prepare("SELECT sqlite_version()").pluck().get();
        peer.version = `SQLite ${of}${vectors ? `, sqlite-vec ${database.prepare("SELECT vec_version()").pluck().get()}` : ""}`;
      },
      feed: async (documents) => within(() => putAll(documents)),
      async finish() {
        words?.merge();
        database.pragma("wal_checkpoint(TRUNCATE)");
      },
      search: async (kind, query) => kinds[kind](query),
      put: async (document) => within(() => putAll([document])),
      erase: async (group) =>
        within(() => {
          near?.erase(group);
          words?.erase(group);
        }),
      close: async () => database.close(),
    };
    return peer;
  };
}

export const drivers = {
  vec: sqlite({ vectors: "f32" }),
  vec8: sqlite({ vectors: "int8" }),
  fts5: sqlite({ texts: true }),
  both: sqlite({ vectors: "f32", texts: true }),
};
