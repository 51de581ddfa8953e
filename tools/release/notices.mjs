/**
 * `node tools/release/notices.mjs`: writes LICENSE and NOTICE of every package that is published; `--check` says what is not
 * as it would be written. The core's NOTICE has the notices of the crates that are compiled into its module: those that
 * cargo resolves for WebAssembly, without what only builds or generates.
 */
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import process from "node:process";
import { publishedPackages, root } from "./packages.mjs";

const MODULE = "brooklet-wasm";
const TARGET = "wasm32-unknown-unknown";
const OPENING = "brooklet\n\nLicensed under the Apache License, Version 2.0; its text is in LICENSE.\n";
const APACHE = /\bApache-2\.0\b/;
const LICENCE_FILE = /^(licen[cs]e|copying|notice)/i;
const RULE = "-".repeat(80);

/** Name, version, licence and folder of each foreign crate in the module, by name. */
function foreignCrates() {
  const words = ["metadata", "--format-version", "1", "--locked", "--filter-platform", TARGET];
  const printed = execFileSync("cargo", words, { cwd: root, encoding: "utf8", maxBuffer: 64 << 20 });
  const { packages, resolve } = JSON.parse(printed);
  const crates = new Map(packages.map((one) => [one.id, one]));
  const nodes = new Map(resolve.nodes.map((node) => [node.id, node]));
  const found = new Set();
  const visit = (id) => {
    if (found.has(id) || isMacro(crates.get(id))) return;
    found.add(id);
    for (const { pkg, dep_kinds: kinds } of nodes.get(id).deps) if (kinds.some(({ kind }) => kind === null)) visit(pkg);
  };
  visit(packages.find(({ name }) => name === MODULE).id);
  return [...found]
    .map((id) => crates.get(id))
    .filter(({ source }) => source !== null)
    .map(({ name, version, license, manifest_path: path }) => ({ name, version, license, folder: dirname(path) }))
    .sort((left, right) => (left.name < right.name ? -1 : 1));
}

/** A macro runs while the module is compiled, and is not in it. */
function isMacro({ targets }) {
  return targets.some(({ kind }) => kind.includes("proc-macro"));
}

/** The licence texts of a crate that cannot be taken under the licence of this project. */
function licenceTexts({ name, folder }) {
  const files = readdirSync(folder).filter((file) => LICENCE_FILE.test(file));
  if (files.length === 0) throw new Error(`${name} says under no file what its licence is`);
  return files.map((file) => readFileSync(join(folder, file), "utf8").replaceAll("\r\n", "\n").trim());
}

/** The NOTICE of the package that holds the module. */
function noticeOfCore() {
  const crates = foreignCrates();
  const listed = ({ name, version, license }) => `  ${name} ${version} (${license})`;
  const apache = crates.filter(({ license }) => APACHE.test(license));
  const users = new Map();
  for (const crate of crates.filter(({ license }) => !APACHE.test(license))) {
    for (const text of licenceTexts(crate)) users.set(text, [...(users.get(text) ?? []), crate]);
  }
  const others = [...users].map(([text, of]) => `${RULE}\n${of.map(listed).join("\n")}\n\n${text}\n`);
  return [
    OPENING,
    "wasm/core_bg.wasm contains the following software, and the Rust standard library (MIT OR Apache-2.0).",
    "Its tables of characters are made from the Unicode Character Database (Unicode-3.0, below).\n",
    "Under the Apache License, Version 2.0, whose text is in LICENSE:\n",
    `${apache.map(listed).join("\n")}\n`,
    "Under the licences that follow:\n",
    ...others,
  ].join("\n");
}

/** Every file that is to be, by its path from the root. */
function expectedFiles() {
  const license = readFileSync(join(root, "LICENSE"), "utf8");
  return new Map(
    publishedPackages().flatMap(({ name, folder }) => [
      [`${folder}/LICENSE`, license],
      [`${folder}/NOTICE`, name === "@brooklet/core" ? noticeOfCore() : OPENING],
    ]),
  );
}

const isCheck = process.argv.includes("--check");
for (const [path, text] of expectedFiles()) {
  const full = join(root, path);
  if (existsSync(full) && readFileSync(full, "utf8") === text) continue;
  if (isCheck) {
    console.error(`${path} is not current: run node tools/release/notices.mjs`);
    process.exitCode = 1;
  } else {
    writeFileSync(full, text);
    console.log(`${path} is written`);
  }
}
