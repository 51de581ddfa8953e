/** Runs tests over sources of which one file is another. */
import { spawn } from "node:child_process";
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";

const ROOT: string = fileURLToPath(new URL("../..", import.meta.url));
const VITEST: string = join(ROOT, "node_modules/vitest/vitest.mjs");
const CONFIG: string = join(ROOT, "tools/sabotage/changed/vitest.config.ts");
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

/** What became of tests. */
export interface Run {
  /** Names of those that failed, and those that passed. */
  readonly failed: readonly string[];
  readonly passed: readonly string[];
  /** What was printed, where no test was run. */
  readonly output: string;
}

/** What has not ended in its time has failed. */
const ENDLESS: Run = { failed: ["did not end"], passed: [], output: "" };

/** A file of the sources, by its path in the repository. */
export function source(file: string): string {
  return readFileSync(join(ROOT, file), "utf8");
}

/** Runs files of tests of one package, of TypeScript, where `file` has another text. */
export async function runPackageTests(
  file: string,
  text: string,
  tests: readonly string[],
  name?: string,
  limitMs?: number,
): Promise<Run> {
  const folder = mkdtempSync(join(tmpdir(), "brooklet-changed-"));
  try {
    const [to, report] = [join(folder, "changed"), join(folder, "report.json")];
    writeFileSync(to, text);
    const [first = ""] = tests;
    const root = join(ROOT, ...first.split("/").slice(0, 2));
    const within = tests.map((test) => test.split("/").slice(2).join("/"));
    const chosen = name === undefined ? [] : ["-t", name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")];
    const reporters = ["--reporter=json", `--outputFile=${report}`];
    const words = [VITEST, "run", "--root", root, "--config", CONFIG, ...reporters, ...chosen, ...within];
    const env = { ...process.env, BROOKLET_CHANGED: join(ROOT, file), BROOKLET_CHANGED_TO: to };
    const output = await told(process.execPath, words, root, env, limitMs);
    if (output === undefined) return ENDLESS;
    if (!existsSync(report)) return { failed: [], passed: [], output };
    return { ...readReport(readFileSync(report, "utf8")), output };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

interface Report {
  readonly testResults: readonly {
    readonly status: string;
    readonly message: string;
    readonly name: string;
    readonly assertionResults: readonly { readonly status: string; readonly fullName: string }[];
  }[];
}

function readReport(text: string): Pick<Run, "failed" | "passed"> {
  const { testResults } = JSON.parse(text) as Report;
  const of = (status: string): string[] =>
    testResults.flatMap(({ assertionResults }) =>
      assertionResults.filter((one) => one.status === status).map(({ fullName }) => fullName),
    );
  // A file that cannot even be loaded.
  const broken = testResults.filter(
    ({ status, assertionResults }) => status === "failed" && assertionResults.length === 0,
  );
  return { failed: [...of("failed"), ...broken.map(({ message }) => message)], passed: of("passed") };
}

/** Crates as they are, but for what is changed in them, with all that they depend on built for them. */
export class CratesCopy {
  readonly #folder: string = join(ROOT, "target", "sabotage");

  constructor() {
    for (const name of OF_CRATES) {
      rmSync(join(this.#folder, name), { recursive: true, force: true });
      if (existsSync(join(ROOT, name)))
        cpSync(join(ROOT, name), join(this.#folder, name), { recursive: true, preserveTimestamps: true });
    }
  }

  /** Runs a file of tests of a crate, where `file` has another text: those with one of some names in theirs. */
  async run(
    file: string,
    text: string,
    test: string,
    names: string | readonly string[] = [],
    limitMs?: number,
  ): Promise<Run> {
    // Of tests in several files the folder has the name.
    const [, crate = "", binary = ""] = /^crates\/([\w-]+)\/tests\/([\w-]+)(?:\/\w+)?\.rs$/.exec(test) ?? [];
    const changed = join(this.#folder, file);
    const before = readFileSync(changed, "utf8");
    writeFileSync(changed, text);
    try {
      const words = [
        "test",
        "-p",
        `brooklet-${crate}`,
        "--test",
        binary,
        "--offline",
        "--",
        ...(typeof names === "string" ? [names] : names),
      ];
      // What is built of it is its own: cargo takes a crate of another folder for the one of here, if it is newer.
      const env = { ...process.env, CARGO_TERM_COLOR: "never", CARGO_TARGET_DIR: join(this.#folder, "target") };
      const output = await told("cargo", words, this.#folder, env, limitMs);
      if (output === undefined) return ENDLESS;
      const of = (result: string): string[] =>
        [...output.matchAll(/^test (\S+)(?: - should panic)? \.\.\. (\w+)$/gm)]
          .filter(([, , became]) => became === result)
          .map(([, one = ""]) => one);
      return { failed: of("FAILED"), passed: of("ok"), output };
    } finally {
      writeFileSync(changed, before);
    }
  }
}

/** What a program printed; nothing where it did not end in its time, and was ended with all that it began. */
function told(
  program: string,
  words: readonly string[],
  cwd: string,
  env: NodeJS.ProcessEnv,
  limitMs?: number,
): Promise<string | undefined> {
  return new Promise((resolve, reject) => {
    // A group of its own, so that it can be ended whole.
    const child = spawn(program, words, { cwd, env, stdio: ["ignore", "pipe", "pipe"], detached: true });
    let output = "";
    for (const stream of [child.stdout, child.stderr])
      stream.on("data", (bytes: Buffer) => (output += bytes.toString()));
    child.once("error", reject);
    let isLate = false;
    const timer =
      limitMs === undefined
        ? undefined
        : setTimeout(() => {
            isLate = true;
            if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
          }, limitMs);
    child.once("close", () => {
      clearTimeout(timer);
      resolve(isLate ? undefined : output);
    });
  });
}
