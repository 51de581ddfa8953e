/**
 * Writes COMPATIBILITY.md: the table of features (tools/compatibility.json, kept by hand), the rank features (read from
 * the registry), the vectors, and where we differ from the recorded answers on purpose (read from their runners).
 * `--check` writes nothing and fails if the document is not what would be written.
 */
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const root = resolve(fileURLToPath(import.meta.url), "../..");
const target = join(root, "COMPATIBILITY.md");
const registry = "crates/rank/src/features/registry.rs";

/** @param {string} path */
const content = (path) => readFileSync(join(root, path), "utf8");

/**
 * @param {string} folder
 * @returns {string[]} the files below it, from the root, sorted
 */
function filesBelow(folder) {
  if (!existsSync(join(root, folder))) return [];
  return readdirSync(join(root, folder))
    .sort()
    .flatMap((name) => {
      const path = `${folder}/${name}`;
      return statSync(join(root, path)).isDirectory() ? filesBelow(path) : [path];
    });
}

/** The texts that constants of a Rust file stand for. @param {string} source */
function constants(source) {
  const named = source.matchAll(/const (\w+): &str =\s*"((?:[^"\\]|\\[\s\S])*)";/g);
  return new Map([...named].map(([, name = "", text = ""]) => [name, text]));
}

/**
 * What a runner does not compare, and why: structures with `reason` and `ids`, and pairs of a reason and ids.
 * @param {string} source
 * @returns {{ reason: string, ids: string[] }[]}
 */
function differences(source) {
  const texts = constants(source);
  const structures = /reason:\s*(?:"((?:[^"\\]|\\[\s\S])*)"|([A-Z_]+)),(?:\s*what:[^,]*,)?\s*ids:\s*&?\[([^\]]*)\]/g;
  const pairs = /\(\s*"((?:[^"\\]|\\[\s\S])*)"()\s*,\s*&\[([^\]]*)\]\s*,?\s*\)/g;
  return [...source.matchAll(structures), ...source.matchAll(pairs)].map(([, text, name = "", ids = ""]) => ({
    reason: (text ?? texts.get(name) ?? name).replace(/\\"/g, '"').replace(/\\\n\s*/g, ""),
    ids: [...ids.matchAll(/"([^"]+)"/g)].map(([, id = ""]) => id),
  }));
}

/** The names in a list of the registry. @param {string} list */
function registered(list) {
  const body = new RegExp(`const ${list}[^=]*=\\s*&\\[([\\s\\S]*?)\\];`).exec(content(registry))?.[1];
  if (body === undefined) throw new Error(`${registry} has no ${list}`);
  return [...body.matchAll(/"(\w+)"/g)].map(([, name]) => `\`${name}\``).sort();
}

function featureTables() {
  const { sections } = JSON.parse(content("tools/compatibility.json"));
  return sections.map((/** @type {{ title: string, features: [string, string, string][] }} */ { title, features }) => {
    const wrong = features.find(([, state]) => !["yes", "partly", "no", "never"].includes(state));
    if (wrong !== undefined) throw new Error(`${wrong[0]}: '${wrong[1]}' is no state`);
    const rows = features.map(([feature, state, note]) => `| ${feature} | ${state} | ${note} |`);
    return [`## ${title}`, "", "| feature | | note |", "| --- | --- | --- |", ...rows].join("\n");
  });
}

function rankFeatures() {
  const served = [...registered("MATCH_FEATURES"), ...registered("DOCUMENT_FEATURES")].sort();
  return [
    "## Rank features",
    "",
    `Served: ${served.join(", ")}.`,
    "",
    `Refused by name: ${registered("UNSUPPORTED_FEATURES").join(", ")}.`,
  ].join("\n");
}

function vectors() {
  const rows = filesBelow("test-vectors")
    .filter(
      (path) => /^test-vectors\/[^/]+\/[^/]+\.jsonl?$/.test(path) && !/\/(runner|applications|feeds)\//.test(path),
    )
    .filter((path) => !/^test-vectors\/(model\/[^/]+\.json|http\/differences\.json)$/.test(path))
    .map((path) => `| [${path.replace("test-vectors/", "")}](${path}) | ${rowsOf(path)} |`);
  return ["| vectors | |", "| --- | --- |", ...rows].join("\n");
}

