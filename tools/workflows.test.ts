/** What the workflows run is there: a step whose script was renamed would be noticed only after a push. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const root = fileURLToPath(new URL("..", import.meta.url));
const folder = join(root, ".github/workflows");
const { scripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { scripts: Record<string, string> };

test.each(readdirSync(folder))("%s runs what there is", (name) => {
  const text = readFileSync(join(folder, name), "utf8");
  const commands = [...text.matchAll(/^\s*(?:- )?run: (.+)$/gm)].map(([, command = ""]) => command);
  expect(commands).not.toEqual([]);
  for (const command of commands) {
    const [, script] = /^npm run ([\w:-]+)/.exec(command) ?? [];
    if (script !== undefined) expect(Object.keys(scripts)).toContain(script);
    const [, path] = /^(\.[\w./-]+)/.exec(command) ?? [];
    if (path !== undefined) expect(existsSync(join(root, path)), path).toBe(true);
  }
});

test("the toolchain and the oldest Node of the workflows are those of the project", () => {
  const text = readFileSync(join(folder, "ci.yml"), "utf8");
  const { engines } = JSON.parse(readFileSync(join(root, "packages/brooklet/package.json"), "utf8")) as {
    engines: { node: string };
  };
  const [, oldest] = />=(\d+)/.exec(engines.node) ?? [];
  expect(text).toContain(`node: [${oldest},`);
});
