/**
 * T21: no line of what bounds, seals, lets in or limits can be changed unseen. Mutants of few sources with each run; with BROOKLET_MUTANTS=all
 * of all subjects, with a path of those whose path begins so, and with the name of a commit of the lines that differ from it.
 */
import { execFileSync } from "node:child_process";
import { appendFileSync } from "node:fs";
import process from "node:process";
import { describe, expect, test } from "vitest";
import { EQUIVALENTS } from "./equivalents.ts";
import { changedLines, type Mutant, mutantsOf, SUBJECTS, type Subject } from "./mutants.ts";
import { CratesCopy, type Run, runPackageTests, source } from "./run.ts";

const ASKED = process.env["BROOKLET_MUTANTS"] ?? "";
/** Where what became of each is written, as it becomes so. */
const LOG = process.env["BROOKLET_MUTANTS_LOG"];
/** Those of each run. */
const USUAL: ReadonlySet<string> = new Set(["packages/gateway/src/authority/admin-keys.ts"]);
/** What a mutant may take: one that has no end is seen by that. */
const MUTANT_MS = 120_000;
const LIMIT_MS = 7_200_000;

/** The mutants of a subject that are asked for. */
function chosen(subject: Subject): readonly Mutant[] {
  const { file } = subject;
  const mutants = mutantsOf(file, source(file)).filter((mutant) => equivalentOf(mutant) === undefined);
  if (ASKED === "") return USUAL.has(file) ? mutants : [];
  if (ASKED === "all" || file.startsWith(ASKED)) return mutants;
  if (/^(?:crates|packages)\//.test(ASKED)) return [];
  const diff = execFileSync("git", ["diff", "--unified=0", ASKED, "--", file], { encoding: "utf8" });
  return mutants.filter(({ line }) => changedLines(diff).get(file)?.has(line) === true);
}

const equivalentOf = (mutant: Mutant): (typeof EQUIVALENTS)[number] | undefined =>
  EQUIVALENTS.find(
    ({ file, was, is }) =>
      file === mutant.file && was === mutant.was.trim() && (is === undefined || is === mutant.is.trim()),
  );

let copy: CratesCopy | undefined;

/** What the tests of a subject say of a text in its place, up to the first that is red. */
async function run({ file, tests, names = [] }: Subject, text: string): Promise<Run> {
  const passed: string[] = [];
  for (const one of tests) {
    const ran = file.endsWith(".rs")
      ? await ofCrates(file, text, one, names)
      : await runPackageTests(file, text, [one], undefined, MUTANT_MS);
    if (ran.failed.length > 0 || ran.passed.length === 0) return ran;
    passed.push(...ran.passed);
  }
  return { failed: [], passed, output: "" };
}

async function ofCrates(file: string, text: string, test: string, names: readonly string[]): Promise<Run> {
  copy ??= new CratesCopy();
  return await copy.run(file, text, test, names, MUTANT_MS);
}

/** The mutants that no test saw. */
async function survivors(
  subject: Subject,
  mutants: readonly Mutant[],
): Promise<{ readonly alive: readonly string[]; readonly seen: number }> {
  const alive: string[] = [];
  let seen = 0;
  for (const mutant of mutants) {
    const { failed, passed } = await run(subject, mutant.text);
    const said = `${mutant.file}:${mutant.line}: ${mutant.was.trim()} → ${mutant.is.trim() || "nothing"}`;
    // What cannot be compiled is no mutant.
    const became = failed.length > 0 ? "seen" : passed.length > 0 ? "ALIVE" : "not compiled";
    if (became === "ALIVE") alive.push(said);
    if (became === "seen") seen += 1;
    if (LOG !== undefined) appendFileSync(LOG, `${became} ${said}\n`);
  }
  return { alive, seen };
}

describe("mutants", () => {
  const subjects = SUBJECTS.map((subject) => ({ ...subject, mutants: chosen(subject) })).filter(
    ({ mutants }) => mutants.length > 0,
  );
  test.each(subjects)("of $file ($kind) are seen", { timeout: LIMIT_MS }, async ({ mutants, ...subject }) => {
    const { failed, passed, output } = await run(subject, source(subject.file));
    expect(failed, output).toEqual([]);
    expect(passed, output).not.toEqual([]);
    const { alive, seen } = await survivors(subject, mutants);
    process.stdout.write(`${subject.file}: ${seen} of ${seen + alive.length} mutants seen\n`);
    expect(alive).toEqual([]);
    expect(seen).toBeGreaterThan(0);
  });

  test("sabotage: tests that look at something else let mutants live", { timeout: LIMIT_MS }, async () => {
    const subject: Subject = {
      kind: "auth",
      file: "packages/gateway/src/authority/admin-keys.ts",
      tests: ["packages/gateway/test/request-line.test.ts"],
    };
    const mutants = mutantsOf(subject.file, source(subject.file)).filter(({ was }) => was.includes("found !== 0"));
    expect(mutants).not.toEqual([]);
    const { alive, seen } = await survivors(subject, mutants);
    expect([alive.length, seen]).toEqual([mutants.length, 0]);
  });
});

describe("what becomes of a line", () => {
  const changes = (file: string, text: string): readonly string[] => mutantsOf(file, text).map(({ is }) => is);

  test("signs, words and statements are others", () => {
    expect(changes("a.ts", "  if (!a && b < 3) throw outside();")).toEqual([
      "  if (!a && b <= 3) throw outside();",
      "  if (!a || b < 3) throw outside();",
      "  if (a && b < 3) throw outside();",
      "",
    ]);
    expect(changes("a.rs", "    let most = (a + b).min(c);")).toEqual([
      "    let most = (a - b).min(c);",
      "    let most = (a + b).max(c);",
    ]);
    expect(changes("a.ts", "  let isTrue = true;")).toEqual(["  let isTrue = false;"]);
  });

  test("texts, comments, closures and tests stay", () => {
    for (const line of [
      '  let a = "b < c";',
      "// a < b",
      " * a + b",
      "  a(); // a && b",
      "    let a = || b();",
      "use a::{b};",
    ])
      expect(changes("a.rs", line)).toEqual([]);
    expect(changes("a.rs", "#[cfg(test)]\n  a < b")).toEqual([]);
  });

  test("lines that differ from a commit are told from a diff", () => {
    const diff = "+++ b/a.ts\n@@ -3,0 +4,2 @@ x\n+a\n+b\n@@ -9 +12 @@\n+c\n+++ b/b.ts\n@@ -1,2 +0,0 @@\n-a\n";
    expect([...changedLines(diff)].map(([file, lines]) => [file, [...lines]])).toEqual([
      ["a.ts", [4, 5, 12]],
      ["b.ts", []],
    ]);
  });

  test("every equivalent change is one of a line that is there", () => {
    for (const { file, was, is } of EQUIVALENTS) {
      const mutants = mutantsOf(file, source(file)).filter((mutant) => mutant.was.trim() === was);
      expect(
        mutants.filter((mutant) => is === undefined || mutant.is.trim() === is),
        `${file}: ${was}`,
      ).not.toEqual([]);
    }
  });
});
