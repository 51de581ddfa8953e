/**
 * What the vector stores of other libraries have in common: documents of one group with their vectors. Metadata that are fields of the
 * schema are these fields, the others are JSON in a field of their own. How a library names all that is its store's.
 */
import {
  type AnySchema,
  BrookletError,
  type Condition,
  type Field,
  type Group,
  invalidArgument,
  type SearchOptions,
} from "@brooklet/client";
import { hasCalendarDay, suggestion } from "@brooklet/wire";
import { kindOf } from "../model-field.ts";

/** Which documents a store has, and where their parts are. */
export interface StorePlace<S extends AnySchema = AnySchema> {
  readonly group: Group;
  readonly schema: S;
  /** The field of a document's text. */
  readonly textField: keyof S["fields"] & string;
  /** The field of its vector. */
  readonly vectorField: keyof S["fields"] & string;
  /**
   * A field for the metadata that have no field of their own: a `json()`, or a `string()` that has them as JSON. They are kept and
   * given back, and not searched. Without it such metadata are refused by their names.
   */
  readonly metadataField?: keyof S["fields"] & string;
}

/** A place with a field that is the store's own, and no metadata. */
export interface BoundPlace extends StorePlace {
  readonly ownField?: string;
}

/** Values by the names of fields or of metadata. */
export type Values = Readonly<Record<string, unknown>>;

/** A document that a search near a vector found. */
export interface StoredHit {
  readonly id: string;
  readonly score: number;
  readonly text: string;
  readonly metadata: Record<string, unknown>;
  /** The value of the store's own field. */
  readonly own: unknown;
  /** Empty unless it is asked for. */
  readonly vector: number[];
}

/** What is searched for: near a vector, by words, by a condition. */
export interface StoreSearch {
  readonly vector?: readonly number[];
  readonly text?: string;
  readonly where: Condition | undefined;
  readonly limit: number;
  readonly hasVectors: boolean;
}

/** Documents of one query at most. */
export const DOCUMENTS_MAX = 400;

/** An error of what another library has words for, and brooklet has not. */
export function unsupportedError(message: string): BrookletError {
  return new BrookletError("UNSUPPORTED", message);
}

/** Refuses a place whose fields are not there, or are of another kind. */
export function checkPlace({ schema, textField, vectorField, metadataField }: StorePlace): void {
  for (const [option, name] of Object.entries({ textField, vectorField, metadataField })) {
    if (name !== undefined && !Object.hasOwn(schema.fields, name))
      throw invalidArgument(
        `\`${option}\`: schema ${schema.name} has no field '${name}'${suggestion(name, Object.keys(schema.fields))}`,
      );
  }
  if (schema.fields[vectorField]?.definition.type.kind !== "tensor")
    throw invalidArgument(`\`vectorField\`: '${vectorField}' of schema ${schema.name} is no vector`);
}

/** Metadata as fields: each that has a field is that field, the others are JSON. */
export function metadataFields(place: BoundPlace, metadata: Values): Values {
  const { schema, textField, vectorField, metadataField, ownField } = place;
  const taken: readonly (string | undefined)[] = [textField, vectorField, metadataField, ownField];
  const given = Object.entries(metadata).filter(([, value]) => value !== undefined && value !== null);
  const isField = ([name]: readonly [string, unknown]): boolean => {
    const field = Object.hasOwn(schema.fields, name) ? schema.fields[name] : undefined;
    return field !== undefined && !taken.includes(name) && field.definition.made === undefined;
  };
  const others = Object.fromEntries(given.filter((entry) => !isField(entry)));
  const [stranger] = Object.keys(others);
  if (stranger !== undefined && metadataField === undefined)
    throw invalidArgument(
      `metadata '${stranger}' have no field of their own in schema ${schema.name}: name a field of json() as \`metadataField\``,
    );
  const own = given.filter(isField).map(([name, value]) => [name, fieldValue(schema.fields[name], name, value)]);
  const rest = metadataField === undefined ? undefined : schema.fields[metadataField];
  const isStored = rest !== undefined && (stranger !== undefined || !rest.isOptional);
  return {
    ...Object.fromEntries(own),
    ...(isStored
      ? { [metadataField ?? ""]: rest.codec.zod.safeParse(others).success ? others : JSON.stringify(others) }
      : {}),
  };
}

