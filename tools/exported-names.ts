/** Which names code exports for nobody: what is dead, or kept alive by its own test. */

const WORD = /[A-Za-z_$][\w$]*/g;
const COMMENT = /^\s*\/\*[\s\S]*?\*\/|(?<![:"'`])\/\/.*$/gm;
/** What TypeScript exports as a value, which has to be imported; types say what is exported beside them. */
const VALUE = /^export (?:abstract )?(?:async )?(?:function\*?|class|const) (\w+)/gm;
const RUST_ITEM = /^\s*pub(?:\([\w: ]+\))? (?:const |unsafe )*(?:fn|const|static) (\w+)/gm;

/** Code, by its path. */
export type Texts = ReadonlyMap<string, string>;

/** Values that a file of TypeScript exports, and no other file names. */
export function unimported(exporting: Texts, all: Texts): readonly string[] {
  const naming = new Map<string, string[]>();
  for (const [path, text] of all)
    for (const word of new Set(wordsOf(text))) naming.set(word, [...(naming.get(word) ?? []), path]);
  return [...exporting].flatMap(([path, text]) =>
    namesIn(text, VALUE)
      .filter((name) => naming.get(name)?.every((other) => other === path) ?? true)
      .map((name) => `${path}: ${name}`),
  );
}

/** Public functions and constants of Rust that stand nowhere but where they are defined. */
export function uncalled(crates: Texts): readonly string[] {
  const [named, defined] = [new Map<string, number>(), new Map<string, string[]>()];
  for (const [path, text] of crates) {
    for (const word of wordsOf(text)) named.set(word, (named.get(word) ?? 0) + 1);
    for (const name of namesIn(text, RUST_ITEM)) defined.set(name, [...(defined.get(name) ?? []), path]);
  }
  return [...defined].flatMap(([name, paths]) =>
    named.get(name) === paths.length ? paths.map((path) => `${path}: ${name}`) : [],
  );
}

function namesIn(text: string, item: RegExp): readonly string[] {
  return [...text.replace(COMMENT, "").matchAll(item)].map((found) => found[1] ?? "");
}

function wordsOf(text: string): readonly string[] {
  return text.replace(COMMENT, "").match(WORD) ?? [];
}
