/** The Worker on this machine, in the runtime that the platform has too: no account and no network. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { Miniflare } from "miniflare";

const BUNDLE = fileURLToPath(new URL("../dist/bundle/", import.meta.url));
const CORE = "core_bg.wasm";

/**
 * Starts it. `persist`: a folder where the objects are kept; without one they are in memory and end with it. `port`: where it
 * listens on this machine; without one on any that is free.
 */
export function startWorkerd({ persist, port = 0 } = {}) {
  const object = (className) => ({ className, useSQLite: true });
  return new Miniflare({
    host: "127.0.0.1",
    port,
    modulesRoot: BUNDLE,
    modules: [
      { type: "ESModule", path: `${BUNDLE}worker.js`, contents: readFileSync(`${BUNDLE}worker.js`, "utf8") },
      { type: "CompiledWasm", path: `${BUNDLE}${CORE}`, contents: readFileSync(`${BUNDLE}${CORE}`) },
    ],
    compatibilityDate: "2026-04-01",
    durableObjects: { GROUP: object("Group"), DIRECTORY: object("Directory"), REGISTRY: object("Registry") },
    ...(persist !== undefined && { durableObjectsPersist: persist }),
  });
}
