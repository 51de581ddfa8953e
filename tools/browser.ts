/** A browser of this machine, for tests: Chromium by its usual names, or what BROOKLET_CHROMIUM names. */
import { existsSync } from "node:fs";
import process from "node:process";
import { type Browser, type BrowserContext, chromium } from "playwright-core";

const PLACES = ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"].map(
  (name) => `/usr/bin/${name}`,
);

/** Where a browser is; nothing if there is none. */
export const browserPath: string | undefined = [process.env["BROOKLET_CHROMIUM"] ?? "", ...PLACES].find(
  (path) => path !== "" && existsSync(path),
);

if (browserPath === undefined) {
  const what = "there is no browser. Install chromium, or say where one is in BROOKLET_CHROMIUM";
  if (process.env["BROOKLET_BROWSER"] === "required") throw new Error(`Pages have to be tested, and ${what}`);
  console.warn(`Pages are not tested: ${what}.`);
}

/** No limit of the library's own: it would be shorter than that of a test, which ends what waits for ever. */
const UNLIMITED = 0;

const asRoot: readonly string[] = process.getuid?.() === 0 ? ["--no-sandbox"] : [];

/** Starts it with a profile that is kept in a folder, as users have one: its storage is on a disk. */
export async function startProfile(folder: string): Promise<BrowserContext> {
  if (browserPath === undefined) throw new Error("There is no browser");
  const context = await chromium.launchPersistentContext(folder, { executablePath: browserPath, args: [...asRoot] });
  context.setDefaultTimeout(UNLIMITED);
  return context;
}

/** Starts it. What is done in its pages has no time limit but the test's. */
export async function startBrowser(): Promise<Browser> {
  if (browserPath === undefined) throw new Error("There is no browser");
  const browser = await chromium.launch({ executablePath: browserPath, args: [...asRoot], timeout: UNLIMITED });
  const newContext = browser.newContext.bind(browser);
  // Pages of no context of their own come from it, too.
  browser.newContext = async (options) => {
    const context = await newContext(options);
    context.setDefaultTimeout(UNLIMITED);
    return context;
  };
  return browser;
}
