/** The way through groups that are objects, whoever goes it: in the order of a directory, which is that of the numbers they have there. */
import { isServiceError } from "@brooklet/core";
import type { NumberedKey } from "@brooklet/store";
import type { PartitionKey, VisitPosition, VisitStep } from "../cluster.ts";
import type { Deadline } from "../deadline.ts";
import { VISIT_PARTITIONS } from "../limits.ts";
import type { ObjectPort } from "./object-calls.ts";

/**
 * Goes through the groups of a directory, or through the one that is named, until a step is full, its time over, or as many were asked
 * as may be in one request. Where to go on; nothing: it is done. Positions are those of the directory, with the place within a group of the group.
 */
export async function walkGroups(
  port: ObjectPort,
  { bucket, key, from, documentsMax }: VisitStep,
  deadline: Deadline,
  visit: (
    key: PartitionKey,
    from: VisitPosition,
    number: number,
  ) => Promise<{ readonly next: VisitPosition | undefined; readonly isFull: boolean }>,
): Promise<VisitPosition | undefined> {
  let position = from;
  let isFull = documentsMax === 0;
  try {
    for (;;) {
      const some = await listed(port, bucket, key, position.partition);
      for (const group of some) {
        let inside: VisitPosition = { partition: 0, after: group.number === position.partition ? position.after : "" };
        // A document after which is gone on is in the only partition of the object.
        if (inside.after !== "") inside = { ...inside, partition: 1 };
        for (let more = true; more; ) {
          position = { partition: group.number, after: inside.after };
          if (isFull || deadline.passed) return position;
          const page = await visit(group.key as PartitionKey, inside, group.number);
          isFull = page.isFull;
          more = page.next !== undefined;
          inside = page.next ?? inside;
        }
        position = { partition: group.number + 1, after: "" };
      }
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
