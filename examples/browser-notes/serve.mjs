/** `npm start`: serves the built page. Any server of files does. */
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
};
const PORT = 8085;

/** A server of the files of a folder. */
export function serveSite(folder) {
  return createServer((request, response) => {
    const { pathname } = new URL(request.url ?? "/", "http://localhost");
    const file = resolve(folder, `.${pathname === "/" ? "/index.html" : pathname}`);
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
