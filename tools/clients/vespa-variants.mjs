/** Every other way to say the commands of `vespa` that the reference implementation's users have, by outcome. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/**
 * @typedef {import("./vespa-command.mjs").Ran} Ran
 * @typedef {import("./vespa-command.mjs").Command} Command
 * @typedef {(good: boolean, what: string, seen: string) => void} Report
 * @typedef {import("./gateway.mjs").Gateway} Gateway
 */

const GROUP = "variants";
const PREFIX = `id:mail:mail:g=${GROUP}:`;
/** Documents that are left after all feeding: 1, long, piped, d1, d3 and d4. */
const KEPT = 6;

/**
 * @param {Command} vespa
 * @param {Gateway} gateway
 * @param {{ folder: string, application: string }} given
 * @param {Report} report
 */
export async function checkVariants(vespa, gateway, { folder, application }, report) {
  const to = ["-t", gateway.url];
  /** @type {(name: string, content: unknown) => string} */
  const file = (name, content) => {
    const path = join(folder, name);
    writeFileSync(path, typeof content === "string" ? content : JSON.stringify(content));
    return path;
  };
  /** @type {(id: string) => Promise<Record<string, unknown> | undefined>} */
  const fields = async (id) => {
    const { output } = await vespa("document", "get", ...to, id);
    return output.startsWith("{") ? JSON.parse(output).fields : undefined;
  };
  const given = { vespa, to, file, fields, report };
  await checkFeeds(given);
  await checkDocuments(given);
  await checkQueries(given);
  await checkVisits(given);
  await checkSuites(given);
  await checkDeployments(given, gateway, application);
}

/**
 * @typedef {object} Given
 * @property {Command} vespa
 * @property {readonly string[]} to
 * @property {(name: string, content: unknown) => string} file
 * @property {(id: string) => Promise<Record<string, unknown> | undefined>} fields
 * @property {Report} report
 */

/** @param {string} output */
function counts(output) {
  const json = /^\{[\s\S]*^\}/m.exec(output)?.[0];
  const numbers = json === undefined ? {} : JSON.parse(json);
  return { ok: numbers["feeder.ok.count"], codes: JSON.stringify(numbers["http.response.code.counts"]) };
}

/** @param {Given} given */
async function checkFeeds({ vespa, to, file, fields, report }) {
  const odd = "id:mail:mail::sp ace/sl%ash?ü";
  const operations = [
    { put: `${PREFIX}1`, fields: { subject: "one", year: 2001 } },
    { update: `${PREFIX}2`, create: true, fields: { subject: { assign: "x y" } } },
    { update: `${PREFIX}absent`, fields: { subject: { assign: "never" } } },
    { remove: "id:mail:mail:n=42:4" },
    { put: odd, fields: { subject: "odd id" } },
    { put: `${PREFIX}missing`, condition: "false", fields: { subject: "never" } },
    { put: `${PREFIX}bad`, fields: { nosuch: 1 } },
  ];
  const lines = file("mixed.jsonl", operations.map((of) => `${JSON.stringify(of)}\n`).join(""));
  const mixed = await vespa("feed", ...to, lines);
  const { ok, codes } = counts(mixed.output);
  report(ok === 5 && codes === '{"200":5,"400":1,"412":1}', "feed of operations of all kinds", mixed.output);
  const [made, one, two, refused] = [
    await fields(odd),
    await fields(`${PREFIX}1`),
    await fields(`${PREFIX}2`),
    [await fields(`${PREFIX}missing`), await fields(`${PREFIX}absent`), await fields(`${PREFIX}bad`)],
  ];
  const stored = made?.["subject"] === "odd id" && one?.["year"] === 2001 && two?.["subject"] === "x y";
  report(stored && refused.every((of) => of === undefined), "feed made what was fed, and nothing else", mixed.output);
  const odds = await vespa("document", "remove", ...to, odd);
  report(odds.code === 0 && (await fields(odd)) === undefined, "document remove of an odd id", odds.output);

  const conditional = { update: `${PREFIX}1`, condition: "mail.year > 2000", fields: { year: { increment: 1 } } };
  const array = file("array.json", [conditional, { remove: `${PREFIX}2` }]);
  const many = ["--connections", "2", "--compression", "gzip", "--timeout", "10", "--trace", "1", "--route", "r"];
  const traced = await vespa("feed", ...to, ...many, "--verbose", array);
  const after = [(await fields(`${PREFIX}1`))?.["year"], await fields(`${PREFIX}2`)];
  const said =
    counts(traced.output).ok === 2 && /trace for remove/.test(traced.output) && /got status 200/.test(traced.output);
  report(said && after[0] === 2002 && after[1] === undefined, "feed of an array, compressed and traced", traced.output);

  const long = file("long.json", { put: `${PREFIX}long`, fields: { subject: "hello ".repeat(400) } });
  const automatic = await vespa("feed", ...to, "--header", "X-Custom: 1", "--compression", "auto", long);
  const subject = (await fields(`${PREFIX}long`))?.["subject"];
  report(counts(automatic.output).ok === 1 && subject === "hello ".repeat(400), "feed with a header", automatic.output);

  const line = JSON.stringify({ put: `${PREFIX}piped`, fields: { subject: "by a pipe" } });
  const piped = await vespa.fed(`${line}\n`, "feed", ...to, "-");
  const came = (await fields(`${PREFIX}piped`))?.["subject"];
  report(counts(piped.output).ok === 1 && came === "by a pipe", "feed of the standard input", piped.output);
}

