/** Runs the samples of a page, in the order they stand, and tells what each printed. */
import { spawn } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { transform } from "esbuild";
import { freePort } from "../../../tools/free-port.mjs";
import { MARK } from "./mark.mjs";
import { moduleOf } from "./module.mjs";

/** @typedef {import("./fences.mjs").Fence} Fence */
/** @typedef {{ readonly of: string, readonly fences: readonly Fence[], readonly code: string, readonly file?: string }} Chain */

const root = fileURLToPath(new URL("../../..", import.meta.url));
const here = fileURLToPath(new URL(".", import.meta.url));
/** What samples are given, as a compiler finds it. */
const GIVEN = join(here, "given.js");
/** Modules of samples are where the optional libraries of `brooklet` are found, too. */
const CACHE = join(root, "packages/brooklet/node_modules/.cache/samples");
const TIMEOUT_MS = 100_000;
/** Ports that documents name; each run takes others for them. */
const PORTS = ["8080", "19071"];
/** What would install, send or ask something of others than this machine. */
const FOREIGN = ["npm", "docker", "wrangler", "aws", "systemctl", "claude", "vespa"];

/**
 * Samples that share a scope, as one module each; what is not compiled is left out.
 *
 * @param {readonly Fence[]} fences
 * @param {{ readonly values: ReadonlySet<string>, readonly types: ReadonlySet<string> }} known
 * @returns {readonly Chain[]}
 */
export function chainsOf(fences, known) {
  /** @type {Fence[][]} */
  const chains = [];
  for (const fence of fences) {
    if (!/^tsx?$/.test(fence.language) || fence.kind === "none") continue;
    const last = chains.at(-1);
    if (fence.isContinued && last !== undefined) last.push(fence);
    else chains.push([fence]);
  }
  return chains.map((chain) => {
    const [first] = chain;
    const codes = chain.map(({ code }) => code);
    const folder = first?.page.replaceAll(/\W/g, "-");
    return {
      of: `${first?.page}:${first?.line}`,
      fences: chain,
      code: first?.file === undefined ? moduleOf(codes, { ...known, given: GIVEN }) : codes.join("\n"),
      // Where one of its name is imported by others, they find it.
      ...(first?.file === undefined ? {} : { file: `${folder}/${first.file}` }),
    };
  });
}

/**
 * Runs what a page has to run. Gives what each fence printed, by its line, and what went wrong.
 *
 * @param {readonly Fence[]} fences
 * @param {readonly Chain[]} chains
 * @returns {Promise<{ readonly printed: ReadonlyMap<number, string>, readonly problem: string | undefined }>}
 */
