/** A feed into one group: in bulk where the server takes that, one request for each document where not. */
import { nameOf, wholeId } from "../document-id.ts";
import { type DocumentPlace, documentSet } from "../document-request.ts";
import { refuseUnknown } from "../error.ts";
import type { FeedOptions, FeedOutcome, FeedSource, FeedSurroundings } from "../feed.ts";
import type { AnySchema } from "../schema/schema.ts";
import { BULK_CONCURRENCY, BulkSender, takesFeeds } from "./bulk-feed.ts";
import { bulkOperation } from "./feed-line.ts";
import { feedRun, oneByOne, type Settlement } from "./feed-run.ts";
import type { OperationOf } from "./group-feed.ts";

/** Feeds operations; `single` does one by itself. */
export async function* chosenFeed<S extends AnySchema>(
  { exchange, group }: DocumentPlace,
  schema: S,
  operations: FeedSource<OperationOf<S>>,
  single: (operation: OperationOf<S>) => Promise<void>,
  options: FeedOptions,
  sink: FeedSurroundings["sink"],
): AsyncGenerator<FeedOutcome, void, undefined> {
  refuseUnknown("a feed", options, ["cluster", "concurrency", "signal"]);
  const { signal, concurrency = BULK_CONCURRENCY } = options;
  signal?.throwIfAborted();
  const { closed } = exchange;
  closed?.throwIfAborted();
  const set = documentSet(schema, group);
  const surroundings = { closed, nameOf: (id: string) => nameOf(set, id), sink };
  if (await takesFeeds(exchange)) {
    const sender = new BulkSender(exchange, options);
    const apply = (operation: OperationOf<S>, settlement: Settlement): void =>
      sender.apply(bulkOperation(schema, wholeId(set, operation.id), operation), settlement);
    yield* feedRun(operations, apply, { ...options, concurrency }, surroundings);
    return;
  }
  yield* feedRun(operations, oneByOne(single), options, surroundings);
}
