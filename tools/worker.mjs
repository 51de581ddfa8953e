/** How a Worker is bundled: the one that is deployed, and those that tests make. */
import { build } from "esbuild";

/**
 * What a Worker of ours is bundled with, for whichever entry. The platform compiles WASM when a Worker is deployed, and nothing else
 * may be compiled there: the core stays a file of its own.
 * @type {import("esbuild").BuildOptions}
 */
export const WORKER_BUNDLE = {
  bundle: true,
  format: "esm",
  target: "es2023",
  conditions: ["workerd", "worker"],
  external: ["cloudflare:*"],
  loader: { ".wasm": "copy" },
  assetNames: "[name]",
};

/**
 * Bundles a Worker for miniflare, whose options it gives but for the bindings.
 * @param {string} entry
 */
export async function workerModules(entry) {
  const modulesRoot = "/bundle";
  const { outputFiles } = await build({
    ...WORKER_BUNDLE,
    entryPoints: [entry],
    outdir: modulesRoot,
    write: false,
    logLevel: "error",
  });
  const modules = outputFiles
    .sort((left) => (left.path.endsWith(".js") ? -1 : 1))
    .map(({ path, contents, text }) =>
      path.endsWith(".wasm")
        ? { type: /** @type {const} */ ("CompiledWasm"), path, contents: Buffer.from(contents) }
        : { type: /** @type {const} */ ("ESModule"), path, contents: text },
    );
  return { modulesRoot, modules, compatibilityDate: "2026-04-01" };
}
