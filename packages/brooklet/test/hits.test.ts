/**
 * What hits have beside their fields, as the types say it: features by name, explanations and highlights if they are asked for; and
 * texts that look like marks, or like HTML, shown as what they are. In process, and over HTTP of a server.
 */
import { describe, expect, expectTypeOf, onTestFinished, test } from "vitest";
import {
  type Client,
  type Condition,
  connect,
  dateHistogram,
  type Group,
  grouping,
  open,
  schema,
  text,
  timestamp,
  vector,
} from "../src/index.ts";
import { folder, serveProcess } from "./served.ts";

const page = schema(
  "page",
  {
    title: text({ show: "bold" }),
    body: text({ show: "teaser" }),
    at: timestamp(),
    vec: vector(2).optional(),
  },
  {
    profiles: {
      near: {
        inputs: { v: "tensor<float>(x[2])" },
        functions: { scaled: "query(v) * 2" },
        firstPhase: "bm25(title)",
        matchFeatures: ["bm25(title)", "scaled", "closeness(field, vec)"],
      },
      plain: { inherits: "unranked" },
    },
  },
);

const DOORS: readonly (readonly [string, () => Promise<Client>])[] = [
  [
    "in process",
    async () => {
      const db = await open({ schemas: [page] });
      onTestFinished(() => db.close());
      return db;
    },
  ],
  [
    "over HTTP",
    async () => {
      const { port } = await serveProcess(folder());
      return await connect({ url: `http://127.0.0.1:${port}`, schemas: [page] });
    },
  ],
];

const SCRIPT = "<script>alert('fox')</script> & <hi>fox</hi> <mark>den</mark><sep />";
const FAR = "nothing to see here, ".repeat(30);

async function pages(door: () => Promise<Client>): Promise<Group> {
  const alice = (await door()).group("alice");
  const at = new Date("2026-11-01T00:00:00Z");
  await alice.put(page, "1", { title: SCRIPT, body: `${FAR}😀 a <b>fox</b> ${FAR}`, at, vec: [1, 0] });
  await alice.put(page, "2", { title: "A den", body: "Short & sweet.", at, vec: [0, 1] });
  return alice;
}

