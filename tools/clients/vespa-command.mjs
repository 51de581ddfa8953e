/** What the `vespa` command does against a gateway, by outcome. */
import { execFile } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { checkLanguageModel } from "./language-model.mjs";
import { checkVariants } from "./vespa-variants.mjs";

const COMMAND_MS_MAX = 60_000;

/** The number of documents `documents` makes. */
export const DOCUMENTS = 200;

/**
 * @typedef {object} Ran
 * @property {number} code exit code
 * @property {string} output what it printed, on both channels
 */

/**
 * @typedef {((...words: readonly string[]) => Promise<Ran>) & {
 *   fed: (input: string, ...words: readonly string[]) => Promise<Ran>
 * }} Command a command line, and one that is given a standard input
 */

/**
 * @param {string} program
 * @param {string} folder for all it keeps
 * @returns {Command}
 */
export function vespaCommand(program, folder) {
  const home = join(folder, "vespa");
  mkdirSync(home, { recursive: true });
  const env = {
    ...process.env,
    VESPA_CLI_HOME: home,
    VESPA_CLI_CACHE_DIR: home,
    VESPA_CLI_DATA_DIR: home,
    NO_COLOR: "1",
  };
  /** @type {Command["fed"]} */
  const fed = (input, ...words) =>
    new Promise((resolve) => {
      const options = { env: { ...env, CI: "true" }, timeout: COMMAND_MS_MAX };
      const { stdin } = execFile(program, words, options, (error, out, warned) => {
        resolve({ code: error === null ? 0 : Number(error.code ?? 1), output: `${out}\n${warned}`.trim() });
      });
      // A command may end before it has read what it is given.
      stdin?.on("error", () => {});
      stdin?.end(input);
    });
  return Object.assign((/** @type {readonly string[]} */ ...words) => fed("", ...words), { fed });
}

/**
 * The operations of a feed: mails of one group, and the removal of the first.
 * @param {string} group
 */
function documents(group) {
  const puts = Array.from({ length: DOCUMENTS }, (_, index) => ({
    put: `id:mail:mail:g=${group}:${index}`,
    fields: {
      subject: index % 2 === 0 ? `Lease of flat ${index}` : `Invoice ${index}`,
      body: `Dear tenant, the deposit for flat ${index} is due. `.repeat(20),
      year: 2000 + (index % 25),
      unread: index % 3 === 0,
      emb: [index, 1, -index],
    },
  }));
  return [...puts, { remove: `id:mail:mail:g=${group}:0` }]
    .map((operation) => `${JSON.stringify(operation)}\n`)
    .join("");
}

/**
 * @param {Command} vespa
 * @param {import("./gateway.mjs").Gateway} gateway
 * @param {{ folder: string, application: string, group: string }} given
 * @param {(good: boolean, what: string, seen: string) => void} report
 */
export async function checkVespaCommand(vespa, gateway, { folder, application, group }, report) {
  const deployed = await vespa("deploy", "-t", gateway.configUrl, "--wait", "30", application);
  report(deployed.code === 0 && /Deployed|prepared and activated/i.test(deployed.output), "deploy", deployed.output);
  await checkDeployment(vespa, gateway, { folder, application }, report);
  const status = await vespa("status", "-t", gateway.url);
  report(status.code === 0 && /ready/.test(status.output), "status", status.output);
  await checkFeed(vespa, gateway, { folder, group }, report);
  await checkDocument(vespa, gateway, { folder, group }, report);
  await checkQueries(vespa, gateway, group, report);
  await checkVisits(vespa, gateway, group, report);
  await checkVariants(vespa, gateway, { folder, application }, report);
  await checkLanguageModel(vespa, gateway, { folder, application, group }, report);
}

/**
 * @param {Command} vespa
 * @param {import("./gateway.mjs").Gateway} gateway
 * @param {string} group
 * @param {(good: boolean, what: string, seen: string) => void} report
 */
