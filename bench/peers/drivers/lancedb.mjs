/**
 * LanceDB: one table with an index of groups and one of times, which its filter before the search uses; vectors without an index are compared
 * exactly. Texts have its full-text index, whose statistics are those of all groups.
 */
import { createRequire } from "node:module";
import { join } from "node:path";
import { DIMENSIONS, SPAN, TOP, unit } from "../corpus.mjs";
import { cacheFolder, versionOf } from "../install.mjs";

const fromCache = createRequire(join(cacheFolder(), "npm", "package.json"));
const lance = fromCache("@lancedb/lancedb");
const arrow = fromCache("apache-arrow");

const CELLS = new arrow.FixedSizeList(DIMENSIONS, new arrow.Field("item", new arrow.Float32(), true));

function fieldsOf({ vectors, texts }) {
  const field = (name, type) => new arrow.Field(name, type, false);
  const fields = [field("id", new arrow.Int32()), field("part", new arrow.Int32()), field("time", new arrow.Int32())];
  if (vectors) fields.push(field("cells", CELLS));
  if (texts) fields.push(field("body", new arrow.Utf8()));
  return new arrow.Schema(fields);
}

/** A batch of documents as columns. */
function columnsOf(schema, documents) {
  const numbers = (read) =>
    arrow.makeData({ type: new arrow.Int32(), data: Int32Array.from(documents, read), length: documents.length });
  const makers = {
    id: () => numbers(({ number }) => number),
    part: () => numbers(({ group }) => group),
    time: () => numbers(({ time }) => time),
    cells() {
      const data = new Float32Array(documents.length * DIMENSIONS);
      for (const [row, { vector }] of documents.entries()) data.set(unit(vector), row * DIMENSIONS);
      const child = arrow.makeData({ type: new arrow.Float32(), length: data.length, data });
      return arrow.makeData({ type: CELLS, length: documents.length, child });
    },
    body: () =>
      arrow.vectorFromArray(
        documents.map(({ body }) => body),
        new arrow.Utf8(),
      ).data[0],
  };
  const children = schema.fields.map(({ name }) => makers[name]());
  const rows = arrow.makeData({ type: new arrow.Struct(schema.fields), length: documents.length, children });
  return new arrow.Table(schema, new arrow.RecordBatch(schema, rows));
}

function lancedb({ folder, corpus }) {
  const schema = fieldsOf(corpus);
  let table;
  const inSpan = (low) => ` AND time >= ${low} AND time < ${low + SPAN}`;
  // A score that is not asked for comes with a line of warning for every search.
  const numbersOf = async (query, score) =>
    (await query.select(["id", score]).limit(TOP).toArray()).map(({ id }) => Number(id));
  const words = (text, where) =>
    numbersOf(table.query().fullTextSearch(new lance.MatchQuery(text, "body")).where(where), "_score");
  const peer = {
    batch: 20_000,
    version: `LanceDB ${versionOf("@lancedb/lancedb")}`,
    async open(isNew) {
      const database = await lance.connect(join(folder, "lance"));
      table = isNew ? await database.createEmptyTable("documents", schema) : await database.openTable("documents");
    },
    feed: (documents) => table.add(columnsOf(schema, documents)),
    async finish() {
      await table.optimize({ cleanupOlderThan: new Date() });
      for (const column of ["part", "time"]) await table.createIndex(column, { config: lance.Index.btree() });
      const asWritten = { stem: false, removeStopWords: false, asciiFolding: false, maxTokenLength: 40 };
      if (corpus.texts) await table.createIndex("body", { config: lance.Index.fts(asWritten) });
    },
    search(kind, { group, vector, words: asked, low }) {
      const where = `part = ${group}${kind.endsWith("filter") ? inSpan(low) : ""}`;
      if (kind.startsWith("words")) return words(asked.join(" "), where);
      return numbersOf(table.query().nearestTo(unit(vector)).distanceType("dot").where(where), "_distance");
    },
    put: (document) => table.add(columnsOf(schema, [document])),
    erase: (group) => table.delete(`part = ${group}`),
    close: async () => table.close(),
  };
  return peer;
}

export const drivers = { table: lancedb };
