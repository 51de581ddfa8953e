/**
 * T21: no line of what bounds, seals, lets in or limits can be changed unseen. Mutants of few sources with each run; with BROOKLET_MUTANTS=all
 * of all subjects, with a path of those whose path begins so, and with the name of a commit of the lines that differ from it. What became of
 * each is a line of BROOKLET_MUTANTS_RECORD: a run that was ended goes on there.
 */
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import process from "node:process";
import { describe, expect, test } from "vitest";
import { CratesCopy, CrateTests } from "./crates-copy.ts";
import { EQUIVALENTS } from "./equivalents.ts";
import { changedLines, type Mutant, mutantsOf, SUBJECTS, type Subject } from "./mutants.ts";
import { type Became, type Outcome, type Runner, Trial } from "./outcome.ts";
import { MutantRecord } from "./record.ts";
import { ROOT, source } from "./run.ts";
import { WarmTests } from "./warm-tests.ts";

const ASKED = process.env["BROOKLET_MUTANTS"] ?? "";
/** Those of each run are not recorded: they are run each time. */
const RECORD =
  process.env["BROOKLET_MUTANTS_RECORD"] ?? (ASKED === "" ? undefined : join(ROOT, "target", "mutants.jsonl"));
/** Those of each run. */
const USUAL: ReadonlySet<string> = new Set(["packages/gateway/src/authority/admin-keys.ts"]);
const LIMIT_MS = 7_200_000;
const record = new MutantRecord(RECORD, source);

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

function runnerOf({ file, tests }: Subject): Runner {
  if (!file.endsWith(".rs")) return new WarmTests(file, tests);
  copy ??= new CratesCopy();
  return new CrateTests(copy, file, tests);
}

/** What became of mutants: how many were seen, how many tests did not end with, and those that lived. */
interface Tried {
  readonly lived: readonly string[];
  readonly counts: Readonly<Record<Became, number>>;
}

async function tried(subject: Subject, mutants: readonly Mutant[]): Promise<Tried> {
  const lived: string[] = [];
  const counts = { seen: 0, lived: 0, "did not end": 0, "does not build": 0 };
  const known = new Map(mutants.map((mutant) => [mutant, record.of(subject, mutant)]));
  const runner = runnerOf(subject);
  const trial = new Trial(runner, source(subject.file));
  const isAnyNew = [...known.values()].some((one) => one === undefined);
  try {
    if (isAnyNew) await trial.begin();
    for (const mutant of mutants) {
      const { became } = known.get(mutant) ?? (await one(trial, subject, mutant));
      counts[became] += 1;
      if (became === "lived")
        lived.push(`${mutant.file}:${mutant.line}: ${mutant.was.trim()} → ${mutant.is.trim() || "nothing"}`);
    }
    if (isAnyNew) await trial.end();
  } finally {
    await runner.close();
  }
  return { lived, counts };
}

async function one(trial: Trial, subject: Subject, mutant: Mutant): Promise<Outcome> {
  const begunMs = performance.now();
  const outcome = await trial.of(mutant.text);
  record.add(subject, mutant, outcome, performance.now() - begunMs);
  return outcome;
}

describe("mutants", () => {
  const subjects = SUBJECTS.map((subject) => ({ ...subject, mutants: chosen(subject) })).filter(
    ({ mutants }) => mutants.length > 0,
  );
  test.each(subjects)("of $file ($kind) are seen", { timeout: LIMIT_MS }, async ({ mutants, ...subject }) => {
    const { lived, counts } = await tried(subject, mutants);
    const [seen, endless] = [counts.seen, counts["did not end"]];
    const all = seen + endless + lived.length;
    process.stdout.write(
      `${subject.file}: ${seen} of ${all} mutants seen, ${endless} without an end, ${counts["does not build"]} not built\n`,
    );
    expect(lived).toEqual([]);
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
    const { lived } = await tried(subject, mutants);
    expect(lived).toHaveLength(mutants.length);
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
