/**
 * Projects that are tested with Jest, as docs/evaluation.md sets it up: its modules, compiled by ts-jest and by Babel, with a database in
 * memory, and one over files with threads. Jest has a `require` of its own, which reads no ECMAScript modules.
 */
import { execFile } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { promisify } from "node:util";
import { beforeAll, expect, inject, test } from "vitest";
import { addSqliteBinary, emptyProject, npm } from "./install.ts";
import { root } from "./packages.mjs";

const project = join(inject("scratch"), "jest");
const JEST = ["jest@30", "ts-jest@29", "babel-jest@30", "@babel/core@7", "@babel/preset-typescript@7"];
const PROGRAM = `import { mkdtempSync } from "node:fs";
import { join } from "node:path";
import { open, schema, text, timestamp, vector } from "brooklet";

const mail = schema("mail", { subject: text(), sentAt: timestamp(), vec: vector(2).optional() });

test.each([0, 2])("finds what is due with %d threads", async (threads) => {
  const place = threads === 0 ? {} : { path: mkdtempSync(join(process.cwd(), "data-")), threads };
  const db = await open({ schemas: [mail], ...place });
  const alice = db.group("alice");
  await alice.put(mail, "m1", { subject: "Invoice", sentAt: new Date(5), vec: [1, 0] });
  expect((await alice.get(mail, "m1"))?.sentAt).toBeInstanceOf(Date);
  const { hits } = await alice.search(mail, { text: "invoices", near: { field: "vec", vector: [1, 0] } });
  expect(hits.map(({ id }) => id)).toEqual(["m1"]);
  await expect(alice.put(mail, "m2", { subject: 7 } as never)).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
  await db.close();
});
`;

beforeAll(() => {
  emptyProject(project);
  const install = ["install", "--ignore-scripts", "--prefer-offline", "--no-audit", "--no-fund"];
  const tarballs = inject("tarballs").map(({ path }) => path);
  npm(project, ...install, ...JEST, "typescript@5.9", "@types/node@20", "@types/jest@30", ...tarballs);
  addSqliteBinary(join(project, "node_modules/better-sqlite3"));
  const compilerOptions = {
    target: "ES2022",
    module: "ESNext",
    moduleResolution: "Bundler",
    strict: true,
    isolatedModules: true,
    types: ["node", "jest"],
  };
  writeFileSync(join(project, "tsconfig.json"), JSON.stringify({ compilerOptions }));
  writeFileSync(join(project, "mail.test.ts"), PROGRAM);
});

/** The configuration that the document shows, as an object. */
async function documented(): Promise<object> {
  const page = readFileSync(join(root, "docs/evaluation.md"), "utf8");
  const code = /```js [^\n]*\n\/\/ jest\.config\.mjs\n([\s\S]*?)```/.exec(page)?.[1] ?? "";
  const { default: configuration } = (await import(`data:text/javascript,${encodeURIComponent(code)}`)) as {
    readonly default: object;
  };
  return configuration;
}

test.each([
  ["ts-jest, as documented", {}],
  ["Babel", { transform: { "\\.ts$": ["babel-jest", { presets: ["@babel/preset-typescript"] }] } }],
])("%s", async (name, more) => {
  const file = `jest.${name.split(",")[0]}.json`;
  writeFileSync(join(project, file), JSON.stringify({ ...(await documented()), ...more }));
  const words = ["--experimental-vm-modules", "node_modules/jest/bin/jest.js", "--config", file, "--json"];
  const { stdout } = await promisify(execFile)(process.execPath, words, { cwd: project });
  expect(JSON.parse(stdout)).toMatchObject({ success: true, numPassedTests: 2, numTotalTests: 2 });
});