async function checkVisits(vespa, gateway, group, report) {
  const visit = async (/** @type {readonly string[]} */ ...words) => {
    const { code, output } = await vespa("visit", "-t", gateway.url, "--json-lines", ...words);
    const documents = output.split("\n").flatMap((line) => (line.startsWith("{") ? [JSON.parse(line)] : []));
    const ids = new Set(documents.map((/** @type {{ id?: string, put?: string }} */ { id, put }) => id ?? put));
    return { code, ids, documents, output };
  };
  const all = DOCUMENTS - 1;
  for (const [what, words] of /** @type {const} */ ([
    ["visit", []],
    ["visit --stream", ["--stream"]],
    ["visit in chunks", ["--chunk-count", "7"]],
    ["visit --stream in chunks", ["--stream", "--chunk-count", "7"]],
    ["visit of one cluster", ["--content-cluster", "mail"]],
  ])) {
    const seen = await visit(...words);
    const good = seen.code === 0 && seen.ids.size === all && seen.documents.length === all;
    report(good, `${what} shows ${all} documents once`, `${seen.documents.length} documents\n${seen.output}`);
  }
  const slices = [];
  for (const slice of ["0", "1", "2"]) {
    slices.push(await visit("--slices", "3", "--slice-id", slice, ...(slice === "1" ? ["--stream"] : [])));
  }
  const shown = slices.map(({ ids }) => ids.size).reduce((sum, count) => sum + count, 0);
  const together = new Set(slices.flatMap(({ ids }) => [...ids])).size;
  report(
    shown === all && together === all,
    `visit of three slices shows ${all} documents once`,
    slices[0]?.output ?? "",
  );
  const unread = await visit("--selection", "mail.year >= 2020 and mail.unread == true", "--field-set", "mail:year");
  const years = unread.documents.map((/** @type {{ fields: Record<string, unknown> }} */ { fields }) => fields);
  const expected = Array.from({ length: all }, (_, index) => index + 1).filter(
    (index) => index % 25 >= 20 && index % 3 === 0,
  );
  const chosen = years.every((fields) => Object.keys(fields).join() === "year" && Number(fields["year"]) >= 2020);
  report(unread.ids.size === expected.length && chosen, "visit of a selection and a field set", unread.output);
  const other = await visit("--selection", `id.group != "${group}"`);
  report(other.code === 0 && other.documents.length === 0, "visit of no document", other.output);
  const nowhere = await visit("--content-cluster", "nosuch");
  // The command ends with 0 all the same, as it does against Vespa.
  report(/no content cluster 'nosuch'/.test(nowhere.output), "visit of an unknown cluster", nowhere.output);
}

/**
 * @param {Command} vespa
 * @param {import("./gateway.mjs").Gateway} gateway
 * @param {{ folder: string, application: string }} given
 * @param {(good: boolean, what: string, seen: string) => void} report
 */
async function checkDeployment(vespa, gateway, { folder, application }, report) {
  const to = ["-t", gateway.configUrl];
  for (const [what, words, expected] of /** @type {const} */ ([
    ["status deploy", ["status", "deploy"], /is ready/],
    ["prepare", ["prepare", application], /Prepared .* with session \d+/],
    ["activate", ["activate"], /Activated .* with session \d+/],
    ["status deployment", ["status", "deployment"], /ready on config generation \d+/],
  ])) {
    const { code, output } = await vespa(...words, ...to);
    report(code === 0 && expected.test(output), what, output);
  }
  const fetched = join(folder, "fetched");
  mkdirSync(fetched);
  const { code, output } = await vespa("fetch", ...to, fetched);
  // Names stand in a zip as they are.
  const archive = code === 0 ? readFileSync(join(fetched, "application.zip"), "latin1") : "";
  const names = ["services.xml", "schemas/mail.sd", "schemas/note.sd"];
  report(
    names.every((name) => archive.includes(name)),
    "fetch gives the deployed package",
    output,
  );
}

/**
 * @param {Command} vespa
 * @param {import("./gateway.mjs").Gateway} gateway
 * @param {{ folder: string, group: string }} given
 * @param {(good: boolean, what: string, seen: string) => void} report
 */
async function checkFeed(vespa, gateway, { folder, group }, report) {
  const file = join(folder, "feed.jsonl");
  writeFileSync(file, documents(group));
  const fed = await vespa("feed", "-t", gateway.url, file);
  const numbers = statistics(fed.output);
  const good = numbers["feeder.ok.count"] === DOCUMENTS + 1 && numbers["feeder.error.count"] === 0;
  report(fed.code === 0 && good, `feed of ${DOCUMENTS + 1} operations`, fed.output);
}

