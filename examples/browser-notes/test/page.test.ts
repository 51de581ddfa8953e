/** The page in a real browser, as it is built: import, search as one types, facets, reasons, and all of it without a network. */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { browserPath, startBrowser } from "../../../tools/browser.ts";
import { buildSite } from "../build.mjs";
import { serveSite } from "../serve.mjs";

/** Where pictures of the page are kept, for people to look at. */
const PICTURES = process.env["BROOKLET_SCREENSHOTS"];
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
    page = await context.newPage();
    page.on("pageerror", (error) => complaints.push(String(error)));
    page.on("console", (message) => {
      if (message.type() === "error") complaints.push(message.text());
    });
    await page.goto(url);
  });

  afterAll(async () => {
    await browser?.close();
    server?.close();
    server?.closeAllConnections();
    rmSync(folder, { recursive: true, force: true });
  });

  async function picture(name: string): Promise<void> {
    if (PICTURES === undefined) return;
    mkdirSync(PICTURES, { recursive: true });
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme });
      await page.screenshot({ path: join(PICTURES, `${name}-${colorScheme}.png`) });
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
    await page.getByRole("button", { name: /^house/ }).click();
    await expect.poll(titles).toEqual(["Invoice of the electrician"]);
    await page.getByRole("button", { name: /^house/ }).click();
    await page.getByRole("searchbox").fill("");
    await expect.poll(count).toBe("12 notes");
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
});
