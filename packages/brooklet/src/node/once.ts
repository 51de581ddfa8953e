/** Directories that a process opens once, however often the module that opens them is loaded. */
import { resolve } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { applicationFiles } from "@brooklet/client/application";
import { deploymentOf } from "../embedded.ts";
import type { Database, OpenOptions } from "../open.ts";
import { startingError } from "../starting.ts";

/** A directory that is open, or is being opened. */
interface Opened {
  readonly database: Promise<Database>;
  /** What was deployed, and not replaced since. */
  deployed: readonly OpenOptions[];
  /** Settles when another may open it. */
  closing?: Promise<void>;
}

/** Where they are found by a copy of this module that a bundler made, or that a development server loaded anew. */
const PLACE: unique symbol = Symbol.for("brooklet.once");
const shared = globalThis as { [PLACE]?: Map<string, Opened> };

/** The database of a directory that this process has open, with these schemas deployed; opened if it is not. */
export async function openOnce(
  options: OpenOptions,
  open: (options: OpenOptions) => Promise<Database>,
): Promise<Database> {
  const { path } = options;
  if (path === undefined) throw startingError(new Error("once is for a directory: give path"));
  shared[PLACE] ??= new Map();
  const there = shared[PLACE];
  const place = resolve(path);
  for (;;) {
    const opened = there.get(place);
    if (opened === undefined) break;
    if (opened.closing === undefined) return await joined(opened, options);
    await opened.closing.catch(() => undefined);
  }
  const opened: Opened = {
    deployed: [options],
    database: open(options).then((database) => {
      const close = (): Promise<void> => {
        opened.closing ??= database.close().finally(() => there.delete(place));
        return opened.closing;
      };
      // What is deployed past this is not known here.
      const deploy: Database["deploy"] = (...given) => {
        opened.deployed = [];
        return database.deploy(...given);
      };
      return { ...database, deploy, close, [Symbol.asyncDispose]: close };
    }),
  };
  there.set(place, opened);
  // What could not be opened is tried by who comes next.
  opened.database.catch(() => there.delete(place));
  return await opened.database;
}

/** One that is open, with what is asked for now deployed. */
async function joined(opened: Opened, options: OpenOptions): Promise<Database> {
  const database = await opened.database;
  if (opened.deployed.some((before) => isSame(before, options))) return database;
  const { schemas, remove } = options;
  const isOther = (before: OpenOptions): boolean =>
    !before.schemas.some(({ name }) => schemas.some((schema) => schema.name === name));
  const kept = remove === true ? [] : opened.deployed.filter(isOther);
  const { warnings } = await database.deploy(schemas, deploymentOf(options));
  opened.deployed = [...kept, options];
  return { ...database, warnings };
}

/** Whether two deployments are the same. A module that was loaded anew has other objects that say the same. */
function isSame(before: OpenOptions, now: OpenOptions): boolean {
  if (now.remove === true && before.remove !== true) return false;
  const { schemas, embedders, files } = now;
  const isOwn = schemas.every((schema, index) => schema === before.schemas[index]);
  if (isOwn && schemas.length === before.schemas.length && embedders === before.embedders && files === before.files)
    return true;
  return isDeepStrictEqual(filesOf(before), filesOf(now));
}

function filesOf(options: OpenOptions): ReturnType<typeof applicationFiles> {
  return applicationFiles(options.schemas, deploymentOf(options));
}
