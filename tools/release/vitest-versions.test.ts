/**
 * Projects whose vitest is an earlier one: the packages are installed beside it, and the entry for tests serves them. What a
 * peer's range leaves out, npm installs nothing beside. Version 4 is that of packages/brooklet/test/vitest-entry.test.ts.
 */
import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { promisify } from "node:util";
import { expect, inject, test } from "vitest";
import { addSqliteBinary, emptyProject, npm } from "./install.ts";
import { COMPILER, compilerOptions } from "./programs.ts";

const PROGRAM = `import { expect } from "vitest";
import { databaseTest } from "brooklet/vitest";
import { schema, text } from "brooklet";

const mail = schema("mail", { subject: text() });
const test = databaseTest({ schemas: [mail] });
test("finds what is due", async ({ db }) => {
  const alice = db.group("alice");
  await alice.put(mail, "m1", { subject: "Invoice" });
  await expect(alice.search(mail, { text: "invoices" })).toFind("m1", { within: 1 });
  await expect(alice.search(mail, { text: "lunch" })).not.toFind("m1");
  await expect(alice.search(mail, { text: "invoice" })).toFindOnly(["m1"]);
});
`;

test.each(["1.0", "1.6", "2.0", "2.1", "3.0", "3.2"])(
  "vitest %s is beside the packages, and is served",
  async (version) => {
    const project = emptyProject(join(inject("scratch"), `vitest-${version}`));
    const install = ["install", "--ignore-scripts", "--prefer-offline", "--no-audit", "--no-fund"];
    npm(project, ...install, `vitest@${version}`, "@types/node@20", ...inject("tarballs").map(({ path }) => path));
    addSqliteBinary(join(project, "node_modules/better-sqlite3"));
    writeFileSync(join(project, "of-mail.test.ts"), PROGRAM);
    const compilerOptionsOf = { ...compilerOptions("NodeNext"), skipLibCheck: true };
    writeFileSync(
      join(project, "tsconfig.json"),
      JSON.stringify({ compilerOptions: compilerOptionsOf, files: ["of-mail.test.ts"] }),
    );
    const node = async (...words: readonly string[]): Promise<string> =>
      (await promisify(execFile)(process.execPath, words, { cwd: project })).stdout;
    const report: unknown = JSON.parse(await node("node_modules/vitest/vitest.mjs", "run", "--reporter=json"));
    expect(report).toMatchObject({ success: true, numPassedTests: 1, numTotalTests: 1 });
    expect(await node(COMPILER, "--project", ".")).toBe("");
  },
  600_000,
);
