/** A group: one user's documents. Everything asked of it stays inside it, because nothing else can be expressed. */
import type { ChatEndpoint, Retrieved } from "@brooklet/answers";
import {
  type DocumentFound,
  documentNameProblem,
  type Hit as WireHit,
  type SearchResult as WireResult,
} from "@brooklet/wire";
import { BULK_CONCURRENCY, BulkSender, takesFeeds } from "./bulk-feed.ts";
import { type DocumentSet, givenId, nameOf, shownId, wholeId } from "./document-id.ts";
import { BrookletError, invalidArgument, refuseUnknown, unexpectedAnswer } from "./error.ts";
import { type ExchangeOptions, type ExchangeRequest, exchange, pathSegment } from "./exchange.ts";
import type { DocumentExplanation } from "./explanation.ts";
import { Feed, type FeedOperation, type FeedOptions, type FeedSource, feed, isFeedUpdate } from "./feed.ts";
import type { FacetsOf } from "./grouping/facet.ts";
import type { Grouping } from "./grouping/grouping.ts";
import { bulkOperation, encodeDocument } from "./operation.ts";
import {
  type GroupedAnswer,
  type Query,
  query,
  type SearchOptions,
  type SelectedFields,
  type SomeFields,
  type YqlSearchOptions,
  yqlQuery,
} from "./query.ts";
import { readResult, type SearchResult, wholeRoot } from "./result.ts";
import { Answer, type AskOptions, answerParts } from "./retrieval/answer.ts";
import { type RetrieveOptions, retrievePassages } from "./retrieval/retrieval.ts";
import { decodeMembers } from "./schema/codec.ts";
import type { FieldMap } from "./schema/field.ts";
import type { DocumentInputOf, DocumentOf } from "./schema/infer.ts";
import type { HitFeatures, HitFeaturesOf } from "./schema/ranking.ts";
import type { AnySchema } from "./schema/schema.ts";
import { conditionText, type WriteCondition } from "./selection.ts";
import { encodeUpdate, type PathChanges, type UpdateOf } from "./update.ts";
import {
  removeWhere,
  type SelectedOptions,
  type SelectedSummary,
  updateWhere,
  type VisitedDocument,
  type VisitOptions,
  visit,
} from "./visit.ts";

/** What every request may be given. */
export interface RequestOptions {
  readonly signal?: AbortSignal;
}

/** What a write may be given. */
export interface WriteOptions<Fields extends FieldMap = FieldMap> extends RequestOptions {
  /**
   * What the stored document must fulfil, such as `(it) => it.year.lt(2000)`; otherwise the write fails with
   * `CONDITION_NOT_MET`. A document that is not there fulfils nothing.
   */
  readonly condition?: WriteCondition<Fields>;
}

/** What a write that can make a document may be given. */
export interface CreateOptions<Fields extends FieldMap = FieldMap> extends WriteOptions<Fields> {
  /** A document that is not there is made, whatever the condition. */
  readonly create?: boolean;
}

/** What an update may be given. */
export interface UpdateOptions<Fields extends FieldMap = FieldMap> extends CreateOptions<Fields> {
  /** Changes of parts of fields. */
  readonly paths?: PathChanges;
}

const WRITE_OPTIONS = Object.keys({
  condition: true,
  create: true,
  paths: true,
  signal: true,
} satisfies Readonly<Record<keyof UpdateOptions, true>>);

/**
 * One user's documents. An id is the one a document was put under; Vespa's whole ids (`id:mail:mail:g=alice:m1`) do too.
 *
 * @example
 * ```ts
 * const bob: Group = client.group("bob");
 * ```
 */
export class Group {
  readonly name: string;
  readonly #exchange: ExchangeOptions;
  readonly #model: ChatEndpoint | undefined;

  /** @internal Groups are made by `client.group`. */
  constructor(name: string, options: ExchangeOptions, model?: ChatEndpoint) {
    const problem = documentNameProblem("group", name);
    if (problem !== undefined) {
      throw invalidArgument(`${JSON.stringify(name)} cannot be the name of a group: ${problem}`);
    }
    this.name = name;
    this.#exchange = options;
    this.#model = model;
  }

  /**
   * Stores a document in place of the one with this id, if there is one. When it is done, searches see it.
   *
   * @example
   * ```ts
   * await alice.put(mail, "m1", {
   *   subject: "Invoice 42",
   *   body: "It is due on Friday.",
   *   sender: "billing@x.org",
   *   size: 120,
   *   isUnread: true,
   *   sentAt: new Date(),
   * });
   * ```
   */
  async put<S extends AnySchema>(
    schema: S,
    id: string,
    fields: DocumentInputOf<S["fields"]>,
    options: CreateOptions<S["fields"]> = {},
  ): Promise<void> {
    const body = JSON.stringify({ fields: encodeDocument(schema, id, fields) });
    await this.#write("POST", schema, id, options, body);
  }

