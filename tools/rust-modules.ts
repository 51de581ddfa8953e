/**
 * Who names whom among the files of a Rust crate. As `rust-sources.ts` this is no compiler: it reads `use` and paths
 * like `super::near::Window`, and follows what a file re-exports to the file that defines it. What it cannot see are
 * methods: a call of one is no import. Tests are left out: they may know all.
 */
import { blanked, withoutTestItems } from "./rust-sources.ts";

/** A file of a crate: its modules from the root of the crate, and its text. */
export interface RustFile {
  readonly path: string;
  readonly text: string;
}

/** A name that a file imports, and the path it came by. */
interface Use {
  readonly name: string;
  readonly path: readonly string[];
}

interface Module {
  readonly file: string;
  readonly way: readonly string[];
  readonly children: ReadonlySet<string>;
  readonly defined: ReadonlySet<string>;
  readonly uses: readonly Use[];
  /** Paths that stand in the code itself. */
  readonly paths: readonly (readonly string[])[];
}

/** What a path means: a module, or something that a file defines. */
type Meaning = { readonly module: Module } | { readonly file: string };

const ROOTS: ReadonlySet<string> = new Set(["lib", "main"]);
const USE = /\buse\s+([^;]+);/g;
const CHILD = /^(?:pub(?:\([^)]*\))? )?mod (\w+);/gm;
const DEFINITION =
  /^(?:pub(?:\([^)]*\))? )?(?:(?:const|async|unsafe) )*(?:struct|enum|union|trait|type|fn|const|static) (?:mut )?(\w+)/gm;
const PATH = /(?<![\w:.])[a-z_]\w*(?:::\w+)+/g;

/** The modules of a file of `src/`, from the root of its crate. */
function wayOf(path: string): readonly string[] {
  const way = path
    .replace(/^.*?src\//, "")
    .replace(/\.rs$/, "")
    .split("/");
  return way.at(-1) === "mod" || (way.length === 1 && ROOTS.has(way[0] ?? "")) ? way.slice(0, -1) : way;
}

/** `tree` of a `use`, such as `a::{self, b::C as D}`, as its names. */
function usesOf(tree: string, before: readonly string[] = []): readonly Use[] {
  const text = tree.trim();
  const open = text.indexOf("{");
  if (open !== -1) {
    const outer = [...before, ...text.slice(0, open).split("::").filter(Boolean)];
    return branches(text.slice(open + 1, text.lastIndexOf("}"))).flatMap((branch) => usesOf(branch, outer));
  }
  const [written = "", alias] = text.split(/\s+as\s+/);
  const path = [...before, ...written.split("::")].filter((step, index) => step !== "self" || index === 0);
  return text === "" ? [] : [{ name: alias ?? path.at(-1) ?? "", path }];
}

/** The parts between the commas of `list` that stand in no braces. */
function branches(list: string): readonly string[] {
  const found: string[] = [""];
  let depth = 0;
  for (const character of list) {
    if (character === "{") depth += 1;
    if (character === "}") depth -= 1;
    if (character === "," && depth === 0) found.push("");
    else found[found.length - 1] += character;
  }
  return found;
}

function moduleOf({ path, text }: RustFile): Module {
  const code = blanked(withoutTestItems(text));
  const names = (pattern: RegExp): ReadonlySet<string> =>
    new Set([...code.matchAll(pattern)].map((found) => found[1] ?? ""));
  return {
    file: path,
    way: wayOf(path),
    children: names(CHILD),
    defined: names(DEFINITION),
    uses: [...code.matchAll(USE)].flatMap((found) => usesOf(found[1] ?? "")),
    paths: [...code.replace(USE, "").matchAll(PATH)].map(([found]) => found.split("::")),
  };
}

/** The modules of one crate by their way from its root. */
class Crate {
  readonly #modules: ReadonlyMap<string, Module>;

  constructor(files: readonly RustFile[]) {
    this.#modules = new Map(files.map(moduleOf).map((module) => [module.way.join("::"), module]));
  }

  /** Each file with the other files it names. */
  imports(): ReadonlyMap<string, ReadonlySet<string>> {
    return new Map([...this.#modules.values()].map((module) => [module.file, this.#importsOf(module)]));
  }

  #importsOf(module: Module): ReadonlySet<string> {
    const paths = [...module.uses.map(({ path }) => path), ...module.paths];
    const meanings = paths.map((path) => this.#meaning(module, path, []));
    const files = meanings.flatMap((meaning) => (meaning !== undefined && "file" in meaning ? [meaning.file] : []));
    return new Set(files.filter((file) => file !== module.file));
  }

  /** What `path` means where `module` writes it; nothing if it begins outside of the crate. */
  #meaning(module: Module, path: readonly string[], seen: readonly string[]): Meaning | undefined {
    const [head = "", ...rest] = path;
    if (head === "crate") return this.#within(this.#module([]), rest, seen);
    if (head === "self") return this.#within(module, rest, seen);
    if (head === "super") return this.#meaningAbove(module, path, seen);
    if (module.children.has(head)) return this.#within(module, path, seen);
    const use = module.uses.find(({ name, path: its }) => name === head && its !== path);
    if (use === undefined || seen.includes(use.path.join("::"))) return undefined;
    const imported = this.#meaning(module, use.path, [...seen, use.path.join("::")]);
    return imported !== undefined && "module" in imported ? this.#within(imported.module, rest, seen) : imported;
  }

  #meaningAbove(module: Module, path: readonly string[], seen: readonly string[]): Meaning | undefined {
    const ups = path.findIndex((step) => step !== "super");
    const up = ups === -1 ? path.length : ups;
    return this.#within(this.#module(module.way.slice(0, -up)), path.slice(up), seen);
  }

  /** What `path` means inside `module`, where it may be re-exported. */
  #within(module: Module | undefined, path: readonly string[], seen: readonly string[]): Meaning | undefined {
    if (module === undefined) return undefined;
    const [head, ...rest] = path;
    if (head === undefined) return { module };
    const use = module.uses.find(({ name, path: its }) => name === head && !seen.includes(its.join("::")));
    const isItem = module.defined.has(head) || use !== undefined;
    if (module.children.has(head) && (rest.length > 0 || !isItem)) {
      return this.#within(this.#module([...module.way, head]), rest, seen);
    }
    if (module.defined.has(head) || use === undefined) return { file: module.file };
    const imported = this.#meaning(module, use.path, [...seen, use.path.join("::")]);
    return imported !== undefined && "module" in imported ? this.#within(imported.module, rest, seen) : imported;
  }

  #module(way: readonly string[]): Module | undefined {
    return this.#modules.get(way.join("::"));
  }
}

