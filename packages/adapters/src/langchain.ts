/**
 * A group as a retriever and as a vector store of LangChain JS. Both stay inside the group they are made with; documents
 * carry in their metadata where they are from.
 */
import type { AnySchema, Condition, ConditionsOf, Group, RetrieveOptions, SearchOptions } from "@brooklet/client";
import type { CallbackManagerForRetrieverRun } from "@langchain/core/callbacks/manager";
import { Document, type DocumentInterface } from "@langchain/core/documents";
import type { EmbeddingsInterface } from "@langchain/core/embeddings";
import { BaseRetriever, type BaseRetrieverInput } from "@langchain/core/retrievers";
import { VectorStore } from "@langchain/core/vectorstores";

/** What a retriever is made with. */
export interface BrookletRetrieverOptions<S extends AnySchema> extends BaseRetrieverInput {
  readonly group: Group;
  readonly schema: S;
  /** How passages are retrieved. */
  readonly retrieve?: Omit<RetrieveOptions<S>, "signal">;
}

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

  /** A retriever of the group's passages. */
  constructor(options: BrookletRetrieverOptions<S>) {
    const { group: _, schema: __, retrieve: ___, ...base } = options;
    super(base);
    this.#options = options;
  }

  /** The passages for a question. What is aborted by the run ends the search. */
  override async _getRelevantDocuments(
    query: string,
    _runManager?: CallbackManagerForRetrieverRun,
  ): Promise<DocumentInterface[]> {
    const { group, schema, retrieve } = this.#options;
    const { passages } = await group.retrieve(schema, query, (retrieve ?? {}) as RetrieveOptions<S>);
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
}

/** A condition on the schema's fields. */
export type BrookletFilter<S extends AnySchema> = Condition | ((fields: ConditionsOf<S["fields"]>) => Condition);

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
    const { group, schema, textField, vectorField } = this.#options;
    const ids = documents.map(({ id }, index) => options.ids?.[index] ?? id ?? crypto.randomUUID());
    await group.feed(
      schema,
      documents.map(({ pageContent, metadata }, index) => ({
        id: ids[index] ?? "",
        fields: { ...metadata, [textField]: pageContent, [vectorField]: vectors[index] ?? [] } as never,
      })),
    );
    return ids;
  }

  /** Removes documents by their ids. */
  override async delete(params: { readonly ids: readonly string[] }): Promise<void> {
    const { group, schema } = this.#options;
    await group.feed(
      schema,
      params.ids.map((id) => ({ id, remove: true as const })),
    );
  }

  /** The nearest of a vector with their closeness, the nearest first. */
  async similaritySearchVectorWithScore(
    query: number[],
    k: number,
    filter?: this["FilterType"],
  ): Promise<[DocumentInterface, number][]> {
    const { group, schema, textField, vectorField } = this.#options;
    const asked = {
      near: { field: vectorField, vector: query, targetHits: k },
      limit: k,
      ...(filter === undefined ? {} : { where: filter }),
    };
    const { hits } = await group.search(schema as AnySchema, asked as unknown as SearchOptions<AnySchema>);
    return hits.map(({ id, relevance, fields }) => {
      const { [textField]: text, ...metadata } = fields as Readonly<Record<string, unknown>>;
      const pageContent = String(text ?? "");
      return [new Document({ pageContent, metadata: { ...metadata, documentId: id }, id }), relevance];
    });
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
