/**
 * The runtimes of package.json beside this, installed into a cache outside of the repository (BROOKLET_RUNTIMES).
 */
import { execFileSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";

const MINUTES = 60_000;
const wanted = fileURLToPath(new URL("package.json", import.meta.url));
const cache = process.env["BROOKLET_RUNTIMES"] ?? join(homedir(), ".cache", "brooklet-runtimes");

/** How each is started, by its name in package.json. */
const COMMANDS = /** @type {const} */ ({
  "node-22": ["node-22/bin/node", "--no-warnings"],
  "node-24": ["node-24/bin/node", "--no-warnings"],
  "node-26": ["node-26/bin/node", "--no-warnings"],
  bun: [".bin/bun"],
  deno: [".bin/deno", "run", "--allow-all", "--no-prompt"],
});

/** A stamp holds what was installed; it is written last. */
function install() {
  const stamp = join(cache, "installed.json");
  const versions = readFileSync(wanted, "utf8");
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === versions) return;
  mkdirSync(cache, { recursive: true });
  copyFileSync(wanted, join(cache, "package.json"));
  const options = { cwd: cache, stdio: /** @type {const} */ ("inherit"), timeout: 10 * MINUTES };
  execFileSync("npm", ["install", "--no-audit", "--no-fund", "--no-package-lock"], options);
  writeFileSync(stamp, versions);
}

/**
 * Installs what is missing; each runtime's program with the words it is started with, by its name in package.json.
 * @returns {Readonly<Record<string, readonly [string, ...string[]]>>}
 */
export function runtimes() {
  install();
  const started = Object.entries(COMMANDS).map(([name, [command, ...words]]) => [
    name,
    /** @type {const} */ ([join(cache, "node_modules", command), ...words]),
  ]);
  return Object.fromEntries(started);
}
