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
/** Other packages have what was built of one: its sources stand for that. */
const [, room = "", folder = ""] = /^(.*[\\/]packages[\\/]([\w-]+))[\\/]/.exec(changed) ?? [];
const entry = (name: string): string => join(room, "src", `${name}.ts`);
const entries = ["node", "contract", "index"].filter((name) => existsSync(entry(name)));
const alias = entries.map((name) => ({
  find: new RegExp(`^@brooklet/${folder}${name === "index" ? "" : `/${name}`}$`),
  replacement: entry(name),
}));

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
