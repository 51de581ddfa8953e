/**
 * Puts the pages of the site where VitePress reads them: documents as they are in the repository, with what is generated in its place
 * and links to files that are no pages turned to the repository.
 */
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, normalize, relative } from "node:path";
import { CONTENTS, ELSEWHERE } from "./contents.mjs";
import { root } from "./documents.mjs";
import { GENERATORS } from "./generated.mjs";

const REPOSITORY = "https://github.com/brooklet/brooklet/blob/main/";
const GENERATED = /^<!-- generated: ([\w-]+) -->$/gm;
const LINK = /(\]\()([^)\s]+)(\))/g;
/** A drawing on a line of its own: it stands in the page, so that it has the colours of the page. */
const DRAWING = /^!\[([^\]]+)\]\((?:\.\/)?drawings\/([\w-]+\.svg)\)$/gm;
const FENCED = /^( *)(```|~~~)[\s\S]*?^\1\2[ \t]*$/gm;

/**
 * The documents that become pages: where each is in the repository, by where it is on the site.
 *
 * @returns {ReadonlyMap<string, string>}
 */
export function pageSources() {
  const listed = CONTENTS.flatMap(({ pages }) => pages.map(([page]) => page));
  const all = readdirSync(join(root, "docs")).filter((name) => name.endsWith(".md") && name !== "index.md");
  const unlisted = all.filter((name) => !listed.includes(name.replace(/\.md$/, "")));
  if (unlisted.length > 0) throw new Error(`not in contents.mjs: ${unlisted.join(", ")}`);
  const decisions = readdirSync(join(root, "docs/decisions")).filter(
    (name) => /^\d.*\.md$/.test(name) && !name.startsWith("0000"),
  );
  return new Map([
    ["index.md", "docs/index.md"],
    ...listed.map((page) => /** @type {const} */ ([`${page}.md`, ELSEWHERE[page] ?? `docs/${page}.md`])),
    ...decisions.map((name) => /** @type {const} */ ([`decisions/${name}`, `docs/decisions/${name}`])),
  ]);
}

/**
 * Writes all pages into a folder, and what they show beside text. Gives the text of each page.
 *
 * @param {string} folder
 * @returns {Promise<ReadonlyMap<string, string>>}
 */
export async function stage(folder) {
  rmSync(folder, { recursive: true, force: true });
  const sources = pageSources();
  const places = new Map([...sources].map(([page, source]) => [source, page]));
  /** @type {Map<string, string>} */
  const texts = new Map();
  for (const [page, source] of sources) {
    const text = await generated(readFileSync(join(root, source), "utf8"));
    texts.set(page, linked(text, source, page, places));
  }
  texts.set("decisions/index.md", decisionsPage(texts));
  for (const [page, text] of texts) write(join(folder, page), text);
  return texts;
}

/** @param {string} text */
async function generated(text) {
  let whole = text.replaceAll(DRAWING, (_, told, name) => {
    // In the page the style is the page's, which knows when it is dark.
    const source = readFileSync(join(root, "docs/drawings", name), "utf8").replace(/<style>[\s\S]*?<\/style>\n/, "");
    const svg = source.replace("<svg ", `<svg role="img" aria-label="${told.replaceAll('"', "&quot;")}" `);
    return `\`\`\`drawing\n${svg.trim()}\n\`\`\``;
  });
  for (const [mark, name = ""] of text.matchAll(GENERATED)) {
    const generator = GENERATORS[name];
    if (generator === undefined) throw new Error(`nothing generates ${name}`);
    const made = await generator();
    whole = whole.replace(mark, () => made);
  }
  return whole;
}

/**
 * A page with its links as they are on the site.
 *
 * @param {string} text
 * @param {string} source
 * @param {string} page
 * @param {ReadonlyMap<string, string>} places
 */
function linked(text, source, page, places) {
  /** @type {string[]} */
  const fences = [];
  const bare = text.replace(FENCED, (fence) => `\ue000${fences.push(fence) - 1}\ue000`);
  const turned = bare.replace(LINK, (whole, before, link, after) => {
    if (/^([a-z]+:|#|\/)/.test(link)) return whole;
    const [path = "", anchor] = link.split("#");
    const target = normalize(join(dirname(source), path)).replace(/\/$/, "");
    const hash = anchor === undefined ? "" : `#${anchor}`;
    const place = places.get(target);
    if (place !== undefined) return `${before}${relativeLink(page, place)}${hash}${after}`;
    return `${before}${REPOSITORY}${target}${hash}${after}`;
  });
  return turned.replaceAll(/\ue000(\d+)\ue000/g, (_, index) => fences[Number(index)] ?? "");
}

/**
 * @param {string} from
 * @param {string} to
 */
function relativeLink(from, to) {
  const path = relative(dirname(from), to);
  return path.startsWith(".") ? path : `./${path}`;
}

/** @param {ReadonlyMap<string, string>} texts */
function decisionsPage(texts) {
  const lines = [...texts]
    .filter(([page]) => page.startsWith("decisions/"))
    .map(([page, text]) => `* [${/^# (.*)$/m.exec(text)?.[1] ?? page}](./${page.slice("decisions/".length)})`);
  return `# Decisions\n\nWhat others have to live with, one decision a page.\n\n${lines.join("\n")}\n`;
}

/**
 * @param {string} path
 * @param {string} text
 */
function write(path, text) {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}
