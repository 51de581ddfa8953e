/**
 * A backup of a data directory, which may be served meanwhile. Each bucket is read at one moment, those of large groups all at the same, and
 * everything that is read is verified; the blocks of segments never change, so that only those that no earlier backup has are stored.
 */
import { createHash, randomBytes } from "node:crypto";
import { existsSync, realpathSync } from "node:fs";
import { dirname, isAbsolute, sep } from "node:path";
import {
  applicationIn,
  BucketMoment,
  backupsOf,
  bucketsIn,
  forgetBackups,
  type IsSealed,
  type KnownBackup,
  noteBackup,
  type OpenSql,
  secretIn,
} from "@brooklet/store/node";
import { Additions } from "./additions.ts";
import { BackupFailure } from "./backup-failure.ts";
import { BucketBackup, type StoredBucket } from "./bucket-backup.ts";
import { largeGroups } from "./large-groups.ts";
import { Lease } from "./lease.ts";
import { type BackupEntry, demandVersion, LIST, type Manifest, manifestName, objectsOf } from "./manifest.ts";
import type { BackupObjects } from "./objects.ts";

/** What is backed up, and how. */
export interface BackupOptions {
  readonly directory: string;
  readonly objects: BackupObjects;
  readonly openSql: OpenSql;
  readonly isSealed: IsSealed;
  /** Of an encrypted directory: whether a partition has a key. One that lost it since is being erased. */
  readonly hasKey?: (partition: string) => boolean;
  /** Whether a backup that is being made to the target, by who was killed, is taken to be over. */
  readonly isTakenOver?: boolean;
  /** After how many days it may be removed, which the next backup does; never, unless it is said. */
  readonly keepDays?: number;
  /** Told of what is done, for who waits. */
  readonly onProgress?: (line: string) => void;
  /** Ends it: what it stored is taken away again. */
  readonly signal?: AbortSignal;
}

/** What came of a backup. */
export interface BackupReport extends BackupEntry {
  readonly buckets: number;
  readonly partitions: number;
  readonly operations: number;
  readonly segments: number;
  /** Segments that an earlier backup had already. */
  readonly kept: number;
  /** Groups that have several shards, and how many those are together. */
  readonly largeGroups: number;
  readonly shards: number;
  readonly storedBytes: number;
  /** Backups that were removed: their time was over. */
  readonly removed: readonly string[];
  /** Why nothing was removed: the manifest of another backup, of which nobody knows what it has. */
  readonly unread?: string;
  /** Listed backups whose manifests are not in the target any more: somebody else removed them, and nothing of them can be restored. */
  readonly missing: readonly string[];
}

const DAY_MS = 86_400_000;

/**
 * Makes a backup. When it settles, it is whole and on stable storage; a failure leaves those before it as they were. Refused while another is
 * made to the same target.
 */
export async function backUp(options: BackupOptions): Promise<BackupReport> {
  const { directory, objects, isTakenOver = false, signal } = options;
  // Throws where there is no directory to note anything in.
  bucketsIn(directory);
  if (isWithin(objects.target.name, directory))
    throw new BackupFailure(
      `${objects.target.name} is in the data directory, and would be lost with it: take another place`,
    );
  const lease = await Lease.take(objects.target, isTakenOver);
  try {
    return await make({ ...options, objects: objects.through(lease.guarded(signal)) }, lease);
  } finally {
    // Where it cannot be given back it ends by itself.
    await lease.end().catch(() => undefined);
  }
}

/** Whether a path is that of a directory or below it. What is no path is in none. */
function isWithin(path: string, directory: string): boolean {
  let there = path;
  while (isAbsolute(there) && !existsSync(there)) there = dirname(there);
  return isAbsolute(there) && `${realpathSync(there)}${sep}`.startsWith(`${realpathSync(directory)}${sep}`);
}

