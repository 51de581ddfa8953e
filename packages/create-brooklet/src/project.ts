/** A folder with a program that works, made of a template. Who is asked, and what is printed, is elsewhere. */
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, statSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, dirname, join, relative, resolve } from "node:path";

/** What each template is, by the name of its folder. */
export const TEMPLATES = {
  node: "a program that keeps notes and finds them",
  hono: "an HTTP API with a group for each user",
  next: "a Next.js application: a page that searches, and a route handler",
  worker: "a Cloudflare Worker, with a Durable Object for each user",
  mail: "a mailbox with facets",
  "chat-memory": "what an assistant remembers of each user",
} as const;

/** The name of a template. */
export type Template = keyof typeof TEMPLATES;

/** The template that is taken unless another is said. */
export const TEMPLATE_DEFAULT: Template = "node";
/** The folder that is made unless another is said. */
export const FOLDER_DEFAULT = "my-brooklet";

/** A folder that was made. */
export interface Project {
  /** Absolute. */
  readonly folder: string;
  readonly template: Template;
  /** From the folder, in the order of their names. */
  readonly files: readonly string[];
}

/** A folder cannot be made as it was asked for; nothing was written. */
export class ProjectError extends Error {
  override readonly name = "ProjectError";
}

/**
 * Makes a new folder of a template. Its package has the name of the folder, and takes the brooklet of this version.
 *
 * @param folder absent, or empty but for a repository
 * @throws ProjectError where there is no such template, or the folder has something in it
 * @example
 * ```ts
 * const { files } = createProject("my-notes", "hono");
 * ```
 */
export function createProject(folder: string, template: string = TEMPLATE_DEFAULT): Project {
  if (!isTemplate(template))
    throw new ProjectError(`there is no template '${template}': there are ${Object.keys(TEMPLATES).join(", ")}`);
  const target = resolve(folder);
  if (existsSync(target) && !isEmpty(target)) throw new ProjectError(`${target} is not empty: give a new folder`);
  const own = createRequire(import.meta.url).resolve("create-brooklet/package.json");
  const { version } = JSON.parse(readFileSync(own, "utf8")) as { readonly version: string };
  makeFolders(target);
  const source = join(dirname(own), "templates", template);
  cpSync(source, target, { recursive: true });
  // npm leaves files of that name out of packages.
  renameSync(join(target, "gitignore"), join(target, ".gitignore"));
  for (const file of ["package.json", "wrangler.jsonc"]) writeName(join(target, file), nameOf(target), version);
  const files = readdirSync(source, { recursive: true, encoding: "utf8", withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(source, join(entry.parentPath, entry.name)).replace(/^gitignore$/, ".gitignore"))
    .sort();
  return { folder: target, template, files };
}

function isTemplate(name: string): name is Template {
  return Object.hasOwn(TEMPLATES, name);
}

/** Whether a folder may be filled, as one that is a new repository: a file has something in it. */
function isEmpty(path: string): boolean {
  return statSync(path).isDirectory() && readdirSync(path).every((name) => name === ".git");
}

/** The name of a package in this folder, and of a Worker, which takes no dots: letters lose their accents. */
function nameOf(folder: string): string {
  const name = basename(folder)
    .normalize("NFKD")
    .replaceAll(/\p{M}/gu, "")
    .toLowerCase()
    .replaceAll(/[^a-z0-9_-]+/g, "-")
    .replaceAll(/^[_-]+|[_-]+$/g, "");
  return name || FOLDER_DEFAULT;
}

/** Writes name and version into a file of a template that has places for them. */
function writeName(file: string, name: string, version: string): void {
  if (!existsSync(file)) return;
  const text = readFileSync(file, "utf8");
  writeFileSync(
    file,
    text.replace('"template"', JSON.stringify(name)).replace('"brooklet": "*"', `"brooklet": "${version}"`),
  );
}

/** Makes a folder and those above it. Node's own way never ends where a folder takes none, as /proc does. */
function makeFolders(path: string): void {
  if (existsSync(path)) return;
  // A drive that is not there is its own parent.
  if (dirname(path) !== path) makeFolders(dirname(path));
  mkdirSync(path);
}
