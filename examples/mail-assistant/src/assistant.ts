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
  facet,
  type Infer,
  open,
} from "brooklet";
import { parseMail, splitMbox, threadsOf } from "./mbox.ts";
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
  /** How many mails its thread has, itself among them. */
  readonly threadMails: number;
}

/** A mail as it is told of beside others. */
export interface MailLine {
  readonly id: string;
  readonly subject: string;
  readonly sender: string;
  readonly sentAt: Date;
}

/** A mail, and the others of its thread, the oldest first. */
export interface OpenMail {
  readonly mail: Omit<Infer<typeof mail>, "vec">;
  readonly others: readonly MailLine[];
}

/** What became of a mail in a search. */
export interface MailOutcome extends MailLine {
  /** Its number in the list, from 1; left out if it is not in it. */
  readonly place?: number;
  /** Why it is not. */
  readonly reasons: readonly string[];
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
/** Mails of a thread that are shown. */
const THREAD_MAX = 100;
/** Mails that a missing one is looked for among. */
const MISSING_MAX = 5;

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
    const threads = threadsOf(mails);
    const vectors = await this.#vectors(mails.map(({ fields }) => `${fields.subject}\n${fields.body}`));
    await this.#database.group(person).feed(
      mail,
      mails.map(({ id, fields }, index) => {
        const vec = vectors?.[index];
        const threaded = { ...fields, thread: threads.get(id) ?? id };
        return { id, fields: vec === undefined ? threaded : { ...threaded, vec } };
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
    const { page = 1 } = query;
    const isAsked = query.text.trim() !== "";
    const [result, sender, folder, month] = await Promise.all([
      this.#database.group(person).search(mail, {
        ...searchOf(query),
        offset: (page - 1) * PAGE,
        explain: isAsked,
      }),
      this.#counted(person, query, "sender"),
      this.#counted(person, query, "folder"),
      this.#counted(person, query, "month"),
    ]);
    const sizes = await this.#threadSizes(
      person,
      result.hits.map(({ fields }) => fields.thread),
    );
    const hits = result.hits.map((hit) => ({
      id: hit.id,
      mail: hit.fields,
      why: reasons(hit.explain?.()),
      threadMails: sizes.get(hit.fields.thread) ?? 1,
    }));
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

  /** How many mails threads have. */
  async #threadSizes(person: string, threads: readonly string[]): Promise<ReadonlyMap<string, number>> {
    if (threads.length === 0) return new Map();
    const { facets } = await this.#database.group(person).search(mail, {
      where: mail.conditions.thread.in(threads),
      facets: { thread: facet("thread", { top: PAGE }) },
      limit: 0,
    });
    return new Map(facets.thread.map(({ value, count }) => [value, count]));
  }

  /** One mail, with what else there is of its thread. */
  async read(person: string, id: string): Promise<OpenMail | undefined> {
    const group = this.#database.group(person);
    const found = await group.get(mail, id);
    if (found === undefined) return undefined;
    const { hits } = await group.search(mail, {
      where: mail.conditions.thread.is(found.thread),
      orderBy: "sentAt asc",
      limit: THREAD_MAX,
    });
    const { vec: _, ...shown } = found;
    return { mail: shown, others: hits.filter((hit) => hit.id !== id).map(lineOf) };
  }

  /** Why mails that are missed are not in the list of a search: those that have the words of `about`. */
  async whyNot(person: string, query: MailQuery, about: string): Promise<readonly MailOutcome[]> {
    const group = this.#database.group(person);
    const { hits } = await group.search(mail, { text: about, limit: MISSING_MAX });
    return await Promise.all(
      hits.map(async (hit) => {
        const { outcome, position = 0, query: asked } = await group.explain(mail, hit.id, searchOf(query));
        if (outcome !== "NOT_MATCHED") return { ...lineOf(hit), place: position + 1, reasons: [] };
        return { ...lineOf(hit), reasons: asked === undefined ? [] : missing(asked, hit.fields) };
      }),
    );
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

/** What a query asks of a person's mail; without words the newest come first. */
function searchOf({ text, asYouType = false, chosen }: MailQuery) {
  return {
    text: { query: text, asYouType },
    where: conditionOf(chosen),
    limit: PAGE,
    ...(text.trim() === "" ? { orderBy: "sentAt desc" as const } : {}),
  };
}

function lineOf({ id, fields }: { readonly id: string; readonly fields: Omit<MailLine, "id"> }): MailLine {
  const { subject, sender, sentAt } = fields;
  return { id, subject, sender, sentAt };
}

/** What of a query a mail does not have, in words. */
function missing(asked: ExplainedOperator, { sender, folder, sentAt }: MailHit["mail"]): string[] {
  const fields = new Set<string>();
  const look = ({ matched, fields: own = [], children = [] }: ExplainedOperator): void => {
    if (matched) return;
    for (const { field } of own) fields.add(field);
    children.forEach(look);
  };
  look(asked);
  const month = sentAt.toISOString().slice(0, "2026-11".length);
  return [
    ...(fields.has("body") ? ["none of the words stands in it, nor one that is like them"] : []),
    ...(fields.has("sender") ? [`its sender is ${sender}, which is not chosen`] : []),
    ...(fields.has("folder") ? [`it is in ${folder}, which is not chosen`] : []),
    ...(fields.has("sentAt") ? [`it is of ${month}, which is not chosen`] : []),
  ];
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
