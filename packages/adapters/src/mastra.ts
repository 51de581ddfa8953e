/**
 * A group as a vector store of Mastra. The class to extend is given by the caller, so that nothing of Mastra is installed or loaded
 * that an application has not loaded itself, and its store is one of the copy of Mastra that it runs.
 */
import { type AnySchema, BrookletError, invalidArgument, refuseUnknown } from "@brooklet/client";
import {
  checkPlace,
  metadataFields,
  putAll,
  removeIds,
  removeMatching,
  type StorePlace,
  searchStore,
  unsupportedError,
  updateMatching,
  type Values,
} from "./store/documents.ts";
import { type ObjectFilter as MastraFilter, objectCondition } from "./store/object-filter.ts";

export type { ObjectFilter as MastraFilter } from "./store/object-filter.ts";

/** `MastraVector` of `@mastra/core/vector`, as far as it is asked for anything here. */
export type MastraVectorClass = abstract new (options: { readonly id: string }) => object;

/** Which documents a store of Mastra has, as its one index. */
export interface MastraVectorOptions<S extends AnySchema> extends StorePlace<S> {
  /** What Mastra knows the store by. */
  readonly id: string;
  /** What Mastra calls the index; the schema's name by default. Mastra's memory says which it asks for. */
  readonly indexName?: string;
  /** Which of the metadata is the text, `textField`; `text` by default, as Mastra's chunks are put. */
  readonly textMetadata?: string;
}

/** A document that Mastra is given. */
interface Found {
  readonly id: string;
  readonly score: number;
  readonly metadata: Record<string, unknown>;
  readonly document: string;
  readonly vector?: number[];
}

interface Update {
  readonly vector?: readonly number[];
  readonly metadata?: Values;
}

interface Named {
  readonly indexName: string;
}

interface Query extends Named {
  readonly queryVector?: readonly number[];
  readonly topK?: number;
  readonly filter?: MastraFilter;
  readonly includeVector?: boolean;
  readonly sparseVector?: unknown;
}

interface Upsert extends Named {
  readonly vectors: readonly (readonly number[])[];
  readonly metadata?: readonly Values[];
  readonly ids?: readonly string[];
  readonly sparseVectors?: unknown;
  readonly deleteFilter?: MastraFilter;
}

interface IndexShape extends Named {
  readonly dimension: number;
  readonly metric?: string;
}

interface Change extends Named {
  readonly id?: string;
  readonly filter?: MastraFilter;
  readonly update: Update;
}

interface Chosen extends Named {
  readonly ids?: readonly string[];
  readonly filter?: MastraFilter;
}

const TOP_K = 10;
const OPTIONS = ["id", "group", "schema", "textField", "vectorField", "metadataField", "textMetadata", "indexName"];
/** The metrics of vector fields, as Mastra has them; others have no name there. */
const METRICS: Readonly<Record<string, string>> = {
  angular: "cosine",
  "prenormalized-angular": "cosine",
  euclidean: "euclidean",
  dotproduct: "dotproduct",
};

/**
 * Makes a vector store of Mastra over one group. Neighbours are exact, whatever the filter.
 *
 * @example
 * ```ts
 * import { type MastraVectorClass, mastraVector } from "brooklet/mastra";
 * declare const MastraVector: MastraVectorClass; // import { MastraVector } from "@mastra/core/vector"
 * const store = mastraVector(MastraVector, {
 *   id: "alice",
 *   group: alice,
 *   schema: mail,
 *   textField: "body",
 *   vectorField: "vec",
 *   metadataField: "metadata",
 * });
 * ```
 */
export function mastraVector<Base extends MastraVectorClass, S extends AnySchema>(
  base: Base,
  options: MastraVectorOptions<S>,
): InstanceType<Base> {
  refuseUnknown("mastraVector", options, OPTIONS);
  const { id, textMetadata = "text", indexName = options.schema.name, ...place } = options;
  checkPlace(place as unknown as StorePlace);
  const index = new SchemaIndex({ place: place as unknown as StorePlace, textMetadata, indexName });
  const Store = storeClass(base as unknown as new (made: { readonly id: string }) => object, index);
  return new Store({ id }) as InstanceType<Base>;
}

