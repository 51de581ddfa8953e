/**
 * A group as a vector store of LlamaIndex.TS. Nodes come back as they were put, with their relationships, and stay inside the group that
 * the store is made with.
 */
import {
  type AnySchema,
  allOf,
  anyOf,
  type Condition,
  type Group,
  invalidArgument,
  refuseUnknown,
} from "@brooklet/client";
import { type BaseNode, MetadataMode, TextNode } from "@llamaindex/core/schema";
import {
  BaseVectorStore,
  type MetadataFilters,
  metadataDictToNode,
  nodeToMetadata,
  type VectorStoreBaseParams,
  type VectorStoreQuery,
  type VectorStoreQueryResult,
} from "@llamaindex/core/vector-store";
import { type Comparison, comparisonCondition } from "./store/comparison.ts";
import {
  type BoundPlace,
  checkPlace,
  DOCUMENTS_MAX,
  metadataFields,
  putAll,
  removeIds,
  removeMatching,
  type StoredHit,
  type StorePlace,
  searchStore,
  unsupportedError,
} from "./store/documents.ts";

/** Which fields of a schema are which parts of a node. */
export interface LlamaIndexStoreOptions<S extends AnySchema> extends StorePlace<S>, VectorStoreBaseParams {
  /** What a node has beside its text, and the metadata that have no field of their own: a `json()`, or a `string()`. */
  readonly metadataField: keyof S["fields"] & string;
  /** A string field for the id of the document that a node is a part of. It is what `delete` removes by. */
  readonly documentField: keyof S["fields"] & string;
}

/** What `deleteNodes` removes: one of both. */
export interface NodeSelection {
  readonly ids?: readonly string[];
  readonly filters?: MetadataFilters;
}

const OPTIONS = [
  ...["group", "schema", "textField", "vectorField", "metadataField", "documentField"],
  ...["embedModel", "embeddingModel"],
];
const COMPARISONS: Readonly<Record<string, Comparison>> = {
  "==": "is",
  "!=": "isNot",
  ">": "gt",
  "<": "lt",
  ">=": "ge",
  "<=": "le",
  in: "in",
  nin: "notIn",
  any: "in",
  all: "all",
  contains: "is",
  text_match: "words",
};
/** What LlamaIndex calls the document that a node is a part of, in metadata. */
const DOCUMENT_KEYS: readonly string[] = ["document_id", "doc_id", "ref_doc_id"];
const FILTERS_MAX = 1_000;
/** Of so many near nodes, at least, the varied ones are chosen. */
const VARIED_OF = 20;
const VARIED_OF_TIMES = 4;

/**
 * Nodes of one group by their vectors: exact, whatever the filters. Metadata that are fields of the schema are these fields.
 *
 * @example
 * ```ts
 * import { BrookletVectorStore } from "brooklet/llamaindex";
 * const store = new BrookletVectorStore({
 *   group: alice,
 *   schema: mail,
 *   textField: "body",
 *   vectorField: "vec",
 *   metadataField: "metadata",
 *   documentField: "thread",
 * });
 * ```
 */
export class BrookletVectorStore<S extends AnySchema = AnySchema> extends BaseVectorStore<Group> {
  /** Texts are stored beside the vectors, so that LlamaIndex keeps no store of documents. */
  storesText = true;
  readonly #place: BoundPlace;
  readonly #documentField: string;

  /** A store over a group. Its documents may be there already. */
  constructor(options: LlamaIndexStoreOptions<S>) {
    refuseUnknown("BrookletVectorStore", options, OPTIONS);
    const { documentField, embedModel, embeddingModel, ...place } = options;
    super({ embedModel: embedModel ?? embeddingModel });
    checkPlace(place as unknown as StorePlace);
    this.#place = { ...(place as unknown as StorePlace), ownField: documentField };
    this.#documentField = documentField;
    const { type, indexing } = this.#place.schema.fields[documentField]?.definition ?? {};
    if (type?.kind !== "primitive" || type.name !== "string" || !indexing?.includes("attribute"))
      throw invalidArgument(`\`documentField\`: '${documentField}' of schema ${options.schema.name} is no string()`);
  }

  /** The group. */
  client(): Group {
    return this.#place.group;
  }