  /**
   * Changes fields of the document with this id, whole and at once: no other write comes in between. It is no error if
   * there is no such document. A change that computes with what is stored is not sent again when its outcome is unknown.
   *
   * @example
   * ```ts
   * await alice.update(mail, "m1", { isUnread: { assign: false }, size: { increment: 10 } });
   * ```
   */
  async update<S extends AnySchema>(
    schema: S,
    id: string,
    changes: UpdateOf<S["fields"]>,
    options: UpdateOptions<S["fields"]> = {},
  ): Promise<void> {
    const body = JSON.stringify({ fields: encodeUpdate(schema, id, changes, options.paths ?? {}) });
    await this.#write("PUT", schema, id, options, body);
  }

  /**
   * The document with this id.
   *
   * @example
   * ```ts
   * const found = await alice.get(mail, "m1");
   * console.log(found?.subject);
   * ```
   */
  async get<S extends AnySchema>(
    schema: S,
    id: string,
    options: RequestOptions = {},
  ): Promise<DocumentOf<S["fields"]> | undefined> {
    const target = this.#path(schema, id);
    const { signal } = options;
    const answer = await this.#send({ method: "GET", target, signal, alsoAccept: 404, isRepeatable: true });
    const { fields } = answer.json as Partial<DocumentFound>;
    if (answer.status === 404) {
      if ((answer.json as { readonly message?: string }).message === undefined) return undefined;
      throw new BrookletError("NOT_FOUND", String((answer.json as { readonly message?: string }).message), {
        status: 404,
      });
    }
    try {
      return decodeMembers(schema.fields, fields ?? {}, Object.keys(schema.fields)) as DocumentOf<S["fields"]>;
    } catch (error) {
      throw unexpectedAnswer(`document '${id}': ${(error as Error).message}`);
    }
  }

  /**
   * Removes the document with this id. It is no error if there is none.
   *
   * @example
   * ```ts
   * await alice.remove(mail, "m1", { condition: (it) => it.isUnread.is(false) });
   * ```
   */
  async remove<S extends AnySchema>(schema: S, id: string, options: WriteOptions<S["fields"]> = {}): Promise<void> {
    await this.#write("DELETE", schema, id, options);
  }

