/**
 * What samples are given: ten mails of Alice in a database in memory, anew for each sample; an embedder and a language model that
 * need no files. The embedder knows three things, the model always says the same.
 */
import {
  array,
  bool,
  type ChatModel,
  type Client,
  type Database,
  type Embedder,
  type Group,
  int,
  open,
  schema,
  string,
  text,
  timestamp,
  vector,
} from "brooklet";

/** The mail of the samples. */
export const mail = schema("mail", {
  subject: text(),
  body: text(),
  sender: string(),
  thread: string().optional(),
  tags: array(string()).optional(),
  size: int(),
  isUnread: bool(),
  sentAt: timestamp(),
  metadata: string().optional(),
  vec: vector(3).optional(),
});

/** Words that lie in the three directions of `embed`: money, a flat, and people. */
const DIRECTIONS = [
  ["invoice", "invoices", "pay", "paid", "payment", "money", "deposit", "price", "bank", "due", "tax"],
  ["flat", "rent", "lease", "keys", "landlord", "heating", "house", "kitchen", "door", "deposit"],
  ["lunch", "dinner", "birthday", "party", "friend", "film", "walk", "coffee", "garden"],
];

/** A vector of a text without a model: how many of its words lie in each direction. */
export function embed(text: string): number[] {
  const words = text.toLowerCase().match(/\p{L}+/gu) ?? [];
  const counts = DIRECTIONS.map((direction) => words.filter((word) => direction.includes(word)).length + 0.1);
  const length = Math.hypot(...counts);
  return counts.map((count) => Number((count / length).toFixed(4)));
}

/** What makes vectors of texts where a sample says `embedding()` or `near: { text }`. */
const minilm: Embedder = {
  id: "minilm",
  shape: "vector",
  embed: async ({ texts, dimensions = 3 }) =>
    texts.map((it) => ({
      shape: "vector",
      values: Float32Array.from({ length: dimensions }, (_, index) => embed(it)[index] ?? 0),
    })),
  close: async () => undefined,
};

const model: ChatModel = {
  async *say() {
    yield { type: "token", text: "The invoice for October is due on Friday [1]." };
    yield { type: "finish", reason: "stop" };
  },
};

const MAILS: readonly (readonly [string, string, string, string, string, number, boolean, readonly string[]])[] = [
  [
    "m1",
    "Invoice 42",
    "The invoice for October is due on Friday.",
    "billing@shop.example",
    "2026-10-02",
    1_200,
    true,
    ["money"],
  ],
  [
    "m2",
    "Lunch?",
    "I pay this time, the last invoice was yours.",
    "bo@friends.example",
    "2026-10-05",
    300,
    true,
    ["friends"],
  ],
  [
    "m3",
    "Deposit of the flat",
    "The deposit is paid back when the lease ends.",
    "landlord@flats.example",
    "2026-09-14",
    2_400,
    false,
    ["home", "money"],
  ],
  [
    "m4",
    "Keys",
    "Please leave the keys with the neighbour.",
    "landlord@flats.example",
    "2026-09-30",
    250,
    false,
    ["home"],
  ],
  [
    "m5",
    "Your order",
    "The price of the kitchen table was 120.",
    "billing@shop.example",
    "2026-08-20",
    900,
    false,
    ["money"],
  ],
  [
    "m6",
    "Birthday party",
    "Dinner and a film on Saturday, bring a friend.",
    "ada@friends.example",
    "2026-10-11",
    700,
    true,
    ["friends"],
  ],
  [
    "m7",
    "Reminder: invoice 42",
    "The payment of invoice 42 is overdue.",
    "billing@shop.example",
    "2026-10-12",
    1_000,
    true,
    ["money"],
  ],
  [
    "m8",
    "Heating",
    "The heating of the house is repaired on Monday.",
    "landlord@flats.example",
    "2026-10-08",
    400,
    false,
    ["home"],
  ],
  ["m9", "Walk", "A walk and a coffee tomorrow?", "bo@friends.example", "2026-10-13", 200, true, ["friends"]],
  [
    "m10",
    "Tax return",
    "The tax office wants the invoices of last year.",
    "office@tax.example",
    "2026-07-01",
    5_300,
    false,
    ["money"],
  ],
];

const opened: Database[] = [];

/** What every sample can name. */
export interface Given {
  readonly mail: typeof mail;
  readonly db: Database;
  readonly client: Client;
  readonly alice: Group;
  readonly embed: typeof embed;
  readonly minilm: Embedder;
  readonly model: ChatModel;
}

/** A database with the mail, and what else samples are given. */
export async function give(): Promise<Given> {
  const db = await open({ schemas: [mail], models: { embedders: [minilm] }, languageModel: model });
  opened.push(db);
  const alice = db.group("alice");
  await alice.feed(
    mail,
    MAILS.map(([id, subject, body, sender, day, size, isUnread, tags]) => {
      const thread = subject.includes("42") ? "invoice-42" : id;
      const vec = embed(`${subject} ${body}`);
      const sentAt = new Date(`${day}T09:00:00Z`);
      return { id, fields: { subject, body, sender, thread, tags, size, isUnread, sentAt, vec } };
    }),
  );
  const draft = { subject: "Draft", body: "Of Bo alone.", sender: "bo@friends.example", size: 10, isUnread: false };
  await db.group("bo").put(mail, "b1", { ...draft, sentAt: new Date("2026-10-01T09:00:00Z") });
  return { mail, db, client: db, alice, embed, minilm, model };
}

/** Ends what was given. */
export async function takeBack(): Promise<void> {
  for (const db of opened.splice(0)) await db.close();
}
