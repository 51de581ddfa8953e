/**
 * Where backups are kept: a folder, or a bucket of any store that speaks S3. Whole objects by name are asked of it, the names below one, and that
 * two objects are replaced only by who read them.
 */
import { createHash, randomBytes } from "node:crypto";
import {
  closeSync,
  fsyncSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs";
import { dirname, join, resolve } from "node:path";
import process from "node:process";
import { setTimeout as wait } from "node:timers/promises";
import {
  type AgedBytes,
  pauseMs,
  refusalIn,
  type TaggedBytes,
  type TaggedObjects,
  type WriteOutcome,
} from "@brooklet/object-store";
import { makeFolders, syncDirectory } from "@brooklet/store/node";
import { s3At } from "../node/s3-address.ts";
import { LIST } from "./manifest.ts";

/** Of a log that has a snapshot and nothing else: earlier releases have it there. */
const LEASE = "lease/snapshot";
/** How often a request is made: for some ten seconds, where the service says no at once. */
const ATTEMPTS = 12;

/** A place of objects. */
export interface BackupTarget {
  /** What it is called in messages and lists; it holds no secret. */
  readonly name: string;
  /** Settles when the object is on stable storage. */
  put(name: string, bytes: Uint8Array): Promise<void>;
  /** An object; nothing: there is none of that name. */
  get(name: string): Promise<Uint8Array | undefined>;
  /** Removes an object, which need not be there. */
  remove(name: string): Promise<void>;
  /** The names of all objects that begin with `folder` and a slash. */
  names(folder: string): Promise<readonly string[]>;
  /** Says who may write. */
  readonly lease: ReplacedObject;
  /** All backups there are: its name is `LIST`. */
  readonly list: ReplacedObject;
}

/** An object that is replaced only by who read it. */
export interface ReplacedObject {
  latest(): Promise<AgedBytes | undefined>;
  /** Replaces it if it is still the one of `tag`; `undefined`: if there is none. */
  replace(bytes: Uint8Array, tag: string | undefined): Promise<WriteOutcome>;
}

/**
 * The target of a text: a path, or `s3://bucket/prefix`. Where a bucket is and who may use it stands in the environment as for other
 * tools: AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, AWS_REGION, AWS_ENDPOINT_URL_S3.
 */
export function targetOf(text: string, environment: NodeJS.ProcessEnv = process.env): BackupTarget {
  return text.startsWith("s3://") ? bucketTarget(text, environment) : folderTarget(text);
}

/** A folder, made if there is none. */
export function folderTarget(path: string): BackupTarget {
  const folder = resolve(path);
  const placeOf = (name: string): string => join(folder, ...name.split("/"));
  return {
    name: folder,
    put: async (name, bytes) => void writeWhole(placeOf(name), bytes),
    get: async (name) => readIfThere(placeOf(name)),
    remove: async (name) => rmSync(placeOf(name), { force: true }),
    names: async (below) => namesIn(placeOf(below)).map((name) => `${below}/${name}`),
    lease: folderLease(join(folder, "lease")),
    list: folderList(join(folder, LIST)),
  };
}

/**
 * Earlier releases replace it by its name, so that it cannot have numbers. What is read again in the turn that replaces it is as near as a folder
 * comes: who stands still for minutes does so elsewhere.
 */
function folderList(path: string): ReplacedObject {
  const latest = (): TaggedBytes | undefined => {
    const bytes = readIfThere(path);
    return bytes && { bytes, tag: createHash("sha256").update(bytes).digest("hex") };
  };
  return {
    latest: async () => latest(),
    replace: async (bytes, tag) => (writeWhole(path, bytes, () => latest()?.tag === tag) ? "won" : "taken"),
  };
}

function namesIn(folder: string): readonly string[] {
  return (ifThere(() => readdirSync(folder)) ?? []).filter((name) => !name.endsWith(".new"));
}

/** A folder has no conditional writes: each replacement is a file with the next number, which only one can make. */
function folderLease(folder: string): ReplacedObject {
  // A desktop or a network's file system puts files of its own into folders.
  const numbers = (): number[] =>
    namesIn(folder)
      .filter((name) => /^\d+$/.test(name))
      .map(Number);
  const placeOf = (number: number): string => join(folder, String(number));
  return {
    latest: async () => {
      for (;;) {
        const number = Math.max(0, ...numbers());
        if (number === 0) return undefined;
        const bytes = readIfThere(placeOf(number));
        // It may have been replaced meanwhile.
        if (bytes !== undefined) return { bytes, tag: String(number), ageMs: () => ageIn(folder, placeOf(number)) };
      }
    },
    replace: async (bytes, tag) => {
      const number = Number(tag ?? 0) + 1;
      makeFolder(folder);
      try {
        writeNew(placeOf(number), bytes);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === "EEXIST") return "taken";
        throw error;
      }
      syncDirectory(folder);
      // Whoever came late makes one that others made, replaced and removed.
      const isLatest = Math.max(...numbers()) === number;
      for (const other of numbers())
        if (isLatest ? other < number : other === number) rmSync(placeOf(other), { force: true });
      return isLatest ? "won" : "taken";
    },
  };
}

