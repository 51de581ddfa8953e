/** What agents remember, and what they are asked: the same in workerd and in this process. */
import { int, schema, string, text, vector } from "@brooklet/client";

/** A note. */
export const NOTE = schema("note", { title: text(), topic: string(), year: int(), place: vector(4) });

const TOPICS = ["garden", "kitchen", "travel", "work"];

/** Enough for a segment. */
export const NOTES = Array.from({ length: 400 }, (_, index) => ({
  id: `n${index}`,
  fields: {
    title: `${TOPICS[index % 4]} note ${index} about ${["roses", "bread", "trains", "plans"][(index * 7) % 4]}`,
    topic: TOPICS[index % 4] ?? "",
    year: 1990 + (index % 30),
    place: [0, 1, 2, 3].map((at) => Math.sin(index * 13 + at * 5)),
  },
}));

/** Words, vectors, and both. */
export const SEARCHES = [
  { text: "roses in the garden", limit: 5 },
  { near: { field: "place", vector: [0.1, 0.5, -0.3, 0.8] }, limit: 5 },
  {
    text: "trains",
    near: { field: "place", vector: [1, 0, 0, 0] },
    limit: 5,
    where: NOTE.conditions.topic.is("travel"),
  },
] as const;