interface Bound {
  readonly place: StorePlace;
  readonly textMetadata: string;
  readonly indexName: string;
}

/** The class of stores: a member of Mastra's class, whatever is in it, that asks the index of a schema. */
function storeClass(Base: new (options: { readonly id: string }) => object, index: SchemaIndex) {
  return class BrookletVector extends Base {
    query(asked: Query): Promise<Found[]> {
      return index.query(asked);
    }

    upsert(given: Upsert): Promise<string[]> {
      return index.upsert(given);
    }

    createIndex(asked: IndexShape): Promise<void> {
      return index.createIndex(asked);
    }

    listIndexes(): Promise<string[]> {
      return index.listIndexes();
    }

    describeIndex(asked: Named): Promise<object> {
      return index.describeIndex(asked);
    }

    deleteIndex(asked: Named): Promise<void> {
      return index.deleteIndex(asked);
    }

    updateVector(asked: Change): Promise<void> {
      return index.updateVector(asked);
    }

    deleteVector(asked: Named & { readonly id: string }): Promise<void> {
      return index.deleteVector(asked);
    }

    deleteVectors(asked: Chosen): Promise<void> {
      return index.deleteVectors(asked);
    }
  };
}

/** What Mastra asks of its vectors, for the documents of one schema in one group. */
class SchemaIndex {
  readonly #bound: Bound;
  readonly #place: StorePlace;

  constructor(bound: Bound) {
    this.#bound = bound;
    this.#place = bound.place;
  }

