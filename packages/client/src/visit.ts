/**
 * Visiting: every document of a group that a selection selects, page by page as they are asked for; and removing or
 * changing all of them. Selections are in the document selection language (`mail.year < 2020 and mail.unread == true`).
 */

import { membersThere } from "@brooklet/wire";
import { shownId } from "./document-id.ts";
import { BrookletError, demandKind, invalidArgument, type Kind, refuseUnknown, unexpectedAnswer } from "./error.ts";
import { type ExchangeOptions, exchange, pathSegment } from "./exchange.ts";
import { CONSISTENCY, type Consistency } from "./request-options.ts";
import { memberOf } from "./schema/check.ts";
import { decodeMembers } from "./schema/codec.ts";
import type { Field, FieldMap } from "./schema/field.ts";
import type { DocumentInputOf, DocumentOf } from "./schema/infer.ts";
import { type AnySchema, hasBigints, noField } from "./schema/schema.ts";
import { conditionText, type WriteCondition } from "./selection.ts";

/** What to visit, and how. */
export interface VisitOptions<Name extends string = string, Fields extends FieldMap = FieldMap> {
  /** The selection that documents must fulfil, such as `(it) => it.year.lt(2000)`; all of them unless it is said. */
  readonly where?: WriteCondition<Fields>;
  /** The fields that are wanted; all of them unless it is said. Documents have no others then. */
  readonly fields?: readonly Name[];
  /** Documents of one answer; 500 by default. */
  readonly pageSize?: number;
  /** How new what is visited has to be, where several servers share a store; `strict` unless it is said. */
  readonly consistency?: Consistency;
  /** The content cluster that has the documents: has to be said where the application has several. */
  readonly cluster?: string;
  readonly signal?: AbortSignal;
}

/** A document that was visited. */
export interface VisitedDocument<Document> {
  readonly id: string;
  readonly document: Document;
}

/** What an operation on all documents of a selection may be given. */
export interface SelectedOptions {
  /** The content cluster that has the documents; `documents` unless it is said, as for `deploy`. */
  readonly cluster?: string;
  readonly signal?: AbortSignal;
}

/** What came of an operation on all documents of a selection. */
export interface SelectedSummary {
  /** The number of documents that were selected. */
  readonly selected: number;
}

/** What is visited: the documents of one type in one group. */
export interface VisitedSet<S extends AnySchema> {
  readonly schema: S;
  readonly group: string;
}

const PAGE_SIZE = 500;
const CLUSTER = "documents";
const OPTIONS = {
  where: true,
  fields: "a list",
  pageSize: true,
  consistency: CONSISTENCY,
  cluster: "a text",
  signal: true,
} satisfies Readonly<Record<keyof VisitOptions, Kind>>;

interface VisitAnswer {
  readonly documents?: readonly { readonly id?: unknown; readonly fields?: Readonly<Record<string, unknown>> }[];
  readonly documentCount?: number;
  readonly continuation?: string;
}

/** Visits. The next page is asked for when all documents of the one before were taken. */
export async function* visit<S extends AnySchema>(
  exchangeOptions: ExchangeOptions,
  set: VisitedSet<S>,
  options: VisitOptions,
): AsyncGenerator<VisitedDocument<DocumentOf<S["fields"]>>, void, undefined> {
  const { schema } = set;
  refuseUnknown("a visit", options, OPTIONS);
  const { where, fields, pageSize = PAGE_SIZE, consistency, cluster, signal } = options;
  if (!(Number.isInteger(pageSize) && pageSize > 0)) throw invalidArgument(`pageSize is ${pageSize}: give 1 or more`);
  const prefix = `id:${schema.namespace}:${schema.name}:g=${set.group}:`;
  const parameters = {
    wantedDocumentCount: String(pageSize),
    ...membersThere({
      selection: where === undefined ? where : conditionText(schema, where, "the selection of a visit"),
      fieldSet: fields && `${schema.name}:${fields.join(",")}`,
      consistency,
      cluster,
    }),
  };
  const request = {
    method: "GET",
    path: pathOf(exchangeOptions, set),
    parameters,
    signal,
    isExact: hasBigints(schema),
  } as const;
  for await (const { documents = [] } of pages(exchangeOptions, request)) {
    for (const { id, fields: found = {} } of documents) {
      if (typeof id !== "string" || !id.startsWith(prefix)) throw unexpectedAnswer(`a visit showed ${String(id)}`);
      signal?.throwIfAborted();
      exchangeOptions.closed?.throwIfAborted();
      yield { id: shownId(id), document: decodeDocument(schema, id, found, fields) };
    }
  }
}

