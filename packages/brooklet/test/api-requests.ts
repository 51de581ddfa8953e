/**
 * Requests to every interface over HTTP, drawn from a seed: what each takes, and everything else. What is answered is held against
 * what the interfaces promise of their answers, whatever they are asked.
 */
import { ERROR_KINDS, type ErrorCode } from "@brooklet/wire";
import type { Answered } from "./served.ts";

/** A number below another. */
export type Pick = (below: number) => number;

/** A request. */
export interface ApiRequest {
  readonly surface: keyof typeof SURFACES;
  readonly method: string;
  readonly path: string;
  readonly body?: string;
  readonly headers: Readonly<Record<string, string>>;
}

const one = <Item>(pick: Pick, items: readonly Item[]): Item => items[pick(items.length)] as Item;
const often = (pick: Pick, inHundred: number): boolean => pick(100) < inHundred;

/** What stands where something else should: edges of what is read as a number, a name, a text. */
const ODD: readonly string[] = [
  ..."|0|-1|1|NaN|Infinity|1e400|0x10|1.5|9223372036854775808|99999999999999999999999999|true|null".split("|"),
  ..."g:alice|..|.|../x|a/b|a\\b|'|\"|{|}|[|((((|))|*|+|~|#|?|&|=|%|;|,|:|<script>|$x|__proto__|constructor".split("|"),
  " ",
  "\t",
  "\u0000",
  "\u0001",
  "\u0007",
  "\u007f",
  "\ufdd0",
  "\ufffe",
  "\ufffd",
  "\u202e",
  "\u{1f600}",
  "日本語",
  "é",
  "a".repeat(600),
  "(".repeat(300),
  "[".repeat(300),
  "9".repeat(300),
];
/** Text that is no encoding of UTF-8. */
const MALFORMED = ["%ff", "%zz", "%", "%ed%a0%80", "%c0%af", "%00", "%f4%90%80%80"];
const YQL = [
  "select * from note where true",
  "select * from note where false",
  'select title from note where title contains "river" and year > 3',
  'select * from note where title contains phrase("a", "b") or year in (1, 2, 3) order by year desc limit 3 offset 1',
  "select * from note where {targetHits: 3}nearestNeighbor(place, q)",
  "select * from note where userQuery()",
  "select * from note where rank(true, year = 1) | all(group(year) max(3) each(output(count())))",
  'select * from sources * where title matches "r.*" and !(year < 2)',
  'select * from note where title contains ({prefix: true}"ri") and weightedSet(year, {"1": 2})',
  'select * from note where {defaultIndex: "title"}userInput(@words) timeout 100',
];
const SELECTIONS = ["true", "note.year > 3", 'note.title =~ "a.*"', "id.group == 'alice'", "note.year ==", "not (true"];
const EXPRESSIONS = ["all(group(year) each(output(count())))", "all(group(fixedwidth(year, 0)) max(-1))", "all("];
const TIMES = ["5s", "100ms", "0", "1us", "-1s", "5parsecs", "1e9s"];
const FIELDS = [
  '"title":"river"',
  '"year":7',
  '"place":[1.0,2.0]',
  '"place":{"values":[1,2]}',
  '"nosuch":1',
  '"year":"x"',
];

/** A text near to one that is right. */
function near(pick: Pick, text: string): string {
  let changed = text;
  for (let times = pick(3); times > 0; times -= 1) {
    const at = pick(changed.length + 1);
    const way = pick(4);
    if (way === 0) changed = changed.slice(0, at) + changed.slice(at + 1 + pick(4));
    else if (way === 1) changed = changed.slice(0, at) + one(pick, ODD) + changed.slice(at);
    else if (way === 2) changed = changed.slice(0, at) + changed.slice(pick(changed.length + 1));
    else changed = changed.slice(0, at);
  }
  return changed;
}

const value = (pick: Pick, right: readonly string[]): string =>
  often(pick, 60) ? one(pick, right) : often(pick, 50) ? near(pick, one(pick, right)) : one(pick, ODD);

function encoded(pick: Pick, text: string): string {
  if (often(pick, 3)) return one(pick, MALFORMED);
  return encodeURIComponent(text.replace(/[\ud800-\udfff]/g, "")).replaceAll("'", "%27");
}