/** Each file of a crate with the other files of it that it names. */
export function rustImports(files: readonly RustFile[]): ReadonlyMap<string, ReadonlySet<string>> {
  return new Crate(files).imports();
}

/** The groups of files that all reach each other by their imports, each sorted, the largest first. */
export function circles(imports: ReadonlyMap<string, ReadonlySet<string>>): readonly (readonly string[])[] {
  const reached = new Map([...imports.keys()].map((file) => [file, reachedFrom(file, imports)]));
  const circleOf = (file: string): readonly string[] =>
    [...(reached.get(file) ?? [])].filter((other) => reached.get(other)?.has(file)).sort();
  const found = new Map([...imports.keys()].map(circleOf).map((circle) => [circle.join(), circle]));
  return [...found.values()].filter((circle) => circle.length > 1).sort((one, other) => other.length - one.length);
}

function reachedFrom(file: string, imports: ReadonlyMap<string, ReadonlySet<string>>): ReadonlySet<string> {
  const reached = new Set<string>();
  const visit = (next: string): void => {
    for (const one of imports.get(next) ?? []) {
      if (reached.has(one)) continue;
      reached.add(one);
      visit(one);
    }
  };
  visit(file);
  return reached;
}

/** Files that a program or a library begins with, by how cargo finds them. */
const ROOT_FILE = /(^|\/)(build|src\/(lib|main|bin\/[\w-]+)|(tests|examples|benches)\/([\w-]+|[\w-]+\/main))\.rs$/;

/** Files that no other one declares as its module, so that they are never compiled, and their tests never run. */
export function strayModules(files: readonly RustFile[]): readonly string[] {
  const declared = new Set(
    files.flatMap(({ path, text }) => {
      const folder = path.slice(0, path.lastIndexOf("/"));
      const isRoot = ROOT_FILE.test(path) || path.endsWith("/mod.rs");
      const within = isRoot ? folder : path.slice(0, -".rs".length);
      return [...blanked(text).matchAll(CHILD)].flatMap(([, name = ""]) => [
        `${within}/${name}.rs`,
        `${within}/${name}/mod.rs`,
      ]);
    }),
  );
  return files.map(({ path }) => path).filter((path) => !ROOT_FILE.test(path) && !declared.has(path));
}
