/** `brooklet backup`, `brooklet backups` and `brooklet restore`. */
import { readFileSync } from "node:fs";
import process from "node:process";
import { backUp } from "../backup/backup.ts";
import { BackupObjects } from "../backup/objects.ts";
import { backupsIn, restore } from "../backup/restore.ts";
import { targetOf } from "../backup/target.ts";
import { openDatabase } from "../node/database.ts";
import { sealing } from "../node/sealing.ts";
import { type Surroundings, UsageError } from "./surroundings.ts";

/** Options of `backup`. */
export interface BackupCommand {
  readonly keepDays?: number;
  readonly json?: boolean;
}

/** Options of `restore`. */
export interface RestoreCommand {
  readonly backup?: string;
  readonly json?: boolean;
}

/** Makes a backup of a directory, which may be served meanwhile. */
export async function runBackup(
  directory: string,
  target: string,
  { keepDays, json }: BackupCommand,
  { print, progress }: Surroundings,
): Promise<void> {
  const objects = objectsIn(target);
  const report = await backUp({
    directory,
    objects,
    openSql: openDatabase,
    isSealed: sealing(),
    onProgress: progress,
    ...(keepDays !== undefined && { keepDays }),
  });
  progress("");
  if (json === true) return print(JSON.stringify(report));
  const { partitions, operations, segments, kept, storedBytes, removed } = report;
  const encrypted = objects.isSealed ? "encrypted" : "not encrypted (BROOKLET_BACKUP_KEY)";
  print(
    `${report.id}: ${partitions} partitions, ${operations} operations, ${segments} segments of which ${kept} were there`,
  );
  print(`${storedBytes} bytes stored in ${objects.target.name}, ${encrypted}; everything that was read was verified`);
  for (const id of removed) print(`removed, as its time was over: ${id}`);
}

/** Lists the backups of a target. */
export async function runBackups(
  target: string,
  { json }: { readonly json?: boolean },
  { print }: Surroundings,
): Promise<void> {
  const list = await backupsIn(objectsIn(target));
  if (json === true) print(JSON.stringify(list));
  else
    for (const { id, expiresAt } of list) print(`${id}${expiresAt === undefined ? "" : `, kept until ${expiresAt}`}`);
}

/** Restores a backup to a new path. */
export async function runRestore(
  target: string,
  path: string,
  { backup, json }: RestoreCommand,
  { print, progress }: Surroundings,
): Promise<void> {
  const objects = objectsIn(target);
  const report = await restore({
    objects,
    path,
    openSql: openDatabase,
    isSealed: sealing(),
    onProgress: progress,
    ...(backup !== undefined && { id: backup }),
  });
  progress("");
  if (json === true) return print(JSON.stringify(report));
  const { partitions, operations, segments } = report;
  print(
    `${report.id} is at ${path}: ${partitions} partitions, ${operations} operations, ${segments} segments, all verified`,
  );
}

/** The objects of a target, with the key of the environment. */
function objectsIn(target: string): BackupObjects {
  const { BROOKLET_BACKUP_KEY, BROOKLET_BACKUP_KEY_FILE } = process.env;
  try {
    const ofFile =
      BROOKLET_BACKUP_KEY_FILE === undefined ? undefined : readFileSync(BROOKLET_BACKUP_KEY_FILE, "utf8").trim();
    return new BackupObjects(targetOf(target), BROOKLET_BACKUP_KEY ?? ofFile);
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}
