/**
 * The store of Mastra over a class with the surface of Mastra's: that library is larger than everything else together, so that its own
 * class, and its types, are tried where packages are installed (tools/release/mastra.test.ts).
 */
import type * as Brooklet from "brooklet";
import { describe, expect, onTestFinished, test } from "vitest";
import { type MastraFilter, mastraVector } from "../src/mastra.ts";

const built = new URL("../../brooklet/dist/index.js", import.meta.url).href;
const { array, bool, int, json, open, schema, string, text, timestamp, vector } = (await import(
  built
)) as typeof Brooklet;

type Asked = Readonly<Record<string, unknown>>;

/** What Mastra's class asks of a store. */
abstract class VectorOfMastra {
  readonly id: string;

  constructor({ id }: { readonly id: string }) {
    this.id = id;
  }

  abstract query(asked: Asked): Promise<{ id: string; score: number; metadata?: Asked; vector?: number[] }[]>;
  abstract upsert(given: Asked): Promise<string[]>;
  abstract createIndex(asked: Asked): Promise<void>;
  abstract listIndexes(): Promise<string[]>;
  abstract describeIndex(asked: Asked): Promise<object>;
  abstract deleteIndex(asked: Asked): Promise<void>;
  abstract updateVector(asked: Asked): Promise<void>;
  abstract deleteVector(asked: Asked): Promise<void>;
  abstract deleteVectors(asked: Asked): Promise<void>;
}

const chunk = schema("chunk", {
  body: text(),
  source: string().optional(),
  page: int().optional(),
  isDraft: bool().optional(),
  writtenAt: timestamp().optional(),
  tags: array(string()).optional(),
  rest: json().optional(),
  vec: vector(2, { metric: "angular" }),
});
const FIELDS = { schema: chunk, textField: "body", vectorField: "vec", metadataField: "rest" } as const;
const indexName = "chunk";

async function chunks() {
  const database = await open({ schemas: [chunk] });
  onTestFinished(() => database.close());
  const storeOf = (name: string) => mastraVector(VectorOfMastra, { ...FIELDS, id: name, group: database.group(name) });
  return { database, group: database.group("alice"), store: storeOf("alice"), other: storeOf("bob") };
}

