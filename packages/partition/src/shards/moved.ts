/** What a shard says of a document that is not its own. No cluster gives it away. */
import type { Answer, Outcome } from "../cluster.ts";

/** The status of a request that came to the wrong shard. */
export const MOVED = 421;

/** Of a write: nothing was done. */
export const MOVED_OUTCOME: Outcome = { status: MOVED, outcome: "not_applied" };

/** Of a read. */
export const MOVED_ANSWER: Answer = {
  status: MOVED,
  contentType: "",
  body: new Uint8Array(),
  bytesRead: 0,
  bytesScanned: 0,
};
