/** A directory with notes of three groups that tests of its backups have, and targets that fail. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished } from "vitest";
import { type Manifest, manifestName, objectsOf } from "../src/backup/manifest.ts";
import type { BackupObjects } from "../src/backup/objects.ts";
import { backupsIn } from "../src/backup/restore.ts";
import type { BackupTarget } from "../src/backup/target.ts";
import { int, open, schema, text } from "../src/index.ts";
import { sealing } from "../src/node/sealing.ts";

export const KEY = "a key of sixteen characters or more";
export const GROUPS = ["alice", "bob", "carol"] as const;
export const PAGE = 400;
/** Notes of a group behind those in segments, in its tail. */
export const REST = 50;

export const note = schema("note", { body: text(), step: int() });
export const isSealed = sealing();

export function folder(): string {
  const path = mkdtempSync(join(tmpdir(), "brooklet-backup-"));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

export const noteOf = (group: string, step: number) => ({ body: `note ${step} of ${group}`, step });

/** The notes of a directory: how many each group has, all of them as they were put. */
export async function notesOf(path: string): Promise<Map<string, number>> {
  const database = await open({ path, schemas: [note] });
  try {
    const found = new Map<string, number>();
    for (const group of GROUPS) {
      const steps: number[] = [];
      for await (const { document } of database.group(group).visit(note)) {
        expect(document).toEqual(noteOf(group, document.step));
        steps.push(document.step);
      }
      steps.sort((left, right) => left - right);
      expect(steps).toEqual(steps.map((_, at) => at));
      found.set(group, steps.length);
    }
    return found;
  } finally {
    await database.close();
  }
}

/** A directory with notes of each group, the first `PAGE` of them in segments and `REST` in the tail. */
export async function filled(): Promise<string> {
  const data = join(folder(), "data");
  const database = await open({ path: data, schemas: [note] });
  for (const group of GROUPS) {
    const fed = Array.from({ length: PAGE }, (_, step) => ({ id: `n${step}`, fields: noteOf(group, step) }));
    expect(await database.group(group).feed(note, fed)).toMatchObject({ applied: PAGE });
    const rest = Array.from({ length: REST }, (_, at) => PAGE + at);
    await Promise.all(rest.map((step) => database.group(group).put(note, `n${step}`, noteOf(group, step))));
  }
  await database.close();
  return data;
}

/** The names of all objects that a listed backup has. */
export async function namedIn(objects: BackupObjects): Promise<Set<string>> {
  const named = new Set<string>();
  for (const { id } of await backupsIn(objects))
    for (const object of objectsOf((await objects.value<Manifest>(manifestName(id))) as Manifest)) named.add(object);
  return named;
}

/** A target to which nothing comes through any more from a write of a name or the first removal on, as of a process that was killed. */
export function killedAt(target: BackupTarget, written?: string): BackupTarget {
  let isKilled = false;
  const fails =
    <Rest extends unknown[]>(work: (name: string, ...rest: Rest) => Promise<void>, kills: (name: string) => boolean) =>
    async (name: string, ...rest: Rest): Promise<void> => {
      isKilled ||= kills(name);
      if (isKilled) throw new Error("killed");
      await work(name, ...rest);
    };
  return { ...target, remove: fails(target.remove, () => true), put: fails(target.put, (name) => name === written) };
}
