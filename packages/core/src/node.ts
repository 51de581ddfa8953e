/** The core on Node: the module is read and compiled once for each thread. */
import { readFileSync } from "node:fs";
import { instantiate as instantiateModule } from "../wasm/core.js";
import type { RawInstance } from "./instance.ts";

export * from "./index.ts";

let compiled: WebAssembly.Module | undefined;

/** Reads and compiles the core's module, once. Throws if it is not there, or cannot be run here. */
export function loadModule(): WebAssembly.Module {
  compiled ??= new WebAssembly.Module(readFileSync(new URL("../wasm/core_bg.wasm", import.meta.url)));
  return compiled;
}

/** Makes an instance of the core's module. */
export function instantiate(): RawInstance {
  return instantiateModule(loadModule());
}
