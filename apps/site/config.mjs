/** How VitePress builds the site: plain Markdown, nothing from elsewhere, search in the page. */
import process from "node:process";
import { CONTENTS } from "./contents.mjs";

const TITLE = "brooklet";
const DESCRIPTION = "Exact hybrid search over each user's own data";

/** Languages that are shown as they are. */
const PLAIN = new Set(["output", "sd"]);

/** @param {string} text */
const escaped = (text) => text.replaceAll("{{", "&#123;&#123;").replaceAll("}}", "&#125;&#125;");

/** Changes to the renderer of Markdown: texts are never templates, and drawings stand in the page. @param {import("markdown-it").default} markdown */
export function prepare(markdown) {
  const { rules, utils } = { rules: markdown.renderer.rules, utils: markdown.utils };
  rules.text = (tokens, index) => escaped(utils.escapeHtml(tokens[index]?.content ?? ""));
  rules.code_inline = (tokens, index) => `<code v-pre>${utils.escapeHtml(tokens[index]?.content ?? "")}</code>`;
  const fence = rules.fence;
  rules.fence = (...all) => {
    const [tokens, index] = all;
    const token = tokens[index];
    const [language = ""] = (token?.info ?? "").split(/\s/);
    if (language === "drawing" && !token?.content.startsWith("<svg"))
      return `<div v-pre>${token?.content ?? ""}</div>\n`;
    if (language === "drawing") return `<figure class="drawing" tabindex="0" v-pre>${token?.content ?? ""}</figure>\n`;
    // The words behind the language are for the runner of samples.
    if (token !== undefined) token.info = PLAIN.has(language) ? "txt" : language;
    const shown = fence?.(...all) ?? "";
    return language === "output" ? `<div class="output">${shown}</div>` : shown;
  };
  // A wide table can be scrolled with the keyboard, too.
  rules.table_open = () => '<div class="table" tabindex="0" role="group" aria-label="Table"><table>\n';
  rules.table_close = () => "</table>\n</div>\n";
  markdown.core.ruler.push("headless tables", ({ tokens }) => dropEmptyHeads(tokens));
}

/**
 * Tables whose head says nothing have none; a cell of a head that says nothing is no heading.
 *
 * @param {import("markdown-it").Token[]} tokens
 */
function dropEmptyHeads(tokens) {
  for (let close = tokens.length - 1; close > 0; close -= 1) {
    if (tokens[close]?.type !== "thead_close") continue;
    const open = tokens.findLastIndex(({ type }, index) => index < close && type === "thead_open");
    const head = tokens.slice(open, close + 1);
    if (head.every(({ type, content }) => type !== "inline" || content.trim() === "")) tokens.splice(open, head.length);
    else for (const [at, { type }] of head.entries()) if (type === "th_open") noHeading(head.slice(at, at + 3));
  }
}

/** @param {import("markdown-it").Token[]} cell how it begins, what is in it, how it ends */
function noHeading([open, inside, end]) {
  if (inside?.content.trim() !== "") return;
  for (const token of [open, end]) if (token !== undefined) token.tag = "td";
}

/** Anchors as GitHub makes them, so that links hold in both places. @param {string} title */
export function anchorOf(title) {
  return title
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
    .replaceAll(" ", "-");
}

/** @type {import("vitepress").UserConfig} */
export const config = {
  title: TITLE,
  description: DESCRIPTION,
  lang: "en",
  base: process.env["BROOKLET_SITE_BASE"] ?? "/",
  outDir: process.env["BROOKLET_SITE_FOLDER"] ?? "../dist",
  cacheDir: ".vitepress/cache",
  cleanUrls: false,
  metaChunk: true,
  // Links are checked by the test, with their anchors.
  ignoreDeadLinks: true,
  markdown: {
    html: false,
    linkify: false,
    config: prepare,
    anchor: { slugify: anchorOf },
    theme: { light: "github-light-high-contrast", dark: "github-dark-high-contrast" },
  },
  themeConfig: {
    siteTitle: TITLE,
    search: { provider: "local", options: { detailedView: true } },
    outline: { level: [2, 3], label: "On this page" },
    nav: [
      { text: "Getting started", link: "/getting-started" },
      { text: "Playground", link: "/playground" },
      { text: "API", link: "/api/index.html", target: "_self" },
      { text: "Benchmarks", link: "/benchmarks" },
    ],
    sidebar: CONTENTS.map(({ title, pages }) => ({
      text: title,
      items: [
        ...pages.map(([page, text]) => ({ text, link: `/${page}` })),
        ...(title === "Reference"
          ? [
              { text: "API", link: "/api/index.html", target: "_self" },
              { text: "Decisions", link: "/decisions/" },
            ]
          : []),
      ],
    })),
    footer: { message: "Apache-2.0" },
    docFooter: { prev: "Before", next: "Next" },
  },
};
