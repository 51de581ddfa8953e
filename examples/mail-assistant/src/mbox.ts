/** Reads mailboxes: a file in the mbox format becomes one document for each mail. */
import type { InferInput } from "brooklet";
import PostalMime from "postal-mime";
import type { mail } from "./schema.ts";

/** A mail and the id it is put under. */
export interface ParsedMail {
  readonly id: string;
  /** The mails that it answers, as far as it says so: the first of the thread first. */
  readonly answers: readonly string[];
  readonly fields: Omit<InferInput<typeof mail>, "thread">;
}

/** The mails of a file, in their order. Lines that begin with `From ` inside of a mail are quoted with `>`. */
export function splitMbox(text: string): string[] {
  const mails: string[][] = [];
  for (const line of text.split(/\r?\n/)) {
    if (/^From \S+/.test(line)) mails.push([]);
    else mails.at(-1)?.push(line.replace(/^>(>*From )/, "$1"));
  }
  return mails.map((lines) => lines.join("\r\n"));
}

/** Parses one mail. Its message id is its own, or made of its content, so that importing twice changes nothing. */
export async function parseMail(source: string): Promise<ParsedMail> {
  const parsed = await PostalMime.parse(source);
  const folder = parsed.headers.find(({ key }) => key === "x-folder")?.value;
  const body = parsed.text ?? plainText(parsed.html ?? "");
  const sentAt = new Date(parsed.date ?? 0);
  return {
    id: (parsed.messageId ?? `${parsed.from?.address}-${parsed.date}-${parsed.subject}`).replace(/^<|>$/g, ""),
    answers: idsOf(parsed.references ?? parsed.inReplyTo ?? ""),
    fields: {
      subject: parsed.subject ?? "",
      body: readable(body).trim(),
      sender: parsed.from?.address ?? "unknown",
      recipient: parsed.to?.[0]?.address ?? "unknown",
      folder: folder ?? "Inbox",
      sentAt: Number.isNaN(sentAt.getTime()) ? new Date(0) : sentAt,
    },
  };
}

/** The ids in the header of a mail. */
function idsOf(header: string): string[] {
  return [...header.matchAll(/<([^<>\s]+)>/g)].map(([, id = ""]) => id);
}

/**
 * The thread of each mail, by its id: the mail that all of them answer, whether it is there or not. A mail may name the one before it only, so
 * one goes back from mail to mail; those that answer each other in a circle are a thread, too.
 */
export function threadsOf(mails: readonly ParsedMail[]): ReadonlyMap<string, string> {
  const answers = new Map(mails.map(({ id, answers: [first] }) => [id, first]));
  const rootOf = (id: string): string => {
    const way = new Set([id]);
    for (let at = answers.get(id); at !== undefined && !way.has(at); at = answers.get(at)) way.add(at);
    const [last = id] = [...way].slice(-1);
    const next = answers.get(last);
    if (next === undefined) return last;
    // A circle: all of it has the name that comes first.
    const circle = [...way].slice([...way].indexOf(next));
    return circle.sort()[0] ?? id;
  };
  return new Map(mails.map(({ id }) => [id, rootOf(id)]));
}

/** The text of HTML, without what is not shown. */
function plainText(html: string): string {
  return html
    .replace(/<!--[\s\S]*?-->|<(script|style)\b[\s\S]*?<\/\1>/gi, "")
    .replace(/<(br|\/p|\/div|\/li)\b[^>]*>/gi, "\n")
    .replace(/<[^>]*>/g, "")
    .replace(/&nbsp;/g, " ")
    .replace(/&lt;/g, "<")
    .replace(/&gt;/g, ">")
    .replace(/&amp;/g, "&");
}

/** Without code points that no document may have. */
function readable(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: it is these that are taken out.
  return text.replace(/\p{Surrogate}|[\u0000-\u0008\u000B\u000C\u000E-\u001F\uFDD0-\uFDEF\uFFFE\uFFFF]/gu, " ");
}