  async query(asked: Query): Promise<Found[]> {
    const { queryVector, topK = TOP_K, filter, includeVector = false, sparseVector } = asked;
    checkAsked(this.#bound, asked.indexName, sparseVector);
    const where = objectCondition(this.#place.schema, filter);
    if (queryVector === undefined && where === undefined)
      throw invalidArgument("a query needs a `queryVector`, or a `filter`: give one of them");
    const near = queryVector === undefined ? {} : { vector: queryVector };
    const found = await searchStore(this.#place, { ...near, where, limit: topK, hasVectors: includeVector });
    return found.map(({ id, score, text, metadata, vector }) => ({
      id,
      score,
      metadata: { ...metadata, [this.#bound.textMetadata]: text },
      document: text,
      ...(includeVector ? { vector } : {}),
    }));
  }

  async upsert(given: Upsert): Promise<string[]> {
    const { vectors, metadata, ids: named, sparseVectors, deleteFilter } = given;
    checkAsked(this.#bound, given.indexName, sparseVectors);
    for (const [what, list] of Object.entries({ metadata, ids: named }))
      if (list !== undefined && list.length > 0 && list.length !== vectors.length)
        throw invalidArgument(`there are ${vectors.length} vectors and ${list.length} \`${what}\`: give as many`);
    const outdated = objectCondition(this.#place.schema, deleteFilter);
    const ids = vectors.map((_, index) => named?.[index] ?? crypto.randomUUID());
    await putAll(
      this.#place,
      vectors.map((vector, index) => {
        const fields = fieldsOf(this.#bound, metadata?.[index] ?? {});
        return { id: ids[index] ?? "", fields: { ...fields, [this.#place.vectorField]: vector } };
      }),
    );
    // After the new ones are there: what breaks off in between leaves both, and never neither.
    if (outdated !== undefined) await removeMatching(this.#place, outdated, new Set(ids));
    return ids;
  }

  async createIndex(asked: IndexShape): Promise<void> {
    checkAsked(this.#bound, asked.indexName);
    const { dimension, metric } = indexOf(this.#place);
    if (asked.dimension !== dimension)
      throw invalidArgument(
        `'${this.#place.vectorField}' of schema ${this.#place.schema.name} has ${dimension} dimensions, not ${asked.dimension}`,
      );
    if (asked.metric !== undefined && asked.metric !== metric)
      throw invalidArgument(
        `'${this.#place.vectorField}' of schema ${this.#place.schema.name} is compared by ${metric ?? "another metric"}, not by ${asked.metric}`,
      );
  }

  async listIndexes(): Promise<string[]> {
    return [this.#bound.indexName];
  }

  async describeIndex({ indexName }: Named): Promise<object> {
    checkAsked(this.#bound, indexName);
    return { ...indexOf(this.#place), count: await this.#place.group.count(this.#place.schema) };
  }

  async deleteIndex({ indexName }: Named): Promise<void> {
    checkAsked(this.#bound, indexName);
    await this.#place.group.removeWhere(this.#place.schema, "true");
  }

  async updateVector(asked: Change): Promise<void> {
    checkAsked(this.#bound, asked.indexName);
    const { id, filter } = asked;
    const changes = changesOf(this.#bound, asked.update);
    if ((id === undefined) === (filter === undefined || filter === null))
      throw invalidArgument("updateVector takes either { id } or { filter }");
    if (id === undefined) return await updateMatching(this.#place, someOf(this.#place.schema, filter), changes);
    await this.#place.group.update(this.#place.schema, id, changes as never);
  }

  async deleteVector({ indexName, id }: Named & { readonly id: string }): Promise<void> {
    checkAsked(this.#bound, indexName);
    await removeIds(this.#place, [id]);
  }

  async deleteVectors(asked: Chosen): Promise<void> {
    checkAsked(this.#bound, asked.indexName);
    const { ids, filter } = asked;
    if ((ids === undefined) === (filter === undefined || filter === null))
      throw invalidArgument("deleteVectors takes either { ids } or { filter }");
    if (ids !== undefined) return await removeIds(this.#place, ids);
    await removeMatching(this.#place, someOf(this.#place.schema, filter));
  }
}

/** Refuses another index, and vectors of words with weights. */
function checkAsked({ indexName: own }: Bound, indexName: string, sparse?: unknown): void {
  if (indexName !== own) {
    const asked = String(indexName).slice(0, 60);
    const message = `there is no index '${asked}': this store has the index '${own}'; \`indexName\` of mastraVector names it`;
    throw new BrookletError("INVALID_ARGUMENT", message);
  }
  if (sparse !== undefined)
    throw unsupportedError(
      "sparse vectors are not supported: words are searched by `group.search` and `group.retrieve`",
    );
}

/** A filter that means something: what is empty would be everything. */
function someOf(schema: AnySchema, filter: MastraFilter) {
  const where = objectCondition(schema, filter);
  if (where === undefined) throw invalidArgument("the `filter` is empty, which is every document: say which");
  return where;
}

function fieldsOf({ place, textMetadata }: Bound, metadata: Values): Values {
  const { [textMetadata]: text, ...others } = metadata;
  if (text !== undefined && text !== null && typeof text !== "string")
    throw invalidArgument(`metadata '${textMetadata}' are the text of a document: give a text`);
  return { ...metadataFields(place, others), ...(typeof text === "string" ? { [place.textField]: text } : {}) };
}

/** What an update assigns. Fields that it does not name stay as they are. */
function changesOf(bound: Bound, { vector, metadata = {} }: Update): Values {
  const fields = {
    ...fieldsOf(bound, metadata),
    ...(vector === undefined ? {} : { [bound.place.vectorField]: vector }),
  };
  const { metadataField = "" } = bound.place;
  const hasOthers = !["{}", '"{}"'].includes(JSON.stringify(fields[metadataField] ?? {}));
  const changes = Object.entries(fields).filter(([name]) => name !== metadataField || hasOthers);
  if (changes.length === 0) throw invalidArgument("an update needs a `vector`, or `metadata`");
  return Object.fromEntries(changes.map(([name, value]) => [name, { assign: value }]));
}

function indexOf({ schema, vectorField }: StorePlace): { readonly dimension: number; readonly metric?: string } {
  const { type, metric = "euclidean" } = schema.fields[vectorField]?.definition ?? {};
  const sizes = type?.kind === "tensor" ? Object.values(type.dimensions) : [];
  const size = sizes.find((it) => typeof it === "number");
  const name = METRICS[metric];
  return { dimension: typeof size === "number" ? size : 0, ...(name === undefined ? {} : { metric: name }) };
}
