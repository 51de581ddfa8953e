/**
 * The recorded conversations in a page of a real browser: over its SQLite and in its engine of JavaScript and WebAssembly every answer has
 * the status and the bytes of Node's. That those are right is asserted elsewhere (packages/partition/test/conversations.test.ts).
 */
import { Core, instantiate } from "@brooklet/core";
import { createGateway } from "@brooklet/gateway";
import { LocalCluster } from "@brooklet/partition";
import { nodeSurroundings } from "@brooklet/partition/node";
import { memoryStorage } from "@brooklet/store";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { browserPath, startBrowser } from "../../../tools/browser.ts";
import { openDatabase } from "../src/node/database.ts";
import type { openListener } from "./browser/listener.ts";
import { forConversations, openSite, type Site } from "./browser/site.ts";
import { recordedTalks } from "./talks/recorded.ts";
import { answerOf, held, type Listener, type Talk, type talksIn, textOf } from "./talks/talk.ts";

/** What a page has as names of its own (browser/conversations.ts). */
interface Window {
  openListener: typeof openListener;
  held: typeof held;
  talksIn: typeof talksIn;
}

/** The time of both. */
const NOW_MS = 1_790_000_000_000;
const TALKS_MIN = 250;
const CACHE_BYTES = 16 << 20;

/** A gateway of Node, in memory, with no more than a page has: no embedders, and nothing that runs models. */
function listenHere(): Listener {
  const cluster = new LocalCluster({
    storage: memoryStorage(() => openDatabase()),
    makeEngine: () => new Core({ instantiate, cacheBytes: CACHE_BYTES }),
    surroundings: nodeSurroundings,
  });
  const gateway = createGateway({ cluster });
  return {
    ask: async ({ method, target, headers = {}, body }) => {
      const answer = await gateway.answer(`http://brooklet.invalid${target}`, { method, headers, body: body ?? null });
      return answerOf(answer.status, (name) => answer.headers.get(name), new Uint8Array(await answer.arrayBuffer()));
    },
    close: () => cluster.close(),
  };
}

describe.runIf(browserPath !== undefined)("in a browser", () => {
  let site: Site;
  let browser: Browser;
  let page: Page;
  let worker: string;

  beforeAll(async () => {
    vi.spyOn(Date, "now").mockReturnValue(NOW_MS);
    [site, browser] = await Promise.all([openSite(forConversations), startBrowser()]);
    page = await (await browser.newContext()).newPage();
    await page.goto(site.url);
    await page.waitForFunction(() => "openListener" in globalThis);
    // Both are imported before anything is said to the worker, in this order.
    const clock = encodeURIComponent(`Date.now = () => ${NOW_MS};`);
    const script = `import "data:text/javascript,${clock}"; import "${site.url}app/browser-worker.js";`;
    worker = await page.evaluate((text) => URL.createObjectURL(new Blob([text], { type: "text/javascript" })), script);
    // V8 has a module compiled once for all workers of a page, as long as one of them holds it: this one does, and is asked nothing else.
    await page.evaluate(async (text) => {
      const { openListener: open } = globalThis as unknown as Window;
      const { ask } = await open(text, () => {});
      await ask({ method: "GET", target: "/ApplicationStatus" });
    }, worker);
  });

  afterAll(async () => {
    vi.restoreAllMocks();
    await browser?.close();
    site?.close();
  });

  /** What is answered in the page. */
  const heldInPage = (talk: Talk): Promise<string> =>
    page.evaluate(
      async ({ text, script }) => {
        const { openListener: open, held: hold, talksIn: read } = globalThis as unknown as Window;
        const problems: string[] = [];
        const listener = await open(script, (problem) => problems.push(String(problem)));
        try {
          const told: string[] = [];
          for (const one of read(text)) told.push(await hold(one, listener));
          return problems.length === 0 ? told.join() : problems.join("\n");
        } finally {
          await listener.close();
        }
      },
      { text: textOf([talk]), script: worker },
    );

  const talks = recordedTalks();

  test("all that are recorded are held, but for those that run models", () => {
    expect(talks.length).toBeGreaterThan(TALKS_MIN);
    expect(new Set(talks.map(({ about }) => about)).size).toBe(talks.length);
  });

  test.each(talks.map((talk) => [talk.about, talk] as const))("%s", async (_, talk) => {
    const here = listenHere();
    try {
      const expected = JSON.parse(await held(talk, here)) as unknown;
      expect(JSON.parse(await heldInPage(talk))).toEqual(expected);
    } finally {
      await here.close();
    }
  });
});