/**
 * @param {string} output
 * @returns {Record<string, unknown>}
 */
function statistics(output) {
  const json = /^\{[\s\S]*^\}/m.exec(output)?.[0];
  return json === undefined ? {} : JSON.parse(json);
}

/**
 * @param {Command} vespa
 * @param {import("./gateway.mjs").Gateway} gateway
 * @param {{ folder: string, group: string }} given
 * @param {(good: boolean, what: string, seen: string) => void} report
 */
async function checkDocument(vespa, gateway, { folder, group }, report) {
  const id = `id:mail:mail:g=${group}:single/one ü`;
  const file = join(folder, "put.json");
  writeFileSync(file, JSON.stringify({ put: id, fields: { subject: "Ünïcode", size: 1 } }));
  const put = await vespa("document", "put", "-t", gateway.url, file);
  report(put.code === 0 && put.output.includes("Success"), "document put", put.output);
  const got = await vespa("document", "get", "-t", gateway.url, id);
  report(got.code === 0 && got.output.includes('"Ünïcode"'), "document get", got.output);
  const removed = await vespa("document", "remove", "-t", gateway.url, id);
  report(removed.code === 0 && removed.output.includes("Success"), "document remove", removed.output);
  const missing = await vespa("document", "get", "-t", gateway.url, id);
  // The command ends with 0 all the same, as it does against Vespa.
  report(missing.output.includes("Status 404"), "document get of a removed one", missing.output);
  writeFileSync(file, JSON.stringify({ put: id, fields: { nosuch: 1 } }));
  const refused = await vespa("document", "put", "-t", gateway.url, file);
  report(/Status 400[\s\S]*nosuch/.test(refused.output), "document put of an unknown field", refused.output);
}

/**
 * @param {Command} vespa
 * @param {import("./gateway.mjs").Gateway} gateway
 * @param {string} group
 * @param {(good: boolean, what: string, seen: string) => void} report
 */
async function checkQueries(vespa, gateway, group, report) {
  const query = async (/** @type {readonly string[]} */ ...words) => {
    const { code, output } = await vespa("query", "-t", gateway.url, "--timeout", "10", ...words);
    const root = code === 0 ? JSON.parse(/^\{[\s\S]*\}/m.exec(output)?.[0] ?? "{}").root : undefined;
    return { total: root?.fields?.totalCount, hits: root?.children ?? [], output };
  };
  const inGroup = `streaming.groupname=${group}`;
  const all = await query("yql=select * from mail where true", inGroup, "hits=0");
  report(all.total === DOCUMENTS - 1, "query of a whole group", all.output);
  const leases = await query('yql=select * from mail where subject contains "lease"', inGroup);
  report(leases.total === DOCUMENTS / 2 - 1 && leases.hits.length === 10, "query by a word", leases.output);
  const ranged = await query("yql=select * from mail where year >= 2020 and unread = true order by year desc", inGroup);
  const years = ranged.hits.map((/** @type {{ fields: { year: number } }} */ hit) => hit.fields.year);
  const sorted =
    years.length === 10 && years.every((year, index) => year <= (years[index - 1] ?? year) && year >= 2020);
  report(sorted, "query by a range, in order", ranged.output);
  const nearest = await query(
    "yql=select * from mail where {targetHits: 3}nearestNeighbor(emb, q)",
    inGroup,
    "model.restrict=mail",
    "ranking=bm25",
    "input.query(q)=[7, 1, -7]",
  );
  report(nearest.total === 3 && nearest.hits.length === 3, "query of nearest neighbours", nearest.output);
  const other = await query("yql=select * from mail where true", "streaming.groupname=nobody");
  report(other.total === 0, "query of a group without documents", other.output);
  const wrong = await vespa("query", "-t", gateway.url, "yql=select * from mail where nosuch contains 'a'", inGroup);
  report(/nosuch/.test(wrong.output), "query of an unknown field is refused", wrong.output);
}
