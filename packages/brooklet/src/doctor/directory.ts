/** What is wrong with a data directory, its device, and the models of what is deployed there. */
import { accessSync, constants, existsSync, statfsSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { asPackage, Core, instantiate } from "@brooklet/core";
import { StoreError } from "@brooklet/store";
import {
  type BucketLook,
  DataDirectory,
  type DirectoryLook,
  isEncrypted,
  lookAtDirectory,
  MODELS_FOLDER,
  reserveBytesOf,
} from "@brooklet/store/node";
import { openDatabase } from "../node/database.ts";
import { encryptionKeyOfEnvironment } from "../node/encryption-key.ts";
import { sealsOf } from "../node/sealing.ts";
import { type Finding, ok, problem, warning } from "./finding.ts";

const LOG_BYTES_MANY = 64 << 20;
const MIB = 1 << 20;
const SHARE_LOW = 0.05;
const MORE_ROOM = "give the device more room";
/** What a place is on, by the numbers that Linux has for it, where that cannot hold what is promised. */
const UNSAFE: Readonly<Record<number, readonly [found: string, remedy: string]>> = {
  16914836: ["it is in memory (tmpfs): what was acknowledged goes with the machine", "take a path on a disk"],
  2240043254: ["it is in memory (ramfs): what was acknowledged goes with the machine", "take a path on a disk"],
  26985: [
    "it is reached over a network (NFS): a process on another machine may not be refused",
    "take a path on a disk here",
  ],
};
const CORE_CACHE_BYTES = 1 << 20;
const CORE_KEY_BYTES = 16;

/** Looks at a directory; one that this user may not read, and what is none, are findings, and nothing else can be told of them. */
export function lookAt(path: string): DirectoryLook | Finding {
  try {
    const there = existing(path);
    if (!statSync(there).isDirectory())
      return problem("data directory", `${there} is no directory`, "give another --data");
    return lookAtDirectory(path, openDatabase);
  } catch (error) {
    const { code = "", path: refused = path } = error as NodeJS.ErrnoException;
    if (code !== "EACCES" && code !== "EPERM") throw error;
    return problem("permissions", `${refused} cannot be read (${code})`, "give it to the user that serves");
  }
}

/** Examines a directory, all but its models. */
export function directoryFindings(look: DirectoryLook): readonly Finding[] {
  const permissions = permissionsFinding(look);
  // SQLite opens nothing where it cannot write, which would be told as damage.
  const stored = permissions.state === "problem" ? [] : [encryptionFinding(look), ...bucketFindings(look)];
  const device = deviceFinding(statfsSync(existing(look.path)).type);
  return [directoryFinding(look), permissions, lockFinding(look), device, diskFinding(look.path), ...stored];
}

function directoryFinding({ path, buckets, problem: what }: DirectoryLook): Finding {
  if (what !== undefined)
    return problem("data directory", `${path}: ${what}`, "give another --data, or restore a backup to a new path");
  if (buckets === undefined) return ok("data directory", `${path} is not there yet, and will be made`);
  const bytes = buckets.reduce((sum, one) => sum + one.bytes + one.logBytes, 0);
  return ok("data directory", `${path}: ${buckets.length} buckets, ${mib(bytes)}`);
}

function permissionsFinding({ path, open, readOnly = [] }: DirectoryLook): Finding {
  const there = existing(path);
  try {
    accessSync(there, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    const remedy =
      code === "EROFS" ? "mount its device so that it can be written to" : "give it to the user that serves";
    return problem("permissions", `${there} cannot be written to (${code})`, remedy);
  }
  if (readOnly.length > 0)
    return problem(
      "permissions",
      `${some(readOnly)} cannot be written to`,
      "let the user that serves read and write it",
    );
  if (open.length === 0) return ok("permissions", `${there} can be written to, and its files are its owner's`);
  return warning("permissions", `others than its owner may read or write ${some(open)}`, `chmod -R go-rwx ${path}`);
}

function some(names: readonly string[]): string {
  return `${names.slice(0, 3).join(", ")}${names.length > 3 ? ` and ${names.length - 3} more` : ""}`;
}

function lockFinding({ holder }: DirectoryLook): Finding {
  if (holder === undefined) return ok("lock", "no process has the directory");
  const { pid, name } = holder;
  return ok("lock", pid === undefined ? "another process has it" : `process ${pid} (${name}) has it`);
}

/** Whether the key of the environment is the directory's, or there is none where none is wanted. */
function encryptionFinding({ path, buckets, holder }: DirectoryLook): Finding {
  const remedy = "give the key that it has, as BROOKLET_ENCRYPTION_KEY or BROOKLET_ENCRYPTION_KEY_FILE";
  try {
    const isGiven = encryptionKeyOfEnvironment() !== undefined;
    if (buckets === undefined)
      return ok(
        "encryption",
        `what will be made is ${isGiven ? "encrypted with the key that is given" : "not encrypted"}`,
      );
    if (!isEncrypted(path)) {
      if (!isGiven) return ok("encryption", "the directory is not encrypted");
      return problem("encryption", "a key is given, and the directory is not encrypted", "give no key");
    }
    if (isGiven) {
      sealsOf(path).close();
      return ok("encryption", "the key that is given is the directory's");
    }
    // Whoever has it was given the key, which need not be in the environment of who looks.
    if (holder !== undefined)
      return ok("encryption", "the directory is encrypted, and the process that has it has the key");
    return problem("encryption", "the directory is encrypted, and no key is given", remedy);
  } catch (error) {
    return problem("encryption", (error as Error).message, remedy);
  }
}

/** Examines what a directory is on; `type` is the system's number of it. */
export function deviceFinding(type: number): Finding {
  const unsafe = process.platform === "linux" ? UNSAFE[type] : undefined;
  return unsafe === undefined ? ok("device", "it can hold what is acknowledged") : warning("device", ...unsafe);
}

function diskFinding(path: string): Finding {
  const place = existing(path);
  const { bavail, blocks, bsize } = statfsSync(place);
  const [free, all] = [bavail * bsize, blocks * bsize];
  const reserve = statSync(join(path, "reserve"), { throwIfNoEntry: false })?.size;
  const room = `${mib(free)} of ${mib(all)} are free`;
  const kept = reserveBytesOf(place);
  // One that is not there, or was given up, is made by the next start or write.
  const wanted = reserve === undefined || reserve === 0 ? 2 * kept : kept;
  if (reserve === 0 && free < wanted)
    return problem("disk", `${room}, and the reserve was given up: what grows is refused`, MORE_ROOM);
  if (free < wanted) return problem("disk", `${room}: too few to write`, MORE_ROOM);
  if (free < SHARE_LOW * all) return warning("disk", room, "give the device more room before it is full");
  return ok("disk", reserve === undefined || reserve === 0 ? room : `${room}, and ${mib(reserve)} are kept back`);
}

function bucketFindings({ buckets, holder }: DirectoryLook): readonly Finding[] {
  if (buckets === undefined) return [ok("stored data", "there is none yet"), ok("logs", "there are none yet")];
  const logs = buckets.reduce((most, { logBytes }) => Math.max(most, logBytes), 0);
  return [
    storedFinding(buckets),
    logs <= LOG_BYTES_MANY
      ? ok("logs", `the longest write-ahead log has ${mib(logs)}`)
      : warning(
          "logs",
          `a write-ahead log has ${mib(logs)}`,
          holder === undefined ? "serve it once: the log is emptied" : "look for what reads for long: a backup, a copy",
        ),
  ];
}

function storedFinding(buckets: readonly BucketLook[]): Finding {
  const damaged = buckets.filter((one) => one.problem !== undefined);
  const [first] = damaged;
  if (first !== undefined) {
    const others = damaged.length > 1 ? `; ${damaged.length - 1} more` : "";
    const remedy = "brooklet check tells all of it; a backup has it, or brooklet repair goes on without";
    return problem("stored data", `bucket ${first.bucket}: ${first.problem}${others}`, remedy);
  }
  const unseen = buckets.find((one) => one.unseen !== undefined);
  if (unseen !== undefined)
    return warning("stored data", `bucket ${unseen.bucket} was not looked at: ${unseen.unseen}`, MORE_ROOM);
  return ok(
    "stored data",
    "headers, versions, heads and generations of all buckets agree; brooklet check reads all of it",
  );
}

/** Examines the models of what is deployed in a directory. */
export async function modelsFinding({ path, buckets, holder }: DirectoryLook): Promise<Finding> {
  if (buckets === undefined) return ok("models", "nothing is deployed");
  if (holder !== undefined) return ok("models", "are looked for by the process that has the directory: ask /readyz");
  let application: Uint8Array | undefined;
  try {
    application = applicationOf(path);
  } catch (error) {
    if (!(error instanceof StoreError && ["full", "readonly"].includes(error.kind))) throw error;
    const remedy = error.kind === "full" ? MORE_ROOM : "let it be written to";
    return warning("models", `were not looked for: ${error.message}`, remedy);
  }
  if (application === undefined) return ok("models", "nothing is deployed");
  const key = new Uint8Array(CORE_KEY_BYTES);
  const core = new Core({ instantiate, cacheBytes: CORE_CACHE_BYTES, sealKey: key, onTrap: () => undefined });
  const { ranking, embedders } = core.models(asPackage(application));
  const addresses = [...ranking, ...embedders];
  if (addresses.length === 0) return ok("models", "none are named by address");
  const { ModelFiles } = await import("@brooklet/models/node");
  const there = new Set((await new ModelFiles({ folder: join(path, MODELS_FOLDER) }).list()).map(({ url }) => url));
  const missing = addresses.filter((address) => !there.has(address));
  if (missing.length === 0) return ok("models", `${addresses.length} are there`);
  const what = `${missing.length} of ${addresses.length} are not downloaded yet: ${missing[0]}`;
  return warning("models", what, `brooklet model pull ${missing[0]} --model-cache ${join(path, MODELS_FOLDER)}`);
}

function applicationOf(path: string): Uint8Array | undefined {
  const directory = DataDirectory.open(path, openDatabase, undefined, "any");
  try {
    return directory.readApplication()?.bytes;
  } finally {
    directory.close();
  }
}

/** The nearest folder above a path that is there, or itself. */
function existing(path: string): string {
  return existsSync(path) ? path : existing(dirname(path));
}

function mib(bytes: number): string {
  return `${(bytes / MIB).toFixed(bytes < 10 * MIB ? 1 : 0)} MiB`;
}
