/** A feed into one group: in bulk where the server takes that, one request for each document where not. */
import { nameOf, wholeId } from "../document-id.ts";
import { type DocumentPlace, documentSet } from "../document-request.ts";
import { refuseUnknown } from "../error.ts";
import type { FeedOperation, FeedOptions, FeedOutcome, FeedSource } from "../feed.ts";
import type { DocumentInputOf } from "../schema/infer.ts";
import type { AnySchema } from "../schema/schema.ts";
import type { UpdateOf } from "../update.ts";

/** An operation on a document of a schema. */
export type OperationOf<S extends AnySchema> = FeedOperation<DocumentInputOf<S["fields"]>, UpdateOf<S["fields"]>>;

/** Feeds operations; `single` does one by itself. */
export async function* groupFeed<S extends AnySchema>(
  { exchange, group }: DocumentPlace,
  schema: S,
  operations: FeedSource<OperationOf<S>>,
  single: (operation: OperationOf<S>) => Promise<void>,
  options: FeedOptions,
): AsyncGenerator<FeedOutcome, void, undefined> {
  refuseUnknown("a feed", options, ["concurrency", "signal"]);
  const { bulkOperation, BULK_CONCURRENCY, BulkSender, feedRun, takesFeeds } = await import("../group-verbs.ts");
  const { signal, concurrency = BULK_CONCURRENCY } = options;
  signal?.throwIfAborted();
  const { closed } = exchange;
  closed?.throwIfAborted();
  const set = documentSet(schema, group);
  const surroundings = { closed, nameOf: (id: string) => nameOf(set, id) };
  if (await takesFeeds(exchange)) {
    const sender = new BulkSender(exchange, signal);
    const apply = async (operation: OperationOf<S>) =>
      sender.apply(bulkOperation(schema, wholeId(set, operation.id), operation));
    yield* feedRun(operations, apply, { ...options, concurrency }, surroundings);
    return;
  }
  yield* feedRun(operations, single, options, surroundings);
}
