/**
 * Known weaknesses of what is installed: `npm run advisories`. Fails for one of severity high or above in a dependency of the
 * published packages, or for one in a crate (by cargo-deny, where it is installed). Where the advisories cannot be reached
 * nothing is known, which is said, and is no failure.
 */
import { spawnSync } from "node:child_process";
import process from "node:process";
import { fileURLToPath } from "node:url";

const SEVERITIES = ["high", "critical"];
const cwd = fileURLToPath(new URL("..", import.meta.url));
const options = /** @type {const} */ ({ cwd, encoding: "utf8", timeout: 300_000 });

/** @param {string} message */
const unknown = (message) => console.log(`not known: ${message}`);

/** @returns {boolean} whether none was found */
function packages() {
  const { stdout } = spawnSync("npm", ["audit", "--omit=dev", "--json"], options);
  /** @type {{ vulnerabilities?: Record<string, { severity: string, via: readonly unknown[] }>, message?: string, error?: { summary?: string } }} */
  let report;
  try {
    report = JSON.parse(stdout);
  } catch {
    report = {};
  }
  if (report.vulnerabilities === undefined) {
    unknown(`npm audit: ${report.message ?? report.error?.summary ?? "no answer"}`);
    return true;
  }
  const bad = Object.entries(report.vulnerabilities).filter(([, { severity }]) => SEVERITIES.includes(severity));
  for (const [name, { severity, via }] of bad) console.log(`${name}: ${severity}: ${JSON.stringify(via)}`);
  console.log(`npm: ${bad.length} of severity ${SEVERITIES.join(" or ")}`);
  return bad.length === 0;
}

/** @returns {boolean} whether none was found */
function crates() {
  if (spawnSync("cargo", ["deny", "--version"], options).status !== 0) {
    unknown("crates: cargo-deny is not installed");
    return true;
  }
  const fetched = spawnSync("cargo", ["deny", "fetch", "db"], options);
  if (fetched.status !== 0) {
    unknown(`crates: ${fetched.stderr.trim().split("\n").at(-1)}`);
    return true;
  }
  const { status, stderr } = spawnSync("cargo", ["deny", "check", "advisories"], options);
  console.log(stderr.trim());
  return status === 0;
}

const found = [packages(), crates()];
process.exitCode = found.every(Boolean) ? 0 : 1;
