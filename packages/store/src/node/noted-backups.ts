/** The backups that a data directory knows of: whoever erases a group is told which still have it. */
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { StoredBackup } from "../storage.ts";
import { isThere, writeDurably } from "./durable-files.ts";

/** What earlier releases noted, of all targets. */
export const BACKUPS = "backups.json";
const BACKUPS_OF_TARGET = /^backups-[0-9a-f]{16}\.json$/;

/** A backup that has what a directory has, as it was made of it or it was restored from there, as far as who erases has to know. */
export interface KnownBackup extends StoredBackup {
  readonly target: string;
}

/** The backups that a directory knows of, until a backup has found them gone: one whose time is over is there until the next one removes it. */
export function backupsOf(directory: string): readonly KnownBackup[] {
  const targets = new Set(readdirSync(directory).filter((name) => BACKUPS_OF_TARGET.test(name)));
  const before = notedIn(directory, BACKUPS).filter(({ target }) => !targets.has(backupsName(target)));
  const all = [...before, ...[...targets].flatMap((name) => notedIn(directory, name))];
  return all.sort((one, other) => one.takenAt.localeCompare(other.takenAt));
}

/**
 * Notes a backup that is made of a directory, which may be in use: before anything is read for it. Each target has a file of its own, to which
 * one backup is made at a time: those to several may be made at once.
 */
export function noteBackup(directory: string, backup: KnownBackup): void {
  noteBackups(directory, [backup]);
}

/** Notes several. */
export function noteBackups(directory: string, backups: readonly KnownBackup[]): void {
  for (const of of new Set(backups.map(({ target }) => target)))
    writeBackups(directory, of, [...backupsIn(directory, of), ...backups.filter(({ target }) => target === of)]);
}

/** Forgets backups in a target that are not there. */
export function forgetBackups(directory: string, target: string, isThere: (id: string) => boolean): void {
  const known = backupsIn(directory, target);
  const kept = known.filter(({ id }) => isThere(id));
  if (kept.length < known.length) writeBackups(directory, target, kept);
}

function backupsIn(directory: string, target: string): readonly KnownBackup[] {
  return backupsOf(directory).filter((backup) => backup.target === target);
}

function notedIn(directory: string, name: string): readonly KnownBackup[] {
  const path = join(directory, name);
  if (!isThere(path)) return [];
  return (JSON.parse(readFileSync(path, "utf8")) as { readonly backups: readonly KnownBackup[] }).backups;
}

function writeBackups(directory: string, target: string, backups: readonly KnownBackup[]): void {
  writeDurably(directory, backupsName(target), Buffer.from(`${JSON.stringify({ backups })}\n`));
}

function backupsName(target: string): string {
  return `backups-${createHash("sha256").update(target).digest("hex").slice(0, 16)}.json`;
}
