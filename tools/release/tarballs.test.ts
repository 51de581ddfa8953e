/** That every package could be published: its manifest, its notices, and its tarball as publint, attw and the budgets see it. */
import { execFileSync, spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { describe, expect, inject, test } from "vitest";
import sizes from "../sizes.json" with { type: "json" };
import { problemsOf, publishedPackages, readManifest, root } from "./packages.mjs";
import { tarballProblems } from "./tarballs.mjs";
import { manifestFolders, releaseChangelog, textsWith, withVersion } from "./versions.mjs";

const packages = publishedPackages();

test("every package is found, those it depends on first", () => {
  const names = packages.map(({ name }) => name);
  expect(names).toHaveLength(13);
  expect(names.at(-1)).toBe("brooklet");
  expect(names.indexOf("@brooklet/wire")).toBeLessThan(names.indexOf("@brooklet/client"));
});

test("manifests have what the registry shows, and one version", () => expect(problemsOf(packages)).toEqual([]));

test("what a manifest lacks is found", () => {
  const [first, ...others] = packages;
  if (first === undefined) throw new Error("no packages");
  const lacking = { ...first, manifest: { ...first.manifest, bugs: undefined, keywords: [], version: "9.9.9" } };
  const problems = problemsOf([lacking, ...others]);
  expect(problems.some((problem) => problem.startsWith("the packages have several versions"))).toBe(true);
  expect(problems.filter((problem) => problem.startsWith(`${first.name}: `))).toHaveLength(2);
});

test("LICENSE and NOTICE are current", () => {
  const { stderr, status } = spawnSync(process.execPath, [join(root, "tools/release/notices.mjs"), "--check"], {
    encoding: "utf8",
  });
  expect({ stderr, status }).toMatchObject({ stderr: "", status: 0 });
});

describe.each(inject("tarballs").map((tarball) => [tarball.name, tarball] as const))("%s", (_, tarball) => {
  test("is clean for publint and attw, within its budget, and has the sources of its maps", async () => {
    expect(await tarballProblems(tarball, sizes)).toEqual([]);
  });
});

test("a tarball is refused that is larger than it may be, or has an entry without types", async () => {
  const [tarball] = inject("tarballs");
  if (tarball === undefined) throw new Error("nothing is packed");
  const broken = { ...tarball, manifest: { ...tarball.manifest, exports: { "./nothing": "./dist/nothing.js" } } };
  const problems = await tarballProblems(broken, { tarballKilobytes: { [tarball.name]: 1 } });
  expect(problems.some((problem) => problem.includes("of 1 KB at most"))).toBe(true);
  expect(problems.some((problem) => problem.includes("attw: "))).toBe(true);
});

describe("a release", () => {
  test("gives its version to a manifest and to what that names of this house", () => {
    const text = '{"name":"a","version":"0.1.0","dependencies":{"b":"0.1.0","zod":"^4"}}';
    expect(JSON.parse(withVersion(text, "0.2.0", new Set(["a", "b"])))).toEqual({
      name: "a",
      version: "0.2.0",
      dependencies: { b: "0.2.0", zod: "^4" },
    });
    expect(() => withVersion(text, "next", new Set())).toThrow("is no version");
  });

  test("is written wherever one stands, and nowhere else is one", () => {
    const changes = readFileSync(join(root, "CHANGELOG.md"), "utf8").replace(
      "## Unreleased\n",
      "## Unreleased\n\n* This.\n",
    );
    const texts = textsWith("9.9.9", "2026-01-02", changes);
    const names = new Set(manifestFolders().map((folder) => readManifest(folder).name));
    for (const folder of manifestFolders()) {
      const manifest = JSON.parse(texts.get(`${folder}/package.json`) ?? "");
      const all = { ...manifest.dependencies, ...manifest.devDependencies, ...manifest.peerDependencies };
      const others = Object.entries(all).filter(([name, version]) => names.has(name) && version !== "9.9.9");
      expect([folder, manifest.version, others]).toEqual([folder, "9.9.9", []]);
    }
    const { version } = readManifest("packages/brooklet");
    const said = new RegExp(
      `"${version.replaceAll(".", String.raw`\.`)}"|^${version.replaceAll(".", String.raw`\.`)}$`,
      "m",
    );
    const files = execFileSync("git", ["ls-files", "packages", "apps", "examples", "docs", "Cargo.toml"], {
      cwd: root,
      encoding: "utf8",
    })
      .split("\n")
      .filter((path) => /\.(ts|mjs|json|md|toml|jsonc)$/.test(path) && !path.startsWith("packages/store/test/data"));
    const others = files.filter((path) => !texts.has(path) && said.test(readFileSync(join(root, path), "utf8")));
    expect(others).toEqual([]);
    for (const path of ["Cargo.toml", "packages/adapters/src/version.ts"]) expect(texts.get(path)).toContain('"9.9.9"');
    expect(texts.get("CHANGELOG.md")).toContain("## 9.9.9 (2026-01-02)");
  });

  test("puts its name above the changes", () => {
    const text = "# Changelog\n\n## Unreleased\n\n* a\n\n## 0.1.0\n";
    const released = "# Changelog\n\n## Unreleased\n\n## 0.2.0 (2026-01-02)\n\n* a\n\n## 0.1.0\n";
    expect(releaseChangelog(text, "0.2.0", "2026-01-02")).toBe(released);
    const inParts = text.replace("## Unreleased\n", "## Unreleased\n\n### The edge\n");
    expect(releaseChangelog(inParts, "0.2.0", "2026-01-02")).toContain("## 0.2.0 (2026-01-02)\n\n### The edge\n");
    expect(() => releaseChangelog("# Changelog\n\n## Unreleased\n\n## 0.1.0\n\n* First.\n", "0.2.0", "")).toThrow(
      "nothing",
    );
  });
});
