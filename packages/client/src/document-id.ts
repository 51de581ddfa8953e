/**
 * Ids of documents. The SDK shows the one a document was put under; Vespa's whole one (`id:mail:mail:g=alice:m1`), as its
 * feeds and its other clients have it, is understood wherever an id is given.
 */
import { invalidArgument } from "./error.ts";

/** The documents that ids are of: one type of one group. */
export interface DocumentSet {
  readonly namespace: string;
  /** The document type. */
  readonly type: string;
  readonly group: string;
}

const WHOLE = /^id:([^:]+):([^:]+):((?:n=\d+|g=[^:,]+)?):(.*)$/s;

/**
 * The namespace of a document and the id it was put under, given that or the whole one, which may be of another namespace than the set: other
 * clients put such documents, and hits show them. One of another group or type is refused.
 *
 * @example
 * ```ts
 * givenId({ namespace: "mail", type: "mail", group: "alice" }, "id:mail:mail:g=alice:m1"); // ["mail", "m1"]
 * ```
 */
export function givenId(set: DocumentSet, id: string): readonly [namespace: string, own: string] {
  const [, namespace = "", type, keys = "", own] = WHOLE.exec(id) ?? [];
  if (typeof id !== "string" || id === "" || own === "")
    throw invalidArgument("the id of a document is a text, and may not be empty");
  if (own === undefined) return [set.namespace, id];
  const of = keys === "" ? "no group" : keys.replace(/^g=(.*)$/s, "group '$1'").replace(/^n=/, "number ");
  if (type !== set.type) throw invalidArgument(`'${id}' is a document of type '${type}', not '${set.type}'`);
  if (keys !== `g=${set.group}`) throw invalidArgument(`'${id}' is a document of ${of}, not of group '${set.group}'`);
  return [namespace, own];
}

/** The whole id of a document, given that or the one it was put under. */
export function wholeId(set: DocumentSet, id: string): string {
  const [namespace, own] = givenId(set, id);
  return prefixOf({ ...set, namespace }) + own;
}

function prefixOf({ namespace, type, group }: DocumentSet): string {
  return `id:${namespace}:${type}:g=${group}:`;
}

/**
 * The id to show for a whole one: the one it was put under, unless that would be taken for a whole one, or it is of another namespace.
 *
 * @example
 * ```ts
 * shownId("id:mail:mail:g=alice:m1"); // "m1"
 * ```
 */
export function shownId(whole: string, namespace?: string): string {
  const [, of, , , own = whole] = WHOLE.exec(whole) ?? [];
  return WHOLE.test(own) || (namespace && of !== namespace) ? whole : own;
}

/** One name for a document, however its id was given. What is no id of the set stays as it is. */
export function nameOf(set: DocumentSet, id: string): string {
  return id.startsWith(prefixOf(set)) ? shownId(id) : id;
}
