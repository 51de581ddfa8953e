/** What a stranger meets who installs the tarballs: programs of the READMEs run and have types, from both kinds of modules. */
import { execFileSync } from "node:child_process";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { describe, expect, inject, test } from "vitest";
import manifest from "../../packages/brooklet/package.json" with { type: "json" };
import { type Bundler, bundlers, FOUND, MODULES, place, SERVER, withWebpack } from "./bundlers.ts";
import { addSqliteBinary, COMPANIONS, emptyProject } from "./install.ts";
import { publishedPackages } from "./packages.mjs";
import { type Program, programOf, run, stripped, typeProblems } from "./programs.ts";

const project = inject("project");
const scratch = inject("scratch");
const tarballs = inject("tarballs");
const readmes: readonly Program[] = [
  ...publishedPackages().map(
    ({ folder }): Program => [`${folder.replace("/", "-")}.ts`, programOf(`${folder}/README.md`)],
  ),
  ["repository.ts", programOf("README.md")],
];
/** A program of CommonJS, with types. */
const COMMONJS = `import brooklet = require("brooklet");
const note = brooklet.schema("note", { title: brooklet.text() });
async function main(): Promise<void> {
  const database = await brooklet.open({ schemas: [note] });
  const alice = database.group("alice");
  await alice.put(note, "n1", { title: "the deposit" });
  const { hits } = await alice.search(note, { text: "deposit" });
  const titles: (string | undefined)[] = hits.map(({ fields }) => fields.title);
  console.log(titles.join());
  await database.close();
}
void main();
`;
/** The same without types. */
const REQUIRED = `const { open, schema, text } = require("brooklet");
const note = schema("note", { title: text() });
open({ schemas: [note] }).then(async (database) => {
  const alice = database.group("alice");
  await alice.put(note, "n1", { title: "the deposit" });
  const { hits } = await alice.search(note, { text: "deposit" });
  console.log(JSON.stringify([hits[0].fields.title, database.warnings]));
  await database.close();
}).catch(({ code, message }) => console.log(JSON.stringify([code, message])));
`;

describe("installed with npm", () => {
  test.each(["NodeNext", "Bundler"] as const)("programs have types under %s", async (resolution) => {
    expect(await typeProblems(project, readmes, resolution)).toEqual([]);
  });

  test("a wrong program has none", async () => {
    const wrong: Program = ["wrong.ts", readmes.at(-1)?.[1].replace("'unpaid invoice'", "7") ?? ""];
    const problems = await typeProblems(project, [wrong], "NodeNext");
    expect(problems).toEqual([expect.stringMatching(/^wrong\.ts: .*number/)]);
  });

  test.each(readmes)("%s runs", (name, text) => {
    const file = name.replace(".ts", ".js");
    writeFileSync(join(project, file), stripped(project, text));
    expect(run(project, file)).not.toBe("");
  });

  test("the first program finds what it says", () => {
    writeFileSync(join(project, "first.js"), stripped(project, programOf("packages/brooklet/README.md")));
    expect(run(project, "first.js")).toMatch(/^2 \[\s*\[ 'm1', 0\.549\d+, 'Invoice 42' \]/);
  });

  test("CommonJS has types and runs", async () => {
    expect(await typeProblems(project, [["common.cts", COMMONJS]], "NodeNext")).toEqual([]);
    writeFileSync(join(project, "common.cjs"), REQUIRED);
    expect(JSON.parse(run(project, "common.cjs"))).toEqual(["the deposit", []]);
  });

  test("the command is there", () => {
    expect(run(project, "node_modules/brooklet/bin/brooklet.js", "--help")).toContain("Usage: brooklet");
  });
});

describe("installed with pnpm", () => {
  const folder = join(scratch, "pnpm");
  const pnpm = (...words: readonly string[]): Buffer =>
    execFileSync("npx", ["--yes", "pnpm@9", ...words, "--ignore-scripts", "--prefer-offline"], {
      cwd: folder,
      stdio: "pipe",
      shell: process.platform === "win32",
    });

  test("the first program has types and runs", async () => {
    const dependencies = Object.fromEntries(tarballs.map(({ name, path }) => [name, `file:${path}`]));
    emptyProject(folder, { pnpm: { overrides: dependencies } });
    const paths = tarballs.filter(({ name }) => name === "brooklet").map(({ path }) => path);
    pnpm("add", ...paths, ...COMPANIONS.filter((name) => !name.startsWith("ai@")));
    const program = programOf("packages/brooklet/README.md");
    for (const resolution of ["NodeNext", "Bundler"] as const)
      expect(await typeProblems(folder, [["first.ts", program]], resolution)).toEqual([]);
    writeFileSync(join(folder, "first.js"), stripped(folder, program));
    addSqliteBinary(join(folder, "node_modules/.pnpm/node_modules/better-sqlite3"));
    expect(run(folder, "first.js")).toContain("Invoice 42");
  });

  test("a bundled server runs where the project has better-sqlite3 itself, in memory and in worker threads", async () => {
    // A bundle leaves it to the project, and pnpm shows a project what it names and nothing else.
    pnpm("add", `better-sqlite3@${manifest.optionalDependencies["better-sqlite3"]}`);
    addSqliteBinary(join(folder, "node_modules/better-sqlite3"));
    // Minified it is looked at where npm installed it: that takes webpack most of its time, and has nothing to do with where packages are.
    const webpack: Bundler = (entry, out) => withWebpack(entry, out, { ...MODULES, optimization: { minimize: false } });
    const { esbuild, Rollup, "Vite for servers": vite } = bundlers;
    for (const [name, bundle] of Object.entries({ esbuild, webpack, Rollup, vite })) {
      const { entry, out } = place(folder, name, SERVER);
      await bundle?.(entry, out, folder);
      expect(run(folder, join(out, "main.js")).trim(), name).toBe(FOUND);
      expect(run(folder, join(out, "main.js"), join(out, "../data")).trim(), name).toBe(FOUND);
    }
  });
});

describe("without better-sqlite3", () => {
  const version = process.versions.node.split(".").map(Number);
  const [major = 0, minor = 0] = version;
  const hasOwn = major > 22 || (major === 22 && minor >= 13);

  test(hasOwn ? "Node's own is taken, and the warnings say why" : "the error says what helps", () => {
    const folder = emptyProject(join(scratch, "bare"));
    const paths = tarballs.map(({ path }) => path);
    const words = ["install", "--ignore-scripts", "--omit=optional", "--prefer-offline", "--no-audit", ...paths];
    execFileSync("npm", words, { cwd: folder, stdio: "pipe", shell: process.platform === "win32" });
    rmSync(join(folder, "node_modules/better-sqlite3"), { recursive: true, force: true });
    writeFileSync(join(folder, "common.cjs"), REQUIRED);
    const [first, second] = JSON.parse(run(folder, "common.cjs")) as [string, string | string[]];
    if (hasOwn) {
      expect(first).toBe("the deposit");
      expect(second).toEqual([expect.stringContaining("SQLite is Node's own: better-sqlite3 cannot be loaded")]);
    } else {
      expect(first).toBe("CANNOT_START");
      expect(second).toContain("install better-sqlite3 (npm install better-sqlite3, pnpm add");
      expect(second).toContain("or use Node 22.23, 24.15 or later");
    }
  });
});
