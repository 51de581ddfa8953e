/**
 * `node tools/exports/run.mjs [STORE…]`: the scripts of `docs/coming-from.md` over their real libraries, all of them or those of the stores that
 * are named. Each store is installed into a folder of its own (install.mjs) and filled (stores/); the page's script is run, what it writes is
 * taken in by the page's `load.ts`, and everything has to be there: users, ids, texts, numbers, what else there was, and the same neighbours.
 */
import { execFileSync, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { transformSync } from "esbuild";
import { fencesOf, PROGRAMS } from "../../apps/site/samples/fences.mjs";
import { difference } from "./difference.mjs";
import { install } from "./install.mjs";
import { STORES } from "./list.mjs";
import { sample } from "./sample.mjs";

const here = fileURLToPath(new URL(".", import.meta.url));
const root = fileURLToPath(new URL("../..", import.meta.url));
const PAGE = "docs/coming-from.md";

/** The first program below a heading of the page. */
function programBelow(heading) {
  const page = readFileSync(join(root, PAGE), "utf8");
  const [, section] = page.split(`\n## ${heading}\n`);
  const found = fencesOf(PAGE, (section ?? "").split("\n## ")[0]).find(({ language }) => PROGRAMS.has(language));
  if (found === undefined) throw new Error(`${PAGE} has no program below ${heading}`);
  return found;
}

const compiled = (code) => transformSync(code, { loader: "ts", target: "node20", format: "esm" }).code;

/** Links packages into the folder's `node_modules`: what the store needs, and what the workspace has. */
function link(folder, packages, names) {
  const wanted = names.map((name) => [name, join(packages, name)]);
  wanted.push(["brooklet", join(root, "packages/brooklet")]);
  wanted.push(["better-sqlite3", join(root, "node_modules/better-sqlite3")]);
  for (const [name, target] of wanted) {
    const path = join(folder, "node_modules", name);
    mkdirSync(dirname(path), { recursive: true });
    symlinkSync(target, path, "junction");
  }
}

/** Fills a store. Gives the environment that its script needs, and how the process that serves it, if there is one, is ended. */
function filled(folder, python, file) {
  writeFileSync(join(folder, file), readFileSync(join(here, "stores", file)));
  const command = file.endsWith(".py") ? python : process.execPath;
  const child = spawn(command, [file], { cwd: folder, stdio: ["ignore", "pipe", "inherit"] });
  return new Promise((settle, fail) => {
    let told = "";
    child.stdout.on("data", (chunk) => {
      told += chunk;
      if (told.endsWith("\n")) settle({ ...JSON.parse(told), end: () => child.kill() });
    });
    child.on("error", fail);
    child.on("exit", (code) => {
      if (code === 0) settle({ environment: {}, end: () => {} });
      else fail(new Error(`stores/${file} ended with ${code}`));
    });
  });
}

/** Runs the script of the page; lines.jsonl holds what it wrote. */
function run(folder, python, { language, code }, environment) {
  const [file, command, text] = {
    ts: ["script.mjs", process.execPath, () => compiled(code)],
    python: ["script.py", python, () => code],
    sh: ["script.sh", "bash", () => code],
  }[language];
  writeFileSync(join(folder, file), text());
  const lines = join(folder, "lines.jsonl");
  // One in the language of the shell says itself where the lines go.
  const out = language === "sh" ? "inherit" : openSync(lines, "w");
  const options = { cwd: folder, env: { ...process.env, ...environment }, stdio: ["ignore", out, "inherit"] };
  execFileSync(command, [file], options);
}

/** What is wrong with one store's script, or how many documents it moved. */
async function moved(store) {
  const { packages, python } = install(store);
  const folder = mkdtempSync(join(tmpdir(), "brooklet-export-"));
  const { documents, questions, neighbours } = sample();
  const [only] = documents;
  const isOwn = ({ user }) => store.user === undefined || user === only.user;
  const own = { documents: documents.filter(isOwn), questions: questions.filter(isOwn), neighbours };
  writeFileSync(join(folder, "sample.json"), JSON.stringify(own));
  link(folder, packages, Object.keys(store.npm ?? {}));
  let served;
  try {
    served = await filled(folder, python, store.fill);
    run(folder, python, programBelow(store.name), served.environment);
    writeFileSync(join(folder, "load.mjs"), compiled(programBelow("From lines of JSON").code));
    execFileSync(process.execPath, ["load.mjs", "lines.jsonl"], {
      cwd: folder,
      stdio: ["ignore", "ignore", "inherit"],
    });
    const nearest = JSON.parse(readFileSync(join(folder, "nearest.json"), "utf8"));
    const problem = await difference(join(folder, "data"), renamed(own, store.user), nearest);
    if (problem !== undefined) throw new Error(problem);
    return own.documents.length;
  } finally {
    served?.end();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The sample, with the user's name that a script gives. */
function renamed({ documents, questions }, user) {
  const all = (list) => (user === undefined ? list : list.map((it) => ({ ...it, user })));
  return { documents: all(documents), questions: all(questions) };
}

const names = process.argv.slice(2);
const unknown = names.filter((name) => !STORES.some((it) => it.name === name));
if (unknown.length > 0) {
  console.error(`No store is called ${unknown.join(", ")}: there are ${STORES.map(({ name }) => name).join(", ")}`);
  process.exit(2);
}
for (const store of STORES.filter(({ name }) => names.length === 0 || names.includes(name))) {
  try {
    console.log(`${store.name}: ${await moved(store)} documents moved, with the same neighbours`);
  } catch (error) {
    console.error(`${store.name}: ${error.message}`);
    process.exitCode = 1;
  }
}
