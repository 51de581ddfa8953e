/**
 * Limits for the 128 MB that an isolate has, which all of its objects share, and for the 32 MiB that one object may tell
 * another. What a request holds is a share of them.
 */
import type { GatewayLimits } from "@brooklet/gateway";
import { SHARD_BYTES } from "@brooklet/partition";
import type { Env } from "./env.ts";

const MIB: number = 1 << 20;

/** Those that differ from a server's. */
export const EDGE_LIMITS: Partial<GatewayLimits> = {
  bodyBytesInFlight: 16 * MIB,
  feedHeldBytes: 8 * MIB,
  packageBytes: 16 * MIB,
  packageContentBytes: 24 * MIB,
  visitBytes: 4 * MIB,
};

/** From how many bytes on a group is spread over several objects. */
export function shardBytesOf({ SHARD_BYTES: said }: Pick<Env, "SHARD_BYTES">): number {
  if (said === undefined) return SHARD_BYTES;
  const bytes = Number(said);
  if (Number.isSafeInteger(bytes) && bytes >= MIB) return bytes;
  throw new Error(`SHARD_BYTES must be a whole number of bytes, ${MIB} or more, not '${said}'`);
}
