/**
 * The entries of the package beside the first: each is found by its name, has an example for each value it exports, and these
 * compile as they stand, where a schema `mail`, a database `db` and the group `alice` are there.
 */
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { type Example, examplesOfPackages, problemsOfModules } from "./compiled.ts";

const { exports } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")) as {
  readonly exports: Readonly<Record<string, unknown>>;
};
const ENTRIES = [
  "ai-sdk",
  "evaluation",
  "langchain",
  "llamaindex",
  "mastra",
  "mcp",
  "react",
  "receipt",
  "token",
  "vitest",
  "workers-ai",
];
/** What is there unless an example makes it itself. */
const GIVEN: Readonly<Record<string, string>> = {
  mail: `const mail = brooklet.schema("mail", {
  subject: brooklet.text(),
  body: brooklet.text(),
  sender: brooklet.string(),
  thread: brooklet.string().optional(),
  size: brooklet.int(),
  isUnread: brooklet.bool(),
  sentAt: brooklet.timestamp(),
  metadata: brooklet.string().optional(),
  vec: brooklet.vector(384).optional(),
});`,
  db: "declare const db: brooklet.Database;",
  alice: "declare const alice: brooklet.Group;",
};

function asModule({ of, code }: Example): Example {
  const given = Object.entries(GIVEN).filter(([name]) => !new RegExp(`\\bconst ${name}\\b`).test(code));
  return { of, code: ['import * as brooklet from "brooklet";', ...given.map(([, text]) => text), code].join("\n") };
}

const examples = examplesOfPackages(["adapters", "brooklet"]).filter(({ code }) => /"brooklet\//.test(code));

describe("entries", () => {
  test.each(ENTRIES)("brooklet/%s is found, and has an example for each value", async (name) => {
    expect(Object.keys(exports)).toContain(`./${name}`);
    const specifier = `brooklet/${name}`;
    const entry = (await import(/* @vite-ignore */ specifier)) as Readonly<Record<string, unknown>>;
    expect(Object.keys(entry).length).toBeGreaterThan(0);
    const lacking = Object.keys(entry).filter((value) => !examples.some(({ of }) => of.endsWith(`: ${value}`)));
    expect(lacking).toEqual([]);
  });

  test("have examples that compile", () => {
    expect(examples.length).toBeGreaterThan(ENTRIES.length);
    expect(problemsOfModules(examples.map(asModule))).toEqual([]);
  });

  test("have examples that are checked against what is given", () => {
    const wrong = { of: "wrong", code: 'await alice.put(mail, "m1", { subject: 7 });' };
    expect(problemsOfModules([asModule(wrong)]).join()).toContain("wrong: ");
  });
});
