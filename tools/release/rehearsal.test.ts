/** That npm would publish every tarball without a warning, and that a warning would be found. */
import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, inject, test } from "vitest";
import { publishedPackages } from "./packages.mjs";
import { rehearsalProblems } from "./rehearsal.mjs";

test("every package is published without a warning", () => {
  const tarballs = inject("tarballs");
  expect(tarballs.map(({ name }) => name)).toEqual(publishedPackages().map(({ name }) => name));
  expect(rehearsalProblems(tarballs)).toEqual([]);
});

test.each([
  [
    "what npm would correct",
    { name: "corrected", version: "0.1.0", bin: "./command.js" },
    /auto-corrected some errors/,
  ],
  ["what npm refuses", { name: "No Name", version: "0.1.0" }, /Invalid name/],
] as const)("%s is found", (_, manifest, said) => {
  const folder = join(inject("scratch"), manifest.name);
  mkdirSync(join(folder, "package"), { recursive: true });
  writeFileSync(join(folder, "package/package.json"), JSON.stringify(manifest));
  writeFileSync(join(folder, "package/command.js"), "");
  execFileSync("tar", ["-czf", "one.tgz", "package"], { cwd: folder });
  const problems = rehearsalProblems([{ name: manifest.name, path: join(folder, "one.tgz") }]);
  expect(problems.join("\n")).toMatch(said);
});
