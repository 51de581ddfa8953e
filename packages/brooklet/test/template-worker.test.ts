/** The Worker of `brooklet init`, over HTTP in workerd: what is asked wrongly is told, and nothing of anybody is told to somebody else. */
import { fileURLToPath } from "node:url";
import { Miniflare } from "miniflare";
import { afterAll, beforeAll, expect, test } from "vitest";
import { workerModules } from "../../../tools/worker.mjs";

const WORKER = fileURLToPath(new URL("../../create-brooklet/templates/worker/src/worker.ts", import.meta.url));
let workerd: Miniflare;
let url: URL;

beforeAll(async () => {
  workerd = new Miniflare({
    ...(await workerModules(WORKER)),
    durableObjects: { NOTES: { className: "Notes", useSQLite: true } },
  });
  url = await workerd.ready;
});

afterAll(() => workerd.dispose());

async function ask(path: string, init: RequestInit = {}, token = "alice-token"): Promise<[number, string]> {
  const headers = { ...(token && { authorization: `Bearer ${token}` }), ...init.headers };
  const response = await fetch(new URL(path, url), { ...init, headers });
  return [response.status, await response.text()];
}

const put = (id: string, body: string, token?: string): Promise<[number, string]> =>
  ask(`/notes/${id}`, { method: "PUT", body }, token);
const NOTE = JSON.stringify({ title: "Trip", body: "the train to the sea" });

function longNote(length: number): string {
  return JSON.stringify({ title: "long", body: "word ".repeat(length / 5) });
}

test("a note is written and found by who wrote it, and by nobody else", async () => {
  expect(await put("1", NOTE)).toEqual([200, '{"id":"1"}']);
  expect(JSON.parse((await ask("/search?q=train"))[1])).toMatchObject({ totalCount: 1, hits: [{ id: "1" }] });
  expect(JSON.parse((await ask("/search?q=train", {}, "bob-token"))[1])).toMatchObject({ totalCount: 0 });
});

test.each(["", "none", "toString", "constructor", "__proto__", "hasOwnProperty"])(
  "the token %j is nobody's",
  async (token) => {
    expect(await ask("/search?q=train", {}, token)).toEqual([401, '{"message":"Who are you?"}']);
    expect((await put("1", NOTE, token))[0]).toBe(401);
  },
);

test.each([
  ["no JSON", "{"],
  ["nothing", ""],
  ["null", "null"],
  ["a text", '"a note"'],
  ["a list", "[]"],
  ["a number for a title", '{"title":1,"body":"b"}'],
  ["a text for tags", '{"title":"t","body":"b","tags":"c"}'],
  ["no body", '{"title":"t"}'],
])("a note that is none is refused: %s", async (_, body) => {
  const [status, told] = await put("2", body);
  expect([status, JSON.parse(told)]).toEqual([400, { message: expect.stringMatching(/./) }]);
});

test.each<[string, number, string, RequestInit]>([
  ["an id that is too long", 400, `/notes/${"x".repeat(10_000)}`, { method: "PUT", body: NOTE }],
  ["an id that is not encoded as paths are", 404, "/notes/%E0%A4%A", { method: "PUT", body: NOTE }],
  ["a note that is longer than a value of an object", 413, "/notes/1", { method: "PUT", body: longNote(3_000_000) }],
  ["a search for more words than there may be", 400, `/search?q=${"word+".repeat(2_000)}`, {}],
  ["a method that is none of a note", 404, "/notes/1", { method: "DELETE" }],
  ["a method that is none of a search", 404, "/search", { method: "POST", body: NOTE }],
  [
    "a page elsewhere that asks whether it may ask",
    404,
    "/search",
    { method: "OPTIONS", headers: { origin: "https://else.example" } },
  ],
  ["a path that is none", 404, "/", {}],
])("%s is told to who asked: %i", async (_, status, path, init) => {
  const [told, body] = await ask(path, init);
  expect([told, JSON.parse(body)]).toEqual([status, { message: expect.stringMatching(/./) }]);
});

test.each(["", "%22%28%28*%29%29+--+%5C+AND+%5B", "%00%EF%BF%BE"])("a search for %j is answered", async (text) => {
  expect((await ask(`/search?q=${text}`))[0]).toBe(200);
});
