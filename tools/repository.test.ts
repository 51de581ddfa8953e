/** Taste as a test, for everything else: what is tracked, documents, vectors, and limits. */
import { existsSync, statSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { describe, test } from "vitest";
import { content, expectNone, files, matching } from "./repository.ts";
import { root } from "./sources.ts";
import { TEST_RUN } from "./test-run.ts";

const FILE_BYTES_MAX = 1 << 20;
const PICTURE_BYTES_MAX = 60_000;
const LINES_MAX: Readonly<Record<string, number>> = { "ARCHITECTURE.md": 250, "AGENTS.md": 60 };
/** Documents a stranger looks for first. */
const EXPECTED = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "COMPATIBILITY.md", "CHANGELOG.md", "AGENTS.md"];
// In pieces, so that this file does not find itself.
const MACHINE_PATHS = new RegExp(`(^|[^\\w./\\\\])/(${["work", "farm", "ro" + "ot", "tmp", "home/\\w+"].join("|")})/`);
const REGISTRIES = new RegExp(
  [
    "registry\\.npm",
    "js\\.org|(static|index)\\.cra",
    "tes\\.io|files\\.python",
    "hosted|proxy\\.go",
    "lang|repo1?\\.ma",
    "ven",
  ].join(""),
);
/** A path of the repository in the text of a document. */
const NAMED_PATH = /`((?:crates|packages|apps|tools|docs|test-vectors|fuzz|bench|xtask|\.ci)\/[\w./-]*\w)`/g;

/** A variable of ours in the environment; one that `…` stands in is none. */
const VARIABLE = /\bBROOKLET_[A-Z][A-Z0-9_]*[A-Z0-9]\b/g;
/** What a warning of Node is told apart by. */
const CODES: ReadonlySet<string> = new Set(["BROOKLET_MODEL"]);

const documents = matching(/\.md$/);
const texts = files.filter((path) => !/\.(png|webp|ico|woff2?|segment|wasm)$/.test(path));

describe("tracked files", () => {
  test("are all that packages name as commands: npm links none that is built only after the install", () => {
    const commands = matching(/^packages\/[\w-]+\/package\.json$/).flatMap((path) => {
      const { bin = {} } = JSON.parse(content(path)) as { bin?: Record<string, string> };
      return Object.values(bin).map((file) => normalize(join(dirname(path), file)));
    });
    expectNone(
      "tracked",
      commands.filter((file) => !files.includes(file)).map((file) => `${file} is not tracked`),
    );
  });

  test("name no machine's paths", () => {
    const named = texts.flatMap((path) =>
      content(path)
        .split("\n")
        .flatMap((line, index) => (MACHINE_PATHS.test(line) ? [`${path}:${index + 1}`] : [])),
    );
    expectNone("machine paths", named);
  });
  test("name no registry's hosts", () =>
    expectNone(
      "registries",
      texts.filter((path) => REGISTRIES.test(content(path))),
    ));
  test("have at most 1 MiB", () =>
    expectNone(
      "bytes",
      files.filter((path) => statSync(join(root, path)).size > FILE_BYTES_MAX),
    ));
});

describe("documents", () => {
  test("are there", () =>
    expectNone(
      "expected",
      EXPECTED.filter((path) => !files.includes(path)),
    ));
  test("have as many cells in each row of a table as its head has", () => {
    const cells = (line: string): number => line.replaceAll("\\|", "").trim().slice(1, -1).split("|").length;
    const uneven = documents.flatMap((path) => {
      const lines = prose(path).split("\n");
      return lines
        .filter((line, at) => {
          const before = lines[at - 1] ?? "";
          return line.startsWith("|") && before.startsWith("|") && cells(line) !== cells(before);
        })
        .map((line) => `${path}: ${line.slice(0, 60)}`);
    });
    expectNone("cells", uneven);
  });
  test("have one title", () => {
    const titles = (path: string): number => prose(path).match(/^# /gm)?.length ?? 0;
    expectNone(
      "titles",
      documents.filter((path) => titles(path) !== 1).map((path) => `${path} has ${titles(path)} titles`),
    );
  });
  test("link to what is there", () => {
    const broken = documents.flatMap((path) =>
      [...prose(path).matchAll(/\]\(([^)\s]+)\)/g)]
        .map((found) => found[1] ?? "")
        .filter((link) => !/^[a-z]+:/.test(link) && !leadsSomewhere(path, link))
        .map((link) => `${path}: ${link}`),
    );
    expectNone("links", broken);
  });
  test("show every picture of a page that there is, of 60 KB at most", () => {
    const pictures = matching(/^docs\/pictures\//);
    const shown = documents.map(content).join("\n");
    const unseen = pictures.filter((path) => !shown.includes(path.slice("docs/".length)));
    const large = pictures.filter((path) => statSync(join(root, path)).size > PICTURE_BYTES_MAX);
    expectNone("pictures", [...unseen, ...large]);
  });
  test("name paths that are there", () => {
    const named = documents
      .filter((path) => path !== "CHANGELOG.md")
      .flatMap((path) => [...content(path).matchAll(NAMED_PATH)].map((found) => ({ path, named: found[1] ?? "" })));
    expectNone(
      "paths",
      named.filter(({ named: to }) => !existsSync(join(root, to))).map(({ path, named: to }) => `${path}: ${to}`),
    );
  });
  test("name variables of the environment that something reads, and all that are read by what is published", () => {
    const read = variables(files.filter((path) => !path.endsWith(".md")));
    // A program in a document may have variables of its own.
    const named = documents
      .filter((path) => path !== "CHANGELOG.md")
      .flatMap((path) => {
        const text = content(path).replaceAll(/process\.env\.\w+/g, "");
        return (text.match(VARIABLE) ?? []).map((name) => ({ path, name }));
      });
    const unread = named.filter(({ name }) => !read.has(name)).map(({ path, name }) => `${path}: ${name}`);
    const told = new Set(named.map(({ name }) => name));
    const published = variables(matching(/^packages\/[\w-]+\/src\/.*(?<!\.test)\.ts$/));
    const untold = [...published].filter((name) => !told.has(name) && !CODES.has(name));
    expectNone("variables", [...unread, ...untold.map((name) => `${name} is in no document`)]);
  });
  test("are short where they must be", () => {
    const lines = (path: string): number => content(path).split("\n").length - 1;
    const long = Object.keys(LINES_MAX).filter((path) => files.includes(path) && lines(path) > (LINES_MAX[path] ?? 0));
    expectNone(
      "document lines",
      long.map((path) => `${path} has ${lines(path)} lines`),
    );
  });
});

