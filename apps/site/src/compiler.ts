/** The compiler of the playground, in a worker: what was typed as JavaScript, and what the types of brooklet say of it. */
import ts from "typescript";
import type { Compiled, Problem, ToCompile } from "./compiling.ts";

interface WorkerScope {
  onmessage: (event: { readonly data: ToCompile }) => void;
  postMessage(message: Compiled): void;
}

const scope = globalThis as unknown as WorkerScope;
const FILE = "/playground.ts";
const OPTIONS: ts.CompilerOptions = {
  target: ts.ScriptTarget.ES2022,
  module: ts.ModuleKind.ESNext,
  moduleResolution: ts.ModuleResolutionKind.Bundler,
  lib: ["lib.es2023.d.ts"],
  types: [],
  strict: true,
  noEmit: true,
  skipLibCheck: true,
};

let declarations: Promise<Readonly<Record<string, string>>> | undefined;
const parsed = new Map<string, ts.SourceFile>();

scope.onmessage = async ({ data }) => {
  const { number, parts } = data;
  const scripts = parts.map(({ text, isExpression }) => transpile(isExpression === true ? `give(${text}\n);` : text));
  scope.postMessage({ number, scripts });
  declarations ??= fetch(new URL("../types.json", import.meta.url)).then(
    async (answer) => (await answer.json()) as Record<string, string>,
  );
  try {
    scope.postMessage({ number, problems: problemsOf(parts, await declarations) });
  } catch {
    // Without the declarations nothing is said of types; what was typed runs all the same.
    scope.postMessage({ number, problems: [] });
  }
};

function transpile(text: string): string {
  return ts.transpile(text, { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext });
}

function problemsOf(parts: ToCompile["parts"], files: Readonly<Record<string, string>>): readonly Problem[] {
  const program = parts.map(({ before, text, behind }) => `${before}${text}${behind}`).join("\n");
  const host: ts.CompilerHost = {
    getSourceFile: (name, version) => {
      const text = name === FILE ? program : files[name];
      if (text === undefined) return undefined;
      const known = name === FILE ? undefined : parsed.get(name);
      const file = known ?? ts.createSourceFile(name, text, version);
      if (name !== FILE) parsed.set(name, file);
      return file;
    },
    getDefaultLibFileName: () => "/lib/lib.es2023.d.ts",
    getDefaultLibLocation: () => "/lib",
    writeFile: () => undefined,
    getCurrentDirectory: () => "/",
    getCanonicalFileName: (name) => name,
    useCaseSensitiveFileNames: () => true,
    getNewLine: () => "\n",
    fileExists: (name) => name === FILE || name in files,
    readFile: (name) => (name === FILE ? program : files[name]),
    directoryExists: () => true,
    getDirectories: () => [],
  };
  const found = ts.getPreEmitDiagnostics(ts.createProgram([FILE], OPTIONS, host));
  return found.flatMap(({ file, start, messageText }) => {
    if (file?.fileName !== FILE || start === undefined) return [];
    const message = ts.flattenDiagnosticMessageText(messageText, " ").slice(0, 400);
    const place = placeOf(parts, start);
    return place === undefined ? [] : [{ ...place, message }];
  });
}

/** Which part a place of the program is in, and in which line of it. */
function placeOf(
  parts: ToCompile["parts"],
  start: number,
): { readonly part: number; readonly line: number } | undefined {
  let begin = 0;
  for (const [part, { before, text, behind }] of parts.entries()) {
    const inside = start - begin - before.length;
    const whole = before.length + text.length + behind.length + 1;
    if (start < begin + whole) return { part, line: text.slice(0, Math.max(0, inside)).split("\n").length };
    begin += whole;
  }
  return undefined;
}
