/** Texts that hits show marked: what a document has itself is text, whatever it looks like. */
import { expect, test } from "vitest";
import { array, connect, schema, text } from "../src/index.ts";
import { fakeServer } from "./fake-server.ts";

const page = schema("page", {
  title: text({ show: "bold" }),
  body: text({ show: "teaser" }),
  notes: array(text({ show: "bold" })).optional(),
  plain: text(),
});
const without = schema("without", { title: text() });

const FIELDS = {
  title: "<script>alert('\u0002fox\u0003')</script>",
  body: '\u001e😀 a <hi>\u0002fox\u0003</hi> & "\u0002den\u0003"\u001e',
  notes: ["\u0002fox\u0003 one", "none"],
  plain: "<b>as it is</b>",
};

function server(fields: object = FIELDS) {
  const answering = fakeServer(() => [
    200,
    { root: { id: "toplevel", children: [{ id: "id:page:page:g=alice:1", relevance: 1, fields }] } },
  ]);
  const alice = connect({ url: "http://localhost:8080", fetch: answering.fetch }).group("alice");
  return { alice, asked: answering.asked };
}

test("as HTML everything is escaped but the marks", async () => {
  const { alice, asked } = server();
  const { hits } = await alice.search(page, { text: "fox" });
  expect(asked[0]?.body).toMatchObject({ "brooklet.controlMarks": true });
  expect(hits[0]?.fields).toEqual({
    title: "&lt;script&gt;alert(&#39;<mark>fox</mark>&#39;)&lt;/script&gt;",
    body: "…😀 a &lt;hi&gt;<mark>fox</mark>&lt;/hi&gt; &amp; &quot;<mark>den</mark>&quot;…",
    notes: ["<mark>fox</mark> one", "none"],
    plain: "<b>as it is</b>",
  });
  expect(hits[0]).not.toHaveProperty("highlights");
});

test("as ranges of plain text, in UTF-16 units", async () => {
  const { alice } = server();
  const { hits } = await alice.search(page, { text: "fox", highlights: "ranges" });
  const { fields, highlights } = hits[0] ?? { fields: undefined, highlights: {} };
  expect(fields).toEqual({
    title: "<script>alert('fox')</script>",
    body: '…😀 a <hi>fox</hi> & "den"…',
    notes: ["fox one", "none"],
    plain: "<b>as it is</b>",
  });
  expect(highlights).toEqual({
    title: [{ start: 15, end: 18 }],
    body: [
      { start: 10, end: 13 },
      { start: 22, end: 25 },
    ],
    notes: [[{ start: 0, end: 3 }], []],
  });
  const shown = highlights.body as readonly { start: number; end: number }[];
  expect(shown.map(({ start, end }) => fields?.body.slice(start, end))).toEqual(["fox", "den"]);
});

test("of a server that marks with elements, they are text too", async () => {
  const { alice } = server({ ...FIELDS, title: "<hi>fox</hi>" });
  const { hits } = await alice.searchYql(page, "select * from page where true");
  expect(hits[0]?.fields.title).toBe("&lt;hi&gt;fox&lt;/hi&gt;");
});

test("are not asked for where nothing is shown marked; a form that there is not is refused", async () => {
  const { alice, asked } = server({ title: "<hi>" });
  const { hits } = await alice.search(without, { text: "fox", highlights: "ranges" });
  expect(asked[0]?.body).not.toHaveProperty("brooklet.controlMarks");
  expect(hits[0]).toMatchObject({ fields: { title: "<hi>" }, highlights: {} });
  await expect(alice.search(page, { highlights: "bold" as "html" })).rejects.toMatchObject({
    code: "INVALID_ARGUMENT",
    message: 'highlights is "bold": give html or ranges',
  });
});
