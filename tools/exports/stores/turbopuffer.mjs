/**
 * A service in the place of turbopuffer, which has none for one's own machine: it answers what its client asks of documented operations, listing
 * namespaces in pages, and rows of one by id. It serves until this process ends. Its neighbours are computed here, one document after the other.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";

const NAMESPACES_A_PAGE = 1; // a client that asks for one page alone is found out
const ROWS_MAX = 10_000;
const { documents, questions, neighbours } = JSON.parse(readFileSync("sample.json", "utf8"));
const users = [...new Set(documents.map(({ user }) => user))].sort();
const rowsOf = (user) =>
  documents
    .filter((it) => it.user === user)
    .map(({ id, text, embedding, metadata }) => ({ id: Number(id), vector: embedding, text, ...metadata }));

const product = (left, right) => left.reduce((sum, value, index) => sum + value * right[index], 0);
const nearest = questions.map(({ user, vector }) =>
  rowsOf(user)
    .sort((left, right) => product(right.vector, vector) - product(left.vector, vector))
    .slice(0, neighbours)
    .map(({ id }) => String(id)),
);
writeFileSync("nearest.json", JSON.stringify(nearest));

/** A page of namespaces. */
function namespaces(cursor) {
  const from = cursor === null ? 0 : users.indexOf(cursor);
  const page = users.slice(from, from + NAMESPACES_A_PAGE).map((id) => ({ id }));
  const next = users[from + NAMESPACES_A_PAGE];
  return next === undefined ? { namespaces: page } : { namespaces: page, next_cursor: next };
}

/** Rows by id, behind one that a filter names. What else could be asked is refused. */
function query(user, asked) {
  const { rank_by: order, include_attributes: attributes, filters, consistency: _consistency, ...others } = asked;
  const limit = others.limit?.total ?? others.limit ?? others.top_k;
  delete others.limit;
  delete others.top_k;
  const isById = JSON.stringify(order) === '["id","asc"]';
  if (!isById || attributes !== true || Object.keys(others).length > 0) throw new Error(JSON.stringify(asked));
  if (!Number.isInteger(limit) || limit < 1 || limit > ROWS_MAX) throw new Error(`limit ${JSON.stringify(limit)}`);
  const [field, operator, after] = filters ?? ["id", "Gt", 0];
  if (field !== "id" || operator !== "Gt" || !Number.isInteger(after)) throw new Error(JSON.stringify(filters));
  return {
    rows: rowsOf(user)
      .filter(({ id }) => id > after)
      .slice(0, limit),
    billing: {},
    performance: {},
  };
}

function answer(method, url, body) {
  const [, path] = /^\/gcp-us-central1(\/.*)$/.exec(url.pathname) ?? [];
  if (method === "GET" && path === "/v1/namespaces") return namespaces(url.searchParams.get("cursor"));
  const [, user] = /^\/v2\/namespaces\/(\w+)\/query$/.exec(path ?? "") ?? [];
  if (method === "POST" && user !== undefined) return query(user, JSON.parse(body));
  throw new Error(`${method} ${url.pathname}`);
}

const server = createServer(async (request, response) => {
  const chunks = await collected(request);
  let [status, told] = [200, undefined];
  try {
    if (request.headers.authorization !== "Bearer tester") throw new Error("the key is not known");
    told = answer(request.method, new URL(request.url, "http://localhost"), Buffer.concat(chunks).toString());
  } catch (error) {
    [status, told] = [400, { status: "error", error: error.message }];
  }
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(told));
});

async function collected(stream) {
  const chunks = [];
  for await (const chunk of stream) chunks.push(chunk);
  return chunks;
}

server.listen(0, "127.0.0.1", () => {
  const environment = {
    TURBOPUFFER_API_KEY: "tester",
    TURBOPUFFER_BASE_URL: `http://127.0.0.1:${server.address().port}/{region}`,
  };
  console.log(JSON.stringify({ environment }));
});
