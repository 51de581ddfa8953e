/** Pictures of pages, kept for people to look at: those that documents show are made of them (pictures.mjs). */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import type { Page } from "playwright-core";

/** The folder for them; none are taken unless it is said. */
const FOLDER = process.env["BROOKLET_SCREENSHOTS"];
/** As good as fits: a clone has all of them. */
const BYTES_MAX = 60_000;
const QUALITIES = [90, 75, 60, 45, 30];

/** Keeps what a page shows now as NAME.webp. */
export async function keepPicture(page: Page, name: string): Promise<void> {
  if (FOLDER === undefined) return;
  const devtools = await page.context().newCDPSession(page);
  try {
    for (const quality of QUALITIES) {
      const { data } = await devtools.send("Page.captureScreenshot", { format: "webp", quality });
      const bytes = Buffer.from(data, "base64");
      if (bytes.length > BYTES_MAX && quality !== QUALITIES.at(-1)) continue;
      mkdirSync(FOLDER, { recursive: true });
      writeFileSync(join(FOLDER, `${name}.webp`), bytes);
      return;
    }
  } finally {
    await devtools.detach();
  }
}
