/** The API reference: TypeDoc over what packages export, from the comments in their sources. */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Application } from "typedoc";
import { root } from "./documents.mjs";

/** Scripts that threads and workers are started with: nobody imports them. */
const STARTED = ["bucket-thread", "browser-worker"];

/** What is exported to be imported, by the names that the manifest of brooklet has for it; `index` is the package itself. */
export const ENTRIES = Object.keys(
  JSON.parse(readFileSync(join(root, "packages/brooklet/package.json"), "utf8")).exports,
)
  .filter((name) => name !== "./package.json" && !STARTED.includes(name.slice(2)))
  .map((name) => (name === "." ? "index" : name.slice(2)));

/**
 * Packages that are not in the reference, and why: what of them is for people to import, `brooklet` exports too, or their README is all of it.
 *
 * @type {Readonly<Record<string, string>>}
 */
export const LEFT_OUT = {
  "@brooklet/adapters": "each of its entries is one of brooklet's; the others are what those have in common",
  "@brooklet/answers": "what client, gateway and adapters have in common",
  "@brooklet/client": "brooklet exports all of it",
  "@brooklet/console": "its README is all of it",
  "@brooklet/core": "bytes in and out, for partition: docs/abi.md",
  "@brooklet/gateway": "what serve() is made of",
  "@brooklet/models": "what the option `models` is made of",
  "@brooklet/object-store": "brooklet/object-store exports what is opened",
  "@brooklet/partition": "what open() and serve() are made of",
  "@brooklet/store": "what partition stores in",
  "@brooklet/wire": "Vespa's shapes, which the client's types are made of",
  "create-brooklet": "its README is all of it",
};

/** Writes the reference into a folder. @param {string} folder */
export async function writeApi(folder) {
  const source = join(root, "packages/brooklet");
  const application = await Application.bootstrapWithPlugins({
    name: "brooklet",
    entryPoints: ENTRIES.map((name) => join(source, "src", `${name}.ts`)),
    tsconfig: join(source, "tsconfig.json"),
    readme: "none",
    excludeInternal: true,
    excludePrivate: true,
    excludeExternals: true,
    disableSources: true,
    disableGit: true,
    hideGenerator: true,
    navigationLinks: { Documentation: "../index.html" },
    skipErrorChecking: true,
    logLevel: "Error",
    githubPages: false,
    customCss: join(root, "apps/site/theme/api.css"),
  });
  const project = await application.convert();
  if (project === undefined) throw new Error("TypeDoc found nothing to document");
  await application.generateDocs(project, folder);
  if (application.logger.hasErrors()) throw new Error("TypeDoc ended with errors");
  for (const name of readdirSync(folder, { recursive: true, encoding: "utf8" })) {
    if (!name.endsWith(".html")) continue;
    const file = join(folder, name);
    writeFileSync(file, accessible(readFileSync(file, "utf8")));
  }
}

/**
 * A page of TypeDoc's with what a screen reader goes by: which part is the content, what each list of links is for, where a member is from as a
 * part of it, and headings without gaps between their levels.
 *
 * @param {string} html
 */
export function accessible(html) {
  let level = 0;
  return html
    .replace('<div class="col-content">', '<div class="col-content" role="main">')
    .replace('<div class="page-menu">', '<div class="page-menu" role="navigation" aria-label="On this page">')
    .replace('<nav id="tsd-sidebar-links"', '<nav id="tsd-sidebar-links" aria-label="Elsewhere"')
    .replaceAll(/<aside class="tsd-sources">([\s\S]*?)<\/aside>/g, '<div class="tsd-sources">$1</div>')
    .replaceAll('<nav class="tsd-navigation"', '<nav class="tsd-navigation" aria-label="All modules"')
    .replaceAll(/<h([1-6])(?=[ >])/g, (heading, own) => {
      const wanted = Math.min(Number(own), level + 1);
      level = wanted;
      return wanted === Number(own) ? heading : `${heading} aria-level="${wanted}"`;
    });
}
