/** Two people's mail in a database of this process, for every adapter. */
import type * as Brooklet from "brooklet";
import { onTestFinished } from "vitest";

/** What was built: packages of the project are tested as they are installed. */
const built = new URL("../../brooklet/dist/index.js", import.meta.url).href;
const { open, schema, string, text, vector } = (await import(built)) as typeof Brooklet;

export const mail = schema("mail", {
  subject: text(),
  body: text(),
  sender: string(),
  vec: vector(2, { metric: "euclidean" }),
});

/** A database with the mail of Alice and of Mallory. */
export async function mails(): Promise<Brooklet.Database> {
  const database = await open({ schemas: [mail] });
  onTestFinished(() => database.close());
  const alice = database.group("alice");
  await alice.put(mail, "invoice", {
    subject: "Invoice 42",
    body: "The invoice is due on Friday.",
    sender: "billing@example.com",
    vec: [1, 0],
  });
  await alice.put(mail, "walk", {
    subject: "Sunday",
    body: "Shall we walk along the sea?",
    sender: "bob@example.com",
    vec: [0, 1],
  });
  await database.group("mallory").put(mail, "secret", {
    subject: "Invoice of Mallory",
    body: "The invoice of Mallory is a secret.",
    sender: "mallory@example.com",
    vec: [1, 0],
  });
  return database;
}