function variables(paths: readonly string[]): ReadonlySet<string> {
  return new Set(paths.filter((path) => texts.includes(path)).flatMap((path) => content(path).match(VARIABLE) ?? []));
}

describe("tests", () => {
  test("have no limit that is shorter than all have", () => {
    // Of a test, a suite or a hook, as an option or behind what is done; a condition that is polled has its own.
    const limit = /[;}]\n\s*\},\s+([\d_]{4,}),?\s*\);$|\{\s*timeout: ([^{}]+?),?\s*\},\s*(?:async )?\(/gm;
    const factor = (text: string): number => Number(text.replace("MINUTE_MS", "60000").replaceAll("_", ""));
    // Of a sum the first: what is added is for what a run may be asked to do more often.
    const msOf = ([first = ""]: readonly string[]): number =>
      first.split(" * ").reduce((product, text) => product * factor(text), 1);
    const short = matching(/\.test\.ts$/).flatMap((path) =>
      [...content(path).matchAll(limit)]
        .map(([, behind, option]) => msOf((behind ?? option ?? "").split(" + ")))
        .filter((ms) => ms > 0 && ms < TEST_RUN.testTimeout)
        .map((ms) => `${path}: ${ms} ms`),
    );
    expectNone("limits", short);
  });
});

describe("vectors", () => {
  test("are rows of JSON with distinct ids", () => {
    const broken = matching(/^test-vectors\/.*\.jsonl$/).flatMap((path) => {
      const ids = content(path)
        .split("\n")
        .filter((line) => line !== "")
        .map((line) => (JSON.parse(line) as { readonly id?: string }).id);
      return new Set(ids).size === ids.length && !ids.includes(undefined) ? [] : [path];
    });
    expectNone("vectors", broken);
  });
  test("are left out for a reason only", () => {
    const runners = matching(/^(crates|packages|apps)\/.*\/(tests?|test)\/.*vectors?.*\.(rs|ts)$/);
    const silent = runners.flatMap((path) =>
      [...content(path).matchAll(/\bids: (?:&\[|\[)/g)]
        .filter((found) => !/\breason: (?:"[^"]{10,}|[A-Z_]+\b)/.test(structure(content(path), found.index)))
        .map((found) => `${path}: at ${found.index}`),
    );
    expectNone("skips", silent);
  });
});

describe("limits", () => {
  test("are written once", () => {
    const stated = constants("crates/task/src/limits.rs");
    const twice = matching(/^crates\/[^/]+\/src\/.*\.rs$|^packages\/[^/]+\/src\/.*\.ts$/)
      .filter((path) => path !== "crates/task/src/limits.rs")
      .flatMap((path) => constants(path).map((constant) => ({ path, ...constant })))
      .filter(({ name, value }) => stated.some((limit) => limit.name === name && limit.value === value));
    expectNone(
      "limits",
      twice.map(({ path, name, value }) => `${path}: ${name} is ${value} here too`),
    );
  });
});

/** The numbers a file names, without `_MAX`: `10_000` and `4 << 20` are numbers. */
function constants(path: string): readonly { readonly name: string; readonly value: number }[] {
  return [...content(path).matchAll(/\bconst (\w+)(?:: \w+)? = ([\d_]+)(?: << (\d+))?;/g)].map((found) => ({
    name: (found[1] ?? "").replace(/_MAX$/, ""),
    value: Number((found[2] ?? "").replaceAll("_", "")) * 2 ** Number(found[3] ?? 0),
  }));
}

/** A document without its fenced code. */
function prose(path: string): string {
  return content(path).replace(/^(```|~~~).*?^\1/gms, "");
}

function leadsSomewhere(from: string, link: string): boolean {
  const [path = "", anchor] = link.split("#");
  const to = path === "" ? from : normalize(join(dirname(from), path));
  if (!existsSync(join(root, to))) return false;
  return anchor === undefined || anchors(to).includes(anchor);
}

function anchors(path: string): readonly string[] {
  return [...prose(path).matchAll(/^#+ (.*)$/gm)].map((found) =>
    (found[1] ?? "")
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, "")
      .replaceAll(" ", "-"),
  );
}

/** The text of the structure around `at`: from the brace that opens it. */
function structure(text: string, at: number): string {
  return text.slice(text.lastIndexOf("{", at), at);
}
