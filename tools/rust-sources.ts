/**
 * The Rust of the repository as the tidy tests look at it. This is no parser: texts and comments are blanked, then
 * braces are counted. That is exact for what it is asked for.
 */

/** A function and how long it is. */
export interface RustFunction {
  readonly name: string;
  readonly lines: number;
}

/** A comment, a text (raw or not) or a character; a lifetime is none of them. */
const OPAQUE = /\/\/[^\n]*|\/\*[\s\S]*?\*\/|b?r(#*)"[\s\S]*?"\1|b?"(?:\\[\s\S]|[^"\\])*"|b?'(?:\\[^\n']*'|[^\\\n']')/g;

/** `source` with every character of comments and texts as a blank; lines stay. */
export function blanked(source: string): string {
  return source.replace(OPAQUE, (text) => text.replace(/[^\n]/g, " "));
}

/** The position after the brace that closes the one at `open`. */
function closing(code: string, open: number): number {
  let depth = 0;
  for (let at = open; at < code.length; at += 1) {
    if (code[at] === "{") depth += 1;
    if (code[at] === "}") depth -= 1;
    if (depth === 0) return at + 1;
  }
  return code.length;
}

/** `source` without its inline test modules. */
export function withoutTests(source: string): string {
  let kept = source;
  for (;;) {
    const code = blanked(kept);
    const found = /#\[cfg\(test\)\]\s*mod \w+ \{/.exec(code);
    if (found === null) return kept;
    const end = closing(code, found.index + found[0].length - 1);
    kept = kept.slice(0, found.index) + kept.slice(end);
  }
}

/** `source` without anything that is only compiled for tests: modules, functions, impls, imports. */
export function withoutTestItems(source: string): string {
  let kept = source;
  for (;;) {
    const code = blanked(kept);
    const found = /#\[cfg\(test\)\][^{;]*([{;])/.exec(code);
    if (found === null) return kept;
    const last = found.index + found[0].length - 1;
    kept = kept.slice(0, found.index) + kept.slice(found[1] === "{" ? closing(code, last) : last + 1);
  }
}

/** The functions of `source` that have a body. */
export function rustFunctions(source: string): readonly RustFunction[] {
  const code = blanked(source);
  return [...code.matchAll(/\bfn (\w+)[^;{]*?\{/g)].map((found) => {
    const end = closing(code, found.index + found[0].length - 1);
    return { name: found[1] ?? "", lines: code.slice(found.index, end).split("\n").length };
  });
}

/** The crates of this repository that a manifest names as dependencies, tests' excluded. */
export function crateDependencies(manifest: string): readonly string[] {
  return [...dependencies(manifest).matchAll(/^brooklet-(\w+)/gm)].map((found) => found[1] ?? "");
}

/** The foreign crates a manifest names without a comment saying why, tests' included. */
export function unexplainedDependencies(manifest: string): readonly string[] {
  const lines = manifest.split("\n");
  const isDependency = (index: number): boolean => {
    const section = lines.slice(0, index).findLast((line) => line.startsWith("["));
    return /dependencies\]$/.test(section ?? "") && /^[\w-]+(\.workspace)?\s*=/.test(lines[index] ?? "");
  };
  return lines.filter((line, index) => {
    const explained = (lines[index - 1] ?? "").startsWith("#") || line.includes("#") || isExplainedAbove(lines, index);
    return isDependency(index) && !/^(brooklet|proptest|serde_json)\b/.test(line) && !explained;
  });
}

/** Whether the lines above are dependencies under one comment. */
function isExplainedAbove(lines: readonly string[], index: number): boolean {
  for (let at = index - 1; at >= 0; at -= 1) {
    const line = lines[at] ?? "";
    if (line.startsWith("#")) return true;
    if (line === "" || line.startsWith("[") || line.startsWith("brooklet")) return false;
  }
  return false;
}

function dependencies(manifest: string): string {
  return manifest
    .split(/^(?=\[)/m)
    .filter((section) => /^\[(?:.*\.)?dependencies\]/.test(section))
    .join("\n");
}
