/** What is likely to be written wrong does not compile, and the compiler's message has the words by which it is found and mended. */
import { expect, test } from "vitest";
import { problemsOfModules } from "./compiled.ts";

const GIVEN = `import { facet, open, schema, string, text, int, timestamp, vector } from "brooklet";
const fields = { subject: text(), sender: string(), size: int(), sentAt: timestamp(), vec: vector(3).optional() };
const mail = schema("mail", fields, { profiles: { recent: { inputs: { now: "double" }, firstPhase: "bm25(subject)" } } });
const db = await open({ schemas: [mail] });
const alice = db.group("alice");
const document = { subject: "a", sender: "c", size: 1, sentAt: new Date() };
`;

/** A statement, and what has to be among the words of the compiler. */
const MISTAKES: Readonly<Record<string, string>> = {
  'await alice.put(mail, "1", { ...document, sentAt: "2026-01-01" });': "'string' is not assignable to type 'Date'",
  'await alice.put(mail, "1", { ...document, sendr: "x" });': "Did you mean to write 'sender'?",
  'await alice.put(mail, "1", { subject: "a", sender: "b", size: 1 });': "'sentAt' is missing",
  'await alice.feed(mail, [{ id: "1", fields: { ...document, size: "3" } }]);':
    "The types of 'fields.size' are incompatible",
  'await alice.update(mail, "1", { size: 3 });': "Assign<",
  'await alice.update(mail, "1", { sendr: { assign: "x" } });': "Did you mean to write 'sender'?",
  'await alice.search(mail, { where: (it) => it.sendr.is("x") });': "Did you mean 'sender'?",
  'await alice.search(mail, { where: (it) => it.sender.contains("x") });':
    "'contains' does not exist on type 'StringConditions'",
  'await alice.search(mail, { where: (it) => it.sentAt.ge("2026-01-01") });':
    "'string' is not assignable to parameter of type 'Date'",
  'await alice.search(mail, { orderBy: "sentat desc" });': "Did you mean '\"sentAt desc\"'?",
  'await alice.search(mail, { profile: "recnt" });': "Did you mean '\"recent\"'?",
  'await alice.search(mail, { profile: "recent", inputs: { then: 3 } });':
    "'then' does not exist in type '{ readonly now?: number",
  'await alice.search(mail, { near: { field: "subject", vector: [1, 2, 3] } });': "not assignable to type '\"vec\"'",
  'await alice.search(mail, { fields: ["subjct"] });': "Did you mean '\"subject\"'?",
  'await alice.search(mail, { facets: { from: facet("sendr") } });': "Did you mean '\"sender\"'?",
  "await alice.search(mail, { limt: 3 });": "Did you mean to write 'limit'?",
  '(await alice.search(mail, { fields: ["sender"] })).hits[0]?.fields.size;':
    "'size' does not exist on type '{ readonly sender: string; }'",
  'schema("a", fields, { profiles: { own: { matchFeatures: ["bm25(subject)", "bm25(subjct)"] } } });':
    "there is no field 'subjct'",
  'schema("a", fields, { profiles: { own: { summaryFeatures: ["nativeRang"] } } });':
    "there is no rank feature or function 'nativeRang'",
  'schema("a", fields, { profiles: { own: { matchFeatures: ["closenes(field, vec)"] } } });':
    "there is no rank feature or function 'closenes'",
};

const told = problemsOfModules(
  Object.keys(MISTAKES).map((statement) => ({ of: statement, code: `${GIVEN}${statement}\nexport {};\n` })),
);

test.each(Object.entries(MISTAKES))("%s", (statement, words) => {
  const own = told.filter((problem) => problem.startsWith(`${statement}: `));
  expect(own).toEqual([expect.stringContaining(words)]);
});

test("and nothing else is told", () => {
  expect(told).toHaveLength(Object.keys(MISTAKES).length);
});
