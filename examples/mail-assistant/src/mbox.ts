/** Reads mailboxes: a file in the mbox format becomes one document for each mail. */
import type { InferInput } from "brooklet";
import PostalMime from "postal-mime";
import type { mail } from "./schema.ts";

/** A mail and the id it is put under. */
export interface ParsedMail {
  readonly id: string;
  readonly fields: InferInput<typeof mail>;
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
