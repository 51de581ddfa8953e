/**
 * The examples in the documentation of what people import: each value has one, and each compiles as it stands, in a program
 * where everything of `brooklet` is imported and a schema `mail`, a `client` and the group `alice` are there. So do the programs of
 * the pages of documentation that say so.
 */
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { describe, expect, test } from "vitest";

const here = dirname(fileURLToPath(import.meta.url));
const packages = join(here, "../..");
/** What was built: an example sees what people install. */
const built = await import(new URL("../dist/index.js", import.meta.url).href);

/** An example and what it is of. */
interface Example {
  /** The file, and the name of what it documents. */
  readonly of: string;
  readonly code: string;
}

const PRELUDE = `import * as brooklet from "brooklet";
${Object.keys(built)
  .map((name) => `import { ${name} } from "brooklet";`)
  .join("\n")}
declare const client: brooklet.Client;
declare const alice: brooklet.Group;
const mail = schema("mail", {
  subject: text(),
  body: text(),
  tags: array(string()).optional(),
  sender: string(),
  size: int(),
  isUnread: bool(),
  sentAt: timestamp(),
  vec: vector(384).optional(),
});
`;

/** What does not compile, told by what each example is of. */
function problemsOf(examples: readonly Example[]): readonly string[] {
  const path = join(here, "examples.generated.ts");
  const functions = examples.map(({ code }, index) => `async function example${index}() {\n${code}\n}`);
  const texts = [PRELUDE, ...functions];
  const source = `${texts.join("\n")}\n`;
  const options: ts.CompilerOptions = {
    target: ts.ScriptTarget.ES2023,
    lib: ["lib.es2023.d.ts", "lib.esnext.disposable.d.ts"],
    types: ["node"],
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    strict: true,
    exactOptionalPropertyTypes: true,
    noEmit: true,
    skipLibCheck: true,
  };
  const host = ts.createCompilerHost(options);
  const { getSourceFile, fileExists, readFile } = host;
  host.fileExists = (name) => name === path || fileExists(name);
  host.readFile = (name) => (name === path ? source : readFile(name));
  host.getSourceFile = (name, ...others) =>
    name === path ? ts.createSourceFile(name, source, ts.ScriptTarget.ES2023) : getSourceFile(name, ...others);
  const program = ts.createProgram([path], options, host);
  return ts.getPreEmitDiagnostics(program).map(({ start = 0, messageText }) => {
    const before = texts.findIndex((_, count) => texts.slice(0, count + 1).join("\n").length >= start);
    const of = before < 1 ? "the prelude" : (examples[before - 1]?.of ?? "");
    return `${of}: ${ts.flattenDiagnosticMessageText(messageText, " ")}`;
  });
}

const EXAMPLE = /@example\n((?:\s*\*(?!\/).*\n)*)/;

/** The examples of a source file, each with the name that follows its comment. */
function examplesOf(path: string): Example[] {
  const text = readFileSync(path, "utf8");
  return [...text.matchAll(/\/\*\*(?:(?!\*\/)[\s\S])*\*\//g)].flatMap(({ 0: comment, index }) => {
    const said = EXAMPLE.exec(comment)?.[1];
    if (said === undefined) return [];
    const lines = said.split("\n").map((line) => line.replace(/^\s*\* ?/, ""));
    const [opening, closing] = [lines.indexOf("```ts"), lines.lastIndexOf("```")];
    if (opening < 0 || closing <= opening) throw new Error(`${path}: an example is not between \`\`\`ts and \`\`\``);
    const following = text.slice(index + comment.length, index + comment.length + 400);
    const name = /\s*(?:\/\/.*\n\s*)*(?:export )?(?:abstract )?(?:async )?(?:function\*? |class |const |\*)?(\w+)/.exec(
      following,
    )?.[1];
    return [{ of: `${path.slice(packages.length + 1)}: ${name}`, code: lines.slice(opening + 1, closing).join("\n") }];
  });
}

/** The programs of a page of documentation. */
function programsOf(page: string): Example[] {
  const text = readFileSync(join(packages, "..", page), "utf8");
  return [...text.matchAll(/^```ts\n([\s\S]*?)^```$/gm)].map(([, code = ""], index) => ({
    of: `${page}: program ${index + 1}`,
    code,
  }));
}

const sources = ["client", "brooklet", "answers", "models"].flatMap((room) =>
  readdirSync(join(packages, room, "src"), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts") && !name.endsWith(".test.ts"))
    .map((name) => join(packages, room, "src", name)),
);
const examples = sources.flatMap(examplesOf);
const programs = ["docs/documents.md"].flatMap(programsOf);

describe("examples", { timeout: 120_000 }, () => {
  const documented = new Set(examples.map(({ of }) => of.split(": ").at(-1)));

  test("are there for every value that is exported", () => {
    const lacking = Object.keys(built).filter((name) => !documented.has(name));
    expect(lacking).toEqual([]);
  });

  test("are there for everything a group does", () => {
    const methods = Object.getOwnPropertyNames(
      (built as { readonly Group: { readonly prototype: object } }).Group.prototype,
    );
    expect(methods.filter((name) => name !== "constructor" && !documented.has(name))).toEqual([]);
  });

  test("compile", () => {
    expect(examples.length).toBeGreaterThan(75);
    expect(programs.length).toBeGreaterThan(2);
    expect(problemsOf([...examples, ...programs])).toEqual([]);
  });

  test("that are wrong are found, and told by what they are of", () => {
    const wrong = [
      { of: "right", code: 'await alice.get(mail, "m1");' },
      { of: "misspelt", code: 'await alice.gte(mail, "m1");' },
      { of: "another type", code: 'await alice.put(mail, "m1", { subject: 7 });' },
    ];
    const problems = problemsOf(wrong);
    expect(problems.map((problem) => problem.split(":")[0])).toEqual(["misspelt", "another type"]);
    expect(problems[0]).toContain("'gte' does not exist");
  });
});
