/** The core in a browser: the module is fetched from beside this script. */
import { instantiate as instantiateModule } from "../wasm/core.js";
import type { RawInstance } from "./instance.ts";

export * from "./index.ts";

const compiled = await WebAssembly.compileStreaming(fetch(new URL("../wasm/core_bg.wasm", import.meta.url)));

/** Makes an instance of the core's module. */
export function instantiate(): RawInstance {
  return instantiateModule(compiled);
}
