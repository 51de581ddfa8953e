/** The core in a browser: the module is fetched from beside this script, or from where it is said to be. */
import { instantiate as instantiateModule } from "../wasm/core.js";
import type { RawInstance } from "./instance.ts";
import { moduleFailure } from "./module-failure.ts";

export * from "./index.ts";
export { moduleFailure } from "./module-failure.ts";

const WASM_TYPE = /^application\/wasm\b/;
const PAGE_TYPE = /^text\/html\b/;

let compiled: WebAssembly.Module | undefined;

/** Fetches and compiles the core's module, once; `instantiate` needs it. Nothing is fetched by an import alone. */
export async function loadModule(url?: string): Promise<void> {
  if (compiled !== undefined) return;
  // Written so that bundlers know the file.
  const from = url ?? new URL("../wasm/core_bg.wasm", import.meta.url);
  try {
    compiled = await compile(await fetch(from));
  } catch (cause) {
    throw moduleFailure("The core", absolute(String(from)), "open({ assets: { core } })", cause);
  }
}

async function compile(response: Response): Promise<WebAssembly.Module> {
  if (!response.ok) throw new Error(`it answered ${response.status}`);
  const type = response.headers.get("content-type") ?? "";
  // While it arrives, where the server says what it is.
  if (WASM_TYPE.test(type)) return await WebAssembly.compileStreaming(response);
  // Servers of applications answer with their page what they do not have.
  if (PAGE_TYPE.test(type)) throw new Error(`it answered ${type}, which is no WebAssembly`);
  return await WebAssembly.compile(await response.arrayBuffer());
}

/** An address as it was asked for: a worker has its own folder. */
function absolute(url: string): string {
  return URL.canParse(url, globalThis.location?.href) ? new URL(url, globalThis.location?.href).href : url;
}

/** Makes an instance of the core's module. */
export function instantiate(): RawInstance {
  if (compiled === undefined) throw new Error("the core's module is not loaded: await loadModule() first");
  return instantiateModule(compiled);
}