export async function runPage(fences, chains) {
  const folder = mkdtempSync(join(tmpdir(), "brooklet-sample-"));
  try {
    const script = await scriptOf(fences, chains, folder);
    if (script === undefined) return { printed: new Map(), problem: undefined };
    const { stdout, stderr, code } = await shell(await withPorts(script), folder);
    const printed = new Map(
      stdout
        .split(`\n${MARK}`)
        .slice(1)
        .map((part) => {
          const end = part.indexOf("\n");
          return /** @type {const} */ ([Number(part.slice(0, end)), part.slice(end + 1)]);
        }),
    );
    const last = [...stdout.matchAll(new RegExp(`\n${MARK}(\\d+)\n`, "g"))].at(-1)?.[1];
    const problem = code === 0 ? undefined : `line ${last} ended with ${code}: ${stderr.trim() || stdout.slice(-500)}`;
    return { printed, problem };
  } catch (error) {
    return { printed: new Map(), problem: error instanceof Error ? error.message : String(error) };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * @param {readonly Fence[]} fences
 * @param {readonly Chain[]} chains
 * @param {string} folder
 */
async function scriptOf(fences, chains, folder) {
  const page = fences[0]?.page.replaceAll(/\W/g, "-") ?? "page";
  const modules = join(CACHE, page);
  rmSync(modules, { recursive: true, force: true });
  const isShared = fences.some(
    ({ language, kind, file }) => (language === "sh" && kind === "run") || file !== undefined,
  );
  const given = join(modules, "given.mjs");
  const run = `node ${quoted(join(here, "run.mjs"))} ${isShared ? "--here " : ""}${quoted(given)}`;
  /** @type {string[]} */
  const lines = [];
  /** @type {string[]} */
  let waiting = [];
  const flush = () => {
    if (waiting.length > 0) lines.push(`${run} ${waiting.map(quoted).join(" ")}`);
    waiting = [];
  };
  for (const fence of fences) {
    const chain = chains.find(({ fences: [first] }) => first === fence);
    if (fence.file !== undefined) {
      flush();
      writeFile(resolve(folder, fence.file), fence.code);
    } else if (fence.kind !== "run") continue;
    else if (fence.language === "sh") {
      flush();
      lines.push(`printf '\\n%s%s\\n' ${quoted(MARK)} ${fence.line}`, fence.code, `printf '\\n%s\\n' ${quoted(MARK)}`);
    } else if (chain !== undefined) {
      const path = join(modules, `${fence.line}.mjs`);
      writeFile(path, (await compiled(chain.code, "tsx")).replaceAll(GIVEN, given));
      waiting.push(`${path}=${chain.fences.map(({ line }) => line).join(",")}`);
    }
  }
  flush();
  if (lines.length === 0) return undefined;
  writeFile(given, await compiled(readFileSync(join(here, "given.ts"), "utf8"), "ts"));
  writeTools(folder);
  return ["set -e", ...lines].join("\n");
}

/**
 * @param {string} code
 * @param {"ts" | "tsx"} loader
 */
async function compiled(code, loader) {
  return (await transform(code, { loader, jsx: "automatic", target: "node20" })).code;
}

/**
 * The commands that a page finds: `brooklet`, `npx brooklet`, and a `node` that reads TypeScript where the one at hand does not.
 *
 * @param {string} folder
 */
function writeTools(folder) {
  const tools = join(folder, ".tools");
  mkdirSync(join(folder, "node_modules/.bin"), { recursive: true });
  symlinkSync(join(root, "packages/brooklet"), join(folder, "node_modules/brooklet"), "junction");
  const command = join(root, "packages/brooklet/bin/brooklet.js");
  const runner = join(root, "node_modules/esbuild/bin/esbuild");
  writeFile(join(tools, "brooklet"), `#!/bin/sh\nexec ${quoted(process.execPath)} ${quoted(command)} "$@"\n`);
  symlinkSync(join(tools, "brooklet"), join(folder, "node_modules/.bin/brooklet"));
  const npx = [
    "#!/bin/bash",
    `if [ "$1" = brooklet ]; then exec ${quoted(process.execPath)} ${quoted(command)} "\${@:2}"; fi`,
    'echo "a sample may run npx for brooklet alone: say no-run" >&2',
    "exit 1",
  ];
  writeFile(join(tools, "npx"), `${npx.join("\n")}\n`);
  const node = [
    "#!/bin/bash",
    'case "$1" in *.ts)',
    `  ${quoted(runner)} "$1" --bundle --packages=external --format=esm --platform=node --outfile="\${1%.ts}.mjs" --target=node20 --log-level=error || exit 1`,
    `  set -- "\${1%.ts}.mjs" "\${@:2}" ;;`,
    "esac",
    `exec ${quoted(process.execPath)} "$@"`,
  ];
  writeFile(join(tools, "node"), `${node.join("\n")}\n`);
  for (const name of FOREIGN)
    writeFile(join(tools, name), `#!/bin/sh\necho "a sample may not run ${name}: say no-run" >&2\nexit 1\n`);
  for (const name of ["brooklet", "npx", "node", ...FOREIGN]) chmodSync(join(tools, name), 0o755);
}

/**
 * @param {string} script
 * @param {string} folder
 * @returns {Promise<{ stdout: string, stderr: string, code: number | null }>}
 */
function shell(script, folder) {
  const env = { ...process.env, NO_COLOR: "1", PATH: `${join(folder, ".tools")}:${process.env["PATH"]}`, TZ: "UTC" };
  for (const name of Object.keys(env)) if (/^(BROOKLET_|VITEST|NODE_OPTIONS|FORCE_COLOR)/.test(name)) delete env[name];
  // A group of its own: what a page leaves running in the background ends with it.
  const child = spawn("bash", ["-c", script], { cwd: folder, env, detached: true, stdio: ["ignore", "pipe", "pipe"] });
  const told = { stdout: "", stderr: "" };
  child.stdout.on("data", (chunk) => (told.stdout += chunk));
  child.stderr.on("data", (chunk) => (told.stderr += chunk));
  const end = () => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
    } catch {
      // Nothing of it is left.
    }
  };
  const timer = setTimeout(end, TIMEOUT_MS);
  return new Promise((settle) => {
    child.on("exit", () => {
      clearTimeout(timer);
      end();
    });
    // Only now has all been read that it printed.
    child.on("close", (code) => settle({ ...told, code }));
  });
}

/**
 * A script with ports that are free in place of those it names.
 *
 * @param {string} script
 */
async function withPorts(script) {
  let text = script;
  for (const port of PORTS) {
    if (!new RegExp(`\\b${port}\\b`).test(text)) continue;
    text = text.replaceAll(new RegExp(`\\b${port}\\b`, "g"), String(await freePort()));
  }
  return text;
}

/**
 * @param {string} path
 * @param {string} text
 */
function writeFile(path, text) {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

/** @param {string} text */
function quoted(text) {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
