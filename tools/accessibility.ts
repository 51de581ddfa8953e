/** What axe-core finds wrong with a page for people who cannot see it, or not well. */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Page } from "playwright-core";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

interface Axe {
  run(options: object): Promise<{
    readonly violations: readonly {
      readonly id: string;
      readonly nodes: readonly { readonly html: string; readonly target: readonly unknown[] }[];
    }[];
  }>;
}

/** Each rule that a page breaks, with how often, and the first place. */
export async function violations(page: Page): Promise<readonly string[]> {
  await page.evaluate(AXE);
  return await page.evaluate(async () => {
    const { axe } = globalThis as unknown as { readonly axe: Axe };
    const found = await axe.run({ resultTypes: ["violations"] });
    return found.violations.map(
      ({ id, nodes }) => `${id}: ${nodes.length}: ${nodes[0]?.target.join(" ")}: ${nodes[0]?.html.slice(0, 160)}`,
    );
  });
}
