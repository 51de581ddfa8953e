/** A site for tests: a page, bundled as an application would be, served from this machine. */
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { createRequire } from "node:module";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, extname, join, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript",
  ".wasm": "application/wasm",
};
const require: NodeJS.Require = createRequire(import.meta.url);
const HERE: string = dirname(fileURLToPath(import.meta.url));

/** A site that runs. */
export interface Site {
  readonly url: string;
  close(): void;
}

/** Bundles the page and its worker, and serves them. */
export async function openSite(): Promise<Site> {
  const folder = mkdtempSync(join(tmpdir(), "brooklet-site-"));
  await build({
    entryPoints: { page: join(HERE, "page.ts"), "browser-worker": require.resolve("brooklet/browser-worker") },
    outdir: join(folder, "app"),
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "browser",
    target: "es2022",
    logLevel: "error",
  });
  // Where a bundler that knows no `new URL` leaves these to be put.
  mkdirSync(join(folder, "wasm"));
  copyFileSync(require.resolve("@brooklet/core/core.wasm"), join(folder, "wasm/core_bg.wasm"));
  copyFileSync(require.resolve("@sqlite.org/sqlite-wasm/sqlite3.wasm"), join(folder, "app/sqlite3.wasm"));
  writeFileSync(
    join(folder, "index.html"),
    '<!doctype html><title>page</title><script type="module" src="/app/page.js"></script>',
  );
  const server = serveFolder(folder);
  const close = (): void => {
    server.close();
    server.closeAllConnections();
    rmSync(folder, { recursive: true, force: true });
  };
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, close };
}

function serveFolder(folder: string): Server {
  return createServer((request, response) => {
    const { pathname } = new URL(request.url ?? "/", "http://localhost");
    const file = resolve(folder, `.${pathname === "/" ? "/index.html" : pathname}`);
    try {
      if (!file.startsWith(folder + sep)) throw new Error("outside");
      const bytes = readFileSync(file);
      response.setHeader("content-type", TYPES[extname(file)] ?? "application/octet-stream");
      response.end(bytes);
    } catch {
      response.statusCode = 404;
      response.end();
    }
  });
}
