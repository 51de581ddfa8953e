/** The database of the template for Next.js, where a module is loaded anew as `next dev` does it: with its change, and after a failure. */
import { execFileSync } from "node:child_process";
import { cpSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { expect, test } from "vitest";
import { folder } from "./served.ts";

const TEMPLATE = fileURLToPath(new URL("../../create-brooklet/templates/next/src", import.meta.url));
const MODULES = fileURLToPath(new URL("../../../node_modules", import.meta.url));

/** Makes a script of the module as it is with a schema. */
async function load(place: string, name: string, added: string): Promise<void> {
  const source = join(place, name);
  for (const file of ["database.ts", "schema.ts"]) cpSync(join(TEMPLATE, file), join(source, file));
  const schema = readFileSync(join(TEMPLATE, "schema.ts"), "utf8");
  const changed = schema.replace("title: text(),", `title: text(),${added}`);
  writeFileSync(join(source, "schema.ts"), changed);
  const contents = 'export { database } from "./database"; export { note } from "./schema";';
  await build({
    stdin: { contents, resolveDir: source, loader: "ts" },
    bundle: true,
    format: "esm",
    external: ["brooklet"],
    outfile: join(place, `${name}.mjs`),
  });
}

test("what is loaded anew deploys what was changed, and a failure is tried again", async () => {
  const place = folder();
  symlinkSync(MODULES, join(place, "node_modules"));
  await load(place, "first", "");
  await load(place, "second", " color: string(),");
  writeFileSync(join(place, "data"), "");
  const script = `import { rmSync } from "node:fs";
    import * as first from "./first.mjs";
    const told = [await first.database().catch(({ code }) => code)];
    rmSync("data");
    const fields = { title: "t", body: "b", tags: [], writtenAt: new Date(0) };
    await (await first.database()).group("alice").put(first.note, "1", fields);
    const second = await import("./second.mjs");
    const alice = (await second.database()).group("alice");
    await alice.put(second.note, "2", { ...fields, color: "red" });
    told.push((await alice.get(second.note, "2")).color, (await alice.get(second.note, "1")).title);
    console.log(JSON.stringify(told));
    process.exit();`;
  const words = ["--input-type=module", "--eval", script];
  expect(JSON.parse(execFileSync(process.execPath, words, { cwd: place }).toString())).toEqual([
    expect.stringMatching(/^[A-Z_]+$/),
    "red",
    "t",
  ]);
});
