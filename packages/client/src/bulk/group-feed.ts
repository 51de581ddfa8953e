/** A feed into one group, which is loaded with the first. */
import type { DocumentPlace } from "../document-request.ts";
import type { FeedOperation, FeedOptions, FeedOutcome, FeedSource, FeedSurroundings } from "../feed.ts";
import type { DocumentInputOf } from "../schema/infer.ts";
import type { AnySchema } from "../schema/schema.ts";
import type { UpdateOf } from "../update.ts";

/** An operation on a document of a schema. */
export type OperationOf<S extends AnySchema> = FeedOperation<DocumentInputOf<S["fields"]>, UpdateOf<S["fields"]>>;

/** Feeds operations; `single` does one by itself. */
export async function* groupFeed<S extends AnySchema>(
  place: DocumentPlace,
  schema: S,
  operations: FeedSource<OperationOf<S>>,
  single: (operation: OperationOf<S>) => Promise<void>,
  options: FeedOptions,
  sink: FeedSurroundings["sink"],
): AsyncGenerator<FeedOutcome, void, undefined> {
  const { chosenFeed } = await import("../group-verbs.ts");
  yield* chosenFeed(place, schema, operations, single, options, sink);
}
