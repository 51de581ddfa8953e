/**
 * What a store needs, in a folder of its own outside of the workspace: below `BROOKLET_EXPORTS_FOLDER`, or `brooklet-exports` where the user's
 * caches are. What is there in these versions is not installed again.
 */
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import process from "node:process";

const caches = process.env.XDG_CACHE_HOME ?? join(homedir(), ".cache");
const root = process.env.BROOKLET_EXPORTS_FOLDER ?? join(caches, "brooklet-exports");

/**
 * Installs what a store needs; throws where that cannot be. Gives the folder of its npm packages, and the Python that has its others.
 *
 * @param {{ name: string, npm?: Record<string, string>, python?: readonly string[], programs?: readonly string[] }} store
 */
export function install({ name, npm, python, programs = [] }) {
  for (const program of programs)
    if (spawnSync(program, ["--version"]).status !== 0) throw new Error(`${name} needs the program ${program}`);
  const folder = join(root, name);
  const mark = join(folder, "installed.json");
  const wanted = JSON.stringify({ npm, python });
  if (!existsSync(mark) || readFileSync(mark, "utf8") !== wanted) {
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder, { recursive: true });
    if (npm !== undefined) installNpm(folder, npm);
    if (python !== undefined) installPython(folder, python);
    writeFileSync(mark, wanted);
  }
  return { packages: join(folder, "node_modules"), python: join(folder, "python", "bin", "python3") };
}

/**
 * @param {string} folder
 * @param {Record<string, string>} dependencies
 */
function installNpm(folder, dependencies) {
  writeFileSync(join(folder, "package.json"), JSON.stringify({ private: true, dependencies }));
  // Packages that one of these merely goes with are left out.
  ran(folder, "npm", ["install", "--ignore-scripts", "--legacy-peer-deps", "--no-audit", "--no-fund"]);
}

/**
 * @param {string} folder
 * @param {readonly string[]} requirements
 */
function installPython(folder, requirements) {
  ran(folder, "python3", ["-m", "venv", "python"]);
  ran(folder, join(folder, "python", "bin", "pip"), ["install", "--quiet", ...requirements]);
}

/**
 * @param {string} folder
 * @param {string} command
 * @param {readonly string[]} words
 */
function ran(folder, command, words) {
  const { status, error } = spawnSync(command, words, { cwd: folder, stdio: ["ignore", 2, 2] });
  if (error !== undefined || status !== 0) throw new Error(`${command}: ${error?.message ?? `ended with ${status}`}`);
}
