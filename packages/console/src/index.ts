/**
 * The console: a page over the public interfaces of a server. It is files and nothing else; what is shown the page asks the
 * server that it came from, with the key or token that whoever looks at it has.
 */
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { Hono } from "hono/tiny";

/** A file of the page, with the headers it is sent with. */
export interface ConsoleFile {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Nothing is loaded from elsewhere, no script stands in the page, no other page frames it, and it asks its own server alone. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

const TYPES: ReadonlyMap<string, string> = new Map([
  ["index.html", "text/html; charset=utf-8"],
  ["console.mjs", "text/javascript; charset=utf-8"],
  ["console.css", "text/css; charset=utf-8"],
  ["licences.txt", "text/plain; charset=utf-8"],
]);

const files = new Map<string, ConsoleFile>();
let folder: string | undefined;

/**
 * Where the files of the page are: beside this script, or, where it stands in a bundle, in the installed package. What esbuild bundles as CommonJS
 * has no address of a module; that of webpack is where this script was then, and the bundle may run elsewhere, where the program knows what there is.
 */
function folderOfPage(): string {
  const address = import.meta.url === undefined ? __filename : fileURLToPath(import.meta.url);
  const own = import.meta.filename ?? address;
  const beside = join(dirname(own), "page");
  if (existsSync(join(beside, "index.html"))) return beside;
  // Taken so that no bundler looks for what is found when it runs.
  const { createRequire } = process.getBuiltinModule("node:module");
  for (const from of [own, address, process.argv[1] ?? own]) {
    const ways = [() => createRequire(from), () => createRequire(createRequire(from).resolve("brooklet"))];
    for (const way of ways) {
      try {
        return join(dirname(way().resolve("@brooklet/console/package.json")), "dist", "page");
      } catch {
        // The next way may find it.
      }
    }
  }
  throw new Error("The page of the console is not there: keep @brooklet/console installed beside the bundle");
}

/**
 * The file of a name below the console's own path, as `""` or `"console.css"`; nothing: there is none.
 *
 * @example
 * ```ts
 * consoleFile("")?.headers["content-type"]; // text/html; charset=utf-8
 * ```
 */
export function consoleFile(name: string): ConsoleFile | undefined {
  const file = name === "" ? "index.html" : name;
  const type = TYPES.get(file);
  if (type === undefined) return undefined;
  const known = files.get(file);
  if (known !== undefined) return known;
  folder ??= folderOfPage();
  const read = {
    headers: { "content-type": type, "content-security-policy": POLICY, "referrer-policy": "no-referrer" },
    body: readFileSync(join(folder, file), "utf8"),
  };
  files.set(file, read);
  return read;
}

/**
 * The console as an application of Hono, to be mounted at a path beside a gateway: it asks the interfaces at the root of the
 * origin it came from.
 *
 * @example
 * ```ts
 * app.route("/console", consoleApp());
 * ```
 */
export function consoleApp(): Hono {
  const app = new Hono();
  app.get("/:name?", (context) => {
    const name = context.req.param("name");
    const { pathname } = new URL(context.req.url);
    // Addresses in the page are relative: they need the slash.
    if (name === undefined && !pathname.endsWith("/")) return context.redirect(`${pathname}/`);
    const file = consoleFile(name ?? "");
    if (file === undefined) return context.notFound();
    return context.body(file.body, 200, {
      ...file.headers,
      "cache-control": "no-store",
      "x-content-type-options": "nosniff",
    });
  });
  return app;
}
