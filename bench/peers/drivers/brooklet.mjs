/**
 * brooklet, at each of its doors. `core`: the partition's own interface, in process, with what it reads kept in memory; `page`: the same with
 * nothing kept, so that all comes from the page cache of the system; `sdk` and `sdk-page`: `open()` and `group.search` likewise; `http`: the
 * same calls to a server in this process over HTTP/1.1, whose processor time counts too. Vectors are bfloat16, which the cells of a corpus
 * are already. A feed is done when all is acknowledged; it has settled when each group is one segment.
 */
import { Writer } from "@brooklet/core";
import { searchOnce } from "@brooklet/partition";
import { connect, int, open, schema, serve, text, vector } from "../../../packages/brooklet/dist/index.js";
import { openCluster } from "../../../packages/brooklet/dist/node/threads.js";
import { settled } from "../../settled.mjs";
import { DIMENSIONS, SPAN, TOP } from "../corpus.mjs";

const TIMEOUT_MS = 600_000;
const RESIDENT_BYTES = 1_500 << 20;
const encoder = new TextEncoder();
const decoder = new TextDecoder();
const onProblem = (problem) => process.stderr.write(`${problem?.stack ?? problem}\n`);

function hex(cells) {
  const halves = new Uint16Array(cells.buffer, cells.byteOffset, 2 * cells.length);
  const upper = Buffer.allocUnsafe(2 * cells.length);
  for (let at = 0; at < cells.length; at += 1) {
    const cell = halves[2 * at + 1];
    upper[2 * at] = cell >>> 8;
    upper[2 * at + 1] = cell;
  }
  return upper.toString("hex");
}

function schemaText({ vectors, texts }) {
  const cells = `field cells type tensor<bfloat16>(x[${DIMENSIONS}]) {
    indexing: attribute
    attribute { distance-metric: angular }
  }`;
  const profile = (name, score, input) => `rank-profile ${name} {
    ${input ? `inputs { query(q) tensor<bfloat16>(x[${DIMENSIONS}]) }` : ""}
    first-phase { expression: ${score} }
  }`;
  return `schema doc {
  document doc {
    field number type int { indexing: attribute | summary }
    field time type int { indexing: attribute }
    ${vectors ? cells : ""}
    ${texts ? "field body type string {\nindexing: summary | index\nstemming: none\n}" : ""}
  }
  ${texts ? profile("words", "bm25(body)", false) : ""}
  ${vectors ? profile("near", "closeness(field, cells)", true) : ""}
  ${vectors && texts ? profile("both", "bm25(body) + closeness(field, cells)", true) : ""}
}`;
}

const SERVICES = `<services version="1.0"><content id="doc" version="1.0"><redundancy>1</redundancy><documents>
  <document type="doc" mode="streaming"/></documents><nodes><node hostalias="n" distribution-key="0"/></nodes></content></services>`;

const NEAR = `({targetHits:${TOP}}nearestNeighbor(cells,q))`;
const ofWords = (words) => `(${words.map((word) => `body contains "${word}"`).join(" or ")})`;
const inSpan = (low) => `time >= ${low} and time < ${low + SPAN}`;
/** The condition of a query, and the profile that ranks it. */
const CONDITIONS = {
  near: () => [NEAR, "near"],
  "near-filter": ({ low }) => [`${NEAR} and ${inSpan(low)}`, "near"],
  "words-2": ({ words }) => [ofWords(words), "words"],
  "words-4": ({ words }) => [ofWords(words), "words"],
  "words-filter": ({ words, low }) => [`${ofWords(words)} and ${inSpan(low)}`, "words"],
  hybrid: ({ words }) => [`(${NEAR} or ${ofWords(words)})`, "both"],
};

function fieldsOf({ number, time, vector: cells, body }) {
  return { number, time, ...(cells && { cells: { values: hex(cells) } }), ...(body && { body }) };
}

async function* lines(documents) {
  for (let from = 0; from < documents.length; from += 500) {
    const piece = documents.slice(from, from + 500).map((document) => {
      const put = `id:b:doc:g=g${document.group}:${document.number}`;
      return `${JSON.stringify({ put, fields: fieldsOf(document) })}\n`;
    });
    yield encoder.encode(piece.join(""));
  }
}

