/** A database that is opened where the browser's storage is full: it is read, gives space, and says what is wrong. */
import { rmSync } from "node:fs";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { browserPath, startBrowser, startProfile } from "../../../tools/browser.ts";
import type { BrowserDatabase, BrowserOpenOptions, BrookletError as Failure } from "../src/browser.ts";
import type { manyNotes, note } from "./browser/program.ts";
import { openSite, type Site, siteFolder, withEsbuild } from "./browser/site.ts";

const FULL = "The browser's storage is full: documents are found and removed, and what needs more room is refused";
const REFUSED = "INSUFFICIENT_STORAGE not_applied";
const NOTES = 200;

/** What a page has as names of its own (browser/page.ts). */
interface Window {
  open(options: BrowserOpenOptions): Promise<BrowserDatabase>;
  manyNotes: typeof manyNotes;
  note: typeof note;
}

/** What became of each operation of a page. */
interface Told {
  readonly warnings: readonly string[];
  readonly found: number;
  readonly steps: readonly string[];
}

describe.runIf(browserPath !== undefined).each([
  ["on a disk", true],
  ["in memory", false],
])("a storage %s that is full when a page opens", (_, isOnDisk) => {
  const folder = siteFolder();
  let site: Site;
  let browser: Browser | undefined;
  let context: BrowserContext;

  // Only of files that are on a disk a browser keeps more than they have.
  beforeAll(async () => {
    site = await openSite(withEsbuild);
    if (isOnDisk) context = await startProfile(folder);
    else {
      browser = await startBrowser();
      context = await browser.newContext();
    }
  });

  afterAll(async () => {
    await context?.close();
    await browser?.close();
    site?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  async function newPage(): Promise<Page> {
    const page = await context.newPage();
    await page.goto(site.url);
    await page.waitForFunction(() => "manyNotes" in globalThis);
    return page;
  }

  async function fed(page: Page, name: string): Promise<readonly string[]> {
    return await page.evaluate(
      async ([of, notes]) => {
        const { open, manyNotes: many, note: schema } = globalThis as unknown as Window;
        const database = await open({ name: of, schemas: [schema] });
        await database.group("me").feed(schema, [...many()].slice(0, notes));
        await database.close();
        return database.warnings;
      },
      [name, NOTES] as const,
    );
  }

  /** Opens the database in a page of its own, and searches it, removes a note, puts one, and removes one more. */
  async function used(name: string, from: number): Promise<Told> {
    const page = await newPage();
    const told = await page.evaluate(
      async ([of, number]) => {
        const { open, note: schema } = globalThis as unknown as Window;
        const database = await open({ name: of, schemas: [schema] });
        const me = database.group("me");
        const step = (done: Promise<unknown>): Promise<string> =>
          done.then(
            () => "done",
            (error: Failure) => `${error.code} ${error.outcome}`,
          );
        const fields = { title: "More", body: "y".repeat(100_000), folder: "later", writtenAt: new Date(0) };
        const { totalCount: found } = await me.search(schema, { text: "number", limit: 1 });
        const steps = [
          await step(me.remove(schema, `many-${number}`)),
          await step(me.put(schema, "more", fields)),
          await step(me.remove(schema, `many-${number + 1}`)),
        ];
        await database.close();
        return { warnings: database.warnings, found, steps };
      },
      [name, from] as const,
    );
    await page.close();
    return told;
  }

  test("is read and gives space from one page to the next, says that it is full, and takes writes when it has room", async () => {
    const page = await newPage();
    expect(await fed(page, "full")).toEqual([]);
    const devtools = await context.newCDPSession(page);
    const { origin } = new URL(site.url);
    const { usage } = await devtools.send("Storage.getUsageAndQuota", { origin });
    await devtools.send("Storage.overrideQuotaForOrigin", { origin, quotaSize: usage });
    const full = { warnings: [FULL], steps: ["done", REFUSED, "done"] };
    expect(await used("full", 0)).toEqual({ ...full, found: NOTES });
    // What was kept back is not all there any more.
    await devtools.send("Storage.overrideQuotaForOrigin", { origin, quotaSize: usage - 100_000 });
    expect(await used("full", 2)).toEqual({ ...full, found: NOTES - 2 });
    await devtools.send("Storage.overrideQuotaForOrigin", { origin });
    expect(await used("full", 4)).toEqual({ warnings: [], found: NOTES - 4, steps: ["done", "done", "done"] });
    await page.close();
  });

  test("is read where nothing at all is left, nor kept back", async () => {
    const page = await newPage();
    await fed(page, "over");
    const devtools = await context.newCDPSession(page);
    const { origin } = new URL(site.url);
    await devtools.send("Storage.overrideQuotaForOrigin", { origin, quotaSize: 1 });
    expect(await used("over", 0)).toMatchObject({ warnings: [FULL], found: NOTES });
    await devtools.send("Storage.overrideQuotaForOrigin", { origin });
    await page.close();
  });
});
