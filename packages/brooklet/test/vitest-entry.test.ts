/** `brooklet/vitest`: its `test` gives each test a database of its own, and its matchers say what was found. */
import { describe, expect } from "vitest";
import { type Database, int, schema, text } from "../src/index.ts";
import { databaseTest } from "../src/vitest.ts";

const note = schema("note", { text: text(), year: int() });
const test = databaseTest({ schemas: [note] });
const given: Database[] = [];

async function filled(database: Database) {
  const group = database.group("alice");
  await group.put(note, "a", { text: "the invoice", year: 1 });
  await group.put(note, "b", { text: "invoice invoice invoice", year: 2 });
  await group.put(note, "c", { text: "lunch", year: 3 });
  return group;
}

// What is said of the next test is said of the one that comes behind.
describe("the fixture", { shuffle: false }, () => {
  test("opens a database in memory", async ({ db }) => {
    given.push(db);
    const group = await filled(db);
    await expect(group.get(note, "a")).resolves.toMatchObject({ year: 1 });
  });

  test("opens another for the next test, and closes that before", async ({ db }) => {
    const [before] = given;
    expect(before).toBeDefined();
    expect(db).not.toBe(before);
    expect(await db.group("alice").get(note, "a")).toBeUndefined();
    await expect(before?.group("alice").get(note, "a")).rejects.toMatchObject({ code: "CLOSED" });
  });

  const filledTest = test.extend<{ alice: Awaited<ReturnType<typeof filled>> }>({
    alice: async ({ db }, use) => use(await filled(db)),
  });

  filledTest("is extended further", async ({ alice }) => {
    await expect(alice.search(note, { text: "lunch" })).toFindOnly("c");
  });

  let isReached = false;
  databaseTest({ schemas: [note], threads: "two" as never }).fails("fails a test it cannot open one for", ({ db }) => {
    isReached = db !== undefined;
  });

  test("does not run such a test", () => expect(isReached).toBe(false));
});

describe("the matchers", () => {
  test("find documents by their rank, in results and in promises of them", async ({ db }) => {
    const group = await filled(db);
    const search = group.search(note, { text: "invoice" });
    await expect(search).toFind("b", { within: 1 });
    await expect(search).toFind(["a", "b"], { within: 2 });
    await expect(await search).toFind("a");
    await expect(search).not.toFind("a", { within: 1 });
    await expect(search).not.toFind("c");
    // By its whole id it is the same document.
    await expect(search).toFind("id:note:note:g=alice:b", { within: 1 });
    await expect(group.retrieve(note, "lunch")).toFind("c");
    await expect(search).toFindOnly(["a", "b"]);
    await expect(search).not.toFindOnly("b");
    await expect(group.search(note, { text: "nothing" })).toFindOnly([]);
  });

  test("say what was found instead", async ({ db }) => {
    const group = await filled(db);
    const search = group.search(note, { text: "invoice" });
    const message = async (matching: Promise<void>): Promise<string> =>
      await matching.then(
        () => "passed",
        (error: Error) => error.message,
      );
    expect(await message(expect(search).toFind("a", { within: 1 }))).toBe(
      "expected to find a within 1: a is number 2\nfound: b, a",
    );
    expect(await message(expect(search).toFind(["b", "c"]))).toBe(
      "expected to find b, c: c is not among the 2\nfound: b, a",
    );
    expect(await message(expect(search).not.toFind("b"))).toContain("expected not to find b: b is number 1");
    expect(await message(expect(search).toFindOnly(["b", "c"]))).toBe(
      "expected to find b, c and nothing else; missed: c; found beside: a",
    );
    expect(await message(expect(search).toFind("b", { within: 0 }))).toContain("within is 0: give a whole number");
    expect(await message(expect(7).toFind("b"))).toContain("toFind looks at what search or retrieve gives");
    expect(await message(expect(search).toFind([]))).toContain("takes the id of a document, or a list of ids");
    expect(await message(expect(Promise.reject(new Error("no server"))).toFind("b"))).toBe("no server");
  });
});