async function make(options: BackupOptions, lease: Lease): Promise<BackupReport> {
  const { directory, objects, keepDays } = options;
  const takenAt = new Date();
  const id = `${takenAt.toISOString().replaceAll(":", "-")}-${randomBytes(4).toString("hex")}`;
  const expiresAt = keepDays === undefined ? undefined : new Date(takenAt.getTime() + keepDays * DAY_MS).toISOString();
  const entry = { id, takenAt: takenAt.toISOString(), ...(expiresAt !== undefined && { expiresAt }) };
  const list = (await objects.value<readonly BackupEntry[]>(LIST)) ?? [];
  const additions = new Additions(objects);
  // What others left can be read: otherwise nothing is begun.
  await additions.listed();
  // Who erases a group from here on is told that this one may have it.
  noteBackup(directory, { ...entry, target: objects.target.name });
  try {
    return await complete(options, entry, list, additions, lease);
  } catch (error) {
    await giveUp(options, entry, additions, lease).catch(() => undefined);
    throw error;
  }
}

async function complete(
  options: BackupOptions,
  entry: BackupEntry,
  list: readonly BackupEntry[],
  additions: Additions,
  lease: Lease,
): Promise<BackupReport> {
  const { directory, objects } = options;
  const of = createHash("sha256").update(secretIn(directory)).update("backup").digest("hex").slice(0, 16);
  const stored = applicationIn(directory);
  // Of copies of a directory each notes its own: what another calls partition 7 may be another group.
  const noted = new Set(backupsOf(directory).map(({ id }) => id));
  const before = await latestOf(
    objects,
    list.filter(({ id }) => noted.has(id)),
    of,
  );
  const there = new Set(before === undefined ? [] : await additions.there());
  additions.know(before?.contents ?? {}, there);
  const { buckets, counts } = await storeBuckets(options, before, there, additions);
  const application = stored === undefined ? undefined : await additions.addOnce(stored);
  const manifest: Manifest = {
    version: counts.largeGroups > 0 ? 2 : 1,
    ...entry,
    directory: of,
    ...(application !== undefined && { application }),
    ...(options.hasKey && { encrypted: true }),
    buckets: buckets.map(({ part }) => part),
    contents: additions.contents,
    known: backupsOf(directory),
  };
  // What is ended here leaves it, as it does the objects that it names.
  await additions.list([manifestName(entry.id)]);
  await objects.write(manifestName(entry.id), manifest);
  options.signal?.throwIfAborted();
  // Whoever took over while it was being written knows nothing of it.
  await lease.demand();
  additions.isListed = true;
  const all = await objects.relist<BackupEntry>((now) => [...now, entry]);
  const own = new Set([manifestName(entry.id), ...objectsOf(manifest)]);
  const { removed, unread } = await removeOld(objects, all, entry.takenAt, additions, own);
  forgetBackups(directory, objects.target.name, (id) => all.some((one) => one.id === id && !removed.includes(id)));
  const sum = (name: "partitions" | "operations" | "segments" | "kept"): number =>
    buckets.reduce((total, bucket) => total + bucket[name], 0);
  return {
    ...entry,
    buckets: buckets.length,
    partitions: sum("partitions"),
    operations: sum("operations"),
    segments: sum("segments"),
    kept: sum("kept"),
    ...counts,
    storedBytes: additions.storedBytes,
    removed,
    ...(unread !== undefined && { unread }),
    missing: await missingOf(
      objects,
      all.filter(({ id }) => !removed.includes(id)),
    ),
  };
}

/** Leaves nothing of a backup that failed, unless it is listed by then. */
async function giveUp(
  { directory, objects }: BackupOptions,
  { id }: BackupEntry,
  additions: Additions,
  lease: Lease,
): Promise<void> {
  // Their names are given once: who took over has none of them, and may have removed the list of them before they were there.
  if (!additions.isListed) for (const name of [...additions.own, ...additions.pages]) await lease.target.remove(name);
  // What else is here now another counts on.
  await lease.demand();
  // It is another list now, though it says the same: one that was taken over from cannot list any more what is removed here.
  const list = await objects.relist<BackupEntry>((now) => now);
  if (!list.some((one) => one.id === id)) await objects.target.remove(manifestName(id));
  await removeLeftovers(objects, additions, new Set());
  forgetBackups(directory, objects.target.name, (one) => one !== id || list.some((listed) => listed.id === id));
}

