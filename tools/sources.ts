/** The TypeScript of the repository as the tidy test looks at it: files with their imports and functions. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";

/** The root of the repository. */
export const root: string = resolve(dirname(fileURLToPath(import.meta.url)), "..");

/** One source file. */
export interface Source {
  /** From the root, with `/`. */
  readonly path: string;
  readonly text: string;
  readonly tree: ts.SourceFile;
  /** What it imports or re-exports, as written. */
  readonly imports: readonly string[];
}

/** A package or app, by its package.json. */
export interface Room {
  readonly name: string;
  readonly folder: string;
  readonly sources: readonly Source[];
}

const IGNORED = new Set(["node_modules", "dist", ".site", "wasm", "target", ".turbo", "coverage"]);

/** Folders with sources of a package: `page` has what its page in a browser is made of. */
const SOURCE_FOLDERS = ["src", "page"];

/** Every package and app with its sources (tests not included). */
export function rooms(): readonly Room[] {
  return ["packages", "apps"].flatMap((folder) =>
    readdirSync(join(root, folder), { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => `${folder}/${name}`)
      .map((path) => ({ name: nameOf(path), folder: path, sources: sourcesOf(path) })),
  );
}

function sourcesOf(folder: string): readonly Source[] {
  const folders = SOURCE_FOLDERS.map((name) => `${folder}/${name}`).filter((path) => existsSync(join(root, path)));
  return folders.flatMap((path) => filesUnder(path, isSource)).map(read);
}

/** Every file under `folder` that `wanted` accepts, from the root. */
export function filesUnder(folder: string, wanted: (path: string) => boolean): readonly string[] {
  return readdirSync(join(root, folder), { withFileTypes: true })
    .filter(({ name }) => !IGNORED.has(name))
    .flatMap((entry) => {
      const path = `${folder}/${entry.name}`;
      if (entry.isDirectory()) return filesUnder(path, wanted);
      return wanted(path) ? [path] : [];
    });
}

/** The file that a relative import of `source` means, from the root. */
export function target(source: Source, specifier: string): string {
  return relative(root, resolve(root, dirname(source.path), specifier)).replaceAll("\\", "/");
}

/** Every file that the compiler reads for a configuration, from the root, but for the language's own: sources, and what they refer to. */
export function compiledFiles(configuration: string): readonly string[] {
  const host: ts.ParseConfigFileHost = {
    ...ts.sys,
    onUnRecoverableConfigFileDiagnostic: ({ messageText }) => {
      throw new Error(`${configuration}: ${ts.flattenDiagnosticMessageText(messageText, "\n")}`);
    },
  };
  const parsed = ts.getParsedCommandLineOfConfigFile(join(root, configuration), undefined, host);
  if (parsed === undefined) throw new Error(`${configuration} is not there`);
  const program = ts.createProgram(parsed.fileNames, { ...parsed.options, noLib: true });
  return program.getSourceFiles().map(({ fileName }) => relative(root, fileName).replaceAll("\\", "/"));
}

/** Functions and methods with bodies, with their names and lengths in lines. */
export function functions(source: Source): readonly { readonly name: string; readonly lines: number }[] {
  const found: { name: string; lines: number }[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isFunctionLike(node) && "body" in node && node.body !== undefined) {
      found.push({ name: node.name?.getText(source.tree) ?? "a function", lines: linesOf(source, node) });
    }
    ts.forEachChild(node, visit);
  };
  visit(source.tree);
  return found;
}

/** Exported declarations without a documenting comment; of overloads, one may speak for all. */
export function undocumented(source: Source): readonly string[] {
  const exported = source.tree.statements.filter(
    (node) => ts.canHaveModifiers(node) && ts.getModifiers(node)?.some(isExport),
  );
  const documented = exported.filter((node) => ts.getJSDocCommentsAndTags(node).length > 0);
  const spokenFor = new Set(documented.map(functionName));
  return exported
    .filter(
      (node) => !documented.includes(node) && !(ts.isFunctionDeclaration(node) && spokenFor.has(functionName(node))),
    )
    .map((node) => node.getText(source.tree).slice(0, 60));
}

function functionName(node: ts.Statement): string | undefined {
  return ts.isFunctionDeclaration(node) ? node.name?.text : undefined;
}

function isExport(modifier: ts.Modifier): boolean {
  return modifier.kind === ts.SyntaxKind.ExportKeyword;
}

function isSource(path: string): boolean {
  return /\.(ts|mts|tsx)$/.test(path) && !/\.(test|test-d)\.ts$/.test(path);
}

function linesOf(source: Source, node: ts.Node): number {
  const line = (position: number): number => source.tree.getLineAndCharacterOfPosition(position).line;
  return line(node.getEnd()) - line(node.getStart(source.tree)) + 1;
}

function nameOf(folder: string): string {
  return (JSON.parse(readFileSync(join(root, folder, "package.json"), "utf8")) as { name: string }).name;
}

function read(path: string): Source {
  const text = readFileSync(join(root, path), "utf8");
  const kind = path.endsWith("x") ? ts.ScriptKind.TSX : ts.ScriptKind.TS;
  const tree = ts.createSourceFile(path, text, ts.ScriptTarget.ES2023, true, kind);
  const imports = tree.statements.flatMap((node) => {
    const from = ts.isImportDeclaration(node) || ts.isExportDeclaration(node) ? node.moduleSpecifier : undefined;
    return from !== undefined && ts.isStringLiteral(from) ? [from.text] : [];
  });
  return { path, text, tree, imports };
}
