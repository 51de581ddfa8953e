/** The API reference: TypeDoc over what packages export, from the comments in their sources. */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Application } from "typedoc";
import { root } from "./documents.mjs";

/** What people import, by the file that exports it. */
const ENTRIES = [
  "index.ts",
  "browser.ts",
  "durable-object.ts",
  "object-store.ts",
  "ai-sdk.ts",
  "langchain.ts",
  "llamaindex.ts",
  "mastra.ts",
  "mcp.ts",
  "react.ts",
  "token.ts",
  "vitest.ts",
  "evaluation.ts",
  "workers-ai.ts",
];

/** Writes the reference into a folder. @param {string} folder */
export async function writeApi(folder) {
  const source = join(root, "packages/brooklet");
  const application = await Application.bootstrapWithPlugins({
    name: "brooklet",
    entryPoints: ENTRIES.map((name) => join(source, "src", name)),
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
 * A page of TypeDoc's with what a screen reader goes by: which part is the content, what each list of links is for, and headings
 * without gaps between their levels.
 *
 * @param {string} html
 */
export function accessible(html) {
  let level = 0;
  return html
    .replace('<div class="col-content">', '<div class="col-content" role="main">')
    .replace('<div class="page-menu">', '<div class="page-menu" role="navigation" aria-label="On this page">')
    .replace('<nav id="tsd-sidebar-links"', '<nav id="tsd-sidebar-links" aria-label="Elsewhere"')
    .replaceAll('<nav class="tsd-navigation"', '<nav class="tsd-navigation" aria-label="All modules"')
    .replaceAll(/<h([1-6])(?=[ >])/g, (heading, own) => {
      const wanted = Math.min(Number(own), level + 1);
      level = wanted;
      return wanted === Number(own) ? heading : `${heading} aria-level="${wanted}"`;
    });
}
