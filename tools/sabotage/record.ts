/** What became of mutants, a line of JSON for each as it became so: what was run is not run again, so that it can be done in pieces. */
import { createHash } from "node:crypto";
import { appendFileSync, existsSync, mkdirSync, readFileSync } from "node:fs";
import { dirname } from "node:path";
import type { Mutant, Subject } from "./mutants.ts";
import type { Became, Outcome } from "./outcome.ts";

/** A line. */
export interface Recorded {
  readonly file: string;
  readonly line: number;
  readonly was: string;
  readonly is: string;
  readonly became: Became;
  readonly by?: string | undefined;
  readonly test?: string | undefined;
  readonly tookMs: number;
  /** Of the source without its tests, and of the tests that say so: with others it has to be run again. */
  readonly code: string;
  readonly tests: string;
}

const OF_TESTS = "#[cfg(test)]";

/** What is held against a record of a mutant. */
export class MutantRecord {
  readonly #path: string | undefined;
  readonly #source: (file: string) => string;
  readonly #lines: readonly Recorded[];

  /** Without a path nothing is recorded. */
  constructor(path: string | undefined, source: (file: string) => string) {
    this.#path = path;
    this.#source = source;
    const text = path !== undefined && existsSync(path) ? readFileSync(path, "utf8") : "";
    const lines = text.split("\n").filter((line) => line.startsWith("{") && line.endsWith("}"));
    this.#lines = lines.map((line) => JSON.parse(line) as Recorded);
  }

  /** What became of a mutant last, of the same source with the same tests. */
  of(subject: Subject, mutant: Mutant): Recorded | undefined {
    const [code, tests] = [this.#codeOf(subject), this.#testsOf(subject.tests)];
    return this.#lines.findLast(
      (line) =>
        line.file === mutant.file &&
        line.line === mutant.line &&
        line.was === mutant.was.trim() &&
        line.is === mutant.is.trim() &&
        line.code === code &&
        // What a test of it saw it still sees, whatever becomes of the others.
        (line.by === undefined
          ? line.tests === tests
          : subject.tests.includes(line.by) && line.tests === this.#testsOf([line.by])),
    );
  }

  add(subject: Subject, { file, line, was, is }: Mutant, { became, by, test }: Outcome, tookMs: number): void {
    if (this.#path === undefined) return;
    const tests = this.#testsOf(by === undefined ? subject.tests : [by]);
    const told = { file, line, was: was.trim(), is: is.trim(), became, by, test, tookMs: Math.round(tookMs) };
    const recorded: Recorded = { ...told, code: this.#codeOf(subject), tests };
    mkdirSync(dirname(this.#path), { recursive: true });
    appendFileSync(this.#path, `${JSON.stringify(recorded)}\n`);
  }

  #codeOf({ file }: Subject): string {
    const [code = ""] = this.#source(file).split(`\n${OF_TESTS}`);
    return digest(code);
  }

  #testsOf(files: readonly string[]): string {
    return digest(files.map((file) => this.#source(file).split(`\n${OF_TESTS}`).at(-1)).join("\n"));
  }
}

function digest(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 16);
}
