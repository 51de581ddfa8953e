/** The reference of the command, from what it says of itself. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import process from "node:process";
import { promisify } from "node:util";
import { root } from "../documents.mjs";

const run = promisify(execFile);
const COMMAND = join(root, "packages/brooklet/bin/brooklet.js");

/**
 * What `brooklet … --help` says, in parts.
 *
 * @typedef {object} Help
 * @property {string} usage
 * @property {string} description
 * @property {Readonly<Record<string, readonly (readonly [term: string, text: string])[]>>} lists by their titles
 */

/** @returns {Promise<string>} */
export async function commands() {
  const first = await helpOf([]);
  const names = (first.lists["Commands"] ?? [])
    .map(([term]) => term.split(/[ |]/)[0] ?? "")
    .filter((name) => name !== "help");
  const parts = await Promise.all(names.map((name) => partOf([name])));
  return parts.join("\n\n");
}

/**
 * @param {readonly string[]} words
 * @returns {Promise<string>}
 */
async function partOf(words) {
  const { usage, description, lists } = await helpOf(words);
  const heading = `${words.length === 1 ? "##" : "###"} brooklet ${words.join(" ")}`;
  const { Arguments: operands = [], Options: options = [], Commands: below = [] } = lists;
  const rows = [...operands, ...options.filter(([term]) => !term.startsWith("-h,"))];
  const table = rows.map(([term, text]) => `| \`${term}\` | ${cell(text)} |`).join("\n");
  const parts = [heading, sentence(description), `\`${usage}\``];
  if (table !== "") parts.push(`| | |\n|---|---|\n${table}`);
  const names = below.map(([term]) => term.split(/[ |]/)[0] ?? "").filter((name) => name !== "help");
  for (const name of names) parts.push(await partOf([...words, name]));
  return parts.join("\n\n");
}

/**
 * @param {readonly string[]} words
 * @returns {Promise<Help>}
 */
async function helpOf(words) {
  const { stdout } = await run(process.execPath, [COMMAND, ...words, "--help"], { encoding: "utf8" });
  return readHelp(stdout);
}

/**
 * @param {string} text
 * @returns {Help}
 */
export function readHelp(text) {
  const [usageLines = "", ...rest] = text.trim().split(/\n\n/);
  /** @type {Record<string, [string, string][]>} */
  const lists = {};
  /** @type {string[]} */
  const description = [];
  for (const block of rest) {
    const [title = "", ...lines] = block.split("\n");
    if (!/^[A-Z][a-z]+:$/.test(title)) {
      description.push(block.replaceAll(/\s*\n\s*/g, " "));
      continue;
    }
    /** @type {[string, string][]} */
    const list = [];
    for (const line of lines) {
      const [, term, told = ""] = /^ {2}(\S.*?)(?: {2,}(.*))?$/.exec(line) ?? [];
      const last = list.at(-1);
      if (term !== undefined) list.push([term, told]);
      else if (last !== undefined) last[1] = `${last[1]} ${line.trim()}`.trim();
    }
    lists[title.slice(0, -1)] = list;
  }
  return {
    usage: usageLines.replace(/^Usage: /, "").replaceAll(/\s*\n\s*/g, " "),
    description: description.join(" "),
    lists,
  };
}

/** @param {string} text */
function cell(text) {
  return text.replaceAll("|", "\\|");
}

/** @param {string} text */
function sentence(text) {
  return text === "" ? "" : `${text[0]?.toUpperCase()}${text.slice(1)}${/[.?!:…]$/.test(text) ? "" : "."}`;
}
