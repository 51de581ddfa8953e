/** `brooklet/vitest`: a database for each test, and matchers of what a search finds. `vitest` is an optional peer. */
import { expect, type TestAPI, test } from "vitest";
import { type Database, type OpenOptions, open } from "./open.ts";
import { type FoundOptions, toFind, toFindOnly } from "./vitest/found.ts";

export * from "./evaluation.ts";
export type { FoundOptions } from "./vitest/found.ts";

/** What tests of a database are given. */
export interface DatabaseContext {
  /** A database in memory, of this test alone; it is closed when the test is over. */
  readonly db: Database;
}

/** What `open` is given for each test. Each database is in memory, so that there is no path. */
export type DatabaseTestOptions = Omit<OpenOptions, "path">;

/** Matchers of what was found: of a search, of a retrieval, or of the promise of one. */
export interface FoundMatchers {
  /**
   * The documents are among the hits; with `within`, among so many of the first.
   *
   * @example
   * ```ts
   * import { expect } from "vitest";
   * import "brooklet/vitest";
   * await expect(alice.search(mail, { text: "invoice" })).toFind("m1", { within: 3 });
   * ```
   */
  toFind(ids: string | readonly string[], options?: FoundOptions): Promise<void>;
  /** These documents are found and no others, in any order. */
  toFindOnly(ids: string | readonly string[]): Promise<void>;
}

declare module "vitest" {
  // biome-ignore lint/suspicious/noExplicitAny: an interface is merged with one that has this very parameter.
  interface Matchers<T = any> extends FoundMatchers {}
  // Of vitest before 3.2, whose assertions have no matchers to extend.
  // biome-ignore lint/suspicious/noExplicitAny: likewise.
  interface Assertion<T = any> extends FoundMatchers {}
}

expect.extend({ toFind, toFindOnly });

/**
 * A `test` of vitest whose context has `db`: a database in memory with these schemas, opened when the test asks for it, and
 * closed after it. It can be extended further.
 *
 * @example
 * ```ts
 * import { expect } from "vitest";
 * import { databaseTest } from "brooklet/vitest";
 *
 * const test = databaseTest({ schemas: [mail] });
 * test("finds what is due", async ({ db }) => {
 *   const alice = db.group("alice");
 *   await alice.put(mail, "m1", {
 *     subject: "Invoice", body: "Due on Friday", sender: "shop", size: 1, isUnread: true, sentAt: new Date(),
 *   });
 *   await expect(alice.search(mail, { text: "invoices" })).toFind("m1", { within: 1 });
 * });
 * ```
 */
export function databaseTest(options: DatabaseTestOptions): TestAPI<DatabaseContext> {
  return test.extend<DatabaseContext>({
    // vitest reads from the pattern which fixtures this one needs.
    // biome-ignore lint/correctness/noEmptyPattern: it needs none.
    db: async ({}, use) => {
      const db = await open(options);
      try {
        await use(db);
      } finally {
        await db.close();
      }
    },
  });
}
