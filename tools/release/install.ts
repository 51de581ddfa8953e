/**
 * Before the tests of what is published: everything is packed, and the tarballs are installed with npm in an empty project
 * outside of the workspace, without running scripts. The binary of better-sqlite3 is then copied from the workspace: to
 * compile it takes minutes, and it is not what is tested.
 */
import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import type { TestProject } from "vitest/node";
import { publishedPackages, root } from "./packages.mjs";
import { packPackages, type Tarball } from "./tarballs.mjs";

declare module "vitest" {
  interface ProvidedContext {
    /** What was packed. */
    tarballs: readonly Tarball[];
    /** A project in which everything is installed. */
    project: string;
    /** A folder that goes away after the tests. */
    scratch: string;
  }
}

/** What a project of TypeScript has beside, and what the packages leave to whoever uses their entry. */
export const COMPANIONS: readonly string[] = [
  "typescript@6.0.3",
  "@types/node@20",
  "@types/better-sqlite3@7",
  "ai@6.0.326",
];

/** Runs npm in a folder; what it prints is the error, if it fails. */
export function npm(folder: string, ...words: readonly string[]): void {
  const isWindows = process.platform === "win32";
  const program = isWindows ? "npm.cmd" : "npm";
  execFileSync(program, words, { cwd: folder, shell: isWindows, stdio: "pipe" });
}

/** An empty project of ECMAScript modules. */
export function emptyProject(folder: string, more: object = {}): string {
  mkdirSync(folder, { recursive: true });
  const manifest = { name: "stranger", private: true, type: "module", ...more };
  writeFileSync(join(folder, "package.json"), JSON.stringify(manifest));
  return folder;
}

/** Puts the workspace's binary of better-sqlite3 beside the library of a project that was installed without scripts. */
export function addSqliteBinary(library: string): void {
  const build = join(root, "node_modules", "better-sqlite3", "build");
  if (existsSync(build)) cpSync(build, join(realpathSync(library), "build"), { recursive: true });
}

/** Packs and installs; what it returns removes all of it. */
export async function setup({ provide }: TestProject): Promise<() => void> {
  const scratch = mkdtempSync(join(tmpdir(), "brooklet-packages-"));
  const folder = join(scratch, "tarballs");
  mkdirSync(folder);
  const tarballs = await packPackages(publishedPackages(), folder);
  const project = emptyProject(join(scratch, "project"));
  const paths = tarballs.map(({ path }) => path);
  npm(project, "install", "--ignore-scripts", "--prefer-offline", "--no-audit", "--no-fund", ...paths, ...COMPANIONS);
  addSqliteBinary(join(project, "node_modules/better-sqlite3"));
  provide("tarballs", tarballs);
  provide("project", project);
  provide("scratch", scratch);
  return () => rmSync(scratch, { recursive: true, force: true });
}
