/**
 * A group: one user's documents. Everything asked of it stays inside it, because nothing else can be expressed. What is beyond
 * putting, getting and searching is loaded when it is called, so that a page that only searches need not (docs/decisions/0059).
 */
import type { LanguageModel, Retrieved } from "@brooklet/answers";
import { documentNameProblem, type Hit as WireHit, type SearchResult as WireResult } from "@brooklet/wire";
import { groupFeed, type OperationOf } from "./bulk/group-feed.ts";
import type { Condition } from "./condition.ts";
import type { Page } from "./cursor.ts";
import { encodeDocument } from "./document.ts";
import { shownId, wholeId } from "./document-id.ts";
import { type DocumentPlace, documentSet, get, storedFields, write } from "./document-request.ts";
import { invalidArgument, refuseUnknown, unexpectedAnswer } from "./error.ts";
import { type ExchangeOptions, exchange } from "./exchange.ts";
import { Feed, type FeedOptions, type FeedSource, isFeedUpdate } from "./feed.ts";
import type { ClearReceipt, EraseReceipt } from "./group-list.ts";
import type { FacetsOf } from "./grouping/facet.ts";
import type { Grouping } from "./grouping/grouping.ts";
import type { DocumentExplanation } from "./hit/explanation.ts";
import type { HighlightForm } from "./hit/marks.ts";
import { type Hit, readResult, type SearchResult, wholeRoot } from "./hit/result.ts";
import type { PathChanges } from "./path-change.ts";
import { type Query, query, yqlQuery } from "./query.ts";
import type {
  CountOptions,
  CreateOptions,
  GetManyOptions,
  GetOptions,
  RequestOptions,
  UpdateOptions,
  WriteOptions,
} from "./request-options.ts";
import { Answer, type AskOptions } from "./retrieval/answer.ts";
import type { Asking } from "./retrieval/answering.ts";
import type { RetrieveOptions } from "./retrieval/retrieval.ts";
import type { ConditionsOf, DocumentInputOf, DocumentOf } from "./schema/infer.ts";
import type { HitFeatures } from "./schema/ranking.ts";
import { type AnySchema, hasBigints } from "./schema/schema.ts";
import type {
  CursorMembers,
  CursorOptions,
  GroupedAnswer,
  Orders,
  PageOptions,
  SearchedMembers,
  SearchOptions,
  SelectedFields,
  SomeFields,
  VectorName,
  YqlMembers,
  YqlSearchOptions,
} from "./search-options.ts";
import type { WriteCondition } from "./selection.ts";
import type { UpdateOf } from "./update.ts";
import type { SelectedOptions, SelectedSummary, VisitedDocument, VisitOptions } from "./visit.ts";

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
  readonly #place: DocumentPlace;
  readonly #model: LanguageModel | undefined;

  /** @internal Groups are made by `client.group`. */
  constructor(name: string, options: ExchangeOptions, model?: LanguageModel) {
    const problem = documentNameProblem("group", name);
    if (problem !== undefined) {
      throw invalidArgument(`${JSON.stringify(name)} cannot be the name of a group: ${problem}`);
    }
    this.name = name;
    this.#place = { exchange: options, group: name };
    this.#model = model;
  }

  /**
   * Stores a document in place of the one with this id, if there is one. When it is done, searches see it.
   *
   * @example
   * ```ts
   * const sender = "billing@x.org";
   * await alice.put(mail, "m1", { subject: "Due", body: "On Friday", sender, size: 9, isUnread: true, sentAt: new Date() });
   * ```
   */
  async put<S extends AnySchema>(
    schema: S,
    id: string,
    fields: DocumentInputOf<S["fields"]>,
    options: CreateOptions<S["fields"]> = {},
  ): Promise<void> {
    const body = (this.#place.exchange.bytesOf ?? JSON.stringify)({ fields: encodeDocument(schema, id, fields) });
    await write(this.#place, "POST", { schema, id, body }, options);
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
    const { encodeUpdate } = await import("./group-verbs.ts");
    const body = JSON.stringify({ fields: encodeUpdate(schema, id, changes, (options.paths ?? {}) as PathChanges) });
    await write(this.#place, "PUT", { schema, id, body }, options);
  }

  /**
   * The document with this id.
   *
   * @example
   * ```ts
   * console.log((await alice.get(mail, "m1"))?.subject);
   * ```
   */
  async get<S extends AnySchema>(
    schema: S,
    id: string,
    options: GetOptions = {},
  ): Promise<DocumentOf<S["fields"]> | undefined> {
    return await get<S["fields"]>(this.#place, schema, id, options);
  }

  /**
   * The documents with these ids, in their order; nothing for each that is not there.
   *
   * @example
   * ```ts
   * const [first, second] = await alice.getMany(mail, ["m1", "m2"]);
   * ```
   */
  async getMany<S extends AnySchema>(
    schema: S,
    ids: readonly string[],
    options: GetManyOptions = {},
  ): Promise<readonly (DocumentOf<S["fields"]> | undefined)[]> {
    const { getMany } = await import("./group-verbs.ts");
    return await getMany<S["fields"]>(this.#place, schema, ids, options);
  }

  /**
   * Whether there is a document with this id.
   *
   * @example
   * ```ts
   * if (!(await alice.exists(mail, "m1"))) console.log("not there yet");
   * ```
   */
  async exists(schema: AnySchema, id: string, options: GetOptions = {}): Promise<boolean> {
    return (await storedFields(this.#place, schema, id, options, "%5Bid%5D")) !== undefined;
  }

  /**
   * Removes the document with this id. It is no error if there is none.
   * @example
   * ```ts
   * await alice.remove(mail, "m1", { condition: (it) => it.isUnread.is(false) });
   * ```
   */
  async remove<S extends AnySchema>(schema: S, id: string, options: WriteOptions<S["fields"]> = {}): Promise<void> {
    await write(this.#place, "DELETE", { schema, id }, options);
  }

  /**
   * Puts, updates and removes many documents. Await it to be done, or iterate it for every outcome.
   *
   * @example
   * ```ts
   * const { applied } = await alice.feed(mail, [{ id: "m1", remove: true }, { id: "m2", remove: true }]);
   * ```
   */
  feed<S extends AnySchema>(schema: S, operations: FeedSource<OperationOf<S>>, options: FeedOptions = {}): Feed {
    const { concurrency: _, ...request } = options;
    const single = (operation: OperationOf<S>): Promise<void> => {
      const { id } = operation;
      if (operation.remove === true) return this.remove(schema, id, request);
      if (!isFeedUpdate(operation)) return this.put(schema, id, operation.fields, request);
      const create = operation.create === true ? { create: true } : {};
      return this.update(schema, id, operation.update, { ...request, ...create });
    };
    return new Feed((sink) => groupFeed(this.#place, schema, operations, single, options, sink));
  }

  /**
   * Every document of the group, page by page as they are taken, in the order of their ids, each exactly once if nobody touches it.
   *
   * @example
   * ```ts
   * for await (const { id, document } of alice.visit(mail)) console.log(id, document.subject);
   * ```
   */
  async *visit<S extends AnySchema, Name extends keyof S["fields"] & string = keyof S["fields"] & string>(
    schema: S,
    options: VisitOptions<Name, S["fields"]> = {},
  ): AsyncGenerator<VisitedDocument<Pick<DocumentOf<S["fields"]>, Name & keyof DocumentOf<S["fields"]>>>> {
    const { visit } = await import("./group-verbs.ts");
    yield* visit(this.#place.exchange, { schema, group: this.name }, options as VisitOptions);
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
    const { conditionText, removeWhere } = await import("./group-verbs.ts");
    const selection = conditionText(schema, where, "the selection of removeWhere");
    return await removeWhere(this.#place.exchange, { schema, group: this.name }, selection, options);
  }

  /**
   * Removes all documents of the group, of every schema in the content cluster that `schema()` deploys, unless `cluster` names
   * another. When it is done that is on stable storage. What is put meanwhile may stay; if it breaks off, the error says after
   * how many, and clearing again removes the rest.
   *
   * @example
   * ```ts
   * const { removed } = await alice.clear();
   * ```
   */
  async clear(options: SelectedOptions = {}): Promise<ClearReceipt> {
    const { clearGroup } = await import("./group-verbs.ts");
    return await clearGroup(this.#place.exchange, this.name, options);
  }

  /**
   * Erases everything that is stored of the group, whatever the schema and the content cluster: for a user who leaves, or asks to
   * be forgotten. The receipt says when, and what the platform may still know. If it breaks off, erase again: that does no harm.
   *
   * @example
   * ```ts
   * const { erasedAt, recoverableUntil } = await alice.erase();
   * ```
   */
  async erase(options: RequestOptions = {}): Promise<EraseReceipt> {
    const { eraseGroup } = await import("./group-verbs.ts");
    return await eraseGroup(this.#place.exchange, this.name, options);
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
    const { conditionText, updateWhere } = await import("./group-verbs.ts");
    const selection = conditionText(schema, where, "the selection of updateWhere");
    return await updateWhere(this.#place.exchange, { schema, group: this.name }, selection, fields, options);
  }

  /**
   * Searches the group.
   *
   * @example
   * ```ts
   * const { hits, totalCount } = await alice.search(mail, { text: "invoice", where: (it) => it.isUnread.is(true) });
   * ```
   */
  async search<
    S extends AnySchema,
    Selected extends keyof S["fields"] & string = never,
    Profile extends S["profiles"][number] = never,
    Facets extends FacetsOf<S["fields"]> = never,
    G extends Grouping = never,
    Near extends VectorName<S> = never,
    Ordering extends Orders<S> = never,
    Explain extends boolean = false,
    Form extends HighlightForm = "html",
  >(
    schema: S,
    options: SearchOptions<S, Selected, Profile, Facets, G, Near, Ordering, Explain, Form> & RequestOptions = {},
  ): Promise<
    SearchResult<SelectedFields<S, Selected>, SearchedMembers<S, Profile, Near, Ordering, Explain, Form>> &
      GroupedAnswer<S, Facets, G>
  > {
    const written = query<S, Selected, Profile, Facets, G, Near, Ordering, Explain, Form>(schema, options);
    return await this.run(written, options);
  }

  /**
   * How many documents of the schema are in the group, or fulfil a condition: exactly, without any of them being returned.
   *
   * @example
   * ```ts
   * const unread = await alice.count(mail, (it) => it.isUnread.is(true));
   * ```
   */
  async count<S extends AnySchema>(
    schema: S,
    where?: Condition | ((fields: ConditionsOf<S["fields"]>) => Condition),
    options: CountOptions = {},
  ): Promise<number> {
    refuseUnknown("count", options, ["timeoutMs", "consistency", "signal"]);
    const chosen = where === undefined ? {} : { where };
    const { totalCount } = await this.search(schema, { limit: 0, profile: "unranked", ...options, ...chosen });
    return totalCount;
  }

  /**
   * Every hit of a search, however many: `for await (const hit of group.cursor(mail, { where, orderBy }))`. They come in the
   * order of `orderBy` and, among equals, of ids (texts by their bytes); without `orderBy` in that of ids. While nobody
   * writes, each comes exactly once. What is written meanwhile comes if its place is not passed yet; a document that moves in
   * the order may come twice or not at all.
   *
   * @example
   * ```ts
   * for await (const { id, fields } of alice.cursor(mail, { text: "invoice", orderBy: "sentAt desc" })) {
   *   console.log(id, fields.subject);
   * }
   * ```
   */
  async *cursor<
    S extends AnySchema,
    Selected extends keyof S["fields"] & string = never,
    Profile extends S["profiles"][number] = never,
    Explain extends boolean = false,
    Form extends HighlightForm = "html",
  >(
    schema: S,
    options: CursorOptions<S, Selected, Profile, Explain, Form> & RequestOptions = {},
  ): AsyncGenerator<Hit<SelectedFields<S, Selected>, CursorMembers<S, Profile, Explain, Form>>> {
    const { searchAll } = await import("./group-verbs.ts");
    yield* searchAll(this.#place, schema, { ...options });
  }

  /**
   * One page of such a search, and where the next one begins: for a list that a reader turns page by page, whenever.
   *
   * @example
   * ```ts
   * const first = await alice.page(mail, { orderBy: "sentAt desc", pageSize: 20 });
   * if (first.next !== undefined) await alice.page(mail, { orderBy: "sentAt desc", pageSize: 20, after: first.next });
   * ```
   */
  async page<
    S extends AnySchema,
    Selected extends keyof S["fields"] & string = never,
    Profile extends S["profiles"][number] = never,
    Explain extends boolean = false,
    Form extends HighlightForm = "html",
  >(
    schema: S,
    options: PageOptions<S, Selected, Profile, Explain, Form> & RequestOptions = {},
  ): Promise<Page<SelectedFields<S, Selected>, CursorMembers<S, Profile, Explain, Form>>> {
    const { searchPage } = await import("./group-verbs.ts");
    return await searchPage(this.#place, schema, { ...options });
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
  async searchYql<
    S extends AnySchema,
    Profile extends S["profiles"][number] = never,
    Explain extends boolean = false,
    Form extends HighlightForm = "html",
  >(
    schema: S,
    yql: string,
    options: YqlSearchOptions<S, Profile, Explain, Form> & RequestOptions = {},
  ): Promise<SearchResult<SomeFields<S>, YqlMembers<S, Profile, Explain, Form>>> {
    return await this.run(yqlQuery(schema, yql, options), options);
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
  async retrieve<S extends AnySchema>(
    schema: S,
    question: string,
    options: RetrieveOptions<S> = {},
  ): Promise<Retrieved> {
    const { signal } = options;
    const { retrievePassages } = await import("./retrieval/answering.ts");
    return await retrievePassages(schema, question, options as RetrieveOptions, {
      search: async (parameters) => {
        const { children = [] } = wholeRoot(
          await this.#search({ "ranking.profile": "default", ...parameters }, signal),
        );
        return (children as readonly WireHit[]).map((hit) => ({ ...hit, id: shownId(hit.id) }));
      },
      stored: (documentId) => storedFields(this.#place, schema, documentId, options),
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
    const asking: Asking = {
      question,
      model,
      ...(history === undefined ? {} : { history }),
      ...(rewrite === undefined ? {} : { rewrite }),
      ...(instructions === undefined ? {} : { instructions }),
      ...(signal === undefined ? {} : { signal }),
      retrieve: async (searched) => (await this.retrieve(schema, searched, retrieval as RetrieveOptions<S>)).passages,
      isStored: async ({ documentId }) => (await storedFields(this.#place, schema, documentId, options)) !== undefined,
    };
    return new Answer(async function* parts() {
      const { answerParts } = await import("./retrieval/answering.ts");
      yield* answerParts(asking);
    });
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
    const asked = { ...query(schema, options).toJSON(), "explain.id": wholeId(documentSet(schema, this.name), id) };
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
    return await readResult(written, await this.#search(written.toJSON(), options.signal, hasBigints(written.schema)));
  }

  async #search(
    asked: Readonly<Record<string, unknown>>,
    signal: AbortSignal | undefined,
    isExact = false,
  ): Promise<WireResult> {
    const parameters = { ...asked, "streaming.groupname": this.name };
    const request = { method: "POST", target: "/search/", parameters, signal, isRepeatable: true, isExact } as const;
    const answer = await exchange(this.#place.exchange, request);
    return answer.json as WireResult;
  }
}
