/** What runs the tests of mutants: outcomes are told apart, and what was run is not run again unless something is another. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { becomeAs, testsOfCrate } from "./crates-copy.ts";
import type { Mutant, Subject } from "./mutants.ts";
import { type Outcome, type Runner, Trial } from "./outcome.ts";
import { MutantRecord } from "./record.ts";
import { source } from "./run.ts";
import { WarmTests } from "./warm-tests.ts";

const LIMIT_MS = 600_000;

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), "brooklet-mutants-"));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

describe("what becomes of tests", () => {
  const FILE = "packages/gateway/src/authority/admin-keys.ts";
  const outcomesOf = async (texts: readonly string[]): Promise<readonly Outcome[]> => {
    const runner = new WarmTests(FILE, ["packages/gateway/test/authority.test.ts"]);
    const outcomes: Outcome[] = [];
    try {
      const trial = new Trial(runner, source(FILE));
      await trial.begin();
      for (const text of texts) outcomes.push(await trial.of(text));
      await trial.end();
    } finally {
      await runner.close();
    }
    return outcomes;
  };

  test("what is red, lives, does not end and does not build is told apart", { timeout: LIMIT_MS }, async () => {
    const text = source(FILE);
    const outcomes = await outcomesOf([
      text.replace("found !== 0", "found === 0"),
      `${text}\n// the same`,
      text.replace("    let found = 0;", "    for (;;);\n    let found = 0;"),
      `${text}\n)`,
    ]);
    expect(outcomes.map(({ became }) => became)).toEqual(["seen", "lived", "did not end", "does not build"]);
    expect(outcomes[0]?.by).toBe("packages/gateway/test/authority.test.ts");
  });

  test("what does not end on a machine on which the source as it is does not either is not taken for seen", async () => {
    const endless: Outcome = { became: "did not end", said: "", tookMs: 0 };
    let isBusy = false;
    const runner: Runner = {
      run: () => Promise.resolve(isBusy ? endless : { became: "lived", said: "", tookMs: 0 }),
      close: () => Promise.resolve(),
    };
    const trial = new Trial(runner, "");
    await trial.begin();
    isBusy = true;
    await expect(trial.of("other")).rejects.toThrow("too busy");
    await expect(new Trial(runner, "").begin()).rejects.toThrow("did not end");
  });
});

describe("what was run", () => {
  const subject: Subject = { kind: "auth", file: "a.rs", tests: ["a.rs", "b.rs"] };
  const mutant: Mutant = { file: "a.rs", line: 1, was: "  a < b", is: "  a <= b", text: "" };
  const sources = { "a.rs": "a < b\n#[cfg(test)]\none", "b.rs": "two" };
  const recordOf = (path: string, changed: Partial<typeof sources> = {}): MutantRecord =>
    new MutantRecord(path, (file) => ({ ...sources, ...changed })[file as keyof typeof sources]);

  test("is not run again, unless the source or the tests that say so are others", () => {
    const path = join(folder(), "record.jsonl");
    expect(recordOf(path).of(subject, mutant)).toBeUndefined();
    recordOf(path).add(subject, mutant, { became: "seen", by: "a.rs", test: "one", said: "", tookMs: 0 }, 7.4);
    expect(recordOf(path).of(subject, mutant)).toMatchObject({ became: "seen", test: "one", tookMs: 7 });
    expect(recordOf(path, { "b.rs": "three" }).of(subject, mutant)).toBeDefined();
    expect(recordOf(path, { "a.rs": "a < b\n#[cfg(test)]\nanother" }).of(subject, mutant)).toBeUndefined();
    expect(recordOf(path, { "a.rs": "a < c\n#[cfg(test)]\none" }).of(subject, mutant)).toBeUndefined();
    expect(recordOf(path).of(subject, { ...mutant, is: "  a > b" })).toBeUndefined();
    expect(recordOf(path).of({ ...subject, tests: ["b.rs"] }, mutant)).toBeUndefined();
    expect(recordOf(path).of(subject, { ...mutant, line: 2 })).toBeUndefined();
  });

  test("and lived is run again with any test that is another; of several lines the last counts", () => {
    const path = join(folder(), "record.jsonl");
    recordOf(path).add(subject, mutant, { became: "lived", said: "", tookMs: 0 }, 1);
    expect(recordOf(path, { "b.rs": "three" }).of(subject, mutant)).toBeUndefined();
    recordOf(path).add(subject, mutant, { became: "seen", by: "b.rs", said: "", tookMs: 0 }, 1);
    expect(recordOf(path).of(subject, mutant)?.became).toBe("seen");
    // A run that was ended in the middle of a line.
    writeFileSync(path, `${readFileSync(path, "utf8")}{"file":"a.rs","li`);
    expect(recordOf(path).of(subject, mutant)?.became).toBe("seen");
  });
});

test("a copy of the crates keeps the times of what is the same, and has nothing that is gone", () => {
  const [from, to] = [join(folder(), "from"), join(folder(), "to")];
  for (const path of [join(from, "src"), join(to, "src")]) mkdirSync(path, { recursive: true });
  for (const [path, text] of [
    [join(from, "src", "same.rs"), "same"],
    [join(from, "src", "other.rs"), "as it is"],
    [join(to, "src", "same.rs"), "same"],
    [join(to, "src", "other.rs"), "a mutant"],
    [join(to, "src", "gone.rs"), "gone"],
  ] as const) {
    writeFileSync(path, text);
    utimesSync(path, 1_000, 1_000);
  }
  becomeAs(from, to);
  expect(statSync(join(to, "src", "same.rs")).mtimeMs).toBe(1_000_000);
  // What is compiled of the mutant is older than that.
  expect(statSync(join(to, "src", "other.rs")).mtimeMs).toBeGreaterThan(Date.now() - 60_000);
  expect(readFileSync(join(to, "src", "other.rs"), "utf8")).toBe("as it is");
  expect(() => statSync(join(to, "src", "gone.rs"))).toThrow("ENOENT");
});

test("tests of a crate are of a program, and begin with their module", () => {
  expect(testsOfCrate("crates/kernel/src/bounds.rs")).toEqual({ crate: "kernel", names: "bounds::" });
  expect(testsOfCrate("crates/search/src/nearest/mod.rs")).toEqual({ crate: "search", names: "nearest::" });
  expect(testsOfCrate("crates/segment/tests/columns.rs")).toEqual({ crate: "segment", binary: "columns", names: "" });
  expect(testsOfCrate("crates/kernel/tests/property/scan.rs")).toEqual({
    crate: "kernel",
    binary: "property",
    names: "scan::",
  });
  expect(() => testsOfCrate("packages/store/test/heads.test.ts")).toThrow("no tests of a crate");
});
