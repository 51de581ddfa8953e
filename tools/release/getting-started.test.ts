/**
 * docs/getting-started.md as a stranger follows it: in an empty folder, its commands typed one after the other, with the real `npx` and
 * what was packed in place of the registry.
 */
import { spawn } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { expect, inject, test } from "vitest";
import { type Fence, fencesOf, isExpected } from "../../apps/site/samples/fences.mjs";
import { freePort } from "../free-port.mjs";
import { addSqliteBinary, npm } from "./install.ts";
import { root } from "./packages.mjs";

const PAGE = "docs/getting-started.md";
const MARK = "next fence";
const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
/** Node reads TypeScript from here on; before, the page says what to take. */
const READS_TYPESCRIPT = major > 22 || (major === 22 && minor >= 18);

/** Runs a script with all it starts in the background; what it printed, by fence. */
async function typed(script: string, folder: string): Promise<readonly string[]> {
  const env = Object.fromEntries(
    Object.entries({ ...process.env, NO_COLOR: "1" }).filter(
      ([name]) => !/^(BROOKLET_|VITEST|NODE_OPTIONS)/.test(name),
    ),
  );
  const shell = spawn("bash", ["-c", script], { cwd: folder, env, detached: true, stdio: ["ignore", "pipe", "pipe"] });
  let [printed, complaints] = ["", ""];
  shell.stdout.on("data", (part) => (printed += String(part)));
  shell.stderr.on("data", (part) => (complaints += String(part)));
  const code = await new Promise((resolve) => shell.once("exit", resolve));
  expect(code, complaints).toBe(0);
  return printed.split(`${MARK}\n`);
}

test.skipIf(process.platform === "win32")(
  "every command works as it stands, and prints what stands there",
  async () => {
    const folder = join(inject("scratch"), "getting-started");
    mkdirSync(folder);
    npm(folder, "init", "-y");
    npm(folder, "pkg", "set", "type=module");
    const paths = inject("tarballs").map(({ path }) => path);
    const more = READS_TYPESCRIPT ? [] : ["tsx@4"];
    npm(folder, "install", "--ignore-scripts", "--prefer-offline", "--no-audit", "--no-fund", ...paths, ...more);
    addSqliteBinary(join(folder, "node_modules/better-sqlite3"));
    const fences = fencesOf(PAGE, readFileSync(join(root, PAGE), "utf8"));
    for (const { file, code } of fences) if (file !== undefined) writeFileSync(join(folder, file), code);
    const commands: readonly Fence[] = fences.filter(({ language, kind }) => language === "sh" && kind === "run");
    expect(commands.length).toBeGreaterThan(3);
    const port = String(await freePort());
    const lines = commands.map(({ code }) => {
      const own = code.replaceAll("8080", port);
      return `${READS_TYPESCRIPT ? own : own.replaceAll(/\bnode (\w+\.ts)/g, "npx tsx $1")}\necho '${MARK}'`;
    });
    // The page ends the server, and what fails before that must not leave it; jobs have groups of their own, as where somebody types.
    const printed = await typed(["set -em", "trap 'kill %1 2> /dev/null || true' EXIT", ...lines].join("\n"), folder);
    for (const [index, { line, expected, code }] of commands.entries())
      if (expected !== undefined)
        expect([line, code, printed[index], isExpected(expected, printed[index] ?? "")]).toEqual([
          line,
          code,
          printed[index],
          true,
        ]);
  },
);
