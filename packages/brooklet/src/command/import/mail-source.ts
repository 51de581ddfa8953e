/**
 * Messages as rows of an import: what they say by the names of `MAIL_COLUMNS`. A message that cannot be read is told
 * with its place and passed over; how many there were is known in the end, so that none is lost silently.
 */
import { createHash } from "node:crypto";
import PostalMime, { type Address, type Email } from "postal-mime";
import type { Source } from "./import-source.ts";
import type { RawMail } from "./mail-files.ts";

/** What can be mapped of a message. Lists are joined by ", ": `to[,]` cuts them again. */
export const MAIL_COLUMNS = [
  "id",
  "message-id",
  "subject",
  "from",
  "from-name",
  "to",
  "cc",
  "bcc",
  "reply-to",
  "date",
  "timestamp",
  "text",
  "in-reply-to",
  "references",
  "attachments",
  "folder",
  "size",
] as const;

/** A name of a column. */
type MailColumn = (typeof MAIL_COLUMNS)[number];

const NESTING_MAX = 64;
const HEADER_BYTES_MAX = 1 << 20;
const ID_DIGITS = 32;
const MS_PER_SECOND = 1_000;

/** Told of messages that are passed over. */
export interface MailProblems {
  /** How many there were. */
  skipped: number;
  readonly tell: (line: string) => void;
}

/** The messages that can be read. */
export async function* mailSources(mails: AsyncIterable<RawMail>, problems: MailProblems): AsyncGenerator<Source> {
  for await (const mail of mails) {
    try {
      yield sourceOf(await valuesOf(mail));
    } catch (error) {
      problems.skipped += 1;
      problems.tell(`${mail.place} was passed over: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
}

type Values = Readonly<Partial<Record<MailColumn, string | number>>>;

function sourceOf(values: Values): Source {
  const value = (name: string): string | number | undefined => values[name as MailColumn] || undefined;
  return {
    names: () => MAIL_COLUMNS.filter((name) => value(name) !== undefined),
    text: (name) => (value(name) === undefined ? undefined : String(value(name))),
    json: (name) => (value(name) === undefined ? undefined : JSON.stringify(value(name))),
  };
}

async function valuesOf({ bytes, problem, folder }: RawMail): Promise<Values> {
  if (bytes === undefined) throw new Error(problem ?? "it was not read");
  const email = await PostalMime.parse(bytes, { maxNestingDepth: NESTING_MAX, maxHeadersSize: HEADER_BYTES_MAX });
  if (email.from === undefined && email.date === undefined && email.subject === undefined) {
    throw new Error("it is no message: it has no sender, no date and no subject");
  }
  const messageId = withoutBrackets(email.messageId);
  const milliseconds = email.date === undefined ? Number.NaN : Date.parse(email.date);
  const values: Record<MailColumn, string | number | undefined> = {
    // One without an id of its own gets one of its bytes: imported again it is the same document.
    id: messageId ?? createHash("sha256").update(bytes).digest("hex").slice(0, ID_DIGITS),
    "message-id": messageId,
    subject: email.subject,
    from: addresses([email.from])[0],
    "from-name": email.from?.name,
    to: joinTexts(addresses(email.to)),
    cc: joinTexts(addresses(email.cc)),
    bcc: joinTexts(addresses(email.bcc)),
    "reply-to": joinTexts(addresses(email.replyTo)),
    date: Number.isNaN(milliseconds) ? undefined : new Date(milliseconds).toISOString(),
    timestamp: Number.isNaN(milliseconds) ? undefined : Math.floor(milliseconds / MS_PER_SECOND),
    text: textOf(email),
    "in-reply-to": withoutBrackets(email.inReplyTo),
    references: joinTexts((email.references ?? "").split(/[\s,]+/).map((one) => withoutBrackets(one) ?? "")),
    attachments: joinTexts(email.attachments.map(({ filename }) => filename ?? "")),
    folder,
    size: bytes.length,
  };
  return Object.fromEntries(Object.entries(values).flatMap(([name, value]) => readable(name, value))) as Values;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is taken out
const UNREADABLE = /[\0-\x08\x0b\x0c\x0e-\x1f]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

/** A text without what no stored text may have: a message may have anything. */
function readable(name: string, value: string | number | undefined): [string, string | number][] {
  if (value === undefined) return [];
  return [[name, typeof value === "string" ? value.replace(UNREADABLE, " ") : value]];
}

function addresses(of: readonly (Address | undefined)[] | undefined): string[] {
  const all = (of ?? []).flatMap((one) => (one === undefined ? [] : (one.group ?? [one])));
  return all.flatMap(({ address }) => (address ? [address] : []));
}

function joinTexts(texts: readonly string[]): string {
  return texts.filter((text) => text !== "").join(", ");
}

function withoutBrackets(text: string | undefined): string | undefined {
  return text?.trim().replace(/^<|>$/g, "") || undefined;
}

/** The words of a message; of one in HTML alone what is left without its tags. */
function textOf({ text, html }: Email): string | undefined {
  if (text !== undefined && text.trim() !== "") return text;
  const bare = html?.replace(/<(style|script)\b[\s\S]*?<\/\1\s*>/gi, " ").replace(/<[^>]*>/g, " ");
  return bare
    ?.replace(/&nbsp;/gi, " ")
    .replace(/[^\S\n]+/g, " ")
    .trim();
}
