/** Serves the built site: `node apps/site/serve.mjs`. Any server of files does. */
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { extname, resolve, sep } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";

const TYPES = {
  ".html": "text/html; charset=utf-8",
  ".css": "text/css",
  ".js": "text/javascript",
  ".wasm": "application/wasm",
  ".txt": "text/plain; charset=utf-8",
  ".svg": "image/svg+xml",
  ".json": "application/json",
  ".woff2": "font/woff2",
  ".png": "image/png",
  ".webp": "image/webp",
};
const PORT = 8086;

/** A server of the files of a folder. */
export function serveSite(folder) {
  return createServer((request, response) => {
    const { pathname } = new URL(request.url ?? "/", "http://localhost");
    const file = resolve(folder, `.${pathname.endsWith("/") ? `${pathname}index.html` : pathname}`);
    try {
      if (!file.startsWith(folder + sep)) throw new Error("outside of the folder");
      const bytes = readFileSync(file);
      response.setHeader("content-type", TYPES[extname(file)] ?? "application/octet-stream");
      response.end(bytes);
    } catch {
      response.statusCode = 404;
      response.end();
    }
  });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  serveSite(fileURLToPath(new URL("dist", import.meta.url))).listen(PORT, "127.0.0.1", () => {
    console.log(`http://localhost:${PORT}`);
  });
}
