/** Updates of texts whose embeddings are stored: the embedding is that of the document as it is afterwards, whoever wrote. */
import { embedding, schema, text } from "@brooklet/client";
import { HashEmbedder } from "@brooklet/models";
import { describe, expect, test } from "vitest";
import { type Database, open } from "../src/open.ts";

const note = schema("note", {
  title: text(),
  body: text().optional(),
  mark: text().optional(),
  vec: embedding({ from: ["title", "body"], model: "words", dimensions: 64 }),
});

/** Counts what it embeds, and lets a test do something in between. */
class Watched extends HashEmbedder {
  texts: string[] = [];
  meanwhile: (() => Promise<unknown>) | undefined;

  override async embed(request: Parameters<HashEmbedder["embed"]>[0]): ReturnType<HashEmbedder["embed"]> {
    this.texts.push(...request.texts);
    const { meanwhile } = this;
    this.meanwhile = undefined;
    await meanwhile?.();
    return super.embed(request);
  }
}

/** What is stored as the embedding of a document. */
async function vectorOf(db: Database, id: string, group = "alice"): Promise<readonly number[] | undefined> {
  const answer = await db.group(group).searchYql(note, `select vec from note where true limit 400`);
  return answer.hits.find((hit) => hit.id === id)?.fields.vec;
}

/** What the embedding of these texts is. */
async function vectorFor(
  db: Database,
  fields: { title: string; body?: string },
): Promise<readonly number[] | undefined> {
  await db.group("other").put(note, "x", fields);
  return vectorOf(db, "x", "other");
}

describe.each([undefined, 1])("an update of what is embedded, with threads: %s", (threads) => {
  async function opened(): Promise<{ db: Database; embedder: Watched }> {
    const embedder = new Watched("words");
    const db = await open({
      schemas: [note],
      models: { embedders: [embedder], onNotice: () => undefined },
      threads: threads ?? false,
    });
    return { db, embedder };
  }

  test("embeds the text anew, of all that the embedding is made of", async () => {
    const { db, embedder } = await opened();
    await using _ = db;
    const alice = db.group("alice");
    await alice.put(note, "1", { title: "Deposit", body: "It is paid back." });
    embedder.texts = [];
    await alice.update(note, "1", { title: { assign: "Bicycle" } });
    expect(embedder.texts).toHaveLength(1);
    expect(embedder.texts[0]).toContain("Bicycle");
    expect(embedder.texts[0]).toContain("It is paid back.");
    expect(await vectorOf(db, "1")).toEqual(await vectorFor(db, { title: "Bicycle", body: "It is paid back." }));
    await alice.update(note, "1", { body: { assign: null } });
    expect(await vectorOf(db, "1")).toEqual(await vectorFor(db, { title: "Bicycle" }));
  });

  test("embeds nothing where nothing of it changes, or there is no document", async () => {
    const { db, embedder } = await opened();
    await using _ = db;
    const alice = db.group("alice");
    await alice.put(note, "1", { title: "Deposit" });
    const before = await vectorOf(db, "1");
    embedder.texts = [];
    await alice.update(note, "1", { mark: { assign: "read" } });
    await alice.update(note, "2", { title: { assign: "Bicycle" } });
    expect(embedder.texts).toEqual([]);
    expect(await vectorOf(db, "1")).toEqual(before);
    expect(await alice.get(note, "2")).toBeUndefined();
    await alice.update(note, "2", { title: { assign: "Bicycle" } }, { create: true });
    expect(await vectorOf(db, "2")).toEqual(await vectorFor(db, { title: "Bicycle" }));
  });

  test("sees what others write while a text is embedded", async () => {
    const { db, embedder } = await opened();
    await using _ = db;
    const alice = db.group("alice");
    await alice.put(note, "1", { title: "Deposit", body: "It is paid back." });
    embedder.texts = [];
    embedder.meanwhile = () => alice.update(note, "1", { body: { assign: "It stands in the cellar." } });
    await alice.update(note, "1", { title: { assign: "Bicycle" } });
    const now = { title: "Bicycle", body: "It stands in the cellar." };
    expect(await alice.get(note, "1")).toEqual(now);
    expect(await vectorOf(db, "1")).toEqual(await vectorFor(db, now));
  });

  test("does not come back when the document is removed meanwhile, and heeds its condition", async () => {
    const { db, embedder } = await opened();
    await using _ = db;
    const alice = db.group("alice");
    await alice.put(note, "1", { title: "Deposit" });
    embedder.meanwhile = () => alice.remove(note, "1");
    await alice.update(note, "1", { title: { assign: "Bicycle" } });
    expect(await alice.get(note, "1")).toBeUndefined();
    await alice.put(note, "1", { title: "Deposit", mark: "new" });
    embedder.meanwhile = () => alice.update(note, "1", { mark: { assign: "old" } });
    const update = alice.update(note, "1", { title: { assign: "Bicycle" } }, { condition: (it) => it.mark.is("new") });
    await expect(update).rejects.toMatchObject({ code: "CONDITION_NOT_MET" });
    expect((await alice.get(note, "1"))?.title).toBe("Deposit");
  });

  test("of many at once ends with an embedding for each", async () => {
    const { db } = await opened();
    await using _ = db;
    const alice = db.group("alice");
    const titles = ["Deposit", "Bicycle", "Cellar", "Lease", "Garden"];
    await alice.put(note, "1", { title: "none", body: "none" });
    await Promise.all(
      titles.flatMap((title) => [
        alice.update(note, "1", { title: { assign: title } }),
        alice.update(note, "1", { body: { assign: `about the ${title}` } }),
      ]),
    );
    const { title = "", body = "" } = (await alice.get(note, "1")) ?? {};
    expect(await vectorOf(db, "1")).toEqual(await vectorFor(db, { title, body }));
  });

  test("goes through feeds and selections too", async () => {
    const { db } = await opened();
    await using _ = db;
    const alice = db.group("alice");
    const ids = Array.from({ length: 40 }, (_, index) => `${index}`);
    await alice.feed(
      note,
      ids.map((id) => ({ id, fields: { title: `Note ${id}` } })),
    );
    await alice.feed(
      note,
      ids.slice(0, 20).map((id) => ({ id, update: { body: { assign: `body ${id}` } } })),
    );
    expect(await vectorOf(db, "7")).toEqual(await vectorFor(db, { title: "Note 7", body: "body 7" }));
    const done = await alice.updateWhere(note, (it) => it.title.is("Note 30").or(it.body.is("body 7")), {
      title: "Both",
    });
    expect(done.selected).toBe(2);
    expect(await vectorOf(db, "30")).toEqual(await vectorFor(db, { title: "Both" }));
    expect(await vectorOf(db, "7")).toEqual(await vectorFor(db, { title: "Both", body: "body 7" }));
  });
});
