/** Every template is made by `init`, compiled by its own settings, and run. */
import { execFile, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { runCommandLine } from "../src/command/program.ts";
import { TEMPLATE_NAMES } from "../src/command/project/init.ts";

const run = promisify(execFile);
const MODULES = fileURLToPath(new URL("../../../node_modules", import.meta.url));

interface Ran {
  readonly code: number;
  readonly printed: readonly string[];
  readonly warned: string;
}

async function init(words: readonly string[], typed?: string): Promise<Ran> {
  const [printed, warned]: [string[], string[]] = [[], []];
  async function* input(): AsyncGenerator<Uint8Array> {
    if (typed !== undefined) yield new TextEncoder().encode(typed);
  }
  const code = await runCommandLine(["init", ...words], {
    print: (line) => printed.push(line),
    warn: (line) => warned.push(line),
    progress: () => undefined,
    input: input(),
    isAnswered: typed !== undefined,
    untilEnded: () => Promise.resolve(),
  });
  return { code, printed, warned: warned.join("\n") };
}

/** A folder whose programs find the packages of this repository. */
function place(): string {
  const folder = mkdtempSync(join(tmpdir(), "brooklet-init-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  symlinkSync(MODULES, join(folder, "node_modules"));
  return folder;
}

async function made(template: string): Promise<string> {
  const folder = join(place(), "Mine");
  const { code, printed } = await init([folder, "--template", template, "--json"]);
  expect([code, JSON.parse(printed.join(""))]).toMatchObject([0, { folder, template }]);
  expect(readFileSync(join(folder, ".gitignore"), "utf8")).toContain("node_modules/");
  const { name, dependencies } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  expect([name, dependencies.brooklet]).toEqual(["mine", "0.1.0"]);
  const told = await run(process.execPath, [join(MODULES, "typescript/bin/tsc")], { cwd: folder }).catch(
    (error: { readonly stdout: string }) => error,
  );
  expect(told.stdout).toBe("");
  return folder;
}

const PRINTED: Readonly<Record<string, string>> = {
  node: "n1 Rent\nhome 1, money 1\n",
  mail: "m1 * Invoice for October\nm2   Invoices of the year\nshop@example.com 1, tax@example.com 1\n2 unread\n",
  "chat-memory": "What you know of the user:\nMy sister Lea lives in Basel.\n[]\n",
};

test.each(Object.entries(PRINTED))("%s runs, and runs again", async (template, printed) => {
  const folder = await made(template);
  for (let turn = 0; turn < 2; turn += 1)
    expect((await run(process.execPath, ["dist/main.js"], { cwd: folder })).stdout).toBe(printed);
});

test("hono answers each user of their own notes", async () => {
  const folder = await made("hono");
  const port = await freePort();
  const child = spawn(process.execPath, ["dist/main.js"], {
    cwd: folder,
    env: { ...process.env, PORT: String(port) },
    stdio: ["ignore", "pipe", "inherit"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  await new Promise((resolve) => child.stdout.once("data", resolve));
  const ask = async (method: string, path: string, token?: string, body?: object): Promise<[number, unknown]> => {
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, {
      method,
      headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return [answer.status, await answer.json()];
  };
  expect((await ask("GET", "/search?q=rent"))[0]).toBe(401);
  expect(await ask("PUT", "/notes/n1", "alice-token", { title: "Rent", body: "Paid" })).toEqual([200, { id: "n1" }]);
  expect(await ask("GET", "/search?q=rent", "alice-token")).toMatchObject([
    200,
    { totalCount: 1, hits: [{ id: "n1" }] },
  ]);
  expect(await ask("GET", "/search?q=rent", "bob-token")).toMatchObject([200, { totalCount: 0, hits: [] }]);
  const ended = new Promise((resolve) => child.once("exit", resolve));
  child.kill("SIGTERM");
  expect(await ended).toBe(0);
});

test("all templates are run here", () => {
  expect([...Object.keys(PRINTED), "hono"].sort()).toEqual([...TEMPLATE_NAMES].sort());
});

test("what is not said is asked, where somebody is there to answer", async () => {
  const folder = join(place(), "asked");
  const ran = await init([], `${folder}\nmail\n`);
  expect(ran).toMatchObject({ code: 0, warned: expect.stringContaining("chat-memory") });
  expect(readFileSync(join(folder, "src/schema.ts"), "utf8")).toContain('schema("mail"');
});

test("what cannot be made changes nothing", async () => {
  const folder = place();
  expect(await init([folder, "--yes"])).toMatchObject({ code: 2, warned: expect.stringContaining("is not empty") });
  expect(await init([join(folder, "x"), "--template", "none"])).toMatchObject({
    code: 2,
    warned: expect.stringContaining("Allowed choices are node, hono, mail, chat-memory"),
  });
});

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const probe = createServer().listen(0, "127.0.0.1", () => {
      const address = probe.address();
      const port = typeof address === "object" && address !== null ? address.port : 0;
      probe.close(() => resolve(port));
    });
  });
}
