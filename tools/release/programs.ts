/** Programs that a stranger would write first: those of every README, run and type-checked where they were installed. */
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { root } from "./packages.mjs";

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

/** The compiler's complaints about programs in a project; empty if there are none. */
export function typeProblems(project: string, programs: readonly Program[], resolution: Resolution): string {
  for (const [name, text] of programs) writeFileSync(join(project, name), text);
  const config = `tsconfig.${resolution}.json`;
  const files = programs.map(([name]) => name);
  writeFileSync(join(project, config), JSON.stringify({ compilerOptions: compilerOptions(resolution), files }));
  try {
    execFileSync(process.execPath, [join(project, "node_modules/typescript/bin/tsc"), "--project", config], {
      cwd: project,
      encoding: "utf8",
    });
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
