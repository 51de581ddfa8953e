/** `dev` serves schemas while they are written. */
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { applicationFiles } from "@brooklet/client";
import { expect, onTestFinished, test } from "vitest";
import { runCommandLine } from "../src/command/program.ts";
import { schema, text } from "../src/index.ts";

function place(): string {
  const folder = mkdtempSync(join(tmpdir(), "brooklet-dev-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  symlinkSync(fileURLToPath(new URL("../../../node_modules", import.meta.url)), join(folder, "node_modules"));
  return folder;
}

/** Says what is printed and warned, line by line, as it comes. */
class Lines {
  readonly #all: string[] = [];
  #wake: () => void = () => undefined;

  take(line: string): void {
    this.#all.push(line);
    this.#wake();
  }

  /** What the first line that is not taken yet and matches says in its brackets. */
  async next(pattern: RegExp): Promise<string> {
    for (;;) {
      const at = this.#all.findIndex((line) => pattern.test(line));
      if (at >= 0) {
        const [line = ""] = this.#all.splice(0, at + 1).slice(-1);
        return pattern.exec(line)?.[1] ?? line;
      }
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }
}

/** Runs until the work is done. */
async function dev(words: readonly string[], work: (lines: Lines) => Promise<void>): Promise<number> {
  const lines = new Lines();
  let over: () => void = () => undefined;
  const ended = new Promise<void>((resolve) => {
    over = resolve;
  });
  const code = runCommandLine(["dev", ...words, "--port", "0"], {
    print: (line) => lines.take(line),
    warn: (line) => lines.take(line),
    progress: () => undefined,
    input: (async function* () {})(),
    untilEnded: () => ended,
  });
  await Promise.race([work(lines), code]);
  over();
  return await code;
}

const moduleOf = (fields: string): string =>
  `import { schema, string, text } from "brooklet"; export const note = schema("note", { ${fields} });`;

const put = async (url: string, fields: object): Promise<number> =>
  (await fetch(`${url}/document/v1/note/note/group/a/1`, { method: "POST", body: JSON.stringify({ fields }) })).status;

test("a module is deployed, again when it changes, and not when it is wrong", async () => {
  const file = join(place(), "schema.mjs");
  writeFileSync(file, moduleOf("title: text()"));
  const code = await dev([file], async (lines) => {
    const url = await lines.next(/^Listening on (\S+) \(documents are in memory/);
    const page = await lines.next(/^The console is at (\S+)/);
    expect(await (await fetch(page)).text()).toContain("<title>");
    expect(await put(url, { title: "one" })).toBe(200);
    expect(await put(url, { colour: "red" })).toBe(400);
    writeFileSync(file, moduleOf("title: text(), colour: string()"));
    await lines.next(/^Serving note/);
    expect(await put(url, { colour: "red" })).toBe(200);
    writeFileSync(file, moduleOf("title: "));
    await lines.next(/^Not deployed: .*schema\.mjs cannot be loaded/);
    expect(await put(url, { colour: "blue" })).toBe(200);
  });
  expect(code).toBe(0);
});

test("an application package is deployed, and again when it changes", async () => {
  const folder = join(place(), "app");
  const write = (fields: Parameters<typeof schema>[1]): void => {
    for (const [path, content] of applicationFiles([schema("note", fields)])) {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), content);
    }
  };
  write({ title: text() });
  const code = await dev([folder], async (lines) => {
    const url = await lines.next(/^Listening on (\S+)/);
    expect(await put(url, { colour: "red" })).toBe(400);
    write({ title: text(), colour: text() });
    await lines.next(/^Serving note/);
    expect(await put(url, { colour: "red" })).toBe(200);
  });
  expect(code).toBe(0);
});

test("what is no schema is said", async () => {
  const folder = place();
  const file = join(folder, "schema.mjs");
  writeFileSync(file, "export const note = 1;");
  expect(await dev([file], async (lines) => void (await lines.next(/exports no schema/)))).toBe(2);
  expect(await dev([join(folder, "none")], async (lines) => void (await lines.next(/is not there/)))).toBe(2);
});