/** A value as a field has it: libraries that know JSON only give dates as texts. */
export function fieldValue(field: Field | undefined, name: string, value: unknown): unknown {
  if (field === undefined || typeof value !== "string" || kindOf(field) !== "date") return value;
  const date = new Date(value);
  if (Number.isNaN(date.getTime()) || !hasCalendarDay(value))
    throw invalidArgument(`'${name}' is a date, and '${value.slice(0, 40)}' is none`);
  return date;
}

/** The hits of a search, the best first. */
export async function searchStore(place: BoundPlace, asked: StoreSearch): Promise<StoredHit[]> {
  const { group, schema, vectorField } = place;
  const { vector, text, where, limit, hasVectors } = asked;
  if (limit === 0) return [];
  if (!Number.isInteger(limit) || limit < 1 || limit > DOCUMENTS_MAX)
    throw invalidArgument(`${limit} documents cannot be asked for: give a whole number from 1 to ${DOCUMENTS_MAX}`);
  const shown = Object.keys(schema.fields).filter((name) => {
    return name !== vectorField && schema.fields[name]?.definition.indexing.includes("summary");
  });
  const options = {
    limit,
    fields: [...shown, ...(hasVectors ? [vectorField] : [])],
    ...(vector === undefined ? {} : { near: { field: vectorField, vector, targetHits: limit } }),
    ...(text === undefined ? {} : { text }),
    ...(where === undefined ? {} : { where }),
  };
  const { hits } = await group.search(schema, options as unknown as SearchOptions<AnySchema>);
  return hits.map(({ id, relevance, fields }) => storedHit(place, id, relevance, fields as Values));
}

function storedHit(place: BoundPlace, id: string, score: number, fields: Values): StoredHit {
  const { textField, vectorField, metadataField = "", ownField = "" } = place;
  const { [textField]: text, [vectorField]: vector, [metadataField]: others, [ownField]: own, ...metadata } = fields;
  return {
    id,
    score,
    text: String(text ?? ""),
    metadata: { ...otherMetadata(others), ...metadata },
    own,
    vector: [...((vector ?? []) as readonly number[])],
  };
}

/** Metadata as they were put. What somebody else has stored there and is no object is given as it is. */
export function otherMetadata(stored: unknown): Values {
  let value = stored;
  if (typeof stored === "string") {
    try {
      value = JSON.parse(stored) as unknown;
    } catch {
      // Told as it is.
    }
  }
  if (value === undefined || value === null) return {};
  return typeof value === "object" && !Array.isArray(value) ? (value as Values) : { metadata: stored };
}

/** Puts documents; one that fails is an error. */
export async function putAll(
  { group, schema }: StorePlace,
  documents: readonly { readonly id: string; readonly fields: Values }[],
): Promise<void> {
  await group.feed(schema, documents as never);
}

/** Removes documents by their ids. */
export async function removeIds({ group, schema }: StorePlace, ids: Iterable<string>): Promise<void> {
  await group.feed(
    schema,
    [...ids].map((id) => ({ id, remove: true as const })),
  );
}

/** Removes what a condition lets through, but for these. */
export async function removeMatching(
  place: StorePlace,
  where: Condition,
  kept: ReadonlySet<string> = new Set(),
): Promise<void> {
  const { group, schema } = place;
  async function* removals(): AsyncGenerator<{ readonly id: string; readonly remove: true }> {
    for await (const { id } of matching(place, where)) if (!kept.has(id)) yield { id, remove: true };
  }
  await group.feed(schema, removals());
}

/** Changes what a condition lets through. */
export async function updateMatching(place: StorePlace, where: Condition, update: Values): Promise<void> {
  // A change may take a document out of what the condition lets through, or move it: they are looked up first.
  const ids: string[] = [];
  for await (const { id } of matching(place, where)) ids.push(id);
  await place.group.feed(place.schema, ids.map((id) => ({ id, update })) as never);
}

function matching({ group, schema }: StorePlace, where: Condition): AsyncGenerator<{ readonly id: string }> {
  return group.cursor(schema, { where, pageSize: DOCUMENTS_MAX });
}
