/** The documents of the repository that have samples, and what packages export. */
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";

/** The root of the repository. */
export const root = resolve(dirname(fileURLToPath(import.meta.url)), "../..");

/** README, the pages of `docs`, and the READMEs of packages and examples, from the root. @returns {readonly string[]} */
export function documents() {
  const ofRooms = ["packages", "examples"].flatMap((folder) =>
    readdirSync(join(root, folder)).map((room) => `${folder}/${room}/README.md`),
  );
  return ["README.md", ...pages(), ...ofRooms.filter((path) => isThere(path))];
}

/** The pages of `docs`, without the decisions, from the root. @returns {readonly string[]} */
export function pages() {
  return readdirSync(join(root, "docs"))
    .filter((name) => name.endsWith(".md"))
    .sort()
    .map((name) => `docs/${name}`);
}

/** @param {string} path */
function isThere(path) {
  try {
    return readFileSync(join(root, path)).length > 0;
  } catch {
    return false;
  }
}

/**
 * The names that a module exports: those that are there when a program runs, and the types.
 *
 * @param {string} path from the root
 * @returns {{ readonly values: ReadonlySet<string>, readonly types: ReadonlySet<string> }}
 */
export function exportsOf(path) {
  const options = {
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    skipLibCheck: true,
  };
  const file = join(root, path);
  const program = ts.createProgram([file], { ...options, noEmit: true, allowImportingTsExtensions: true });
  const checker = program.getTypeChecker();
  const source = program.getSourceFile(file);
  const symbol = source === undefined ? undefined : checker.getSymbolAtLocation(source);
  if (symbol === undefined) throw new Error(`${relative(root, file)} is no module`);
  const [values, types] = [new Set(), new Set()];
  for (const exported of checker.getExportsOfModule(symbol)) {
    const meant = exported.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(exported) : exported;
    (meant.flags & ts.SymbolFlags.Value && !isTypeOnly(exported) ? values : types).add(exported.name);
  }
  return { values, types };
}

/** @param {ts.Symbol} symbol */
function isTypeOnly(symbol) {
  return (symbol.declarations ?? []).some(
    (it) => ts.isExportSpecifier(it) && (it.isTypeOnly || it.parent.parent.isTypeOnly),
  );
}
