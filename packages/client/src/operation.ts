/** Operations as they are sent: documents and changes as JSON, checked before. */
import { suggestion } from "@brooklet/wire";
import type { BulkOperation } from "./bulk-feed.ts";
import { invalidArgument } from "./error.ts";
import { type FeedOperation, isFeedUpdate } from "./feed.ts";
import type { DocumentInputOf } from "./schema/infer.ts";
import type { AnySchema } from "./schema/schema.ts";
import { encodeUpdate, type UpdateOf } from "./update.ts";

/** An operation as a line of a feed. */
export function bulkOperation<S extends AnySchema>(
  schema: S,
  document: string,
  operation: FeedOperation<DocumentInputOf<S["fields"]>, UpdateOf<S["fields"]>>,
): BulkOperation {
  const { id } = operation;
  if (operation.remove === true) return { json: JSON.stringify({ remove: document }), isRepeatable: true };
  if (!isFeedUpdate(operation)) {
    const fields = encodeDocument(schema, id, operation.fields);
    return { json: JSON.stringify({ put: document, fields }), isRepeatable: true };
  }
  const fields = encodeUpdate(schema, id, operation.update, {});
  const create = operation.create === true ? { create: true } : {};
  // Done twice, a change that computes with what is stored counts twice; one that sets fields does not.
  const changes = Object.values(operation.update as Readonly<Record<string, object | undefined>>);
  const isRepeatable = changes.every((change) => change === undefined || "assign" in change);
  return { json: JSON.stringify({ update: document, ...create, fields }), isRepeatable };
}

/** A document as JSON, checked before it is sent. */
export function encodeDocument(schema: AnySchema, id: string, fields: unknown): unknown {
  const checked = schema.zod.safeParse(fields);
  if (checked.success) {
    refuseExpired(schema, id, fields as Readonly<Record<string, unknown>>);
    return schema.codec.encode(fields);
  }
  const problems = checked.error.issues.slice(0, 3).map((issue) => {
    const place = issue.path.join(".");
    if (issue.code === "unrecognized_keys") {
      const hint = place === "" ? suggestion(issue.keys[0] ?? "", Object.keys(schema.fields)) : "";
      return `there is no field '${[...issue.path, issue.keys[0]].join(".")}'${hint}`;
    }
    return place === "" ? issue.message : `${place}: ${issue.message}`;
  });
  throw invalidArgument(`document '${id}' of schema ${schema.name} cannot be put: ${problems.join("; ")}`);
}

/** A server drops what is over already, and says so nowhere that anybody looks. */
function refuseExpired({ name, expires }: AnySchema, id: string, fields: Readonly<Record<string, unknown>>): void {
  const date = expires === undefined ? undefined : fields[expires.of];
  if (expires === undefined || !(date instanceof Date) || date.getTime() / 1_000 > Date.now() / 1_000 - expires.seconds)
    return;
  const reason = `'${expires.of}' is ${date.toISOString()}, and documents expire ${expires.seconds} s after it`;
  throw invalidArgument(`document '${id}' of schema ${name} cannot be put: ${reason}`);
}
