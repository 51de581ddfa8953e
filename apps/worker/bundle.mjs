/** Bundles the Worker as it is deployed: one script, and the core beside it. */
import { build } from "esbuild";

await build({
  entryPoints: ["src/worker.ts"],
  outdir: "dist/bundle",
  bundle: true,
  // Names stay, so that what the platform logs of a failure can be read.
  minifySyntax: true,
  minifyWhitespace: true,
  format: "esm",
  target: "es2023",
  conditions: ["workerd", "worker"],
  external: ["cloudflare:*"],
  // The platform compiles it when the Worker is deployed; nothing else may be compiled there.
  loader: { ".wasm": "copy" },
  assetNames: "[name]",
  legalComments: "none",
  logLevel: "warning",
});
