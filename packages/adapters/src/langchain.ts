/**
 * A group as a retriever and as a vector store of LangChain JS. Both stay inside the group they are made with; documents
 * carry in their metadata where they are from.
 */
import {
  type AnySchema,
  BrookletError,
  type Condition,
  type ConditionsOf,
  type Group,
  type RetrieveOptions,
  type SearchOptions,
} from "@brooklet/client";
import type { CallbackManagerForRetrieverRun } from "@langchain/core/callbacks/manager";
import { Document, type DocumentInterface } from "@langchain/core/documents";
import type { EmbeddingsInterface } from "@langchain/core/embeddings";
import { BaseRetriever, type BaseRetrieverInput } from "@langchain/core/retrievers";
import { ensureConfig, type RunnableConfig } from "@langchain/core/runnables";
import { maximalMarginalRelevance } from "@langchain/core/utils/math";
import { type MaxMarginalRelevanceSearchOptions, VectorStore } from "@langchain/core/vectorstores";
import { fieldValue, otherMetadata } from "./store/documents.ts";
import { isPlain, objectCondition } from "./store/object-filter.ts";

/** What a retriever is made with. */
export interface BrookletRetrieverOptions<S extends AnySchema> extends BaseRetrieverInput {
  readonly group: Group;
  readonly schema: S;
  /** How passages are retrieved. */
  readonly retrieve?: Omit<RetrieveOptions<S>, "signal">;
}

type Fields = Readonly<Record<string, unknown>>;

interface Nearest {
  readonly document: DocumentInterface;
  readonly score: number;
  readonly vector: number[];
}

/** Where a document that was found is from; it is no metadata of its own when it is put again. */
const DOCUMENT_ID = "documentId";
/** Hits of one search at most. */
const PAGE = 400;
const FETCH_K = 20;
const LAMBDA = 0.5;

/**
 * Retrieves passages of one group.
 *
 * @example
 * ```ts
 * import { BrookletRetriever } from "brooklet/langchain";
 * const retriever = new BrookletRetriever({ group: alice, schema: mail });
 * const documents = await retriever.invoke("When is the invoice due?");
 * ```
 */
export class BrookletRetriever<S extends AnySchema = AnySchema> extends BaseRetriever {
  /** Where LangChain finds the class. */
  static override lc_name(): string {
    return "BrookletRetriever";
  }

  /** Where LangChain finds the package. */
  lc_namespace: string[] = ["brooklet", "retrievers"];
  readonly #options: BrookletRetrieverOptions<S>;
  /** Of the run that it is made for. */
  readonly #signal: AbortSignal | undefined;

  /** A retriever of the group's passages, for all runs, or for one that ends with a signal. */
  constructor(options: BrookletRetrieverOptions<S>, signal?: AbortSignal) {
    const { group: _, schema: __, retrieve: ___, ...base } = options;
    super(base);
    this.#options = options;
    this.#signal = signal;
  }

