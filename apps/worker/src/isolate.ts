/** What all objects of an isolate share: one core, small enough for the 128 MB that an isolate has. */
import { Core, type CoreOptions, instantiate } from "@brooklet/core";
import { describeProblem, type Surroundings } from "@brooklet/partition";
import { Isolate, OBJECT_SEGMENT_BYTES } from "@brooklet/partition/objects";

/** Budget of the blocks that stay in memory. */
const CACHE_BYTES = 12 << 20;

/** Told of every failure that no caller sees, and of defects with the reference that the caller was given. */
export function onProblem(problem: unknown, ...reference: readonly string[]): void {
  console.error(describeProblem(problem), ...reference);
}

/** All cores of this isolate that are still there. */
const cores = new Set<WeakRef<Core>>();

function makeCore(options: Pick<CoreOptions, "cacheBytes" | "sealKey" | "segmentBytes">): Core {
  const core = new Core({ instantiate, onTrap: onProblem, ...options });
  cores.add(new WeakRef(core));
  return core;
}

/** A core that keeps nothing in memory: a package is validated in it. */
export function makeValidator(): Core {
  return makeCore({ cacheBytes: 0 });
}

/** Memory of all cores of this isolate together, those included that wait to be collected. */
export function coreBytes(): number {
  let bytes = 0;
  for (const reference of cores) {
    const core = reference.deref();
    if (core === undefined) cores.delete(reference);
    else bytes += Number(core.statistics()["memoryBytes"]);
  }
  return bytes;
}

const SEAL_KEY_BYTES = 16;

/** A key of its own for groupings, so that what seals one thing says nothing of another. */
async function sealKeyOf(secret: Uint8Array): Promise<Uint8Array> {
  const key = await crypto.subtle.importKey("raw", secret, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  const sealed = await crypto.subtle.sign("HMAC", key, new TextEncoder().encode("grouping"));
  return new Uint8Array(sealed, 0, SEAL_KEY_BYTES);
}

/** The core of this isolate, made at its first request. */
export const isolate: Isolate = new Isolate({
  makeEngine: (sealKey) => makeCore({ cacheBytes: CACHE_BYTES, sealKey, segmentBytes: OBJECT_SEGMENT_BYTES }),
  sealKeyOf,
});

/** A Worker's turns. It wakes by alarms: an interval would keep an object in memory, and be paid for. */
export const surroundings: Surroundings = {
  schedule: (work) => queueMicrotask(work),
  turn: () => scheduler.wait(0),
  every: () => () => undefined,
  sharedMs: () => performance.now(),
};
