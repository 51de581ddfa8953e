/**
 * What is counted where words and a vector are asked for: hits of all pages, the total and facets are of the same documents,
 * whatever is chosen to match.
 */
import { afterAll, beforeAll, expect, test } from "vitest";
import type * as Brooklet from "../src/index.ts";

/** What was built: packages of the project are tested as they are installed. */
const built = new URL("../dist/index.js", import.meta.url).href;
const { facet, open, schema, string, text, vector } = (await import(built)) as typeof Brooklet;

const METRICS = ["angular", "prenormalized-angular", "dotproduct", "euclidean"] as const;
const DOCUMENTS = 300;
/** Each tenth is turned towards the query by half; of the others nearly all are turned away, or across. */
const isClose = (number: number): boolean => number % 10 === 0;
const hasWord = (number: number): boolean => [3, 130, 201].includes(number);

const noteOf = (metric: (typeof METRICS)[number]) =>
  schema(`note_${metric.replace("-", "_")}`, { body: text(), sender: string(), vec: vector(3, { metric }) });
const notes = METRICS.map(noteOf);
let database: Brooklet.Database;
let group: Brooklet.Group;

beforeAll(async () => {
  database = await open({ schemas: notes });
  group = database.group("alice");
  for (const note of notes) {
    const documents = Array.from({ length: DOCUMENTS }, (_, number) => ({
      id: String(number),
      fields: {
        body: hasWord(number) ? "the invoice" : "some stranger",
        sender: hasWord(number) ? "bank" : isClose(number) ? "friend" : "stranger",
        vec: isClose(number) ? [0.8, 0.6, 0] : [0, Math.cos(number), Math.sin(number)],
      },
    }));
    await group.feed(note, documents);
  }
});

afterAll(() => database?.close());

const near = { field: "vec", vector: [1, 0, 0] } as const;

/** The ids of all pages, which count what each of them says they do. */
async function paged(note: (typeof notes)[number], options: object): Promise<ReadonlySet<string>> {
  const found = new Set<string>();
  for (let offset = 0; ; offset += 20) {
    const asked = { text: "invoice", near, ...options, limit: 20, offset, facets: { from: facet("sender") } };
    const { hits, totalCount, facets } = await group.search(note, asked);
    expect(facets.from.reduce((sum, { count }) => sum + count, 0)).toBe(totalCount);
    for (const { id } of hits) found.add(id);
    if (hits.length > 0) continue;
    expect(found.size).toBe(totalCount);
    return found;
  }
}

const numbers = Array.from({ length: DOCUMENTS }, (_, number) => number);
const all = (test: (number: number) => boolean): ReadonlySet<string> => new Set(numbers.filter(test).map(String));

test.each([0, 1])("neighbours that are no strangers match beside words (%i)", async (which) => {
  const note = notes[which] ?? noteOf("angular");
  expect(await paged(note, {})).toEqual(all((it) => hasWord(it) || isClose(it)));
  expect(await paged(note, { matchBy: "words" })).toEqual(all(hasWord));
  expect(await paged(note, { matchBy: "neighbours" })).toEqual(all(isClose));
  expect(await paged(note, { matchBy: "both" })).toEqual(all((it) => hasWord(it) && isClose(it)));
  expect(await paged(note, { near: { ...near, similarityMin: 0.9 } })).toEqual(all(hasWord));
});

test.each([2, 3])("where a metric tells no cosine, the nearest match, as many on every page (%i)", async (which) => {
  const note = notes[which] ?? noteOf("angular");
  expect((await paged(note, {})).size).toBeGreaterThanOrEqual(100);
  expect(await paged(note, { near: { ...near, targetHits: 30 } })).toEqual(all((it) => hasWord(it) || isClose(it)));
  const floored = { text: "invoice", near: { ...near, similarityMin: 0.5 } };
  await expect((async () => group.search(note, floored))()).rejects.toThrow("give distanceMax");
});

test("without words there is no floor, and no page has more of the nearest", async () => {
  const note = notes[0] ?? noteOf("angular");
  expect((await paged(note, { text: "" })).size).toBe(100);
});

test("where a floor is said, all that are near enough match, beside words and without", async () => {
  const isAcross = (number: number): boolean => !isClose(number);
  for (const [note, floor] of [
    [notes[0], { similarityMin: -0.01 }],
    [notes[1], { similarityMin: -0.01 }],
    [notes[3], { distanceMax: 1.5 }],
  ] as const) {
    for (const text of ["", "invoice"])
      expect((await paged(note ?? noteOf("angular"), { text, near: { ...near, ...floor } })).size).toBe(DOCUMENTS);
    const across = { text: "", near: { ...near, vector: [-1, 0, 0], ...floor } };
    expect(await paged(note ?? noteOf("angular"), across)).toEqual(all(isAcross));
  }
});
