/** A search by a vector alone: the hits of any page are those of a plain scan, and the total tells whether more follow. */
import { expect, onTestFinished, test } from "vitest";
import { facet, int, open, schema, vector } from "../src/index.ts";

const point = schema("point", { number: int(), at: vector(2, { metric: "euclidean" }) });
const COUNT = 230;

test("pages of neighbours", async () => {
  const db = await open({ schemas: [point] });
  onTestFinished(() => db.close());
  const group = db.group("g");
  const points = Array.from({ length: COUNT }, (_, number) => ({
    id: String(number),
    // Several stand at one place: those are in the order of their ids.
    fields: { number, at: [(number * 7) % 50, (number * 3) % 20] },
  }));
  await group.feed(point, points);
  const [x, y] = [11.5, 7.25];
  const distance = ([px = 0, py = 0]: readonly number[]): number => (px - x) ** 2 + (py - y) ** 2;
  const expected = [...points]
    .sort((a, b) => distance(a.fields.at) - distance(b.fields.at) || (a.id < b.id ? -1 : 1))
    .map(({ id }) => id);
  const far = { field: "at", vector: [x, y] } as const;
  for (const [offset, limit] of [
    [0, 10],
    [95, 10],
    [120, 40],
    [COUNT - 10, 10],
    [COUNT - 5, 10],
  ] as const) {
    const { hits, totalCount } = await group.search(point, { near: far, offset, limit });
    expect(hits.map(({ id }) => id)).toEqual(expected.slice(offset, offset + limit));
    expect(totalCount > offset + hits.length).toBe(COUNT > offset + limit);
  }
  // What is counted is of as many as ever, and a condition is fulfilled by all neighbours.
  const counted = await group.search(point, {
    near: far,
    limit: 3,
    facets: { number: facet("number", { top: 1_000 }) },
  });
  expect([counted.hits.length, counted.totalCount, counted.facets.number.length]).toEqual([3, 100, 100]);
  const odd = await group.search(point, { near: far, where: (it) => it.number.gt(200) });
  expect(odd.hits.map(({ id }) => id)).toEqual(expected.filter((id) => Number(id) > 200).slice(0, 10));
});
