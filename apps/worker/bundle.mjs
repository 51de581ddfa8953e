/** Bundles the Worker as it is deployed: one script, and the core beside it. */
import { build } from "esbuild";
import { WORKER_BUNDLE } from "../../tools/worker.mjs";

await build({
  ...WORKER_BUNDLE,
  entryPoints: ["src/worker.ts"],
  outdir: "dist/bundle",
  // Names of functions and classes stay, so that what the platform logs of a failure can be read.
  minify: true,
  keepNames: true,
  legalComments: "none",
  logLevel: "warning",
});
