/**
 * `npm run sabotage`: each guard is taken out of a copy of the sources, and its test has to be red then; nothing of what is built can be set to do
 * without one. BROOKLET_SABOTAGE=crates does the same with those of crates, which are compiled for each.
 */
import process from "node:process";
import { describe, expect, test } from "vitest";
import { CratesCopy } from "./crates-copy.ts";
import { GUARDS, isOfCrate, withoutGuard } from "./guards.ts";
import { runPackageTests, source } from "./run.ts";

const LIMIT_MS = 900_000;
const ofPackages = GUARDS.filter((guard) => !isOfCrate(guard));
const ofCrates = GUARDS.filter(isOfCrate);

describe("packages", () => {
  test.each(ofPackages)("$id: $without", { timeout: LIMIT_MS }, async (guard) => {
    const { failed, output } = await runPackageTests(
      guard.file,
      withoutGuard(source(guard.file), guard),
      [guard.test],
      guard.name,
    );
    expect(failed, `${guard.test} is green without it:\n${output}`).not.toEqual([]);
    if (guard.name !== undefined) expect(failed.join("\n")).toContain(guard.name);
  });

  test("what is changed in nothing is green", { timeout: LIMIT_MS }, async () => {
    for (const { file, test: tests, name } of ofPackages.filter(({ id }) => id === "P11" || id === "T5")) {
      const { failed, passed, output } = await runPackageTests(file, source(file), [tests], name);
      expect(failed, output).toEqual([]);
      expect(passed, output).not.toEqual([]);
    }
  });
});

describe.runIf(process.env["BROOKLET_SABOTAGE"] === "crates")("crates", () => {
  const copy = process.env["BROOKLET_SABOTAGE"] === "crates" ? new CratesCopy() : undefined;
  test.each(ofCrates)("$id: $without", { timeout: LIMIT_MS }, async (guard) => {
    const text = withoutGuard(source(guard.file), guard);
    const run = await copy?.run(guard.file, text, guard.test, guard.name);
    // What does not compile runs no test.
    expect(run?.failed, `${guard.test} is green without it:\n${run?.output}`).not.toEqual([]);
    const same = await copy?.run(guard.file, source(guard.file), guard.test, guard.name);
    expect(same?.failed, same?.output).toEqual([]);
    expect(same?.passed, same?.output).not.toEqual([]);
  });
});
