import { describe, expect, test } from "vitest";
import { connect, type FeedOperation, schema, text } from "../src/index.ts";
import { fakeServer } from "./fake-server.ts";

const note = schema("note", { body: text() }, { namespace: "ns" });
const WHOLE = "id:ns:note:g=alice:m1";
const PATH = "http://localhost:8080/document/v1/ns/note/group/alice/";

const document = { id: WHOLE, fields: { body: "b" } };
const server = fakeServer(({ url }) =>
  url.includes("/search/")
    ? [200, { root: { fields: { totalCount: 1 }, children: [{ ...document, relevance: 1 }] }, explain: {} }]
    : [200, url.endsWith("alice") || url.includes("alice?") ? { documents: [document], documentCount: 1 } : document],
);
const alice = connect({ url: "http://localhost:8080", fetch: server.fetch }).group("alice");

function lastUrl(): string | undefined {
  return server.asked.at(-1)?.url;
}

describe("an id is shown as the document was put", () => {
  test("by searches, retrieval, visits and feeds alike", async () => {
    const { hits } = await alice.search(note, { text: "b" });
    const { passages } = await alice.retrieve(note, "b", { near: false });
    const visited: string[] = [];
    for await (const { id } of alice.visit(note)) visited.push(id);
    const fed: string[] = [];
    for await (const { id } of alice.feed(note, [{ id: WHOLE, remove: true }])) fed.push(id);
    expect([hits[0]?.id, passages[0]?.documentId, visited, fed]).toEqual(["m1", "m1", ["m1"], ["m1"]]);
    expect(JSON.stringify([hits, passages])).not.toContain("id:ns:note");
  });
});

describe("a whole id is understood", () => {
  const options = { condition: "true" };
  test.each<[string, (id: string) => Promise<unknown>]>([
    ["get", (id) => alice.get(note, id)],
    ["getMany", (id) => alice.getMany(note, [id])],
    ["exists", (id) => alice.exists(note, id)],
    ["put", (id) => alice.put(note, id, { body: "b" })],
    ["update", (id) => alice.update(note, id, { body: { assign: "c" } }, options)],
    ["remove", (id) => alice.remove(note, id)],
    ["feed", async (id) => await alice.feed(note, [{ id, fields: { body: "b" } }])],
  ])("%s", async (_, call) => {
    await call(WHOLE);
    const [whole] = [lastUrl()?.split("?")[0]];
    await call("m1");
    expect([whole, lastUrl()?.split("?")[0]]).toEqual([`${PATH}m1`, `${PATH}m1`]);
    await expect(call("id:ns:note:g=bob:m1")).rejects.toThrow("is a document of group 'bob', not of group 'alice'");
    await expect(call("id:ns:note::m1")).rejects.toThrow("is a document of no group");
    await expect(call("id:ns:note:n=7:m1")).rejects.toThrow("is a document of number 7");
    await expect(call("id:ns:mail:g=alice:m1")).rejects.toThrow("is a document of type 'mail', not 'note'");
    // Of another namespace, as other clients put them, it is that document: what a search shows can be got.
    await call("id:mail:note:g=alice:m1");
    expect(lastUrl()?.split("?")[0]).toBe(`${PATH.replace("/ns/", "/mail/")}m1`);
    await expect(call("id:ns:note:g=alice:")).rejects.toThrow("may not be empty");
    const requests = server.asked.length;
    for (const id of [undefined, null, 5, 5n, {}, ""])
      await expect(call(id as string)).rejects.toMatchObject({ message: expect.stringMatching(/\bid of .*\btext\b/) });
    expect(server.asked).toHaveLength(requests);
  });

  test("explain", async () => {
    await alice.explain(note, WHOLE);
    await alice.explain(note, "m1");
    expect(server.asked.slice(-2).map(({ body }) => body)).toMatchObject([
      { "explain.id": WHOLE },
      { "explain.id": WHOLE },
    ]);
    await expect(alice.explain(note, "id:ns:note:g=bob:m1")).rejects.toThrow("group 'bob'");
  });

  test("operations of a feed on one document keep their order, however it is called", async () => {
    const order: string[] = [];
    const slow = fakeServer(async ({ method }) => {
      order.push(`${method} begins`);
      await new Promise((resolve) => setTimeout(resolve, 5));
      order.push(`${method} ends`);
      return [200, {}];
    });
    const operations: FeedOperation<{ readonly body: string }>[] = [
      { id: "m1", fields: { body: "b" } },
      { id: WHOLE, remove: true },
    ];
    await connect({ url: "http://localhost:8080", fetch: slow.fetch }).group("alice").feed(note, operations);
    expect(order).toEqual(["POST begins", "POST ends", "DELETE begins", "DELETE ends"]);
  });
});

test("an id that itself looks like a whole one is given, and shown, in its own whole one", async () => {
  const own = "id:other:thing::5";
  const whole = `id:ns:note:g=alice:${own}`;
  await alice.get(note, whole);
  expect(lastUrl()).toBe(PATH + encodeURIComponent(own));
  await expect(alice.get(note, own)).rejects.toThrow("is a document of type 'thing'");
  const strange = fakeServer(() => [
    200,
    { root: { fields: { totalCount: 1 }, children: [{ ...document, id: whole, relevance: 1 }] } },
  ]);
  const { hits } = await connect({ url: "http://x", fetch: strange.fetch }).group("alice").search(note);
  expect(hits[0]?.id).toBe(whole);
});

test("of a document of another namespace searches and retrieval show the whole id, which is got by it", async () => {
  const whole = "id:other:note:g=alice:m1";
  const mixed = fakeServer(() => [
    200,
    { root: { fields: { totalCount: 1 }, children: [{ ...document, id: whole, relevance: 1 }] } },
  ]);
  const group = connect({ url: "http://x", fetch: mixed.fetch }).group("alice");
  const { hits } = await group.search(note);
  const { passages } = await group.retrieve(note, "b", { near: false });
  expect([hits[0]?.id, passages[0]?.documentId]).toEqual([whole, whole]);
  await group.get(note, whole);
  expect(mixed.asked.at(-1)?.url).toBe("http://x/document/v1/other/note/group/alice/m1");
});

test.each(["id:", "id:a:b", "id:a:b:c:d", "ID:ns:note:g=bob:m1", "a:b:c:d:e"])(
  "%s is an id like any other",
  async (id) => {
    await alice.get(note, id);
    expect(lastUrl()).toBe(PATH + encodeURIComponent(id));
  },
);
