/**
 * Limits for the 128 MB that an isolate has, which all of its objects share, and for the 32 MiB that one object may tell
 * another. What a request holds is a share of them.
 */
import type { GatewayLimits } from "@brooklet/gateway";

const MIB: number = 1 << 20;

/** Those that differ from a server's. */
export const EDGE_LIMITS: Partial<GatewayLimits> = {
  bodyBytesInFlight: 16 * MIB,
  feedHeldBytes: 8 * MIB,
  packageBytes: 16 * MIB,
  packageContentBytes: 24 * MIB,
  visitBytes: 4 * MIB,
};
