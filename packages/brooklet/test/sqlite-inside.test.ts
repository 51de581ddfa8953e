/** SQLite's library, whose scripts are inside of ours (docs/decisions/0185), beside what is installed and what a program loads itself. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";

const built = new URL("../dist/index.js", import.meta.url).href;
const LOADED = String.raw`/better-sqlite3.lib.database\.js$/`;

/** What a process prints that puts a document and finds it, and then does something else; `preload` is run before all of it. */
function printed(preload: string, then: string): unknown {
  const folder = mkdtempSync(join(tmpdir(), "brooklet-inside-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, "preload.cjs");
  writeFileSync(file, preload);
  const script = `import { createRequire } from "node:module";
    const { open, schema, text } = await import(${JSON.stringify(built)});
    const require = createRequire(${JSON.stringify(built)});
    const mail = schema("mail", { subject: text() });
    const alice = (await open({ schemas: [mail] })).group("alice");
    await alice.put(mail, "m1", { subject: "the invoice" });
    const search = async () => (await alice.search(mail, { text: "invoice" })).totalCount;
    if ((await search()) !== 1) throw new Error("not found");
    const loaded = Object.keys(require.cache).some((file) => ${LOADED}.test(file));
    ${then}
    process.exit();`;
  const words = ["--require", file, "--input-type=module", "--eval", script];
  const cwd = fileURLToPath(new URL("..", import.meta.url));
  return JSON.parse(execFileSync(process.execPath, words, { cwd }).toString());
}

test("the scripts inside are used with a binary of their release, and the installed ones with another", () => {
  const other = `const fs = require("node:fs"), { readFileSync } = fs;
    fs.readFileSync = (path, ...rest) => {
      const text = readFileSync(path, ...rest);
      return /better-sqlite3.package\\.json$/.test(String(path)) ? text.replace(/"version": "[^"]*"/, '"version": "0.0.1"') : text;
    };`;
  const tell = "console.log(JSON.stringify(loaded));";
  expect([printed("", tell), printed(other, tell)]).toEqual([false, true]);
});

test("a program's own library of that name throws errors of its own classes, and ours goes on", () => {
  const own = `const Database = require("better-sqlite3");
    const database = new Database(":memory:");
    let isOwn = false;
    try { database.prepare("SELEKT 1"); } catch (error) { isOwn = error instanceof Database.SqliteError; }
    console.log(JSON.stringify([loaded, isOwn, database.prepare("SELECT 7 AS x").get().x, await search()]));`;
  expect(printed("", own)).toEqual([false, true, 7, 1]);
});
