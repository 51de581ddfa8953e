/** Requests about single documents of one group: what they are addressed to, what they say, and how their answers are read. */
import { type DocumentFound, suggestion, type UnsharedBytes } from "@brooklet/wire";
import { type DocumentSet, givenId } from "./document-id.ts";
import { BrookletError, FLAG, invalidArgument, type Kind, refuseUnknown, unexpectedAnswer } from "./error.ts";
import { type ExchangeAnswer, type ExchangeOptions, exchange, pathSegment } from "./exchange.ts";
import { CONSISTENCY, type CreateOptions, type GetOptions, type UpdateOptions } from "./request-options.ts";
import { decodeMembers } from "./schema/codec.ts";
import type { FieldMap } from "./schema/field.ts";
import type { StoredOf } from "./schema/infer.ts";
import { type AnySchema, hasBigints } from "./schema/schema.ts";
import type { WriteCondition } from "./selection.ts";

/** Where documents are, and how to reach them. */
export interface DocumentPlace {
  readonly exchange: ExchangeOptions;
  readonly group: string;
  /** Loads what writes changes and conditions, with the first of them. */
  readonly language: () => Promise<WriteLanguage>;
}

/** What writes the changes of an update, and conditions of writes, and tells of those that were not met. */
export type WriteLanguage = typeof import("./write-language.ts");

const WRITE_OPTIONS = {
  cluster: "a text",
  condition: true,
  create: FLAG,
  paths: "an object",
  signal: true,
} satisfies Readonly<Record<keyof UpdateOptions, Kind>>;
const GET_OPTIONS = { consistency: CONSISTENCY, cluster: "a text", signal: true } as const;

/** The documents of a schema in a group. */
export function documentSet(schema: AnySchema, group: string): DocumentSet {
  return { namespace: schema.namespace, type: schema.name, group };
}

/** Where a document is; refuses what cannot be its id. */
export function pathOf(
  { exchange: { keepsDotSegments }, group }: DocumentPlace,
  schema: AnySchema,
  id: string,
): string {
  const [of, own] = givenId(documentSet(schema, group), id);
  const [namespace, type, name, local] = [of, schema.name, group, own].map((part) =>
    pathSegment(part, keepsDotSegments),
  );
  return `/document/v1/${namespace}/${type}/group/${name}/${local}`;
}

/** A parameter, if it is said. */
const said = (name: string, value: string | undefined): string | undefined =>
  value === undefined ? undefined : `${name}=${encodeURIComponent(value)}`;

/** The target of a request about a document; parameters that are said. */
function targetOf(
  place: DocumentPlace,
  schema: AnySchema,
  id: string,
  parameters: readonly (string | false | undefined)[],
): string {
  const query = parameters.filter(Boolean).join("&");
  return pathOf(place, schema, id) + (query && `?${query}`);
}

/** A document as JSON, checked before it is sent. */
export function encodeDocument(schema: AnySchema, id: string, fields: unknown): unknown {
  const checked = schema.zod.safeParse(fields);
  if (checked.success) {
    refuseExpired(schema, id, fields as Readonly<Record<string, unknown>>);
    return schema.codec.encode(fields);
  }
  // Each of its members would be missed.
  if (fields instanceof Promise) throw invalidArgument("what is put is a Promise: await it");
  const problems = checked.error.issues.slice(0, 3).map((issue) => {
    const place = issue.path.join(".");
    if (issue.keys !== undefined) {
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

/** Puts, changes or removes a document, which is repeatable unless a change computes with what is stored. */
export async function write<S extends AnySchema>(
  place: DocumentPlace,
  method: "POST" | "PUT" | "DELETE",
  document: { readonly schema: S; readonly id: string; readonly body?: string | UnsharedBytes },
  options: CreateOptions<S["fields"]>,
  isRepeatable = true,
): Promise<void> {
  const { schema, id, body } = document;
  refuseUnknown("a write", options, WRITE_OPTIONS);
  const { cluster, condition, create, signal } = options;
  const selection = condition === undefined ? undefined : await selectionOf(place, schema, condition);
  const target = targetOf(place, schema, id, [
    said("condition", selection),
    create === true && "create=true",
    said("cluster", cluster),
  ]);
  // Done twice, a condition may fail for having been fulfilled the first time.
  const request = { method, target, signal, isRepeatable: condition === undefined && isRepeatable };
  try {
    await exchange(place.exchange, body === undefined ? request : { ...request, body });
  } catch (error) {
    if (selection === undefined || !BrookletError.is(error) || error.code !== "CONDITION_NOT_MET") throw error;
    const { unmetCondition } = await place.language();
    throw unmetCondition(error, `document '${id}' of schema ${schema.name}`, selection);
  }
}

/** A condition as the server reads it; what writes it is loaded with the first one. */
async function selectionOf<S extends AnySchema>(
  { language }: DocumentPlace,
  schema: S,
  condition: WriteCondition<S["fields"]>,
): Promise<string> {
  const { conditionText } = await language();
  return conditionText(schema, condition, "the condition of a write");
}

/** The fields of a document as they are stored, not decoded; nothing if it is not there. `fieldSet` stands in a URL. */
export async function storedFields(
  place: DocumentPlace,
  schema: AnySchema,
  id: string,
  options: GetOptions,
  fieldSet?: string,
): Promise<Readonly<Record<string, unknown>> | undefined> {
  refuseUnknown("a read", options, GET_OPTIONS);
  const { signal, consistency, cluster } = options;
  const target = targetOf(place, schema, id, [
    fieldSet && `fieldSet=${fieldSet}`,
    said("consistency", consistency),
    said("cluster", cluster),
  ]);
  const isExact = hasBigints(schema);
  const request = { method: "GET", target, signal, alsoAccept: 404, isRepeatable: true, isExact } as const;
  const answer = await exchange(place.exchange, request);
  if (answer.status === 404) return nothingThere(answer);
  return (answer.json as Partial<DocumentFound>).fields ?? {};
}

/** Nothing: there is no such document. Throws if there is no such path: then nobody knows. */
function nothingThere({ json }: ExchangeAnswer): undefined {
  const { message } = json as { readonly message?: string };
  if (message !== undefined) throw new BrookletError("NOT_FOUND", String(message), { status: 404 });
  return undefined;
}

/** A document; nothing if it is not there. */
export async function get<Fields extends FieldMap>(
  place: DocumentPlace,
  schema: AnySchema,
  id: string,
  options: GetOptions,
): Promise<StoredOf<Fields> | undefined> {
  const fields = await storedFields(place, schema, id, options);
  if (fields === undefined) return undefined;
  try {
    return decodeMembers(schema.fields, fields, Object.keys(schema.fields)) as StoredOf<Fields>;
  } catch (error) {
    throw unexpectedAnswer(`document '${id}': ${(error as Error).message}`);
  }
}
