/** What is done when a group's object rests, and whether there is anything of it to do: an alarm that failed for good tells nobody. */
import { isUnsettled, type Sql } from "@brooklet/store";
import type { ExpiringObject, ObjectExpiry } from "./object-expiry.ts";
import { AGAIN_MS, REST_MS } from "./rest-alarm.ts";

/** An object that rests. */
export interface RestingObject extends ExpiringObject {
  readonly connection: Sql;
  readonly table?: string;
  readonly expiry: ObjectExpiry;
  /** Bytes from which on it is split, if it ever is. */
  readonly shardBytes?: number;
  /** Whether it may give half of its documents away. */
  readonly isDivisible: boolean;
  /** Told of every failure that no caller sees. */
  readonly onProblem: (error: unknown) => void;
}

/** Removes what has expired, folds and settles, and has a group split that has become large. In how many milliseconds there is more to do. */
export async function restGroup(resting: RestingObject, split: () => Promise<boolean>): Promise<number> {
  const { key, host, expiry, onProblem } = resting;
  const expiresMs = await expiry.expire(resting).catch((error: unknown) => {
    onProblem(error);
    return AGAIN_MS;
  });
  await host.rest(key);
  if (!isTooLarge(resting)) return expiresMs;
  // What was given away is still stored after it, and goes with the next rest.
  return Math.min(expiresMs, (await split()) ? REST_MS : AGAIN_MS);
}

/** Whether an object that nobody writes has something to do; `isShard`: it may have grown before it knew that it is one. */
export async function isRestless(resting: RestingObject, isShard: boolean): Promise<boolean> {
  const { key, host, expiry, connection, table } = resting;
  if (isUnsettled(connection, table) || host.mayHoldErased(key) || (isShard && isTooLarge(resting))) return true;
  return await expiry.isNeeded(resting);
}

function isTooLarge({ key, host, shardBytes, isDivisible }: RestingObject): boolean {
  return shardBytes !== undefined && isDivisible && host.shard(key).bytes >= shardBytes;
}