/** How much a file of vectors holds: rows, or steps of conversations. @param {string} path */
function rowsOf(path) {
  const text = content(path);
  if (path.endsWith(".jsonl")) return `${text.split("\n").filter((line) => line !== "").length} rows`;
  /** @type {{ conversations?: { steps?: unknown[] }[] }} */
  const { conversations = [] } = JSON.parse(text);
  const steps = conversations.reduce((sum, { steps = [] }) => sum + steps.length, 0);
  return steps === 0
    ? `${conversations.length} conversations`
    : `${conversations.length} conversations, ${steps} steps`;
}

function deliberate() {
  const runners = [...filesBelow("crates"), ...filesBelow("test-vectors/runner")].filter((path) =>
    /^crates\/\w+\/tests\/.*vectors.*\.rs$|^test-vectors\/runner\/src\/.*\.rs$/.test(path),
  );
  return runners.flatMap((path) => {
    const found = differences(content(path)).filter(
      ({ ids }) => ids.length > 0 && ids.every((id) => /^[\w*-]+$/.test(id)),
    );
    if (found.length === 0) return [];
    const rows = found.map(({ reason, ids }) => `| ${reason.replaceAll("|", "\\|")} | ${shown(ids)} |`);
    return [`### ${path}`, "", "| reason | rows |", "| --- | --- |", ...rows, ""];
  });
}

/** Where conversations over HTTP differ, and why. */
function conversations() {
  const path = "test-vectors/http/differences.json";
  /** @type {{ reason: string, conversations: Record<string, number[]> }[]} */
  const found = JSON.parse(content(path));
  return reasons(
    path,
    found.map(({ reason, conversations: of }) => ({ reason, count: Object.keys(of).length })),
  );
}

/** Where conversations differ at the edge, and why. */
function atTheEdge() {
  const path = "apps/worker/test/differences.json";
  /** @type {{ reason: string, about: string[] }[]} */
  const found = JSON.parse(content(path));
  return reasons(
    path,
    found.map(({ reason, about }) => ({ reason, count: about.length })),
  );
}

/** @param {string} path @param {{ reason: string, count: number }[]} found */
function reasons(path, found) {
  const rows = found.map(({ reason, count }) => `| ${reason.replaceAll("|", "\\|")} | ${count} |`);
  return [`### ${path}`, "", "| reason | conversations |", "| --- | --- |", ...rows, ""];
}

/** @param {string[]} ids */
const shown = (ids) => ids.map((id) => `\`${id}\``).join(", ");

const document = `${[
  "# Compatibility",
  "",
  "What of Vespa (8.x, streaming mode) this release does. *yes*: as Vespa does it; *partly*: as the note says; *no*: not",
  "yet; *never*: not meant to. What is not done is refused by name, at deploy where that is possible; nothing that would",
  "change an answer is ignored.",
  "",
  "Written by `node tools/compatibility.mjs` from [tools/compatibility.json](tools/compatibility.json), the registry of",
  "rank features and the runners of the vectors.",
  "",
  featureTables().join("\n\n"),
  "",
  rankFeatures(),
  "",
  "## Vectors",
  "",
  "Rows are answers of the reference implementation, recorded: values of ranking compare within 1e-6, all else exactly.",
  "Conversations (deploy, feed, requests) say what the specification says; natively and in WebAssembly they must give the",
  "same bytes.",
  "",
  vectors(),
  "",
  "## Where we differ on purpose",
  "",
  "Every row of the vectors is compared but for these, or but for the part the reason names.",
  "",
  ...deliberate(),
  ...conversations(),
  ...atTheEdge(),
]
  .join("\n")
  .trimEnd()}\n`;

if (!process.argv.includes("--check")) writeFileSync(target, document);
else if (!existsSync(target) || readFileSync(target, "utf8") !== document) {
  process.stderr.write("COMPATIBILITY.md is not up to date: node tools/compatibility.mjs\n");
  process.exitCode = 1;
}