/** @param {Given} given */
async function checkDocuments({ vespa, to, file, fields, report }) {
  const put = file("one.json", { put: `${PREFIX}d1`, fields: { subject: "first" } });
  const bare = file("bare.json", { fields: { subject: "bare" } });
  const update = file("update.json", { update: `${PREFIX}d1`, fields: { subject: { assign: "updated" } } });
  const remove = file("remove.json", { remove: `${PREFIX}d1` });
  /** @type {(what: string, id: string, expected: string | undefined, ...words: readonly string[]) => Promise<void>} */
  const check = async (what, id, expected, ...words) => {
    const { code, output } = await vespa("document", ...words, ...to);
    const subject = (await fields(`${PREFIX}${id}`))?.["subject"];
    report(
      code === 0 && output.includes("Success") && subject === expected,
      `document ${what}`,
      `${output}\n${subject}`,
    );
  };
  await check("by its file alone", "d1", "first", put);
  await check("put under another id", "d2", "first", "put", `${PREFIX}d2`, put);
  await check("put of fields without an id", "d3", "bare", "put", `${PREFIX}d3`, bare);
  await check("put --data", "d4", "inline", "put", "--data", '{"fields":{"subject":"inline"}}', `${PREFIX}d4`);
  await check("update", "d1", "updated", "update", update);
  await check("update of what is not there", "none", undefined, "update", `${PREFIX}none`, update);
  await check("remove by id", "d2", undefined, "remove", `${PREFIX}d2`);
  await check("remove by file", "d1", undefined, "remove", remove);
  await check("remove of what is not there", "d1", undefined, "remove", remove);
  const verbose = await vespa("document", "put", ...to, "--verbose", "-T", "5", "--header", "X-H: 1", put);
  const shown = /curl -X POST -m 5 .*timeout=5000ms/.test(verbose.output) && verbose.output.includes("Success");
  report(verbose.code === 0 && shown, "document put, verbose, with a timeout and a header", verbose.output);
  const chosen = await vespa("document", "get", ...to, `${PREFIX}1`, "--field-set", "mail:year");
  const got = chosen.code === 0 ? JSON.parse(chosen.output).fields : undefined;
  report(JSON.stringify(got) === '{"year":2002}', "document get of a field set", chosen.output);
}

/** @param {Given} given */
async function checkQueries({ vespa, to, file, report }) {
  const inGroup = `streaming.groupname=${GROUP}`;
  const all = "select * from mail where true";
  /** @type {(output: string) => number | undefined} */
  const total = (output) => {
    const json = /^\{[\s\S]*^\}/m.exec(output)?.[0];
    return json === undefined ? undefined : JSON.parse(json).root.fields.totalCount;
  };
  const nowhere = await vespa("query", ...to, all);
  // The command ends with 0 all the same, as it does against Vespa.
  report(/400[\s\S]*streaming\.groupname/.test(nowhere.output), "query without a group", nowhere.output);
  for (const [what, expected, words] of /** @type {const} */ ([
    ["of plain YQL", KEPT, [all, inGroup]],
    [
      "of another query language",
      1,
      ["yql=select * from mail where userQuery()", "query=pipe", "default-index=subject", inGroup],
    ],
    ["with parameters", KEPT, [`yql=${all}`, inGroup, "hits=2", "ranking=unranked", "timeout=2s"]],
    ["with a header and a timeout", KEPT, ["--timeout", "5", "--header", "X-H: 1", all, inGroup]],
    ["of a file", KEPT, ["--file", file("query.json", { yql: all, "streaming.groupname": GROUP, hits: 3 }), "hits=1"]],
  ])) {
    const { code, output } = await vespa("query", ...to, ...words);
    report(code === 0 && total(output) === expected, `query ${what}`, output);
  }
  const verbose = await vespa("query", ...to, "--verbose", all, inGroup);
  report(verbose.code === 0 && /^curl .*\/search\/\?/m.test(verbose.output), "query, verbose", verbose.output);
  const plain = await vespa("query", ...to, "--format", "plain", all, inGroup);
  report(plain.code === 0 && plain.output.includes(`"totalCount":${KEPT}`), "query, plain", plain.output);
  const profile = file("profile.json", "");
  const profiled = await vespa("query", ...to, "--profile", "--profile-file", profile, all, inGroup);
  const kept = readFileSync(profile, "utf8");
  const isWhole = profiled.code === 0 && JSON.parse(kept || "{}").root?.fields?.totalCount === KEPT;
  report(isWhole, "query, profiled into a file", `${profiled.output}\n${kept}`);
  const target = `/search/?${inGroup}&yql=${encodeURIComponent(all)}`;
  const curl = await vespa("curl", ...to, target);
  report(curl.code === 0 && curl.output.includes(`"totalCount":${KEPT}`), "curl of a query", curl.output);
  const stream = await vespa("query", ...to, "--format", "plain", all, inGroup, "presentation.format=sse");
  report(stream.code === 0, "query, as an event stream", stream.output);
}

