/**
 * `node tools/pictures.mjs [NAME…]`: makes the pictures that documents show anew, all of them or those whose names begin so. The tests of the
 * pages take them (picture.ts); those that no document shows are thrown away. Needs a browser, and everything built.
 */
import { execFileSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";

const root = resolve(dirname(fileURLToPath(import.meta.url)), "..");
const FOLDER = join(root, "docs/pictures");
/** Where each picture is taken, by the beginning of its name. */
const TESTS = {
  site: ["apps/site", "test/site.test.ts"],
  playground: ["apps/site", "test/site.test.ts"],
  benchmarks: ["apps/site", "test/site.test.ts"],
  console: ["packages/brooklet", "test/console.test.ts"],
  "mail-assistant": ["examples/mail-assistant", "test/page.test.ts"],
  "browser-notes": ["examples/browser-notes", "test/page.test.ts"],
  "next-notes": ["examples/next-notes", "test/page.test.ts"],
};

/** Names of the pictures that documents show. */
function shownPictures() {
  const listed = execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard", "*.md"], { cwd: root });
  const documents = listed
    .toString()
    .split("\n")
    .filter((path) => path !== "" && existsSync(join(root, path)));
  const names = documents.flatMap((path) =>
    [...readFileSync(join(root, path), "utf8").matchAll(/\bpictures\/([\w-]+)\.webp\b/g)].map(([, name = ""]) => name),
  );
  return [...new Set(names)].sort();
}

const wanted = process.argv.slice(2);
const shown = shownPictures().filter((name) => wanted.length === 0 || wanted.some((one) => name.startsWith(one)));
const taken = mkdtempSync(join(tmpdir(), "brooklet-pictures-"));
try {
  const tests = Object.entries(TESTS).filter(([kind]) => shown.some((name) => name.startsWith(kind)));
  for (const [workspace, file] of new Map(tests.map(([, test]) => [test.join("/"), test])).values()) {
    const words = [join(root, "node_modules/vitest/vitest.mjs"), "run", "--root", join(root, workspace), file];
    const env = { ...process.env, BROOKLET_SCREENSHOTS: taken, BROOKLET_BROWSER: "required" };
    execFileSync(process.execPath, words, { cwd: root, env, stdio: "inherit" });
  }
  mkdirSync(FOLDER, { recursive: true });
  const missing = shown.filter((name) => !existsSync(join(taken, `${name}.webp`)));
  for (const name of shown.filter((one) => !missing.includes(one)))
    copyFileSync(join(taken, `${name}.webp`), join(FOLDER, `${name}.webp`));
  console.log(`${shown.length - missing.length} pictures`);
  for (const name of missing) console.error(`No test takes ${name}.webp`);
  if (missing.length > 0) process.exitCode = 1;
} finally {
  rmSync(taken, { recursive: true });
}
