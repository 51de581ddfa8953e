import { facet, open } from "brooklet";
import { note } from "./schema.ts";

const db = await open({ path: "./data", schemas: [note] });
// Every user has a group of their own. Whatever is asked of a group stays in it.
const alice = db.group("alice");

await alice.put(note, "n1", {
  title: "Rent",
  body: "Paid for October, the deposit is still open.",
  tags: ["home", "money"],
  writtenAt: new Date("2026-10-01"),
});
await alice.put(note, "n2", {
  title: "Bicycle",
  body: "The chain is new; it cost 35.",
  tags: ["money"],
  writtenAt: new Date("2026-10-20"),
});

const { hits, facets } = await alice.search(note, {
  text: process.argv[2] ?? "paying deposits",
  where: (it) => it.tags.is("money"),
  facets: { tags: facet("tags") },
});
for (const { id, fields } of hits) console.log(id, fields.title);
console.log(facets.tags.map(({ value, count }) => `${value} ${count}`).join(", "));

await db.close();