describe("the store of Mastra", () => {
  test("puts and finds chunks with whatever metadata", async () => {
    const { group, store } = await chunks();
    expect(store).toBeInstanceOf(VectorOfMastra);
    expect(store.id).toBe("alice");
    await store.createIndex({ indexName, dimension: 2, metric: "cosine" });
    const metadata = [
      { text: "The deposit.", source: "a.pdf", page: 3, writtenAt: "2026-11-23", loc: { from: 1 }, author: null },
      { text: "The sea." },
    ];
    const [first, second] = await store.upsert({
      indexName,
      vectors: [
        [1, 0],
        [0, 1],
      ],
      metadata,
    });
    expect(await group.get(chunk, first ?? "")).toMatchObject({
      body: "The deposit.",
      page: 3,
      rest: { loc: { from: 1 } },
    });
    const found = await store.query({ indexName, queryVector: [1, 0], topK: 2, includeVector: true });
    expect(found).toEqual([
      {
        id: first,
        score: 1,
        document: "The deposit.",
        metadata: {
          text: "The deposit.",
          source: "a.pdf",
          page: 3,
          writtenAt: new Date("2026-11-23"),
          loc: { from: 1 },
        },
        vector: [1, 0],
      },
      expect.objectContaining({ id: second, metadata: { text: "The sea." } }),
    ]);
    expect(await store.listIndexes()).toEqual([indexName]);
    expect(await store.describeIndex({ indexName })).toEqual({ dimension: 2, count: 2, metric: "cosine" });
    const [plain] = await store.query({ indexName, queryVector: [0, 1], topK: 1 });
    expect(plain).not.toHaveProperty("vector");
    // Put again under its id, and changed.
    await store.upsert({ indexName, vectors: [[1, 0]], ids: [first], metadata: [{ text: "Another.", page: 4 }] });
    await store.updateVector({ indexName, id: first, update: { vector: [0, 1], metadata: { page: 5 } } });
    expect(await group.get(chunk, first ?? "")).toEqual({ body: "Another.", page: 5, vec: [0, 1] });
  });

  test("keeps in an update what it does not name", async () => {
    const kept = schema("kept", { body: text(), page: int(), rest: string(), vec: vector(2) });
    const database = await open({ schemas: [kept] });
    onTestFinished(() => database.close());
    const group = database.group("alice");
    const place = { schema: kept, textField: "body", vectorField: "vec", metadataField: "rest" } as const;
    const store = mastraVector(VectorOfMastra, { ...place, id: "kept", group });
    const metadata = [{ text: "Words", page: 1, loc: 2 }];
    await store.upsert({ indexName: "kept", vectors: [[1, 0]], metadata, ids: ["a"] });
    await store.updateVector({ indexName: "kept", id: "a", update: { metadata: { page: 3 } } });
    expect(await group.get(kept, "a")).toEqual({ body: "Words", page: 3, rest: '{"loc":2}', vec: [1, 0] });
    await store.updateVector({ indexName: "kept", id: "a", update: { metadata: { at: 4 } } });
    expect(await group.get(kept, "a")).toMatchObject({ body: "Words", page: 3, rest: '{"at":4}' });
    const [found] = await store.query({ indexName: "kept", queryVector: [1, 0] });
    expect(found?.metadata).toEqual({ text: "Words", page: 3, at: 4 });
  });

  test("is the index that Mastra's memory asks for, under a schema of any name", async () => {
    // As @mastra/memory 1.31.0 asks for the messages of embeddings with two dimensions.
    const index = "memory_messages_2";
    const said = schema("said", {
      content: text().optional(),
      ...{ message_id: string(), thread_id: string(), resource_id: string().optional() },
      ...{ rest: json().optional(), vec: vector(2, { metric: "angular" }) },
    });
    const database = await open({ schemas: [said] });
    onTestFinished(() => database.close());
    const place = { schema: said, textField: "content", vectorField: "vec", metadataField: "rest" } as const;
    const options = {
      ...place,
      id: "alice",
      group: database.group("alice"),
      indexName: index,
      textMetadata: "content",
    };
    const store = mastraVector(VectorOfMastra, options);
    await store.createIndex({ indexName: index, dimension: 2, metadataIndexes: ["thread_id", "resource_id"] });
    const message = (id: string, thread: string) => ({
      ...{ message_id: id, thread_id: thread, resource_id: "u", role: "user", content: `Words of ${id}` },
      created_at: "2026-11-29T08:57:56.353Z",
    });
    const metadata = [message("1", "a"), message("2", "a"), message("3", "b")];
    const vectors = [
      [1, 0],
      [0, 1],
      [1, 0],
    ];
    await store.upsert({ indexName: index, vectors, metadata });
    const near = { indexName: index, queryVector: [1, 0], topK: 2 };
    expect(
      (await store.query({ ...near, filter: { resource_id: "u", thread_id: "b" } })).map((it) => it.metadata),
    ).toEqual([metadata[2]]);
    expect(await store.listIndexes()).toEqual([index]);
    await store.deleteVectors({ indexName: index, filter: { message_id: { $in: ["1"] } } });
    await store.deleteVectors({ indexName: index, filter: { thread_id: "b" } });
    expect((await store.query(near)).map((it) => it.metadata)).toEqual([metadata[1]]);
    await expect(store.query({ indexName: "said", queryVector: [1, 0] })).rejects.toThrow("there is no index 'said'");
  });

  async function three() {
    const made = await chunks();
    const vectors = [
      [1, 0],
      [1, 0],
      [1, 0],
    ];
    const metadata = [
      { text: "a", page: 1, source: "x", tags: ["p", "q"], isDraft: true, writtenAt: new Date("2026-11-23") },
      { text: "b", page: 2, source: "y", tags: ["q"], isDraft: false, writtenAt: new Date("2026-11-25") },
      { text: "c", page: 3, source: "z" },
    ];
    await made.store.upsert({ indexName, vectors, metadata, ids: ["a", "b", "c"] });
    const found = async (filter: MastraFilter): Promise<string> => {
      const hits = await made.store.query({ indexName, queryVector: [1, 0], filter });
      return hits
        .map(({ id }) => id)
        .toSorted()
        .join("");
    };
    return { ...made, found };
  }

  test("translates filters", async () => {
    const { store, found } = await three();
    const cases: [MastraFilter, string][] = [
      [null, "abc"],
      [{}, "abc"],
      [{ page: 2 }, "b"],
      [{ page: { $eq: 2 } }, "b"],
      [{ page: { $ne: 2 } }, "ac"],
      [{ page: { $gt: 1, $lt: 3 } }, "b"],
      [{ page: { $gte: 2 } }, "bc"],
      [{ page: { $lte: 2 } }, "ab"],
      [{ source: ["x", "z"] }, "ac"],
      [{ source: { $in: ["x", "z"] } }, "ac"],
      [{ source: { $nin: ["x", "z"] } }, "b"],
      [{ source: { $in: [] } }, ""],
      [{ tags: "q" }, "ab"],
      [{ tags: { $all: ["p", "q"] } }, "a"],
      [{ tags: { $all: [] } }, ""],
      [{ tags: { $not: { $all: [] } } }, "abc"],
      [{ isDraft: true }, "a"],
      [{ writtenAt: { $gt: "2026-11-24" } }, "b"],
      [{ writtenAt: new Date("2026-11-23") }, "a"],
      [{ page: { $not: { $gt: 1 } } }, "a"],
      [{ page: { $gt: 1 }, source: "z" }, "c"],
      [{ $and: [{ page: { $gt: 1 } }, { source: "y" }] }, "b"],
      [{ $or: [{ page: 1 }, { source: "z" }] }, "ac"],
      [{ $nor: [{ page: 1 }, { source: "z" }] }, "b"],
      [{ $not: { page: 1 } }, "bc"],
    ];
    for (const [filter, expected] of cases) expect([filter, await found(filter)]).toEqual([filter, expected]);
    const unranked = await store.query({ indexName, filter: { page: 2 } });
    expect(unranked.map(({ id }) => id)).toEqual(["b"]);
  });

  test("refuses by name what it cannot do", async () => {
    const { group, store, found } = await three();
    for (const [filter, message] of [
      [{ source: { $regex: "x" } }, "'$regex' of 'source' is not supported"],
      [{ source: { $exists: true } }, "'$exists' of 'source' is not supported"],
      [{ tags: { $elemMatch: { $eq: "p" } } }, "'$elemMatch' of 'tags' is not supported"],
      [{ $where: "1" }, "'$where' is no operator of a filter"],
    ] as const) {
      await expect(found(filter)).rejects.toThrow(message);
      await expect(found(filter)).rejects.toMatchObject({ code: "UNSUPPORTED" });
    }
    await expect(found({ loc: 1 })).rejects.toThrow("'loc' cannot be filtered by: it is no field of schema chunk");
    await expect(found({ constructor: 1 })).rejects.toThrow("it is no field of schema chunk");
    await expect(found({ page: "two" })).rejects.toThrow("'page' is compared with a number, not with \"two\"");
    await expect(found({ source: null })).rejects.toThrow("'source' is compared with a text, not with null");
    await expect(found({ $or: [] })).rejects.toThrow("'$or' of a filter takes a list of filters");
    await expect(found({ $and: [{}] })).rejects.toThrow("a part of a filter is empty");
    const inherited = Object.create({ page: 1 }) as object;
    for (const none of [new Map([["page", 1]]), Promise.resolve({ page: 1 }), /x/, inherited])
      await expect(found(none as unknown as MastraFilter)).rejects.toThrow("a filter is an object of fields");
    let deep: Asked = { page: 1 };
    for (let depth = 0; depth < 30; depth += 1) deep = { $not: deep };
    await expect(found(deep)).rejects.toThrow("operators within operators: 20 at most");
    await expect(found({ $or: Array.from({ length: 1_001 }, () => ({ page: 1 })) })).rejects.toThrow(
      "1000 parts at most",
    );
    await expect(store.query({ indexName: "other", queryVector: [1, 0] })).rejects.toThrow("there is no index 'other'");
    await expect(store.query({ indexName, queryVector: [1, 0], topK: 401 })).rejects.toThrow("from 1 to 400");
    expect(await store.query({ indexName, queryVector: [1, 0], topK: 0 })).toEqual([]);
    await expect(store.query({ indexName })).rejects.toThrow("a query needs a `queryVector`, or a `filter`");
    const sparse = { indexName, vectors: [[1, 0]], sparseVectors: [{ indices: [1], values: [1] }] };
    await expect(store.upsert(sparse)).rejects.toMatchObject({ code: "UNSUPPORTED" });
    await expect(store.upsert({ indexName, vectors: [[1, 0]], ids: ["a", "b"] })).rejects.toThrow("2 `ids`");
    await expect(store.createIndex({ indexName, dimension: 3 })).rejects.toThrow("has 2 dimensions, not 3");
    const metric = { indexName, dimension: 2, metric: "dotproduct" };
    await expect(store.createIndex(metric)).rejects.toThrow("is compared by cosine, not by dotproduct");
    await expect(store.updateVector({ indexName, id: "a", update: {} })).rejects.toThrow("an update needs");
    await expect(store.deleteVectors({ indexName })).rejects.toThrow("either { ids } or { filter }");
    await expect(store.deleteVectors({ indexName, filter: {} })).rejects.toThrow("every document");
    const wrong = { ...FIELDS, id: "x", group, vectorField: "body" } as const;
    expect(() => mastraVector(VectorOfMastra, wrong)).toThrow("'body' of schema chunk is no vector");
    expect(await group.count(chunk)).toBe(3);
  });

  test("removes, changes and replaces what a filter lets through, in its group alone", async () => {
    const { group, store, other } = await chunks();
    const many = Array.from({ length: 450 }, (_, index) => index);
    const given = {
      indexName,
      vectors: many.map(() => [1, 0]),
      metadata: many.map((index) => ({ text: "x", page: index % 9 })),
      ids: many.map((index) => `n${index}`),
    };
    await store.upsert(given);
    await other.upsert({ indexName, vectors: [[1, 0]], metadata: [{ text: "x", page: 1 }], ids: ["n1"] });
    await store.updateVector({ indexName, filter: { page: 8 }, update: { metadata: { page: 0, source: "moved" } } });
    expect(await group.count(chunk, (it) => it.source.is("moved"))).toBe(50);
    await store.deleteVectors({ indexName, filter: { page: { $gte: 1 } } });
    expect(await group.count(chunk)).toBe(100);
    const again = { indexName, vectors: [[0, 1]], metadata: [{ text: "new", source: "moved" }], ids: ["n8"] };
    await store.upsert({ ...again, deleteFilter: { source: "moved" } });
    expect(await group.count(chunk)).toBe(51);
    expect(await group.get(chunk, "n8")).toMatchObject({ body: "new" });
    await store.deleteVectors({ indexName, ids: ["n0", "n9"] });
    await store.deleteVector({ indexName, id: "n8" });
    expect(await group.count(chunk)).toBe(48);
    await store.deleteIndex({ indexName });
    expect(await group.count(chunk)).toBe(0);
    expect(await other.describeIndex({ indexName })).toMatchObject({ count: 1 });
  });
});
