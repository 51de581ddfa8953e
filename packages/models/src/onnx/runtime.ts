/** The optional packages that models run on: which of them a model lacks, and what helps. The thread of a session loads them. */
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";

/** What runs models. */
export const RUNTIME = "onnxruntime-node";
/** What makes tokens of texts. */
export const TOKENIZERS = "@huggingface/tokenizers";
/** How Node says that a package is not there. */
export const NOT_THERE: ReadonlySet<unknown> = new Set(["ERR_MODULE_NOT_FOUND", "MODULE_NOT_FOUND"]);

/** What is used of a `require`: pages without Node's types read these declarations, too. */
interface Loader {
  (name: string): unknown;
  resolve(name: string): string;
}

/** What is said of a model whose runtime cannot be had. */
export function noRuntime(remedy: string = `npm install ${RUNTIME}`): string {
  return `A model needs the package ${RUNTIME}: ${remedy}`;
}

/** What is said of a tokenizer whose package cannot be had. */
export function noTokenizers(): string {
  return `A tokenizer needs the package ${TOKENIZERS}: npm install ${TOKENIZERS}`;
}

/**
 * Which package a component of this type needs and this process has not, as a sentence with what helps. Nothing is loaded for it: a
 * package that is there and cannot be loaded is told of when the model is first asked.
 */
export function lackingPackage(type: string): string | undefined {
  if (type === "openai-embedder") return undefined;
  const told = type === "hugging-face-tokenizer" ? undefined : lackingRuntime();
  if (told !== undefined) return told;
  return isLacking(TOKENIZERS, () => requireOf(TOKENIZERS)) ? noTokenizers() : undefined;
}

/** The same of a model that ranks. */
export function lackingRuntime(): string | undefined {
  const { createRequire } = process.getBuiltinModule("node:module");
  return isLacking(RUNTIME, () => createRequire(threadScript())) ? noRuntime() : undefined;
}

/** Whether it is certain that a package is not there for what would load it. */
function isLacking(name: string, loader: () => Loader): boolean {
  let require: Loader;
  try {
    require = loader();
  } catch {
    return false;
  }
  try {
    require.resolve(name);
    return false;
  } catch (error) {
    return NOT_THERE.has((Object(error) as { readonly code?: unknown }).code);
  }
}

/** This file or its bundle, and its address: webpack's is where it was bundled, esbuild's CommonJS has none. */
function ownFiles(): readonly [string, string] {
  const address = import.meta.url === undefined ? __filename : fileURLToPath(import.meta.url);
  return [import.meta.filename ?? address, address];
}

/** What finds an installed package: this file or its bundle, or else the program that runs. */
export function requireOf(name: string): Loader {
  const { createRequire } = process.getBuiltinModule("node:module");
  const files = ownFiles();
  for (const file of [...files, process.argv[1] ?? ""]) {
    try {
      const found = createRequire(file);
      found.resolve(name);
      return found;
    } catch {
      // The next may find it.
    }
  }
  return createRequire(files[0]);
}

/**
 * The compiled script of a thread: beside this file; in `dist`, when this file is run from its source; in the package as it is
 * installed, when this file is in a bundle.
 */
export function threadScript(): string {
  const [own] = ownFiles();
  const folder = own.endsWith(".ts") ? "../../dist/onnx" : ".";
  const script = join(dirname(own), folder, "session-thread.js");
  if (existsSync(script)) return script;
  const name = "@brooklet/models/session-thread";
  try {
    return requireOf(name).resolve(name);
  } catch {
    // Some installers show a project this package by way of the one that needs it alone.
    const { createRequire } = process.getBuiltinModule("node:module");
    return createRequire(requireOf("brooklet").resolve("brooklet")).resolve(name);
  }
}