/** The manifest of the latest backup in a list that is of the same directory. */
async function latestOf(
  objects: BackupObjects,
  list: readonly BackupEntry[],
  directory: string,
): Promise<Manifest | undefined> {
  for (const { id } of [...list].reverse()) {
    const manifest = await manifestOf(objects, id);
    if (manifest?.directory === directory) return (await objects.isNamedAgain(manifestName(id))) ? manifest : undefined;
  }
  return undefined;
}

interface StoredBuckets {
  readonly buckets: readonly StoredBucket[];
  readonly counts: { readonly largeGroups: number; readonly shards: number };
}

/**
 * Buckets without large groups are read one after the other. Those with some are read at one moment: a group is in several, and what it moves
 * from one to another would be lost between two moments, or there twice.
 */
async function storeBuckets(
  options: BackupOptions,
  before: Manifest | undefined,
  there: ReadonlySet<string>,
  additions: Additions,
): Promise<StoredBuckets> {
  const { directory, openSql, isSealed, hasKey, onProgress } = options;
  const isKeyless = hasKey === undefined ? () => false : (partition: string) => !hasKey(partition);
  const buckets = bucketsIn(directory);
  const works = Array.from({ length: buckets }, (_, bucket) => ({
    identity: { bucket, buckets },
    work: new BucketBackup(additions, isSealed, before?.buckets[bucket], there),
  }));
  const stored: StoredBucket[] = [];
  let together: typeof works = [];
  for (const one of works) {
    const { identity, work } = one;
    onProgress?.(`bucket ${identity.bucket + 1} of ${buckets}`);
    const moment = new BucketMoment(directory, identity, openSql);
    try {
      if (!moment.hasNotes) stored[identity.bucket] = await work.store(moment, isKeyless);
      else {
        together = [...together, one];
        await work.prepare(moment, isKeyless);
      }
    } finally {
      moment.close();
    }
  }
  let counts = { largeGroups: 0, shards: 0 };
  while (together.length > 0) {
    onProgress?.(`${together.length} buckets of large groups at one moment`);
    const identities = together.map(({ identity }) => identity);
    const moments = await BucketMoment.ofAll(directory, identities, openSql);
    try {
      // A group that was split since its bucket was read by itself.
      const late = works.filter((one) => !together.includes(one) && hasNotes(directory, one.identity, openSql));
      if (late.length > 0) {
        together = [...together, ...late];
        continue;
      }
      const groups = largeGroups(
        moments.flatMap((moment) => moment.noted),
        hasKey,
      );
      counts = groups.counts;
      for (const [at, { identity, work }] of together.entries()) {
        const moment = moments[at] as BucketMoment;
        stored[identity.bucket] = await work.store(moment, groups.isLeftOut);
        moment.close();
      }
      break;
    } finally {
      for (const moment of moments) moment.close();
    }
  }
  return { buckets: stored, counts };
}

function hasNotes(
  directory: string,
  identity: { readonly bucket: number; readonly buckets: number },
  openSql: OpenSql,
): boolean {
  const moment = new BucketMoment(directory, identity, openSql);
  try {
    return moment.hasNotes;
  } finally {
    moment.close();
  }
}

/** A manifest that cannot be read. */
class UnreadManifest extends BackupFailure {}

/** Removes what nobody needs any more, of a backup that is listed by now: where a manifest cannot be read, nothing. */
async function removeOld(
  objects: BackupObjects,
  list: readonly BackupEntry[],
  now: string,
  additions: Additions,
  own: ReadonlySet<string>,
): Promise<Pick<BackupReport, "removed" | "unread">> {
  let removed: readonly string[] = [];
  try {
    removed = await unlistExpired(objects, list, now, additions);
    await removeLeftovers(objects, additions, own);
    return { removed };
  } catch (error) {
    if (!(error instanceof UnreadManifest)) throw error;
    return { removed, unread: error.message };
  }
}

