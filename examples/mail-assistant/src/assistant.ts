/** The application's own part: mailboxes in a database, and the searches and questions of one person. */
import {
  type Answer,
  allOf,
  type ChatEndpoint,
  type Database,
  type Embedder,
  type ExplainedOperator,
  type Explanation,
  type Infer,
  open,
} from "brooklet";
import { parseMail, splitMbox } from "./mbox.ts";
import { DIMENSIONS, FACETS, mail } from "./schema.ts";

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
  readonly senders: readonly string[];
  readonly folders: readonly string[];
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
  readonly facets: { readonly sender: readonly FacetCount[]; readonly folder: readonly FacetCount[] };
}

const LISTED = 30;
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
  async search(person: string, { text, senders, folders }: MailQuery): Promise<MailList> {
    const group = this.#database.group(person);
    const isAsked = text.trim() !== "";
    const result = await group.search(mail, {
      text,
      where: (it) =>
        allOf(
          ...(senders.length === 0 ? [] : [it.sender.in(senders)]),
          ...(folders.length === 0 ? [] : [it.folder.in(folders)]),
        ),
      facets: FACETS,
      limit: LISTED,
      explain: isAsked,
      ...(isAsked ? {} : { orderBy: "sentAt desc" as const }),
    });
    const hits = result.hits.map((hit) => ({
      id: hit.id,
      mail: hit.fields,
      why: reasons(hit.explain?.()),
    }));
    return { total: result.totalCount, hits, facets: result.facets };
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
