/** Where backups are kept: a folder, or a bucket of any store that speaks S3. Whole objects by name, and nothing else is asked of it. */
import { randomBytes } from "node:crypto";
import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from "node:fs";
import { dirname, join, resolve } from "node:path";
import process from "node:process";
import { s3At } from "../node/s3-address.ts";

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
    put: async (name, bytes) => writeWhole(placeOf(name), bytes),
    get: async (name) => (existsSync(placeOf(name)) ? new Uint8Array(readFileSync(placeOf(name))) : undefined),
    remove: async (name) => rmSync(placeOf(name), { force: true }),
  };
}

function writeWhole(path: string, bytes: Uint8Array): void {
  const folder = dirname(path);
  const first = mkdirSync(folder, { recursive: true, mode: 0o700 });
  const fresh = `${path}.${randomBytes(6).toString("hex")}.new`;
  const file = openSync(fresh, "wx", 0o600);
  try {
    try {
      for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    renameSync(fresh, path);
  } catch (error) {
    // A device that is full has to have its room back: the next try has another name.
    rmSync(fresh, { force: true });
    throw error;
  }
  syncFolder(folder);
  for (let made = folder; first !== undefined && made.length >= first.length; made = dirname(made))
    syncFolder(dirname(made));
}

/** Makes the names in a folder durable. Windows has no such call and needs none. */
function syncFolder(path: string): void {
  if (process.platform === "win32") return;
  const folder = openSync(path, "r");
  fsyncSync(folder);
  closeSync(folder);
}

function bucketTarget(text: string, environment: NodeJS.ProcessEnv): BackupTarget {
  const { files } = s3At(text, environment);
  return { name: text, put: files.put, get: (name) => files.read(name), remove: files.remove };
}
