/**
 * Deployments to a store that several gateways write. What others write while it is looked through what is stored is in the logs; behind the
 * seals that one puts at their ends before its last look nobody writes who has not the next application, or knows that there is none (0033).
 */
import { deploymentUnderWay, type Surroundings, type WrittenDocuments } from "@brooklet/partition";
import { type StoredApplication, StoreError } from "@brooklet/store";
import { type BucketLog, Fenced } from "./bucket-log.ts";
import { sameBytes } from "./log-reader.ts";
import { stepInTime } from "./outcomes.ts";

/** Work that is done one after the other, in the order it was asked for: does it when what was asked for before is done, whatever came of that. */
export type Turns = <Result>(work: () => Promise<Result>) => Promise<Result>;

/** Turns of their own: work of others is not waited for. */
export function makeTurns(): Turns {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const done = last.then(work);
    last = done.catch(() => undefined);
    return done;
  };
}

/** Has work done every so many milliseconds, but not while it is still under way: a store that is silent is asked once. */
export function makeRounds(
  every: Surroundings["every"],
): (milliseconds: number, work: () => Promise<unknown>, onProblem: (error: unknown) => void) => () => void {
  return (milliseconds, work, onProblem) => {
    let isUnderWay = false;
    return every(milliseconds, () => {
      if (isUnderWay) return;
      isUnderWay = true;
      void work()
        .catch(onProblem)
        .finally(() => {
          isUnderWay = false;
        });
    });
  };
}

/** How it is waited for an application. */
export interface Settling {
  /** Serves the newest that is stored; nothing: there is none, or nothing is served any more. */
  newest(): Promise<StoredApplication | undefined>;
  /** Stores one, unless another is there. */
  put(application: StoredApplication): Promise<boolean>;
  readonly now: () => number;
  readonly wait: (milliseconds: number) => Promise<void>;
}

/** How long it is waited for a deployment that another gateway is about to store, and how often it is looked. */
const DEPLOYMENT_MS = 5_000;
const SETTLED_MS = 100;

/** Settles when the application of a number is served here. Who does not store it in time finds what is served stored in its place. */
export async function settle(number: number, by: Settling, patientMs: number = DEPLOYMENT_MS): Promise<void> {
  for (const endMs = by.now() + patientMs; ; await by.wait(SETTLED_MS)) {
    const newest = await by.newest();
    if (newest === undefined) throw new StoreError("closed", "nothing is written after close()");
    if (newest.number >= number) return;
    if (by.now() >= endMs) await by.put({ ...newest, number });
  }
}

/**
 * Deploys on an application; again where what stood in the way was one that was not stored in time: its seals were there, and what is served
 * has been stored anew in its place.
 */
export async function deployOn<Report>(
  base: number | undefined,
  newest: Settling["newest"],
  deploy: (base?: number) => Promise<Report>,
): Promise<Report> {
  const before = await newest();
  try {
    return await deploy(base);
  } catch (error) {
    const now = (error as { readonly status?: unknown }).status === 409 ? await newest() : undefined;
    if (before === undefined || now === undefined || now.number === before.number) throw error;
    if (!sameBytes(now.bytes, before.bytes)) throw error;
    return await deploy(base === before.number ? now.number : base);
  }
}

/** The log of a bucket, as a deployment sees it. */
export type LookedLog = Pick<BucketLog, "fresh" | "seal" | "lose" | "epoch">;

/** What a deployment that looks works on. */
export interface LookedStore {
  /** All of them, which are opened only where it is looked. */
  readonly logs: () => readonly LookedLog[];
  /** The number that the application will have. */
  readonly application: number;
  /** Settles when that application is stored, or after that time another in its place. */
  settle(application: number, patientMs: number): Promise<void>;
}

/** What all gateways write while it is looked, of what is written here alone. */
export function writtenByAll(own: WrittenDocuments, { logs: all, application, settle }: LookedStore): WrittenDocuments {
  let logs: readonly LookedLog[] = [];
  let epochs: readonly number[] = [];
  // How long it is waited for what is stored behind seals; nothing: there are none.
  let patientMs: number | undefined;
  const seal = (log: LookedLog): Promise<void> =>
    log.seal(application).catch((error: unknown) => {
      throw error instanceof Fenced ? deploymentUnderWay() : error;
    });
  const sealAll = async (): Promise<void> => {
    const [first, ...others] = logs;
    // Of several who deploy one gets past the first; the others wait for what it stores.
    patientMs = DEPLOYMENT_MS;
    if (first !== undefined) await stepInTime(seal(first), "not_applied");
    patientMs = 0;
    await stepInTime(Promise.all(others.map(seal)), "not_applied");
  };
  return {
    begin: async () => {
      logs = all();
      await stepInTime(Promise.all(logs.map((log) => log.fresh())), "not_applied");
      epochs = logs.map(({ epoch }) => epoch);
      await own.begin();
    },
    selecting: async (visits, holds) => {
      if (holds) await sealAll();
      else await stepInTime(Promise.all(logs.map((log) => log.fresh())), "not_applied");
      const found = await own.selecting(visits, holds);
      // What is here may be less than what was here when it began: it does not tell what was written since.
      if (found === undefined && logs.some(({ epoch }, at) => epoch !== epochs[at]))
        throw deploymentUnderWay("Another server took a bucket over while it was looked through; try again");
      return found;
    },
    release: async () => {
      try {
        if (patientMs !== undefined) await stepInTime(settle(application, patientMs), "unknown");
      } catch (error) {
        // Nothing may be written behind seals of which it is not known what came.
        for (const log of logs) log.lose(error);
        throw error;
      } finally {
        await own.release();
      }
    },
  };
}
