/** `brooklet store snapshot`, `store snapshots`, `store remove` and `store fork`: of an object store that servers may have open. */

import process from "node:process";
import {
  forkStore,
  listSnapshots,
  type ObjectStore,
  removeSnapshot,
  type StoreSnapshot,
  takeSnapshot,
} from "@brooklet/object-store";
import { storeAt } from "./store.ts";
import { ServerFailure, type Surroundings } from "./surroundings.ts";

/** Takes a snapshot of a store. */
export async function runSnapshot(
  address: string,
  { keepDays, json }: { readonly keepDays?: number; readonly json?: boolean },
  { print }: Surroundings,
): Promise<void> {
  await within(address, async (store) => {
    const snapshot = await takeSnapshot(store, keepDays === undefined ? {} : { keepDays });
    print(json === true ? JSON.stringify(snapshot) : `${lineOf(snapshot)}: everything acknowledged before is in it`);
  });
}

/** Lists the snapshots of a store. */
export async function runSnapshots(
  address: string,
  { json }: { readonly json?: boolean },
  { print, warn }: Surroundings,
): Promise<void> {
  await within(address, async (store) => {
    const list = await listSnapshots(store);
    if (json === true) return print(JSON.stringify(list));
    if (list.length === 0) warn("the store has no snapshot");
    for (const snapshot of list) print(lineOf(snapshot));
  });
}

/** Removes a snapshot of a store. */
export async function runRemove(
  address: string,
  id: string,
  { json }: { readonly json?: boolean },
  { print }: Surroundings,
): Promise<void> {
  await within(address, async (store) => {
    if (!(await removeSnapshot(store, id))) throw new ServerFailure(`${address} has no snapshot ${id}`);
    print(json === true ? JSON.stringify({ id, removed: true }) : `${id} is removed, with what it alone needed`);
  });
}

/** Makes a store of what another is, or was at a snapshot. */
export async function runFork(
  address: string,
  to: string,
  { snapshot, json }: { readonly snapshot?: string; readonly json?: boolean },
  { print, progress, onInterrupt }: Surroundings,
): Promise<void> {
  onInterrupt?.(
    () => `Interrupted: there is no store at ${to} yet, and the snapshot it was made of is kept in ${address}`,
  );
  const report = await within(address, (source) =>
    within(to, (target) =>
      forkStore(source, target, { onProgress: progress, ...(snapshot !== undefined && { snapshot }) }),
    ),
  );
  progress("");
  if (json === true) return print(JSON.stringify(report));
  const { takenAt, buckets, segments, bytes } = report;
  print(
    `${to} is what ${address} was at ${takenAt.toISOString()}: ${buckets} buckets, ${segments} segments, ${bytes} bytes, all verified`,
  );
}

async function within<Result>(address: string, work: (store: ObjectStore) => Promise<Result>): Promise<Result> {
  const store = await storeAt(address, process.env);
  try {
    return await work(store);
  } finally {
    await store.close?.();
  }
}

function lineOf({ id, expiresAt, isWhole }: StoreSnapshot): string {
  const until = expiresAt === undefined ? "" : `, kept until ${expiresAt.toISOString()}`;
  return `${id}${until}${isWhole ? "" : ", not whole: it is being taken, or never was"}`;
}