type Parameters = Readonly<Record<string, readonly string[]>>;

function query(pick: Pick, parameters: Parameters, usual: readonly string[] = []): string {
  const names = Object.keys(parameters);
  const asked = [...usual.filter(() => often(pick, 90)), ...Array.from({ length: pick(4) }, () => one(pick, names))];
  if (often(pick, 10)) asked.push(one(pick, ["nosuch", "__proto__", "", "a.b.c", one(pick, names)]));
  const pairs = asked.map(
    (name) =>
      `${encoded(pick, name)}=${encoded(pick, value(pick, Object.hasOwn(parameters, name) ? (parameters[name] ?? ODD) : ODD))}`,
  );
  return pairs.length === 0 ? "" : `?${pairs.join("&")}`;
}

const SEARCH: Parameters = {
  yql: YQL,
  query: ["river", "+river -stone", "title:river", "year:>3"],
  "streaming.groupname": ["alice", "bob", "nobody"],
  "streaming.selection": SELECTIONS,
  "streaming.userid": ["7", "x"],
  hits: ["0", "3", "401"],
  offset: ["0", "2", "1001"],
  timeout: TIMES,
  ranking: ["unranked", "near", "nosuch"],
  "input.query(q)": ["[1,2]", "[1]", "{{x:0}:1}", "[NaN,1]"],
  "ranking.features.query(q)": ["[1,2]"],
  "presentation.summary": ["default", "nosuch"],
  "presentation.timing": ["true"],
  "presentation.format": ["json", "xml"],
  "trace.level": ["0", "9"],
  select: EXPRESSIONS,
  type: ["any", "all", "web", "nosuch"],
  sorting: ["-year", "+title", "nosuch"],
  "model.restrict": ["note", "nosuch"],
  "model.locale": ["de"],
  words: ["river stone"],
  collapsefield: ["year"],
  format: ["json"],
};
const DOCUMENT: Parameters = {
  create: ["true", "false"],
  condition: SELECTIONS,
  cluster: ["all", "nosuch"],
  timeout: TIMES,
  fieldSet: ["[all]", "[id]", "note:title", "nosuch:x"],
  selection: SELECTIONS,
  wantedDocumentCount: ["1", "10", "99999999999"],
  continuation: ["AAAA", "x"],
  concurrency: ["1", "8"],
  slices: ["2", "0"],
  sliceId: ["0", "2"],
  stream: ["true"],
  dryRun: ["true"],
  tracelevel: ["3"],
  route: ["default"],
  bucketSpace: ["default"],
  fromTimestamp: ["1"],
  toTimestamp: ["1"],
  includeRemoves: ["true"],
  "format.tensors": ["short", "long", "hex"],
};

/** A document or an update, as JSON that may be none. */
function body(pick: Pick): string {
  const fields = Array.from({ length: 1 + pick(3) }, () => {
    const field = one(pick, FIELDS);
    if (often(pick, 70)) return field;
    const [name = ""] = field.split(":");
    return `${name}:{"${one(pick, ["assign", "increment", "add", "remove", "match", "nosuch"])}":${one(pick, ['"x"', "1", "[1]", "null"])}}`;
  });
  const whole = `{${often(pick, 10) ? '"put":"id:a:note:g=bob:9",' : ""}"fields":{${fields.join(",")}}}`;
  if (often(pick, 60)) return whole;
  return often(pick, 80)
    ? near(pick, whole)
    : one(pick, ["", "null", "[]", "{}", '"x"', `${"[".repeat(100)}`, "\ud800", '{"fields":{"a":{}}}']);
}

function documentPath(pick: Pick): string {
  const group = one(pick, ["alice", "bob", "nobody"]);
  const name = one(pick, ["1", "2", "3", "a/b", "..", "x:y"]);
  const parts = [
    "document",
    "v1",
    value(pick, ["a"]),
    value(pick, ["note"]),
    value(pick, ["group", "group", "group", "number", "docid"]),
    value(pick, [group, "7"]),
    value(pick, [name]),
  ].slice(0, often(pick, 85) ? 7 : 2 + pick(6));
  return `/${parts.map((part, at) => (at < 2 ? part : encoded(pick, part))).join("/")}`;
}