  /**
   * Puts, updates and removes many documents. Await it to be done, or iterate it for every outcome.
   *
   * @example
   * ```ts
   * const { applied } = await alice.feed(mail, [{ id: "m1", remove: true }, { id: "m2", remove: true }]);
   * ```
   */
  feed<S extends AnySchema>(
    schema: S,
    operations: FeedSource<FeedOperation<DocumentInputOf<S["fields"]>, UpdateOf<S["fields"]>>>,
    options: FeedOptions = {},
  ): Feed {
    return new Feed(() => this.#feed(schema, operations, options));
  }

  async *#feed<S extends AnySchema>(
    schema: S,
    operations: FeedSource<FeedOperation<DocumentInputOf<S["fields"]>, UpdateOf<S["fields"]>>>,
    options: FeedOptions,
  ): ReturnType<typeof feed> {
    refuseUnknown("a feed", options, ["concurrency", "signal"]);
    const { signal, concurrency = BULK_CONCURRENCY } = options;
    signal?.throwIfAborted();
    const { closed } = this.#exchange;
    closed?.throwIfAborted();
    const set = this.#set(schema);
    const surroundings = { closed, nameOf: (id: string) => nameOf(set, id) };
    if (await takesFeeds(this.#exchange)) {
      const sender = new BulkSender(this.#exchange, signal);
      const apply = async (operation: FeedOperation<DocumentInputOf<S["fields"]>, UpdateOf<S["fields"]>>) =>
        sender.apply(bulkOperation(schema, wholeId(set, operation.id), operation));
      yield* feed(operations, apply, { ...options, concurrency }, surroundings);
      return;
    }
    const request: RequestOptions = signal === undefined ? {} : { signal };
    const apply = (operation: FeedOperation<DocumentInputOf<S["fields"]>, UpdateOf<S["fields"]>>): Promise<void> => {
      const { id } = operation;
      if (operation.remove === true) return this.remove(schema, id, request);
      if (!isFeedUpdate(operation)) return this.put(schema, id, operation.fields, request);
      const create = operation.create === true ? { create: true } : {};
      return this.update(schema, id, operation.update, { ...request, ...create });
    };
    yield* feed(operations, apply, options, surroundings);
  }

  /**
   * Every document of the group, page by page as they are taken, in the order of their ids: `for await (const { id,
   * document } of group.visit(mail))`. One that nobody touches meanwhile is seen exactly once.
   *
   * @example
   * ```ts
   * for await (const { id, document } of alice.visit(mail)) console.log(id, document.subject);
   * ```
   */
  visit<S extends AnySchema, Name extends keyof S["fields"] & string = keyof S["fields"] & string>(
    schema: S,
    options: VisitOptions<Name, S["fields"]> = {},
  ): AsyncGenerator<VisitedDocument<Pick<DocumentOf<S["fields"]>, Name & keyof DocumentOf<S["fields"]>>>> {
    return visit(this.#exchange, { schema, group: this.name }, options as VisitOptions);
  }

  /**
   * Removes the documents that a selection selects: `removeWhere(mail, (m) => m.year.is(2019))`.
   *
   * @example
   * ```ts
   * await alice.removeWhere(mail, (it) => it.sender.is("spam@x.org"));
   * ```
   */
  async removeWhere<S extends AnySchema>(
    schema: S,
    where: WriteCondition<S["fields"]>,
    options: SelectedOptions = {},
  ): Promise<SelectedSummary> {
    const selection = conditionText(schema, where, "the selection of removeWhere");
    return await removeWhere(this.#exchange, { schema, group: this.name }, selection, options);
  }

  /**
   * Gives fields of the documents that a selection selects other values.
   *
   * @example
   * ```ts
   * await alice.updateWhere(mail, (it) => it.isUnread.is(true), { isUnread: false });
   * ```
   */
  async updateWhere<S extends AnySchema>(
    schema: S,
    where: WriteCondition<S["fields"]>,
    fields: Partial<DocumentInputOf<S["fields"]>>,
    options: SelectedOptions = {},
  ): Promise<SelectedSummary> {
    const selection = conditionText(schema, where, "the selection of updateWhere");
    return await updateWhere(this.#exchange, { schema, group: this.name }, selection, fields, options);
  }

  /**
   * Searches the group.
   *
   * @example
   * ```ts
   * const { hits, totalCount } = await alice.search(mail, { text: "invoice", where: (it) => it.isUnread.is(true) });
   * console.log(totalCount, hits[0]?.fields.subject);
   * ```
   */
  async search<
    S extends AnySchema,
    Selected extends keyof S["fields"] & string = never,
    Profile extends S["profiles"][number] = never,
    Facets extends FacetsOf<S["fields"]> = never,
    G extends Grouping = never,
  >(
    schema: S,
    options: SearchOptions<S, Selected, Profile, Facets, G> & RequestOptions = {},
  ): Promise<
    SearchResult<SelectedFields<S, Selected>, HitFeaturesOf<S["ranking"], Profile>> & GroupedAnswer<S, Facets, G>
  > {
    const { signal } = options;
    const written = query<S, Selected, Profile, Facets, G>(schema, options);
    return await this.run(written, signal === undefined ? {} : { signal });
  }

  /**
   * Searches the group with YQL, for what `search` has no words for. Hits have the fields that the server chooses.
   *
   * @example
   * ```ts
   * const { hits } = await alice.searchYql(mail, "select * from mail where subject contains @word", {
   *   parameters: { word: "invoice" },
   * });
   * ```
   */
  async searchYql<S extends AnySchema, Profile extends S["profiles"][number] = never>(
    schema: S,
    yql: string,
    options: YqlSearchOptions<S, Profile> & RequestOptions = {},
  ): Promise<SearchResult<SomeFields<S>, HitFeaturesOf<S["ranking"], Profile>>> {
    const { signal } = options;
    return await this.run(yqlQuery(schema, yql, options), signal === undefined ? {} : { signal });
  }

  /**
   * The passages of the group's documents that are best for a question: found by words and, with `near`, by vector, both
   * rankings fused; near-duplicates folded; within a budget of tokens; each with where exactly it stands.
   *
   * @example
   * ```ts
   * const { passages } = await alice.retrieve(mail, "When is the invoice due?", { passages: 5 });
   * ```
   */
  retrieve<S extends AnySchema>(schema: S, question: string, options: RetrieveOptions<S> = {}): Promise<Retrieved> {
    const { signal } = options;
    return retrievePassages(schema, question, options as RetrieveOptions, {
      search: async (parameters) => {
        const { children = [] } = wholeRoot(
          await this.#search({ "ranking.profile": "default", ...parameters }, signal),
        );
        return (children as readonly WireHit[]).map((hit) => ({ ...hit, id: shownId(hit.id) }));
      },
      stored: (documentId) => this.#stored(schema, documentId, signal),
    });
  }

  /**
   * Answers a question from the group's documents, with a language model and citations: iterate it for parts as they come,
   * or await it. The model is given passages as data, can call nothing, and cites nothing that it was not given.
   *
   * @example
   * ```ts
   * const { text: said, citations } = await alice.ask(mail, "When is the invoice due?", {
   *   model: { url: "http://localhost:8000/v1", model: "small" },
   * });
   * ```
   */
  ask<S extends AnySchema>(schema: S, question: string, options: AskOptions<S> = {}): Answer {
    const { model = this.#model, history, rewrite, instructions, ...retrieval } = options;
    const { signal } = options;
    return new Answer(() =>
      answerParts({
        question,
        model,
        ...(history === undefined ? {} : { history }),
        ...(rewrite === undefined ? {} : { rewrite }),
        ...(instructions === undefined ? {} : { instructions }),
        ...(signal === undefined ? {} : { signal }),
        retrieve: async (searched) => (await this.retrieve(schema, searched, retrieval as RetrieveOptions<S>)).passages,
        isStored: async ({ documentId }) => (await this.#stored(schema, documentId, signal)) !== undefined,
      }),
    );
  }

  /** The fields of a document as they are stored, not decoded; nothing if it is not there. */
  async #stored(
    schema: AnySchema,
    id: string,
    signal: AbortSignal | undefined,
  ): Promise<Readonly<Record<string, unknown>> | undefined> {
    const target = this.#path(schema, id);
    const answer = await this.#send({ method: "GET", target, signal, alsoAccept: 404, isRepeatable: true });
    return answer.status === 404 ? undefined : ((answer.json as Partial<DocumentFound>).fields ?? {});
  }

  /**
   * What becomes of one document in a search, hit or not: by which part of the query it is not found, or its place.
   *
   * @example
   * ```ts
   * const explanation = await alice.explain(mail, "m1", { text: "invoice" });
   * ```
   */
  async explain<S extends AnySchema>(
    schema: S,
    id: string,
    options: SearchOptions<S> & RequestOptions = {},
  ): Promise<DocumentExplanation> {
    const asked = { ...query<S>(schema, options).toJSON(), "explain.id": wholeId(this.#set(schema), id) };
    const { explain } = await this.#search(asked, options.signal);
    if (explain === undefined) throw unexpectedAnswer("the answer explains nothing: this server cannot do it");
    return explain as DocumentExplanation;
  }

  /**
   * Sends a query that `query()` or `yqlQuery()` has made.
   *
   * @example
   * ```ts
   * const { hits } = await alice.run(query(mail, { text: "invoice" }));
   * ```
   */
  async run<Fields, Features = HitFeatures, Grouped = unknown>(
    written: Query<AnySchema, Fields, Features, Grouped>,
    options: RequestOptions = {},
  ): Promise<SearchResult<Fields, Features> & Grouped> {
    return readResult(written, await this.#search(written.toJSON(), options.signal));
  }

  async #search(asked: Readonly<Record<string, unknown>>, signal: AbortSignal | undefined): Promise<WireResult> {
    const body = JSON.stringify({ ...asked, "streaming.groupname": this.name });
    const answer = await this.#send({ method: "POST", target: "/search/", body, signal, isRepeatable: true });
    return answer.json as WireResult;
  }

  async #write<S extends AnySchema>(
    method: "POST" | "PUT" | "DELETE",
    schema: S,
    id: string,
    options: CreateOptions<S["fields"]>,
    body?: string,
  ): Promise<void> {
    refuseUnknown("a write", options, WRITE_OPTIONS);
    const { condition, create, signal } = options;
    const parameters = [
      ...(condition === undefined
        ? []
        : [`condition=${encodeURIComponent(conditionText(schema, condition, "the condition of a write"))}`]),
      ...(create === true ? ["create=true"] : []),
    ];
    const target = this.#path(schema, id) + (parameters.length === 0 ? "" : `?${parameters.join("&")}`);
    // Done twice, an update may count twice, and a condition may fail for having been fulfilled the first time.
    const request = { method, target, signal, isRepeatable: condition === undefined && method !== "PUT" };
    await this.#send(body === undefined ? request : { ...request, body });
  }

  #set(schema: AnySchema): DocumentSet {
    return { namespace: schema.namespace, type: schema.name, group: this.name };
  }

  #path(schema: AnySchema, id: string): string {
    const given = givenId(this.#set(schema), id);
    const { keepsDotSegments } = this.#exchange;
    const [namespace, type, group, local] = [schema.namespace, schema.name, this.name, given].map((name) =>
      pathSegment(name, keepsDotSegments),
    );
    return `/document/v1/${namespace}/${type}/group/${group}/${local}`;
  }

  #send(request: ExchangeRequest): ReturnType<typeof exchange> {
    return exchange(this.#exchange, request);
  }
}
