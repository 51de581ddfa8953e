/**
 * DuckDB: a table for each group, which is its fastest layout for searches of one group, of arrays of float32 compared by
 * `array_inner_product`. One thread, as everybody has.
 */
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { DIMENSIONS, SPAN, TOP, unit } from "../corpus.mjs";
import { cacheFolder } from "../install.mjs";

const fromCache = createRequire(join(cacheFolder(), "npm", "package.json"));
const duck = await import(pathToFileURL(fromCache.resolve("@duckdb/node-api")).href);
const { ARRAY, DuckDBDataChunk, DuckDBInstance, FLOAT, INTEGER, arrayValue } = duck;
const CELLS = `FLOAT[${DIMENSIONS}]`;
const ROWS_OF_CHUNK = 2_048;
const arrayOf = (vector) => arrayValue(Array.from(unit(vector)));

function byGroup(documents) {
  const groups = new Map();
  for (const document of documents) {
    if (!groups.has(document.group)) groups.set(document.group, []);
    groups.get(document.group).push(document);
  }
  return groups;
}

function duckdb({ folder }) {
  let instance;
  let connection;
  const tables = new Set();
  const statements = new Map();

  async function tableOf(group) {
    const name = `near${group}`;
    if (!tables.has(name))
      await connection.run(`CREATE TABLE IF NOT EXISTS ${name}(id INTEGER, time INTEGER, cells ${CELLS})`);
    tables.add(name);
    return name;
  }

  async function append(group, documents) {
    const appender = await connection.createAppender(await tableOf(group));
    const types = [INTEGER, INTEGER, ARRAY(FLOAT, DIMENSIONS)];
    for (let from = 0; from < documents.length; from += ROWS_OF_CHUNK) {
      const rows = documents.slice(from, from + ROWS_OF_CHUNK);
      const chunk = DuckDBDataChunk.create(types, rows.length);
      const column = (read) => rows.map(read);
      chunk.setColumns([
        column(({ number }) => number),
        column(({ time }) => time),
        column(({ vector }) => arrayOf(vector)),
      ]);
      appender.appendDataChunk(chunk);
    }
    appender.flushSync();
    appender.closeSync();
  }

  async function statement(group, isFiltered) {
    const key = `${group} ${isFiltered}`;
    if (!statements.has(key)) {
      const where = isFiltered ? "WHERE time >= $2 AND time < $3" : "";
      const text = `SELECT id FROM near${group} ${where} ORDER BY array_inner_product(cells, $1::${CELLS}) DESC LIMIT ${TOP}`;
      statements.set(key, await connection.prepare(text));
    }
    return statements.get(key);
  }

  const peer = {
    batch: 20_000,
    version: `DuckDB ${duck.version()}`,
    async open() {
      instance = await DuckDBInstance.create(join(folder, "peer.duckdb"), { threads: "1" });
      connection = await instance.connect();
    },
    async feed(documents) {
      for (const [group, of] of byGroup(documents)) await append(group, of);
    },
    finish: () => connection.run("CHECKPOINT"),
    async search(kind, { group, vector, low }) {
      const isFiltered = kind === "near-filter";
      const asked = await statement(group, isFiltered);
      asked.bindArray(1, arrayOf(vector), ARRAY(FLOAT, DIMENSIONS));
      if (isFiltered) {
        asked.bindInteger(2, low);
        asked.bindInteger(3, low + SPAN);
      }
      const rows = (await asked.runAndReadAll()).getRows();
      return rows.map(([number]) => number);
    },
    put: (document) => append(document.group, [document]),
    erase: (group) => connection.run(`DELETE FROM near${group}`),
    async close() {
      connection.closeSync();
      instance.closeSync();
    },
  };
  return peer;
}

export const drivers = { arrays: duckdb };
