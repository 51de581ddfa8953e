/** The core in workerd, where a module can only be imported, never compiled from bytes. */

import { instantiate as instantiateModule } from "../wasm/core.js";
import compiled from "../wasm/core_bg.wasm";
import type { RawInstance } from "./instance.ts";

export * from "./index.ts";

/** Makes an instance of the core's module. */
export function instantiate(): RawInstance {
  return instantiateModule(compiled);
}
