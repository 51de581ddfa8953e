/** What the playground begins with, and what can be chosen there. */

/** All that is edited. */
export interface Program {
  readonly schema: string;
  readonly documents: string;
  readonly search: string;
}

/** Programs by their titles. */
export const EXAMPLES: Readonly<Record<string, Program>> = {
  Mail: {
    schema: `const mail = schema("mail", {
  subject: text({ show: "bold" }),
  body: text({ show: "teaser" }),
  sender: string(),
  tags: array(string()),
  isUnread: bool(),
  sentAt: timestamp(),
});`,
    documents: `[
  { "id": "m1", "subject": "Invoice 42", "body": "The invoice for October is due on Friday.", "sender": "shop", "tags": ["money"], "isUnread": true, "sentAt": "2026-10-02" },
  { "id": "m2", "subject": "Lunch?", "body": "I pay this time, the last invoice was yours.", "sender": "bo", "tags": ["friends"], "isUnread": true, "sentAt": "2026-10-05" },
  { "id": "m3", "subject": "Deposit", "body": "The deposit is paid back when the lease ends.", "sender": "landlord", "tags": ["home", "money"], "isUnread": false, "sentAt": "2026-09-14" },
  { "id": "m4", "subject": "Keys", "body": "Please leave the keys with the neighbour.", "sender": "landlord", "tags": ["home"], "isUnread": false, "sentAt": "2026-09-30" },
  { "id": "m5", "subject": "Reminder: invoice 42", "body": "The payment of invoice 42 is overdue.", "sender": "shop", "tags": ["money"], "isUnread": true, "sentAt": "2026-10-12" }
]`,
    search: `{
  text: { query: "invoces", asYouType: true },
  where: (it) => it.isUnread.is(true),
  facets: { from: facet("sender"), months: dateHistogram("sentAt", "month") },
}`,
  },
  "Words and vectors": {
    schema: `const note = schema("note", {
  title: text(),
  body: text(),
  vec: vector(3), // of the embedding model of your choice: money, flat, people
});`,
    documents: `[
  { "id": "n1", "title": "Deposit", "body": "The landlord pays it back after the lease.", "vec": [0.6, 0.8, 0.1] },
  { "id": "n2", "title": "Rent", "body": "Transferred to the bank on the first.", "vec": [0.7, 0.7, 0.1] },
  { "id": "n3", "title": "Film", "body": "With a friend on Saturday.", "vec": [0, 0.1, 1] },
  { "id": "n4", "title": "Bank", "body": "Closed on Saturday.", "vec": [0.9, 0.1, 0.2] }
]`,
    search: `{
  text: "bank",
  near: { field: "vec", vector: [0.7, 0.7, 0] },
  matchBy: "either",
}`,
  },
  "Ten thousand notes": {
    schema: `const note = schema("note", {
  title: text(),
  folder: string(),
  votes: int(),
  vec: vector(64, { cell: "bfloat16" }),
});`,
    documents: `Array.from({ length: 10_000 }, (_, i) => ({
  id: \`n\${i}\`,
  title: ["rent", "invoice", "lease", "garden", "film"][i % 5] + " of " + ["Monday", "October", "the bank"][i % 3] + " " + i,
  folder: ["home", "money", "friends"][i % 3],
  votes: (i * 7919) % 100,
  vec: Array.from({ length: 64 }, (_, d) => Math.sin(i * 0.7 + d * d)),
}))`,
    search: `{
  text: "lease october",
  near: { field: "vec", vector: Array.from({ length: 64 }, (_, d) => Math.sin(7 + d * d)) },
  where: (it) => it.votes.ge(10),
  facets: { folders: facet("folder", { avg: "votes" }) },
  limit: 5,
}`,
  },
  "A ranking of your own": {
    schema: `const news = schema("news", {
  title: text(),
  votes: int(),
  at: timestamp(),
}, {
  profiles: {
    recent: {
      inputs: { now: "double" },
      functions: { ageDays: "(query(now) - attribute(at)) / 86400" },
      firstPhase: "bm25(title) / (1 + ageDays / 7) + 0.1 * log(1 + attribute(votes))",
      matchFeatures: ["bm25(title)", "ageDays"],
    },
  },
});`,
    documents: `[
  { "id": "old", "title": "Heating broken again", "votes": 40, "at": "2026-09-01" },
  { "id": "new", "title": "The heating is on from October", "votes": 2, "at": "2026-10-12" },
  { "id": "other", "title": "House rules", "votes": 7, "at": "2026-10-10" }
]`,
    search: `{
  text: "heating",
  profile: "recent",
  inputs: { now: new Date("2026-10-13").getTime() / 1000 },
}`,
  },
};

/** The names of members, to the type checker. */
export function isProgram(value: unknown): value is Program {
  const members = ["schema", "documents", "search"] as const;
  return (
    typeof value === "object" && value !== null && members.every((it) => typeof (value as Program)[it] === "string")
  );
}
