/** A feed into one group: in bulk where the server takes that, one request for each document where not. */
import { nameOf, wholeId } from "../document-id.ts";
import { type DocumentPlace, documentSet } from "../document-request.ts";
import { refuseUnknown } from "../error.ts";
import {
  type FeedOperation,
  type FeedOptions,
  type FeedOutcome,
  type FeedSource,
  type FeedSurroundings,
  isFeedUpdate,
} from "../feed.ts";
import type { MiniGroup } from "../mini-group.ts";
import type { DocumentInputOf } from "../schema/infer.ts";
import type { AnySchema } from "../schema/schema.ts";
import type { UpdateOf } from "../update.ts";
import { BULK_CONCURRENCY, BulkSender, takesFeeds } from "./bulk-feed.ts";
import { bulkOperation, demandOne } from "./feed-line.ts";
import { feedRun, oneByOne, type Settlement } from "./feed-run.ts";

/** An operation on a document of a schema. */
export type OperationOf<S extends AnySchema> = FeedOperation<DocumentInputOf<S["fields"]>, UpdateOf<S["fields"]>>;

/** Feeds operations into a group. */
export async function* groupFeed<S extends AnySchema>(
  group: MiniGroup,
  { exchange }: Pick<DocumentPlace, "exchange">,
  schema: S,
  operations: FeedSource<OperationOf<S>>,
  options: FeedOptions,
  sink: FeedSurroundings["sink"],
): AsyncGenerator<FeedOutcome, void, undefined> {
  refuseUnknown("a feed", options, ["cluster", "concurrency", "signal"]);
  const { signal, concurrency = BULK_CONCURRENCY } = options;
  signal?.throwIfAborted();
  const { closed } = exchange;
  closed?.throwIfAborted();
  const set = documentSet(schema, group.name);
  const surroundings = { closed, nameOf: (id: string) => nameOf(set, id), sink };
  if (await takesFeeds(exchange)) {
    const sender = new BulkSender(exchange, options);
    const send = (operation: OperationOf<S>, settlement: Settlement): void =>
      sender.apply(bulkOperation(schema, wholeId(set, operation.id), operation), settlement);
    yield* feedRun(operations, send, { ...options, concurrency }, surroundings);
    return;
  }
  yield* feedRun(
    operations,
    oneByOne((operation) => apply(group, schema, operation, options)),
    options,
    surroundings,
  );
}

/** Does one operation by itself. */
async function apply<S extends AnySchema>(
  group: MiniGroup,
  schema: S,
  operation: OperationOf<S>,
  { concurrency: _, ...request }: FeedOptions,
): Promise<void> {
  demandOne(operation);
  const { id } = operation;
  if (operation.remove === true) return group.remove(schema, id, request);
  if (!isFeedUpdate(operation)) return group.put(schema, id, operation.fields, request);
  const create = operation.create === true ? { create: true } : {};
  return group.update(schema, id, operation.update, { ...request, ...create });
}
