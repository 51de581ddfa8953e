/** Entries that do their work when they are imported are kept by bundlers, which leave out what a package says to have no effects. */
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { expect, test } from "vitest";

test.each(["brooklet/bucket-thread", "brooklet/browser-worker", "brooklet/vitest", "@brooklet/models/session-thread"])(
  "what imports %s alone, to be the script of a thread, has its code",
  async (entry) => {
    const { warnings, outputFiles } = await build({
      stdin: { contents: `import "${entry}";`, resolveDir: fileURLToPath(new URL("..", import.meta.url)) },
      bundle: true,
      platform: "node",
      format: "esm",
      external: ["vitest", "onnxruntime-node"],
      write: false,
      logLevel: "silent",
    });
    expect(warnings.filter(({ id }) => id === "ignored-bare-import")).toEqual([]);
    expect(outputFiles[0]?.text).not.toBe("");
  },
);
