import { facet, open } from "brooklet";
import { mail } from "./schema.ts";

const db = await open({ path: "./data", schemas: [mail] });
const alice = db.group("alice");

await alice.feed(mail, [
  {
    id: "m1",
    fields: {
      subject: "Invoice for October",
      body: "It is due on Friday.",
      sender: "shop@example.com",
      isUnread: true,
      sentAt: new Date("2026-10-05"),
    },
  },
  {
    id: "m2",
    fields: {
      subject: "Invoices of the year",
      body: "All twelve of them.",
      sender: "tax@example.com",
      isUnread: false,
      sentAt: new Date("2026-10-09"),
    },
  },
  {
    id: "m3",
    fields: {
      subject: "Lunch?",
      body: "On Friday, at the usual place.",
      sender: "bob@example.com",
      isUnread: true,
      sentAt: new Date("2026-10-12"),
    },
  },
]);

const { hits, facets } = await alice.search(mail, {
  text: process.argv[2] ?? "invoice",
  facets: { senders: facet("sender") },
});
for (const { id, fields } of hits) console.log(id, fields.isUnread ? "*" : " ", fields.subject);
console.log(facets.senders.map(({ value, count }) => `${value} ${count}`).join(", "));
console.log(await alice.count(mail, (it) => it.isUnread.is(true)), "unread");

await db.close();
