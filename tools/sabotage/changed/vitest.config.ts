/**
 * How tests run over sources of which one file is another: the one of BROOKLET_CHANGED, whose text stands in the file of BROOKLET_CHANGED_TO
 * whenever it is read.
 */
import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import process from "node:process";
import { defineConfig } from "vitest/config";
import { TEST_RUN } from "../../test-run.ts";

const changed = resolve(process.env["BROOKLET_CHANGED"] ?? "");
const text = (): string => readFileSync(process.env["BROOKLET_CHANGED_TO"] ?? "", "utf8");
/** Other packages have what was built of one: its sources stand for that, for each of its exports. */
const [, room = "", folder = ""] = /^(.*[\\/]packages[\\/]([\w-]+))[\\/]/.exec(changed) ?? [];
const manifest = room === "" ? "{}" : readFileSync(join(room, "package.json"), "utf8");
/** What an export is: a file, or what it is on Node apart. */
type Export = string | { readonly default?: string; readonly node?: Export };
const { exports = {} } = JSON.parse(manifest) as { exports?: Record<string, Export> };
const builtOf = (to: Export): string => {
  if (typeof to === "string") return to;
  return typeof to.node === "object" ? builtOf(to.node) : (to.default ?? "");
};
const sourceOf = (built: string): string => join(room, built.replace(/^\.\/dist\//, "src/").replace(/\.js$/, ".ts"));
const alias = Object.entries(exports)
  .map(([name, to]) => ({ name, source: sourceOf(builtOf(to)) }))
  .filter(({ source }) => source.endsWith(".ts") && existsSync(source))
  .map(({ name, source }) => ({ find: new RegExp(`^@brooklet/${folder}${name.slice(1)}$`), replacement: source }));

export default defineConfig({
  plugins: [
    {
      name: "changed",
      enforce: "pre",
      load: (id: string) => (resolve(id.replace(/\?.*$/, "")) === changed ? text() : undefined),
    },
  ],
  resolve: { alias },
  test: { ...TEST_RUN, testTimeout: 120_000, hookTimeout: 120_000 },
});
