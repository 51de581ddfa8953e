/** The page in a real browser, as it is built: import, search as one types, facets, reasons, and all of it without a network. */
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { violations } from "../../../tools/accessibility.ts";
import { browserPath, startBrowser } from "../../../tools/browser.ts";
import { keepPicture } from "../../../tools/picture.ts";
import { buildSite } from "../build.mjs";
import { serveSite } from "../serve.mjs";

const MANY = 10_000;
/** What is left of the browser's room where it is full. */
const ROOM_BYTES = 200_000;
const OWN_NOTES = "# Bicycle\n2026-11-20\nThe chain is new. 35 paid. #money\n\n# A thought\nWrite less, and earlier.\n";

describe.runIf(browserPath !== undefined)("the page", () => {
  const folder = mkdtempSync(join(tmpdir(), "brooklet-notes-"));
  let server: Server;
  let browser: Browser;
  let context: BrowserContext;
  let page: Page;
  let url: string;
  const complaints: string[] = [];

  beforeAll(async () => {
    await buildSite(folder);
    server = serveSite(folder);
    await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    browser = await startBrowser();
    context = await browser.newContext({ viewport: { width: 390, height: 844 } });
    page = await newPage();
  });

  async function newPage(): Promise<Page> {
    const made = watched(await context.newPage());
    await made.goto(url);
    return made;
  }

  function watched(made: Page): Page {
    made.on("pageerror", (error) => complaints.push(String(error)));
    made.on("console", (message) => {
      if (message.type() === "error") complaints.push(message.text());
    });
    return made;
  }

  afterAll(async () => {
    await browser?.close();
    server?.close();
    server?.closeAllConnections();
    rmSync(folder, { recursive: true, force: true });
  });

  async function picture(name: string): Promise<void> {
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme });
      await keepPicture(page, `browser-notes-${name}-${colorScheme}`);
    }
  }

  const count = (): Promise<string | null> => page.locator("#count").textContent();
  const titles = (): Promise<string[]> => page.locator("#results h2").allTextContents();

  test("imports the sample and a file, the newest first", async () => {
    await page.getByRole("button", { name: "take the sample" }).click();
    await expect.poll(count).toBe("10 notes");
    const file = { name: "own.md", mimeType: "text/markdown", buffer: Buffer.from(OWN_NOTES) };
    await page.locator("#file").setInputFiles(file);
    await expect.poll(count).toBe("12 notes");
    expect(await titles()).toContain("Bicycle");
    await picture("notes");
  });

  test("finds as one types, says why, and narrows by a tag", async () => {
    await page.getByRole("searchbox").pressSequentially("invoi");
    await expect.poll(count).toBe("2 notes");
    expect(await page.locator("mark").first().textContent()).toMatch(/invoice/i);
    await page.getByText("Why this note").first().click();
    expect(await page.locator("#results details li").first().textContent()).toMatch(/in the (title|body)/);
    await picture("search");
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme });
      expect(await violations(page)).toEqual([]);
    }
    await page.emulateMedia({ colorScheme: null });
    await page.getByRole("button", { name: /^house/ }).click();
    await expect.poll(titles).toEqual(["Invoice of the electrician"]);
    await page.getByRole("button", { name: /^house/ }).click();
    await page.getByRole("searchbox").fill("");
    await expect.poll(count).toBe("12 notes");
  });

  test("keeps the focus on a tag that is chosen with the keyboard", async () => {
    const house = page.getByRole("button", { name: /^house/ });
    const focused = (): Promise<string | null | undefined> => page.evaluate(() => document.activeElement?.textContent);
    await house.focus();
    await page.keyboard.press("Enter");
    await expect.poll(() => house.getAttribute("aria-pressed")).toBe("true");
    expect(await focused()).toMatch(/^house/);
    await page.keyboard.press("Space");
    await expect.poll(count).toBe("12 notes");
    expect(await focused()).toMatch(/^house/);
  });

  test("shows which tag is chosen where people have colours of their own", async () => {
    await page.emulateMedia({ forcedColors: "active" });
    const tag = page.getByRole("button", { name: /^house/ });
    const ground = (): Promise<string> => tag.evaluate((it) => getComputedStyle(it).backgroundColor);
    const before = await ground();
    await tag.click();
    await expect.poll(() => tag.getAttribute("aria-pressed")).toBe("true");
    expect(await ground()).not.toBe(before);
    await tag.click();
    await expect.poll(() => tag.getAttribute("aria-pressed")).toBe("false");
    await page.emulateMedia({ forcedColors: null });
  });

  test("opens and searches without a network", async () => {
    await page.evaluate("navigator.serviceWorker.ready");
    await context.setOffline(true);
    await page.reload();
    await expect.poll(count).toBe("12 notes");
    await page.getByRole("searchbox").fill("paid");
    await expect.poll(titles).toContain("Bicycle");
    const file = {
      name: "more.md",
      mimeType: "text/markdown",
      buffer: Buffer.from("# Written in flight\nOver the sea.\n"),
    };
    await page.locator("#file").setInputFiles(file);
    await page.getByRole("searchbox").fill("flight");
    await expect.poll(titles).toEqual(["Written in flight"]);
    await context.setOffline(false);
    expect(complaints).toEqual([]);
  });

  test("takes a file that is chosen while the database still opens", async () => {
    const elsewhere = await browser.newContext({ serviceWorkers: "block" });
    const early = watched(await elsewhere.newPage());
    // The database opens when this is let go, so that the page is not ready before.
    let letGo = (): void => undefined;
    const held = new Promise<void>((resolve) => {
      letGo = resolve;
    });
    await elsewhere.route(/\.wasm$/, async (route) => {
      await held;
      await route.continue();
    });
    await early.goto(url);
    const file = { name: "early.md", mimeType: "text/markdown", buffer: Buffer.from("# Early\nBefore it was open.\n") };
    await early.locator("#file").setInputFiles(file);
    letGo();
    await expect.poll(() => early.locator("#told").textContent()).toBe("1 note imported.");
    await early.getByRole("searchbox").fill("before");
    await expect.poll(() => early.locator("#results h2").allTextContents()).toEqual(["Early"]);
    await elsewhere.close();
  });

  const importFile = (name: string, text: string): Promise<void> =>
    page.locator("#file").setInputFiles({ name, mimeType: "text/markdown", buffer: Buffer.from(text) });
  const told = (): Promise<string | null> => page.locator("#told").textContent();

  test("keeps ten thousand notes when it is closed, and finds one of them without a network", async () => {
    const many = Array.from(
      { length: MANY },
      (_, n) => `# Log ${n}\n2026-01-01\nEntry number${n} of a long log. #log\n\n`,
    );
    await importFile("many.md", many.join(""));
    await expect.poll(told).toBe(`${MANY} notes imported.`);
    await page.close();
    await context.setOffline(true);
    page = await newPage();
    await expect.poll(count).toBe(`${MANY + 13} notes`);
    await page.getByRole("searchbox").fill("number4711");
    await expect.poll(titles).toEqual(["Log 4711"]);
    await context.setOffline(false);
  });

  test("two tabs have the same notes, and one goes on when the other is closed", async () => {
    const first = page;
    const second = await newPage();
    await second.locator("#file").setInputFiles({
      name: "second.md",
      mimeType: "text/markdown",
      buffer: Buffer.from("# From the second tab\nA kingfisher.\n"),
    });
    await expect.poll(() => second.locator("#told").textContent()).toBe("1 note imported.");
    await first.getByRole("searchbox").fill("kingfisher");
    await expect.poll(titles).toEqual(["From the second tab"]);
    await first.close();
    page = second;
    await page.getByRole("searchbox").fill("kingfisher");
    await expect.poll(titles).toEqual(["From the second tab"]);
  });

  test("an import tells how far it is, can be stopped, and goes on where the same file is chosen again", async () => {
    const other = await browser.newContext({ viewport: { width: 390, height: 844 } });
    const apart = watched(await other.newPage());
    const [said, stop] = [apart.locator("#told"), apart.getByRole("button", { name: "Stop" })];
    await apart.goto(url);
    await expect.poll(() => apart.locator("#kept").textContent()).toContain("Kept in this browser");
    const path = join(folder, "large.md");
    const notes = Array.from(
      { length: MANY },
      (_, n) => `# Large ${n}\n2026-01-02\n${"so many words ".repeat(100)}\n\n`,
    );
    writeFileSync(path, notes.join(""));
    await apart.locator("#file").setInputFiles(path);
    await expect.poll(() => said.textContent(), { interval: 5 }).toMatch(/^Importing: \d+ of 10000 …/);
    await stop.focus();
    await apart.keyboard.press("Enter");
    await expect.poll(() => said.textContent()).toMatch(/^\d+ of 10000 notes imported\. Stopped\.$/);
    const imported = Number(/^\d+/.exec((await said.textContent()) ?? "")?.[0]);
    expect(imported).toBeLessThan(MANY);
    await expect.poll(() => apart.locator("#count").textContent()).toBe(`${imported} notes`);
    expect(await apart.evaluate(() => document.activeElement?.id)).toBe("file");
    expect(await stop.isVisible()).toBe(false);
    await apart.locator("#file").setInputFiles(path);
    await expect.poll(() => said.textContent()).toBe("10000 notes imported.");
    await expect.poll(() => apart.locator("#count").textContent()).toBe("10000 notes");
    await other.close();
  });

  test("a large file is read in pieces, told of from its first, and is what it is as a whole", async () => {
    const other = await browser.newContext();
    const apart = watched(await other.newPage());
    await apart.goto(url);
    await expect.poll(() => apart.locator("#kept").textContent()).toContain("Kept in this browser");
    await apart.evaluate(() => {
      const told = document.querySelector("#told") as HTMLElement;
      const all: string[] = [];
      Object.assign(globalThis, { all });
      new MutationObserver(() => all.push(told.textContent ?? "")).observe(told, { childList: true });
    });
    const path = join(folder, "pieces.md");
    // Ends of lines of two bytes, and characters of three: some of either are cut by the end of a piece.
    const note = (n: number): string => `# Piece ${n}\r\n2026-01-03\r\n${"€\r\n".repeat(2_000)}last${n}\r\n`;
    writeFileSync(path, Array.from({ length: 400 }, (_, n) => note(n)).join(""));
    await apart.locator("#file").setInputFiles(path);
    await expect.poll(() => apart.locator("#told").textContent()).toBe("400 notes imported.");
    const [first] = await apart.evaluate(() => (globalThis as unknown as { all: string[] }).all);
    expect(first).toBe("Reading: 0.0 of 4.0 MB …");
    const shown = await apart.locator("#results li").first().locator("h2 + p").textContent();
    expect(shown).toMatch(/^(?:€\n)+/);
    for (const word of ["last0", "last209", "last399", "€\ufffd"]) {
      await apart.locator("#query").fill(word);
      await expect
        .poll(() => apart.locator("#count").textContent())
        .toBe(`${word.startsWith("last") ? 1 : 0} note${word.startsWith("last") ? "" : "s"}`);
    }
    await other.close();
  });

  test("writes a note from where its language begins", async () => {
    const other = await browser.newContext();
    const apart = watched(await other.newPage());
    await apart.goto(url);
    const buffer = Buffer.from("# שלום עולם\nمرحبا بالعالم\n\n# A river\nA stone.\n");
    await apart.locator("#file").setInputFiles({ name: "own.md", mimeType: "text/markdown", buffer });
    await expect.poll(() => apart.locator("#count").textContent()).toBe("2 notes");
    const ways = (what: string): Promise<string[]> =>
      apart.locator(what).evaluateAll((all) => all.map((one) => getComputedStyle(one).direction).sort());
    for (const what of ["#results h2", "#results h2 + p"]) expect(await ways(what)).toEqual(["ltr", "rtl"]);
    await apart.locator("#query").fill("שלום");
    await expect.poll(() => apart.locator("#count").textContent()).toMatch(/^1 /);
    expect(await ways("#query")).toEqual(["rtl"]);
    await other.close();
  });

  test("says what cannot be imported, needs no https, and breaks long words", async () => {
    const other = await browser.newContext({ viewport: { width: 360, height: 800 } });
    const apart = watched(await other.newPage());
    await apart.addInitScript(() => Object.defineProperty(crypto, "subtle", { value: undefined }));
    const told = apart.locator("#told");
    await apart.route("**/sample.txt", (route) => route.fulfill({ status: 404, body: "<h1>Not found</h1>" }));
    await apart.goto(url);
    await apart.getByRole("button", { name: "take the sample" }).click();
    await expect.poll(() => told.textContent()).toBe("The sample cannot be reached.");
    const picture = { name: "photo.png", mimeType: "text/plain", buffer: Buffer.from([0x89, 0x50, 0, 0, 13, 10]) };
    await apart.locator("#file").setInputFiles(picture);
    await expect.poll(() => told.textContent()).toBe("photo.png is no text: nothing of it was imported.");
    const long = Buffer.from(`# ${"x".repeat(3_000)}\n${"y".repeat(3_000)}\n`);
    await apart.locator("#file").setInputFiles({ name: "long.md", mimeType: "text/markdown", buffer: long });
    await expect.poll(() => told.textContent()).toBe("1 note imported.");
    expect(await apart.evaluate(() => document.documentElement.scrollWidth)).toBe(360);
    await other.close();
    expect(complaints.splice(0).filter((complaint) => !complaint.includes("404"))).toEqual([]);
  });

  test("says when the browser has no room, keeps what it has, and takes more when there is room again", async () => {
    const devtools = await context.newCDPSession(page);
    const { origin } = new URL(url);
    const { usage } = await devtools.send("Storage.getUsageAndQuota", { origin });
    await devtools.send("Storage.overrideQuotaForOrigin", { origin, quotaSize: usage + ROOM_BYTES });
    const long = Array.from(
      { length: 200 },
      (_, n) => `# Long ${n}\n2026-01-02\n${randomBytes(40_000).toString("hex")}\n\n`,
    );
    await importFile("long.md", long.join(""));
    await expect.poll(told).toMatch(/This browser has no room for more notes\.$/);
    await page.getByRole("searchbox").fill("kingfisher");
    await expect.poll(titles).toEqual(["From the second tab"]);
    await picture("full");
    await devtools.send("Storage.overrideQuotaForOrigin", { origin });
    await importFile("after.md", "# When there was room\nA heron.\n");
    await expect.poll(told).toBe("1 note imported.");
    await page.getByRole("searchbox").fill("heron");
    await expect.poll(async () => [await count(), ...(await titles())]).toEqual(["1 note", "When there was room"]);
    expect(complaints).toEqual([]);
  });
});
