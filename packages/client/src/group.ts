/**
 * A group: one user's documents. Everything asked of it stays inside it, because nothing else can be expressed. What is beyond
 * putting, getting and searching is loaded when it is called, so that a page that only searches need not (docs/decisions/0059).
 */
import type { LanguageModel, Retrieved } from "@brooklet/answers";
import type { OperationOf } from "./bulk/group-feed.ts";
import type { Page } from "./cursor.ts";
import type { ExchangeOptions } from "./exchange.ts";
import { Feed, type FeedOptions, type FeedSource } from "./feed.ts";
import type { ClearReceipt, EraseReceipt } from "./group-list.ts";
import type { HighlightForm } from "./hit/marks.ts";
import type { Hit } from "./hit/result.ts";
import { MiniGroup } from "./mini-group.ts";
import type { GetManyOptions, RequestOptions } from "./request-options.ts";
import { Answer, type AskOptions, checkLanguageModel } from "./retrieval/answer.ts";
import type { RetrieveOptions } from "./retrieval/retrieval.ts";
import type { DocumentInputOf, DocumentOf, StoredOf } from "./schema/infer.ts";
import { type AnySchema, demandSchema } from "./schema/schema.ts";
import type { CursorMembers, CursorOptions, PageOptions, SelectedFields } from "./search-options.ts";
import type { WriteCondition } from "./selection.ts";
import type { SelectedOptions, SelectedSummary, VisitedDocument, VisitOptions } from "./visit.ts";

/**
 * One user's documents. An id is the one a document was put under; Vespa's whole ids (`id:mail:mail:g=alice:m1`) do too.
 *
 * @example
 * ```ts
 * const bob: Group = client.group("bob");
 * ```
 */
export class Group extends MiniGroup {
  readonly #model: LanguageModel | undefined;

  /** @internal Groups are made by `client.group`. */
  constructor(name: string, options: ExchangeOptions, model?: LanguageModel) {
    super(name, options, () => import("./group-verbs.ts"));
    this.#model = model;
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
  ): Promise<readonly (StoredOf<S["fields"]> | undefined)[]> {
    demandSchema(schema);
    const { getMany } = await import("./group-verbs.ts");
    return await getMany<S["fields"]>(this.place, schema, ids, options);
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
    const [group, place] = [this, this.place];
    return new Feed(async function* outcomes(sink) {
      demandSchema(schema);
      const { groupFeed } = await import("./group-verbs.ts");
      yield* groupFeed(group, place, schema, operations, options, sink);
    });
  }

  /**
   * Every document of the group, page by page as they are taken, in the order of their ids, each exactly once if nobody touches it.
   *
   * @example
   * ```ts
   * for await (const { id, document } of alice.visit(mail)) console.log(id, document.subject);
   * ```
   */
  async *visit<S extends AnySchema, Name extends keyof S["fields"] & string = keyof StoredOf<S["fields"]> & string>(
    schema: S,
    options: VisitOptions<Name, S["fields"]> = {},
  ): AsyncGenerator<VisitedDocument<Pick<DocumentOf<S["fields"]>, Name & keyof DocumentOf<S["fields"]>>>> {
    demandSchema(schema);
    const { visit } = await import("./group-verbs.ts");
    yield* visit(this.place.exchange, { schema, group: this.name }, options as VisitOptions);
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
    demandSchema(schema);
    const { conditionText, removeWhere } = await import("./group-verbs.ts");
    const selection = conditionText(schema, where, "the selection of removeWhere");
    return await removeWhere(this.place.exchange, { schema, group: this.name }, selection, options);
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
    return await clearGroup(this.place.exchange, this.name, options);
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
    return await eraseGroup(this.place.exchange, this.name, options);
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
    demandSchema(schema);
    const { conditionText, updateWhere } = await import("./group-verbs.ts");
    const selection = conditionText(schema, where, "the selection of updateWhere");
    return await updateWhere(this.place.exchange, { schema, group: this.name }, selection, fields, options);
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
    demandSchema(schema);
    const { searchAll } = await import("./group-verbs.ts");
    yield* searchAll(this.place, schema, options);
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
    demandSchema(schema);
    const { searchPage } = await import("./group-verbs.ts");
    return await searchPage(this.place, schema, options);
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
    demandSchema(schema);
    const { groupRetrieval } = await import("./retrieval/answering.ts");
    return await groupRetrieval(this.place, schema, question, options as RetrieveOptions);
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
    const [place, ofClient] = [this.place, this.#model];
    return new Answer(async function* parts() {
      demandSchema(schema);
      // Here, not with what answers: what both use would be a file of its own, which every page begins with.
      if (options?.model) checkLanguageModel(options.model, "model");
      const { answerParts } = await import("./retrieval/answering.ts");
      yield* answerParts(place, schema, question, options as AskOptions, ofClient);
    });
  }
}
