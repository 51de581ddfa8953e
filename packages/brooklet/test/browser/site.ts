/** A site for tests: a page, bundled as an application would be, served from this machine. */
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { createRequire } from "node:module";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, extname, join, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build, type Metafile } from "esbuild";
import { build as vite } from "vite";

const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript",
  ".wasm": "application/wasm",
};
const require: NodeJS.Require = createRequire(import.meta.url);
const HERE: string = dirname(fileURLToPath(import.meta.url));

/** Makes the files of a site in an empty folder. */
export type Bundler = (folder: string) => Promise<void>;

/** A site that runs. */
export interface Site {
  readonly url: string;
  /** What was asked for and is not there. */
  readonly missing: readonly string[];
  close(): void;
}

/** Kilobytes, compressed, of what is loaded for a database in a page. */
export interface Weight {
  /** What a page loads to open it, by itself. */
  page: number;
  /** What the worker loads: all scripts but what is fetched when it is asked for. */
  worker: number;
  sqlite: number;
  core: number;
}

const SQLITE: string = require.resolve("@sqlite.org/sqlite-wasm/sqlite3.wasm");
const CORE: string = require.resolve("@brooklet/core/core.wasm");

/** What bundlers that know no `new URL` leave to be put beside the scripts. */
export function withEsbuild(folder: string): Promise<void> {
  return putTogether(folder, "page.ts");
}

/** The same with the page that conversations are held in. */
export function forConversations(folder: string): Promise<void> {
  return putTogether(folder, "conversations.ts");
}

async function putTogether(folder: string, script: string): Promise<void> {
  await bundle(folder, script);
  mkdirSync(join(folder, "wasm"));
  copyFileSync(CORE, join(folder, "wasm/core_bg.wasm"));
  copyFileSync(SQLITE, join(folder, "app/sqlite3.wasm"));
  const page = readFileSync(join(HERE, "index.html"), "utf8").replace("./page.ts", "/app/page.js");
  writeFileSync(join(folder, "index.html"), page);
}

/** As it is without any configuration. */
export async function withVite(folder: string): Promise<void> {
  const target = "es2022";
  await vite({
    root: HERE,
    configFile: false,
    logLevel: "error",
    build: { outDir: folder, emptyOutDir: true, target },
  });
}

/** What a page and its worker weigh, as esbuild makes them. */
export async function weigh(folder: string): Promise<Weight> {
  const { outputs } = await bundle(folder, "page.ts");
  const kilobytes = (path: string): number => gzipSync(readFileSync(path), { level: 9 }).length / 1_000;
  const loaded = (entry: string): number => {
    const files = new Set<string>();
    const load = (file: string): void => {
      if (files.has(file)) return;
      files.add(file);
      for (const { path, kind } of outputs[file]?.imports ?? []) if (kind === "import-statement") load(path);
    };
    load(`app/${entry}.js`);
    return [...files].reduce((sum, file) => sum + kilobytes(join(folder, file)), 0);
  };
  return { page: loaded("page"), worker: loaded("browser-worker"), sqlite: kilobytes(SQLITE), core: kilobytes(CORE) };
}

async function bundle(folder: string, script: string): Promise<Metafile> {
  const { metafile } = await build({
    absWorkingDir: folder,
    entryPoints: { page: join(HERE, script), "browser-worker": require.resolve("brooklet/browser-worker") },
    outdir: "app",
    bundle: true,
    splitting: true,
    minify: true,
    metafile: true,
    format: "esm",
    platform: "browser",
    target: "es2022",
    logLevel: "error",
  });
  return metafile;
}

/** A folder of its own for what is built. */
export function siteFolder(): string {
  return realpathSync(mkdtempSync(join(tmpdir(), "brooklet-site-")));
}

/** Builds the page and its worker, and serves them, with these headers. */
export async function openSite(make: Bundler, headers: Readonly<Record<string, string>> = {}): Promise<Site> {
  const folder = siteFolder();
  await make(folder);
  const missing: string[] = [];
  const server = serveFolder(folder, headers, missing);
  const close = (): void => {
    server.close();
    server.closeAllConnections();
    rmSync(folder, { recursive: true, force: true });
  };
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, missing, close };
}

function serveFolder(folder: string, headers: Readonly<Record<string, string>>, missing: string[]): Server {
  return createServer((request, response) => {
    const { pathname } = new URL(request.url ?? "/", "http://localhost");
    const file = resolve(folder, `.${pathname === "/" ? "/index.html" : pathname}`);
    response.setHeaders(new Map(Object.entries(headers)));
    try {
      if (!file.startsWith(folder + sep)) throw new Error("outside");
      const bytes = readFileSync(file);
      response.setHeader("content-type", TYPES[extname(file)] ?? "application/octet-stream");
      response.end(bytes);
    } catch {
      missing.push(pathname);
      response.statusCode = 404;
      response.end();
    }
  });
}
