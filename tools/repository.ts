/** The files of the repository, whether they are code or not, and the exceptions the tidy tests know of. */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { root } from "./sources.ts";
import exceptions from "./tidy-exceptions.json" with { type: "json" };

/** One violation that may stay, and why. */
interface Exception {
  readonly check: string;
  /** The beginning of the problem as the check prints it. */
  readonly problem: string;
  readonly reason: string;
}

/** Every file that is or would be committed, from the root. */
export const files: readonly string[] = execFileSync(
  "git",
  ["ls-files", "--cached", "--others", "--exclude-standard", "-z"],
  { cwd: root, encoding: "utf8", maxBuffer: 64 << 20 },
)
  .split("\0")
  .filter((path) => path !== "" && existsSync(join(root, path)) && statSync(join(root, path)).isFile());

/** The text of a file. */
export function content(path: string): string {
  return readFileSync(join(root, path), "utf8");
}

/** The files whose path matches. */
export function matching(pattern: RegExp): readonly string[] {
  return files.filter((path) => pattern.test(path));
}

/** `problems` but for the known ones, as one readable failure. A known one that is gone is a failure too. */
export function expectNone(check: string, problems: readonly string[]): void {
  const known = (exceptions as readonly Exception[]).filter((exception) => exception.check === check);
  const unknown = problems.filter((problem) => !known.some((exception) => problem.startsWith(exception.problem)));
  const gone = known
    .filter((exception) => !problems.some((problem) => problem.startsWith(exception.problem)))
    .map(({ problem }) => `tools/tidy-exceptions.json: nothing to except any more: ${problem}`);
  expect([...unknown, ...gone].join("\n")).toBe("");
}