function decodeDocument<S extends AnySchema>(
  schema: S,
  id: string,
  found: Readonly<Record<string, unknown>>,
  fields: readonly string[] | undefined,
): DocumentOf<S["fields"]> {
  try {
    return decodeMembers(schema.fields, found, fields ?? Object.keys(schema.fields)) as DocumentOf<S["fields"]>;
  } catch (error) {
    throw unexpectedAnswer(`document '${id}': ${(error as Error).message}`);
  }
}

/** Removes all documents that are selected. */
export async function removeWhere(
  exchangeOptions: ExchangeOptions,
  set: VisitedSet<AnySchema>,
  where: string,
  options: SelectedOptions,
): Promise<SelectedSummary> {
  return await massAnswers(exchangeOptions, "DELETE", pathOf(exchangeOptions, set), where, options);
}

/** Gives fields of all documents that are selected other values. */
export async function updateWhere<S extends AnySchema>(
  exchangeOptions: ExchangeOptions,
  set: VisitedSet<S>,
  where: string,
  fields: Partial<DocumentInputOf<S["fields"]>>,
  options: SelectedOptions,
): Promise<SelectedSummary> {
  demandKind("fields", fields, "an object");
  const given = Object.entries(fields).filter(([, value]) => value !== undefined);
  const assigned = given.map(([name, value]) => {
    const field = memberOf(set.schema.fields, name) as Field | undefined;
    if (field === undefined) throw noField(set.schema, name);
    const checked = field.codec.zod.safeParse(value);
    const problem = checked.success ? undefined : checked.error.issues[0]?.message;
    if (problem !== undefined) throw invalidArgument(`field '${name}' cannot be set: ${problem}`);
    return [name, { assign: field.codec.encode(value) }] as const;
  });
  const body = JSON.stringify({ fields: Object.fromEntries(assigned) });
  return await massAnswers(exchangeOptions, "PUT", pathOf(exchangeOptions, set), where, options, body);
}

/** Does the same to all documents below a path that are selected. */
export async function massAnswers(
  exchangeOptions: ExchangeOptions,
  method: "PUT" | "DELETE",
  path: string,
  where: string,
  options: SelectedOptions,
  body?: string,
): Promise<SelectedSummary> {
  refuseUnknown("what is done to a selection", options, ["cluster", "signal"]);
  const { cluster = CLUSTER, signal } = options;
  let selected = 0;
  const parameters = { cluster, selection: where };
  try {
    for await (const { documentCount = 0 } of pages(exchangeOptions, { method, path, parameters, signal, body })) {
      selected += documentCount;
    }
  } catch (error) {
    if (selected === 0 || !BrookletError.is(error)) throw error;
    // The step that failed may have done nothing: what the caller asked for was done in part.
    const message = `${error.message} (after ${selected} documents were changed)`;
    throw new BrookletError(error.code, message, { ...error, outcome: "unknown", cause: error });
  }
  return { selected };
}

/** A request about many documents. */
interface MassRequest {
  readonly method: "GET" | "PUT" | "DELETE";
  readonly path: string;
  readonly parameters: Readonly<Record<string, string>>;
  readonly signal: AbortSignal | undefined;
  readonly body?: string | undefined;
  readonly isExact?: boolean;
}

/** The path of the documents of a set. */
function pathOf({ keepsDotSegments }: ExchangeOptions, { schema, group }: VisitedSet<AnySchema>): string {
  const [namespace, type, name] = [schema.namespace, schema.name, group].map((part) =>
    pathSegment(part, keepsDotSegments),
  );
  return `/document/v1/${namespace}/${type}/group/${name}`;
}

/** The answers to a request for many documents, continued until nothing is left. */
async function* pages(
  exchangeOptions: ExchangeOptions,
  { method, path, parameters, signal, body, isExact = false }: MassRequest,
): AsyncGenerator<VisitAnswer, void, undefined> {
  let continuation: string | undefined;
  do {
    const query = new URLSearchParams({ ...parameters, ...(continuation && { continuation }) });
    const request = { method, target: `${path}?${query}`, signal, isRepeatable: true, isExact };
    const asked = exchange(exchangeOptions, { ...request, ...(body && { body }) });
    const { json } = await asked.catch((error: unknown) => unreadSelection(error, parameters["selection"]));
    yield json as VisitAnswer;
    ({ continuation } = json as VisitAnswer);
  } while (continuation !== undefined);
}

const UNREAD = /^Exception parsing document selector '.*': (.*?)(?: at line \d+, column \d+)?$/s;

/** Throws why the selection that someone wrote as text cannot be read: without what was added to it. */
function unreadSelection(error: unknown, selection: string | undefined): never {
  if (!BrookletError.is(error) || selection === undefined) throw error;
  const [, reason] = UNREAD.exec(error.message) ?? [];
  if (reason === undefined) throw error;
  const message = `The selection ${selection} cannot be read: ${reason}`;
  throw new BrookletError(error.code, message, { ...error, cause: error });
}
