/** A copy of the crates in which a file may be another: built in one place, so that what did not change is not compiled again. */
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import process from "node:process";
import type { Outcome, Runner } from "./outcome.ts";
import { ended } from "./processes.ts";
import { ROOT, type Run, source } from "./run.ts";

/** What a copy of the crates has. */
const OF_CRATES = [
  "Cargo.toml",
  "Cargo.lock",
  "rust-toolchain.toml",
  ".cargo",
  "crates",
  "fuzz",
  "test-vectors",
  "xtask",
];
const RESULT = /^test (\S+)(?: - should panic)? \.\.\. (\w+)$/gm;
const FAILED = /^test (\S+)(?: - should panic)? \.\.\. FAILED$/m;

/** Tests of a crate: the program that they are in, and how their names begin. */
export interface TestsOfCrate {
  readonly crate: string;
  /** Nothing: those that stand beside what they test. */
  readonly binary?: string;
  readonly names: string;
}

/** The tests of a file: a module of the crate, a file of tests, or a module of one that has several. */
export function testsOfCrate(file: string): TestsOfCrate {
  const [, crate = "", place = "", path = ""] = /^crates\/([\w-]+)\/(src|tests)\/([\w/-]+)\.rs$/.exec(file) ?? [];
  if (place === "") throw new Error(`${file} has no tests of a crate`);
  const modules = path.split("/").filter((name) => name !== "mod" && name !== "main");
  if (place === "src") return { crate, names: modules.length === 0 ? "" : `${modules.join("::")}::` };
  const [binary = "", ...within] = modules;
  return { crate, binary, names: within.length === 0 ? "" : `${within.join("::")}::` };
}

/** Makes a folder as another is. What is the same keeps its time, so that cargo compiles what is not, and that alone. */
export function becomeAs(from: string, to: string): void {
  if (!existsSync(from)) rmSync(to, { recursive: true, force: true });
  else if (statSync(from).isDirectory()) {
    mkdirSync(to, { recursive: true });
    for (const name of new Set([...readdirSync(from), ...readdirSync(to)])) becomeAs(join(from, name), join(to, name));
  } else if (!existsSync(to) || !isSame(from, to)) copyFileSync(from, to);
}

const isSame = (one: string, other: string): boolean => readFileSync(one).equals(readFileSync(other));

/** The copy. */
export class CratesCopy {
  readonly #folder: string = join(ROOT, "target", "sabotage");

  constructor() {
    mkdirSync(this.#folder, { recursive: true });
    for (const name of OF_CRATES) becomeAs(join(ROOT, name), join(this.#folder, name));
  }

  /** Gives a file of the copy another text. */
  write(file: string, text: string): void {
    const path = join(this.#folder, file);
    if (readFileSync(path, "utf8") !== text) writeFileSync(path, text);
  }

  /** The program of some tests; or what the compiler says against it. */
  async build({ crate, binary }: TestsOfCrate): Promise<{ readonly program?: string; readonly said: string }> {
    const which = binary === undefined ? ["--lib"] : ["--test", binary];
    const words = ["test", "-p", `brooklet-${crate}`, ...which, "--offline", "--no-run", "--message-format=json"];
    // What is built of it is its own: cargo takes a crate of another folder for the one of here, if it is newer.
    const env = { ...process.env, CARGO_TERM_COLOR: "never", CARGO_TARGET_DIR: join(this.#folder, "target") };
    const { output, code } = await ended("cargo", words, { cwd: this.#folder, env });
    const programs = [...output.matchAll(/"executable":"([^"]+)"/g)].map(([, path = ""]) => path);
    const program = code === 0 ? programs.at(-1) : undefined;
    return { ...(program === undefined ? {} : { program }), said: output };
  }

  /** Runs tests that are built, up to the first that is red. */
  async execute(program: string, { crate, names }: TestsOfCrate, limitMs?: number): ReturnType<typeof ended> {
    const cwd = join(this.#folder, "crates", crate);
    // A case is red as it was drawn: a smaller one says no more here, and takes its time.
    const env = { ...process.env, CARGO_MANIFEST_DIR: cwd, PROPTEST_MAX_SHRINK_ITERS: "0" };
    return await ended(program, [names], { cwd, env, limitMs, enough: FAILED });
  }

  /** Runs a file of tests of a crate, where `file` has another text: those with a name in theirs. */
  async run(file: string, text: string, test: string, name?: string): Promise<Run> {
    this.write(file, text);
    try {
      const tests = testsOfCrate(test);
      const { program, said } = await this.build(tests);
      if (program === undefined) return { failed: [], passed: [], output: said };
      const { output } = await this.execute(program, { ...tests, names: name ?? tests.names });
      const of = (result: string): string[] =>
        [...output.matchAll(RESULT)].filter(([, , became]) => became === result).map(([, one = ""]) => one);
      return { failed: of("FAILED"), passed: of("ok"), output };
    } finally {
      this.write(file, source(file));
    }
  }
}

/** Runs tests of a crate, one file after the other until a test is red. */
export class CrateTests implements Runner {
  readonly #copy: CratesCopy;
  readonly #file: string;
  readonly #tests: readonly string[];

  constructor(copy: CratesCopy, file: string, tests: readonly string[]) {
    this.#copy = copy;
    this.#file = file;
    this.#tests = tests;
  }

  async run(text: string, limitMs?: number): Promise<Outcome> {
    this.#copy.write(this.#file, text);
    let tookMs = 0;
    for (const by of this.#tests) {
      const tests = testsOfCrate(by);
      const { program, said } = await this.#copy.build(tests);
      if (program === undefined) return { became: "does not build", by, said, tookMs };
      const begunMs = performance.now();
      const { output, code, isLate } = await this.#copy.execute(program, tests, limitMs);
      tookMs = Math.max(tookMs, performance.now() - begunMs);
      if (isLate) return { became: "did not end", by, said: output, tookMs };
      const [, test] = FAILED.exec(output) ?? [];
      // Without a test that failed it ended in the middle of one.
      if (test !== undefined || code !== 0)
        return { became: "seen", by, test: test ?? `ended with ${code}`, said: output, tookMs };
      if (/^running 0 tests$/m.test(output)) throw new Error(`${by} has no tests`);
    }
    return { became: "lived", said: "", tookMs };
  }

  close(): Promise<void> {
    this.#copy.write(this.#file, source(this.#file));
    return Promise.resolve();
  }
}