describe.each(DOORS)("hits %s", (_, door) => {
  test("show texts as HTML in which only what matched is marked", async () => {
    const alice = await pages(door);
    const { hits } = await alice.search(page, { text: "fox" });
    expect(hits.map(({ id }) => id)).toEqual(["1"]);
    const { title, body } = hits[0]?.fields ?? { title: "", body: "" };
    expect(title).toBe(
      "&lt;script&gt;alert(&#39;<mark>fox</mark>&#39;)&lt;/script&gt; &amp; " +
        "&lt;hi&gt;<mark>fox</mark>&lt;/hi&gt; &lt;mark&gt;den&lt;/mark&gt;&lt;sep /&gt;",
    );
    expect(body).toMatch(/^…(?:\w|[ ,😀])+ a &lt;b&gt;<mark>fox<\/mark>&lt;\/b&gt; [\w ,]+…$/u);
    const { hits: unmarked } = await alice.search(page, { text: "short" });
    expect(unmarked[0]?.fields).toMatchObject({ title: "A den", body: "<mark>Short</mark> &amp; sweet." });
  });

  test("show plain texts with ranges, in groups too", async () => {
    const alice = await pages(door);
    const byMonth = grouping(page, (it, g) => ({
      groups: { months: g.groups(g.time.monthofyear(it.at), { hits: true }) },
    }));
    const { hits, grouping: grouped } = await alice.search(page, {
      text: "fox",
      highlights: "ranges",
      grouping: byMonth,
      facets: { months: dateHistogram("at", "month") },
    });
    const [hit] = hits;
    expect(hit?.fields.title).toBe(SCRIPT);
    expectTypeOf(hit?.highlights.title).not.toBeAny();
    expect(hit?.highlights.title).toEqual([
      { start: 15, end: 18 },
      { start: 36, end: 39 },
    ]);
    const ranges = hit?.highlights.body as readonly { readonly start: number; readonly end: number }[];
    expect(ranges.map(({ start, end }) => hit?.fields.body.slice(start, end))).toEqual(["fox"]);
    expect(hit?.fields.body).toContain("😀 a <b>fox</b>");
    expect(grouped.groups.months[0]?.hits[0]?.fields.title).toBe(SCRIPT);
    expect(await alice.get(page, "1")).toMatchObject({ title: SCRIPT });
  });

  test("have exactly the features of the profile that ranks them", async () => {
    const alice = await pages(door);
    const keys = (features: object | undefined) => Object.keys(features ?? {}).sort();
    const words = await alice.search(page, { text: "fox" });
    expectTypeOf(words.hits[0]?.matchFeatures["bm25(title)"]).toEqualTypeOf<number | undefined>();
    expect(keys(words.hits[0]?.matchFeatures)).toEqual(["bm25(body)", "bm25(title)"]);

    const both = await alice.search(page, { text: "fox", near: { field: "vec", vector: [1, 0] } });
    const features = both.hits[0]?.matchFeatures;
    expect(keys(features)).toEqual(["closeness(field,vec)", "similarity", "words"]);
    expect([features?.similarity, features?.words, features?.["closeness(field,vec)"]]).toEqual([
      1,
      expect.any(Number),
      1,
    ]);
    const nearest = await alice.search(page, { text: "", near: { field: "vec", vector: [1, 0] }, limit: 1 });
    expect(keys(nearest.hits[0]?.matchFeatures)).toEqual(["closeness(field,vec)", "similarity"]);

    const named = await alice.search(page, { text: "fox", profile: "near", inputs: { v: [1, 3] } });
    const shown = named.hits[0]?.matchFeatures;
    expect(keys(shown)).toEqual(["bm25(title)", "closeness(field,vec)", "scaled"]);
    expect(shown?.["bm25(title)"]).toBeGreaterThan(0);
    expect(shown?.scaled).toMatchObject({ values: [2, 6] });

    const ordered = await alice.search(page, { orderBy: "at desc" });
    expect(ordered.hits[0]?.matchFeatures).toBeUndefined();
    const unranked = await alice.search(page, { profile: "unranked" });
    expect(unranked.hits[0]?.matchFeatures).toBeUndefined();
    for await (const hit of alice.cursor(page, {})) expect(hit.matchFeatures).toBeUndefined();
  });

  test("are the same whether they are ranked, in order, counted or read to the end", async () => {
    const alice = await pages(door);
    await alice.put(page, "3", { title: "Döns of foxes", body: "東京都の狐", at: new Date(0) });
    const ways: readonly [{ text?: string; where?: Condition }, readonly string[]][] = [
      [{ text: "foxes" }, ["1", "3"]],
      [{ text: "foxas" }, ["1", "3"]],
      [{ where: page.conditions.title.contains("foxes") }, ["1", "3"]],
      [{ where: page.conditions.title.contains("dons") }, ["3"]],
      [{ where: page.conditions.body.contains("東京") }, ["3"]],
    ];
    for (const [asked, found] of ways) {
      for (const otherwise of [{}, { orderBy: "at" }, { profile: "unranked" }, { profile: "plain" }] as const) {
        const { hits } = await alice.search(page, { ...asked, ...otherwise });
        expect(hits.map(({ id }) => id).sort(), JSON.stringify([asked, otherwise])).toEqual(found);
      }
      const all: string[] = [];
      for await (const { id } of alice.cursor(page, asked)) all.push(id);
      expect(all).toEqual(found);
      const near = { field: "vec", vector: [1, 0] } as const;
      if (asked.text !== undefined)
        for await (const { id } of alice.cursor(page, { ...asked, near, matchBy: "words" }))
          expect(found).toContain(id);
      if (asked.where !== undefined) expect(await alice.count(page, asked.where)).toBe(found.length);
    }
  });

  test("explain themselves if they are asked to, and only then", async () => {
    const alice = await pages(door);
    const { hits } = await alice.search(page, { text: "fox", explain: true });
    expect(hits[0]?.explain()).toMatchObject({ query: { matched: true }, ranking: { profile: "default" } });
    const perhaps = false as boolean;
    const { hits: silent } = await alice.search(page, { text: "fox", explain: perhaps });
    expect(silent[0]?.explain?.()).toBeUndefined();
    const { hits: plain } = await alice.searchYql(page, "select * from page where true");
    // @ts-expect-error it is not asked for
    expect(plain[0]?.explain).toBeUndefined();
  });
});