  /** The passages for a question. What aborts the run ends the search. */
  override async invoke(input: string, options?: Partial<RunnableConfig>): Promise<DocumentInterface[]> {
    const { signal } = ensureConfig(options);
    const isOwn = this._getRelevantDocuments === BrookletRetriever.prototype._getRelevantDocuments;
    // The library tells what gets the documents nothing of the signal: a retriever of this run knows it.
    if (signal === undefined || this.#signal !== undefined || !isOwn) return await super.invoke(input, options);
    return await new BrookletRetriever(this.#options, signal).invoke(input, { ...options, signal });
  }

  /** The passages for a question, as the library asks for them. */
  override async _getRelevantDocuments(
    query: string,
    _runManager?: CallbackManagerForRetrieverRun,
  ): Promise<DocumentInterface[]> {
    const { group, schema, retrieve } = this.#options;
    const signal = this.#signal === undefined ? {} : { signal: this.#signal };
    const { passages } = await group.retrieve(schema, query, { ...retrieve, ...signal } as RetrieveOptions<S>);
    return passages.map(({ text, documentId, field, element, start, end, score, scores }) => {
      const place = { documentId, field, start, end, ...(element === undefined ? {} : { element }) };
      return new Document({
        pageContent: text,
        metadata: { ...place, score, scores },
        id: `${documentId}#${field}:${element ?? ""}:${start}-${end}`,
      });
    });
  }
}

/** Which fields of a schema are which parts of a LangChain document. */
export interface BrookletVectorStoreOptions<S extends AnySchema> {
  readonly group: Group;
  readonly schema: S;
  /** The field of the page's content. */
  readonly textField: keyof S["fields"] & string;
  /** The field of its vector. */
  readonly vectorField: keyof S["fields"] & string;
  /**
   * A string field for the metadata that have no field of their own, as JSON: a loader may give whatever it likes then. They are
   * kept and given back, and not searched. Without it such metadata are refused by their names.
   */
  readonly metadataField?: keyof S["fields"] & string;
}

/** What `delete` of a store removes: one of both. */
export interface DeleteParameters<Filter> {
  readonly ids?: readonly string[];
  readonly filter?: Filter;
}

/** A value of a field that a filter has as an object, several of which it may be one, or operators: `{ $gte: 5 }`. */
type ObjectFilterValue =
  | string
  | number
  | boolean
  | Date
  | readonly (string | number | boolean | Date)[]
  | { readonly [operator: `$${string}`]: unknown };

/** What other stores of LangChain take: what fields are, by their names. */
type NamedValues<S extends AnySchema> = {
  readonly [Name in keyof S["fields"] & string]?: ObjectFilterValue;
};

/** A condition on the schema's fields; or what fields are, by their names, as other stores take it. */
export type BrookletFilter<S extends AnySchema> =
  | Condition
  | ((fields: ConditionsOf<S["fields"]>) => Condition)
  | NamedValues<S>;

/**
 * Documents of one group by their vectors: exact, whatever the filter. Metadata are the other fields of the schema.
 *
 * @example
 * ```ts
 * import type { EmbeddingsInterface } from "@langchain/core/embeddings";
 * import { BrookletVectorStore } from "brooklet/langchain";
 * declare const embeddings: EmbeddingsInterface;
 * const store = new BrookletVectorStore(embeddings, { group: alice, schema: mail, textField: "body", vectorField: "vec" });
 * ```
 */
export class BrookletVectorStore<S extends AnySchema = AnySchema> extends VectorStore {
  /** What `filter` of the searches is. */
  declare FilterType: BrookletFilter<S>;
  readonly #options: BrookletVectorStoreOptions<S>;

  /** A store over a group. Its documents may be there already. */
  constructor(embeddings: EmbeddingsInterface, options: BrookletVectorStoreOptions<S>) {
    super(embeddings, {});
    this.#options = options;
  }

  /** The name LangChain knows the kind by. */
  _vectorstoreType(): string {
    return "brooklet";
  }

  /** Embeds and puts documents. Each has the id of its own, of `options.ids`, or a new one, which is returned. */
  async addDocuments(
    documents: DocumentInterface[],
    options: { readonly ids?: readonly string[] } = {},
  ): Promise<string[]> {
    const vectors = await this.embeddings.embedDocuments(documents.map(({ pageContent }) => pageContent));
    return await this.addVectors(vectors, documents, options);
  }

  /** Puts documents with their vectors. */
  async addVectors(
    vectors: number[][],
    documents: DocumentInterface[],
    options: { readonly ids?: readonly string[] } = {},
  ): Promise<string[]> {
    const { group, schema } = this.#options;
    const ids = documents.map(({ id }, index) => options.ids?.[index] ?? id ?? crypto.randomUUID());
    await group.feed(
      schema,
      documents.map((document, index) => ({
        id: ids[index] ?? "",
        fields: fieldsOf(document, vectors[index] ?? [], this.#options) as never,
      })),
    );
    return ids;
  }

  /** Removes documents by their ids, or all that a filter lets through. */
  override async delete(params: DeleteParameters<this["FilterType"]>): Promise<void> {
    const { ids, filter } = Object(params) as typeof params;
    if ((ids === undefined) === (filter === undefined) || !Array.isArray(ids ?? []))
      throw new BrookletError("INVALID_ARGUMENT", "delete takes either { ids } or { filter }");
    if (ids !== undefined) return await this.#remove(ids);
    const where = this.#where(filter);
    if (where === undefined)
      throw new BrookletError(
        "INVALID_ARGUMENT",
        "an empty filter lets everything through: to delete all, give `everything`",
      );
    for (;;) {
      const asked = { where, limit: PAGE } as unknown as SearchOptions<AnySchema>;
      const { hits } = await this.#options.group.search(this.#options.schema as AnySchema, asked);
      await this.#remove(hits.map(({ id }) => id));
      if (hits.length < PAGE) return;
    }
  }

  /** A filter as a search takes it; nothing where it says nothing. */
  #where(filter: this["FilterType"] | undefined): unknown {
    return isPlain(filter) ? objectCondition(this.#options.schema, filter) : filter;
  }

  async #remove(ids: readonly string[]): Promise<void> {
    const { group, schema } = this.#options;
    await group.feed(
      schema,
      ids.map((id) => ({ id, remove: true as const })),
    );
  }

  /** The nearest of a vector with their closeness, the nearest first. */
  async similaritySearchVectorWithScore(
    query: number[],
    k: number,
    filter?: this["FilterType"],
  ): Promise<[DocumentInterface, number][]> {
    const found = await this.#nearest(query, k, filter, []);
    return found.map(({ document, score }) => [document, score]);
  }

  /**
   * Of the nearest `fetchK` (20) those `k` that are near the query and not near each other: `lambda` 1 looks at the query alone,
   * 0 at their variety alone, 0.5 unless it is said.
   */
  override async maxMarginalRelevanceSearch(
    query: string,
    options: MaxMarginalRelevanceSearchOptions<this["FilterType"]>,
  ): Promise<DocumentInterface[]> {
    const { k, fetchK = Math.max(FETCH_K, k), lambda = LAMBDA, filter } = options;
    const vector = await this.embeddings.embedQuery(query);
    const found = await this.#nearest(vector, fetchK, filter, [this.#options.vectorField]);
    const chosen = maximalMarginalRelevance(
      vector,
      found.map(({ vector: own }) => own),
      lambda,
      k,
    );
    return chosen.flatMap((index) => found[index]?.document ?? []);
  }

  async #nearest(
    vector: number[],
    count: number,
    filter: this["FilterType"] | undefined,
    further: readonly string[],
  ): Promise<readonly Nearest[]> {
    const { group, schema, vectorField } = this.#options;
    if (count === 0) return [];
    const where = this.#where(filter);
    const shown = Object.keys(schema.fields).filter((name) => {
      return schema.fields[name]?.definition.indexing.includes("summary");
    });
    const asked = {
      near: { field: vectorField, vector, targetHits: count },
      limit: count,
      highlights: "ranges",
      fields: [...shown, ...further],
      ...(where === undefined ? {} : { where }),
    };
    const { hits } = await group.search(schema as AnySchema, asked as unknown as SearchOptions<AnySchema>);
    return hits.map(({ id, relevance, fields }) => ({
      document: documentOf(id, fields as Fields, this.#options),
      score: relevance,
      vector: [...(((fields as Fields)[vectorField] ?? []) as readonly number[])],
    }));
  }

  /** A store filled with texts. */
  static override async fromTexts<S extends AnySchema>(
    texts: string[],
    metadatas: object[] | object,
    embeddings: EmbeddingsInterface,
    options: BrookletVectorStoreOptions<S>,
  ): Promise<BrookletVectorStore<S>> {
    const documents = texts.map((pageContent, index) => {
      const metadata = (Array.isArray(metadatas) ? metadatas[index] : metadatas) as Record<string, unknown>;
      return new Document({ pageContent, metadata: { ...metadata } });
    });
    return await BrookletVectorStore.fromDocuments(documents, embeddings, options);
  }

  /** A store filled with documents. */
  static override async fromDocuments<S extends AnySchema>(
    documents: DocumentInterface[],
    embeddings: EmbeddingsInterface,
    options: BrookletVectorStoreOptions<S>,
  ): Promise<BrookletVectorStore<S>> {
    const store = new BrookletVectorStore(embeddings, options);
    await store.addDocuments(documents);
    return store;
  }
}

/** A document as it is put: metadata that have a field are that field, the others are JSON in one. */
function fieldsOf<S extends AnySchema>(
  { pageContent, metadata }: DocumentInterface,
  vector: readonly number[],
  { schema, textField, vectorField, metadataField }: BrookletVectorStoreOptions<S>,
): Fields {
  const own: readonly string[] = [textField, vectorField, ...(metadataField === undefined ? [] : [metadataField])];
  const given = Object.entries(metadata).filter(
    ([name, value]) => name !== DOCUMENT_ID && value !== undefined && value !== null,
  );
  const isField = (name: string): boolean =>
    Object.hasOwn(schema.fields, name) && !own.includes(name) && schema.fields[name]?.definition.made === undefined;
  const others = given.filter(([name]) => !isField(name));
  const [stranger] = others[0] ?? [];
  if (stranger !== undefined && metadataField === undefined)
    throw new BrookletError(
      "INVALID_ARGUMENT",
      `metadata '${stranger}' have no field of their own in schema ${schema.name}: name a string field as \`metadataField\``,
    );
  const isStored =
    metadataField !== undefined && (others.length > 0 || schema.fields[metadataField]?.isOptional === false);
  return {
    ...Object.fromEntries(
      given
        .filter(([name]) => isField(name))
        .map(([name, value]) => [name, fieldValue(schema.fields[name], name, value)]),
    ),
    ...(isStored ? { [metadataField]: JSON.stringify(Object.fromEntries(others)) } : {}),
    [textField]: pageContent,
    [vectorField]: vector,
  };
}

function documentOf<S extends AnySchema>(
  id: string,
  fields: Fields,
  { textField, vectorField, metadataField = "" }: BrookletVectorStoreOptions<S>,
): DocumentInterface {
  const { [textField]: text, [vectorField]: _, [metadataField]: others, ...metadata } = fields;
  return new Document({
    pageContent: String(text ?? ""),
    metadata: { ...otherMetadata(others), ...metadata, [DOCUMENT_ID]: id },
    id,
  });
}
