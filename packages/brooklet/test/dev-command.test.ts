/** `dev` serves schemas while they are written. */
import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, watch, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { applicationFiles } from "@brooklet/client/application";
import { expect, onTestFinished, test } from "vitest";
import { runCommandLine } from "../src/command/program.ts";
import { openAddress, openerOf } from "../src/command/project/opener.ts";
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
async function dev(
  words: readonly string[],
  work: (lines: Lines) => Promise<void>,
  show?: (address: string) => void,
): Promise<number> {
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
    ...(show === undefined ? {} : { show }),
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

test("a Node that reads no TypeScript says what to run instead, and of other files what they are", () => {
  const folder = place();
  const flag = "--no-experimental-strip-types";
  const flags = process.allowedNodeEnvironmentFlags.has(flag) ? [flag] : [];
  const command = fileURLToPath(new URL("../bin/brooklet.js", import.meta.url));
  const said = (name: string): string => {
    writeFileSync(join(folder, name), moduleOf("title: text()"));
    const words = [...flags, command, "dev", name, "--port", "0", "--no-open"];
    const { status, stderr } = spawnSync(process.execPath, words, { cwd: folder, encoding: "utf8" });
    expect(status).toBe(2);
    expect(stderr).toMatch(/ cannot be loaded: Unknown file extension/);
    return stderr;
  };
  expect(said("schema.ts")).toContain(
    "Node reads TypeScript from 22.18 on; before that name what is compiled of it (brooklet dev dist/schema.js), or run npx tsx node_modules/brooklet/bin/brooklet.js dev",
  );
  expect(said("schema.toml")).not.toContain("TypeScript");
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

test.each([
  ["is shown", [], 1],
  ["is not shown where that is said", ["--no-open"], 0],
] as const)("the console %s", async (_, words, times) => {
  const file = join(place(), "schema.mjs");
  writeFileSync(file, moduleOf("title: text()"));
  const shown: string[] = [];
  let page = "";
  const code = await dev(
    [file, ...words],
    async (lines) => {
      page = await lines.next(/^The console is at (\S+)/);
      // What comes after it in the same turn has come, too.
      await new Promise(setImmediate);
    },
    (address) => shown.push(address),
  );
  expect([code, shown]).toEqual([0, Array.from({ length: times }, () => page)]);
});

test("an address is opened by what the platform has, and not where nobody sits", () => {
  expect(openerOf("darwin", {})).toEqual(["open"]);
  expect(openerOf("win32", {})).toEqual(["rundll32", "url.dll,FileProtocolHandler"]);
  expect(openerOf("linux", { WAYLAND_DISPLAY: "wayland-0" })).toEqual(["xdg-open"]);
  expect(openerOf("linux", {})).toBeUndefined();
  for (const away of [{ CI: "true" }, { SSH_CONNECTION: "10.0.0.1 1 10.0.0.2 22" }])
    expect(openerOf("darwin", away)).toBeUndefined();
});

test.runIf(process.platform === "linux")("the platform's opener is given the address", async () => {
  const folder = place();
  const program = join(folder, "xdg-open");
  // What is written elsewhere and put in place is there whole, or not at all.
  writeFileSync(program, '#!/bin/sh\nprintf %s "$1" > "$0.part" && mv "$0.part" "$0.address"\n');
  chmodSync(program, 0o755);
  const before = { ...process.env };
  onTestFinished(() => {
    process.env = before;
  });
  const opened = new Promise<void>((resolve) => {
    const watcher = watch(folder, (_, name) => {
      if (name !== "xdg-open.address") return;
      watcher.close();
      resolve();
    });
  });
  const { CI: _, SSH_CONNECTION: __, ...environment } = before;
  process.env = { ...environment, DISPLAY: ":0", PATH: `${folder}:${before["PATH"]}` };
  openAddress("http://127.0.0.1:1/console/?a=1&b=2");
  await opened;
  expect(readFileSync(`${program}.address`, "utf8")).toBe("http://127.0.0.1:1/console/?a=1&b=2");
  process.env = { ...process.env, PATH: join(folder, "none") };
  // There is none: nothing is said, and nothing thrown.
  openAddress("http://127.0.0.1:1/");
});