const READS = ["GET", "GET", "GET", "HEAD"];
const ODD_METHODS = ["PATCH", "OPTIONS", "DELETE", "PUT", "POST"];

type Draw = (pick: Pick) => Drawn;
interface Drawn {
  readonly method: string;
  readonly path: string;
  readonly body?: string;
}

function own(pick: Pick, members: Readonly<Record<string, readonly string[]>>): string {
  const shown = Object.keys(members).filter(() => often(pick, 70));
  if (often(pick, 10)) shown.push("nosuch");
  const whole = `{${shown.map((name) => `${JSON.stringify(name)}:${one(pick, members[name] ?? ["1"])}`).join(",")}}`;
  return often(pick, 75) ? whole : near(pick, whole);
}

/** What there is to ask. */
export const SURFACES = {
  document: (pick) => {
    const method = often(pick, 90) ? one(pick, ["GET", "POST", "PUT", "DELETE"]) : one(pick, ODD_METHODS);
    const path = documentPath(pick) + query(pick, DOCUMENT);
    return method === "POST" || method === "PUT" ? { method, path, body: body(pick) } : { method, path };
  },
  visit: (pick) => {
    const method = often(pick, 80) ? "GET" : one(pick, ["DELETE", "PUT", "POST"]);
    const scope = one(pick, ["", "a/note/", "a/note/group/alice/", "a/note/docid/", "a/note/number/7/"]);
    const path = `/document/v1/${scope}${query(pick, DOCUMENT, ["cluster", "timeout", "selection"])}`;
    return method === "GET" || method === "DELETE" ? { method, path } : { method, path, body: body(pick) };
  },
  search: (pick) => {
    if (often(pick, 60))
      return { method: one(pick, READS), path: `/search/${query(pick, SEARCH, ["yql", "streaming.groupname"])}` };
    const members = Object.fromEntries(
      Object.entries(SEARCH).map(([name, values]) => [
        name,
        [...values.map((text) => JSON.stringify(text)), "1", "null", "{}"],
      ]),
    );
    return { method: "POST", path: `/search/${query(pick, SEARCH)}`, body: own(pick, members) };
  },
  "own search": (pick) => {
    const quoted = (texts: readonly string[]): readonly string[] => [
      ...texts.map((text) => JSON.stringify(text)),
      "1",
      "null",
    ];
    const members = {
      group: quoted(["alice", "bob", ""]),
      schema: quoted(["note", "nosuch", "a b"]),
      text: [...quoted(["river stone", "", "-"]), '{"text":"river"}'],
      question: quoted(["which river?", ""]),
      filter: quoted(["year > 3", "year >", "true"]),
      limit: ["3", "-1", "1.5", '"3"'],
      offset: ["0", "99999"],
      near: ["false", "true", '{"field":"place","vector":[1,2]}'],
      timeoutMs: ["1000", "-1", '"x"'],
      budget: ["100", "{}"],
    };
    const [path, asked] = one(pick, [
      ["search", "text"],
      ["retrieve", "question"],
    ] as const);
    const usual = { group: members.group, schema: members.schema, [asked]: members[asked] };
    const more = Array.from({ length: pick(3) }, () => one(pick, Object.keys(members) as (keyof typeof members)[]));
    const shown = often(pick, 50)
      ? `{"group":"alice","schema":"note","${asked}":"river"}`
      : own(pick, { ...usual, ...Object.fromEntries(more.map((name) => [name, members[name]])) });
    return { method: often(pick, 95) ? "POST" : "GET", path: `/brooklet/v1/${path}`, body: shown };
  },
  feed: (pick) => {
    const line = (): string => {
      const id = `id:a:note:${one(pick, ["g=alice", "g=bob", "n=7", ""])}:${one(pick, ["1", "2", "", "a b"])}`;
      const operation = one(pick, ["put", "update", "remove", "nosuch"]);
      const whole = `{"${operation}":${JSON.stringify(id)},${body(pick).slice(1)}`;
      return often(pick, 70) ? whole : near(pick, whole);
    };
    const lines = Array.from({ length: pick(6) }, line).join(one(pick, ["\n", "", ","]));
    return {
      method: often(pick, 95) ? "POST" : "GET",
      path: `/brooklet/v1/feed${query(pick, { timeout: TIMES })}`,
      body: lines,
    };
  },
  groups: (pick) => {
    const asked = query(pick, { wantedGroupCount: ["1", "0", "x"], continuation: ["AAAA"] });
    if (often(pick, 60)) return { method: one(pick, READS), path: `/brooklet/v1/groups${asked}` };
    return {
      method: "DELETE",
      path: `/brooklet/v1/groups/${encoded(pick, value(pick, ["nobody", "x"]))}${often(pick, 10) ? "/y" : ""}`,
    };
  },
  deploy: (pick) => {
    const place = one(pick, [
      "",
      "/default",
      "/default/prepareandactivate",
      "/default/session",
      "/default/session/1/prepared",
      "/default/session/99/active",
      "/default/application/default",
      "/default/application/default/environment/default/region/default/instance/default/serviceconverge",
      "/nosuch",
    ]);
    const path = `/application/v2/tenant${place}${query(pick, { from: ["http://x/"], verbose: ["true"] })}`;
    // What is sent is no package: what is deployed stays so.
    if (often(pick, 50)) return { method: one(pick, READS), path };
    return {
      method: one(pick, ["POST", "PUT", "DELETE"]),
      path,
      body: one(pick, ["PK\u0003\u0004", "", "x".repeat(2_000)]),
    };
  },
  status: (pick) => {
    const path = one(pick, [
      "/",
      "/ApplicationStatus",
      "/livez",
      "/readyz",
      "/status.html",
      "/metrics",
      "/state/v1",
      "/state/v1/",
    ]);
    const more = one(pick, [
      "/state/v1/config",
      "/state/v1/health",
      "/state/v1/metrics",
      "/state/v1/version",
      "/metrics/v2/values",
      "/nosuch",
      "//",
      "/%2e%2e/",
    ]);
    const asked = (often(pick, 50) ? path : more) + query(pick, { x: ODD });
    return { method: often(pick, 85) ? one(pick, READS) : one(pick, ODD_METHODS), path: asked };
  },
} as const satisfies Readonly<Record<string, Draw>>;

