/** Runs tests of packages over sources of which one file is another. */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { ended } from "./processes.ts";

/** The repository. */
export const ROOT: string = fileURLToPath(new URL("../..", import.meta.url));
const VITEST: string = join(ROOT, "node_modules/vitest/vitest.mjs");
/** How tests run over a source that is another. */
export const CONFIG: string = join(ROOT, "tools/sabotage/changed/vitest.config.ts");

/** What became of tests. */
export interface Run {
  /** Names of those that failed, and those that passed. */
  readonly failed: readonly string[];
  readonly passed: readonly string[];
  /** What was printed, where no test was run. */
  readonly output: string;
}

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
    const { output } = await ended(process.execPath, words, { cwd: root, env });
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
