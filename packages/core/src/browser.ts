/** The core in a browser: the module is fetched from beside this script, or from where it is said to be. */
import { instantiate as instantiateModule } from "../wasm/core.js";
import type { RawInstance } from "./instance.ts";

export * from "./index.ts";

const WASM_TYPE = /^application\/wasm\b/;

let compiled: WebAssembly.Module | undefined;

/** Fetches and compiles the core's module, once; `instantiate` needs it. Nothing is fetched by an import alone. */
export async function loadModule(url?: string): Promise<void> {
  if (compiled !== undefined) return;
  // Written so that bundlers know the file.
  const response = await fetch(url ?? new URL("../wasm/core_bg.wasm", import.meta.url));
  if (!response.ok) throw new Error(`${response.url} answered ${response.status}`);
  // While it arrives, where the server says what it is.
  const isStreamed = WASM_TYPE.test(response.headers.get("content-type") ?? "");
  compiled = isStreamed
    ? await WebAssembly.compileStreaming(response)
    : await WebAssembly.compile(await response.arrayBuffer());
}

/** Makes an instance of the core's module. */
export function instantiate(): RawInstance {
  if (compiled === undefined) throw new Error("the core's module is not loaded: await loadModule() first");
  return instantiateModule(compiled);
}
