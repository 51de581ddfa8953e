/**
 * libsql: vectors in a column of float32, compared by `vector_distance_cos`. A group is the first half of the primary key of a table
 * without row ids, so that the rows of a search stand beside each other; pages of 8 KiB hold five of them. It has no index for an exact
 * search: the one that it has is approximate and of all groups.
 */
import { createRequire } from "node:module";
import { join } from "node:path";
import { DIMENSIONS, SPAN, TOP, unit } from "../corpus.mjs";
import { cacheFolder, versionOf } from "../install.mjs";

const Database = createRequire(join(cacheFolder(), "npm", "package.json"))("libsql");

function bytesOf(vector) {
  const cells = unit(vector);
  return Buffer.from(cells.buffer, cells.byteOffset, cells.byteLength);
}

function libsql({ folder }) {
  let database;
  let insert;
  let nearest;
  let filtered;
  let remove;
  const add = ({ number, group, time, vector }) => insert.run(group, number, time, bytesOf(vector));
  const numbers = (rows) => rows.map(([number]) => number);
  const peer = {
    batch: 5_000,
    async open(isNew) {
      database = new Database(join(folder, "peer.sqlite"));
      if (isNew) database.pragma("page_size = 8192");
      database.pragma("journal_mode = WAL");
      database.pragma("synchronous = FULL");
      database.exec(`CREATE TABLE IF NOT EXISTS near(part INTEGER, id INTEGER, time INTEGER, cells F32_BLOB(${DIMENSIONS}),
        PRIMARY KEY (part, id)) WITHOUT ROWID`);
      insert = database.prepare("INSERT INTO near VALUES (?, ?, ?, ?)");
      const order = `ORDER BY vector_distance_cos(cells, ?) LIMIT ${TOP}`;
      nearest = database.prepare(`SELECT id FROM near WHERE part = ? ${order}`).raw();
      filtered = database.prepare(`SELECT id FROM near WHERE part = ? AND time >= ? AND time < ? ${order}`).raw();
      remove = database.prepare("DELETE FROM near WHERE part = ?");
      const [of] = database.prepare("SELECT sqlite_version()").raw().get();
      peer.version = `libsql ${versionOf("libsql")}; SQLite ${of}`;
    },
    async feed(documents) {
      database.exec("BEGIN");
      documents.forEach(add);
      database.exec("COMMIT");
    },
    finish: async () => database.pragma("wal_checkpoint(TRUNCATE)"),
    async search(kind, { group, vector, low }) {
      if (kind === "near") return numbers(nearest.all(group, bytesOf(vector)));
      return numbers(filtered.all(group, low, low + SPAN, bytesOf(vector)));
    },
    put: async (document) => add(document),
    erase: async (group) => remove.run(group),
    close: async () => database.close(),
  };
  return peer;
}

export const drivers = { f32: libsql };
