/**
 * Many operations of a feed on one partition in one go. When they are many, the core writes the segments of them that
 * folding would have written later; when they are few, they go to the tail like any others. Either way what was loaded is
 * acknowledged after the commit that holds it. What has to look at its document is left to whoever feeds.
 *
 * Segments are written in slices between which requests run. A write on the partition that comes meanwhile might have
 * been decided on a document that the load replaces; then nothing is committed, and the load is done again.
 */

import {
  type Engine,
  type Load,
  type LoadedOperation,
  type LoadResult,
  type Place,
  type ServiceError,
  shownId,
} from "@brooklet/core";
import { type Bucket, type Partitions, type StoredManifest, StoreError } from "@brooklet/store";
import { clock } from "./clock.ts";
import type { LoadOutcome, Outcome } from "./cluster.ts";
import type { Deadline } from "./deadline.ts";
import { driveInSlices } from "./drive.ts";
import { FULL, failedOutcome, tooLate } from "./failure.ts";
import { LOAD_SEGMENT_BYTES, LOAD_SEGMENT_OPERATIONS, SLICE_MS } from "./limits.ts";
import type { Maintenance } from "./maintenance.ts";
import { placeOf, sourceOf } from "./place.ts";
import { fedTarget } from "./quotas/fed-target.ts";
import { MOVED_OUTCOME } from "./shards/moved.ts";
import { groupOf } from "./shards/shard.ts";
import type { ShardGuard } from "./shards/shard-guard.ts";
import { operationsOf, partOf } from "./shards/shard-load.ts";

/** Where a load works. */
export interface LoadPlace {
  readonly key: string;
  readonly bucket: Bucket;
  readonly engine: Engine;
  readonly maintenance: Maintenance;
  /** Waits until the tail takes more. */
  readonly room: () => Promise<void>;
  /** Which documents are the partition's, if it is a shard. */
  readonly guard: () => ShardGuard | undefined;
  /** What a caller sees of a failure, of which the operator is told where it is theirs. */
  readonly failure: (error: unknown) => ServiceError;
}

/** A load that others disturb so often goes to the tail instead, which nothing can disturb. */
const ATTEMPTS = 3;

/** Stored, an operation has at most so many times the bytes of its JSON: a number of one digit may have eight. */
const STORED_TIMES_MAX = 8;

/** Loads operations; what comes of each, but for those that are simply done. Never rejects. */
export async function loadPartition(place: LoadPlace, load: Load, deadline: Deadline): Promise<readonly LoadOutcome[]> {
  try {
    const long = await tooLong(place, load, deadline);
    if (long.size === 0) return await loadAll(place, load, deadline);
    const all = operationsOf(load);
    const others = [...all.keys()].filter((index) => !long.has(index));
    const told = others.length === 0 ? [] : await loadAll(place, partOf(all, others, load), deadline);
    const outcome = failedOutcome(place.failure(new StoreError("large", "an operation of a feed is too long")));
    const refused = Array.from(long, (index) => ({ index, outcome }));
    return [...told.map((one) => ({ ...one, index: others[one.index] ?? 0 })), ...refused];
  } catch (error) {
    const failed = failedOutcome(place.failure(error));
    return Array.from({ length: load.count }, (_, index) => ({ index, outcome: failed }));
  }
}

/**
 * The operations that a tail would refuse, since a value may have no more bytes. As a part of segments they would be stored, and could be
 * neither updated nor given to another shard, which takes operations: their group would never be split.
 */
async function tooLong(place: LoadPlace, load: Load, deadline: Deadline): Promise<ReadonlySet<number>> {
  const { valueBytesMax = Number.POSITIVE_INFINITY } = place.bucket.store;
  const bytesMax = valueBytesMax / STORED_TIMES_MAX;
  const long = new Set<number>();
  if (load.operations.length <= bytesMax) return long;
  const all = operationsOf(load);
  for (const [index, { length }] of all.entries()) {
    const made = length > bytesMax ? await forTail(place, partOf(all, [index], load), deadline) : undefined;
    if (made?.operations.some(({ bytes }) => bytes.length > valueBytesMax)) long.add(index);
  }
  return long;
}

