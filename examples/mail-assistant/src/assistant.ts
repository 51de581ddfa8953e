/** The application's own part: mailboxes in a database, and the searches and questions of one person. */
import {
  type Answer,
  allOf,
  anyOf,
  type ChatEndpoint,
  type Condition,
  type Database,
  type Embedder,
  type ExplainedOperator,
  type Explanation,
  type Infer,
  open,
} from "brooklet";
import { parseMail, splitMbox } from "./mbox.ts";
import { DIMENSIONS, FACETS, type FacetName, mail } from "./schema.ts";

/** What an assistant is made with. */
export interface AssistantOptions {
  /** The data directory; without one, everything is in memory. */
  readonly path?: string;
  readonly model: ChatEndpoint;
  /** Makes vectors of mails and questions, so that they are found by meaning too. */
  readonly embedder?: Embedder;
}

/** What a person asks for. */
export interface MailQuery {
  readonly text: string;
  /** Whether the last word may be unfinished. */
  readonly asYouType?: boolean;
  /** The values that were chosen of each facet, any of which a mail may have. Months are written `2026-11`. */
  readonly chosen: Readonly<Record<FacetName, readonly string[]>>;
  /** Which page, from 1. */
  readonly page?: number;
}

/** A mail in a list. */
export interface MailHit {
  readonly id: string;
  readonly mail: Omit<Infer<typeof mail>, "vec">;
  /** Why it is in the list: which words stand where. */
  readonly why: readonly string[];
}

/** A count beside a value. */
export interface FacetCount {
  readonly value: string;
  readonly count: number;
}

/** What a search found. */
export interface MailList {
  readonly total: number;
  readonly hits: readonly MailHit[];
  /** Which page this is, and of how many. */
  readonly page: number;
  readonly pages: number;
  /** Counts under what was chosen of the other facets: a mail may have any of the values of one. */
  readonly facets: Readonly<Record<FacetName, readonly FacetCount[]>>;
}

const PAGE = 20;
const MONTH = /^\d{4}-(0[1-9]|1[0-2])$/;
const QUESTION_TOKENS = 8_000;
const EMBEDDING_MS = 60_000;

/** Mailboxes, one group for each person. */
export class Assistant implements AsyncDisposable {
  readonly #database: Database;
  readonly #options: AssistantOptions;

  private constructor(database: Database, options: AssistantOptions) {
    this.#database = database;
    this.#options = options;
  }

  /** Opens the database. */
  static async open(options: AssistantOptions): Promise<Assistant> {
    const { path, model, embedder } = options;
    const database = await open({
      schemas: [mail],
      languageModel: model,
      ...(path === undefined ? {} : { path }),
      ...(embedder === undefined ? {} : { models: { embedders: [embedder] } }),
    });
    return new Assistant(database, options);
  }

  /** Imports a mailbox; gives how many mails it has. Doing it again changes nothing. */
  async import(person: string, mbox: string): Promise<number> {
    const sources = splitMbox(mbox);
    const mails = await Promise.all(sources.map(parseMail));
    const vectors = await this.#vectors(mails.map(({ fields }) => `${fields.subject}\n${fields.body}`));
    await this.#database.group(person).feed(
      mail,
      mails.map(({ id, fields }, index) => {
        const vec = vectors?.[index];
        return { id, fields: vec === undefined ? fields : { ...fields, vec } };
      }),
    );
    return mails.length;
  }

  async #vectors(texts: readonly string[]): Promise<readonly (readonly number[])[] | undefined> {
    const { embedder } = this.#options;
    if (embedder === undefined) return undefined;
    const until = Date.now() + EMBEDDING_MS;
    const deadline = { leftMs: () => until - Date.now() };
    const embeddings = await embedder.embed({ texts, purpose: "document", dimensions: DIMENSIONS, deadline });
    return embeddings.map(({ values }) => [...values]);
  }

  /** Searches a person's mail; without words, the newest. */
  async search(person: string, query: MailQuery): Promise<MailList> {
    const { text, asYouType = false, chosen, page = 1 } = query;
    const isAsked = text.trim() !== "";
    const [result, sender, folder, month] = await Promise.all([
      this.#database.group(person).search(mail, {
        text: { query: text, asYouType },
        where: conditionOf(chosen),
        limit: PAGE,
        offset: (page - 1) * PAGE,
        explain: isAsked,
        ...(isAsked ? {} : { orderBy: "sentAt desc" as const }),
      }),
      this.#counted(person, query, "sender"),
      this.#counted(person, query, "folder"),
      this.#counted(person, query, "month"),
    ]);
    const hits = result.hits.map((hit) => ({ id: hit.id, mail: hit.fields, why: reasons(hit.explain?.()) }));
    const pages = Math.max(1, Math.ceil(result.totalCount / PAGE));
    return { total: result.totalCount, page, pages, hits, facets: { sender, folder, month } };
  }

  /** The counts of a facet, as if nothing had been chosen of it: what else there is can be chosen too. */
  async #counted(
    person: string,
    { text, asYouType = false, chosen }: MailQuery,
    name: FacetName,
  ): Promise<FacetCount[]> {
    const { facets } = await this.#database.group(person).search(mail, {
      text: { query: text, asYouType },
      where: conditionOf({ ...chosen, [name]: [] }),
      facets: { [name]: FACETS[name] } as Pick<typeof FACETS, FacetName>,
      limit: 0,
    });
    return facets[name].map(({ value, count }) => ({
      value: typeof value === "string" ? value : value.toISOString().slice(0, "2026-11".length),
      count,
    }));
  }

  /** Answers a question from a person's mail. */
  ask(person: string, question: string, signal: AbortSignal): Answer {
    const { embedder } = this.#options;
    return this.#database.group(person).ask(mail, question, {
      from: ["subject", "body"],
      passages: 6,
      tokens: QUESTION_TOKENS,
      signal,
      ...(embedder === undefined ? {} : { near: { field: "vec", embedder: embedder.id } }),
    });
  }

  /** One mail. */
  async read(person: string, id: string): Promise<Infer<typeof mail> | undefined> {
    return await this.#database.group(person).get(mail, id);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#database.close();
  }
}

/** An explanation, if there is one, in words: `"invoice" in subject, twice`. */
function reasons(explanation: Explanation | undefined): string[] {
  const found = new Set<string>();
  const look = (operator: ExplainedOperator): void => {
    for (const { asks, field, matched, count } of operator.fields ?? []) {
      // Only words are a reason; what was chosen beside them is in sight.
      if (matched && (field === "subject" || field === "body"))
        found.add(`${asks} in the ${field}${count > 1 ? ` (${count} times)` : ""}`);
    }
    for (const child of operator.children ?? []) look(child);
  };
  if (explanation !== undefined) look(explanation.query);
  return [...found];
}

/** Any of the values of each facet, and all facets together. */
function conditionOf({ sender, folder, month }: MailQuery["chosen"]): Condition {
  const it = mail.conditions;
  return allOf(
    ...(sender.length === 0 ? [] : [it.sender.in(sender)]),
    ...(folder.length === 0 ? [] : [it.folder.in(folder)]),
    ...(month.length === 0 ? [] : [anyOf(...month.filter((one) => MONTH.test(one)).map(withinMonth))]),
  );
}

function withinMonth(month: string): Condition {
  const from = new Date(`${month}-01T00:00:00Z`);
  const until = new Date(Date.UTC(from.getUTCFullYear(), from.getUTCMonth() + 1));
  return allOf(mail.conditions.sentAt.ge(from), mail.conditions.sentAt.lt(until));
}
