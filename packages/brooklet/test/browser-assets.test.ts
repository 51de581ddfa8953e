/** What a page is told where its server gives something else for the modules, or its policy forbids them. */
import { copyFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { browserPath, startBrowser } from "../../../tools/browser.ts";
import type { BrowserDatabase, BrowserOpenOptions, BrookletError as Failure } from "../src/browser.ts";
import type { note } from "./browser/program.ts";
import { openSite, type Site, withEsbuild } from "./browser/site.ts";

/** What a page has as names of its own (browser/page.ts). */
interface Window {
  open(options: BrowserOpenOptions): Promise<BrowserDatabase>;
  note: typeof note;
}

/** A site that has a page in place of a module, under its own name and as one, and a module that is not said to be one. */
async function withStrayFiles(folder: string): Promise<void> {
  await withEsbuild(folder);
  writeFileSync(join(folder, "page.wasm"), "<!doctype html><title>Not found</title>");
  copyFileSync(join(folder, "wasm/core_bg.wasm"), join(folder, "core.data"));
}

describe.runIf(browserPath !== undefined)("the modules of a database in a browser", () => {
  let site: Site;
  let browser: Browser;

  beforeAll(async () => {
    [site, browser] = await Promise.all([openSite(withStrayFiles), startBrowser()]);
  });

  afterAll(async () => {
    await browser?.close();
    site?.close();
  });

  async function opened(at: Site, assets: BrowserOpenOptions["assets"] = {}): Promise<string> {
    const page = await browser.newPage();
    await page.goto(at.url);
    await page.waitForFunction(() => "note" in globalThis);
    const told = await page.evaluate(async (given) => {
      const { open, note: schema } = globalThis as unknown as Window;
      const opening = open({ memory: true, schemas: [schema], assets: given ?? {} });
      return await opening.then(
        async (database) => {
          await database.close();
          return "opened";
        },
        (error: Failure) => `${error.code}: ${error.message}`,
      );
    }, assets);
    await page.close();
    return told;
  }

  test.each([
    [
      "core",
      "",
      /^CANNOT_START: The core cannot be loaded from http:\S+\/: it answered text\/html\S*.* which is no WebAssembly/,
    ],
    ["core", "page.wasm", /^CANNOT_START: The core cannot be loaded from http:\S+\/page\.wasm: .* no WebAssembly/],
    ["core", "none", /^CANNOT_START: The core cannot be loaded from http:\S+\/none: it answered 404/],
    ["sqlite", "", /^CANNOT_START: SQLite cannot be loaded from \/: .* no WebAssembly/],
    ["sqlite", "page.wasm", /^CANNOT_START: SQLite cannot be loaded from \/page\.wasm: .* no WebAssembly/],
  ])("%s that is /%s is told as what it is, with what to do", async (part, path, expected) => {
    const told = await opened(site, { [part]: `/${path}` });
    expect(told).toMatch(expected);
    expect(told).toContain(`open({ assets: { ${part} } })`);
  });

  test("a core that cannot be reached is told with its address", async () => {
    const told = await opened(site, { core: "http://127.0.0.1:1/core.wasm" });
    expect(told).toMatch(/^CANNOT_START: The core cannot be loaded from http:\/\/127\.0\.0\.1:1\/core\.wasm: \S+/);
  });

  test("a core that is not said to be WebAssembly is one nevertheless", async () => {
    expect(await opened(site, { core: "/core.data" })).toBe("opened");
  });

  test("a policy that forbids WebAssembly is told by what it lacks", async () => {
    const strict = await openSite(withEsbuild, { "content-security-policy": "default-src 'self'" });
    expect(await opened(strict)).toMatch(/^CANNOT_START: .*'wasm-unsafe-eval' in script-src/);
    strict.close();
    const policy = "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'";
    const permitted = await openSite(withEsbuild, { "content-security-policy": policy });
    expect(await opened(permitted)).toBe("opened");
    permitted.close();
  });
});
