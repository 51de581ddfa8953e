/** Where the sources are is said in one place, `packages.mjs`; whatever else names the repository names that. */
import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";
import { ADDRESS, root } from "./packages.mjs";

test("every file that names the repository names the same address", () => {
  const words = [
    "grep",
    "-IhoE",
    "github\\.com/[[:alnum:]_-]+/brooklet([^[:alnum:]_-]|$)",
    "--",
    ":!tools/release/*.test.ts",
  ];
  const found = execFileSync("git", words, { cwd: root, encoding: "utf8" }).trim().split("\n");
  const named = found.map((text) => `https://${/^.*\/brooklet/.exec(text)?.[0]}`);
  expect(named.length).toBeGreaterThan(30);
  expect(new Set(named)).toEqual(new Set([ADDRESS]));
});
