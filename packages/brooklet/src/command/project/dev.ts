/** `brooklet dev`: a server for whoever writes the schemas, deployed again whenever their file changes. */
import { existsSync, statSync, watch } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { AnySchema } from "@brooklet/client";
import { connect } from "../../node/connect.ts";
import { type RunningService, serve } from "../../serve.ts";
import { explain } from "../failure.ts";
import { type Surroundings, UsageError } from "../surroundings.ts";

/** Options of the command. */
export interface DevCommand {
  /** The data directory; in memory unless it is said. */
  readonly data?: string;
  readonly port: number;
  /** Whether the console is shown in a browser, where somebody sits at a terminal. */
  readonly open: boolean;
}

/** Where schemas are looked for unless it is said, in this order. */
const USUAL = ["schema.ts", "src/schema.ts", "schema.mjs", "src/schema.mjs", "schema.js", "src/schema.js", "app"];
/** Who develops has few documents: what is slow with them is worth a look. */
const SLOW_MS = 100;
/** Editors write a file in several steps. */
const SETTLED_MS = 100;

/** Serves on the loopback address until the process is told to end. */
export async function runDev(app: string | undefined, command: DevCommand, surroundings: Surroundings): Promise<void> {
  const path = resolve(app ?? usualApp());
  if (!existsSync(path))
    throw new UsageError(`${path} is not there: give a module with schemas, or an application package`);
  const isPackage = statSync(path).isDirectory();
  const service = await serve({
    port: command.port,
    console: true,
    limits: { slowSearchMs: SLOW_MS },
    ...(command.data === undefined ? {} : { path: command.data }),
    onProblem: (problem) => surroundings.warn(explain(problem)),
  });
  try {
    const deploy = async (): Promise<void> => {
      const names = isPackage ? await deployPackage(service, path) : await deployModule(service, path);
      surroundings.print(`Serving ${names.join(", ")} of ${app ?? path}`);
    };
    await deploy();
    const kept = command.data === undefined ? "in memory: gone when this ends" : `in ${command.data}`;
    surroundings.print(`Listening on ${service.url} (documents are ${kept})`);
    const page = `${service.url}/console/`;
    surroundings.print(`The console is at ${page}`);
    if (command.open) surroundings.show?.(page);
    const stop = watchApp(path, isPackage, async () => {
      // What is wrong is said; what was served before is served on.
      await deploy().catch((error: unknown) => surroundings.warn(`Not deployed: ${explain(error)}`));
    });
    await surroundings.untilEnded();
    await stop();
  } finally {
    await service.close();
  }
}

function usualApp(): string {
  const found = USUAL.find((path) => existsSync(path));
  if (found === undefined) throw new UsageError(`there is none of ${USUAL.join(", ")} here: say where the schemas are`);
  return found;
}

async function deployPackage(service: RunningService, path: string): Promise<readonly string[]> {
  const { schemas } = await service.deploy(path);
  return schemas;
}

let loads = 0;

/** Deploys the schemas that a module exports, each by itself or in a list. */
async function deployModule(service: RunningService, path: string): Promise<readonly string[]> {
  loads += 1;
  let members: Readonly<Record<string, unknown>>;
  try {
    // Node keeps a module by its address: another one is read anew.
    members = (await import(`${pathToFileURL(path).href}?load=${loads}`)) as Readonly<Record<string, unknown>>;
  } catch (cause) {
    const { code, message } = cause as { readonly code?: string; readonly message: string };
    const isUnread = code === "ERR_UNKNOWN_FILE_EXTENSION" && /\.[cm]?ts$/.test(path);
    const why = isUnread ? untyped(message) : message;
    throw new UsageError(`${path} cannot be loaded: ${why}`, { cause });
  }
  const schemas = Object.values(members).flat().filter(isSchema);
  if (schemas.length === 0)
    throw new UsageError(`${path} exports no schema: export const note = schema("note", { … })`);
  await connect({ url: service.url }).deploy(schemas);
  return schemas.map(({ name }) => name);
}

/** What a Node that reads no TypeScript says of a file of it, and what to run instead. */
function untyped(message: string): string {
  const compiled = "what is compiled of it (brooklet dev dist/schema.js)";
  const program = "npx tsx node_modules/brooklet/bin/brooklet.js dev";
  return `${message}. Node reads TypeScript from 22.18 on; before that name ${compiled}, or run ${program}`;
}

/** Whether a value is a schema, of whichever copy of the package. */
function isSchema(value: unknown): value is AnySchema {
  if (typeof value !== "object" || value === null) return false;
  const { name, fields } = value as { readonly name?: unknown; readonly fields?: unknown };
  return typeof name === "string" && typeof fields === "object" && fields !== null && /^schema /.test(String(value));
}

/** Calls `work` after changes, once at a time. Gives what ends it. */
function watchApp(path: string, isPackage: boolean, work: () => Promise<void>): () => Promise<void> {
  let pending: NodeJS.Timeout | undefined;
  let working: Promise<void> = Promise.resolve();
  const changed = (): void => {
    clearTimeout(pending);
    pending = setTimeout(() => {
      working = working.then(work);
    }, SETTLED_MS);
  };
  // A folder is watched, not the file: editors put another file in its place.
  const folders = isPackage ? [path, join(path, "schemas")].filter((one) => existsSync(one)) : [dirname(path)];
  const watchers = folders.map((folder) =>
    watch(folder, (_, name) => {
      if (isPackage || name === null || join(folder, name) === path) changed();
    }),
  );
  return async () => {
    for (const watcher of watchers) watcher.close();
    clearTimeout(pending);
    await working;
  };
}
