/** The tables of docs/install.md: each cell leads to a test that tries what its row says, or says why none does. */
import { describe, expect, test } from "vitest";
import { content, files } from "./repository.ts";

const TRIED = content("docs/install.md").split("## What is tried")[1]?.split("\n## ")[0] ?? "";
/** How a cell begins that says why it has no test of its own. */
const REASON = /^(?:as |see below$|the reference$|not tried|no: )/;
/** The runtimes that tests of bundles take. */
const RUNTIMES = "tools/runtimes/runtimes.mjs";

/** The rows of the tables, but for those that name columns. */
const rows = TRIED.split("\n\n").flatMap((part) => {
  const lines = part.split("\n").filter((line) => line.startsWith("|"));
  return lines.slice(2).map((line) => line.split("|").slice(1, -1));
});

/** What a row is about, as tests write it. */
function words(name: string): string[] {
  return [...name.matchAll(/esbuild|webpack|Rollup|Vite|Next|npm|pnpm|Yarn 1|Plug'n'Play|node_modules|Bun|Deno/g)].map(
    ([word]) => word,
  );
}

describe("the tables of what is tried", () => {
  test("have their rows", () => expect(rows.length).toBeGreaterThanOrEqual(15));

  test.each(rows.flatMap(([name = "", ...cells]) => cells.map((cell) => [name.trim(), cell.trim()] as const)))(
    "%s: %s",
    (name, cell) => {
      const paths = [...cell.matchAll(/\]\(\.\.\/([^)]+)\)/g)].map(([, path = ""]) => path);
      if (paths.length === 0) {
        expect(cell === "yes" || REASON.test(cell)).toBe(true);
        return;
      }
      for (const path of paths) expect(files).toContain(path);
      const texts = [...paths, RUNTIMES].map(content).join("\n").toLowerCase();
      expect(words(name).filter((word) => !texts.includes(word.toLowerCase()))).toEqual([]);
    },
  );
});
