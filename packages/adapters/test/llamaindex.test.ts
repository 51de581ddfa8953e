import { BaseEmbedding } from "@llamaindex/core/embeddings";
import { Document, MetadataMode, NodeRelationship, TextNode } from "@llamaindex/core/schema";
import { type FilterOperator, type MetadataFilters, VectorStoreQueryMode } from "@llamaindex/core/vector-store";
import type * as Brooklet from "brooklet";
import { describe, expect, onTestFinished, test } from "vitest";
import { BrookletVectorStore } from "../src/llamaindex.ts";

const built = new URL("../../brooklet/dist/index.js", import.meta.url).href;
const { array, bool, int, json, open, schema, string, text, timestamp, vector } = (await import(
  built
)) as typeof Brooklet;

const page = schema("page", {
  text: text(),
  title: text().optional(),
  document: string(),
  source: string().optional(),
  number: int().optional(),
  isDraft: bool().optional(),
  writtenAt: timestamp().optional(),
  tags: array(string()).optional(),
  rest: json().optional(),
  vec: vector(2, { metric: "euclidean" }),
});

/** Vectors by the first letter: what begins with `i` is one thing, everything else another. */
class LetterEmbedding extends BaseEmbedding {
  // biome-ignore lint/complexity/noUselessConstructor: the one it would inherit is protected
  constructor() {
    super();
  }

  override async getTextEmbedding(text: string): Promise<number[]> {
    return /^i/i.test(text) ? [1, 0] : [0, 1];
  }
}

const FIELDS = {
  embedModel: new LetterEmbedding(),
  schema: page,
  textField: "text",
  vectorField: "vec",
  metadataField: "rest",
  documentField: "document",
} as const;

async function pages() {
  const database = await open({ schemas: [page] });
  onTestFinished(() => database.close());
  const group = database.group("alice");
  const store = new BrookletVectorStore({ ...FIELDS, group });
  return { database, group, store };
}

function node(id: string, embedding: number[], metadata: Record<string, unknown> = {}, document?: string): TextNode {
  const relationships = document === undefined ? {} : { [NodeRelationship.SOURCE]: { nodeId: document, metadata: {} } };
  return new TextNode({ id_: id, text: `The text of ${id}.`, embedding, metadata, relationships });
}

test("a node comes back with the white space around its text", async () => {
  const { store } = await pages();
  const text = " \r\nThe text. 👍\n";
  const put = new TextNode({ id_: "a", text, embedding: [1, 0], startCharIdx: 4, endCharIdx: 4 + text.length });
  await store.add([put]);
  const { nodes = [] } = await store.query(near([1, 0], 1));
  expect(nodes[0]).toMatchObject({ text, startCharIdx: 4, endCharIdx: 4 + text.length });
});

const near = (queryEmbedding: number[], similarityTopK = 3) => {
  return { queryEmbedding, similarityTopK, mode: VectorStoreQueryMode.DEFAULT };
};

