/** Whether stored bytes are what was sealed for their place, as a core says it. */
import { Core, instantiate } from "@brooklet/core";
import type { IsSealed } from "@brooklet/store/node";

const CACHE_BYTES: number = 1 << 20;

/** Asks a core of its own. */
export function sealing(): IsSealed {
  const core = new Core({ instantiate, cacheBytes: CACHE_BYTES, onTrap: () => undefined });
  return (key, segment, block, bytes) => core.isSealed(key, segment, block, bytes);
}
