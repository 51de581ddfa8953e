/**
 * A database in a page of a real browser: the same bits as on Node, kept over pages, without a network, in several pages at once,
 * and where the storage is full.
 */
import { rmSync } from "node:fs";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { browserPath, startBrowser, startProfile } from "../../../tools/browser.ts";
import sizes from "../../../tools/sizes.json" with { type: "json" };
import type { BrowserDatabase, BrowserOpenOptions, BrookletError as Failure } from "../src/browser.ts";
import { open as openHere } from "../src/open.ts";
import { findings, MANY, type manyNotes, note } from "./browser/program.ts";
import { openSite, type Site, siteFolder, weigh, withEsbuild, withVite } from "./browser/site.ts";

/** How often a page is closed while it writes, and how much later than the time before. */
const INTERRUPTIONS = 12;
const INTERRUPTION_STEP_MS = 40;
/** Two pages are opened in each round: on a machine that others use that takes some ten seconds. */
const INTERRUPTIONS_MS = 1_800_000;

/** What a page has as names of its own (browser/page.ts). */
interface Window {
  open(options: BrowserOpenOptions): Promise<BrowserDatabase>;
  findings: typeof findings;
  manyNotes: typeof manyNotes;
  note: typeof note;
  database: BrowserDatabase;
  wrote(): void;
}

