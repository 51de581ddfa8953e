import { Document } from "@langchain/core/documents";
import { FakeEmbeddings } from "@langchain/core/utils/testing";
import type * as Brooklet from "brooklet";
import { describe, expect, onTestFinished, test } from "vitest";
import { BrookletRetriever, BrookletVectorStore } from "../src/langchain.ts";
import { mail, mails } from "./mails.ts";

const built = new URL("../../brooklet/dist/index.js", import.meta.url).href;
const { int, json, open, schema, string, text, timestamp, vector } = (await import(built)) as typeof Brooklet;

/** Vectors by the first letter: what begins with `i` is one thing, everything else another. */
class LetterEmbeddings extends FakeEmbeddings {
  override async embedQuery(text: string): Promise<number[]> {
    return /^i/i.test(text) ? [1, 0] : [0, 1];
  }

  override async embedDocuments(texts: string[]): Promise<number[][]> {
    return await Promise.all(texts.map((text) => this.embedQuery(text)));
  }
}

describe("the retriever", () => {
  test("is invoked like any other, and says where passages are from", async () => {
    const database = await mails();
    const retriever = new BrookletRetriever({
      group: database.group("alice"),
      schema: mail,
      retrieve: { passages: 2 },
    });
    const [first, ...others] = await retriever.invoke("When is the invoice due?");
    expect(first).toBeInstanceOf(Document);
    expect(first).toMatchObject({
      pageContent: "The invoice is due on Friday.",
      id: "invoice#body::0-29",
      metadata: { documentId: "invoice", field: "body", start: 0, end: 29 },
    });
    expect(JSON.stringify([first, ...others])).not.toContain("Mallory");
    expect(await retriever.batch(["invoice", "sea"])).toHaveLength(2);
  });
});

describe("a run that is aborted", () => {
  test("ends the search of a retriever", async () => {
    const database = await mails();
    const retriever = new BrookletRetriever({ group: database.group("alice"), schema: mail });
    const signal = AbortSignal.abort(new Error("nobody waits"));
    await expect(retriever.invoke("invoice", { signal })).rejects.toThrow("nobody waits");
    await expect(retriever.batch(["invoice"], { signal })).rejects.toThrow("nobody waits");
    expect(await retriever.invoke("invoice", { timeout: 60_000 })).not.toEqual([]);
    const running = new AbortController();
    const searched = retriever.invoke("invoice", { signal: running.signal });
    running.abort(new Error("nobody waits any more"));
    await expect(searched).rejects.toThrow("nobody waits any more");
  });
});

