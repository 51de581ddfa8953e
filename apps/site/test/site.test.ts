/** The built site: every link leads somewhere, every page can be read by everybody, on a phone, in the dark, and without a network. */
import { execFile } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { violations } from "../../../tools/accessibility.ts";
import { browserPath, startBrowser } from "../../../tools/browser.ts";
import { keepPicture } from "../../../tools/picture.ts";
import { publishedPackages } from "../../../tools/release/packages.mjs";
import { LEFT_OUT } from "../api.mjs";
import { CONTENTS } from "../contents.mjs";
import { exportsOf, root } from "../documents.mjs";
import { brokenLinks } from "../links.mjs";
import { serveSite } from "../serve.mjs";

const PHONE = { width: 390, height: 844 };
const DESKTOP = { width: 1280, height: 900 };
const PAGES = ["index", ...CONTENTS.flatMap(({ pages }) => pages.map(([page]) => page))];

const OTHERS = ["404", "decisions/0010-exact-nearest-neighbours"];
/** One page of each kind: prose, drawings, tables, samples with output, what is generated. */
const KINDS = ["index", "getting-started", "concepts", "queries", "errors", "limits", "commands", "benchmarks", "404"];

/** A site that is built already is taken as it is: for who works on a page. */
const built = process.env["BROOKLET_SITE"];
const folder = built ?? mkdtempSync(join(tmpdir(), "brooklet-site-"));

beforeAll(async () => {
  if (built !== undefined) return;
  // In a process of its own: VitePress imports what it has built.
  await promisify(execFile)(process.execPath, [
    fileURLToPath(new URL("../build.mjs", import.meta.url)),
    "--out",
    folder,
  ]);
});

afterAll(() => {
  if (built === undefined) rmSync(folder, { recursive: true, force: true });
});

