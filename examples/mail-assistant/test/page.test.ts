/** The page in a real browser: search, facets, reasons, answers with citations, keyboard, and hostile mail. */
import { readFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { serve } from "@hono/node-server";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { violations } from "../../../tools/accessibility.ts";
import { browserPath, startBrowser } from "../../../tools/browser.ts";
import { keepPicture } from "../../../tools/picture.ts";
import { Assistant } from "../src/assistant.ts";
import { scriptedModel } from "../src/scripted-model.ts";
import { createServer } from "../src/server.ts";

const SAMPLE = new URL("../sample/", import.meta.url);

describe.runIf(browserPath !== undefined)("the page", () => {
  let assistant: Assistant;
  let server: ReturnType<typeof serve>;
  let browser: Browser;
  let page: Page;
  let url: string;
  /** Everything the browser asked for, and everything it complained about. */
  const requested: string[] = [];
  const complaints: string[] = [];

  beforeAll(async () => {
    assistant = await Assistant.open({ model: scriptedModel(0) });
    for (const person of ["alice", "bob"]) {
      await assistant.import(person, readFileSync(new URL(`${person}.mbox`, SAMPLE), "utf8"));
    }
    const app = createServer(assistant, { people: ["alice", "bob"], modelName: "a scripted stand-in" });
    await new Promise<void>((resolve) => {
      server = serve({ fetch: app.fetch, hostname: "127.0.0.1", port: 0 }, () => resolve());
    });
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    browser = await startBrowser();
    page = await browser.newPage({ viewport: { width: 1180, height: 900 } });
    page.on("request", (request) => requested.push(request.url()));
    page.on("console", (message) => {
      if (message.type() === "error") complaints.push(message.text());
    });
    page.on("pageerror", (error) => complaints.push(String(error)));
    await page.goto(url);
  });

  afterAll(async () => {
    await browser?.close();
    server?.close();
    await assistant?.[Symbol.asyncDispose]();
  });

  const picture = (name: string): Promise<void> => keepPicture(page, `mail-assistant-${name}`);

  async function searchFor(words: string): Promise<void> {
    await page.getByLabel("Search or ask your mail").fill(words);
    await page.keyboard.press("Enter");
  }

  test("shows the newest mail first, and says how many there are", async () => {
    await expect.poll(() => page.locator("#count").textContent()).toBe("26 mails");
    expect(await page.locator("#results > li").count()).toBe(20);
    expect(await page.locator("#results .about time").first().textContent()).not.toBe("");
    await picture("inbox");
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme });
      expect(await violations(page)).toEqual([]);
    }
    await page.emulateMedia({ colorScheme: null });
  });

  test("finds mail by words, marks them, and tells why", async () => {
    await searchFor("invoice electricity");
    await expect.poll(() => page.locator("#count").textContent()).toBe("3 mails");
    const first = page.locator("#results > li").first();
    expect(await first.locator("mark").first().textContent()).toMatch(/invoice/i);
    await first.getByText("Why this mail").click();
    expect(await first.locator("details li").allTextContents()).toContain("a form of 'invoice' in the subject");
  });

  test("narrows by facets, and widens again", async () => {
    await page.getByRole("checkbox", { name: /Spam/ }).check();
    await expect.poll(() => page.locator("#count").textContent()).toBe("1 mail");
    await page.getByRole("checkbox", { name: /Spam/ }).uncheck();
    await expect.poll(() => page.locator("#count").textContent()).toBe("3 mails");
  });

  test("tells why a mail that is missed is not in the list", async () => {
    await page.getByRole("checkbox", { name: /Bills/ }).check();
    await expect.poll(() => page.locator("#count").textContent()).toBe("2 mails");
    await page.getByLabel("A mail is missing?").fill("deposit");
    await page.keyboard.press("Enter");
    const outcomes = page.locator("#outcomes");
    await expect.poll(() => outcomes.locator(".open").first().textContent()).toBe("Your deposit");
    expect(await outcomes.locator("ul").first().locator("li").allTextContents()).toEqual([
      "none of the words stands in it, nor one that is like them",
      "it is in Home, which is not chosen",
    ]);
    await picture("why-not");
    expect(await violations(page)).toEqual([]);
    await page.getByLabel("A mail is missing?").fill("4711");
    await page.getByRole("button", { name: "Why?" }).click();
    await expect.poll(() => outcomes.textContent()).toContain("it is number 2 of the list");
    expect(await page.locator("#results .open").nth(1).textContent()).toBe("Invoice 4711 for electricity");
    await page.getByLabel("A mail is missing?").fill("zeppelin");
    await page.getByRole("button", { name: "Why?" }).click();
    await expect.poll(() => outcomes.textContent()).toContain("There is no mail with these words");
    await page.getByRole("checkbox", { name: /Bills/ }).uncheck();
    await expect.poll(() => page.locator("#count").textContent()).toBe("3 mails");
    // What was told is of another list.
    expect(await outcomes.locator("li").count()).toBe(0);
  });

  test("answers with citations that open the mail at the passage", async () => {
    await page.getByLabel("Search or ask your mail").fill("When is the deposit paid back?");
    await page.getByRole("button", { name: "Ask" }).click();
    await expect.poll(() => page.locator("#answer-text").getAttribute("aria-busy")).toBe("false");
    expect(await page.locator("#answer-text").textContent()).toMatch(/^From your mail: .*deposit .*31 January.*\[1\]/);
    await picture("answer");
    await page.getByRole("button", { name: "Source 1" }).first().click();
    await page.keyboard.press("Enter");
    await expect.poll(() => page.locator("#reader-subject").textContent()).toBe("Your deposit");
    expect(await page.locator("#reader-body mark").textContent()).toContain("1,840 euros");
    await picture("mail");
    await page.keyboard.press("Escape");
    expect(await page.locator("#reader").isVisible()).toBe(false);
  });

  test("shows hostile mail and what it makes a model say as text, and loads nothing for it", async () => {
    await searchFor("won instructions");
    await expect.poll(() => page.locator("#results .open").first().textContent()).toBe("You have WON");
    await page.locator("#results .open").first().click();
    await expect
      .poll(() => page.locator("#reader-body").textContent())
      .toContain("![pixel](https://lucky-draw.example/p.gif)");
    await page.keyboard.press("Escape");
    await page.getByLabel("Search or ask your mail").fill("Was the invoice already paid, and who won?");
    await page.keyboard.press("Control+Enter");
    await expect.poll(() => page.locator("#answer-text").getAttribute("aria-busy")).toBe("false");
    expect(await page.locator("#answer-text").textContent()).not.toContain("[99]");
    expect(await page.locator("#answer img, #answer a").count()).toBe(0);
    expect(requested.filter((it) => !it.startsWith(url) && !it.startsWith("data:"))).toEqual([]);
  });

  test("is used with the keyboard alone", async () => {
    await page.keyboard.press("Escape");
    await page.keyboard.press("/");
    await page.keyboard.type("lisbon");
    await page.keyboard.press("Enter");
    await expect.poll(() => page.locator("#results mark").first().textContent()).toMatch(/lisbon/i);
    await expect.poll(() => page.locator("#count").textContent()).toBe("3 mails");
    await page.keyboard.press("Escape");
    await page.keyboard.press("j");
    await page.keyboard.press("j");
    const focused = await page.evaluate("document.activeElement.textContent");
    expect(await page.locator("#results .open").nth(1).textContent()).toBe(focused);
    await page.keyboard.press("Enter");
    await expect.poll(() => page.locator("#reader").isVisible()).toBe(true);
    await page.keyboard.press("Escape");
  });

  test("stays where the keyboard is when a facet changes the list, and leaves letters to the list of mailboxes", async () => {
    await searchFor("lisbon");
    await expect.poll(() => page.locator("#count").textContent()).toBe("3 mails");
    const focused = () => page.evaluate("document.activeElement.value ?? document.activeElement.tagName");
    const box = page.getByRole("checkbox").first();
    const value = await box.inputValue();
    await box.focus();
    for (const many of ["(1 chosen)", "the list"]) {
      await page.keyboard.press("Space");
      await expect.poll(() => page.locator("#narrow > summary").textContent()).toContain(many);
      expect(await focused()).toBe(value);
    }
    await page.getByLabel("Mailbox").focus();
    await page.keyboard.press("j");
    expect(await focused()).toBe("alice");
  });

  test("cuts a preview where a word ends", async () => {
    await searchFor("deposit");
    await expect.poll(() => page.locator("#results > li").first().locator(".open").textContent()).toBe("Your deposit");
    const shown = (await page.locator("#results > li").first().locator("p").textContent()) ?? "";
    expect(shown).toMatch(/ …$/);
    await page.locator("#results .open").first().click();
    await expect.poll(() => page.locator("#reader").isVisible()).toBe(true);
    const words = ((await page.locator("#reader-body").textContent()) ?? "").split(/\s+/);
    expect(words).toContain(shown.replace(/ …$/, "").split(" ").at(-1));
    await page.keyboard.press("Escape");
  });

  test("has what is looked for in its address, which is gone back to, and turns pages", async () => {
    await page.goto(`${url}?person=alice`);
    await expect.poll(() => page.locator("#place").textContent()).toBe("Page 1 of 2");
    await page.getByRole("button", { name: "Next" }).click();
    await expect.poll(() => page.locator("#results > li").count()).toBe(6);
    expect(new URL(page.url()).searchParams.get("page")).toBe("2");
    const box = page.getByRole("group", { name: "Month" }).getByRole("checkbox").first();
    const month = await box.inputValue();
    await box.check();
    await expect.poll(() => new URL(page.url()).searchParams.get("month")).toBe(month);
    expect(new URL(page.url()).searchParams.get("page")).toBeNull();
    // The address is what is looked for; what is found follows.
    await expect.poll(() => page.locator("#count").textContent()).not.toBe("26 mails");
    const [narrowed, address] = [await page.locator("#count").textContent(), page.url()];
    await page.goBack();
    await expect.poll(() => page.locator("#place").textContent()).toBe("Page 2 of 2");
    await page.goBack();
    await expect.poll(() => page.locator("#place").textContent()).toBe("Page 1 of 2");
    await page.goto(address);
    await expect.poll(() => page.locator("#count").textContent()).toBe(narrowed);
    expect(await page.getByRole("group", { name: "Month" }).locator("input:checked").inputValue()).toBe(month);
    await picture("month");
    await page.goto(`${url}?person=alice`);
  });

  test("finds while one types, and what was mistyped", async () => {
    await page.getByLabel("Search or ask your mail").pressSequentially("electri");
    await expect.poll(() => page.locator("#results > li").count()).toBeLessThan(5);
    await expect.poll(() => page.locator("#results .open").first().textContent()).toMatch(/electricity/i);
    expect(new URL(page.url()).searchParams.get("q")).toBe("electri");
    await searchFor("electrcity");
    await expect.poll(() => page.locator("#results .open").first().textContent()).toMatch(/electricity/i);
  });

  test("keeps people apart", async () => {
    await page.getByLabel("Mailbox").selectOption("bob");
    await page.getByLabel("Search or ask your mail").fill("");
    await page.keyboard.press("Enter");
    await expect.poll(() => page.locator("#count").textContent()).toBe("7 mails");
    expect((await fetch(`${url}api/mallory/search`)).status).toBe(404);
    expect((await fetch(`${url}api/bob/mail?id=alice-1@sample.example`)).status).toBe(404);
  });

  test("shows the thread of a mail, and goes from one to the next", async () => {
    await searchFor("thermos");
    await expect.poll(() => page.locator("#count").textContent()).toBe("1 mail");
    expect(await page.locator("#results .about").textContent()).toContain("3 mails in the thread");
    await page.locator("#results .open").click();
    const others = page.locator("#others .open");
    await expect.poll(() => others.allTextContents()).toEqual(["Re: Sunday at the sea?", "Late, but coming"]);
    expect(await violations(page)).toEqual([]);
    await picture("thread");
    await others.last().click();
    await expect.poll(() => page.locator("#reader-subject").textContent()).toBe("Late, but coming");
    await expect.poll(() => others.count()).toBe(2);
    await page.keyboard.press("Escape");
    await searchFor("statement");
    await expect.poll(() => page.locator("#results .open").first().textContent()).toBe("Your statement");
    await page.locator("#results .open").first().click();
    await expect.poll(() => page.locator("#reader-subject").textContent()).toBe("Your statement");
    await expect.poll(() => page.locator("#thread").isVisible()).toBe(false);
    await page.keyboard.press("Escape");
    await searchFor("");
  });

  test("has a name for everything that is used, and is as readable in the dark", async () => {
    const nameless = await page.evaluate(`[...document.querySelectorAll("button, input, select")]
      .filter((it) => !(it.getAttribute("aria-label") || it.textContent.trim() || it.labels?.length))
      .map((it) => it.outerHTML)`);
    expect(nameless).toEqual([]);
    const ground = (): Promise<string> => page.evaluate("getComputedStyle(document.body).backgroundColor");
    const light = await ground();
    await page.emulateMedia({ colorScheme: "dark" });
    expect(await ground()).not.toBe(light);
    await page.getByLabel("Mailbox").selectOption("alice");
    await page.getByLabel("Search or ask your mail").fill("What does the train to the sea need me to know?");
    await page.keyboard.press("Control+Enter");
    await expect.poll(() => page.locator("#answer-text").getAttribute("aria-busy")).toBe("false");
    await picture("dark");
    await page.setViewportSize({ width: 390, height: 800 });
    await picture("phone");
    // The mails come first; what narrows them is a tap away.
    await expect.poll(() => page.getByRole("checkbox").first().isVisible()).toBe(false);
    await page.getByText("Narrow the list").focus();
    await page.keyboard.press("Enter");
    await expect.poll(() => page.getByRole("checkbox").first().isVisible()).toBe(true);
    await page.locator("#narrow").scrollIntoViewIfNeeded();
    await picture("phone-facets");
    await page.locator("#results .open").first().click();
    await expect.poll(() => page.locator("#reader").isVisible()).toBe(true);
    await picture("phone-mail");
    expect(await page.evaluate("document.querySelector('#reader').scrollWidth")).toBeLessThanOrEqual(390);
    await page.keyboard.press("Escape");
    await page.emulateMedia({ colorScheme: "light" });
    await page.evaluate("scrollTo(0, 0)");
    await picture("phone-light");
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(390);
  });

  test("complains of nothing", () => {
    expect(complaints).toEqual([]);
  });
});
