/**
 * The application as Next.js builds and starts it, walked in a real browser: what the server renders, search as one types, tags, writing,
 * and that nobody's notes are in anybody else's reach.
 */
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
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

const FOLDER = fileURLToPath(new URL("..", import.meta.url));
const COMMAND = fileURLToPath(new URL("../../../node_modules/next/dist/bin/next", import.meta.url));
const ADDRESS = /- Local:\s+(http:\/\/\S+)/;

describe.runIf(browserPath !== undefined)("notes in Next.js", () => {
  const data = mkdtempSync(join(tmpdir(), "brooklet-next-notes-"));
  const env = {
    ...process.env,
    NODE_ENV: "production",
    NEXT_TELEMETRY_DISABLED: "1",
    NOTES_DATA: join(data, "data"),
  } as const;
  let server: ChildProcess;
  let url: string;
  let browser: Browser;
  let alice: BrowserContext;
  let page: Page;
  const complaints: string[] = [];

  beforeAll(async () => {
    // What Next.js prints is the error, if it fails.
    await promisify(execFile)(process.execPath, [COMMAND, "build"], { cwd: FOLDER, env }).catch((error) => {
      const { stdout, stderr } = error as { readonly stdout: string; readonly stderr: string };
      throw new Error(`${stdout}${stderr}`);
    });
    const words = [COMMAND, "start", "--hostname", "127.0.0.1", "--port", "0"];
    server = spawn(process.execPath, words, { cwd: FOLDER, env, stdio: ["ignore", "pipe", "inherit"] });
    url = await addressOf(server);
    browser = await startBrowser();
    alice = await browser.newContext({ viewport: { width: 390, height: 844 } });
    page = await pageOf(alice, "alice");
    // A compiler and a bundler, where other tests have the processors, too.
  });

  afterAll(async () => {
    await browser?.close();
    if (server?.exitCode === null) {
      const ended = new Promise((resolve) => server.once("exit", resolve));
      server.kill("SIGKILL");
      await ended;
    }
    rmSync(data, { recursive: true, force: true });
  });

  async function pageOf(context: BrowserContext, user: string): Promise<Page> {
    const made = await context.newPage();
    made.on("pageerror", (error) => complaints.push(String(error)));
    made.on("console", (message) => {
      if (message.type() === "error") complaints.push(message.text());
    });
    await made.goto(url);
    await made.getByLabel("Name").fill(user);
    await made.getByRole("button", { name: "Enter" }).click();
    await made.getByRole("heading", { name: `Notes of ${user}` }).waitFor();
    return made;
  }

  const titles = (shown = page): Promise<string[]> => shown.locator("ol h2").allTextContents();
  const status = (shown = page): Promise<string | null> => shown.getByRole("status").textContent();
  const look = async (): Promise<void> => {
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme });
      expect(await violations(page)).toEqual([]);
    }
    await page.emulateMedia({ colorScheme: null });
  };

  test("finds as one types, and narrows by a tag", async () => {
    await page.getByRole("button", { name: "Take the sample" }).click();
    await expect.poll(() => status()).toBe("6 notes");
    expect((await titles())[0]).toBe("Invoice of the bicycle shop");
    await page.getByRole("searchbox").pressSequentially("invoi");
    await expect.poll(() => status()).toBe("2 notes");
    await keepPicture(page, "next-notes");
    await look();
    await page.getByRole("button", { name: /^house/ }).click();
    await expect.poll(() => titles()).toEqual(["Invoice of the electrician"]);
    expect(new URL(page.url()).search).toBe("?q=invoi&tag=house");
  });

  test("renders the same on the server, for whoever has no scripts too", async () => {
    const state = await alice.storageState();
    const plain = await browser.newContext({ javaScriptEnabled: false, storageState: state });
    const shown = await plain.newPage();
    await shown.goto(page.url());
    expect(await titles(shown)).toEqual(["Invoice of the electrician"]);
    // What is wrong with a search is told on the page.
    expect((await shown.goto(`${url}/?q=${"word+".repeat(2_000)}`))?.status()).toBe(200);
    expect([await status(shown), await titles(shown)]).toEqual([expect.stringContaining("1024 terms"), []]);
    await plain.close();
    // What is hydrated is what was rendered: nothing is asked again.
    const asked: string[] = [];
    page.on("request", (request) => {
      if (request.url().includes("/door/")) asked.push(request.url());
    });
    await page.reload();
    await expect.poll(() => page.getByRole("searchbox").inputValue()).toBe("invoi");
    expect(await titles()).toEqual(["Invoice of the electrician"]);
    await page.getByRole("searchbox").fill("");
    await page.getByRole("button", { name: /^house/ }).click();
    await expect.poll(() => status()).toBe("6 notes");
    expect(asked.length).toBeGreaterThan(0);
    expect(asked.length).toBeLessThanOrEqual(2);
  });

  test("finds what was just written", async () => {
    await page.getByLabel("Title").fill("Kingfisher");
    await page.getByLabel("Text").fill("Over the pond this morning. #birds");
    await page.getByRole("button", { name: "Write" }).click();
    await expect.poll(() => status()).toBe("7 notes");
    expect((await titles())[0]).toBe("Kingfisher");
    await look();
  });

  test("has nothing of one user for another, whatever a page asks for", async () => {
    const others = await browser.newContext();
    const bob = await pageOf(others, "bob");
    expect(await status(bob)).toBe("0 notes");
    const ask = (group: string): Promise<{ status: number; text: string }> =>
      bob.evaluate(async (name) => {
        const body = { yql: "select * from note where true", streaming: { groupname: name } };
        const headers = { "content-type": "application/json" };
        const answer = await fetch("/door/search/", { method: "POST", headers, body: JSON.stringify(body) });
        return { status: answer.status, text: await answer.text() };
      }, group);
    expect((await ask("bob")).status).toBe(200);
    const stolen = await ask("alice");
    expect([stolen.status, stolen.text.includes("Kingfisher")]).toEqual([403, false]);
    const refused = complaints.splice(0);
    expect(refused.every((text) => text.includes("403"))).toBe(true);
    await others.close();
    expect((await fetch(`${url}/door/search/`, { method: "POST", body: "{}" })).status).toBe(401);
    expect((await fetch(`${url}/door/document/v1/`, { method: "POST" })).status).toBe(401);
  });

  test("complains of nothing", () => expect(complaints).toEqual([]));
});

/** Where a server says that it is. */
function addressOf(server: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let said = "";
    server.stdout?.on("data", (text) => {
      said += String(text);
      const address = ADDRESS.exec(said)?.[1];
      if (address !== undefined) resolve(address);
    });
    server.once("exit", (code) => reject(new Error(`Next.js ended with ${code}: ${said}`)));
  });
}