describe("the site", () => {
  test("has every page", () => {
    const files = readdirSync(folder);
    expect(PAGES.filter((page) => !files.includes(`${page}.html`))).toEqual([]);
    expect(readdirSync(join(folder, "decisions")).length).toBeGreaterThan(60);
    expect(readdirSync(join(folder, "api")).length).toBeGreaterThan(5);
  });

  test("has every export of brooklet in its reference, and says of every other package why it is not there", () => {
    const { exports } = JSON.parse(readFileSync(join(root, "packages/brooklet/package.json"), "utf8")) as {
      readonly exports: object;
    };
    // Scripts that threads and workers are started with.
    const others = ["./package.json", "./bucket-thread", "./browser-worker"];
    const wanted = Object.keys(exports).filter((name) => !others.includes(name));
    const modules = readdirSync(join(folder, "api/modules"));
    expect(wanted.map((name) => `${name === "." ? "index" : name.slice(2)}.html`).sort()).toEqual(modules.sort());
    const packages = publishedPackages().map(({ name }) => name);
    expect(["brooklet", ...Object.keys(LEFT_OUT)].sort()).toEqual([...packages].sort());
  });

  test("leaves nothing of the client out, since brooklet exports all of it", () => {
    const namesOf = (path: string): readonly string[] => Object.values(exportsOf(path)).flatMap((names) => [...names]);
    const own = namesOf("packages/brooklet/src/index.ts");
    expect(namesOf("packages/client/src/index.ts").filter((name) => !own.includes(name))).toEqual([]);
  });

  test("has links that lead somewhere, anchors included", () => {
    expect(brokenLinks(folder, () => true)).toEqual([]);
  });

  test("generates commands and limits", () => {
    const text = (page: string): string =>
      readFileSync(join(folder, `${page}.html`), "utf8").replaceAll(/<[^>]*>/g, "");
    for (const command of ["brooklet serve", "brooklet backup", "brooklet model pull"])
      expect(text("commands")).toContain(command);
    expect(text("commands")).toContain("--allow-origin");
    expect(text("limits")).toContain("Hits of one answer (L-hits).");
    expect(text("limits")).toContain("bodyBytes");
  });

  test("can be read by language models", () => {
    const list = readFileSync(join(folder, "llms.txt"), "utf8");
    for (const page of PAGES.slice(1)) expect(list).toContain(`(${page}.html)`);
    expect(readFileSync(join(folder, "llms-full.txt"), "utf8").length).toBeGreaterThan(100_000);
  });

  test("loads nothing from elsewhere", () => {
    const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter(
      (path) => /\.(html|css)$/.test(path) && !path.startsWith("api"),
    );
    const foreign = files.filter((path) =>
      / (?:src|srcset)="https?:|<link [^>]*href="https?:|url\(["']?https?:|@import/.test(
        readFileSync(join(folder, path), "utf8"),
      ),
    );
    expect(foreign).toEqual([]);
  });
});

describe.runIf(browserPath !== undefined)("in a browser", () => {
  let server: Server;
  let browser: Browser;
  let url: string;
  const complaints: string[] = [];

  beforeAll(async () => {
    server = serveSite(folder);
    await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    browser = await startBrowser();
  });

  afterAll(async () => {
    await browser?.close();
    server?.close();
    server?.closeAllConnections();
  });

  /** A page of a kind of screen; what it asks of another host, or complains of, is kept. */
  async function screen(viewport: { width: number; height: number }, colorScheme: "light" | "dark"): Promise<Page> {
    const context: BrowserContext = await browser.newContext({ viewport, colorScheme, reducedMotion: "reduce" });
    const page = await context.newPage();
    page.on("pageerror", (error) => complaints.push(String(error)));
    page.on("request", (request) => {
      if (!request.url().startsWith(url) && !/^(data|blob):/.test(request.url())) complaints.push(request.url());
    });
    return page;
  }

  /** Shows a page whose script has run: what a page of an address that there is none at is made of, and what hears keys and clicks. */
  async function show(page: Page, path: string): Promise<void> {
    await page.goto(`${url}/${path}.html`);
    await page.waitForFunction(() => "__vue_app__" in (document.querySelector("#app") ?? {}));
  }

  /** How many messages the workers of a page are sent from here on. */
  async function messagesIn(page: Page): Promise<() => Promise<number>> {
    const count = await page.evaluateHandle(() => {
      const told = { messages: 0 };
      const { prototype } = globalThis.Worker;
      const { postMessage } = prototype;
      prototype.postMessage = function (this: Worker, ...given: unknown[]) {
        told.messages += 1;
        Reflect.apply(postMessage, this, given);
      };
      return told;
    });
    return () => count.evaluate(({ messages }) => messages);
  }

  /** Looks at pages; all of them are narrow enough, some are looked at by axe-core too, and are pictured. */
  async function look(page: Page, name: string, isChecked: (path: string) => boolean): Promise<readonly string[]> {
    const found: string[] = [];
    for (const path of [...PAGES, ...OTHERS]) {
      await show(page, path);
      const isWide = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth + 1);
      if (isWide) found.push(`${path} is wider than the ${name}`);
      if (!isChecked(path)) continue;
      found.push(...(await violations(page)).map((it) => `${path}: ${it}`));
      await keepPicture(page, `site-${path.replace("/", "-")}-${name}`);
    }
    await page.context().close();
    return found;
  }

  test("every page is accessible, on a desk", async () => {
    const page = await screen(DESKTOP, "light");
    expect(await look(page, "desktop-light", () => true)).toEqual([]);
  });

  test("every page is as wide as a phone, and one of each kind is accessible there, in the dark", async () => {
    const page = await screen(PHONE, "dark");
    expect(await look(page, "phone-dark", (path) => KINDS.includes(path))).toEqual([]);
  });

  test("a page is printed dark on white, also in the dark, with its lines of code whole and nothing to press", async () => {
    const page = await screen({ width: 760, height: 1000 }, "dark");
    await page.emulateMedia({ media: "print", colorScheme: "dark" });
    await show(page, "queries");
    const seen = await page.evaluate(() => {
      const { color, backgroundColor } = getComputedStyle(document.body);
      const lines = [...document.querySelectorAll(".vp-doc pre code")];
      const navigation = document.querySelector(".VPNav");
      return {
        isDark: document.documentElement.classList.contains("dark"),
        color,
        backgroundColor,
        samples: lines.length > 0,
        cut: lines.filter((it) => (it.parentElement?.scrollWidth ?? 0) > (it.parentElement?.clientWidth ?? 0)).length,
        navigation: navigation === null ? "" : getComputedStyle(navigation).display,
      };
    });
    expect(seen).toEqual({
      isDark: true,
      color: "rgb(0, 0, 0)",
      backgroundColor: "rgb(255, 255, 255)",
      samples: true,
      cut: 0,
      navigation: "none",
    });
    expect(await violations(page)).toEqual([]);
    await page.context().close();
  });

  test("keys lead to nothing beside the screen of a phone, and to the list of pages when it is opened", async () => {
    const page = await screen(PHONE, "dark");
    await show(page, "getting-started");
    const place = (): Promise<number> =>
      page.evaluate(() => document.activeElement?.getBoundingClientRect().right ?? 0);
    const places: number[] = [];
    for (let step = 0; step < 12; step += 1) {
      await page.keyboard.press("Tab");
      places.push(await place());
    }
    expect(places.filter((right) => right <= 0)).toEqual([]);
    await page.locator(".VPLocalNav .menu").click();
    await page.locator(".VPSidebar.open").waitFor();
    await page.keyboard.press("Tab");
    expect(await page.evaluate(() => document.activeElement?.closest(".VPSidebar") !== null)).toBe(true);
    await page.context().close();
  });

  test("its symbols, and the page that is shown, are seen where people have colours of their own", async () => {
    const page = await screen(PHONE, "light");
    await page.emulateMedia({ forcedColors: "active" });
    await show(page, "getting-started");
    const grounds = (what: string): Promise<readonly string[]> =>
      page.locator(what).evaluateAll((all) => all.map((one) => getComputedStyle(one).backgroundColor));
    const [sheet] = await grounds("body");
    for (const symbols of [".VPNavBarHamburger .container > span", ".VPNavBarSearch [class*=vpi-]", ".VPSwitch .check"])
      expect([symbols, await grounds(symbols)]).toEqual([symbols, expect.not.arrayContaining([sheet])]);
    const lines = await page
      .locator(".VPSidebarItem.is-active > .item > .link > .text")
      .evaluateAll((all) => all.map((one) => getComputedStyle(one).textDecorationLine));
    expect(lines).toEqual(["underline"]);
    await page.context().close();
  });

  test("the API reference is accessible, but for links in the heads of what folds, which are TypeDoc's", async () => {
    const page = await screen(DESKTOP, "dark");
    const found: string[] = [];
    for (const path of ["index", "classes/index.Group", "functions/index.open", "interfaces/index.OpenOptions"]) {
      await page.goto(`${url}/api/${path}.html`);
      found.push(...(await violations(page)).filter((it) => !it.startsWith("nested-interactive: ")));
      await keepPicture(page, `site-api-${path.replace("/", "-")}`);
    }
    expect(found).toEqual([]);
    await page.context().close();
  });

  test("finds by words, in the page", async () => {
    const page = await screen(DESKTOP, "dark");
    await show(page, "index");
    await page.keyboard.press("Control+k");
    const box = page.locator(".VPLocalSearchBox input");
    await box.fill("tombstone erase group receipt");
    await page.locator(".VPLocalSearchBox .result").first().waitFor();
    expect(await violations(page)).toEqual([]);
    await keepPicture(page, "site-search-desktop-dark");
    await page.keyboard.press("Enter");
    await page.waitForURL((to) => !to.pathname.endsWith("index.html"));
    await page.context().close();
  });

  test.each([
    ["desktop", DESKTOP, "light"],
    ["phone", PHONE, "dark"],
  ] as const)("the playground runs the core in the page: %s", async (name, viewport, colours) => {
    const page = await screen(viewport, colours);
    await show(page, "playground");
    const status = page.locator(".playground .status");
    await expect.poll(() => status.textContent()).toContain("3 of 5 documents");
    expect(await page.locator(".hits h2").first().textContent()).toContain("m1");
    expect(await page.locator(".hits mark").first().textContent()).toBe("Invoice");
    expect(await page.locator(".facet").first().textContent()).toContain("shop: 2");
    await page.locator(".hits summary").first().click();
    expect(await page.locator(".hits details").first().textContent()).toContain("bm25(subject) + bm25(body)");
    expect(await violations(page)).toEqual([]);
    // The first search compiles the core; the next one does not.
    const first = (await status.textContent()) ?? "";
    await page.locator(".run").click();
    await expect.poll(() => status.textContent()).not.toBe(first);
    await page.evaluate(() => scrollTo(0, 0));
    await keepPicture(page, `playground-${name}-${colours}`);

    // What the types say of what is typed, while it runs all the same.
    await page.locator("#playground-search").fill('{ text: "invoice", where: (it) => it.sentAt.contains("x") }');
    const problem = page.locator("#playground-search-problems");
    await expect.poll(() => problem.textContent()).toContain("'contains' does not exist");
    await page.locator("#playground-search").fill("{ text: ");
    await expect.poll(() => status.getAttribute("class")).toContain("failed");

    // What does not end is stopped, and the page goes on.
    await page.locator("#playground-search").fill("{ limit: (() => { for (;;); })() }");
    await expect.poll(() => status.textContent()).toContain("does not end");

    await page.locator("#playground-example").selectOption("Words and vectors");
    await expect.poll(() => status.textContent()).toContain("3 of 4 documents");
    await expect.poll(() => problem.textContent()).toBe("");
    await page.locator("#playground-search").fill('{ text: "film" }');
    await expect.poll(() => status.textContent()).toContain("1 of 4 documents");

    await page.locator("#playground-example").selectOption("Ten thousand notes");
    await expect
      .poll(() => status.textContent())
      .toMatch(/ of 10,000 documents in .* bytes of segments read, [\d,]+ looked at/);
    await page.locator("#playground-example").selectOption("Words and vectors");
    await page.locator("#playground-search").fill('{ text: "film" }');
    await expect.poll(() => status.textContent()).toContain("1 of 4 documents");

    // Shared, it is the same in another page, where it waits to be looked at.
    await page.locator(".share").click();
    await expect.poll(() => page.url()).toContain("#code=");
    const other = await page.context().newPage();
    await other.goto(page.url());
    await expect.poll(() => other.locator(".playground .status").textContent()).toContain("Look at it");
    expect(await other.locator("#playground-search").inputValue()).toBe('{ text: "film" }');
    await other.locator(".run").click();
    await expect.poll(() => other.locator(".playground .status").textContent()).toContain("1 of 4 documents");

    // In a page that is open, too, whatever ran there before.
    await other.locator("#playground-example").selectOption("Ten thousand notes");
    await expect.poll(() => other.locator(".playground .status").textContent()).toContain(" of 10,000 documents");
    await other.evaluate((hash) => {
      location.hash = "";
      location.hash = hash;
    }, new URL(page.url()).hash);
    await expect.poll(() => other.locator(".playground .status").textContent()).toContain("Look at it");
    // Whatever runs is given to the compiler first: its worker hears of nothing by itself, however long it takes, and of a click.
    const heard = await messagesIn(other);
    await other.clock.install();
    await other.locator("#playground-search").fill('{ text: "film", limit: 1 }');
    await other.clock.runFor(60_000);
    expect(await heard()).toBe(0);
    expect(await other.locator(".playground .status").textContent()).toContain("Look at it");
    await other.locator(".run").click();
    expect(await heard()).toBeGreaterThan(0);
    await expect.poll(() => other.locator(".playground .status").textContent()).toContain("1 of 4 documents");
    await page.context().close();
  });

  test("asks nothing of another host, and complains of nothing", () => {
    expect(complaints).toEqual([]);
  });
});
