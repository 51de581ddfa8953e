/** Places where nothing can be made: Linux' /proc has no such name and takes none, so that Node's own mkdir never ends. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, onTestFinished, test } from "vitest";
import { open, schema, text } from "../src/index.ts";

const CLI = fileURLToPath(new URL("../dist/cli.js", import.meta.url));

/** What the command says; nothing where it does not end. */
function said(...words: readonly string[]): readonly [number | null, string] {
  const { status, stderr } = spawnSync(process.execPath, [CLI, ...words], { encoding: "utf8", timeout: 100_000 });
  return [status, stderr];
}

function home(): string {
  const folder = mkdtempSync(join(tmpdir(), "brooklet-impossible-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}

describe.skipIf(process.platform !== "linux")("in /proc", () => {
  const place = "/proc/none/of/this";
  const sentence = "no directory can be made there";

  test.each([
    ["serve", "--port", "0", "--data", place],
    ["export", "--to", "vespa", "--url", "http://127.0.0.1:1", place],
    ["init", place],
    ["model", "pull", "http://127.0.0.1:1/a", "--model-cache", place],
  ])("brooklet %s ends", (...words) => {
    expect(said(...words)).toEqual([1, expect.stringContaining(sentence)]);
  });

  test("brooklet backup and restore end", async () => {
    const [data, target] = [join(home(), "data"), home()];
    const database = await open({ path: data, schemas: [schema("note", { title: text() })] });
    await database.close();
    expect(said("backup", data, place)).toEqual([1, expect.stringContaining(sentence)]);
    expect(said("backup", data, target)[0]).toBe(0);
    expect(said("restore", target, place)).toEqual([1, expect.stringContaining(sentence)]);
  });
});

test("a file, a link to nothing and a name that is too long", () => {
  const folder = home();
  const [file, link] = [join(folder, "file"), join(folder, "link")];
  writeFileSync(file, "");
  symlinkSync(join(folder, "nowhere", "at", "all"), link);
  const sentences = new Map([
    [file, "is no directory"],
    [join(file, "in"), "is no directory"],
    [link, "something else is there"],
    [join(folder, "n".repeat(5_000)), "its name is too long"],
  ]);
  for (const [place, sentence] of sentences)
    expect(said("serve", "--port", "0", "--data", place)).toEqual([1, expect.stringContaining(sentence)]);
});