/** A request of a seed. */
export function apiRequest(pick: Pick): ApiRequest {
  const surface = one(pick, Object.keys(SURFACES) as (keyof typeof SURFACES)[]);
  const drawn: Drawn = SURFACES[surface](pick);
  const headers: Record<string, string> = {};
  if (drawn.body !== undefined)
    headers["content-type"] = often(pick, 85) ? "application/json" : one(pick, ["text/xml", "application/zip", "a"]);
  if (often(pick, 4)) headers["content-encoding"] = one(pick, ["gzip", "br", "identity", "gzip, gzip"]);
  if (often(pick, 3)) headers["accept"] = one(pick, ["application/jsonl", "application/cbor", "text/html", "*/*"]);
  if (often(pick, 2)) headers["origin"] = "https://evil.example";
  if (often(pick, 2)) headers["expect"] = "100-continue";
  return { surface, ...drawn, headers };
}

/** Failures that are ours or of the store: no request may bring them about. */
const DEFECTS: ReadonlySet<ErrorCode> = new Set(["INTERNAL", "STORE_CORRUPT", "STORE_FAILED", "STORE_REFUSED"]);
/** What of this machine must not stand in an answer (S-25). */
const OF_THE_MACHINE = /\bat (?:file:|\S+ \(\/)|node_modules|\.[cm]?[jt]s:\d+|SQLITE_|sqlite3?_|\/tmp\/|panicked/;

/** What is wrong with an answer, each in a sentence: what all answers promise, and those of this interface. */
export function faultsOf(request: ApiRequest, { status, headers, text }: Answered): readonly string[] {
  const faults: string[] = [];
  const expect = (isSo: boolean, what: string): void => {
    if (!isSo) faults.push(what);
  };
  const named = new Map<string, string>();
  const raw = headers.split("\n");
  for (let at = 0; at + 1 < raw.length; at += 2) named.set((raw[at] ?? "").toLowerCase(), raw[at + 1] ?? "");
  expect(status >= 200 && status < 600, `status ${status}`);
  expect(
    named.get("x-content-type-options") === "nosniff" && named.get("cache-control") === "no-store",
    "headers of all answers",
  );
  expect(!OF_THE_MACHINE.test(text), "something of this machine in the answer");
  if ([429, 503].includes(status)) expect(/^\d+$/.test(named.get("retry-after") ?? ""), "no retry-after");
  if (status === 405) expect(named.has("allow"), "no allow");
  const isJson = /^application\/json(?:;|$)/.test(named.get("content-type") ?? "");
  const isCbor = /^application\/(?:x-)?cbor/.test(named.get("content-type") ?? "");
  const isXml = /^(?:text|application)\/xml(?:;|$)/.test(named.get("content-type") ?? "");
  if (isXml) expect(status < 400 || /<error code="\d+">/.test(text), "a failure in XML without a code");
  else if (status >= 400) expect(isJson || isCbor, "a failure that is neither JSON nor CBOR nor XML");
  if (!isJson || request.method === "HEAD" || status === 204) return faults;
  let answer: Readonly<Record<string, unknown>>;
  try {
    answer = JSON.parse(text) as typeof answer;
  } catch {
    return [...faults, "no JSON"];
  }
  if (typeof answer !== "object" || answer === null) return [...faults, "no object"];
  if (status >= 400) faults.push(...faultsOfFailure(request, status, answer));
  else if (request.surface === "search") faults.push(...faultsOfResult(answer));
  else if (request.path.startsWith("/document/v1/"))
    expect(typeof answer["pathId"] === "string", "a document without pathId");
  return faults;
}

const isScalar = (it: unknown): boolean => it === null || ["string", "number", "boolean"].includes(typeof it);

function faultsOfFailure(
  request: ApiRequest,
  status: number,
  answer: Readonly<Record<string, unknown>>,
): readonly string[] {
  const { code, outcome, root, message, pathId } = answer;
  // As in the reference, word for word: what is not there is told by its ids alone.
  if (status === 404 && "id" in answer && request.method === "GET")
    return code === undefined ? [] : ["more than ids in a 404"];
  const faults: string[] = [];
  const isKnown = typeof code === "string" && code in ERROR_KINDS;
  if (!isKnown) faults.push(`code ${JSON.stringify(code)}`);
  else if (DEFECTS.has(code as ErrorCode)) faults.push(`a defect: ${code}`);
  if (outcome !== "not_applied" && outcome !== "unknown") faults.push(`outcome ${JSON.stringify(outcome)}`);
  if (request.surface === "search" || request.surface === "own search") {
    const { errors } = (root ?? {}) as { errors?: readonly Readonly<Record<string, unknown>>[] };
    const isRight =
      Array.isArray(errors) &&
      errors.length > 0 &&
      errors.every(
        (error) =>
          typeof error["code"] === "number" &&
          typeof error["message"] === "string" &&
          typeof error["summary"] === "string",
      );
    if (!isRight) faults.push("errors of a result that are none");
  } else if (typeof message !== "string" || message === "") faults.push("no message");
  if (request.path.startsWith("/document/v1/") && typeof pathId !== "string") faults.push("no pathId");
  // The Java feed client skips one token for a member that it does not know; a trace is one that it knows.
  if (
    request.path.startsWith("/document/v1/") &&
    request.surface === "document" &&
    !Object.entries(answer).every(([name, it]) => name === "trace" || isScalar(it))
  )
    faults.push("members that are no scalars");
  return faults;
}

function faultsOfResult(answer: Readonly<Record<string, unknown>>): readonly string[] {
  const { fields, children, coverage } = (answer["root"] ?? {}) as Readonly<Record<string, unknown>>;
  const faults: string[] = [];
  if (typeof (fields as { totalCount?: unknown } | undefined)?.totalCount !== "number") faults.push("no totalCount");
  if (coverage !== undefined && typeof (coverage as { full?: unknown }).full !== "boolean")
    faults.push("coverage that does not say whether it is full");
  if (children !== undefined && !Array.isArray(children)) faults.push("children that are no list");
  for (const hit of (Array.isArray(children) ? children : []) as readonly Readonly<Record<string, unknown>>[])
    if (typeof hit["id"] !== "string" || typeof hit["relevance"] !== "number")
      faults.push("a hit without id or relevance");
  return faults;
}