  /** Puts nodes, which have their embeddings already, under their ids, and returns these. */
  async add(nodes: BaseNode[]): Promise<string[]> {
    const { textField, vectorField } = this.#place;
    await putAll(
      this.#place,
      nodes.map((node) => {
        const { document_id: _, doc_id: __, ref_doc_id: ___, ...metadata } = nodeToMetadata(node, true);
        return {
          id: node.id_,
          fields: {
            ...metadataFields(this.#place, metadata),
            [textField]: textOf(node),
            [vectorField]: node.getEmbedding(),
            // A node of no document is its own.
            [this.#documentField]: node.sourceNode?.nodeId ?? node.id_,
          },
        };
      }),
    );
    return nodes.map(({ id_ }) => id_);
  }

  /** Removes all nodes of a document. */
  async delete(documentId: string): Promise<void> {
    await removeMatching(this.#place, this.#compared(this.#documentField, "is", documentId));
  }

  /** Removes nodes by their ids, or all that filters let through. */
  async deleteNodes({ ids, filters }: NodeSelection): Promise<void> {
    if ((ids === undefined) === (filters === undefined))
      throw invalidArgument("deleteNodes takes either { ids } or { filters }");
    if (ids !== undefined) return await removeIds(this.#place, ids);
    const where = this.#condition(filters);
    if (where === undefined) throw invalidArgument("the `filters` are empty, which is every node: say which");
    await removeMatching(this.#place, where);
  }

  /** The nodes nearest to an embedding (`default`), with a text beside it (`hybrid`), or near and not alike (`mmr`). */
  async query(query: VectorStoreQuery): Promise<VectorStoreQueryResult> {
    const { queryEmbedding, queryStr, similarityTopK, mode, alpha, customParams } = query;
    for (const [name, value] of Object.entries({ alpha, customParams }))
      if (value !== undefined) throw unsupportedError(`\`${name}\` of a query is not supported`);
    if (queryEmbedding === undefined) throw invalidArgument("a query needs a `queryEmbedding`");
    const asked = { vector: queryEmbedding, where: this.#whereOf(query), limit: similarityTopK, hasVectors: false };
    const kind: string = mode ?? "default";
    switch (kind) {
      case "default":
        return resultOf(await searchStore(this.#place, asked));
      case "hybrid":
        if (queryStr === undefined) throw invalidArgument("a query of the mode 'hybrid' needs a `queryStr`");
        return resultOf(await searchStore(this.#place, { ...asked, text: queryStr }));
      case "mmr":
        return await this.#varied(query, queryEmbedding);
      default:
        throw unsupportedError(`the mode '${kind}' of a query is not supported: default, hybrid and mmr are`);
    }
  }

  async #varied(query: VectorStoreQuery, vector: number[]): Promise<VectorStoreQueryResult> {
    const { similarityTopK, mmrThreshold = null } = query;
    // That of LlamaIndex takes 0 for all there are.
    if (similarityTopK === 0) return resultOf([]);
    const { getTopKMMREmbeddings } = await import("@llamaindex/core/embeddings");
    const limit = Math.max(
      similarityTopK,
      Math.min(DOCUMENTS_MAX, Math.max(VARIED_OF, similarityTopK * VARIED_OF_TIMES)),
    );
    const found = await searchStore(this.#place, { vector, where: this.#whereOf(query), limit, hasVectors: true });
    const vectors = found.map(({ vector: own }) => own);
    const [, chosen] = getTopKMMREmbeddings(vector, vectors, null, similarityTopK, null, null, mmrThreshold);
    return resultOf(chosen.flatMap((index: number) => found[index] ?? []));
  }

  #whereOf({ docIds, filters }: VectorStoreQuery): Condition | undefined {
    const parts = [
      ...(docIds === undefined ? [] : [this.#compared(this.#documentField, "in", docIds)]),
      ...[this.#condition(filters)].filter((it) => it !== undefined),
    ];
    return parts.length === 0 ? undefined : allOf(...parts);
  }

  #condition(asked: MetadataFilters | undefined): Condition | undefined {
    if (!asked) return undefined;
    const { filters, condition = "and" } = asked;
    // What is misspelt would be no filter, which lets every node through.
    if (!Array.isArray(filters))
      throw invalidArgument("`filters` has no list: { filters: [{ key, operator, value }] }");
    if (filters.length === 0) return undefined;
    if (filters.length > FILTERS_MAX)
      throw invalidArgument(`there are ${filters.length} filters: ${FILTERS_MAX} at most`);
    const join: string = condition;
    if (join !== "and" && join !== "or")
      throw unsupportedError(`filters are joined by 'and' or 'or', not by '${join}'`);
    const parts = filters.map(({ key, operator, value }) => {
      const comparison = Object.hasOwn(COMPARISONS, operator) ? COMPARISONS[operator] : undefined;
      if (comparison === undefined)
        throw unsupportedError(
          `'${operator}' of '${key}' is not supported: ${Object.keys(COMPARISONS).join(", ")} are`,
        );
      return this.#compared(DOCUMENT_KEYS.includes(key) ? this.#documentField : key, comparison, value);
    });
    return join === "and" ? allOf(...parts) : anyOf(...parts);
  }

  #compared(name: string, comparison: Comparison, value: unknown): Condition {
    return comparisonCondition(this.#place.schema, name, comparison, value);
  }
}

/** The text of a node as it is: its content is without the white space around it, which the places in its document count. */
function textOf(node: BaseNode): string {
  return node instanceof TextNode ? node.text : node.getContent(MetadataMode.NONE);
}

function resultOf(hits: readonly StoredHit[]): VectorStoreQueryResult {
  return {
    nodes: hits.map(nodeOf),
    similarities: hits.map(({ score }) => score),
    ids: hits.map(({ id }) => id),
  };
}

/** A node as it was put; of what somebody else has stored, a node of its text. */
function nodeOf({ id, text, metadata }: StoredHit): BaseNode {
  const isNode = metadata["_node_content"] !== undefined;
  const node = isNode ? metadataDictToNode(metadata) : metadataDictToNode({}, { fallback: { id_: id, metadata } });
  node.setContent(text);
  return node;
}