/** Loads operations of which none is too long. */
async function loadAll(place: LoadPlace, load: Load, deadline: Deadline): Promise<readonly LoadOutcome[]> {
  const isWorthSegments = load.count >= LOAD_SEGMENT_OPERATIONS || load.operations.length >= LOAD_SEGMENT_BYTES;
  for (let attempt = 0; isWorthSegments && maySegment(place, load) && attempt < ATTEMPTS; attempt += 1) {
    const loaded = await place.maintenance.alone(() => intoSegments(place, load, deadline));
    if (loaded !== undefined) return outcomesOf(loaded.outcomes);
  }
  return await intoTail(place, load, deadline);
}

/**
 * Whether segments may be written. Of a shard it must be known whose they are; while one is split, what is committed is kept
 * operation by operation.
 */
function maySegment({ guard }: LoadPlace, { ids }: Load): boolean {
  const shard = guard();
  return shard === undefined || (!shard.isSplit && ids !== undefined);
}

/** Writes segments and commits them. Nothing: something else was written meanwhile. */
async function intoSegments(place: LoadPlace, load: Load, deadline: Deadline): Promise<LoadResult | undefined> {
  const { bucket, key, maintenance } = place;
  if (deadline.passed || maintenance.stopped) throw tooLate();
  // On a full device what is kept back is for what gives space: each operation is refused by itself.
  if (!maySegment(place, load) || bucket.isFull) return undefined;
  const { store, application } = bucket;
  const startMs = clock.now();
  let seen: StoredManifest | undefined;
  const source = {
    ...sourceOf(store, key),
    manifest: (layout: number, operation: number): StoredManifest => {
      seen = store.manifest(key, layout, operation);
      return seen;
    },
  };
  const state = store.state(key);
  const task = place.engine.load(placeOf(state), nowMicros(), store.firstFreeSegment, load, maintenance.room);
  const { number } = state;
  const isSame = (): boolean =>
    bucket.isOpen && bucket.store === store && bucket.application === application && store.state(key).number === number;
  const stop = (): boolean => maintenance.stopped || !isSame();
  const loaded = await driveInSlices(task, source, { sliceMs: SLICE_MS, turn: maintenance.turn, stop });
  if (maintenance.stopped) throw tooLate();
  if (loaded === undefined || !isSame() || !isUndisturbed(store, place, seen)) return undefined;
  // Of what is not its own the tail tells.
  if ((place.guard()?.admission(load.ids ?? []) ?? "here") !== "here") return undefined;
  if (loaded.change !== undefined) maintenance.commit(bucket, key, loaded.change, startMs);
  return loaded;
}

/** Whether the partition is still what the core saw of it. */
function isUndisturbed(store: Partitions, { bucket, key }: LoadPlace, seen: StoredManifest | undefined): boolean {
  if (seen === undefined) return true;
  const { layout, lastOperation } = store.state(key);
  return layout === seen.layout && lastOperation === (seen.operations.at(-1)?.number ?? 0) && !bucket.hasQueued(key);
}

/** Makes operations of the tail and commits them; `removes`: all of them do nothing else. */
async function intoTail(
  place: LoadPlace,
  load: Load,
  deadline: Deadline,
  removes = false,
): Promise<readonly LoadOutcome[]> {
  const { bucket, key, maintenance } = place;
  await place.room();
  for (;;) {
    const loaded = await maintenance.tailLoads.make(bucket, load, () => forTail(place, load, deadline));
    // Another application was deployed meanwhile.
    if (loaded === undefined || bucket.application !== loaded.application) continue;
    const ids = loaded.operations.map(({ id }) => id);
    const admission = place.guard()?.admission([...ids, ...(load.ids ?? [])]) ?? "here";
    if (admission === "moved")
      return Array.from({ length: load.count }, (_, index) => ({ index, outcome: MOVED_OUTCOME }));
    if (admission !== "here") {
      await deadline.wait(admission, tooLate);
      continue;
    }
    const failures = await write(place, loaded.operations, removes);
    if (failures.size < loaded.operations.length) maintenance.written(bucket, key);
    if (failures.size === 0) return outcomesOf(loaded.outcomes);
    const all = operationsOf(load);
    const told = outcomesOf(loaded.outcomes, (index) => failureOf(failures, all[index]));
    return removes ? told : await removedApart(place, load, { all, told }, deadline);
  }
}

