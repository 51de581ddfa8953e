/**
 * Entries as bundlers take them: those that do their work when they are imported are kept, though what a package says to have no effects is left
 * out; and what a server and its pages share is bundled for both.
 */
import { fileURLToPath } from "node:url";
import { type BuildResult, build } from "esbuild";
import { expect, test } from "vitest";

const FOLDER = fileURLToPath(new URL("..", import.meta.url));

function bundled(contents: string, platform: "node" | "browser"): Promise<BuildResult<{ write: false }>> {
  return build({
    stdin: { contents, resolveDir: FOLDER },
    bundle: true,
    platform,
    format: "esm",
    external: ["vitest", "onnxruntime-node"],
    write: false,
    logLevel: "silent",
  });
}

test.each(["brooklet/bucket-thread", "brooklet/browser-worker", "brooklet/vitest", "@brooklet/models/session-thread"])(
  "what imports %s alone, to be the script of a thread, has its code",
  async (entry) => {
    const { warnings, outputFiles } = await bundled(`import "${entry}";`, "node");
    expect(warnings.filter(({ id }) => id === "ignored-bare-import")).toEqual([]);
    expect(outputFiles[0]?.text).not.toBe("");
  },
);

test("a page has the client of brooklet, as of schemas that it shares with a server, and is told what it has not", async () => {
  const shared =
    'import { connect, schema, text } from "brooklet"; console.log(connect, schema("note", { title: text() }));';
  const { warnings, outputFiles } = await bundled(shared, "browser");
  expect(warnings).toEqual([]);
  expect(outputFiles[0]?.text).not.toMatch(/getBuiltinModule|node:/);
  await expect(bundled('import { open } from "brooklet"; open;', "browser")).rejects.toThrow(
    /No matching export in ".*dist\/page\.js" for import "open"/,
  );
  await bundled('import { open } from "brooklet"; open;', "node");
});
