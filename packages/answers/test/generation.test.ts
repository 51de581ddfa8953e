import { describe, expect, test } from "vitest";
import {
  contextOf,
  type GenerationEvent,
  generationEvents,
  promptOf,
  renderEvent,
  renderGeneration,
} from "../src/index.ts";
import { chatServer, says } from "./chat-server.ts";

const RESULT = JSON.stringify({
  root: {
    id: "toplevel",
    children: [
      { id: "a", fields: { sddocname: "mail", subject: 'A "b"\nc', size: 0, tags: ["x", 1.5], map: { k: "v" } } },
      { id: "group:root:0", children: [] },
      { id: "group:root:1", continuation: { this: "" }, fields: { "count()": 2 } },
      { id: "b", fields: { subject: "\u0001 and 12" } },
      { id: "c" },
    ],
  },
}).replace('"size":0', '"size":12345678901234567890');

describe("the context of a prompt", () => {
  test("has every field of every hit, numbers as they are", () => {
    expect(contextOf(RESULT, undefined)).toBe(
      'document [1]:\nsddocname: mail\nsubject: A "b"\nc\nsize: 12345678901234567890\ntags: ["x",1.5]\nmap: {"k":"v"}\n\n' +
        "document [2]:\nsubject:  and 12\n\ndocument [3]:\n\n",
    );
    expect(contextOf(RESULT, new Set(["size"]))).toBe(
      "document [1]:\nsize: 12345678901234567890\n\ndocument [2]:\n\ndocument [3]:\n\n",
    );
    expect(contextOf('{"root":{"id":"toplevel"}}', undefined)).toBe("");
  });

  test("has texts of any length, whatever is escaped in them", () => {
    const text = "\n".repeat(9_000_000);
    const result = JSON.stringify({ root: { children: [{ fields: { text, size: 1 } }] } });
    expect(contextOf(result, undefined)).toBe(`document [1]:\ntext: ${text}\nsize: 1\n\n`);
  });

  test.each([
    ["Answer @query", "q", "C", "C\nAnswer q"],
    ["@query @query {context} {context}", "$&", "$1", "$& $& $1 $1"],
    ["@query", "q", undefined, "q"],
    ["{context}", "q", undefined, "{context}"],
    ["Say: {context}", "q", "has @query", "Say: has @query"],
  ])("%j with %j and %j is %j", (prompt, query, context, expected) => {
    expect(promptOf(prompt, query, context)).toBe(expected);
  });
});

describe("events", () => {
  test("of hits are rendered in a moment, whatever stands in their texts", () => {
    const hits = `{"a": "${" ".repeat(500_000)}"}`;
    expect(renderEvent({ type: "hits", hits })).toBe(`event: hits\ndata: ${hits}\n\n`);
  });

  test("are rendered one by one, and as one result", () => {
    const events: GenerationEvent[] = [
      { type: "prompt", prompt: "p\n" },
      { type: "hits", hits: '{\n  "root": {"a\\n": 1}\n}' },
      { type: "token", token: "The" },
      { type: "token", token: "" },
      { type: "error", code: 400, summary: "Error in LLM text generation", source: "openai", message: "no" },
    ];
    expect(events.map(renderEvent).join("")).toBe(
      'event: prompt\ndata: {"prompt":"p\\n"}\n\n' +
        'event: hits\ndata: {"root": {"a\\n": 1}}\n\n' +
        'event: token\ndata: {"token":"The"}\n\nevent: token\ndata: {"token":""}\n\n' +
        'event: error\ndata: {"code":400,"summary":"Error in LLM text generation","source":"openai","message":"no"}\n\n',
    );
    expect(renderGeneration(events.slice(2), true)).toBe(
      '{"root":{"id":"token_stream","relevance":1.0,"fields":{"totalCount":0},"children":[{"id":"event_stream","relevance":1.0,' +
        '"children":[{"id":"1","relevance":1.0,"fields":{"token":"The"}},{"id":"2","relevance":1.0},' +
        '{"id":"3","relevance":1.0,"fields":{"error":"Error in LLM text generation","source":"openai","code":400}}]}]}}',
    );
    expect(renderGeneration([], false)).toContain('"id":"completion"');
  });

  test("tell prompt, hits, tokens and times, in this order", async () => {
    const server = await chatServer(says("a", "b"));
    const model = { url: server.url, model: "m" };
    const events: GenerationEvent[] = [];
    const all = { model, source: "", prompt: "p", stream: true, includePrompt: true, includeStats: true, hits: "{}" };
    for await (const event of generationEvents(all)) events.push(event);
    expect(events.map(({ type }) => type)).toEqual(["prompt", "hits", "token", "token", "stats"]);
    expect(events.at(-1)).toEqual({
      type: "stats",
      stats: expect.stringMatching(
        /^Time to first token: \d+ ms, Generation time: \d+ ms, Generated tokens: 2 \(\d+\.\d\d tokens\/sec\)$/,
      ),
    });
    expect(server.asked[0]?.body.messages).toEqual([{ role: "user", content: "p" }]);
  });
});
