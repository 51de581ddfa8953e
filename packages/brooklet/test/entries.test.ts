/**
 * The entries of the package beside the first: each is found by its name, has an example for each value it exports, and what
 * the documents about them say compiles as it stands, where a schema `mail`, a database `db` and the group `alice` are there.
 */
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { type Example, examplesOfDocument, examplesOfPackages, problemsOfModules } from "./compiled.ts";

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
  "token",
  "vitest",
  "workers-ai",
];
const DOCUMENTS = [
  "docs/adapters.md",
  "docs/answers.md",
  "docs/browser.md",
  "docs/edge.md",
  "docs/evaluation.md",
  "docs/security.md",
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

  test("have examples that compile, here and in the documents", () => {
    // An example that imports the platform compiles with its types alone.
    const objects = examplesOfDocument("docs/durable-object.md").filter(({ code }) => !code.includes("cloudflare:"));
    expect(objects.length).toBeGreaterThan(0);
    const documents = [...DOCUMENTS.flatMap(examplesOfDocument), ...objects];
    expect(documents.length).toBeGreaterThan(DOCUMENTS.length);
    expect(problemsOfModules([...examples, ...documents].map(asModule))).toEqual([]);
  });

  test("have examples that are checked against what is given", () => {
    const wrong = { of: "wrong", code: 'await alice.put(mail, "m1", { subject: 7 });' };
    expect(problemsOfModules([asModule(wrong)]).join()).toContain("wrong: ");
  });
});
