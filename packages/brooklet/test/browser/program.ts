/** One program for a page and for Node: what it finds is compared, to the bit. */
import { type Client, facet, type Schema, schema, string, text, timestamp, vector } from "@brooklet/client";

const fields = {
  title: text(),
  body: text(),
  folder: string(),
  writtenAt: timestamp(),
  meaning: vector(3).optional(),
};

/** A note. */
export const note: Schema<"note", typeof fields, never> = schema("note", fields);

/** How many notes a feed has. */
export const MANY = 10_000;

/** Notes for a feed; every tenth is about rent. */
export function* manyNotes(): Generator<{
  id: string;
  fields: Record<"title" | "body" | "folder", string> & { writtenAt: Date };
}> {
  for (let number = 0; number < MANY; number += 1) {
    const about = number % 10 === 0 ? "rent is due" : "nothing much";
    const fields = {
      title: `Note ${number}`,
      body: `${about}, written as number ${number} of many`,
      folder: `folder ${number % 7}`,
      writtenAt: new Date(1_700_000_000_000 + number * 1_000),
    };
    yield { id: `many-${number}`, fields };
  }
}

/** Puts a few notes, and tells all that is found of them. */
export async function findings(client: Client): Promise<unknown> {
  const me = client.group("me");
  const writtenAt = new Date(1_700_000_000_000);
  await me.put(note, "n1", {
    title: "Invoice 42",
    body: "Due on Friday",
    folder: "bills",
    writtenAt,
    meaning: [1, 0, 0],
  });
  await me.put(note, "n2", {
    title: "Lunch?",
    body: "I pay the invoice",
    folder: "people",
    writtenAt,
    meaning: [0, 1, 0],
  });
  await me.put(note, "n/../3", { title: "Über Rechnungen", body: "Invoices, invoiced", folder: "bills", writtenAt });
  const { hits, totalCount, facets } = await me.search(note, {
    text: "unpaid invoice",
    near: { field: "meaning", vector: [0.9, 0.1, 0] },
    facets: { folders: facet("folder") },
    explain: true,
    limit: 5,
  });
  return {
    totalCount,
    hits: hits.map((hit) => ({ id: hit.id, relevance: hit.relevance, why: hit.explain() })),
    folders: facets.folders.map(({ value, count }) => [value, count]),
    third: (await me.get(note, "n/../3"))?.title,
  };
}
