/** Operations as lines of a feed in bulk. */

import { encodeDocument } from "../document-request.ts";
import { invalidArgument } from "../error.ts";
import { type FeedOperation, isFeedUpdate } from "../feed.ts";
import type { DocumentInputOf } from "../schema/infer.ts";
import type { AnySchema } from "../schema/schema.ts";
import { encodeUpdate, type UpdateOf } from "../update.ts";
import type { BulkOperation } from "./bulk-feed.ts";

/** Refuses what is several operations at once, or none: which of them is meant cannot be known. */
export function demandOne({ id, fields, update, remove }: FeedOperation<unknown, unknown>): void {
  const given = [fields, update, remove || undefined].filter((it) => it !== undefined).length;
  if (given !== 1) throw invalidArgument(`'${id}' has ${given ? "several" : "none"} of fields, update and remove`);
}

/** An operation as a line of a feed. */
export function bulkOperation<S extends AnySchema>(
  schema: S,
  document: string,
  operation: FeedOperation<DocumentInputOf<S["fields"]>, UpdateOf<S["fields"]>>,
): BulkOperation {
  demandOne(operation);
  const { id } = operation;
  if (operation.remove === true) return { line: { remove: document }, isRepeatable: true };
  if (!isFeedUpdate(operation)) {
    const fields = encodeDocument(schema, id, operation.fields);
    return { line: { put: document, fields }, isRepeatable: true };
  }
  const create = operation.create === true ? { create: true } : {};
  const { fields, isRepeatable } = encodeUpdate(schema, id, operation.update, create);
  return { line: { update: document, ...create, fields }, isRepeatable };
}
