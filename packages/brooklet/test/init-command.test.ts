/**
 * Every template is made by `init`, compiled by its own settings, and run; that of Next.js is built and run where it is installed from tarballs
 * (tools/release/create.test.ts).
 */
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { TEMPLATES } from "create-brooklet";
import { expect, onTestFinished, test } from "vitest";
import { freePort } from "../../../tools/free-port.mjs";
import manifest from "../package.json" with { type: "json" };
import { runCommandLine } from "../src/command/program.ts";

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
  expect([name, dependencies.brooklet]).toEqual(["mine", manifest.version]);
  const told = await run(process.execPath, [join(MODULES, "tsc/bin/tsc")], { cwd: folder }).catch(
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
  const server = await started(folder, ["dist/main.js"], /(http:\S+)/, { PORT: String(port) });
  await answersUsers(server.url);
  server.child.kill("SIGTERM");
  expect(await server.ended).toBe(0);
});

test("worker answers each user of their own notes, each from an object of their own", async () => {
  const folder = await made("worker");
  const words = [
    "dev",
    "--ip",
    "127.0.0.1",
    "--port",
    "0",
    "--inspector-port",
    "0",
    "--show-interactive-dev-session",
    "false",
  ];
  const environment = { WRANGLER_SEND_METRICS: "false", CLOUDFLARE_CF_FETCH_ENABLED: "false", NO_COLOR: "1" };
  const server = await started(
    folder,
    [join(MODULES, "wrangler/bin/wrangler.js"), ...words],
    /Ready on (http:\S+)/,
    environment,
  );
  await answersUsers(server.url);
  expect((await fetch(`${server.url}/none`, { headers: { authorization: "Bearer bob-token" } })).status).toBe(404);
  server.child.kill("SIGTERM");
  await server.ended;
});

test("next is compiled by its own settings", () => made("next"));

interface Started {
  readonly child: ChildProcess;
  readonly url: string;
  readonly ended: Promise<unknown>;
}

/** Starts a server in a folder; where it says that it is. */
async function started(
  folder: string,
  words: readonly string[],
  says: RegExp,
  more: NodeJS.ProcessEnv,
): Promise<Started> {
  const env = { ...process.env, ...more };
  const child = spawn(process.execPath, words, { cwd: folder, env, stdio: ["ignore", "pipe", "pipe"], detached: true });
  // What it has started too: a workerd whose wrangler was killed never ends, and takes half of a processor.
  onTestFinished(() => {
    if (child.exitCode === null && child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
  });
  const ended = new Promise((resolve) => child.once("exit", resolve));
  let said = "";
  const url = await new Promise<string>((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr])
      stream.on("data", (text) => {
        said += String(text);
        const found = says.exec(said)?.[1];
        if (found !== undefined) resolve(found);
      });
    void ended.then((code) => reject(new Error(`it ended with ${code}: ${said}`)));
  });
  return { child, url, ended };
}

/** Asks a server of notes as two users, and as nobody. */
async function answersUsers(url: string): Promise<void> {
  const ask = async (method: string, path: string, token?: string, body?: unknown): Promise<[number, unknown]> => {
    const answer = await fetch(`${url}${path}`, {
      method,
      headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
      ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
    });
    return [answer.status, await answer.json()];
  };
  // What every object has is no session.
  for (const token of [undefined, "none", "constructor", "toString", "__proto__"])
    expect([token, (await ask("GET", "/search?q=rent", token))[0]]).toEqual([token, 401]);
  expect(await ask("PUT", "/notes/n1", "alice-token", { title: "Rent", body: "Paid" })).toEqual([200, { id: "n1" }]);
  // What a caller got wrong is told to them.
  for (const [wrong, message] of [
    ["{", /JSON/],
    [null, /title/],
    [{ title: 7, body: "Paid" }, /title/],
    [{ title: "Rent", body: "Paid", tags: "home" }, /tags/],
  ] as const)
    expect(await ask("PUT", "/notes/n2", "alice-token", wrong)).toEqual([
      400,
      { message: expect.stringMatching(message) },
    ]);
  // More than any document may have.
  const large = { title: "Rent", body: "Paid ".repeat(1 << 20) };
  expect((await ask("PUT", "/notes/n2", "alice-token", large))[0]).toBe(413);
  const [status, told] = await ask("GET", `/search?q=${"word+".repeat(2_000)}`, "alice-token");
  expect([status, told]).toEqual([400, { message: expect.stringContaining("1024 terms") }]);
  expect(await ask("GET", "/search?q=rent", "alice-token")).toMatchObject([
    200,
    { totalCount: 1, hits: [{ id: "n1" }] },
  ]);
  expect(await ask("GET", "/search?q=rent", "bob-token")).toMatchObject([200, { totalCount: 0, hits: [] }]);
}

test("all templates are run here", () => {
  expect([...Object.keys(PRINTED), "hono", "worker", "next"].sort()).toEqual(Object.keys(TEMPLATES).sort());
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
    warned: expect.stringContaining("Allowed choices are node, hono, next, worker, mail, chat-memory"),
  });
});
