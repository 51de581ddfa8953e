/**
 * The declarations of the tarballs under every TypeScript from 5.4 on: each is installed from the registry (or npm's cache) and
 * checks the programs of the READMEs, and all declarations of this house that they and the entries for servers reach. What
 * other people's declarations need of a compiler is theirs to say. Version 6.0 is that of installed.test.ts. Version 7.0, the one of this
 * repository, has no interface for programs: what its command prints is read.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, inject, test } from "vitest";
import { emptyProject, npm } from "./install.ts";
import { publishedPackages } from "./packages.mjs";
import {
  type Checked,
  COMPILER,
  checked,
  compilerOptions,
  complaintsOf,
  programOf,
  type Resolution,
} from "./programs.ts";

const project = inject("project");
const compilers = join(inject("scratch"), "compilers");
const VERSIONS = ["5.4", "5.5", "5.6", "5.7", "5.8", "5.9"];
const RESOLUTIONS: readonly Resolution[] = ["NodeNext", "Bundler"];
/** Its program needs the AI SDK, whose declarations are not read by all of these. */
const WITH_OTHERS = "packages/adapters";
/** Entries that no README begins with. */
const ENTRIES = `import type * as brooklet from "brooklet";
import type * as evaluation from "brooklet/evaluation";
import type * as gateway from "@brooklet/gateway";
import type * as models from "@brooklet/models/node";
import type * as store from "@brooklet/store/node";
export type Entries = [typeof brooklet, typeof evaluation, typeof gateway, typeof models, typeof store];
`;
const FIRST = programOf("README.md");
const PROGRAMS: Readonly<Record<string, string>> = {
  "of-repository.ts": FIRST,
  "of-entries.ts": ENTRIES,
  "of-wrong.ts": FIRST.replace("'unpaid invoice'", "7"),
  ...Object.fromEntries(
    publishedPackages()
      .filter(({ folder }) => folder !== WITH_OTHERS)
      .map(({ folder }) => [`of-${folder.replace("/", "-")}.ts`, programOf(`${folder}/README.md`)]),
  ),
};
/** What a compiler says under each resolution. */
async function check(version: string): Promise<readonly Checked[]> {
  const configs = RESOLUTIONS.map((resolution) => `tsconfig.of-${resolution}.json`);
  return await checked(project, join(compilers, "node_modules", `typescript-${version}`), configs);
}

beforeAll(() => {
  const names = VERSIONS.map((version) => `typescript-${version}@npm:typescript@~${version}.0`);
  npm(emptyProject(compilers), "install", "--ignore-scripts", "--prefer-offline", "--no-audit", "--no-fund", ...names);
  for (const [name, text] of Object.entries(PROGRAMS)) writeFileSync(join(project, name), text);
  for (const resolution of RESOLUTIONS) {
    const config = { compilerOptions: compilerOptions(resolution), files: Object.keys(PROGRAMS) };
    writeFileSync(join(project, `tsconfig.of-${resolution}.json`), JSON.stringify(config));
  }
});

describe.each(VERSIONS)("TypeScript %s", (version) => {
  test("takes the programs, refuses the wrong one, and finds nothing in our declarations", async () => {
    const all = await check(version);
    expect(all).toHaveLength(RESOLUTIONS.length);
    for (const { version: checked, declarations, ofNode, problems } of all) {
      expect(checked).toMatch(new RegExp(`^${version.replace(".", "\\.")}\\.`));
      expect(declarations).toBeGreaterThan(100);
      // A page, and a project with `types: []`, has none.
      expect(ofNode).toEqual([]);
      expect(problems).toEqual([expect.stringMatching(/^of-wrong\.ts: .*number/)]);
    }
  });
});

test.each(RESOLUTIONS)("TypeScript 7.0 takes the programs under %s, and refuses the wrong one", (resolution) => {
  expect(complaintsOf(project, COMPILER, `tsconfig.of-${resolution}.json`)).toMatch(
    /^of-wrong\.ts\(.*number[^\n]*\s*$/,
  );
});
