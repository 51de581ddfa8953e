/** Bundles the Worker as it is deployed: one script, and the core beside it. */
import { readFileSync, writeFileSync } from "node:fs";
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

const CORE = "dist/bundle/core_bg.wasm";
const HEADER_BYTES = 8;
/** Sections of what made the module, which nobody reads there: they cost 0.3 kB of what is uploaded. */
const UNREAD = ["producers", "target_features"];

/** The parts of a module without those sections. A section is its kind, its length and its bytes, which begin with a name where the kind is 0. */
function read(/** @type {Buffer} */ module) {
  const kept = [module.subarray(0, HEADER_BYTES)];
  for (let at = HEADER_BYTES; at < module.length; ) {
    let [length, end] = [0, at + 1];
    for (let shift = 1; ; shift *= 128) {
      const byte = module[end++] ?? 0;
      length += (byte & 127) * shift;
      if (byte < 128) break;
    }
    const name = module.subarray(end + 1, end + 1 + (module[end] ?? 0)).toString();
    end += length;
    if (module[at] !== 0 || !UNREAD.includes(name)) kept.push(module.subarray(at, end));
    at = end;
  }
  return Buffer.concat(kept);
}

writeFileSync(CORE, read(readFileSync(CORE)));
