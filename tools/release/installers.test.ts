/**
 * Other installers than npm and pnpm (installed.test.ts): Yarn with and without node_modules, Yarn 1, and Bun, each with the
 * tarballs in an empty project, without build scripts and with a cache of its own. README's first program runs there, and under Bun also in Bun itself,
 * as it stands: in memory, and with threads over a file.
 */
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { beforeAll, describe, expect, inject, test } from "vitest";
import manifest from "../../packages/brooklet/package.json" with { type: "json" };
import { FOUND as BUNDLED, bundlers, place, SERVER } from "./bundlers.ts";
import { addSqliteBinary, emptyProject, npm } from "./install.ts";
import { root } from "./packages.mjs";
import { programOf, run, stripped } from "./programs.ts";

const scratch = inject("scratch");
const tools = join(scratch, "installers");
const tarballs = Object.fromEntries(inject("tarballs").map(({ name, path }) => [name, `file:${path}`]));
const runtimes = JSON.parse(readFileSync(join(root, "tools/runtimes/package.json"), "utf8")) as {
  readonly dependencies: { readonly bun: string };
};
const YARN = "4.18.1";
const YARN_1 = "1.22.22";
/** No registry knows the packages: what they name of each other is a tarball too. */
const BROOKLET = { dependencies: { brooklet: tarballs["brooklet"] } };
const FIRST = programOf("packages/brooklet/README.md");
const THREADS = FIRST.replace("open({ ", "open({ path: './data', threads: 2, ");
const FOUND = /^2 \[\s*\[ ["']m1["'], 0\.549\d+, ["']Invoice 42["'] \]/;

/** Runs a program; what it prints. */
function execute(
  folder: string,
  program: string,
  words: readonly string[],
  environment: NodeJS.ProcessEnv = {},
): string {
  const env = { ...process.env, ...environment };
  return execFileSync(program, words, { cwd: folder, env, encoding: "utf8", stdio: "pipe" });
}

function yarn(folder: string, ...words: readonly string[]): string {
  const program = join(tools, "node_modules/@yarnpkg/cli-dist/bin/yarn.js");
  return execute(folder, process.execPath, [program, ...words], { YARN_ENABLE_TELEMETRY: "0" });
}

const bun = (folder: string, ...words: readonly string[]): string =>
  execute(folder, join(tools, "node_modules/bun/bin/bun.exe"), words, {
    BUN_INSTALL_CACHE_DIR: join(scratch, "bun-cache"),
  });

/** A project of Yarn with this linker, installed. */
function yarnProject(linker: "node-modules" | "pnp"): string {
  const folder = emptyProject(join(scratch, `yarn-${linker}`), { ...BROOKLET, resolutions: tarballs });
  const ofCache = ["enableGlobalCache: false", `cacheFolder: ${JSON.stringify(join(scratch, "yarn-cache"))}`];
  const settings = [`nodeLinker: ${linker}`, "enableScripts: false", ...ofCache];
  writeFileSync(join(folder, ".yarnrc.yml"), settings.join("\n"));
  // The lock file makes it a project of its own; a continuous build would refuse to write into it.
  writeFileSync(join(folder, "yarn.lock"), "");
  yarn(folder, "install", "--no-immutable");
  return folder;
}

/** Puts README's first program into a project, as JavaScript, in memory and over a file. */
function placePrograms(folder: string): void {
  for (const [name, text] of Object.entries({ "first.js": FIRST, "threads.js": THREADS }))
    writeFileSync(join(folder, name), stripped(inject("project"), text));
}

beforeAll(() => {
  const names = [`@yarnpkg/cli-dist@${YARN}`, `yarn@${YARN_1}`, `bun@${runtimes.dependencies.bun}`];
  const allowed = { allowScripts: { bun: true } };
  npm(emptyProject(tools, allowed), "install", "--prefer-offline", "--no-audit", "--no-fund", ...names);
});

test("the program over a file is another one", () => expect(THREADS).not.toBe(FIRST));

describe("installed with Yarn", () => {
  test("into node_modules, the first program runs", () => {
    const folder = yarnProject("node-modules");
    addSqliteBinary(join(folder, "node_modules/better-sqlite3"));
    placePrograms(folder);
    expect(run(folder, "first.js")).toMatch(FOUND);
    expect(run(folder, "threads.js")).toMatch(FOUND);
  });

  test("with Plug'n'Play, the first program runs", () => {
    const folder = yarnProject("pnp");
    const unplugged = join(folder, ".yarn/unplugged");
    const library = readdirSync(unplugged).find((name) => name.startsWith("better-sqlite3-")) ?? "";
    addSqliteBinary(join(unplugged, library, "node_modules/better-sqlite3"));
    placePrograms(folder);
    expect(yarn(folder, "node", "first.js")).toMatch(FOUND);
    expect(yarn(folder, "node", "threads.js")).toMatch(FOUND);
  });

  test("with Plug'n'Play, a server bundled by esbuild runs where the project has better-sqlite3 itself", async () => {
    const folder = join(scratch, "yarn-pnp");
    // A bundle leaves it to the project, and Plug'n'Play shows a project what it names and nothing else.
    yarn(folder, "add", `better-sqlite3@${manifest.optionalDependencies["better-sqlite3"]}`);
    const { entry, out } = place(folder, "esbuild", SERVER);
    await bundlers["esbuild"]?.(entry, out, folder);
    expect(yarn(folder, "node", join(out, "main.js")).trim()).toBe(BUNDLED);
    expect(yarn(folder, "node", join(out, "main.js"), join(out, "../data")).trim()).toBe(BUNDLED);
  });
});

test("installed with Yarn 1, the first program runs", () => {
  const folder = emptyProject(join(scratch, "yarn-1"), { ...BROOKLET, resolutions: tarballs });
  const words = ["install", "--ignore-scripts", "--non-interactive", "--cache-folder", join(scratch, "yarn-1-cache")];
  execute(folder, process.execPath, [join(tools, "node_modules/yarn/bin/yarn.js"), ...words]);
  addSqliteBinary(join(folder, "node_modules/better-sqlite3"));
  placePrograms(folder);
  expect(run(folder, "first.js")).toMatch(FOUND);
  expect(run(folder, "threads.js")).toMatch(FOUND);
});

test("installed with Bun, the first program runs in Node and in Bun", () => {
  const folder = emptyProject(join(scratch, "bun"), { ...BROOKLET, overrides: tarballs });
  bun(folder, "install", "--ignore-scripts");
  addSqliteBinary(join(folder, "node_modules/better-sqlite3"));
  placePrograms(folder);
  expect(run(folder, "first.js")).toMatch(FOUND);
  writeFileSync(join(folder, "first.ts"), FIRST);
  writeFileSync(join(folder, "threads.ts"), THREADS);
  expect(bun(folder, "first.ts")).toMatch(FOUND);
  expect(bun(folder, "threads.ts")).toMatch(FOUND);
});
