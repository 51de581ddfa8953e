/** `brooklet backup`, `brooklet backups` and `brooklet restore`. */
import { readFileSync } from "node:fs";
import process from "node:process";
import { type BackupReport, backUp } from "../backup/backup.ts";
import { BackupObjects } from "../backup/objects.ts";
import { backupsIn, restore } from "../backup/restore.ts";
import { targetOf } from "../backup/target.ts";
import { openDatabase } from "../node/database.ts";
import { sealing, sealsOf, sealsWith } from "../node/sealing.ts";
import { CommandFailed, type Surroundings, UsageError } from "./surroundings.ts";

/** Options of `backup`. */
export interface BackupCommand {
  readonly keepDays?: number;
  /** Where the keys of groups are copied to. */
  readonly keysTo?: string;
  /** One that is being made is taken to be over. */
  readonly takeOver?: boolean;
  readonly json?: boolean;
}

/** Options of `restore`. */
export interface RestoreCommand {
  readonly backup?: string;
  /** A copy of the keys of groups. */
  readonly keys?: string;
  readonly json?: boolean;
}

/** Makes a backup of a directory, which may be served meanwhile. */
export async function runBackup(
  directory: string,
  target: string,
  { keepDays, keysTo, takeOver: isTakenOver = false, json }: BackupCommand,
  { print, warn, progress, onInterrupt }: Surroundings,
): Promise<void> {
  const objects = objectsIn(target);
  const seals = sealsOf(directory);
  const interruption = new AbortController();
  let report: BackupReport;
  try {
    if (keysTo !== undefined && seals.keys === undefined)
      throw new UsageError(`--keys-to is of an encrypted directory, and ${directory} is none`);
    // What the copy would be refused for is said before anything is stored.
    if (keysTo !== undefined) seals.keys?.demandPlace(keysTo);
    const { isSealed, keys } = seals;
    const hasKey = keys && ((of: string): boolean => keys.of(of) !== undefined);
    const of = { directory, objects, openSql: openDatabase, isSealed, ...(hasKey && { hasKey }), onProgress: progress };
    const { signal } = interruption;
    const made = backUp({ ...of, isTakenOver, signal, ...(keepDays !== undefined && { keepDays }) });
    onInterrupt?.(() => {
      // The next backup need not wait until the turn of this one is over.
      interruption.abort(new CommandFailed());
      const before = `Interrupted: ${objects.target.name} has the backups that it had before`;
      return made.then(
        ({ id }) => `Interrupted: ${id} was made already`,
        () => before,
      );
    });
    report = await made;
    // After it: whatever is in the backup has its key.
    if (keysTo !== undefined) seals.keys?.copyTo(keysTo);
  } finally {
    seals.close();
  }
  progress("");
  if (seals.keys !== undefined && keysTo === undefined)
    warn("The keys of its groups are not in it, and nothing of it is read without them: copy them with --keys-to");
  if (json === true) return print(JSON.stringify(report));
  const { partitions, operations, segments, kept, storedBytes, removed, unread, missing } = report;
  const encrypted = objects.isSealed ? "encrypted" : "not encrypted (BROOKLET_BACKUP_KEY)";
  print(
    `${report.id}: ${partitions} partitions, ${operations} operations, ${segments} segments of which ${kept} were there`,
  );
  printLargeGroups(report, print);
  print(`${storedBytes} bytes stored in ${objects.target.name}, ${encrypted}; everything that was read was verified`);
  for (const id of removed) print(`removed, as its time was over: ${id}`);
  if (unread !== undefined) print(`nothing that is over was removed: ${unread}`);
  for (const id of missing) print(`cannot be restored, as somebody removed its manifest: ${id}`);
}

/** Lists the backups of a target. */
export async function runBackups(
  target: string,
  { json }: { readonly json?: boolean },
  { print, warn }: Surroundings,
): Promise<void> {
  const objects = objectsIn(target);
  const list = await backupsIn(objects);
  if (json === true) return print(JSON.stringify(list));
  if (list.length === 0) warn(`${objects.target.name}: there is no backup`);
  for (const { id, expiresAt } of list) print(`${id}${expiresAt === undefined ? "" : `, kept until ${expiresAt}`}`);
}

/** Restores a backup to a new path. */
export async function runRestore(
  target: string,
  path: string,
  { backup, keys: folder, json }: RestoreCommand,
  { print, progress, onInterrupt }: Surroundings,
): Promise<void> {
  const interruption = new AbortController();
  const objects = objectsIn(target);
  const seals = folder === undefined ? undefined : sealsWith(folder);
  const encryption = seals && {
    key: seals.key,
    keys: folder ?? "",
    hasKey: (of: string) => seals.keys.of(of) !== undefined,
  };
  const made = restore({
    objects,
    path,
    openSql: openDatabase,
    isSealed: seals?.isSealed ?? sealing(),
    onProgress: progress,
    signal: interruption.signal,
    ...(encryption && { encryption }),
    ...(backup !== undefined && { id: backup }),
  }).finally(() => seals?.close());
  onInterrupt?.(() => {
    interruption.abort(new CommandFailed());
    return made.then(
      ({ id }) => `Interrupted: ${id} is at ${path} already`,
      () => `Interrupted: nothing is at ${path}`,
    );
  });
  const report = await made;
  progress("");
  if (json === true) return print(JSON.stringify(report));
  const { partitions, operations, segments, erased } = report;
  if (erased > 0) print(`${erased} partitions of the backup have no key any more, and are gone for good`);
  print(
    `${report.id} is at ${path}: ${partitions} partitions, ${operations} operations, ${segments} segments, all verified`,
  );
  printLargeGroups(report, print);
}

function printLargeGroups(
  { largeGroups, shards }: Pick<BackupReport, "largeGroups" | "shards">,
  print: Surroundings["print"],
): void {
  if (largeGroups > 0)
    print(`large groups: ${largeGroups}, in ${shards} shards, all of them as they were at one moment`);
}

/** The objects of a target, with the key of the environment. */
function objectsIn(target: string): BackupObjects {
  const { BROOKLET_BACKUP_KEY, BROOKLET_BACKUP_KEY_FILE } = process.env;
  const given = Object.entries({ BROOKLET_BACKUP_KEY, BROOKLET_BACKUP_KEY_FILE });
  const [empty] = given.find(([, value]) => value?.trim() === "") ?? [];
  if (empty !== undefined) throw new UsageError(`${empty} is empty: unset it, or give it a value`);
  if (given.every(([, value]) => value !== undefined))
    throw new UsageError(`${given.map(([name]) => name).join(" and ")} are both set: one is enough`);
  try {
    const ofFile =
      BROOKLET_BACKUP_KEY_FILE === undefined ? undefined : readFileSync(BROOKLET_BACKUP_KEY_FILE, "utf8").trim();
    return new BackupObjects(targetOf(target), BROOKLET_BACKUP_KEY ?? ofFile);
  } catch (error) {
    if (typeof (error as NodeJS.ErrnoException).syscall === "string")
      throw new UsageError(`BROOKLET_BACKUP_KEY_FILE cannot be read: ${(error as Error).message}`, { cause: error });
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}
