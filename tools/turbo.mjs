/**
 * `node tools/turbo.mjs TASK…`: turbo without telemetry and update checks, on every platform, so that a build asks
 * nobody anything. The graph itself is turbo.json.
 */
import { spawnSync } from "node:child_process";
import { createRequire } from "node:module";

const turbo = createRequire(import.meta.url).resolve("turbo/bin/turbo");
const quiet = { TURBO_TELEMETRY_DISABLED: "1", TURBO_NO_UPDATE_NOTIFIER: "1", DO_NOT_TRACK: "1" };
const arguments_ = [turbo, "run", ...process.argv.slice(2)];
const { status, error } = spawnSync(process.execPath, arguments_, {
  stdio: "inherit",
  env: { ...process.env, ...quiet },
});
if (error !== undefined) throw error;
process.exitCode = status ?? 1;
