/** The way through groups that are objects, whoever goes it: in the order of a directory, which is that of the numbers they have there. */
import { isServiceError, type ServiceError } from "@brooklet/core";
import { isListedKey, type NumberedKey, StoreError } from "@brooklet/store";
import type { PartitionKey, VisitPosition, VisitStep } from "../cluster.ts";
import type { Deadline } from "../deadline.ts";
import { DAMAGED, serviceError } from "../failure.ts";
import { SEARCH_PARTITIONS, VISIT_PARTITIONS } from "../limits.ts";
import type { ObjectPort } from "./object-calls.ts";

/** Groups that a search, or the look of a deployment, asks at a time. */
const GROUPS_AT_ONCE = 32;

/** A way through groups. */
interface Walk {
  readonly port: ObjectPort;
  readonly step: VisitStep;
  readonly deadline: Deadline;
  readonly damaged: (error: ServiceError) => void;
}

/** What came of a step in one group, and where that goes on. */
interface Walked {
  readonly next: VisitPosition | undefined;
  readonly isFull: boolean;
}

/**
 * Goes through the groups of a directory, or through the one that is named, until a step is full, its time over, or as many were asked
 * as may be in one request. Where to go on; nothing: it is done. Positions are those of the directory, with the place within a group of the group. One of
 * several that is damaged, or is listed by a name that is none any more, is `damaged`, and left: others are no worse for it.
 */
export async function walkGroups(
  { port, step, deadline, damaged }: Walk,
  visit: (key: PartitionKey, from: VisitPosition, number: number) => Promise<Walked>,
): Promise<VisitPosition | undefined> {
  const { bucket, key, from, documentsMax } = step;
  let position = from;
  let isFull = documentsMax === 0;
  const pass = (thrown: unknown): Walked => {
    const error = serviceError(thrown);
    if (key !== undefined || error.code !== DAMAGED) throw thrown;
    damaged(error);
    return { next: undefined, isFull: true };
  };
  /** Goes through a group, from where the step is in it. Whether it came to its end. */
  const walkGroup = async (group: NumberedKey): Promise<boolean> => {
    const after = group.number === position.partition ? position.after : "";
    // A document after which is gone on is in the only partition of the object.
    let inside: VisitPosition | undefined = { partition: after === "" ? 0 : 1, after };
    while (inside !== undefined) {
      position = { partition: group.number, after: inside.after };
      if (isFull || deadline.passed) return false;
      const isLost = key === undefined && !isListedKey(group);
      const visiting: Promise<Walked> = isLost ? lost([group]) : visit(group.key as PartitionKey, inside, group.number);
      ({ isFull, next: inside } = await visiting.catch(pass));
    }
    position = { partition: group.number + 1, after: "" };
    return true;
  };
  try {
    for (;;) {
      const some = await listed(port, bucket, key, position.partition);
      for (const group of some) if (!(await walkGroup(group))) return position;
      if (key !== undefined || some.length < VISIT_PARTITIONS) return undefined;
      if (isFull || deadline.passed) return position;
    }
  } catch (error) {
    const hasMoved = position.partition !== from.partition || position.after !== from.after;
    // Told to who begins there: what was gone through before is done.
    if (hasMoved && isServiceError(error) && error.code === "TOO_LARGE") return position;
    throw error;
  }
}

async function listed(
  port: ObjectPort,
  directory: number,
  key: PartitionKey | undefined,
  from: number,
): Promise<readonly NumberedKey[]> {
  if (key !== undefined) return [{ number: from, key }];
  return await port.directory(directory).from(from, VISIT_PARTITIONS);
}

/** As many keys at a time as are asked together. */
export function* portions(keys: readonly PartitionKey[]): Generator<readonly PartitionKey[]> {
  for (let from = 0; from < keys.length; from += GROUPS_AT_ONCE) yield keys.slice(from, from + GROUPS_AT_ONCE);
}

/** The groups of a directory, as many at a time as are asked together. Throws at the end where something is listed by a name that is none any more. */
export async function* listedGroups(port: ObjectPort, directory: number): AsyncGenerator<readonly PartitionKey[]> {
  const unknown: NumberedKey[] = [];
  for (let next = 0, more = true; more; ) {
    const some = await port.directory(directory).from(next, SEARCH_PARTITIONS);
    yield* portions(some.filter(isListedKey).map(({ key }) => key as PartitionKey));
    unknown.push(...some.filter((one) => !isListedKey(one)));
    [next, more] = [(some.at(-1)?.number ?? 0) + 1, some.length === SEARCH_PARTITIONS];
  }
  if (unknown.length > 0) await lost(unknown);
}

/** Of which group it was is not known until that is written, which lists it again. */
async function lost(listed: readonly NumberedKey[]): Promise<never> {
  const numbers = listed.map(({ number }) => number).join(", ");
  throw new StoreError("damaged", `a directory lists groups by names that are damaged, with the numbers ${numbers}`);
}