/** What a load comes to in a tail, by the application deployed now; nothing: another one was deployed meanwhile. */
async function forTail(
  { bucket, engine, key, maintenance }: LoadPlace,
  load: Load,
  deadline: Deadline,
): Promise<(LoadResult & { readonly application: number }) | undefined> {
  if (deadline.passed) throw tooLate();
  const { application } = bucket;
  const nowhere: Place = { incarnation: 0, partition: 0, key: groupOf(key), layout: 0, operation: 0 };
  const task = engine.load(nowhere, nowMicros(), 0, load);
  const stop = (): boolean => bucket.application !== application;
  const pace = { sliceMs: SLICE_MS, turn: maintenance.turn, stop };
  const loaded = await driveInSlices(task, sourceOf(bucket.store, key), pace);
  return loaded && { ...loaded, application };
}

/** What came of operations, with those that only remove done by themselves where the device is full: what is kept back is for them. */
async function removedApart(
  place: LoadPlace,
  load: Load,
  { all, told }: { readonly all: readonly Uint8Array[]; readonly told: readonly LoadOutcome[] },
  deadline: Deadline,
): Promise<readonly LoadOutcome[]> {
  const isRefused = (one: LoadOutcome): boolean =>
    "outcome" in one && one.outcome.code === FULL && fedTarget(all[one.index])?.removes === true;
  const refused = told.filter(isRefused).map(({ index }) => index);
  if (refused.length === 0) return told;
  const failed = (error: unknown): readonly LoadOutcome[] => {
    const outcome = failedOutcome(place.failure(error));
    return refused.map((_, index) => ({ index, outcome }));
  };
  const removed = await intoTail(place, partOf(all, refused, load), deadline, true).catch(failed);
  const others = told.filter((one) => !isRefused(one));
  return [...others, ...removed.map((one) => ({ ...one, index: refused[one.index] ?? 0 }))];
}

/** Queues operations for the tail. Those that were not committed, by the shown ids of their documents: they may be several transactions. */
async function write(
  place: LoadPlace,
  operations: LoadResult["operations"],
  removes: boolean,
): Promise<ReadonlyMap<string, Outcome>> {
  const { bucket, engine, key } = place;
  const ids = operations.map(({ id }) => shownId(id));
  const written = operations.map(({ id, bytes }, at) => {
    const shown = ids[at] ?? "";
    // Those of several content clusters follow one another.
    const unit = engine.storedIds?.(shown) !== undefined && { unit: shown };
    return bucket.write(key, bytes, { id, decided: true, removes, ...unit });
  });
  const failures = new Map<string, Outcome>();
  for (const [at, settled] of (await Promise.allSettled(written)).entries())
    if (settled.status === "rejected") failures.set(ids[at] ?? "", failedOutcome(place.failure(settled.reason)));
  return failures;
}

/** What came of an operation that should have been written, if that failed. */
function failureOf(failures: ReadonlyMap<string, Outcome>, operation: Uint8Array | undefined): Outcome | undefined {
  const target = fedTarget(operation);
  if (target !== undefined) return failures.get(target.id);
  const [some] = failures.values();
  return some && { ...some, outcome: "unknown" };
}

/** What came of operations that is worth telling; `failureOf` is what came of the commit that should have held one, if it failed. */
function outcomesOf(
  loaded: readonly LoadedOperation[],
  failureOf: (index: number) => Outcome | undefined = () => undefined,
): readonly LoadOutcome[] {
  const outcomes: LoadOutcome[] = [];
  loaded.forEach((operation, index) => {
    if (operation.kind === "later") outcomes.push({ index, later: operation.later });
    else if (operation.kind === "refused") {
      const { status, code, message } = operation;
      outcomes.push({ index, outcome: { status, code, message, outcome: "not_applied" } });
    } else {
      const { ignoredFields, ignoredOperation } = operation;
      const failed = ignoredOperation ? undefined : failureOf(index);
      if (failed !== undefined) outcomes.push({ index, outcome: failed });
      else if (ignoredFields || ignoredOperation) {
        const passedOver = { ...(ignoredFields && { ignoredFields }), ...(ignoredOperation && { ignoredOperation }) };
        outcomes.push({ index, outcome: { status: 200, ...passedOver } });
      }
    }
  });
  return outcomes;
}

/** When what is loaded now is written, as documents say it. */
function nowMicros(): number {
  return Date.now() * 1_000;
}
