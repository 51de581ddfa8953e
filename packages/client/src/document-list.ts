/** Several documents by their ids. */
import { type DocumentPlace, get, pathOf } from "./document-request.ts";
import { demandKind, invalidArgument, refuseUnknown } from "./error.ts";
import type { GetManyOptions } from "./request-options.ts";
import type { FieldMap } from "./schema/field.ts";
import type { StoredOf } from "./schema/infer.ts";
import type { AnySchema } from "./schema/schema.ts";

const GETS_AT_ONCE = 16;

/** Documents in the order of their ids, nothing where there is none; so many at a time. */
export async function getMany<Fields extends FieldMap>(
  place: DocumentPlace,
  schema: AnySchema,
  ids: readonly string[],
  options: GetManyOptions,
): Promise<(StoredOf<Fields> | undefined)[]> {
  refuseUnknown("getMany", options, ["concurrency", "consistency", "cluster", "signal"]);
  const { concurrency = GETS_AT_ONCE, ...request } = options;
  if (!(Number.isInteger(concurrency) && concurrency >= 1))
    throw invalidArgument(`concurrency is ${concurrency}: give a whole number, 1 or more`);
  demandKind("ids", ids, "a list");
  // What cannot be an id is told before anything is asked.
  for (const id of ids) pathOf(place, schema, id);
  const found: (StoredOf<Fields> | undefined)[] = ids.map(() => undefined);
  const waiting = ids.entries();
  const worker = async (): Promise<void> => {
    for (const [index, id] of waiting) found[index] = await get<Fields>(place, schema, id, request);
  };
  await Promise.all(Array.from({ length: Math.min(concurrency, ids.length) }, worker));
  return found;
}