/** How old a file is by the clock that its folder gives times by, which may be another machine's. */
function ageIn(folder: string, path: string): number | undefined {
  const fresh = join(folder, `${randomBytes(6).toString("hex")}.new`);
  writeNew(fresh, new Uint8Array());
  try {
    const made = statSync(fresh).mtimeMs;
    return ifThere(() => made - statSync(path).mtimeMs);
  } finally {
    rmSync(fresh, { force: true });
  }
}

function readIfThere(path: string): Uint8Array | undefined {
  return ifThere(() => new Uint8Array(readFileSync(path)));
}

/** What is read; nothing where there is nothing. What may not be read is not taken for that. */
function ifThere<Content>(read: () => Content): Content | undefined {
  try {
    return read();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

/** Whether it is there now: not if, when all but its name is done, `holds` says no. */
function writeWhole(path: string, bytes: Uint8Array, holds: () => boolean = () => true): boolean {
  const folder = dirname(path);
  makeFolder(folder);
  const fresh = `${path}.${randomBytes(6).toString("hex")}.new`;
  writeNew(fresh, bytes);
  try {
    if (!holds()) return false;
    renameSync(fresh, path);
  } finally {
    rmSync(fresh, { force: true });
  }
  syncDirectory(folder);
  return true;
}

/** Makes a file that is not there yet. */
function writeNew(path: string, bytes: Uint8Array): void {
  const file = openSync(path, "wx", 0o600);
  try {
    for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at);
    fsyncSync(file);
  } catch (error) {
    // A device that is full has to have its room back: the next try has another name.
    rmSync(path, { force: true });
    // Of what is open the system does not say where it is.
    throw Object.assign(error as Error, { path });
  } finally {
    closeSync(file);
  }
}

function makeFolder(folder: string): void {
  const first = makeFolders(folder, 0o700);
  for (let made = folder; first !== undefined && made.length >= first.length; made = dirname(made))
    syncDirectory(dirname(made));
}

function bucketTarget(text: string, environment: NodeJS.ProcessEnv): BackupTarget {
  const { files, tagged } = s3At(text, environment);
  return {
    name: text,
    put: (name, bytes) => again(() => files.put(name, bytes)),
    get: (name) => again(() => files.read(name)),
    remove: (name) => again(() => files.remove(name)),
    names: async (folder) => {
      const all: string[] = [];
      for (let names: readonly string[] = [""]; names.length > 0; all.push(...names)) {
        const last = all.at(-1);
        names = await again(() => files.names(`${folder}/`, last));
      }
      return all;
    },
    lease: replacedIn(tagged, LEASE),
    list: replacedIn(tagged, LIST),
  };
}

function replacedIn({ read, replace }: TaggedObjects, name: string): ReplacedObject {
  const latest = (): Promise<AgedBytes | undefined> => again(() => read(name));
  return {
    latest,
    replace: async (bytes, tag) => {
      let asked = 0;
      const outcome = await again(() => {
        asked += 1;
        return replace(name, bytes, tag);
      });
      if (outcome === "won" || asked === 1) return outcome;
      // Of an answer that was lost nobody knows: it may be ours that is there.
      const there = await latest();
      return there !== undefined && Buffer.compare(there.bytes, bytes) === 0 ? "won" : "taken";
    },
  };
}

/** Makes a request again that a service was too busy for, or that got no answer. */
async function again<Result>(ask: () => Promise<Result>): Promise<Result> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await ask();
    } catch (error) {
      if (attempt === ATTEMPTS || refusalIn(error) !== undefined) throw error;
      await wait(pauseMs(attempt));
    }
  }
}
