/** The API reference: TypeDoc over what packages export, from the comments in their sources. */
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
  });
  const project = await application.convert();
  if (project === undefined) throw new Error("TypeDoc found nothing to document");
  await application.generateDocs(project, folder);
  if (application.logger.hasErrors()) throw new Error("TypeDoc ended with errors");
}