describe.runIf(browserPath !== undefined)("in a browser", () => {
  let site: Site;
  let browser: Browser;
  let context: BrowserContext;
  const complaints: string[] = [];

  beforeAll(async () => {
    [site, browser] = await Promise.all([openSite(withEsbuild), startBrowser()]);
    context = await browser.newContext();
  });

  afterAll(async () => {
    await browser?.close();
    site?.close();
  });

  async function newPage(at: Site = site): Promise<Page> {
    const page = await context.newPage();
    page.on("pageerror", (error) => complaints.push(String(error)));
    page.on("console", (message) => {
      if (message.type() === "error") complaints.push(message.text());
    });
    await page.goto(at.url);
    await page.waitForFunction(() => "findings" in globalThis);
    return page;
  }

  /** A page that has a database open, as `database`. */
  async function pageWith(name: string): Promise<Page> {
    const page = await newPage();
    await openIn(page, name);
    return page;
  }

  async function openIn(page: Page, name: string): Promise<readonly string[]> {
    return await page.evaluate(async (of) => {
      const window = globalThis as unknown as Window;
      window.database = await window.open({ name: of, schemas: [window.note] });
      return window.database.warnings;
    }, name);
  }

  const close = (page: Page): Promise<void> => page.evaluate(() => (globalThis as unknown as Window).database.close());

  const countOf = (page: Page, words: string): Promise<number> =>
    page.evaluate(async (asked) => {
      const { database, note: schema } = globalThis as unknown as Window;
      return (await database.group("me").search(schema, { text: asked, limit: 1 })).totalCount;
    }, words);

  const putIn = (page: Page, id: string): Promise<string> =>
    page.evaluate(async (of) => {
      const { database, note: schema } = globalThis as unknown as Window;
      const fields = { title: of, body: "written later", folder: "later", writtenAt: new Date(0) };
      return await database
        .group("me")
        .put(schema, of, fields)
        .then(
          () => "done",
          (error: Failure) => `${error.code} ${error.status} ${error.outcome}`,
        );
    }, id);

  test("finds with the same bits as on Node, in memory and stored", async () => {
    await using here = await openHere({ schemas: [note] });
    const expected = JSON.stringify(await findings(here));
    expect(expected).toContain("bills");
    const page = await newPage();
    const found = await page.evaluate(async () => {
      const { open, findings: find, note: schema } = globalThis as unknown as Window;
      const memory = await open({ memory: true, schemas: [schema] });
      const stored = await open({ name: "bits", schemas: [schema] });
      const both = [JSON.stringify(await find(memory)), JSON.stringify(await find(stored))];
      const about = [memory.isStored, memory.warnings, stored.isStored, stored.warnings];
      await Promise.all([memory.close(), stored.close()]);
      return { both, about };
    });
    expect(found.both).toEqual([expected, expected]);
    expect(found.about).toEqual([false, [], true, []]);
    await page.close();
  });

  test("keeps ten thousand notes, which another page finds without a network", async () => {
    const first = await pageWith("many");
    const fed = await first.evaluate(async () => {
      const { database, manyNotes: notes, note: schema } = globalThis as unknown as Window;
      return await database.group("me").feed(schema, notes());
    });
    expect(fed).toEqual({ applied: MANY, ignored: 0 });
    expect(await countOf(first, "rent")).toBe(MANY / 10);
    await close(first);
    await first.close();

    const second = await pageWith("many");
    await context.setOffline(true);
    try {
      expect(await countOf(second, "rent")).toBe(MANY / 10);
      expect(await putIn(second, "offline")).toBe("done");
      expect(await countOf(second, "offline")).toBe(1);
    } finally {
      await context.setOffline(false);
    }
    await close(second);
    await second.close();
  });

  test("two pages have one database; the other takes over when its owner closes, or is gone", async () => {
    const owner = await pageWith("shared");
    const other = await pageWith("shared");
    expect(await putIn(owner, "first")).toBe("done");
    expect(await countOf(other, "first")).toBe(1);
    expect(await putIn(other, "second")).toBe("done");
    expect(await countOf(owner, "second")).toBe(1);

    await close(owner);
    expect(await putIn(other, "third")).toBe("done");
    // Now the other is the owner, and goes without a word.
    await openIn(owner, "shared");
    expect(await countOf(owner, "written later")).toBe(3);
    await other.close();
    expect(await countOf(owner, "written later")).toBe(3);
    expect(await putIn(owner, "fourth")).toBe("done");
    await close(owner);
    await owner.close();
  });

  test("a page that the browser stops lets the other have the database, and reaches it when it goes on", async () => {
    const happens = (page: Page, kind: string): Promise<boolean> =>
      page.evaluate((of) => {
        // Of the page, which is no type of Node's.
        const { document } = globalThis as unknown as { readonly document: EventTarget };
        return document.dispatchEvent(new Event(of));
      }, kind);
    const [owner, other] = [await pageWith("stopped"), await pageWith("stopped")];
    expect(await putIn(owner, "first")).toBe("done");
    await happens(owner, "freeze");
    expect(await putIn(other, "second")).toBe("done");
    expect(await countOf(other, "later")).toBe(2);
    await happens(owner, "resume");
    expect(await countOf(owner, "later")).toBe(2);
    // It is in line, too.
    await other.close();
    expect(await putIn(owner, "third")).toBe("done");
    expect(await countOf(owner, "later")).toBe(3);
    await close(owner);
    await owner.close();
  });

  test("what is asked while the next page opens the database is done once, by that page", async () => {
    const owner = await pageWith("handed on");
    const others = await Promise.all([pageWith("handed on"), pageWith("handed on")]);
    const addIn = (page: Page, id: string): Promise<string> =>
      page.evaluate(async (of) => {
        const { database, note: schema } = globalThis as unknown as Window;
        const fields = { title: of, body: "written once", folder: "once", writtenAt: new Date(0) };
        // What is conditional is never sent again.
        const added = database.group("me").put(schema, of, fields, { condition: 'note.title != "x"', create: true });
        return await added.then(() => "done", String);
      }, id);
    await close(owner);
    expect(await Promise.all(others.map((page, at) => addIn(page, `closed-${at}`)))).toEqual(["done", "done"]);
    expect(await Promise.all(others.map((page) => countOf(page, "once")))).toEqual([2, 2]);
    await Promise.all(others.map(close));
    await Promise.all([owner, ...others].map((page) => page.close()));
  });

  test("a full storage is an error of its own, loses nothing, and takes writes again when it has room", async () => {
    const page = await pageWith("full");
    expect(await putIn(page, "before")).toBe("done");
    const devtools = await context.newCDPSession(page);
    const { origin } = new URL(site.url);
    const { usage } = await devtools.send("Storage.getUsageAndQuota", { origin });
    await devtools.send("Storage.overrideQuotaForOrigin", { origin, quotaSize: usage + 200_000 });
    const failure = await page.evaluate(async () => {
      const { database, note: schema } = globalThis as unknown as Window;
      const text = "x".repeat(100_000);
      for (let number = 0; number < 50; number += 1) {
        try {
          const fields = { title: `fill ${number}`, body: text, folder: "full", writtenAt: new Date(0) };
          await database.group("me").put(schema, `fill-${number}`, fields);
        } catch (error) {
          const { code, status, outcome } = error as Failure;
          return { code, status, outcome, number };
        }
      }
      return undefined;
    });
    expect(failure).toMatchObject({ code: "INSUFFICIENT_STORAGE", status: 507, outcome: "not_applied" });
    expect(await countOf(page, "before")).toBe(1);
    await devtools.send("Storage.overrideQuotaForOrigin", { origin });
    expect(await putIn(page, "after")).toBe("done");
    await close(page);
    await openIn(page, "full");
    expect(await countOf(page, "fill")).toBe(failure?.number);
    expect(await countOf(page, "written later")).toBe(2);
    await close(page);
    await page.close();
  });

  describe.each([
    ["on a disk", true],
    ["in memory", false],
  ])("a storage %s that is cleared while it is open", (_, isOnDisk) => {
    let kept: BrowserContext | undefined;
    let outer: BrowserContext;
    const folder = siteFolder();

    // Files of a profile that is on a disk can be written when they are removed; of one in memory they cannot.
    beforeAll(async () => {
      outer = context;
      if (isOnDisk) context = kept = await startProfile(folder);
    });

    afterAll(async () => {
      context = outer;
      await kept?.close();
      rmSync(folder, { recursive: true, force: true });
    });

    const clearedBy = async (page: Page): Promise<void> => {
      const devtools = await context.newCDPSession(page);
      await devtools.send("Storage.clearDataForOrigin", { origin: new URL(site.url).origin, storageTypes: "all" });
    };

    test("is told as that, and opens again, for other pages too", async () => {
      const page = await pageWith("cleared");
      expect(await putIn(page, "before")).toBe("done");
      await clearedBy(page);
      await expect.poll(() => putIn(page, "after")).toBe("STORE_CORRUPT 500 unknown");
      await expect.poll(() => countOf(page, "before").catch(String)).toContain("The browser's storage was cleared");
      await close(page);
      await openIn(page, "cleared");
      expect(await putIn(page, "anew")).toBe("done");
      // The locks of this page are not those of pages that come now.
      const other = await pageWith("cleared");
      expect(await putIn(other, "other")).toBe("done");
      expect([await countOf(page, "later"), await countOf(other, "later")]).toEqual([2, 2]);
      await close(page);
      expect(await putIn(other, "last")).toBe("done");
      expect(await countOf(other, "later")).toBe(3);
      await Promise.all([page, other].map((one) => one.close()));
    });

    test("is told by a page that takes it over, or finds another that has it anew", async () => {
      const [owner, next, last] = [await pageWith("gone"), await pageWith("gone"), await pageWith("gone")];
      expect(await putIn(owner, "before")).toBe("done");
      await clearedBy(owner);
      await owner.close();
      await expect.poll(() => countOf(next, "before").catch(String)).toContain("The browser's storage was cleared");
      await expect.poll(() => countOf(last, "before").catch(String)).toContain("The browser's storage was cleared");
      const other = await pageWith("gone");
      expect(await putIn(other, "anew")).toBe("done");
      expect(await countOf(other, "later")).toBe(1);
      await Promise.all([next, last, other].map((one) => one.close()));
    });

    test("is not asked any more when another page has it anew", async () => {
      const [owner, waiting] = [await pageWith("beside"), await pageWith("beside")];
      expect(await putIn(owner, "before")).toBe("done");
      await clearedBy(owner);
      const other = await pageWith("beside");
      await expect.poll(() => putIn(owner, "lost")).toBe("STORE_CORRUPT 500 unknown");
      await expect.poll(() => putIn(waiting, "lost")).toBe("STORE_CORRUPT 500 unknown");
      expect(await putIn(other, "anew")).toBe("done");
      expect(await countOf(other, "later")).toBe(1);
      await Promise.all([owner, waiting, other].map((one) => one.close()));
    });
  });

  test("a page that goes in the middle of a write leaves what was there before, or all of it", {
    timeout: INTERRUPTIONS_MS,
  }, async () => {
    const first = await pageWith("interrupted");
    expect(await putIn(first, "before")).toBe("done");
    await close(first);
    await first.close();
    for (let round = 0; round < INTERRUPTIONS; round += 1) {
      const page = await pageWith("interrupted");
      let told = (): void => undefined;
      const wrote = new Promise<void>((resolve) => {
        told = resolve;
      });
      await page.exposeFunction("wrote", told);
      const goneWith = page
        .evaluate(async () => {
          const { database, manyNotes: notes, note: schema, wrote: tell } = globalThis as unknown as Window;
          for (const { id, fields } of notes()) {
            await database.group("me").put(schema, id, fields);
            break;
          }
          tell();
          for (;;) await database.group("me").feed(schema, notes());
        })
        .catch((error: unknown) => String(error));
      await wrote;
      // Each round it is gone at another step.
      await new Promise((resolve) => setTimeout(resolve, round * INTERRUPTION_STEP_MS));
      await page.close();
      expect(await goneWith).toContain("closed");
      const next = await pageWith("interrupted");
      expect(await countOf(next, "before")).toBe(1);
      expect(await putIn(next, "after")).toBe("done");
      expect(await countOf(next, "later")).toBe(2);
      await close(next);
      await next.close();
    }
  });

  test("files that cannot be opened once are an error, and are there the next time", async () => {
    const page = await pageWith("broken");
    expect(await putIn(page, "before")).toBe("done");
    await close(page);
    // The guard and eight files are looked at, and the library tries a file of its own, before it opens them.
    const working = 1 + 8 + 1;
    const script = `import "${site.url}app/browser-worker.js";
      const { prototype } = FileSystemFileHandle;
      const { createSyncAccessHandle } = prototype;
      let calls = 0;
      prototype.createSyncAccessHandle = function (...given) {
        calls += 1;
        if (calls > ${working}) return Promise.reject(new DOMException("it broke", "UnknownError"));
        return createSyncAccessHandle.apply(this, given);
      };`;
    const failure = await page.evaluate(async (text) => {
      const { open, note: schema } = globalThis as unknown as Window;
      const worker = URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
      return await open({ name: "broken", schemas: [schema], assets: { worker } }).then(
        () => "opened",
        (error: Failure) => `${error.code}: ${error.message}`,
      );
    }, script);
    expect(failure).toBe("STORE_FAILED: the browser's storage cannot be used: it broke");
    await openIn(page, "broken");
    expect(await countOf(page, "before")).toBe(1);
    await close(page);
    await page.close();
  });

  test("runs as Vite builds it, without a setting", async () => {
    const built = await openSite(withVite);
    const page = await newPage(built);
    await openIn(page, "vite");
    expect(await putIn(page, "first")).toBe("done");
    expect(await countOf(page, "first")).toBe(1);
    await close(page);
    await page.close();
    built.close();
  });

  test("asks for nothing that is not there where a page is isolated, either", async () => {
    const isolated = await openSite(withEsbuild, {
      "cross-origin-opener-policy": "same-origin",
      "cross-origin-embedder-policy": "require-corp",
    });
    const page = await newPage(isolated);
    expect(await page.evaluate(() => "SharedArrayBuffer" in globalThis)).toBe(true);
    await openIn(page, "isolated");
    expect(await putIn(page, "first")).toBe("done");
    expect(isolated.missing).toEqual([]);
    await close(page);
    await page.close();
    isolated.close();
  });

  test("says what browser or site lack, and is in memory where nothing can be kept", async () => {
    const page = await newPage();
    const said = await page.evaluate(async () => {
      const { open, note: schema } = globalThis as unknown as Window;
      const failure = (assets: object): Promise<string> =>
        open({ name: "lacking", schemas: [schema], assets }).then(
          () => "opened",
          (error: Failure) => `${error.code}: ${error.message}`,
        );
      const failures = [
        await failure({ worker: "data:text/javascript,throw 'x'" }),
        await failure({ core: "/none.wasm" }),
        await failure({ sqlite: "/none.wasm" }),
      ];
      Object.defineProperty(navigator.storage, "getDirectory", { value: undefined });
      const database = await open({ name: "lacking", schemas: [schema] });
      const about = { failures, isStored: database.isStored, warnings: database.warnings };
      await database.close();
      return about;
    });
    expect(said.failures[0]).toMatch(
      /^CANNOT_START: The worker of the database failed: .*open\(\{ assets: \{ worker \} \}\)/,
    );
    expect(said.failures[1]).toMatch(/^CANNOT_START: .*none\.wasm: it answered 404/);
    expect(said.failures[2]).toMatch(/^CANNOT_START: SQLite cannot be loaded from \/none\.wasm: /);
    expect(said.isStored).toBe(false);
    expect(said.warnings).toEqual([
      "The database is in memory, and ends with this page: this browser has no private file system (OPFS)",
    ]);
    await page.close();
    // The browser itself tells of the files that are not there, and SQLite's library of its own.
    const told = complaints.splice(0);
    expect(told.every((complaint) => /404|loading sqlite3/.test(complaint))).toBe(true);
  });

  const REFUSED = "new DOMException('The operation is insecure', 'SecurityError')";
  const LETS_NOTHING = "the browser lets this page keep nothing (The operation is insecure)";
  test.each([
    ["has no locks", "navigator, 'locks', { value: undefined }", "this browser has no Web Locks"],
    ["has no files", "navigator, 'storage', { value: undefined }", "this browser has no private file system (OPFS)"],
    ["has no channels", "globalThis, 'BroadcastChannel', { value: undefined }", "this browser has no BroadcastChannel"],
    ["may have no locks", `navigator.locks, 'request', { value: () => Promise.reject(${REFUSED}) }`, LETS_NOTHING],
    [
      "may have no files",
      `navigator.storage, 'getDirectory', { value: async () => { throw ${REFUSED}; } }`,
      LETS_NOTHING,
    ],
    [
      "may have no channels",
      `globalThis, 'BroadcastChannel', { value: function () { throw ${REFUSED}; } }`,
      LETS_NOTHING,
    ],
  ])("is in memory where a worker %s, though the page does", async (_, what, lack) => {
    const page = await newPage();
    const script = `import "${site.url}app/browser-worker.js";
      Object.defineProperty(${what});`;
    const told = await page.evaluate(async (text) => {
      const { open, note: schema } = globalThis as unknown as Window;
      const worker = URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
      const database = await open({ name: "lacking worker", schemas: [schema], assets: { worker } });
      await database.close();
      return [database.isStored, ...database.warnings];
    }, script);
    expect(told).toEqual([false, `The database is in memory, and ends with this page: ${lack}`]);
    await page.close();
  });

  test("complains of nothing", () => {
    expect(complaints).toEqual([]);
  });
});

test("what a page loads is within its budget", async () => {
  const folder = siteFolder();
  const weight = await weigh(folder);
  rmSync(folder, { recursive: true });
  const budget = sizes.pageKilobytes;
  for (const part of ["page", "worker", "sqlite", "core"] as const) {
    expect(weight[part], part).toBeGreaterThan(budget[part] / 2);
    expect(weight[part], part).toBeLessThan(budget[part]);
  }
});
