/**
 * The ids under which documents are stored whose type is in several content clusters (docs/decisions/0166): each cluster has a
 * document of its own, and all but one name the cluster in their ids. No id that is given can: the mark is an illegal code point.
 */
/** What stands between a document type and a content cluster. */
export const CLUSTER_MARK = "\u0001";

/** An id as it is shown: without the content cluster that it may name. */
export function shownId(id: string): string {
  const mark = id.indexOf(CLUSTER_MARK);
  return mark < 0 ? id : id.slice(0, mark) + id.slice(id.indexOf(":", mark));
}

/** A document type without the content cluster that it may name. */
export function shownType(type: string): string {
  const mark = type.indexOf(CLUSTER_MARK);
  return mark < 0 ? type : type.slice(0, mark);
}

/** A type in the ids of stored documents, and the content cluster that they are in. */
interface StoredType {
  readonly cluster: string;
  readonly type: string;
}

/** What a report of a deployment says of a schema, as far as it decides on ids. */
interface SharedSchema {
  readonly name: string;
  readonly cluster: string;
  readonly storedType?: string;
}

/** The types in the ids of stored documents, by the type that is shown: of types for which that is another, or several. */
export type StoredTypes = ReadonlyMap<string, readonly StoredType[]>;

/** The stored types of an application. */
export function storedTypesOf({ schemas = [] }: { readonly schemas?: readonly SharedSchema[] }): StoredTypes {
  const all = new Map<string, StoredType[]>();
  for (const { name, cluster, storedType: type = name } of schemas) {
    const others = all.get(name);
    if (others === undefined) all.set(name, [{ cluster, type }]);
    else others.push({ cluster, type });
  }
  for (const [name, types] of all) if (types.length === 1 && types[0]?.type === name) all.delete(name);
  return all;
}

/** The ids under which a document is stored, by the id that is shown, in one content cluster or all; nothing: under that alone. */
export function storedIdsOf(types: StoredTypes, id: string, cluster?: string): readonly string[] | undefined {
  if (types.size === 0) return undefined;
  const [scheme = "", namespace = "", shown = ""] = id.split(":", 3);
  const rest = id.slice(scheme.length + namespace.length + shown.length + 2);
  const meant = types.get(shown)?.filter((one) => cluster === undefined || one.cluster === cluster);
  return meant?.map(({ type }) => `${scheme}:${namespace}:${type}${rest}`);
}
