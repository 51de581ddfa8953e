/** Runs examples of the documentation, each as the body of a function that is given everything `brooklet` exports. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import ts from "typescript";
import type { Example } from "./compiled.ts";

/** What a program may import, by the name it is imported from. */
export type Modules = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

const OPTIONS: ts.CompilerOptions = { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ES2022 };

/**
 * Runs an example. Names that it does not declare itself are those of `given`; addresses and folders are where the
 * test has them.
 */
export async function run(
  { of, code }: Example,
  given: Readonly<Record<string, unknown>>,
  modules: Modules,
  places: ReadonlyMap<string, string>,
): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "brooklet-example-"));
  try {
    let text = ts.transpileModule(code, { compilerOptions: OPTIONS }).outputText;
    text = text.replace(/^import (.+?) from "([^"]+)";$/gm, (_, names: string, from: string) => {
      if (modules[from] === undefined) throw new Error(`${of} imports ${from}`);
      const taken = names.startsWith("* as ") ? names.slice(5) : names.replaceAll(" as ", ": ");
      return `const ${taken} = modules[${JSON.stringify(from)}];`;
    });
    text = text.replace(/^export (?:\{\};|(?=const|class|function|async))/gm, "");
    for (const [said, place] of places) text = text.replaceAll(said, place);
    text = text.replace(/(["'])\.\/[\w/.-]+\1/g, (path) => JSON.stringify(join(folder, path.slice(3, -1))));
    const names = Object.keys(given);
    const body = `return (async () => {\n${text}\n})();`;
    await (new Function(...names, "modules", body)(...names.map((name) => given[name]), modules) as Promise<void>);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
