import { expect, test } from "vitest";
import { connect, int, schema, text } from "../src/index.ts";
import { AT_ONCE, type FakeServer, fakeServer } from "./fake-server.ts";

const note = schema("note", { text: text(), n: int().optional() });

const url = "http://localhost:8080";
const client = (server: FakeServer): ReturnType<typeof connect> =>
  connect({ url, fetch: server.fetch, retry: { ...AT_ONCE } });
const targets = ({ asked }: FakeServer): string[] => asked.map((one) => decodeURIComponent(one.url.slice(url.length)));

test("documents come page by page, typed, and no page before it is wanted", async () => {
  const server = fakeServer((_, count) => [
    200,
    {
      documents: [{ id: `id:note:note:g=al ice:x:${count}`, fields: { text: "t", ...(count === 2 ? { n: 5 } : {}) } }],
      documentCount: 1,
      ...(count === 1 ? { continuation: "ab_-" } : {}),
    },
  ]);
  const visited = client(server).group("al ice").visit(note, { where: "note.n > 1", pageSize: 7 });
  expect(await visited.next()).toEqual({ done: false, value: { id: "x:1", document: { text: "t" } } });
  expect(server.asked.length).toBe(1);
  const { value } = await visited.next();
  expect(value).toEqual({ id: "x:2", document: { text: "t", n: 5 } });
  // The type of a field is the schema's.
  const n: number | undefined = value === undefined ? undefined : value.document.n;
  expect([n, (await visited.next()).done]).toEqual([5, true]);
  const path = "/document/v1/note/note/group/al ice?wantedDocumentCount=7&selection=note.n+>+1";
  expect(targets(server)).toEqual([path, `${path}&continuation=ab_-`]);
});

test("what was aborted gives nothing more of a page that is there", async () => {
  const documents = ["1", "2"].map((id) => ({ id: `id:note:note:g=a:${id}`, fields: { text: "t" } }));
  const children = documents.map(({ id, fields }) => ({ id, relevance: 1, fields }));
  const server = fakeServer(() => [
    200,
    { documents, groups: ["a", "b"], root: { fields: { totalCount: 2 }, children } },
  ]);
  const group = client(server).group("a");
  const walks = [
    (signal: AbortSignal) => group.visit(note, { signal }),
    (signal: AbortSignal) => group.cursor(note, { signal, orderBy: "n" }),
    (signal: AbortSignal) => client(server).groups({ signal }),
  ];
  for (const walk of walks) {
    const aborting = new AbortController();
    const walked = walk(aborting.signal);
    expect((await walked.next()).done).toBe(false);
    aborting.abort(new Error("enough"));
    await expect(walked.next()).rejects.toThrow("enough");
  }
});

test("only the fields that are wanted are asked for and expected", async () => {
  const server = fakeServer(() => [200, { documents: [{ id: "id:note:note:g=a:1", fields: { n: 1 } }] }]);
  const found = [];
  for await (const { document } of client(server)
    .group("a")
    .visit(note, { fields: ["n"] }))
    found.push(document.n);
  expect(found).toEqual([1]);
  expect(targets(server)).toEqual(["/document/v1/note/note/group/a?wantedDocumentCount=500&fieldSet=note:n"]);
});

test("a document of another group is not taken for one of this", async () => {
  const server = fakeServer(() => [200, { documents: [{ id: "id:note:note:g=b:1", fields: { text: "" } }] }]);
  await expect(client(server).group("a").visit(note).next()).rejects.toMatchObject({ code: "UNEXPECTED_ANSWER" });
});

test("operations on all that is selected go on until nothing is left", async () => {
  const server = fakeServer((_, count) => [
    200,
    { documentCount: count, ...(count === 2 ? {} : { continuation: "c" }) },
  ]);
  const group = client(server).group("a");
  expect(await group.removeWhere(note, (document) => document.n.is(1))).toEqual({ selected: 3 });
  const [first] = targets(server);
  expect(first).toBe("/document/v1/note/note/group/a?cluster=documents&selection=note.n+==+1");
  const other = fakeServer(() => [200, { documentCount: 4 }]);
  expect(await client(other).group("a").updateWhere(note, "true", { n: 3 }, { cluster: "c" })).toEqual({ selected: 4 });
  expect(other.asked).toMatchObject([{ method: "PUT", body: { fields: { n: { assign: 3 } } } }]);
  await expect(client(other).group("a").updateWhere(note, "true", { n: 1.5 })).rejects.toMatchObject({
    code: "INVALID_ARGUMENT",
  });
});

test("an operation on all that is selected that fails after a part of it was done may have been done", async () => {
  const refusal = { code: "STORE_BUSY", message: "The storage is in use", outcome: "not_applied" };
  const server = (answers: number): ReturnType<typeof fakeServer> =>
    fakeServer((_, count) => (count < answers ? [200, { documentCount: 3, continuation: "c" }] : [507, refusal]));
  const remove = (from: ReturnType<typeof fakeServer>): Promise<unknown> =>
    client(from).group("a").removeWhere(note, "true");
  const part = { outcome: "unknown", code: "STORE_BUSY", message: expect.stringContaining("3 documents") };
  await expect(remove(server(2))).rejects.toMatchObject(part);
  await expect(remove(server(1))).rejects.toMatchObject({ outcome: "not_applied", message: refusal.message });
});
