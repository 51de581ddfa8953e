/** The core on Node: the module is read and compiled once, by stages where that is possible, and handed to the threads that need it too. */
import { instantiate as instantiateModule } from "../wasm/core.js";
import type { RawInstance } from "./instance.ts";
import { instantiateStages, readAll, readStages, type Stages } from "./stages.ts";

export * from "./index.ts";

// An import of a module of Node's reads all that it has, and what `node:fs` has are streams and promises, which are made then.
const { closeSync, existsSync, fstatSync, openSync, readFileSync, readSync } = process.getBuiltinModule("node:fs");
const { dirname, join } = process.getBuiltinModule("node:path");
const { fileURLToPath } = process.getBuiltinModule("node:url");

/** What the file of a script is called, in CommonJS: what esbuild bundles so has no address of a module. */
declare const __filename: string;

/** Its name beside a bundle. */
const FILE = "core_bg.wasm";
/** How its stages are made: beside the module, where that is in its package. */
const RECIPE = "core_stages.bin";

/** The compiled module, to be handed to threads; nothing else can be done with it. The types of Node alone do not know its own. */
export type CoreModule = object;

let compiled: Stages | WebAssembly.Module | undefined;

/** Reads and compiles what a first search calls of the core's module, once. Throws if it is not there, or cannot be run here. */
export function loadModule(): void {
  module();
}

/** The core's module with all that there is of it, for a thread to be given. Throws as `loadModule` does. */
export function sharedModule(): CoreModule {
  const known = module();
  if (known instanceof WebAssembly.Module) return known;
  compiled = readAll(known);
  return compiled;
}

/** Has this thread use a module that another one compiled. */
export function setModule(module: CoreModule): void {
  compiled = module as Stages | WebAssembly.Module;
}

/** Makes an instance of the core's module. */
export function instantiate(): RawInstance {
  const known = module();
  return known instanceof WebAssembly.Module ? instantiateModule(known) : instantiateStages(known);
}

function module(): Stages | WebAssembly.Module {
  if (compiled !== undefined) return compiled;
  const path = moduleFile();
  compiled = stagesOf(path) ?? new WebAssembly.Module(readFileSync(path));
  return compiled;
}

/**
 * The stages of the module in a file, if a recipe stands beside it. The file stays open, for what instances read of it later: what has its name
 * then may be another release's.
 */
function stagesOf(path: URL | string): Stages | undefined {
  const recipe = join(dirname(typeof path === "string" ? path : fileURLToPath(path)), RECIPE);
  if (!existsSync(recipe)) return undefined;
  const open = openSync(path, "r");
  let stages: Stages | undefined;
  try {
    stages = readStages(readFileSync(recipe), fstatSync(open).size, (room, place) => {
      if (readSync(open, room, { position: place }) !== room.length) throw new Error(`${FILE} ends early`);
    });
  } finally {
    if (stages === undefined) closeSync(open);
  }
  return stages;
}

/**
 * Where the module is: in this package, or where a bundler that knows `new URL` put it; beside a bundle; or in the package as it
 * is installed, if this script was bundled without it.
 */
function moduleFile(): URL | string {
  const ours = import.meta.url === undefined ? undefined : new URL("../wasm/core_bg.wasm", import.meta.url);
  if (ours !== undefined && existsSync(ours)) return ours;
  const address = import.meta.url === undefined ? __filename : fileURLToPath(import.meta.url);
  const own = import.meta.filename ?? address;
  const beside = join(dirname(own), FILE);
  if (existsSync(beside)) return beside;
  const installed = installedFile([own, address]);
  if (installed !== undefined) return installed;
  const place = ours === undefined ? "installed" : `at ${ours.href}`;
  throw new Error(`${FILE} is neither ${place} nor beside this script: copy it from @brooklet/core/core.wasm`);
}

/**
 * Where the module is installed; some installers show a project this package by way of the one that needs it alone. webpack writes into a bundle
 * where this script was then, and the bundle may run elsewhere: there the program that runs knows what is installed.
 */
function installedFile(scripts: readonly string[]): string | undefined {
  // Taken so that no bundler looks for what is found when it runs.
  const { createRequire } = process.getBuiltinModule("node:module");
  const [, program = ""] = process.argv;
  for (const from of [...scripts, program]) {
    const ways = [() => createRequire(from), () => createRequire(createRequire(from).resolve("brooklet"))];
    for (const way of ways) {
      try {
        return way().resolve("@brooklet/core/core.wasm");
      } catch {
        // The next way.
      }
    }
  }
  return undefined;
}
