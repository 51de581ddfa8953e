import { describe, expect, test } from "vitest";
import { array, connect, embedding, type Group, schema, text, vector } from "../src/index.ts";
import { type FakeServer, fakeServer } from "./fake-server.ts";

const note = schema("note", {
  title: text(),
  body: text(),
  chunks: array(text()).optional(),
  vec: vector(2).optional(),
});

const BODY = "One here. Two there. Three nowhere.";
const CHUNKS = ["One here.", " Two there.", " Three nowhere."];

function answering(hits: readonly object[], stored?: object): { readonly group: Group; readonly server: FakeServer } {
  const server = fakeServer(({ method }) =>
    method === "GET"
      ? [stored === undefined ? 404 : 200, stored === undefined ? {} : { fields: stored }]
      : [200, { root: { id: "toplevel", relevance: 1, children: hits } }],
  );
  return { server, group: connect({ url: "http://x", fetch: server.fetch }).group("a") };
}

const hit = (fields: object): object => ({ id: "id:note:note:g=a:1", relevance: 0.5, fields });
const tensor = (cells: object): object => ({ type: "tensor<float>(chunk{})", cells });

describe("retrieve", () => {
  test("asks by words and by the vector of the question, and never puts the question into YQL", async () => {
    const { group, server } = answering([]);
    const question = 'deposit" or true';
    const asked = {
      near: { field: "vec", embedder: "minilm" },
      where: (it: typeof note.conditions) => it.title.contains("lease"),
      candidates: 7,
    } as const;
    const shown = "select title, body, chunks, matchfeatures, summaryfeatures from note where";
    await group.retrieve(note, question, asked);
    expect(server.asked.map(({ body }) => body)).toEqual([
      expect.objectContaining({
        yql: `${shown} (({grammar: "tokenize"}userInput(@text)) or ({targetHits: 100}nearestNeighbor(vec, vec))) and (title contains "lease")`,
        text: question,
        nearText: question,
        "input.query(vec)": "embed(minilm, @nearText)",
        hits: 7,
        offset: 0,
        "ranking.profile": "hybrid_vec",
        "presentation.bolding": false,
        "streaming.groupname": "a",
      }),
    ]);
    await group.retrieve(note, question, { ...asked, fusion: "reciprocalRank" });
    expect(server.asked.slice(1).map(({ body }) => body)).toEqual([
      expect.objectContaining({
        yql: `${shown} ({grammar: "tokenize"}userInput(@text)) and (title contains "lease")`,
        text: question,
        "ranking.profile": "default",
      }),
      expect.objectContaining({
        yql: `${shown} ({targetHits: 100}nearestNeighbor(vec, vec)) and (title contains "lease")`,
        nearText: question,
        "ranking.profile": "near_vec",
      }),
    ]);
  });

  test.each([
    [{}, ["hybrid_vec"]],
    [{ near: { field: "vec", vector: [1, 0], weight: 0.7 } }, ["default", "near_vec"]],
    [{ text: { profile: "near_vec" } }, ["near_vec", "near_vec"]],
    [{ elementScores: { chunks: "scores" } }, ["default", "near_vec"]],
    [{ text: { match: "all" } }, ["hybrid_vec"]],
    [{ text: false }, ["near_vec"]],
    [{ near: false }, ["default"]],
  ] as const)("with %o asks by these profiles", async (options, profiles) => {
    const { group, server } = answering([]);
    const near = { field: "vec", vector: [1, 0] } as const;
    await group.retrieve(note, "when", { near, ...options } as Parameters<typeof group.retrieve<typeof note>>[2]);
    const asked = server.asked.map(({ body }) => (body as Readonly<Record<string, unknown>>)["ranking.profile"]);
    expect(asked).toEqual(profiles);
  });

  test("finds the passages of chunks in the text they were cut from, with the ranking's scores", async () => {
    const summaryfeatures = { scores: tensor({ 0: 0.1, 1: 0.9, 2: 0.2 }) };
    const { group } = answering([hit({ title: "", body: BODY, chunks: CHUNKS, summaryfeatures })]);
    const { passages } = await group.retrieve(note, "unheard of", { elementScores: { chunks: "scores" } });
    expect(passages.map(({ field, element, start, end, text: found }) => [field, element, start, end, found])).toEqual([
      ["body", undefined, 10, 20, "Two there."],
      ["body", undefined, 21, 35, "Three nowhere."],
    ]);
  });

  test("knows which elements a ranking has selected", async () => {
    const cells = [
      { address: { chunk: "2" }, value: 0.3 },
      { address: { chunk: "7" }, value: 0.4 },
    ];
    const chunks = ["third of all", "eighth of all"];
    const { group } = answering([hit({ title: "", body: "", chunks, matchfeatures: { best: tensor(cells) } })]);
    const { passages } = await group.retrieve(note, "unheard of", { elementScores: { chunks: "best" } });
    expect(passages.map(({ field, element, text: found }) => [field, element, found])).toEqual([
      ["chunks", 7, "eighth of all"],
      ["chunks", 2, "third of all"],
    ]);
  });

  test("reads the stored text where hits show a teaser", async () => {
    const teased = schema("note", { body: text({ show: "teaser" }) });
    const { group, server } = answering([hit({ body: "…<hi>Two</hi> there…" })], { body: BODY });
    const { passages } = await group.retrieve(teased, "two");
    expect(passages[0]?.text).toBe(BODY);
    expect(server.asked[1]?.url).toBe("http://x/document/v1/note/note/group/a/1");
  });

  test("uses the vector that the server makes, if there is one", async () => {
    const made = schema("note", { body: text(), vec: embedding({ from: "body", model: "minilm" }) });
    const { group, server } = answering([]);
    await group.retrieve(made, "when");
    await group.retrieve(made, "when", { near: false });
    const inputs = server.asked.map(({ body }) => (body as Readonly<Record<string, unknown>>)["input.query(vec)"]);
    expect(inputs).toEqual(["embed(minilm, @nearText)", undefined]);
  });

  test.each([
    [{ near: { field: "vec", embedder: "a, @b" } }, '"a, @b" cannot be the name of an embedder'],
    [{ near: { field: "vek" } }, "has no field 'vek'; did you mean 'vec'?"],
    [{}, "neither words nor a vector are asked for"],
    [{ text: {}, tokens: Number.NaN }, "tokens is NaN: give a number that is not negative"],
  ])("%o is refused before anything is sent", async (options, message) => {
    const { group, server } = answering([]);
    const refused = group.retrieve(note, "x", { text: false, ...options } as never);
    await expect(refused).rejects.toThrow(message);
    expect(server.asked).toEqual([]);
  });
});
