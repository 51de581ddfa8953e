/** The core on Node: the module is read and compiled once for each thread. */
import { readFileSync } from "node:fs";
import { instantiate as instantiateModule } from "../wasm/core.js";
import type { RawInstance } from "./instance.ts";

export * from "./index.ts";

let compiled: WebAssembly.Module | undefined;

/** Makes an instance of the core's module. */
export function instantiate(): RawInstance {
  compiled ??= new WebAssembly.Module(readFileSync(new URL("../wasm/core_bg.wasm", import.meta.url)));
  return instantiateModule(compiled);
}