describe("the vector store", () => {
  const options = { schema: mail, textField: "body", vectorField: "vec" } as const;

  test("finds by vector, with filters, and removes", async () => {
    const database = await mails();
    const group = database.group("alice");
    const store = new BrookletVectorStore(new LetterEmbeddings(), { ...options, group });
    const ids = await store.addDocuments([
      new Document({ pageContent: "Ice cream.", metadata: { subject: "s", sender: "ann@example.com" }, id: "ice" }),
    ]);
    expect(ids).toEqual(["ice"]);
    const found = await store.similaritySearchWithScore("Icicles", 2);
    expect(found.map(([document, score]) => [document.id, score])).toEqual([
      ["ice", 1],
      ["invoice", 1],
    ]);
    expect(found[0]?.[0].metadata).toEqual({
      subject: "s",
      sender: "ann@example.com",
      documentId: "ice",
    });
    const filtered = await store.similaritySearch("Icicles", 2, (it) => it.sender.is("bob@example.com"));
    expect(filtered.map(({ id }) => id)).toEqual(["walk"]);
    await store.delete({ ids: ["ice"] });
    expect(await group.get(mail, "ice")).toBeUndefined();
    const [retrieved] = await store.asRetriever({ k: 1 }).invoke("Shall we?");
    expect(retrieved?.pageContent).toBe("Shall we walk along the sea?");
  });

  test("takes what fields are as an object, as other stores do", async () => {
    const database = await mails();
    const group = database.group("alice");
    const store = new BrookletVectorStore(new LetterEmbeddings(), { ...options, group });
    const ids = async (filter: (typeof store)["FilterType"]): Promise<unknown> =>
      (await store.similaritySearch("Icicles", 9, filter)).map(({ id }) => id).sort();
    const all = await ids({});
    expect(all).toEqual(["invoice", "walk"]);
    expect(await ids({ sender: "bob@example.com" })).toEqual(["walk"]);
    expect(await ids({ sender: ["bob@example.com", "billing@example.com"] })).toEqual(all);
    expect(await ids({ sender: { $ne: "bob@example.com" } })).toEqual(["invoice"]);
    const varied = await store.maxMarginalRelevanceSearch("Icicles", { k: 9, filter: { sender: "bob@example.com" } });
    expect(varied.map(({ id }) => id)).toEqual(["walk"]);
    // @ts-expect-error a name that is no field
    await expect(ids({ sendr: "bob@example.com" })).rejects.toThrow("'sendr' cannot be filtered by");
    // @ts-expect-error an operator of nobody
    await expect(ids({ sender: { like: "bob" } })).rejects.toThrow("'like' of 'sender' is not supported");
    await expect(store.delete({ filter: {} })).rejects.toThrow("an empty filter lets everything through");
    await store.delete({ filter: { sender: "bob@example.com" } });
    expect(await ids({})).toEqual(["invoice"]);
  });

  test("gives none where none is asked for", async () => {
    const database = await mails();
    const store = new BrookletVectorStore(new LetterEmbeddings(), { ...options, group: database.group("alice") });
    expect(await store.similaritySearch("Icicles", 0)).toEqual([]);
    expect(await store.addDocuments([])).toEqual([]);
  });

  test("takes dates as texts, and gives metadata that are JSON, whoever put them", async () => {
    const dated = schema("dated", {
      text: text(),
      at: timestamp().optional(),
      rest: json().optional(),
      vec: vector(2, { metric: "euclidean" }),
    });
    const database = await open({ schemas: [dated] });
    onTestFinished(() => database.close());
    const group = database.group("alice");
    const place = { schema: dated, textField: "text", vectorField: "vec", metadataField: "rest" } as const;
    const store = new BrookletVectorStore(new LetterEmbeddings(), { ...place, group });
    const at = new Date("2026-11-23T09:30:00Z");
    await store.addDocuments([new Document({ pageContent: "Ice", metadata: { at: at.toISOString() }, id: "a" })]);
    await group.put(dated, "b", { text: "Other", rest: { page: { number: 3 } }, vec: [0, 1] });
    const found = await store.similaritySearch("Icicles", 2);
    expect(found.map(({ metadata }) => metadata)).toEqual([
      { at, documentId: "a" },
      { page: { number: 3 }, documentId: "b" },
    ]);
  });

  const note = schema("note", {
    text: text(),
    source: string().optional(),
    page: int().optional(),
    metadata: string().optional(),
    vec: vector(2, { metric: "euclidean" }),
  });

  async function notes() {
    const database = await open({ schemas: [note] });
    onTestFinished(() => database.close());
    const group = database.group("alice");
    const fields = { schema: note, textField: "text", vectorField: "vec", metadataField: "metadata" } as const;
    return { database, group, store: new BrookletVectorStore(new LetterEmbeddings(), { ...fields, group }) };
  }

  test("takes whatever metadata a loader gives, and gives them back", async () => {
    const { group, store } = await notes();
    // What the loader of PDFs gives.
    const loaded = {
      source: "a.pdf",
      page: 3,
      pdf: { version: "1.7", info: { Title: "Ä" }, totalPages: 9 },
      loc: { pageNumber: 3, lines: { from: 1, to: 20 } },
      author: null,
    };
    await store.addDocuments([new Document({ pageContent: "Ice", metadata: loaded, id: "a" })]);
    expect(await group.get(note, "a")).toEqual({
      text: "Ice",
      source: "a.pdf",
      page: 3,
      vec: [1, 0],
      metadata: JSON.stringify({ pdf: loaded.pdf, loc: loaded.loc }),
    });
    const [found] = await store.similaritySearch("Icicle", 1, (it) => it.page.ge(3));
    const { author: _, ...kept } = loaded;
    expect(found?.metadata).toEqual({ ...kept, documentId: "a" });
    // What was found can be put again.
    await store.addDocuments([found as Document]);
    expect((await store.similaritySearch("Icicle", 1))[0]?.metadata).toEqual({ ...kept, documentId: "a" });
    await group.update(note, "a", { metadata: { assign: "by hand" } });
    expect((await store.similaritySearch("Icicle", 1))[0]?.metadata).toMatchObject({ metadata: "by hand" });
  });

  test("keeps whatever JSON a loader gives in a field of json()", async () => {
    const page = schema("page", { text: text(), number: int().optional(), rest: json(), vec: vector(2) });
    const database = await open({ schemas: [page] });
    onTestFinished(() => database.close());
    const group = database.group("alice");
    const place = { schema: page, textField: "text", vectorField: "vec", metadataField: "rest" } as const;
    const store = new BrookletVectorStore(new LetterEmbeddings(), { ...place, group });
    const metadatas: Record<string, unknown>[] = [
      {},
      { number: 7 },
      { source: "a.pdf", number: 3, pdf: { info: { Title: 'Ä \u0000 "q"' }, pages: [1, 2.5, -0.1, 1e300] }, ok: false },
      { list: [[], {}, [null, { deep: [true] }]], nothing: "", big: 2 ** 53, text: "own", rest: { rest: "rest" } },
      Object.fromEntries(Array.from({ length: 200 }, (_, index) => [`key ${index}`, "x".repeat(index)])),
    ];
    const documents = metadatas.map((metadata, index) => {
      return new Document({ pageContent: `I${index}`, metadata, id: String(index) });
    });
    await store.addDocuments(documents);
    const back = async (): Promise<Record<string, unknown>[]> => {
      const found = await store.similaritySearch("Icicle", metadatas.length);
      return found.toSorted((a, b) => Number(a.id) - Number(b.id)).map(({ metadata }) => metadata);
    };
    const expected = metadatas.map((metadata, index) => ({ ...metadata, documentId: String(index) }));
    expect(await back()).toEqual(expected);
    // What was found can be put again, and what is put again replaces.
    const found = await store.similaritySearch("Icicle", metadatas.length);
    await store.addDocuments(found);
    expect(await back()).toEqual(expected);
    await store.addDocuments([new Document({ pageContent: "I2", metadata: { source: "b.pdf" }, id: "2" })]);
    expect((await back())[2]).toEqual({ source: "b.pdf", documentId: "2" });
  });

  test("refuses by name what it has no place for", async () => {
    const { group } = await notes();
    const bare = { schema: note, textField: "text", vectorField: "vec", group } as const;
    const store = new BrookletVectorStore(new LetterEmbeddings(), bare);
    const adding = store.addDocuments([new Document({ pageContent: "x", metadata: { loc: 1 } })]);
    await expect(adding).rejects.toThrow("metadata 'loc' have no field of their own in schema note");
    const wrong = store.addDocuments([new Document({ pageContent: "x", metadata: { page: "three" } })]);
    await expect(wrong).rejects.toThrow(/page/);
  });

  test("finds what is near and not alike", async () => {
    const { store } = await notes();
    await store.addVectors(
      [
        [1, 0.3],
        [1, 0.29],
        [0.6, 0.8],
      ],
      ["a", "b", "c"].map((id) => new Document({ pageContent: id, id })),
    );
    const ids = async (lambda: number): Promise<(string | undefined)[]> => {
      const found = await store.maxMarginalRelevanceSearch("Ice", { k: 2, fetchK: 3, lambda });
      return found.map(({ id }) => id);
    };
    expect(await ids(1)).toEqual(["b", "a"]);
    expect(await ids(0.1)).toEqual(["b", "c"]);
    const retriever = store.asRetriever({ searchType: "mmr", k: 2, searchKwargs: { fetchK: 3, lambda: 0.1 } });
    const retrieved = await retriever.invoke("Ice");
    expect(retrieved.map(({ id }) => id)).toEqual(["b", "c"]);
    expect(retrieved[0]?.metadata).toEqual({ documentId: "b" });
  });

  test("removes what a filter lets through, page after page, in its group alone", async () => {
    const { database, group, store } = await notes();
    const fields = { text: "x", page: 1, vec: [1, 0] };
    const many = Array.from({ length: 450 }, (_, index) => ({
      id: `n${index}`,
      fields: { ...fields, page: index % 9 },
    }));
    await group.feed(note, many);
    await database.group("bob").put(note, "b", fields);
    await store.delete({ filter: (it) => it.page.ge(1) });
    const left = await group.search(note, { limit: 400 });
    expect([left.totalCount, left.hits.every((hit) => hit.fields.page === 0)]).toEqual([50, true]);
    expect(await database.group("bob").get(note, "b")).toBeDefined();
    for (const nothing of [{}, undefined, "ice", { ids: "ice" }])
      await expect(store.delete(nothing as never)).rejects.toThrow("delete takes either { ids } or { filter }");
  });

  test("is made of texts", async () => {
    const database = await mails();
    const group = database.group("carol");
    const metadata = { subject: "s", sender: "x" };
    const store = await BrookletVectorStore.fromTexts(["In", "Out"], metadata, new LetterEmbeddings(), {
      ...options,
      group,
    });
    const [document] = await store.similaritySearch("Into", 1);
    expect(document?.pageContent).toBe("In");
    expect(store._vectorstoreType()).toBe("brooklet");
  });
});
