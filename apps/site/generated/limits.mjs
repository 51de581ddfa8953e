/** The table of limits, from the two places where they stand. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { DEFAULT_LIMITS } from "@brooklet/gateway";
import { root } from "../documents.mjs";

const CORE = "crates/task/src/limits.rs";
const GATEWAY = "packages/gateway/src/limits.ts";

/** @returns {Promise<string>} */
export async function limits() {
  const core = coreLimits(readFileSync(join(root, CORE), "utf8"));
  const gateway = gatewayLimits(readFileSync(join(root, GATEWAY), "utf8"));
  return ["## Of documents, queries and packages", table(core), "## Of the server", table(gateway)].join("\n\n");
}

/**
 * @param {string} source
 * @returns {readonly (readonly [what: string, value: string])[]}
 */
export function coreLimits(source) {
  const found = source.matchAll(/((?:^\/\/\/ .*\n)+)pub const (\w+): \w+ = ([^;]+);/gm);
  return [...found].map(([, comment = "", name, value = ""]) => {
    const what = comment
      .replaceAll(/^\/\/\/ /gm, "")
      .replaceAll("\n", " ")
      .trim();
    const number = value.split("<<").map((part) => Number(part.trim().replaceAll("_", "")));
    const [base = Number.NaN, shift] = number;
    const whole = shift === undefined ? base : base * 2 ** shift;
    if (!Number.isFinite(whole)) throw new Error(`${CORE}: ${name} is ${value}`);
    return [what, /\bbytes\b|\bbytes$|^Bytes/i.test(what) ? bytes(whole) : figure(whole)];
  });
}

/** @param {string} source */
function gatewayLimits(source) {
  const body = source.slice(source.indexOf("export interface GatewayLimits"));
  const found = body.slice(0, body.indexOf("\n}")).matchAll(/((?: {2}\/\*\* .*\n)?)((?: {2}readonly \w+: \w+;\n?)+)/g);
  return [...found].flatMap(([, comment = "", members = ""]) => {
    const what = comment.replace(/^\s*\/\*\* /, "").replace(/ \*\/\s*$/, "");
    const names = [...members.matchAll(/readonly (\w+):/g)].map(([, name = ""]) => name);
    return names.map((name) => {
      const value = /** @type {Readonly<Record<string, unknown>>} */ (/** @type {unknown} */ (DEFAULT_LIMITS))[name];
      if (value === undefined) throw new Error(`${GATEWAY}: ${name} has no default`);
      return /** @type {const} */ ([`${what} (\`${name}\`)`, shown(name, value)]);
    });
  });
}

/**
 * @param {string} name
 * @param {unknown} value
 * @returns {string}
 */
function shown(name, value) {
  if (typeof value === "number") {
    if (/bytes/i.test(name)) return bytes(value);
    return /Ms$/.test(name) ? `${figure(value)} ms` : figure(value);
  }
  const members = Object.entries(/** @type {Readonly<Record<string, unknown>>} */ (value));
  return members.map(([member, it]) => `${member} ${shown(member, it)}`).join(", ");
}

/** @param {number} value */
function bytes(value) {
  for (const [unit, size] of /** @type {const} */ ([
    ["MiB", 2 ** 20],
    ["KiB", 2 ** 10],
  ]))
    if (value >= size && (value / size) % 0.5 === 0) return `${figure(value / size)} ${unit}`;
  return `${figure(value)} bytes`;
}

/** @param {number} value */
function figure(value) {
  return value.toLocaleString("en");
}

/** @param {readonly (readonly [string, string])[]} rows */
function table(rows) {
  return `| What | Limit |\n|---|---|\n${rows.map(([what, value]) => `| ${what.replaceAll("|", "\\|")} | ${value} |`).join("\n")}`;
}
