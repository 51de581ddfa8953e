/** Searches of one group by its object: for the group alone, or for a part of what several find. */
import type { FloorBytes, Merged } from "@brooklet/core";
import type { Answer, PartitionKey } from "../cluster.ts";
import type { SentQuery } from "../query/open-queries.ts";
import type { Served } from "./group-options.ts";
import { answerOf, checkReply, waitingOf } from "./object-answer.ts";
import type { ObjectWaiting } from "./object-calls.ts";

/** What a group is searched by. */
export type GroupSearch<Result> = (
  served: Served,
  key: PartitionKey,
  query: SentQuery,
  waiting: ObjectWaiting,
) => Promise<Result>;

/** The answer to a query that addresses this group alone. */
export async function searchGroup(
  served: Served,
  key: PartitionKey,
  query: SentQuery,
  waiting: ObjectWaiting,
): Promise<Answer> {
  const sent = numbered(served, query);
  const stage = await served.queries.search(key, sent, waitingOf(waiting));
  return answerOf(stage, () => served.queries.forget(sent.number));
}

/** The same for a query that nobody opened before; nothing: it is not of this group alone, or has models run first. */
export async function searchGroupPlain(
  served: Served,
  key: PartitionKey,
  query: SentQuery,
  waiting: ObjectWaiting,
): Promise<Answer | null> {
  const sent = numbered(served, query);
  const stage = await served.queries.searchPlain(key, sent, waitingOf(waiting));
  return stage === undefined ? null : answerOf(stage, () => served.queries.forget(sent.number));
}

/** What the group finds for a query that addresses several. */
export async function searchGroupPart(
  served: Served,
  key: PartitionKey,
  query: SentQuery,
  floor: FloorBytes,
  waiting: ObjectWaiting,
): Promise<Merged> {
  const sent = numbered(served, query);
  try {
    const found = await served.queries.searchBucket(sent, { bucket: 0, keys: [key], floor }, waitingOf(waiting));
    checkReply(found.partial);
    return found;
  } finally {
    served.queries.forget(sent.number);
  }
}

/** A query with a number that no other of this object has: callers know nothing of each other. */
function numbered(served: Served, query: SentQuery): SentQuery {
  served.queried += 1;
  return { ...query, number: served.queried };
}
