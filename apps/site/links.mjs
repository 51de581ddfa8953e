/** Links of a built site that lead nowhere. */
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";

/**
 * @param {string} folder
 * @param {(page: string) => boolean} isLooked which pages
 * @returns {readonly string[]}
 */
export function brokenLinks(folder, isLooked) {
  const pages = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((path) => path.endsWith(".html"));
  /** @type {Map<string, ReadonlySet<string>>} */
  const anchors = new Map();
  const anchorsOf = (/** @type {string} */ file) => {
    const known = anchors.get(file);
    if (known !== undefined) return known;
    const found = new Set([...readFileSync(file, "utf8").matchAll(/ (?:id|name)="([^"]+)"/g)].map(([, id = ""]) => id));
    anchors.set(file, found);
    return found;
  };
  return pages.filter(isLooked).flatMap((page) => {
    const html = readFileSync(join(folder, page), "utf8").replaceAll(/<(script|style)[\s\S]*?<\/\1>/g, "");
    const links = [...html.matchAll(/<a [^>]*href="([^"]+)"|<(?:img|script) [^>]*src="([^"]+)"/g)].map(
      ([, href, source]) => href ?? source ?? "",
    );
    return [...new Set(links)].flatMap((link) => {
      if (/^[a-z]+:/.test(link)) return [];
      const [path = "", anchor] = link.replaceAll("&amp;", "&").split("#");
      const file = fileOf(folder, page, decodeURIComponent(path));
      if (file === undefined) return [`${page}: ${link}`];
      const isThere =
        anchor === undefined ||
        anchor === "" ||
        !file.endsWith(".html") ||
        anchorsOf(file).has(decodeURIComponent(anchor));
      return isThere ? [] : [`${page}: ${link}`];
    });
  });
}

/**
 * @param {string} folder
 * @param {string} page
 * @param {string} path
 */
function fileOf(folder, page, path) {
  const [bare = ""] = path.split("?");
  if (bare === "") return join(folder, page);
  const target = bare.startsWith("/") ? join(folder, bare) : resolve(folder, dirname(page), bare);
  for (const file of [target, `${target}.html`, join(target, "index.html")])
    if (existsSync(file) && statSync(file).isFile()) return file;
  return undefined;
}
