/** The console as people use it, in a browser; and who may ask a server that has one. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { embedding, HashEmbedder, open, type RunningService, schema, serve, string, text, vector } from "brooklet";
import type { Browser, CDPSession, Locator, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { violations } from "../../../tools/accessibility.ts";
import { browserPath, startBrowser } from "../../../tools/browser.ts";
import { keepPicture } from "../../../tools/picture.ts";

const DOCUMENTS = 100_000;
/** Lines of a request that feeds. */
const LINES = 5_000;
const KEY = "a-key-of-the-console-that-is-as-long-as-keys-have-to-be";

const put = (group: string, own: string, fields: object): string =>
  JSON.stringify({ put: `id:note:note:g=${group}:${own}`, fields });

describe("a server with a console", () => {
  let service: RunningService;
  beforeAll(async () => {
    service = await serve({ port: 0, threads: 1, console: true });
  });
  afterAll(() => service.close());

  const asked = async (url: string, headers: Record<string, string>): Promise<number> =>
    (await fetch(`${url}/search/?yql=x`, { method: "POST", headers })).status;

  test("has a page that loads nothing from elsewhere, and that no page may frame", async () => {
    const page = await fetch(`${service.url}/console/`);
    expect(page.status).toBe(200);
    const policy = page.headers.get("content-security-policy") ?? "";
    for (const rule of ["default-src 'none'", "script-src 'self'", "frame-ancestors 'none'"])
      expect(policy).toContain(rule);
    const html = await page.text();
    expect(html).not.toMatch(/(src|href)="(https?:)?\/\//);
    for (const name of ["console.mjs", "console.css", "licences.txt"])
      expect((await fetch(`${service.url}/console/${name}`)).status).toBe(200);
    for (const name of ["../../package.json", "package.json", "%2e%2e/index.js"])
      expect((await fetch(`${service.url}/console/${name}`)).status).toBe(404);
    expect((await fetch(`${service.url}/console/`, { method: "POST" })).status).toBe(405);
  });

  test("answers its own page, and no other", async () => {
    expect(await asked(service.url, { origin: service.url })).not.toBe(403);
    expect(await asked(service.url, { origin: "http://elsewhere.example" })).toBe(403);
    expect(await asked(service.url, { origin: service.url, "sec-fetch-site": "cross-site" })).toBe(403);
    const plain = await serve({ port: 0, threads: 1 });
    try {
      expect(await asked(plain.url, { origin: plain.url })).toBe(403);
      expect((await fetch(`${plain.url}/console/`)).status).toBe(404);
    } finally {
      await plain.close();
    }
  });

  test("asks for a key where there are some, and gives its page to everybody", async () => {
    const locked = await serve({ port: 0, threads: 1, console: true, adminKeys: [KEY] });
    try {
      expect((await fetch(`${locked.url}/console/`)).status).toBe(200);
      expect(await asked(locked.url, { origin: locked.url })).toBe(401);
      const authorization = `Bearer ${KEY}`;
      expect(await asked(locked.url, { origin: locked.url, authorization })).not.toBe(401);
    } finally {
      await locked.close();
    }
  });
});

test("the console of a database is behind a key of its own, and closes with it", async () => {
  const note = schema("note", { title: text() });
  const database = await open({ schemas: [note] });
  await database.group("alice").put(note, "n1", { title: "Invoice" });
  const { url } = await database.console();
  const { origin, hash } = new URL(url);
  expect((await fetch(`${origin}/brooklet/v1/groups`)).status).toBe(401);
  const authorization = `Bearer ${hash.replace("#key=", "")}`;
  const groups = await fetch(`${origin}/brooklet/v1/groups`, { headers: { authorization } });
  expect(await groups.json()).toEqual({ groups: ["alice"] });
  await database.close();
  await expect(fetch(origin)).rejects.toThrow();
});

describe.skipIf(browserPath === undefined)("in a browser", () => {
  let folder: string;
  let service: RunningService;
  let browser: Browser;
  let page: Page;
  const problems: string[] = [];

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "console-"));
    service = await serve({ port: 0, threads: 1, console: true, limits: { slowSearchMs: 0 } });
    browser = await startBrowser();
    page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
    page.on("pageerror", ({ message }) => problems.push(message));
    page.on("console", (told) => {
      if (/Content Security Policy/.test(told.text())) problems.push(told.text());
    });
    await page.goto(`${service.url}/console/`);
  });
  afterAll(async () => {
    await browser?.close();
    await service?.close();
    await rm(folder, { recursive: true, force: true });
  });

  const view = (name: string): Promise<void> => page.getByRole("navigation").getByRole("button", { name }).click();
  const hits = (): Promise<readonly string[]> => page.locator(".hit .title").allInnerTexts();
  const titles = (wanted: readonly string[]): Promise<void> => expect.poll(hits).toEqual(wanted);

  /** On a desk and on a phone, light and dark. */
  async function picture(name: string): Promise<void> {
    for (const [colorScheme, width] of [
      ["light", 1280],
      ["dark", 390],
    ] as const) {
      await page.emulateMedia({ colorScheme });
      await page.setViewportSize({ width, height: width === 390 ? 800 : 900 });
      await keepPicture(page, `console-${name}-${width === 390 ? "phone" : "desktop"}-${colorScheme}`);
    }
    await page.emulateMedia({ colorScheme: null });
    await page.setViewportSize({ width: 1280, height: 900 });
  }

  test("a schema is deployed, a file fed, searched, explained, ranked anew, changed, and removed", async () => {
    await page.getByText("Nothing is deployed yet").waitFor();
    await view("Schema");
    await page.getByRole("button", { name: "Deploy" }).click();
    await page.getByText("Deployed.").waitFor();
    await expect.poll(() => page.locator("pre").first().innerText()).toContain("interface Note");

    const lines = [
      put("alice", "n1", { title: "Invoice", body: "The deposit", tag: "money" }),
      put("alice", "n2", { title: "Lunch", body: "The invoice of the pizza, paid by card, on friday", tag: "food" }),
      put("alice", "n3", { title: "Walk", body: "In the woods", tag: "free" }),
    ];
    const file = join(folder, "notes.jsonl");
    await writeFile(file, lines.join("\n"));
    await view("Feed");
    await page.getByLabel("File of operations").setInputFiles(file);
    await page.getByText("3 applied, 0 failed").waitFor();
    await page.getByRole("button", { name: "Search group alice" }).click();
    await titles(["Invoice", "Lunch", "Walk"]);

    await page.keyboard.press("/");
    await page.keyboard.type("invoice");
    await titles(["Invoice", "Lunch"]);
    await expect.poll(() => page.locator(".hit mark").allInnerTexts()).toContain("invoice");
    await page.keyboard.press("Escape");

    await page.keyboard.press("j");
    await page.keyboard.press("Enter");
    const why = page.getByRole("region", { name: "Why" });
    await why.getByText("It is a hit. It is number 1.").waitFor();
    await expect.poll(() => why.innerText()).toContain("bm25(title) * 2");
    await picture("explained");
    await page.keyboard.press("Escape");
    await page.getByPlaceholder("id of a document").fill("n3");
    await page.getByRole("button", { name: "Explain" }).click();
    await why.getByText("It does not match.").waitFor();
    await page.getByRole("button", { name: "Close the document" }).click();

    await page.getByRole("slider", { name: "bm25(title)" }).fill("0");
    await titles(["Lunch", "Invoice"]);
    await expect.poll(() => page.getByLabel("Ranking").innerText()).toContain("0 * bm25(title) + 1 * bm25(body)");
    await page.getByRole("button", { name: "Back to the profile's order" }).click();
    await titles(["Invoice", "Lunch"]);

    await page.getByRole("button", { name: "Trace this search" }).click();
    const trace = page.getByRole("region", { name: "Trace" });
    await expect
      .poll(() => trace.locator("code").allInnerTexts())
      .toContainEqual(expect.stringContaining("search to dispatch: query=["));
    const told = (await trace.locator("tbody tr").allInnerTexts()).map((row) => row.split("\t"));
    expect(told.map(([stage = ""]) => stage.split(":")[0])).toEqual([
      ...["wait", "load", "match", "rank", "group", "order", "phases", "summary"],
      "all",
    ]);
    for (const [, ms, , read, lookedAt] of told) {
      expect(Number(ms)).toBeGreaterThanOrEqual(0);
      for (const size of [read, lookedAt]) expect(size).toMatch(/^[\d.,]+ (B|kB|KB|MB)$/);
    }
    const milliseconds = told.map(([, ms]) => Number(ms));
    const all = milliseconds.pop() ?? Number.NaN;
    expect(Math.abs(milliseconds.reduce((sum, ms) => sum + ms, 0) - all)).toBeLessThan(0.1 * all + 0.1);
    await trace.scrollIntoViewIfNeeded();
    await picture("stages");
    expect(await violations(page)).toEqual([]);
    await view("Activity");
    const stages = page.getByRole("region", { name: "Stages of queries" });
    await expect.poll(() => stages.locator("tbody tr").count()).toBeGreaterThan(0);
    expect(Number(await stages.locator("tbody td").nth(1).innerText())).toBeGreaterThan(0);
    await view("Search");
    await page.keyboard.press("/");
    await page.keyboard.type("invoice");
    await titles(["Invoice", "Lunch"]);
    await page.keyboard.press("Escape");
    // Of another question it is no trace.
    expect(await trace.locator("code").count()).toBe(0);

    const code = page.getByLabel("The same as code");
    await expect.poll(() => code.innerText()).toContain('db.group("alice").search(note, {\n  text: "invoice"');
    expect(await code.innerText()).toContain("select * from note where userQuery()");

    await page.locator(".hit").first().click();
    const history = page.getByRole("region", { name: "History" });
    const done = (of: Locator): Promise<readonly string[]> => of.locator("tbody td:nth-child(2)").allInnerTexts();
    await history.getByRole("button", { name: "History" }).click();
    await expect.poll(() => history.innerText()).toMatch(/curl .*groups\/alice\/tail\?.*selection=id/);
    await page.getByRole("button", { name: "Edit" }).click();
    const fields = { title: "Paid invoice", body: "The deposit", tag: "money" };
    await page.getByLabel("Fields as JSON").fill(JSON.stringify(fields));
    await page.getByRole("button", { name: "Save" }).click();
    await expect.poll(hits).toContain("Paid invoice");
    // What was fed may be folded by now, and what was saved a moment ago is not.
    await expect.poll(async () => (await done(history))[0]).toBe("put");
    await page.getByRole("button", { name: "Remove" }).click();
    await page.getByRole("button", { name: "Remove for good" }).click();
    await titles(["Lunch"]);
    const gone = await fetch(`${service.url}/document/v1/note/note/group/alice/n1`);
    expect(gone.status).toBe(404);
    await view("Documents");
    const tail = page.getByRole("region", { name: "Written lately" });
    await tail.getByRole("button", { name: "Written lately" }).click();
    await expect.poll(async () => (await done(tail)).slice(0, 2)).toEqual(["remove", "put"]);
    expect(await tail.locator("tbody td:nth-child(3)").allInnerTexts()).toContain("note n1");
    await picture("tail");
    expect(await violations(page)).toEqual([]);

    await view("Activity");
    const slow = page.getByRole("region", { name: "Slow searches" });
    await expect.poll(() => slow.locator("tbody tr").count()).toBeGreaterThan(3);
    const rows = await slow.locator("tbody tr").allInnerTexts();
    expect(rows.some((row) => /search [\d.]+.*select .* from note where userQuery\(\)/s.test(row))).toBe(true);
    expect(rows.join("\n")).not.toMatch(/invoice|alice/);
    expect(await violations(page)).toEqual([]);
    await slow.scrollIntoViewIfNeeded();
    await picture("slow");
    expect(problems).toEqual([]);
  });

  test("values are counted and narrow the search, what is near a document is found, and groups by name", async () => {
    const note = schema("note", { title: text(), tag: string(), place: vector(2, { metric: "euclidean" }) });
    const database = await open({ schemas: [note] });
    try {
      const places = { Harbour: [0, 0], Lighthouse: [1, 0], Mountain: [9, 9], Pier: [0, 2] };
      for (const [title, place] of Object.entries(places))
        await database.group("alice").put(note, title, { title, tag: title === "Mountain" ? "land" : "sea", place });
      for (const group of ["bob", "bobby"])
        await database.group(group).put(note, "n", { title: "Of another", tag: "sea", place: [0, 0] });
      const { url } = await database.console();
      await page.goto(url);
      const groups = page.getByRole("complementary").locator("ul").last().getByRole("button");
      await expect.poll(() => groups.allInnerTexts()).toHaveLength(3);
      await page.getByLabel("Name of a group").fill("bobb");
      await expect.poll(async () => (await groups.allInnerTexts()).map((one) => one.split(/\s/)[0])).toEqual(["bobby"]);
      await page.getByLabel("Name of a group").fill("alice");
      await page.keyboard.press("Enter");
      await expect.poll(async () => [...(await hits())].sort()).toEqual(Object.keys(places));
      const tags = page.getByRole("region", { name: "Values of tag" });
      await expect.poll(() => tags.getByRole("button").allInnerTexts()).toEqual(["sea\n3", "land\n1"]);
      await tags.getByRole("button", { name: /^land/ }).click();
      await titles(["Mountain"]);
      await tags.getByRole("button", { name: /^land/ }).waitFor();
      await page.goto(`${url.split("#")[0]}#/search?group=alice&schema=note`);
      await page.reload();
      await expect.poll(async () => (await hits()).length).toBe(4);
      await page.locator(".hit", { hasText: "Harbour" }).click();
      await page.getByRole("button", { name: "Near by place" }).click();
      await expect.poll(async () => (await hits()).slice(0, 3)).toEqual(["Harbour", "Lighthouse", "Pier"]);
      expect(await violations(page)).toEqual([]);
      expect(problems).toEqual([]);
    } finally {
      await page.goto(`${service.url}/console/`);
      await database.close();
    }
  });

  test("the models of a database: one that was asked, and one whose file is not there", async () => {
    const note = schema("note", {
      title: text(),
      words: embedding({ from: "title", model: "words", dimensions: 32 }),
      meaning: embedding({ from: "title", model: "minilm", dimensions: 384 }),
    });
    const database = await open({
      schemas: [note],
      embedders: {
        minilm: {
          type: "hugging-face",
          transformer: { path: "minilm/model.onnx" },
          tokenizer: { path: "minilm/tokenizer.json" },
        },
      },
      models: { embedders: [new HashEmbedder("words")], modelFolder: "./models", onNotice: () => undefined },
    });
    try {
      const alice = database.group("alice");
      await alice.search(note, { near: { field: "words", text: "invoice" } });
      await expect(alice.put(note, "n1", { title: "Invoice" })).rejects.toThrow("minilm/model.onnx");
      const { url } = await database.console();
      await page.goto(url);
      await view("Activity");
      const models = page.getByRole("region", { name: "Models" });
      await expect.poll(() => models.locator("tbody").count()).toBe(2);
      const [words = "", minilm = ""] = await models.locator("tbody").allInnerTexts();
      expect(words).toMatch(/words\s+embedder · 32 values\s+ready\s+queries\s+1\s+1\s+0, 0/);
      expect(minilm).toMatch(
        /minilm\s+hugging-face-embedder\s+failed\s+there is no file minilm\/model\.onnx in the folder/,
      );
      expect(minilm).toMatch(/documents\s+1\s+0\s+0, 0\s.*BAD_REQUEST 1/s);
      await expect.poll(() => models.innerText()).toMatch(/curl .*\/brooklet\/v1\/models/);
      expect(await violations(page)).toEqual([]);
      await models.scrollIntoViewIfNeeded();
      await picture("models");
      expect(problems).toEqual([]);
    } finally {
      await page.goto(`${service.url}/console/`);
      await database.close();
    }
  });

  test("a key that is not taken any more is asked for again, and the view goes on with another", async () => {
    const other = `another-${KEY}`;
    const before = await serve({ port: 0, threads: 1, console: true, adminKeys: [KEY] });
    await page.goto(`${before.url}/console/#key=${KEY}`);
    await page.getByText("Nothing is deployed yet").waitFor();
    await before.close();
    const after = await serve({
      port: Number(new URL(before.url).port),
      threads: 1,
      console: true,
      adminKeys: [other],
    });
    try {
      await view("Activity");
      await page.getByRole("heading", { name: "This server asks for a key" }).waitFor();
      await page.getByLabel("Key", { exact: true }).fill(other);
      await page.keyboard.press("Enter");
      await page.getByRole("region", { name: "Calls of this page" }).waitFor();
      expect(problems).toEqual([]);
    } finally {
      await page.goto(`${service.url}/console/`);
      await after.close();
    }
  });

  test("a server that is away when the page is loaded is asked again, and the page goes on", async () => {
    const asked = "**/application/v2/**";
    let times = 0;
    await page.goto("about:blank");
    await page.route(asked, async (route) => {
      times += 1;
      // Nobody listens, and then what stands before it answers for it.
      await (times === 1 ? route.abort() : route.fulfill({ status: 503, body: '{"message":"not yet"}' }));
    });
    try {
      await page.goto(`${service.url}/console/#/search`);
      await page.getByText("The server does not answer").waitFor();
      await page.getByText("not yet").waitFor();
      await page.unroute(asked);
      await page.getByText("Choose a group").waitFor();
      expect(await page.getByText("not yet").count()).toBe(0);
    } finally {
      await page.unroute(asked);
    }
  });

  describe("documents that are unlike others", () => {
    const LONG = "x".repeat(3_000);
    const visited = "**/document/v1/**";

    beforeAll(async () => {
      const lines = Array.from({ length: 120 }, (_, index) =>
        put("paged", `d${String(index).padStart(3, "0")}`, { title: `Note ${index}`, body: "On friday", tag: "t" }),
      );
      lines.push(put("odd", "long", { title: LONG, body: LONG, tag: "t" }));
      lines.push(put("odd", "rtl", { title: "שלום עולם", body: "مرحبا بالعالم", tag: "t" }));
      lines.push(put("odd", "tag", { title: "<b>bold</b>", body: "<img src=none.png onerror=alert(1)>", tag: "<i>" }));
      const fed = await fetch(`${service.url}/brooklet/v1/feed`, { method: "POST", body: lines.join("\n") });
      expect(((await fed.json()) as { failed: number }).failed).toBe(0);
    });

    // Pages that come after are as they were made.
    afterAll(() => documentsOf("odd"));

    const documentsOf = async (group: string): Promise<void> => {
      await page.goto("about:blank");
      await page.goto(`${service.url}/console/#/documents?group=${group}&schema=note`);
      await page.getByRole("region", { name: "Documents" }).waitFor();
    };
    const rows = (): Locator => page.getByRole("region", { name: "Documents" }).locator("tbody tr");

    test("a page of them that comes late is not shown in place of the one that is asked for", async () => {
      await documentsOf("paged");
      const first = await rows().first().innerText();
      const held: (() => void)[] = [];
      await page.route(visited, async (route) => {
        if (route.request().url().includes("continuation=")) await new Promise<void>((go) => held.push(go));
        await route.continue();
      });
      try {
        const next = page.getByRole("button", { name: "Next" });
        await next.click();
        await expect.poll(() => held.length).toBe(1);
        // What follows a page that is not there yet is not known.
        expect(await next.isDisabled()).toBe(true);
        const late = page.waitForResponse((response) => response.url().includes("continuation="));
        await page.getByRole("button", { name: "Before" }).click();
        await expect.poll(() => next.isDisabled()).toBe(false);
        held[0]?.();
        await (await late).finished();
        await page.evaluate(() => new Promise(requestAnimationFrame));
        expect(await page.getByText("Page 1", { exact: true }).count()).toBe(1);
        expect(await rows().first().innerText()).toBe(first);
      } finally {
        await page.unroute(visited);
      }
    });

    test("show their columns beside a word of any length, their text from where it begins, and no markup", async () => {
      await documentsOf("odd");
      const region = page.getByRole("region", { name: "Documents" });
      expect(await region.evaluate(({ scrollWidth, clientWidth }) => scrollWidth <= clientWidth)).toBe(true);
      const ways = await region
        .locator("tbody td.value:nth-child(2)")
        .evaluateAll((cells) => cells.map((cell) => [getComputedStyle(cell).direction, cell.childElementCount]));
      expect(ways).toEqual([
        ["ltr", 0],
        ["rtl", 0],
        ["ltr", 0],
      ]);
    });

    test("are hits whose text begins where it does in their language", async () => {
      await page.goto("about:blank");
      await page.goto(`${service.url}/console/#/search?group=odd&schema=note`);
      const ways = (what: string): Promise<readonly string[]> =>
        page.locator(what).evaluateAll((all) => all.map((one) => getComputedStyle(one).direction));
      const hit = page.locator(".hit .title", { hasText: "שלום" });
      await hit.click();
      await page.locator(".detail dd").first().waitFor();
      expect([await ways(".hit .title"), await ways(".detail dd")]).toEqual([
        expect.arrayContaining(["ltr", "rtl"]),
        expect.arrayContaining(["ltr", "rtl"]),
      ]);
    });

    test("are printed on as many pages as they need, dark on white", async () => {
      await page.emulateMedia({ colorScheme: "dark", media: "print" });
      try {
        await documentsOf("paged");
        await expect.poll(() => rows().count()).toBe(50);
        const [shown, wanted, ground] = await page.evaluate(() => {
          const main = document.querySelector("main");
          return [main?.clientHeight, main?.scrollHeight, getComputedStyle(document.body).backgroundColor];
        });
        expect([shown, ground]).toEqual([wanted, "rgb(255, 255, 255)"]);
      } finally {
        await page.emulateMedia({ colorScheme: null, media: null });
      }
    });

    test("of a server that is gone in the middle of its answer are told as that", async () => {
      await documentsOf("paged");
      await page.evaluate(() => {
        Response.prototype.text = () => Promise.reject(new TypeError("network error"));
      });
      await page.getByRole("button", { name: "Next" }).click();
      expect(await page.getByRole("alert").first().innerText()).toBe(
        "The server does not answer. Is it still running?",
      );
    });
  });

  test.each(["light", "dark"] as const)("its views have no violations of accessibility, %s", async (colorScheme) => {
    await page.emulateMedia({ colorScheme });
    for (const name of ["Search", "Documents", "Schema", "Feed", "Activity"]) {
      await view(name);
      await page.waitForLoadState("networkidle");
      expect([name, await violations(page)]).toEqual([name, []]);
    }
    await page.emulateMedia({ colorScheme: null });
  });

  test("a page of 390 pixels scrolls in one direction only", async () => {
    await page.setViewportSize({ width: 390, height: 800 });
    for (const name of ["Search", "Documents", "Schema", "Feed", "Activity"]) {
      await view(name);
      await page.waitForLoadState("networkidle");
      const [width, wanted] = await page.evaluate(() => {
        const { clientWidth, scrollWidth } = document.documentElement;
        return [clientWidth, scrollWidth];
      });
      expect([name, wanted]).toEqual([name, width]);
    }
    await page.setViewportSize({ width: 1280, height: 900 });
  });

  test("a page that is enlarged four times shows every view, and all of their names", async () => {
    await page.setViewportSize({ width: 320, height: 256 });
    for (const name of ["Search", "Documents", "Schema", "Feed", "Activity"]) {
      await view(name);
      await page.waitForLoadState("networkidle");
      const shown = await page.evaluate(() => {
        const within = (outer: string): boolean => {
          const { clientHeight = 0, scrollHeight = 0 } = document.querySelector(outer) ?? {};
          return clientHeight > 0 && clientHeight === scrollHeight;
        };
        const names = [...document.querySelectorAll(".tabs button")].map((it) => it.getBoundingClientRect().right);
        return { isWhole: within("main"), isNamed: Math.max(...names) <= document.documentElement.clientWidth };
      });
      expect([name, shown]).toEqual([name, { isWhole: true, isNamed: true }]);
    }
    await page.setViewportSize({ width: 1280, height: 900 });
  });

  test("what is chosen, and each bar, is seen where people have colours of their own", async () => {
    await page.emulateMedia({ forcedColors: "active" });
    await view("Activity");
    await page.locator(".histogram div").first().waitFor();
    const grounds = await page.evaluate(() => {
      const ground = (what: string): string => {
        const element = document.querySelector(what);
        return element === null ? "none" : getComputedStyle(element).backgroundColor;
      };
      const chosen = [".tabs [aria-current]", ".item[aria-pressed=true]", ".histogram div"].map(ground);
      return chosen.map((one) => one !== "none" && one !== "rgba(0, 0, 0, 0)" && one !== ground("body"));
    });
    expect(grounds).toEqual([true, true, true]);
    await page.emulateMedia({ forcedColors: null });
  });

  test(`${DOCUMENTS.toLocaleString("en")} documents are a page of them`, async () => {
    for (let from = 0; from < DOCUMENTS; from += LINES) {
      const lines = Array.from({ length: LINES }, (_, index) =>
        put("many", `d${from + index}`, { title: `Note ${from + index}`, body: "On friday", tag: `t${index % 5}` }),
      );
      const fed = await fetch(`${service.url}/brooklet/v1/feed`, { method: "POST", body: lines.join("\n") });
      expect(((await fed.json()) as { failed: number }).failed).toBe(0);
    }
    await page.goto(`${service.url}/console/#/search?group=many&schema=note`);
    await page.reload();
    await page.getByText("100,000 matches").waitFor();
    const session = await page.context().newCDPSession(page);
    await session.send("Performance.enable");
    const steps: readonly (readonly [string, () => Promise<void>])[] = [
      ["type", () => page.getByLabel("Search", { exact: true }).fill("friday")],
      ["next page", () => page.getByRole("button", { name: "Next" }).click()],
      ["open", () => page.locator(".hit").first().click()],
      ["close", () => page.keyboard.press("Escape")],
      ["documents", () => view("Documents")],
      ["next documents", () => page.getByRole("button", { name: "Next" }).click()],
    ];
    for (const [name, step] of steps) {
      const before = await scriptSeconds(session);
      await step();
      await page.waitForLoadState("networkidle");
      const nodes = await page.locator("*").count();
      expect([name, nodes < 1_200]).toEqual([name, true]);
      expect([name, (await scriptSeconds(session)) - before < 0.2]).toEqual([name, true]);
    }
    expect(problems).toEqual([]);
  });
});

/** How long scripts ran in a page, seconds. */
async function scriptSeconds(session: CDPSession): Promise<number> {
  const { metrics } = await session.send("Performance.getMetrics");
  return metrics.find(({ name }) => name === "ScriptDuration")?.value ?? Number.NaN;
}
