/**
 * What is refused before anything of it is read: requests for which there is no room at present. In an overload refusing is most of
 * what is done, so it looks at nothing but the target of a request, and at queues.
 */
import type { PartitionKey } from "@brooklet/partition";
import { ServiceError } from "@brooklet/wire";
import type { Authority } from "../authority/authority.ts";
import type { CallHead } from "../call.ts";
import type { Surroundings } from "../context.ts";

const SEARCHES = ["/search", "/brooklet/v1/search", "/brooklet/v1/retrieve"];
const DOCUMENTS = "/document/v1/";
const GROUP = /[?&]streaming\.groupname=([^&#]*)/g;

/** Whether there is no room for what a request names, whoever asks: it is told only to who reaches that. */
export function mayBeRefused({ target, method }: CallHead, surroundings: Surroundings): boolean {
  if (target.startsWith(DOCUMENTS)) return method !== "DELETE" && surroundings.documents.refusal !== undefined;
  if (method === "OPTIONS" || !SEARCHES.some((path) => isPath(target, path))) return false;
  const { searches, searchesOfPartition, cluster } = surroundings;
  const named = groupOf(target);
  if (searches.refusal !== undefined || cluster.overload?.(named) !== undefined) return true;
  return named !== undefined && searchesOfPartition.refusal(named) !== undefined;
}

/** The refusal of a request of this caller, who is refused with it; or nothing: it has to be looked at. */
export function overload(call: CallHead, surroundings: Surroundings, caller: Authority): ServiceError | undefined {
  const { target, method } = call;
  // Removes give room, and are the last to be refused.
  if (target.startsWith(DOCUMENTS)) return method === "DELETE" ? undefined : surroundings.documents.refusal;
  if (method === "OPTIONS" || !SEARCHES.some((path) => isPath(target, path))) return undefined;
  const { searches, searchesOfPartition, cluster } = surroundings;
  const key = caller.plainKey(groupOf(target));
  const refusal = searches.refusal ?? (key === undefined ? undefined : searchesOfPartition.refusal(key));
  if (refusal !== undefined) return refusal;
  const reason = cluster.overload?.(key);
  if (reason === undefined) return undefined;
  cluster.countRefusal?.(key);
  return unavailable(reason);
}

/** The last refusal of a thread: in an overload it is that of nearly all, and making one, with where it was made, is dearer than all else here. */
let lastUnavailable: ServiceError | undefined;

function unavailable(reason: string): ServiceError {
  if (lastUnavailable?.message !== reason) lastUnavailable = new ServiceError("UNAVAILABLE", reason);
  return lastUnavailable;
}

function isPath(target: string, path: string): boolean {
  if (!target.startsWith(path)) return false;
  const next = target[path.length];
  return next === undefined || next === "/" || next === "?" || next === "#";
}

/** The partition of the only group that a target names, if it is plain which that is. */
function groupOf(target: string): PartitionKey | undefined {
  const [only, ...others] = target.matchAll(GROUP);
  const value = only?.[1];
  if (value === undefined || value === "" || others.length > 0) return undefined;
  try {
    return `g:${decodeURIComponent(value.replaceAll("+", " "))}`;
  } catch {
    return undefined;
  }
}
