/**
 * `npm run release`: packs every package, checks what was packed, and rehearses its publication.
 *   --publish         publishes instead, with provenance: only a workflow that has an identity can
 *   --to FOLDER       where the tarballs are left; a folder that goes away unless it is said
 *   --version X.Y.Z   only writes that version everywhere, and gives the changes of CHANGELOG.md to it
 * All packages have one version, and are published in the order of their dependencies (docs/decisions/0050).
 */
import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import process from "node:process";
import { parseArgs } from "node:util";
import { problemsOf, publishedPackages, root } from "./packages.mjs";
import { rehearsalProblems } from "./rehearsal.mjs";
import { packPackages, tarballProblems } from "./tarballs.mjs";
import { textsWith } from "./versions.mjs";

const npm = process.platform === "win32" ? "npm.cmd" : "npm";
const { values: options } = parseArgs({
  options: { publish: { type: "boolean" }, to: { type: "string" }, version: { type: "string" } },
});

/** Writes a version wherever one stands, and the date above the changes that come with it. */
function writeVersion(version) {
  // All texts are made before one is written.
  const texts = textsWith(version, new Date().toISOString().slice(0, 10));
  for (const [path, text] of texts) writeFileSync(join(root, path), text);
  // Both lock files follow.
  execFileSync(npm, ["install", "--package-lock-only"], {
    cwd: root,
    stdio: "inherit",
    shell: process.platform === "win32",
  });
  execFileSync("cargo", ["update", "--workspace"], { cwd: root, stdio: "inherit" });
}

/** Packs and checks; what is wrong is printed. The tarballs, if nothing is. */
async function checkedTarballs(folder) {
  const packages = publishedPackages();
  const problems = [...problemsOf(packages)];
  const notices = spawnSync(process.execPath, [join(root, "tools/release/notices.mjs"), "--check"], {
    encoding: "utf8",
  });
  if (notices.status !== 0) problems.push(notices.stderr.trim());
  const sizes = JSON.parse(readFileSync(join(root, "tools/sizes.json"), "utf8"));
  const tarballs = await packPackages(packages, folder);
  for (const tarball of tarballs) {
    problems.push(...(await tarballProblems(tarball, sizes)));
    console.log(`${tarball.name} ${tarball.manifest.version}: ${tarball.bytes} bytes, ${tarball.files.length} files`);
  }
  for (const problem of problems) console.error(problem);
  return problems.length === 0 ? tarballs : undefined;
}

/** Publishes with provenance; true if npm took each. What is tried before a release is not what `npm install` takes. */
function publish(tarballs) {
  return tarballs.every(({ name, path, manifest }) => {
    const tag = manifest.version.includes("-") ? "next" : "latest";
    const words = ["publish", path, "--access", "public", "--tag", tag, "--provenance"];
    const { status } = spawnSync(npm, words, { cwd: root, stdio: "inherit", shell: process.platform === "win32" });
    if (status !== 0) console.error(`${name}: npm publish ended with ${status}`);
    return status === 0;
  });
}

/** Does all of it but the publication; true if npm warned of nothing. */
function rehearse(tarballs) {
  const problems = rehearsalProblems(tarballs);
  for (const problem of problems) console.error(problem);
  if (problems.length === 0) console.log(`npm publish --dry-run of ${tarballs.length} packages: no warning`);
  return problems.length === 0;
}

if (options.version !== undefined) {
  writeVersion(options.version);
} else {
  const folder = options.to === undefined ? mkdtempSync(join(tmpdir(), "brooklet-release-")) : resolve(options.to);
  mkdirSync(folder, { recursive: true });
  try {
    const tarballs = await checkedTarballs(folder);
    const send = options.publish === true ? publish : rehearse;
    if (tarballs === undefined || !send(tarballs)) process.exitCode = 1;
  } finally {
    if (options.to === undefined) rmSync(folder, { recursive: true });
  }
}
