/** `npm run deploy` without an account and without a network: everything but the upload, and what would be uploaded is what is tested. */
import { execFile } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { COMPATIBILITY_FLAGS } from "../src/node/workerd.ts";

const FOLDER: string = fileURLToPath(new URL("../", import.meta.url));
/** Nobody listens there. */
const NOWHERE = "http://127.0.0.1:9";
const WRANGLER: string = join(
  dirname(createRequire(import.meta.url).resolve("wrangler/package.json")),
  "bin/wrangler.js",
);
/** What a Worker may have, compressed, in an account that is free. */
const KIB_MAX = 3 << 10;

async function dryRun(): Promise<{ readonly said: string; readonly out: string }> {
  const home = mkdtempSync(join(tmpdir(), "brooklet-deploy-"));
  onTestFinished(() => rmSync(home, { recursive: true }));
  const out = join(home, "out");
  const env = {
    PATH: process.env["PATH"],
    ...{ HOME: home, XDG_CONFIG_HOME: home, WRANGLER_LOG_PATH: home, WRANGLER_SEND_METRICS: "false", CI: "true" },
    ...{ HTTP_PROXY: NOWHERE, HTTPS_PROXY: NOWHERE, npm_config_registry: NOWHERE },
  };
  const words = [WRANGLER, "deploy", "--dry-run", "--outdir", out];
  const { stdout, stderr } = await promisify(execFile)(process.execPath, words, { cwd: FOLDER, env });
  return { said: stdout + stderr, out };
}

test("what is uploaded is the bundle, with its objects, within the limit of a free account", async () => {
  const { said, out } = await dryRun();
  expect(said).toContain("--dry-run: exiting now");
  // But for the addresses where nobody listens.
  expect(said.replace(/^.*Proxy environment variables detected.*$/m, "")).not.toMatch(/warning|error/i);
  for (const binding of ["env.GROUP (Group)", "env.DIRECTORY (Directory)", "env.REGISTRY (Registry)"])
    expect(said).toContain(binding);
  expect(said).toMatch(/core_bg\.wasm[^\n]*compiled-wasm/);
  const [, kib] = /gzip: ([\d.]+) KiB/.exec(said) ?? [];
  expect(Number(kib)).toBeGreaterThan(0);
  expect(Number(kib)).toBeLessThanOrEqual(KIB_MAX);
  const bundle = join(FOLDER, "dist/bundle");
  // A map goes beside it, and only with a real upload.
  for (const name of readdirSync(bundle).filter((one) => !one.endsWith(".map"))) {
    expect(existsSync(join(out, name)), name).toBe(true);
    expect(readFileSync(join(out, name)).equals(readFileSync(join(bundle, name))), name).toBe(true);
  }
});

test("tests run with the platform's behaviour of the day that is deployed", () => {
  const configured = readFileSync(join(FOLDER, "wrangler.jsonc"), "utf8");
  const [, day] = /"compatibility_date": "([\d-]+)"/.exec(configured) ?? [];
  expect(configured).toContain(`"compatibility_flags": ${JSON.stringify(COMPATIBILITY_FLAGS)}`);
  for (const source of ["src/node/workerd.ts", "../../tools/worker.mjs"])
    expect(readFileSync(join(FOLDER, source), "utf8")).toContain(`"${day}"`);
});
