/**
 * The examples in the documentation of what people import: each value has one, and each compiles as it stands, in a program
 * where everything of `brooklet` is imported and a schema `mail`, a `client` and the group `alice` are there. What pages of
 * documentation say is compiled and run by `apps/site/test/samples.test.ts`.
 */
import { describe, expect, test } from "vitest";
import { type Example, examplesOfPackages, problemsOfModules } from "./compiled.ts";

/** What was built: an example sees what people install. */
const built = await import(new URL("../dist/index.js", import.meta.url).href);

const PRELUDE = `import * as brooklet from "brooklet";
${Object.keys(built)
  .map((name) => `import { ${name} } from "brooklet";`)
  .join("\n")}
import type { ChatModel } from "brooklet";
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
  return problemsOfModules(
    examples.map(({ of, code }) => ({ of, code: `${PRELUDE}async function example() {\n${code}\n}` })),
  );
}

const examples = examplesOfPackages(["client", "brooklet", "answers", "models"]).filter(
  ({ code }) => !/"brooklet\//.test(code),
);

describe("examples", () => {
  const documented = new Set(examples.map(({ of }) => of.split(": ").at(-1)));

  test("are there for every value that is exported", () => {
    const lacking = Object.keys(built).filter((name) => !documented.has(name));
    expect(lacking).toEqual([]);
  });

  test("are there for everything a group does", () => {
    const { prototype } = (built as { readonly Group: { readonly prototype: object } }).Group;
    const methods = [prototype, Object.getPrototypeOf(prototype) as object].flatMap(Object.getOwnPropertyNames);
    expect(methods).toContain("search");
    expect(methods.filter((name) => name !== "constructor" && !documented.has(name))).toEqual([]);
  });

  test("compile", () => {
    expect(examples.length).toBeGreaterThan(75);
    expect(problemsOf(examples)).toEqual([]);
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
