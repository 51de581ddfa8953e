import { Document } from "@langchain/core/documents";
import { FakeEmbeddings } from "@langchain/core/utils/testing";
import { describe, expect, test } from "vitest";
import { BrookletRetriever, BrookletVectorStore } from "../src/langchain.ts";
import { mail, mails } from "./mails.ts";

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
