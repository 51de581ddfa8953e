/** Mutants: sources of guards with one thing of a line changed, as somebody could get it wrong. The tests of a source have to be red with each. */

/** Sources that guard something, and the tests that hold them. */
export interface Subject {
  /** What the specification calls it. */
  readonly kind: "bounds" | "checksum" | "auth" | "limit";
  readonly file: string;
  /** Files of tests of one package, or of a crate, one after the other until one of them is red: those that are done first come first. */
  readonly tests: readonly string[];
}

/** A source with one change. */
export interface Mutant {
  readonly file: string;
  /** From 1 on. */
  readonly line: number;
  readonly was: string;
  readonly is: string;
  readonly text: string;
}

/** A change that no test can see, and why. */
export interface Equivalent {
  readonly file: string;
  readonly was: string;
  /** Every change of the line where nothing is said. */
  readonly is?: string;
  readonly because: string;
}

const gateway = (kind: Subject["kind"], file: string, tests: readonly string[]): Subject => ({
  kind,
  file: `packages/gateway/src/${file}.ts`,
  tests: tests.map((name) => `packages/gateway/${name}.test.ts`),
});
const store = (name: string, tests: readonly string[]): Subject => ({
  kind: "checksum",
  file: `packages/store/src/${name}.ts`,
  tests: tests.map((test) => `packages/store/test/${test}.test.ts`),
});
const bounds = (name: string, tests: readonly string[]): Subject => ({
  kind: "bounds",
  file: `crates/kernel/src/${name}.rs`,
  tests: tests.map((test) => `crates/kernel/${test}.rs`),
});

/** All of them. */
export const SUBJECTS: readonly Subject[] = [
  bounds("bounds", ["src/bounds", "tests/property/bounds", "tests/property/extreme"]),
  bounds("code_scan", ["src/code_scan", "tests/property/scan", "tests/property/extreme"]),
  {
    kind: "checksum",
    file: "crates/segment/src/block.rs",
    tests: ["crates/segment/src/block.rs", "crates/segment/tests/columns.rs"],
  },
  store("known-partitions", ["heads"]),
  store("heads", ["heads", "head-bytes", "upgrade"]),
  store("mark", ["mark"]),
  gateway("checksum", "continuation", ["src/continuation"]),
  gateway("auth", "timing-safe-equal", ["test/admin-keys"]),
  gateway("auth", "authority/admin-keys", ["test/admin-keys", "test/authority"]),
  gateway("auth", "authority/authority", ["test/reach", "test/authority"]),
  gateway("auth", "authority/credentials", ["test/credentials", "test/throttle", "test/authority"]),
  gateway("auth", "authority/group-token", ["test/group-token"]),
  gateway("limit", "authority/throttle", ["test/throttle"]),
  gateway("limit", "authority/group-rates", ["test/group-rates"]),
  gateway("limit", "load/admission", ["test/admission", "test/overload"]),
];

/** Both ways. */
const PAIRS: readonly (readonly [string, string])[] = [
  [" < ", " <= "],
  [" > ", " >= "],
  [" === ", " !== "],
  [" == ", " != "],
  [" && ", " || "],
  [" + ", " - "],
  [" * ", " / "],
  [".min(", ".max("],
  ["true", "false"],
];
/** Those of numbers that are bits. In TypeScript they are types. */
const BITS: readonly (readonly [string, string])[] = [
  [" & ", " | "],
  [" << ", " >> "],
];
const bothWays = (pairs: typeof PAIRS): typeof PAIRS =>
  pairs.flatMap(([one, other]) => [[one, other] as const, [other, one] as const]);
const SWAPS: readonly (readonly [string, string])[] = [...bothWays(PAIRS), ["if (!", "if ("], ["if !", "if "]];
const SWAPS_OF_RUST: readonly (readonly [string, string])[] = [...SWAPS, ...bothWays(BITS)];
/** Lines of TypeScript that are a statement whose absence is a change. */
const STATEMENT =
  /^\s+(?:(?:else )?if \(.*\) )?(?:throw |return undefined;|continue;|break;|(?:await )?this\.[#\w.?]+\(.*\);).*;?$/;
const COMMENT = /^\s*(?:\/\/|\/?\*)/;
const WORD = /\w/;

/** Every mutant of a source, in the order of its lines. */
export function mutantsOf(file: string, source: string): readonly Mutant[] {
  const lines = source.split("\n");
  const isRust = file.endsWith(".rs");
  const tests = isRust ? lines.findIndex((line) => line.startsWith("#[cfg(test)]")) : -1;
  const mutants: Mutant[] = [];
  for (const [at, was] of lines.slice(0, tests < 0 ? undefined : tests).entries()) {
    if (COMMENT.test(was) || /^(?:import|use|export type|type) /.test(was)) continue;
    const changed = (isRust ? SWAPS_OF_RUST : SWAPS).flatMap(([from, to]) =>
      places(was, from, isRust).map((place) => swapped(was, place, from, to)),
    );
    if (!isRust && STATEMENT.test(was) && was.trimEnd().endsWith(";")) changed.push("");
    for (const is of changed)
      mutants.push({
        file,
        line: at + 1,
        was,
        is,
        text: [...lines.slice(0, at), is, ...lines.slice(at + 1)].join("\n"),
      });
  }
  return mutants;
}

function swapped(line: string, place: number, from: string, to: string): string {
  return line.slice(0, place) + to + line.slice(place + from.length);
}

/** Where something stands in a line, but for texts, comments and parts of words. */
function places(line: string, what: string, isRust: boolean): readonly number[] {
  const code = blanked(line, isRust);
  const found: number[] = [];
  for (let at = code.indexOf(what); at >= 0; at = code.indexOf(what, at + 1)) {
    const isWord = WORD.test(what) && !what.includes(" ") && !what.startsWith(".");
    const isPart = isWord && (WORD.test(code[at - 1] ?? " ") || WORD.test(code[at + what.length] ?? " "));
    // A closure without arguments has the sign of another thing.
    const isClosure = what === " || " && /[=(,]$/.test(code.slice(0, at));
    if (!isPart && !isClosure) found.push(at);
  }
  return found;
}

/** A line with blanks for what is in quotes, and for a comment at its end. */
function blanked(line: string, isRust: boolean): string {
  const quotes = isRust ? /"(?:[^"\\]|\\.)*"/g : /"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|`(?:[^`\\]|\\.)*`/g;
  const code = line.replace(quotes, (text) => " ".repeat(text.length).replace(/^ | $/g, "_"));
  const comment = code.indexOf(" //");
  return comment < 0 ? code : code.slice(0, comment);
}

/** The lines of files that differ from a commit, by what `git diff --unified=0` says. */
export function changedLines(diff: string): ReadonlyMap<string, ReadonlySet<number>> {
  const changed = new Map<string, Set<number>>();
  let lines = new Set<number>();
  for (const line of diff.split("\n")) {
    const [, file] = /^\+\+\+ b\/(.*)$/.exec(line) ?? [];
    if (file !== undefined) {
      lines = new Set();
      changed.set(file, lines);
    }
    const [, from, count = "1"] = /^@@ -\S+ \+(\d+)(?:,(\d+))? @@/.exec(line) ?? [];
    for (let at = 0; from !== undefined && at < Number(count); at += 1) lines.add(Number(from) + at);
  }
  return changed;
}
