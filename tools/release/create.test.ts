/**
 * `npm create brooklet`, as a stranger types it: in an empty folder, with a registry of this machine that has the packed `create-brooklet` and
 * nothing else. What is made is installed from the tarballs and started: a program, and an application of Next.js, built by Turbopack.
 */
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import process from "node:process";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, inject, onTestFinished, test } from "vitest";
import { addSqliteBinary, npm } from "./install.ts";

const run = promisify(execFile);
const tarballs = inject("tarballs");
const folder = join(inject("scratch"), "created");
const IS_WINDOWS = process.platform === "win32";
const NPM = IS_WINDOWS ? "npm.cmd" : "npm";
const PRINTED = "n1 Rent\nhome 1, money 1\n";
let registry: Server;

beforeAll(async () => {
  mkdirSync(folder);
  registry = await serveRegistry();
});

afterAll(() => {
  registry?.close();
  registry?.closeAllConnections();
});

/** A registry with one package, as npm asks it: what versions there are, and their files. */
async function serveRegistry(): Promise<Server> {
  const packed = tarballs.find(({ name }) => name === "create-brooklet");
  if (packed === undefined) throw new Error("create-brooklet is not packed");
  const { manifest } = packed;
  const bytes = readFileSync(packed.path);
  const server = createServer(({ url = "" }, response) => {
    const { port } = server.address() as AddressInfo;
    if (url === "/create-brooklet.tgz") return response.end(bytes);
    if (url !== "/create-brooklet") return response.writeHead(404).end("{}");
    const integrity = `sha512-${createHash("sha512").update(bytes).digest("base64")}`;
    const dist = { tarball: `http://127.0.0.1:${port}/create-brooklet.tgz`, integrity };
    const versions = { [manifest.version]: { ...manifest, dist } };
    response.setHeader("content-type", "application/json");
    return response.end(JSON.stringify({ name: manifest.name, "dist-tags": { latest: manifest.version }, versions }));
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  return server;
}

/** What `npm create brooklet` prints. */
async function create(...words: readonly string[]): Promise<string> {
  const { port } = registry.address() as AddressInfo;
  const env = {
    ...process.env,
    npm_config_registry: `http://127.0.0.1:${port}/`,
    npm_config_cache: join(inject("scratch"), "created-cache"),
    npm_config_yes: "true",
  };
  return (await run(NPM, ["create", "brooklet", ...words], { cwd: folder, env, shell: IS_WINDOWS })).stdout;
}

/** Installs a project, with what was packed in place of what its manifest names. */
function install(project: string): void {
  const paths = tarballs.map(({ path }) => path);
  npm(project, "install", "--ignore-scripts", "--prefer-offline", "--no-audit", "--no-fund", ...paths);
  addSqliteBinary(join(project, "node_modules/better-sqlite3"));
}

describe("npm create brooklet", () => {
  test("makes a program that is installed and started", async () => {
    expect(await create("my-notes")).toContain("  cd my-notes\n  npm install\n  npm start\n");
    const project = join(folder, "my-notes");
    install(project);
    const { stdout } = await run(NPM, ["start", "--silent"], { cwd: project, shell: IS_WINDOWS });
    expect(stdout).toBe(PRINTED);
  });

  test("makes an application of Next.js, whose pages and routes have the notes of whoever asks", async () => {
    await create("my-app", "--", "--template", "next");
    const project = join(folder, "my-app");
    install(project);
    const url = await startNext(project);
    const ask = async (path: string, session: string, init: RequestInit = {}): Promise<Response> =>
      await fetch(`${url}${path}`, { ...init, headers: { cookie: `session=${session}` } });
    for (const session of ["nobody", "constructor"]) expect((await ask("/search?q=rent", session)).status).toBe(401);
    expect(await (await ask("/", "nobody")).text()).toContain("Who are you?");
    const body = JSON.stringify({ title: "Rent", body: "Paid for October" });
    expect(await (await ask("/notes/n1", "alice-token", { method: "PUT", body })).json()).toEqual({ id: "n1" });
    expect(await (await ask("/search?q=rent", "alice-token")).json()).toMatchObject({ hits: [{ id: "n1" }] });
    expect(await (await ask("/?q=rent", "alice-token")).text()).toContain("Paid for October");
    expect(await (await ask("/?q=rent", "bob-token")).text()).not.toContain("Paid for October");
    expect(await (await ask("/search?q=rent", "bob-token")).json()).toEqual({ totalCount: 0, hits: [] });
    // What a caller got wrong is told to them.
    expect((await ask(`/search?q=${"word+".repeat(2_000)}`, "alice-token")).status).toBe(400);
    const page = await ask(`/?q=${"word+".repeat(2_000)}`, "alice-token");
    expect(page.status).toBe(200);
    expect(await page.text()).toMatch(/<p role="alert">[^<]*more than \d+ terms/);
    const large = JSON.stringify({ title: "Rent", body: "Paid ".repeat(1 << 20) });
    expect((await ask("/notes/n2", "alice-token", { method: "PUT", body: large })).status).toBe(413);
  });

  test("changes nothing where something is", async () => {
    const before = readdirSync(join(folder, "my-notes"));
    await expect(create("my-notes")).rejects.toThrow("is not empty");
    expect(readdirSync(join(folder, "my-notes"))).toEqual(before);
  });
});

/** Builds and starts an application; where it says that it is. */
async function startNext(project: string): Promise<string> {
  const command = join(project, "node_modules/next/dist/bin/next");
  const env = { ...process.env, NODE_ENV: "production", NEXT_TELEMETRY_DISABLED: "1" } as const;
  // What Next.js prints is the error, if it fails.
  await run(process.execPath, [command, "build"], { cwd: project, env }).catch((error) => {
    const { stdout, stderr } = error as { readonly stdout: string; readonly stderr: string };
    throw new Error(`${stdout}${stderr}`);
  });
  const words = [command, "start", "--hostname", "127.0.0.1", "--port", "0"];
  const server = spawn(process.execPath, words, { cwd: project, env, stdio: ["ignore", "pipe", "inherit"] });
  const ended = new Promise((resolve) => server.once("exit", resolve));
  onTestFinished(async () => {
    if (server.kill("SIGKILL")) await ended;
  });
  return await addressOf(server);
}

/** Where a server says that it is. */
function addressOf(server: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let said = "";
    server.stdout?.on("data", (text) => {
      said += String(text);
      const address = /- Local:\s+(http:\/\/\S+)/.exec(said)?.[1];
      if (address !== undefined) resolve(address);
    });
    server.once("exit", (code) => reject(new Error(`Next.js ended with ${code}: ${said}`)));
  });
}
