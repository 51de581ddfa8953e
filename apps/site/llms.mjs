/** What language models read: `llms.txt`, a list of the pages, and `llms-full.txt`, all of them as they are. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { CONTENTS } from "./contents.mjs";

/**
 * @param {string} folder
 * @param {ReadonlyMap<string, string>} texts pages by their paths
 */
export function writeLlms(folder, texts) {
  const sections = CONTENTS.map(({ title, pages }) => {
    const lines = pages.map(
      ([page, name]) => `- [${name}](${page}.html): ${firstSentence(texts.get(`${page}.md`) ?? "")}`,
    );
    return `## ${title}\n\n${lines.join("\n")}`;
  });
  const head =
    "# brooklet\n\n> Exact hybrid search over each user's own data: text, vectors and filters in one query, in your process or behind Vespa's HTTP interfaces.";
  writeFileSync(join(folder, "llms.txt"), `${[head, ...sections].join("\n\n")}\n`);
  const pages = CONTENTS.flatMap(({ pages: own }) => own.map(([page]) => `${page}.md`)).filter(
    (page) => page !== "changelog.md",
  );
  const whole = ["index.md", ...pages].map(
    (page) => `<!-- ${page} -->\n\n${(texts.get(page) ?? "").replaceAll(/^```drawing\n[\s\S]*?^```\n?/gm, "")}`,
  );
  writeFileSync(join(folder, "llms-full.txt"), `${whole.join("\n\n")}\n`);
}

/**
 * The first sentence behind the title.
 *
 * @param {string} text
 */
export function firstSentence(text) {
  const prose = text.split("\n\n").find((part) => /^[A-Z`*[]/.test(part.trim()) && !part.startsWith("# ")) ?? "";
  const plain = prose
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1")
    .replaceAll(/\s*\n\s*/g, " ")
    .trim();
  return /^.*?[.:](?= |$)/.exec(plain)?.[0] ?? plain;
}
