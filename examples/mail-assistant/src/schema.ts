/** What a mail is. */
import { dateHistogram, facet, schema, string, text, timestamp, vector } from "brooklet";

/** Length of the vectors, where mails have them. */
export const DIMENSIONS = 384;

/** One mail of one person. */
export const mail = schema("mail", {
  subject: text(),
  body: text(),
  sender: string(),
  recipient: string(),
  folder: string(),
  /** The id of the first mail of its thread: its own, if it is that. */
  thread: string(),
  sentAt: timestamp(),
  vec: vector(DIMENSIONS).optional(),
});

/** What the page offers to narrow a search by. */
export const FACETS = {
  sender: facet("sender", { top: 6 }),
  folder: facet("folder", { top: 6 }),
  month: dateHistogram("sentAt", "month"),
};

/** The name of one of them. */
export type FacetName = keyof typeof FACETS;
