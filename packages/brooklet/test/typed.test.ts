/** What people type, end to end: signs, slips, accents, forms, and words that are not finished. */
import { expect, onTestFinished, test } from "vitest";
import { type Group, open, schema, type TextQuery, text, vector } from "../src/index.ts";

const note = schema("note", { title: text(), body: text({ show: "teaser" }), vec: vector(2).optional() });
const plain = schema("plain", { body: text() }, { stemming: "none", accents: "exact", typos: "exact" });

const NOTES = {
  zurich: { title: "Zurich", body: "An invoice for Muller" },
  zuerich: { title: "Zürich", body: "The invoices of Müller" },
  oeuvre: { title: "oeuvre", body: "He runs far" },
  ligature: { title: "œuvre", body: "She is running" },
  signs: { title: "k x", body: "word (of honour) *", vec: [1, 0] },
};

async function notes(): Promise<Group> {
  const db = await open({ schemas: [note, plain] });
  onTestFinished(() => db.close());
  const alice = db.group("alice");
  for (const [id, document] of Object.entries(NOTES)) await alice.put(note, id, document);
  await alice.put(plain, "1", { body: "Zürich runs" });
  return alice;
}

test("texts without a word find nothing and say so", async () => {
  const alice = await notes();
  for (const typed of ['"', "!!!", "-", "(", "*", '""', "👋", "\u{301}", "²"]) {
    for (const language of ["words", "simple"] as const) {
      const found = await alice.search(note, { text: { query: typed, language } });
      expect([found.totalCount, found.hits], typed).toEqual([0, []]);
      expect(found.note?.code).toBe("NO_WORDS");
    }
    const filtered = await alice.search(note, { text: typed, where: (it) => it.title.contains("zurich") });
    expect(filtered.totalCount).toBe(0);
  }
  const near = { field: "vec", vector: [1, 0], targetHits: 1 } as const;
  const both = await alice.search(note, { text: "!!!", near });
  expect(both.hits.map(({ id }) => id)).toEqual(["signs"]);
  expect(both.note?.message).toBe('"!!!" has no word to search for');
});

test("signs are between words, unless the query language is asked for", async () => {
  const alice = await notes();
  const ids = async (asked: string | TextQuery): Promise<string[]> =>
    (await alice.search(note, { text: asked })).hits.map(({ id }) => id);
  expect(await ids("k:x -word")).toEqual(["signs"]);
  expect(await ids("title:zurich")).toEqual(["zurich", "zuerich"]);
  expect(await ids({ query: "title:oeuvre -far", language: "simple" })).toEqual(["ligature"]);
  expect(await ids('"invoice for"')).toEqual(["zurich"]);
  expect(await ids({ query: '"invoice for"', language: "simple" })).toEqual(["zurich"]);
  expect(await ids('"for invoice"')).toEqual([]);
  expect(await ids({ query: 'muller "invoices of"', match: "all" })).toEqual(["zuerich"]);
  expect(await ids({ query: "invoice word", match: "all" })).toEqual([]);
});

test("emoji and other signs keep nothing from being found where all words are wanted", async () => {
  const alice = await notes();
  const texts = ["better 😀 day", "25°C today", "Brand® new", "love ❤️ you", "👨‍👩‍👧 time 👍🏽", "№ 5 ★"];
  for (const [number, body] of texts.entries()) {
    await alice.put(plain, `sign-${number}`, { body });
    for (const asked of [body, `"${body}"`, { query: body, match: "all" } as const]) {
      const { hits } = await alice.search(plain, { text: asked });
      expect([asked, hits[0]?.id]).toEqual([asked, `sign-${number}`]);
    }
  }
});

test("what is spelled exactly comes first, and its variants are found", async () => {
  const alice = await notes();
  const ids = async (asked: string | TextQuery): Promise<string[]> =>
    (await alice.search(note, { text: asked })).hits.map(({ id }) => id);
  expect(await ids("zurich")).toEqual(["zurich", "zuerich"]);
  expect(await ids("Zürich")).toEqual(["zuerich", "zurich"]);
  expect(await ids("Müller")).toEqual(["zuerich", "zurich"]);
  expect(await ids("œuvre")).toEqual(["ligature", "oeuvre"]);
  expect(await ids("run")).toHaveLength(2);
  expect((await ids("running"))[0]).toBe("ligature");
  expect((await ids("invoce")).sort()).toEqual(["zuerich", "zurich"]);
  expect(await ids({ query: "invoce", typos: false })).toEqual([]);
  expect(await ids("mul")).toEqual([]);
  expect((await ids({ query: "mul", asYouType: true })).sort()).toEqual(["zuerich", "zurich"]);
  expect(await ids({ query: "mul ", asYouType: true })).toEqual([]);
  const marked = await alice.search(note, { text: "mulller", fields: ["body"] });
  expect(marked.hits.map(({ fields }) => fields.body).sort()).toEqual([
    "An invoice for <mark>Muller</mark>",
    "The invoices of <mark>Müller</mark>",
  ]);
});

test("variants are turned off by a word each", async () => {
  const alice = await notes();
  for (const [typed, total] of [
    ["runs", 1],
    ["run", 0],
    ["zuerich", 1],
    ["zurich", 0],
    ["zuerihc", 0],
  ] as const) {
    expect((await alice.search(plain, { text: typed })).totalCount, typed).toBe(total);
  }
});