/** The partition's interface. */
function core(cacheBytes) {
  return ({ folder, corpus }) => {
    let cluster;
    const key = (group) => `g:g${group}`;
    return {
      version: `Node ${process.versions.node}`,
      batch: 5_000,
      async open(isNew) {
        cluster = openCluster({ path: folder, threads: 0, cacheBytes, onProblem });
        const files = new Writer().varint(2).text("services.xml").text(SERVICES);
        if (isNew) await cluster.deploy(files.text("schemas/doc.sd").text(schemaText(corpus)).finish());
      },
      async feed(documents) {
        for await (const told of cluster.feed(lines(documents), { timeoutMs: TIMEOUT_MS }))
          for (const { outcome } of told) if (outcome.status !== 200) throw new Error(JSON.stringify(outcome));
      },
      async search(kind, query) {
        const [where, ranking] = CONDITIONS[kind](query);
        const properties = [
          ["streaming.groupname", `g${query.group}`],
          ["yql", `select number from doc where ${where}`],
          ["ranking", ranking],
          ["hits", String(TOP)],
          ["timeout", "60s"],
        ];
        if (ranking !== "words") properties.push(["input.query(q)", hex(query.vector)]);
        const answer = await searchOnce(cluster, { properties, body: new Uint8Array(0) }, TIMEOUT_MS);
        const { root } = JSON.parse(decoder.decode(answer.body));
        if (root.errors) throw new Error(JSON.stringify(root.errors));
        return (root.children ?? []).map((hit) => hit.fields.number);
      },
      async put(document) {
        const id = `id:b:doc:g=g${document.group}:${document.number}`;
        const body = encoder.encode(JSON.stringify({ fields: fieldsOf(document) }));
        const request = { kind: "put", rawPath: "", id, create: false, condition: "", body };
        const outcome = await cluster.partition(key(document.group)).apply(request, TIMEOUT_MS);
        if (outcome.status !== 200) throw new Error(JSON.stringify(outcome));
      },
      erase: async (group) => cluster.erase(key(group)),
      settle: () => settled(folder, corpus.groups, async () => {}),
      close: async () => cluster.close(),
    };
  };
}

function typedSchema({ vectors, texts }) {
  const fields = { number: int(), time: int() };
  if (vectors) fields.cells = vector(DIMENSIONS, { cell: "bfloat16" });
  if (texts) fields.body = text();
  return schema("doc", fields, { stemming: "none" });
}

/** What a search of the SDK is given. */
const SEARCHES = {
  near: ({ vector: cells }) => ({ near: { field: "cells", vector: cells } }),
  "near-filter": ({ vector: cells, low }) => ({ near: { field: "cells", vector: cells }, where: within(low) }),
  "words-2": ({ words }) => ({ text: words.join(" ") }),
  "words-4": ({ words }) => ({ text: words.join(" ") }),
  "words-filter": ({ words, low }) => ({ text: words.join(" "), where: within(low) }),
  hybrid: ({ words, vector: cells }) => ({ text: words.join(" "), near: { field: "cells", vector: cells } }),
};
const within = (low) => (it) => it.time.ge(low).and(it.time.lt(low + SPAN));

/** The SDK over whatever `opened` opens: `{ client, close }`. */
function sdk(opened) {
  return ({ folder, corpus }) => {
    const doc = typedSchema(corpus);
    let database;
    const groupOf = (number) => database.client.group(`g${number}`);
    const valuesOf = ({ number, time, vector: cells, body }) => ({
      number,
      time,
      ...(cells && { cells }),
      ...(body && { body }),
    });
    return {
      version: `Node ${process.versions.node}`,
      batch: 5_000,
      async open() {
        database = await opened(folder, doc);
      },
      async feed(documents) {
        const byGroup = Map.groupBy
          ? Map.groupBy(documents, ({ group }) => group)
          : documents.reduce((map, one) => map.set(one.group, [...(map.get(one.group) ?? []), one]), new Map());
        for (const [group, of] of byGroup) {
          const operations = of.map((document) => ({ id: String(document.number), fields: valuesOf(document) }));
          const { failed } = await groupOf(group).feed(doc, operations);
          if (failed?.length > 0) throw new Error(JSON.stringify(failed[0]));
        }
      },
      async search(kind, query) {
        const { hits } = await groupOf(query.group).search(doc, { ...SEARCHES[kind](query), limit: TOP });
        return hits.map(({ id }) => Number(id));
      },
      put: (document) => groupOf(document.group).put(doc, String(document.number), valuesOf(document)),
      erase: (group) => groupOf(group).erase(),
      settle: () => settled(folder, corpus.groups, async () => {}),
      close: () => database.close(),
    };
  };
}

const inProcess = (cacheBytes) => async (path, doc) => {
  const client = await open({ path, schemas: [doc], cacheBytes, onProblem });
  return { client, close: () => client.close() };
};

async function overHttp(path, doc) {
  const service = await serve({ path, port: 0, threads: 0, cacheBytes: RESIDENT_BYTES, deploys: true, onProblem });
  const client = await connect({ url: service.url, schemas: [doc] });
  return { client, close: () => service.close() };
}

export const drivers = {
  core: core(RESIDENT_BYTES),
  page: core(0),
  sdk: sdk(inProcess(RESIDENT_BYTES)),
  "sdk-page": sdk(inProcess(0)),
  http: sdk(overHttp),
};
