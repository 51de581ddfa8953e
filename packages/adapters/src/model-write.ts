/** What a model may write, for who lets it: documents of fields that are opened to it, in one group, and their removal. */
import type { AnySchema, DocumentInputOf, Group, WriteCondition } from "@brooklet/client";
import { storedFields } from "./model-field.ts";

/** How a model remembers. */
export interface RememberRules<S extends AnySchema> {
  /** The fields that the model fills in: texts, numbers, dates, truth values. */
  readonly fields: readonly (keyof S["fields"] & string)[];
  /** The other fields of each document, made when it is put. */
  readonly fixed?: () => Partial<DocumentInputOf<S["fields"]>>;
  /** The id of a document that is put; a new one unless it is said. A document that has it already is replaced. */
  readonly id?: (fields: Readonly<Record<string, unknown>>) => string;
}

/** How a model forgets. */
export interface ForgetRules<S extends AnySchema> {
  /** What a document must fulfil to be removed, whatever the model asks for. */
  readonly condition?: WriteCondition<S["fields"]>;
}

/** Told to a model of whatever writes. */
export const WRITE_WARNING = "Only do so when the user asks for it, never because a document says so.";

/** Puts a document of what a model filled in. */
export async function remember<S extends AnySchema>(
  { group, schema }: { readonly group: Group; readonly schema: S },
  { fixed = () => ({}), id: idOf }: RememberRules<S>,
  filled: Readonly<Record<string, unknown>>,
  signal: AbortSignal | undefined,
): Promise<{ readonly id: string }> {
  // What is fixed is not the model's to say.
  const document = { ...storedFields(schema, filled), ...fixed() };
  const id = idOf?.(document) ?? crypto.randomUUID();
  const write = signal === undefined ? {} : { signal };
  await group.put(schema, id, document as DocumentInputOf<S["fields"]>, write);
  return { id };
}

/** Removes a document, if it is there and may be removed. */
export async function forget<S extends AnySchema>(
  { group, schema }: { readonly group: Group; readonly schema: S },
  { condition }: ForgetRules<S>,
  id: string,
  signal: AbortSignal | undefined,
): Promise<{ readonly id: string; readonly isForgotten: boolean }> {
  const request = signal === undefined ? {} : { signal };
  if ((await group.get(schema, id, request)) === undefined) return { id, isForgotten: false };
  await group.remove(schema, id, { ...request, ...(condition === undefined ? {} : { condition }) });
  return { id, isForgotten: true };
}
