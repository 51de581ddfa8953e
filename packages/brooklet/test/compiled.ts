/** Compiles examples of the documentation as programs of somebody who has installed `brooklet`. */
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";

const here = dirname(fileURLToPath(import.meta.url));
const root = join(here, "../../..");

/** An example and what it is of. */
export interface Example {
  /** The file, and the name of what it documents or the line it begins in. */
  readonly of: string;
  readonly code: string;
  /** Where it is below a folder of its own, for what imports it by its path. */
  readonly file?: string;
}

const OPTIONS: ts.CompilerOptions = {
  target: ts.ScriptTarget.ES2023,
  lib: ["lib.es2023.d.ts", "lib.esnext.disposable.d.ts", "lib.dom.d.ts"],
  types: ["node"],
  module: ts.ModuleKind.NodeNext,
  moduleResolution: ts.ModuleResolutionKind.NodeNext,
  jsx: ts.JsxEmit.ReactJSX,
  strict: true,
  exactOptionalPropertyTypes: true,
  allowImportingTsExtensions: true,
  noEmit: true,
  skipLibCheck: true,
};

/** What does not compile of modules, each told by what it is of. */
export function problemsOfModules(modules: readonly Example[]): readonly string[] {
  const texts = new Map(
    modules.map(({ code, file }, index) => [join(here, file ?? `compiled-${index}.generated.tsx`), code]),
  );
  const folders = new Set([...texts.keys()].map((path) => dirname(path)));
  const host = ts.createCompilerHost(OPTIONS);
  const { getSourceFile, fileExists, readFile, directoryExists } = host;
  host.directoryExists = (name) => folders.has(name) || directoryExists?.(name) === true;
  host.fileExists = (name) => texts.has(name) || fileExists(name);
  host.readFile = (name) => texts.get(name) ?? readFile(name);
  host.getSourceFile = (name, options, ...others) => {
    const text = texts.get(name);
    return text === undefined ? getSourceFile(name, options, ...others) : ts.createSourceFile(name, text, options);
  };
  const paths = [...texts.keys()];
  return ts.getPreEmitDiagnostics(ts.createProgram(paths, OPTIONS, host)).map(({ file, start, messageText }) => {
    const of = modules[paths.indexOf(file?.fileName ?? "")]?.of ?? "the options";
    const line = start === undefined ? undefined : file?.text.slice(0, start).split("\n").length;
    const text = line === undefined ? "" : (file?.text.split("\n")[line - 1] ?? "");
    return `${of}: ${ts.flattenDiagnosticMessageText(messageText, " ")}: ${text.trim()}`;
  });
}

const EXAMPLE = /@example\n((?:\s*\*(?!\/).*\n)*)/;

/** The examples of a source file, each with the name that follows its comment. */
export function examplesOf(path: string): Example[] {
  const text = readFileSync(path, "utf8");
  return [...text.matchAll(/\/\*\*(?:(?!\*\/)[\s\S])*\*\//g)].flatMap(({ 0: comment, index }) => {
    const said = EXAMPLE.exec(comment)?.[1];
    if (said === undefined) return [];
    const lines = said.split("\n").map((line) => line.replace(/^\s*\* ?/, ""));
    const [opening, closing] = [lines.findIndex((line) => /^```tsx?$/.test(line)), lines.lastIndexOf("```")];
    if (opening < 0 || closing <= opening) throw new Error(`${path}: an example is not between \`\`\`ts and \`\`\``);
    const following = text.slice(index + comment.length, index + comment.length + 400);
    const name = /\s*(?:\/\/.*\n\s*)*(?:export )?(?:abstract )?(?:async )?(?:function\*? |class |const |\*)?(\w+)/.exec(
      following,
    )?.[1];
    const of = `${path.slice(join(root, "packages").length + 1)}: ${name}`;
    return [{ of, code: lines.slice(opening + 1, closing).join("\n") }];
  });
}

/** The examples of all sources of packages. */
export function examplesOfPackages(packages: readonly string[]): Example[] {
  return packages.flatMap((room) =>
    readdirSync(join(root, "packages", room, "src"), { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".ts") && !name.endsWith(".test.ts"))
      .flatMap((name) => examplesOf(join(root, "packages", room, "src", name))),
  );
}