/** Takes backups whose time is over from the list. What they had is a leftover then, also of a process that is killed here. */
async function unlistExpired(
  objects: BackupObjects,
  list: readonly BackupEntry[],
  now: string,
  additions: Additions,
): Promise<string[]> {
  // As times: the text of a year with more than four digits is before all others.
  const isOver = ({ expiresAt }: BackupEntry): boolean =>
    expiresAt !== undefined && new Date(expiresAt) < new Date(now);
  const expired = list.filter(isOver);
  if (expired.length === 0) return [];
  // What is taken from the list is to go: nobody can tell what of it one has that cannot be read.
  await namedBy(objects, list);
  const names = new Set<string>();
  for (const { id } of expired) {
    const manifest = await manifestOf(objects, id);
    // What one without a manifest had nobody knows: it may be anything.
    for (const name of manifest === undefined ? await additions.there() : objectsOf(manifest)) names.add(name);
    names.add(manifestName(id));
  }
  await additions.list([...names]);
  await objects.relist<BackupEntry>((now) => now.filter(({ id }) => !expired.some((one) => one.id === id)));
  return expired.map(({ id }) => id);
}

/** Removes what was added, or is of backups that are over, and is in no backup: of this one, or of one that was ended. */
async function removeLeftovers(objects: BackupObjects, additions: Additions, own: ReadonlySet<string>): Promise<void> {
  const { names, pages } = await additions.listed();
  if (names.some((name) => !own.has(name))) {
    const named = await namedBy(objects, (await objects.value<readonly BackupEntry[]>(LIST)) ?? []);
    for (const name of names) if (!named.has(name)) await objects.target.remove(name);
  }
  // What is listed has a manifest by now, or is removed.
  for (const page of pages) await objects.target.remove(page);
}

/** The manifests of all backups in a list, and their objects. One whose manifest is gone has none: nothing of it can be restored. */
async function namedBy(objects: BackupObjects, list: readonly BackupEntry[]): Promise<ReadonlySet<string>> {
  const named = new Set<string>();
  for (const { id } of list) {
    const manifest = await manifestOf(objects, id);
    if (manifest !== undefined) for (const name of [manifestName(id), ...objectsOf(manifest)]) named.add(name);
  }
  return named;
}

/** The backups of a list whose manifests are gone. */
async function missingOf({ target }: BackupObjects, list: readonly BackupEntry[]): Promise<string[]> {
  const there = new Set(await target.names("manifests"));
  return list.map(({ id }) => id).filter((id) => !there.has(manifestName(id)));
}

/**
 * The backups that have anything of a directory: those of a list, and those in other targets that the latest of them names. Of one that
 * cannot be read nobody knows that it has not.
 */
export async function thoseOf(
  objects: BackupObjects,
  list: readonly BackupEntry[],
  directory: string,
): Promise<readonly KnownBackup[]> {
  const here: { readonly entry: BackupEntry; readonly isOfIt: boolean }[] = [];
  let known: readonly KnownBackup[] = [];
  for (const entry of list) {
    try {
      const manifest = await manifestOf(objects, entry.id);
      if (manifest === undefined) continue;
      const isOfIt = manifest.directory === directory;
      if (isOfIt) known = manifest.known ?? known;
      here.push({ entry, isOfIt });
    } catch (error) {
      if (!(error instanceof UnreadManifest)) throw error;
      here.push({ entry, isOfIt: true });
    }
  }
  // What was restored before has backups of what it was restored from.
  const ids = new Set(known.map(({ id }) => id));
  const target = objects.target.name;
  const those = here
    .filter(({ entry, isOfIt }) => isOfIt || ids.has(entry.id))
    .map(({ entry }) => ({ ...entry, target }));
  const listed = new Set(those.map(({ id }) => id));
  return [...those, ...known.filter((one) => one.target !== target && !listed.has(one.id))];
}

/** A manifest that has to be there. */
export async function demand(objects: BackupObjects, id: string): Promise<Manifest> {
  const manifest = await manifestOf(objects, id);
  if (manifest === undefined) throw new BackupFailure(`${objects.target.name}: the manifest of ${id} is missing`);
  return manifest;
}

async function manifestOf(objects: BackupObjects, id: string): Promise<Manifest | undefined> {
  try {
    const manifest = await objects.value<Manifest>(manifestName(id));
    if (manifest !== undefined) demandVersion(manifest, `${objects.target.name}: ${id}`);
    return manifest;
  } catch (error) {
    throw error instanceof BackupFailure ? new UnreadManifest(error.message, { cause: error.cause }) : error;
  }
}
