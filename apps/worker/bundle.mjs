/** Bundles the Worker as it is deployed: one script, and the core beside it. */
import { build } from "esbuild";
import { WORKER_BUNDLE } from "../../tools/worker.mjs";

await build({
  ...WORKER_BUNDLE,
  entryPoints: ["src/worker.ts"],
  outdir: "dist/bundle",
  // What the platform logs of a failure is read with the map, which is uploaded beside the script and no part of it. Names kept in the script
  // would be set anew on every closure that is made: a dozen definitions of properties a query.
  minify: true,
  sourcemap: "linked",
  legalComments: "none",
  logLevel: "warning",
});
