/** What is uploaded: its size, and that it needs nothing but what the platform has. */
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";

const BUNDLE: string = fileURLToPath(new URL("../dist/bundle/", import.meta.url));
/** The platform takes 3 MB of a free account, compressed. */
const BYTES_MAX = 2_600_000;

test("the Worker and the core are at most 2.6 MB compressed", () => {
  const files = readdirSync(BUNDLE).sort();
  expect(files).toEqual(["core_bg.wasm", "worker.js"]);
  const sizes = files.map((name) => gzipSync(readFileSync(BUNDLE + name), { level: 9 }).length);
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(BYTES_MAX);
});

test("the script imports the core and the platform, and nothing of Node", () => {
  const script = readFileSync(`${BUNDLE}worker.js`, "utf8");
  const imported = [...script.matchAll(/(?:^|[;}])import[\w$*{},\s]*(?:\bfrom)?"([^"]+)"/gm)].map(([, name]) => name);
  expect([...new Set(imported)].sort()).toEqual(["./core_bg.wasm", "cloudflare:workers"]);
  expect(script).not.toMatch(/["']node:|\brequire\(/);
});