describe("the store of LlamaIndex.TS", () => {
  test("gives nodes back as they were put, with their relationships and whatever metadata", async () => {
    const { group, store } = await pages();
    const document = new Document({ id_: "d1", text: "All of it." });
    const put = node("n1", [1, 0], {
      source: "a.pdf",
      number: 3,
      writtenAt: "2026-11-23T09:30:00.000Z",
      document: "a title of its own",
      loc: { lines: { from: 1, to: 9 } },
      author: null,
    });
    put.relationships[NodeRelationship.SOURCE] = document.asRelatedNodeInfo();
    put.relationships[NodeRelationship.NEXT] = { nodeId: "n2", metadata: {} };
    expect(await store.add([put, node("n2", [0, 1])])).toEqual(["n1", "n2"]);
    expect(await group.get(page, "n1")).toMatchObject({
      text: "The text of n1.",
      document: "d1",
      source: "a.pdf",
      number: 3,
      vec: [1, 0],
    });
    const { nodes, similarities, ids } = await store.query(near([1, 0]));
    expect([ids, similarities[0]]).toEqual([["n1", "n2"], 1]);
    const [found] = nodes ?? [];
    expect(found).toBeInstanceOf(TextNode);
    expect(found?.id_).toBe("n1");
    expect(found?.getContent(MetadataMode.NONE)).toBe("The text of n1.");
    expect(found?.sourceNode?.nodeId).toBe("d1");
    expect(found?.nextNode?.nodeId).toBe("n2");
    expect(found?.metadata).toEqual({
      source: "a.pdf",
      number: 3,
      writtenAt: new Date("2026-11-23T09:30:00Z"),
      document: "a title of its own",
      loc: { lines: { from: 1, to: 9 } },
    });
    // What was found can be put again.
    if (found !== undefined) found.embedding = [1, 0];
    await store.add(nodes?.slice(0, 1) ?? []);
    expect((await store.query(near([1, 0], 1))).nodes?.[0]?.metadata).toEqual(found?.metadata);
    expect(store.client()).toBe(group);
  });

  test("puts what LlamaIndex's own model has embedded", async () => {
    const { store } = await pages();
    const nodes = ["Ice", "Snow"].map((words) => new TextNode({ id_: words, text: words }));
    await store.add(await store.embedModel(nodes));
    const [queryEmbedding = []] = await store.embedModel.getTextEmbeddings(["Icicle"]);
    expect((await store.query(near(queryEmbedding, 1))).ids).toEqual(["Ice"]);
  });

  test("gives a node of what another has stored", async () => {
    const { group, store } = await pages();
    await group.put(page, "p", { text: "By hand", document: "d", number: 4, vec: [1, 0] });
    const { nodes } = await store.query(near([1, 0]));
    expect(nodes?.map(({ id_, metadata }) => [id_, metadata])).toEqual([["p", { number: 4 }]]);
    expect(nodes?.[0]?.getContent(MetadataMode.NONE)).toBe("By hand");
  });

  const filtered = (key: string, operator: `${FilterOperator}`, value?: string | number | string[] | number[]) => {
    return { key, operator, ...(value === undefined ? {} : { value }) };
  };

  test("translates filters", async () => {
    const { store } = await pages();
    await store.add([
      node("a", [1, 0], { number: 1, source: "x", tags: ["p", "q"], title: "Tide tables", isDraft: true }, "d1"),
      node("b", [1, 0], { number: 2, source: "y", tags: ["q"], writtenAt: "2026-11-23" }, "d1"),
      node("c", [1, 0], { number: 3, source: "z", writtenAt: "2026-11-25" }, "d2"),
    ]);
    const found = async (filters: MetadataFilters["filters"], condition?: "and" | "or") => {
      const asked = { filters, ...(condition === undefined ? {} : { condition }) };
      return (await store.query({ ...near([1, 0]), filters: asked })).ids.toSorted().join("");
    };
    const cases: [MetadataFilters["filters"][number], string][] = [
      [filtered("number", "==", 2), "b"],
      [filtered("number", "!=", 2), "ac"],
      [filtered("number", ">", 2), "c"],
      [filtered("number", ">=", 2), "bc"],
      [filtered("number", "<", 2), "a"],
      [filtered("number", "<=", 2), "ab"],
      [filtered("source", "in", ["x", "z"]), "ac"],
      [filtered("source", "nin", ["x", "z"]), "b"],
      [filtered("tags", "any", ["p", "z"]), "a"],
      [filtered("tags", "all", ["p", "q"]), "a"],
      [filtered("tags", "all", []), ""],
      [filtered("tags", "contains", "q"), "ab"],
      [filtered("title", "text_match", "tide"), "a"],
      [filtered("writtenAt", ">", "2026-11-24"), "c"],
      [filtered("ref_doc_id", "==", "d1"), "ab"],
    ];
    for (const [filter, expected] of cases) expect([filter, await found([filter])]).toEqual([filter, expected]);
    expect(await found([filtered("number", ">", 1), filtered("source", "==", "z")])).toBe("c");
    expect(await found([filtered("number", "<", 2), filtered("source", "==", "z")], "or")).toBe("ac");
    expect((await store.query({ ...near([1, 0]), docIds: ["d2"] })).ids).toEqual(["c"]);
  });

  test("refuses by name what it cannot do", async () => {
    const { group, store } = await pages();
    const asked = (filter: MetadataFilters["filters"][number]) => {
      return store.query({ ...near([1, 0]), filters: { filters: [filter] } });
    };
    await expect(asked(filtered("number", "is_empty"))).rejects.toMatchObject({ code: "UNSUPPORTED" });
    await expect(asked(filtered("number", "is_empty"))).rejects.toThrow("'is_empty' of 'number' is not supported");
    await expect(asked(filtered("loc", "==", 1))).rejects.toThrow("it is no field of schema page");
    await expect(asked(filtered("text", "==", "x"))).rejects.toThrow("'text' of schema page cannot be filtered by");
    await expect(asked(filtered("number", "==", "x"))).rejects.toThrow("'number' is compared with a number");
    await expect(asked(filtered("source", ">", "x"))).rejects.toThrow("'source' has no order");
    for (const none of ["soon", "2026-11-31"])
      await expect(asked(filtered("writtenAt", ">", none))).rejects.toThrow("'writtenAt' is a date");
    await expect(asked(filtered("number", "in", 1))).rejects.toThrow("a list of values");
    const many = Array.from({ length: 1_001 }, (_, index) => index);
    await expect(asked(filtered("number", "in", many))).rejects.toThrow("1000 at most");
    const svm = { ...near([1, 0]), mode: VectorStoreQueryMode.SVM };
    await expect(store.query(svm)).rejects.toMatchObject({ code: "UNSUPPORTED" });
    await expect(store.query({ ...near([1, 0]), alpha: 0.5 })).rejects.toThrow("`alpha`");
    await expect(store.query(near([1, 0], 401))).rejects.toThrow("a whole number from 1 to 400");
    for (const mode of [VectorStoreQueryMode.DEFAULT, VectorStoreQueryMode.MMR])
      expect(await store.query({ ...near([1, 0], 0), mode })).toEqual({ nodes: [], similarities: [], ids: [] });
    await expect(store.deleteNodes({})).rejects.toThrow("either { ids } or { filters }");
    await expect(store.deleteNodes({ filters: { filters: [] } })).rejects.toThrow("every node");
    for (const strange of [{}, { filters: null }, { filter: [] }])
      await expect(store.query({ ...near([1, 0]), filters: strange as never })).rejects.toThrow(
        "`filters` has no list",
      );
    await expect(store.add([node("n", [1, 0, 0])])).rejects.toThrow(/2/);
    expect(() => new BrookletVectorStore({ ...FIELDS, group, documentField: "number" })).toThrow("is no string()");
    const strange = { ...FIELDS, group, textfield: "text" };
    expect(() => new BrookletVectorStore(strange)).toThrow("textfield");
  });

  test("searches words too, or for variety", async () => {
    const { store } = await pages();
    await store.add([node("near", [1, 0.3]), node("alike", [1, 0.29]), node("else", [0.6, 0.8])]);
    const words = { queryEmbedding: [1, 0], queryStr: "near", similarityTopK: 3 };
    const { ids } = await store.query({ ...words, mode: VectorStoreQueryMode.HYBRID });
    expect(ids[0]).toBe("near");
    const { ids: byVector } = await store.query(near([1, 0]));
    expect(byVector).toEqual(["alike", "near", "else"]);
    const varied = { ...near([1, 0], 2), mode: VectorStoreQueryMode.MMR, mmrThreshold: 0.1 };
    expect((await store.query(varied)).ids).toEqual(["alike", "else"]);
  });

  test("removes by document, by id and by filter, in its group alone", async () => {
    const { database, group, store } = await pages();
    const other = new BrookletVectorStore({ ...FIELDS, group: database.group("bob") });
    const many = Array.from({ length: 450 }, (_, index) => node(`n${index}`, [1, 0], { number: index % 9 }, "d1"));
    await store.add([...many, node("own", [0, 1])]);
    await other.add([node("n1", [1, 0], { number: 1 }, "d1")]);
    await store.deleteNodes({ filters: { filters: [filtered("number", ">=", 1)] } });
    expect(await group.count(page)).toBe(51);
    await store.deleteNodes({ ids: ["n0"] });
    expect(await group.count(page)).toBe(50);
    await store.delete("d1");
    expect((await store.query(near([1, 0]))).ids).toEqual(["own"]);
    await store.delete("own");
    expect(await group.count(page)).toBe(0);
    expect((await other.query(near([1, 0]))).ids).toEqual(["n1"]);
  });
});
