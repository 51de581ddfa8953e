/**
 * MiniSearch and Orama: indexes of JavaScript in memory, one for each group, kept as a file of JSON that is read when the group is first
 * searched, and written and made durable whole when a document is added. Both find every document that has one of the words; Orama takes
 * a word as the beginning of others too, so it may answer with documents that have none of them.
 */
import { closeSync, existsSync, fsyncSync, openSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { SPAN, TOP } from "../corpus.mjs";
import { cacheFolder, versionOf } from "../install.mjs";

const fromCache = createRequire(join(cacheFolder(), "npm", "package.json"));
const imported = (name) => import(pathToFileURL(fromCache.resolve(name)).href);

async function minisearch() {
  const { default: MiniSearch } = await imported("minisearch");
  const options = { fields: ["body"], storeFields: ["time"], idField: "number" };
  return {
    version: `MiniSearch ${versionOf("minisearch")}`,
    made: () => new MiniSearch(options),
    read: (text) => MiniSearch.loadJSON(text, options),
    written: (index) => JSON.stringify(index),
    add: (index, { number, body, time }) => index.add({ number, body, time }),
    search(index, words, low) {
      const filter = low === undefined ? undefined : ({ time }) => time >= low && time < low + SPAN;
      return index
        .search(words.join(" "), { filter })
        .slice(0, TOP)
        .map(({ id }) => id);
    },
  };
}

async function orama() {
  const { create, insert, load, save, search } = await imported("@orama/orama");
  const made = () => create({ schema: { body: "string", time: "number" } });
  return {
    version: `Orama ${versionOf("@orama/orama")}`,
    made,
    read(text) {
      const index = made();
      load(index, JSON.parse(text));
      return index;
    },
    written: (index) => JSON.stringify(save(index)),
    add: (index, { number, body, time }) => insert(index, { id: String(number), body, time }),
    async search(index, words, low) {
      const where = low === undefined ? {} : { where: { time: { between: [low, low + SPAN - 1] } } };
      const asked = { term: words.join(" "), properties: ["body"], threshold: 1, tolerance: 0, limit: TOP, ...where };
      return (await search(index, asked)).hits.map(({ id }) => Number(id));
    },
  };
}

function durably(path, text) {
  const unready = `${path}.unready`;
  writeFileSync(unready, text);
  const file = openSync(unready, "r");
  fsyncSync(file);
  closeSync(file);
  renameSync(unready, path);
}

function indexes(engineOf) {
  return ({ folder }) => {
    const ofGroups = new Map();
    let engine;
    const pathOf = (group) => join(folder, `${group}.json`);
    function indexOf(group) {
      if (!ofGroups.has(group))
        ofGroups.set(
          group,
          existsSync(pathOf(group)) ? engine.read(readFileSync(pathOf(group), "utf8")) : engine.made(),
        );
      return ofGroups.get(group);
    }
    const keep = (group) => durably(pathOf(group), engine.written(indexOf(group)));
    const peer = {
      batch: 5_000,
      async open() {
        engine = await engineOf();
        peer.version = engine.version;
      },
      async feed(documents) {
        for (const document of documents) await engine.add(indexOf(document.group), document);
      },
      async finish() {
        for (const group of ofGroups.keys()) keep(group);
      },
      search: async (kind, { group, words, low }) =>
        engine.search(indexOf(group), words, kind === "words-filter" ? low : undefined),
      async put(document) {
        await engine.add(indexOf(document.group), document);
        keep(document.group);
      },
      async erase(group) {
        ofGroups.delete(group);
        rmSync(pathOf(group));
      },
      close: async () => {},
    };
    return peer;
  };
}

export const drivers = { minisearch: indexes(minisearch), orama: indexes(orama) };