/** @param {Given} given */
async function checkVisits({ vespa, to, report }) {
  const inGroup = ["--selection", `id.group == "${GROUP}"`];
  const whole = await vespa("visit", ...to, ...inGroup, "--make-feed", "--pretty-json");
  const feed = whole.code === 0 ? JSON.parse(whole.output.slice(0, whole.output.lastIndexOf("]") + 1)) : [];
  report(feed.length === KEPT, "visit that makes a feed", whole.output);
  const ids = await vespa("visit", ...to, ...inGroup, "--field-set", "[id]", "--bucket-space", "default");
  const bare = ids.output.split("\n").filter((line) => line.startsWith("{") && !line.includes('"fields":{"'));
  report(ids.code === 0 && bare.length === KEPT, "visit of ids", ids.output);
  const global = await vespa("visit", ...to, ...inGroup, "--bucket-space", "global");
  report(
    global.code === 0 && !global.output.includes("id:"),
    "visit of global documents, which there are none of",
    global.output,
  );
  const past = await vespa("visit", ...to, ...inGroup, "--from", "0", "--to", "99");
  report(
    past.code === 0 && !past.output.includes("id:"),
    "visit of a period in which nothing was written",
    past.output,
  );
  const since = await vespa("visit", ...to, ...inGroup, "--from", "99", "--verbose");
  const seen = since.output.split("\n").filter((line) => line.startsWith("{"));
  report(since.code === 0 && seen.length === KEPT, "visit of a period, verbose", since.output);
}

/**
 * Requests of files with what their answers have to hold, and a feed of nothing, which measures the way.
 * @param {Given} given
 */
async function checkSuites({ vespa, to, file, report }) {
  /** @param {number} year */
  const suite = (year) => ({
    steps: [
      { request: { uri: `/document/v1/mail/mail/group/${GROUP}/1` }, response: { body: { fields: { year: 2002 } } } },
      {
        request: { parameters: { yql: "select * from mail where year = 2002", "streaming.groupname": GROUP } },
        response: { code: 200, body: { root: { children: [{ fields: { year } }] } } },
      },
    ],
  });
  const passed = await vespa("test", ...to, file("suite.json", suite(2002)));
  report(passed.code === 0 && /success/i.test(passed.output), "test of what is so", passed.output);
  const failed = await vespa("test", ...to, file("suite.json", suite(2003)));
  report(/Expected: 2003\s+Actual: +2002/.test(failed.output), "test of what is not so", failed.output);
  const speed = await vespa("feed", ...to, "--speedtest", "1000", "--speedtest-duration", "1");
  const { ok } = counts(speed.output);
  // Whatever it asks too fast is refused for now (503), and asked again.
  const isAll =
    speed.output.includes(`"feeder.operation.count": ${ok},`) && /"feeder.error.count": 0,/.test(speed.output);
  const codes = [...speed.output.matchAll(/"(\d{3})": \d/g)].map(([, code]) => code);
  const areKnown = codes.length > 0 && codes.every((code) => code === "200" || code === "503");
  report(speed.code === 0 && ok > 0 && isAll && areKnown, "feed --speedtest", speed.output);
}

/**
 * @param {Given} given
 * @param {Gateway} gateway
 * @param {string} application
 */
async function checkDeployments({ vespa, fields, report }, gateway, application) {
  for (const wait of ["0", "3"]) {
    const { code, output } = await vespa("deploy", "-t", gateway.configUrl, "--wait", wait, application);
    report(code === 0 && /Deployed .* with session ID \d+/.test(output), `deploy --wait ${wait}`, output);
  }
  const still = (await fields(`${PREFIX}1`))?.["year"];
  report(still === 2002, "deploying anew leaves the documents as they are", String(still));
  // It is for the Vespa Cloud alone, and says so without asking anyone.
  const destroyed = await vespa("destroy", "-t", gateway.url, "--force");
  const isRefused = /does not support/.test(destroyed.output) && (await fields(`${PREFIX}1`)) !== undefined;
  report(isRefused, "destroy, which is for the cloud alone, leaves everything", destroyed.output);
}
