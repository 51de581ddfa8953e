/** What is uploaded: its size, and that it needs nothing but what the platform has. */
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { expect, test } from "vitest";
import { WORKER_BUNDLE } from "../../../tools/worker.mjs";

const BUNDLE: string = fileURLToPath(new URL("../dist/bundle/", import.meta.url));
const STACK: string = fileURLToPath(new URL("../stack.mjs", import.meta.url));
/** The platform takes 3 MB of a free account, compressed. */
const BYTES_MAX = 2_600_000;
const UPLOADED = ["core_bg.wasm", "worker.js"];

test("the Worker and the core are at most 2.6 MB compressed", () => {
  // What the platform reads its logs with is no part of the Worker.
  expect(readdirSync(BUNDLE).sort()).toEqual([...UPLOADED, "worker.js.map"]);
  const sizes = UPLOADED.map((name) => gzipSync(readFileSync(BUNDLE + name), { level: 9 }).length);
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(BYTES_MAX);
});

test("the script imports the core and the platform, and nothing of Node", () => {
  const script = readFileSync(`${BUNDLE}worker.js`, "utf8");
  const imported = [...script.matchAll(/(?:^|[;}])import[\w$*{},\s]*(?:\bfrom)?"([^"]+)"/gm)].map(([, name]) => name);
  expect([...new Set(imported)].sort()).toEqual(["./core_bg.wasm", "cloudflare:workers"]);
  expect(script).not.toMatch(/["']node:|\brequire\(/);
});

test.each([
  ["edge.md", 2],
  ["durable-object.md", 2],
])("samples of docs/%s import what a Worker can have", async (name, count) => {
  const guide = readFileSync(new URL(`../../../docs/${name}`, import.meta.url), "utf8");
  const samples = [...guide.matchAll(/^```ts.*\n(import [\s\S]*?)^```$/gm)].map(([, sample = ""]) => sample);
  expect(samples.length).toBeGreaterThanOrEqual(count);
  for (const contents of samples) {
    const stdin = { contents, loader: "ts", resolveDir: import.meta.dirname } as const;
    await build({ ...WORKER_BUNDLE, stdin, outdir: "/bundle", write: false, logLevel: "silent" });
  }
});

test("what is logged of a failure leads to the sources", () => {
  const script = readFileSync(`${BUNDLE}worker.js`, "utf8");
  expect(script.trimEnd().endsWith("//# sourceMappingURL=worker.js.map")).toBe(true);
  // Where a text of the Worker's own stands.
  const before = script.slice(0, script.indexOf("The Worker could not begin")).split("\n");
  const place = `worker.js:${before.length}:${(before.at(-1) ?? "").length + 1}`;
  const input = `Error: it failed\n    at Object.fetch (file:///bundle/${place})\n    at async elsewhere.js:1:2\n`;
  const told = execFileSync(process.execPath, [STACK], { input, encoding: "utf8" });
  const source = readFileSync(new URL("../src/worker.ts", import.meta.url), "utf8").split("\n");
  const line = source.findIndex((text) => text.includes("The Worker could not begin")) + 1;
  expect(line).toBeGreaterThan(0);
  expect(told).toMatch(new RegExp(`at Object\\.fetch \\(apps/worker/src/worker\\.ts:${line}:\\d+\\)`));
  expect(told).toContain("Error: it failed\n");
  expect(told).toContain("    at async elsewhere.js:1:2\n");
});
