/**
 * The rehearsal of a publication: `npm publish --dry-run` of each tarball, whose warnings are problems, and of what is in it as
 * a folder: npm tells only of a folder what it would correct in the manifest. It runs in a folder without anybody's settings, so that npm
 * speaks of the package alone.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";

/** Said to whoever has no account at the registry, which a rehearsal does not need. */
const NO_ACCOUNT = /^npm warn publish This command requires you to be logged in to \S+ \(dry-run\)$/i;

/** What npm warns of or refuses, each as a sentence; nothing if every tarball could be published as it is. */
export function rehearsalProblems(tarballs) {
  const folder = mkdtempSync(join(tmpdir(), "brooklet-rehearsal-"));
  const settings = join(folder, "npmrc");
  writeFileSync(settings, "");
  // Settings of the npm that runs this script are in its environment, those of this repository too.
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^npm_config_/i.test(name)));
  const isWindows = process.platform === "win32";
  const options = /** @type {const} */ ({ cwd: folder, env, encoding: "utf8", shell: isWindows });
  const rehearse = (what) => {
    const words = ["publish", what, "--dry-run", "--ignore-scripts", "--access", "public", "--tag", "latest"];
    const { status, stderr } = spawnSync(isWindows ? "npm.cmd" : "npm", [...words, "--userconfig", settings], options);
    const warnings = stderr.split("\n").filter((line) => /^npm (warn|error)/i.test(line) && !NO_ACCOUNT.test(line));
    return status === 0 ? warnings : [...warnings, `npm publish ended with ${status}`];
  };
  try {
    return tarballs.flatMap(({ name, path }) => {
      const unpacked = join(folder, "package");
      rmSync(unpacked, { recursive: true, force: true });
      execFileSync("tar", ["-xzf", path], { cwd: folder });
      return [...rehearse(path), ...rehearse(unpacked)].map((problem) => `${name}: ${problem}`);
    });
  } finally {
    rmSync(folder, { recursive: true });
  }
}
