/** Programs that a stranger would write first: those of every README, run and type-checked where they were installed. */
import { execFile, execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { promisify } from "node:util";
import { root } from "./packages.mjs";

/** The compiler that builds this repository, for programs that are about something else than the compiler: it takes a sixth of what others take. */
export const COMPILER: string = join(root, "node_modules/tsc/bin/tsc");

/** A file of a program, by its name. */
export type Program = readonly [name: string, text: string];

/** The first program of a README. */
export function programOf(path: string): string {
  const text = readFileSync(join(root, path), "utf8");
  const program = /```ts\n([\s\S]*?)```/.exec(text)?.[1];
  if (program === undefined) throw new Error(`${path} has no program`);
  return program;
}

/** Runs a file of a project, with the words that come after it; what it prints. */
export function run(project: string, ...words: readonly string[]): string {
  return execFileSync(process.execPath, words, { cwd: project, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
}

/** How the compiler finds modules. */
export type Resolution = "NodeNext" | "Bundler";

/** What a strict project asks of the compiler; declarations of packages are checked too. */
export function compilerOptions(resolution: Resolution): object {
  return {
    target: "es2022",
    // A server has no DOM, and none may be needed there.
    lib: resolution === "NodeNext" ? ["es2023", "esnext.disposable"] : ["es2023", "esnext.disposable", "dom"],
    types: ["node"],
    module: resolution === "NodeNext" ? "nodenext" : "esnext",
    moduleResolution: resolution,
    strict: true,
    exactOptionalPropertyTypes: true,
    noEmit: true,
    skipLibCheck: false,
  };
}

/**
 * Prints what a compiler says of configurations, a line of each: of the files of a project and of the declarations of this house. Those of others are
 * theirs to mend, and looking through them takes longer than all else. The second takes less, as the compiler's code is warm then.
 */
const CHECK = `const [compiler, ...configs] = process.argv.slice(1);
const ts = require(compiler);
for (const config of configs) console.log(JSON.stringify(said(config)));
function said(config) {
const { options, fileNames, errors } = ts.getParsedCommandLineOfConfigFile(config, {}, { ...ts.sys, onUnRecoverableConfigFileDiagnostic: (error) => { throw new Error(error.messageText); } });
const program = ts.createProgram(fileNames, options);
const others = /[/]node_modules[/](?!brooklet[/]|@brooklet[/]|.*[/]node_modules[/])/;
const files = program.getSourceFiles().filter(({ fileName }) => !others.test(fileName));
const problems = files.flatMap((file) => [...program.getSyntacticDiagnostics(file), ...program.getSemanticDiagnostics(file)]);
return {
  version: ts.version,
  declarations: files.filter(({ isDeclarationFile }) => isDeclarationFile).length,
  ofNode: files.filter(({ isDeclarationFile, text }) => isDeclarationFile && /from "node:|import\\("node:|NodeJS\\.|: Buffer\\b/.test(text)).map(({ fileName }) => fileName),
  problems: [...errors, ...program.getOptionsDiagnostics(), ...program.getGlobalDiagnostics(), ...problems].map(({ file, messageText }) =>
    (file === undefined ? "" : file.fileName.split("/").at(-1) + ": ") + ts.flattenDiagnosticMessageText(messageText, " ")),
};
}`;

/** What a compiler said. */
export interface Checked {
  readonly version: string;
  readonly declarations: number;
  /** Those of them that need the types of Node. */
  readonly ofNode: readonly string[];
  readonly problems: readonly string[];
}

/** What a compiler, by where it is, says of configurations of a project, of each in turn. */
export async function checked(
  project: string,
  compiler: string,
  configs: readonly string[],
): Promise<readonly Checked[]> {
  const words = ["--eval", CHECK, compiler, ...configs];
  const { stdout } = await promisify(execFile)(process.execPath, words, { cwd: project });
  return stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Checked);
}

/** The complaints of a project's compiler about programs in it; empty if there are none. */
export async function typeProblems(
  project: string,
  programs: readonly Program[],
  resolution: Resolution,
): Promise<readonly string[]> {
  for (const [name, text] of programs) writeFileSync(join(project, name), text);
  const config = `tsconfig.${resolution}.json`;
  const files = programs.map(([name]) => name);
  writeFileSync(join(project, config), JSON.stringify({ compilerOptions: compilerOptions(resolution), files }));
  const [only] = await checked(project, join(project, "node_modules/typescript"), [config]);
  // A house that was passed over has no complaints.
  return only !== undefined && only.declarations > 0 ? only.problems : ["no declaration of this house was looked at"];
}

/** What the command of a compiler says of a configuration in a project; empty if that is nothing. */
export function complaintsOf(project: string, compiler: string, config: string): string {
  try {
    execFileSync(process.execPath, [compiler, "--project", config], { cwd: project, encoding: "utf8" });
    return "";
  } catch (error) {
    return ofThisHouse((error as { readonly stdout: string }).stdout);
  }
}

/** Complaints without those of other people's declarations, which are theirs to mend; each is a line and the indented ones after it. */
function ofThisHouse(printed: string): string {
  const complaints = printed.split(/\n(?=\S)/);
  return complaints.filter((text) => !/^node_modules\/(?!brooklet|@brooklet)/.test(text)).join("\n");
}

/** The JavaScript of a program, as TypeScript's own stripping makes it. */
export function stripped(project: string, text: string): string {
  const script = `const ts = require("typescript");
    const options = { target: "es2022", module: "esnext", verbatimModuleSyntax: true };
    process.stdout.write(ts.transpileModule(require("node:fs").readFileSync(0, "utf8"), { compilerOptions: options }).outputText);`;
  return execFileSync(process.execPath, ["--eval", script], { cwd: project, input: text, encoding: "utf8" });
}
