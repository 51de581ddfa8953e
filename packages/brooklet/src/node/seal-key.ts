/** The key that seals continuations of groupings, of the secret of what is stored: the same in every process that opens it. */
import { createHmac } from "node:crypto";
import type { Storage } from "@brooklet/store";
import { SEAL_KEY_BYTES } from "./memory-cluster.ts";

/** A key of its own for groupings, so that what seals one thing says nothing of another. */
export function sealKeyOf(storage: Pick<Storage, "secret">): Uint8Array {
  return createHmac("sha256", storage.secret).update("grouping").digest().subarray(0, SEAL_KEY_BYTES);
}
