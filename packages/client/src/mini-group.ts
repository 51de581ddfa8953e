/**
 * A group as `@brooklet/client/mini` has it: what is asked of single documents, and searches. All of it stays inside the group, because nothing
 * else can be expressed. What `Group` has beyond this would be in a bundle of one file whether it is called or not (docs/decisions/0193).
 */
import { documentNameProblem } from "@brooklet/wire";
import type { Condition } from "./condition.ts";
import { wholeId } from "./document-id.ts";
import {
  type DocumentPlace,
  documentSet,
  encodeDocument,
  get,
  storedFields,
  type WriteLanguage,
  write,
} from "./document-request.ts";
import { invalidArgument, refuseUnknown, unexpectedAnswer } from "./error.ts";
import type { ExchangeOptions } from "./exchange.ts";
import type { FacetsOf } from "./grouping/facet.ts";
import type { Grouping } from "./grouping/grouping.ts";
import type { DocumentExplanation } from "./hit/explanation.ts";
import type { HighlightForm } from "./hit/marks.ts";
import { readResult, type SearchResult, wireResult } from "./hit/result.ts";
import { type Query, query, yqlQuery } from "./query.ts";
import type {
  CountOptions,
  CreateOptions,
  GetOptions,
  RequestOptions,
  UpdateOptions,
  WriteOptions,
} from "./request-options.ts";
import type { ConditionsOf, DocumentInputOf, StoredOf } from "./schema/infer.ts";
import type { HitFeatures } from "./schema/ranking.ts";
import { type AnySchema, demandSchema, hasBigints } from "./schema/schema.ts";
import type {
  GroupedAnswer,
  Orders,
  SearchedMembers,
  SearchOptions,
  SelectedFields,
  SomeFields,
  VectorName,
  YqlMembers,
  YqlSearchOptions,
} from "./search-options.ts";
import type { UpdateOf } from "./update.ts";

/**
 * One user's documents. An id is the one a document was put under; Vespa's whole ids (`id:mail:mail:g=alice:m1`) do too.
 *
 * @example
 * ```ts
 * const bob: brooklet.MiniGroup = client.group("bob");
 * ```
 */
export class MiniGroup {
  readonly name: string;
  /** @internal */
  protected readonly place: DocumentPlace;

  /** @internal Groups are made by `client.group`. */
  constructor(name: string, exchange: ExchangeOptions, language: () => Promise<WriteLanguage>) {
    const problem = documentNameProblem("group", name);
    if (problem !== undefined) {
      throw invalidArgument(`${JSON.stringify(String(name))} cannot be the name of a group: ${problem}`);
    }
    this.name = name;
    this.place = { exchange, group: name, language };
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
    demandSchema(schema);
    const body = (this.place.exchange.bytesOf ?? JSON.stringify)({ fields: encodeDocument(schema, id, fields) });
    await write(this.place, "POST", { schema, id, body }, options);
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
    demandSchema(schema);
    const { encodeUpdate } = await this.place.language();
    const { fields, isRepeatable } = encodeUpdate(schema, id, changes, options);
    await write(this.place, "PUT", { schema, id, body: JSON.stringify({ fields }) }, options, isRepeatable);
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
  ): Promise<StoredOf<S["fields"]> | undefined> {
    demandSchema(schema);
    return await get<S["fields"]>(this.place, schema, id, options);
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
    demandSchema(schema);
    return (await storedFields(this.place, schema, id, options, "%5Bid%5D")) !== undefined;
  }

  /**
   * Removes the document with this id. It is no error if there is none.
   * @example
   * ```ts
   * await alice.remove(mail, "m1", { condition: (it) => it.isUnread.is(false) });
   * ```
   */
  async remove<S extends AnySchema>(schema: S, id: string, options: WriteOptions<S["fields"]> = {}): Promise<void> {
    demandSchema(schema);
    await write(this.place, "DELETE", { schema, id }, options);
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
    demandSchema(schema);
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
    demandSchema(schema);
    refuseUnknown("count", options, ["timeoutMs", "consistency", "signal"]);
    const chosen = where === undefined ? {} : { where };
    const { totalCount } = await this.search(schema, { limit: 0, profile: "unranked", ...options, ...chosen });
    return totalCount;
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
    demandSchema(schema);
    return await this.run(yqlQuery(schema, yql, options), options);
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
    demandSchema(schema);
    const asked = { ...query(schema, options).toJSON(), "explain.id": wholeId(documentSet(schema, this.name), id) };
    const { explain } = await wireResult(this.place, asked, options.signal);
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
    if (!Object(written).toJSON) throw invalidArgument("run takes what query() makes");
    return await readResult(
      written,
      await wireResult(this.place, written.toJSON(), options?.signal, hasBigints(written.schema)),
    );
  }
}
