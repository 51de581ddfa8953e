/**
 * Search chains with a language model, as services.xml declares them: prompts, events, and failures as the interface has
 * them; and the retrieval of the gateway. Over the real core, with a stand-in for the model on a port of this machine.
 */
import { request as httpRequest } from "node:http";
import process from "node:process";
import { rerankEndpoint } from "@brooklet/client";
import { Writer } from "@brooklet/core";
import { createGateway, type Gateway, type GatewayOptions } from "@brooklet/gateway";
import { startServer } from "@brooklet/gateway/node";
import { HashEmbedder } from "@brooklet/models";
import type { Cluster } from "@brooklet/partition";
import { describe, expect, onTestFinished, test } from "vitest";
import { type ChatServer, chatServer, chunk, END, says } from "../../answers/test/chat-server.ts";
import { secret } from "../src/node/secret.ts";

/** What was built: threads are started from there. */
const built = new URL("../dist/node/threads.js", import.meta.url).href;
const { openCluster } = (await import(built)) as typeof import("../src/node/threads.ts");

const SCHEMA = `schema mail {
  document mail {
    field subject type string { indexing: summary | index }
    field content type string { indexing: summary | index }
    field size type long { indexing: summary | attribute }
    field memo type string { indexing: summary | index
      summary: dynamic
    }
  }
  field vec type tensor<float>(x[32]) {
    indexing: input content | embed e | attribute
    attribute { distance-metric: prenormalized-angular }
  }
  fieldset default { fields: subject, content }
  rank-profile near { inputs { query(vec) tensor<float>(x[32]) } first-phase { expression: closeness(field, vec) } }
}`;

const services = (url: string, searcher: string): string => `<services version="1.0">
  <container id="default" version="1.0">
    <component id="openai" class="ai.vespa.llm.clients.OpenAI">
      <config name="ai.vespa.llm.clients.llm-client">
        <apiKeySecretRef>brookletTestKey</apiKeySecretRef><endpoint>${url}</endpoint><model>small</model>
        <temperature>0.2</temperature>
      </config>
    </component>
    <search>
      <chain id="rag" inherits="vespa"><searcher id="ai.vespa.search.llm.RAGSearcher">
        <config name="ai.vespa.search.llm.llm-searcher"><providerId>openai</providerId>${searcher}</config></searcher></chain>
      <chain id="llm" inherits="vespa"><searcher id="ai.vespa.search.llm.LLMSearcher"/></chain>
      <chain id="plain" inherits="vespa"/>
    </search>
  </container>
  <content id="mail" version="1.0"><redundancy>1</redundancy>
    <documents><document type="mail" mode="streaming"/></documents>
    <nodes><node hostalias="n" distribution-key="0"/></nodes></content></services>`;

const MAILS = [
  { subject: "Invoice", content: "It is due on Friday.", size: "9007199254740993" },
  { subject: "Invoice again", content: "We remind you of it.", size: "7" },
];

interface Setting {
  readonly gateway: Gateway;
  readonly cluster: Cluster;
  readonly server: ChatServer;
}

async function setting(
  answer: Parameters<typeof chatServer>[0],
  searcher = "",
  options: Partial<Pick<GatewayOptions, "reranker" | "onAnswered" | "limits">> = {},
): Promise<Setting> {
  const server = await chatServer(answer);
  const cluster = openCluster({ models: { embedders: [new HashEmbedder("e")] } });
  onTestFinished(() => cluster.close());
  const files = ["services.xml", services(server.url, searcher), "schemas/mail.sd", SCHEMA];
  await cluster.deploy(files.reduce((writer, text) => writer.text(text), new Writer().varint(2)).finish());
  const gateway = createGateway({ cluster, secret, ...options });
  for (const [group, mails] of Object.entries({
    alice: MAILS,
    mallory: [{ subject: "Invoice", content: "SECRET", size: "1" }],
  })) {
    for (const [number, mail] of mails.entries()) {
      const target = `http://localhost/document/v1/mail/mail/group/${group}/${number}`;
      const body = JSON.stringify({ fields: mail }).replace(/"size":"(\d+)"/, '"size":$1');
      expect((await gateway.fetch(target, { method: "POST", body })).status).toBe(200);
    }
  }
  return { gateway, cluster, server };
}

const QUERY = {
  yql: "select * from mail where userQuery()",
  query: "invoice",
  "streaming.groupname": "alice",
  searchChain: "rag",
  format: "sse",
  timeout: "60s",
};

async function ask(
  { gateway }: Setting,
  parameters: Readonly<Record<string, string>>,
  headers: Readonly<Record<string, string>> = {},
): Promise<{ readonly status: number; readonly text: string; readonly type: string | null }> {
  const response = await gateway.fetch(`http://localhost/search/?${new URLSearchParams(parameters)}`, { headers });
  return { status: response.status, text: await response.text(), type: response.headers.get("content-type") };
}

const CONTEXT = (number: number, subject: string, content: string, size: string): string =>
  `document [${number}]:\nsddocname: mail\ndocumentid: id:mail:mail:g=alice:${number - 1}\nsubject: ${subject}\ncontent: ${content}\nsize: ${size}\n\n`;

describe("a chain with hits and a model", () => {
  test("streams what the model says, which is given the hits", async () => {
    const it = await setting(says("On", " Friday", ""));
    expect(await ask(it, QUERY)).toEqual({
      status: 200,
      type: "text/event-stream; charset=utf-8",
      text: 'event: token\ndata: {"token":"On"}\n\nevent: token\ndata: {"token":" Friday"}\n\nevent: token\ndata: {"token":""}\n\nevent: end\n',
    });
    const context = CONTEXT(1, "Invoice", "It is due on Friday.", "9007199254740993");
    const another = CONTEXT(2, "Invoice again", "We remind you of it.", "7");
    expect(it.server.asked.map(({ body, authorization }) => [body, authorization])).toEqual([
      [
        {
          model: "small",
          messages: [{ role: "user", content: `${context}${another}\ninvoice` }],
          temperature: 0.2,
          stream: true,
        },
        "Bearer none",
      ],
    ]);
  });

  test("has its parameters, in the URL and in a body, plain and nested", async () => {
    const it = await setting(says("x"), "<prompt>configured @query</prompt>");
    const prompts = async (parameters: Readonly<Record<string, unknown>>): Promise<string> => {
      const body = JSON.stringify({ ...QUERY, ...parameters });
      const init = { method: "POST", body, headers: { "content-type": "application/json" } };
      await (await it.gateway.fetch("http://localhost/search/", init)).text();
      return it.server.asked.at(-1)?.body.messages[0]?.content ?? "";
    };
    expect(await prompts({ "llm.context": "skip" })).toBe("configured invoice");
    expect(await prompts({ prompt: "plain", llm: { context: "skip" } })).toBe("plain");
    expect(await prompts({ prompt: "plain", llm: { context: "skip", prompt: "own @query" } })).toBe("own invoice");
    expect(await prompts({ prompt: "[{context}]", hits: 1, "llm.fields": "content, size" })).toBe(
      "[document [1]:\ncontent: It is due on Friday.\nsize: 9007199254740993\n\n]",
    );
    const own = {
      "llm.model": "large",
      "llm.topP": 0.5,
      "llm.maxTokens": "9",
      "llm.npredict": 1,
      "llm.temperature": 1,
    };
    await prompts({ ...own, "llm.json_schema": '{"type":"object"}', "llm.seed": 4, "llm.reasoningEffort": "low" });
    expect(it.server.asked.at(-1)?.body).toMatchObject({
      model: "large",
      top_p: 0.5,
      max_completion_tokens: 9,
      n: 1,
      temperature: 1,
      seed: 4,
      reasoning_effort: "low",
      response_format: { type: "json_schema", json_schema: { name: "structured-output", schema: { type: "object" } } },
    });
  });

  test("tells prompt, hits and times if it is asked to", async () => {
    const it = await setting(says("x"));
    const { text } = await ask(it, { ...QUERY, "llm.includeHits": "true", "trace.level": "1", "llm.fields": "size" });
    expect(text.match(/^event: .*$/gm)).toEqual([
      "event: prompt",
      "event: hits",
      "event: token",
      "event: stats",
      "event: end",
    ]);
    const hits = /event: hits\ndata: (.*)\n/.exec(text)?.[1] ?? "";
    expect(JSON.parse(hits).root.children).toHaveLength(2);
    expect(hits).toContain("9007199254740993");
    expect(text).toContain('data: {"prompt":"document [1]:\\nsize: 9007199254740993');
  });

  test("answers as JSON, and with one completion", async () => {
    const it = await setting(says("On", " Friday"));
    const children = (json: string) => JSON.parse(json).root.children[0].children;
    const tokens = await ask(it, { ...QUERY, format: "json" });
    expect(tokens.type).toContain("application/json");
    expect(children(tokens.text)).toEqual([
      { id: "1", relevance: 1, fields: { token: "On" } },
      { id: "2", relevance: 1, fields: { token: " Friday" } },
    ]);
    const whole = await ask(it, { ...QUERY, format: "json", "llm.stream": "false" });
    expect(whole.text).toContain('{"root":{"id":"completion","relevance":1.0,"fields":{"totalCount":0},');
    expect(children(whole.text)).toEqual([{ id: "1", relevance: 1, fields: { completion: "On Friday" } }]);
    expect(it.server.asked.at(-1)?.body).not.toHaveProperty("stream");
    const streamed = await ask(it, { ...QUERY, "llm.stream": "false" });
    expect(streamed.text).toBe('event: completion\ndata: {"completion":"On Friday"}\n\nevent: end\n');
  });

  test("has the key of a header, or of the environment, and tells nobody", async () => {
    const it = await setting((_, response) => void response.writeHead(401).end("wrong key: topsecret"));
    process.env["VESPA_SECRET_BROOKLET_TEST_KEY"] = "topsecret";
    onTestFinished(() => {
      delete process.env["VESPA_SECRET_BROOKLET_TEST_KEY"];
    });
    const answers = [
      await ask(it, { ...QUERY, "trace.level": "9" }),
      await ask(it, QUERY, { "X-LLM-API-KEY": "topsecret of the header" }),
      await ask(it, QUERY, { "llm.X-LLM-API-KEY": "topsecret of llm", "X-LLM-API-KEY": "other" }),
    ];
    expect(it.server.asked.map(({ authorization }) => authorization)).toEqual([
      "Bearer topsecret",
      "Bearer topsecret of the header",
      "Bearer topsecret of llm",
    ]);
    for (const { status, text } of answers) {
      expect(status).toBe(200);
      expect(text).toMatch(
        /event: error\ndata: \{"code":400,"summary":"Error in LLM text generation","source":"openai","message":"[^"]*401"\}\n\nevent: end\n$/,
      );
      expect(text).not.toContain("topsecret");
    }
  });

  test("has every parameter of the model, under the prefix that is configured", async () => {
    const it = await setting(says("x"), "<propertyPrefix>my.model</propertyPrefix><stream>false</stream>");
    const own = { topp: "0.25", frequencypenalty: "-1.5", presencepenalty: "2", jsonSchema: '{"type":"array"}' };
    const named = Object.fromEntries(Object.entries(own).map(([name, value]) => [`my.model.${name}`, value]));
    const { text } = await ask(it, { ...QUERY, ...named, "llm.model": "nobody's", "my.model.includePrompt": "true" });
    expect(text).toMatch(/^event: prompt\ndata: .*\n\nevent: completion\ndata: \{"completion":"x"\}\n\nevent: end\n$/);
    expect(it.server.asked[0]?.body).toEqual({
      model: "small",
      messages: [{ role: "user", content: expect.stringContaining("document [2]:") }],
      temperature: 0.2,
      top_p: 0.25,
      frequency_penalty: -1.5,
      presence_penalty: 2,
      response_format: { type: "json_schema", json_schema: { name: "structured-output", schema: { type: "array" } } },
    });
    await ask(it, QUERY, { "my.model.X-LLM-API-KEY": "of the prefix", "llm.X-LLM-API-KEY": "of another" });
    expect(it.server.asked[1]?.authorization).toBe("Bearer of the prefix");
  });

  test("asks the model without a context where the search fails here, and tells the failure among the hits", async () => {
    const it = await setting(says("I cannot tell."));
    const failed = { root: { errors: [{ code: 12, summary: "Timed out", message: "late" }] } };
    const body = new TextEncoder().encode(JSON.stringify(failed));
    const query: Cluster["query"] = (request) => {
      const opened = it.cluster.query(request);
      return {
        scope: opened.scope,
        parameter: (name) => opened.parameter(name),
        search: async () => ({ status: 504, contentType: "application/json", body, bytesRead: 0, bytesScanned: 0 }),
        [Symbol.dispose]: () => opened[Symbol.dispose](),
      };
    };
    const cluster = new Proxy(it.cluster, {
      get: (of, name) => {
        if (name === "query") return query;
        const member: unknown = Reflect.get(of, name, of);
        return typeof member === "function" ? member.bind(of) : member;
      },
    });
    const gateway = createGateway({ cluster });
    const { status, text } = await ask({ ...it, gateway }, { ...QUERY, "llm.includeHits": "true" });
    expect(status).toBe(200);
    const hits = `event: hits\ndata: ${JSON.stringify({ ...failed, outcome: "not_applied", code: "TIMED_OUT" })}\n\n`;
    expect(text).toBe(`${hits}event: token\ndata: {"token":"I cannot tell."}\n\nevent: end\n`);
    expect(it.server.asked[0]?.body.messages[0]?.content).toBe("\ninvoice");
  });

  test("tells a failure of the model among the events of a JSON answer", async () => {
    const it = await setting((_, response) => void response.writeHead(500).end());
    const { status, text } = await ask(it, { ...QUERY, format: "json" });
    expect(status).toBe(200);
    expect(JSON.parse(text).root).toEqual({
      id: "token_stream",
      relevance: 1,
      fields: { totalCount: 0 },
      children: [
        {
          id: "event_stream",
          relevance: 1,
          children: [
            { id: "1", relevance: 1, fields: { error: "Error in LLM text generation", source: "openai", code: 400 } },
          ],
        },
      ],
    });
  });

  test("keeps what was said before the model broke off", async () => {
    const it = await setting((_, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write(chunk("On"), () => response.destroy());
    });
    const { text } = await ask(it, QUERY);
    expect(text).toMatch(
      /^event: token\ndata: \{"token":"On"\}\n\nevent: error\ndata: \{"code":400,.*\}\n\nevent: end\n$/,
    );
  });

  test.each([
    [{ yql: "select * from nosuch where true" }, 400, 4],
    [{ yql: "selct" }, 400, 4],
    [{ "llm.temperature": "warm" }, 400, 4],
    [{ "llm.stream": "perhaps" }, 400, 4],
    [{ "llm.json_schema": "{" }, 500, 5],
    [{ searchChain: "nosuch" }, 400, undefined],
    [{ query: "", yql: "select * from mail where true" }, 400, 3],
  ])("%o is refused before the model is asked", async (more, status, code) => {
    const it = await setting(says("never"));
    const stream = await ask(it, { ...QUERY, ...more });
    expect(stream.status).toBe(status);
    if (code !== undefined)
      expect(stream.text).toMatch(new RegExp(`^event: error\ndata: \\{"code":${code},.*\\}\n\nevent: end\n$`));
    const json = await ask(it, { ...QUERY, ...more, format: "json" });
    expect(json.status).toBe(status);
    expect(JSON.parse(json.text).root.errors).toHaveLength(1);
    expect(it.server.asked).toEqual([]);
  });

  test("of one completion that fails is a failure", async () => {
    const it = await setting((_, response) => void response.writeHead(400).end("no"));
    const failed = {
      status: 500,
      text: expect.stringContaining('{"code":5,"summary":"Unspecified error","message":"Failed: '),
    };
    expect(await ask(it, { ...QUERY, "llm.stream": "false", format: "json" })).toMatchObject(failed);
    expect(await ask(it, { ...QUERY, "llm.stream": "false" })).toMatchObject(failed);
  });

  test.each<[string, Parameters<typeof chatServer>[0], string]>([
    ["answers nonsense", (_, response) => void response.end("<html>"), "UNAVAILABLE"],
    ["answers nothing", (_, response) => void response.end(), "UNAVAILABLE"],
    ["is busy", (_, response) => void response.writeHead(429, { "retry-after": "60" }).end(), "OVERLOADED"],
    ["says nothing within the time of the query", () => undefined, "TIMED_OUT"],
  ])("of a model that %s is told as what it is, with Vespa's status", async (_, answer, code) => {
    const it = await setting(answer);
    const one = { ...QUERY, "llm.stream": "false", format: "json", timeout: "400ms" };
    const { status, text } = await ask(it, one);
    expect([status, JSON.parse(text)]).toEqual([
      500,
      expect.objectContaining({
        code,
        outcome: "not_applied",
        root: expect.objectContaining({ errors: [expect.objectContaining({ code: 5, name: code })] }),
      }),
    ]);
    // Of a stream it is an event.
    const { text: events } = await ask(it, { ...QUERY, timeout: "400ms" });
    expect(events).toMatch(
      /^event: error\ndata: \{"code":400,"summary":"Error in LLM text generation",.*\}\n\nevent: end\n$/,
    );
    await expect.poll(() => it.server.open.size).toBe(0);
  });

  test("of a JSON schema that is none is the caller's", async () => {
    const failed: unknown[] = [];
    const it = await setting(says("never"), "", { onAnswered: ({ failure }) => failed.push(failure) });
    const { text } = await ask(it, { ...QUERY, "llm.json_schema": "{", format: "json" });
    expect(JSON.parse(text)).toMatchObject({ code: "INVALID_QUERY_PARAMETER" });
    expect(failed.at(-1)).toBe("caller");
  });

  test("asks no other group's documents, whatever it is asked", async () => {
    const it = await setting(says("x"));
    await ask(it, { ...QUERY, query: "invoice of mallory SECRET", prompt: "@query id:mail:mail:g=mallory:0" });
    expect(it.server.asked[0]?.body.messages[0]?.content).not.toContain("content: SECRET");
  });
});

test("a chain with a model alone runs no search and sends the prompt as it is, one without a model nothing else", async () => {
  const it = await setting(says("Hello"));
  const { text } = await ask(it, { searchChain: "llm", prompt: "Hi @query {context}", query: "you", format: "sse" });
  expect(text).toBe('event: token\ndata: {"token":"Hello"}\n\nevent: end\n');
  expect(it.server.asked[0]?.body.messages[0]?.content).toBe("Hi @query {context}");
  const plain = await ask(it, { ...QUERY, searchChain: "plain", format: "json" });
  expect(JSON.parse(plain.text).root.fields.totalCount).toBe(2);
  expect(it.server.asked).toHaveLength(1);
});

describe("many generations", () => {
  test("200 at a time are answered; more than are allowed are refused early", async () => {
    let goOn = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 100));
    const it = await setting(async (_, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write(chunk("On"));
      await goOn();
      response.end(chunk(" Friday") + END);
    });
    const limits = { searchesOfPartition: { running: 8, queued: 256, waitMs: 30_000 } };
    const gateway = createGateway({ cluster: it.cluster, limits });
    const answers = await Promise.all(Array.from({ length: 200 }, () => ask({ ...it, gateway }, QUERY)));
    expect(answers.every(({ status, text }) => status === 200 && text.endsWith('" Friday"}\n\nevent: end\n'))).toBe(
      true,
    );
    const few = createGateway({ cluster: it.cluster, limits: { generations: { running: 2, queued: 0, waitMs: 10 } } });
    // Those that run end when the others were refused.
    let end = (): void => undefined;
    const refusals = new Promise<void>((resolve) => {
      end = resolve;
    });
    goOn = () => refusals;
    const asked = Array.from({ length: 6 }, () => ask({ ...it, gateway: few }, QUERY));
    let answered = 0;
    for (const one of asked) void one.then(() => (answered += 1));
    await expect.poll(() => answered).toBe(4);
    end();
    const some = await Promise.all(asked);
    expect(some.filter(({ status }) => status === 200)).toHaveLength(2);
    const refused = some.filter(({ status }) => status === 429 || status === 503);
    expect(refused).toHaveLength(4);
    expect(refused.every(({ text }) => /^event: error\ndata: .*\n\nevent: end\n$/.test(text))).toBe(true);
    expect((await ask({ ...it, gateway: few }, QUERY)).status).toBe(200);
    await expect.poll(() => it.server.open.size).toBe(0);
  });

  test("a client that goes away frees the model, whether tokens came or not", async () => {
    const it = await setting((asked, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      if (asked.body.messages[0]?.content.endsWith("talk")) response.write(chunk("On"));
      else response.flushHeaders();
    });
    const server = await startServer(it.cluster, { port: 0 });
    onTestFinished(() => server.close(0));
    for (const [prompt, format] of [
      ["talk", "sse"],
      ["silence", "sse"],
      ["silence", "json"],
    ] as const) {
      const path = `/search/?${new URLSearchParams({ ...QUERY, prompt, format })}`;
      const request = httpRequest({ host: "127.0.0.1", port: server.port, path }).on("error", () => {});
      request.end();
      await expect.poll(() => it.server.open.size).toBe(1);
      request.destroy();
      await expect.poll(() => it.server.open.size).toBe(0);
    }
  });
});

interface RetrievalJson {
  readonly passages: readonly {
    readonly documentId: string;
    readonly field: string;
    readonly start: number;
    readonly end: number;
    readonly text: string;
    readonly score: number;
  }[];
  readonly tokens: number;
  readonly root: { readonly errors: readonly [{ readonly message: string }] };
}

describe("POST /brooklet/v1/retrieve", () => {
  const post = async (
    { gateway }: Setting,
    body: object,
  ): Promise<{ readonly status: number; readonly json: RetrievalJson }> => {
    const response = await gateway.fetch("http://localhost/brooklet/v1/retrieve", {
      method: "POST",
      body: JSON.stringify(Array.isArray(body) ? body : { timeoutMs: 20_000, ...body }),
    });
    return { status: response.status, json: (await response.json()) as RetrievalJson };
  };

  test("gives the passages of one group, by words and by vectors", async () => {
    const it = await setting(says("never"));
    const asked = {
      group: "alice",
      schema: "mail",
      question: "when is it due",
      near: { field: "vec", profile: "near" },
    };
    const { status, json } = await post(it, { ...asked, tokens: 60, filter: 'subject contains "invoice"' });
    expect(status).toBe(200);
    expect(json.passages[0]).toMatchObject({
      documentId: "id:mail:mail:g=alice:0",
      field: "content",
      start: 0,
      end: 20,
    });
    expect(json.passages.map(({ documentId }) => documentId).join()).not.toContain("mallory");
    expect(json.tokens).toBeLessThanOrEqual(60);
    expect((await post(it, { ...asked, tokens: 60, filter: 'subject contains "invoice"' })).json).toEqual(json);
  });

  test("gives texts as they are stored where hits show a teaser, with ranges in them", async () => {
    const it = await setting(says("never"));
    const filler = Array.from({ length: 60 }, (_, index) => `Sentence number ${index} says nothing.`).join(" ");
    const memo = `${filler} The zebra is due tomorrow. ${filler}`;
    const target = "http://localhost/document/v1/mail/mail/group/alice/memo";
    const body = JSON.stringify({ fields: { subject: "A zebra", content: "", memo } });
    expect((await it.gateway.fetch(target, { method: "POST", body })).status).toBe(200);
    const query = { ...QUERY, query: "zebra", searchChain: "plain", format: "json", "model.defaultIndex": "memo" };
    expect((await ask(it, query)).text).toContain("<sep />");
    const asked = { group: "alice", schema: "mail", question: "when is the zebra due", from: ["memo"] };
    const { json } = await post(it, { ...asked, text: { in: "memo" }, passages: 1 });
    const [passage] = json.passages;
    expect(passage).toMatchObject({ documentId: "id:mail:mail:g=alice:memo", field: "memo" });
    expect(passage?.text).toContain("The zebra is due tomorrow.");
    expect(passage?.text).toBe(memo.slice(passage?.start, passage?.end));
  });

  test("has its passages ordered by the server's reranker, where it is asked for", async () => {
    const seen: unknown[] = [];
    const by = (scores: (text: string) => number) => ({
      reranker: (question: string, texts: readonly string[]) => {
        seen.push(question, texts.length);
        return texts.map(scores);
      },
    });
    const asked = { group: "alice", schema: "mail", question: "invoice due", from: ["content"] };
    const it = await setting(
      says("never"),
      "",
      by((text) => (text.includes("remind") ? 5 : -1)),
    );
    const first = ({ json }: { readonly json: RetrievalJson }) =>
      json.passages.map(({ documentId }) => documentId.at(-1));
    expect(first(await post(it, asked))).toEqual(["0", "1"]);
    expect(seen).toEqual([]);
    const reranked = await post(it, { ...asked, rerank: true });
    expect(first(reranked)).toEqual(["1", "0"]);
    expect(reranked.json.passages[0]?.score).toBe(5);
    expect(seen).toEqual(["invoice due", 2]);
    expect((await post(it, { ...asked, rerank: true, rerankCount: 0 })).status).toBe(400);
    // One that never says anything, and does not look at its signal, keeps nobody's place.
    const silent = await setting(says("never"), "", {
      reranker: () => new Promise(() => undefined),
      limits: { searchTimeoutMs: 300 },
    });
    const late = await post(silent, { ...asked, rerank: true });
    expect(late.status).toBe(504);
    expect(late.json.root?.errors?.[0]?.message).toBe("The reranker said nothing within 300 ms (limit L-time)");
    const asking = await post(silent, { ...asked, rerank: true, timeoutMs: 40 });
    expect([asking.status, asking.json.root?.errors?.[0]?.message]).toEqual([
      504,
      "The reranker said nothing within 40 ms",
    ]);
    const failing = await setting(says("never"), "", { reranker: rerankEndpoint({ url: "http://127.0.0.1:1/" }) });
    const failed = await post(failing, { ...asked, rerank: true });
    expect([failed.status, failed.json.root.errors[0].message]).toEqual([
      503,
      "The reranker cannot be reached, or its answer broke off",
    ]);
  });

  test.each([
    [{ group: "a", question: "x", schema: "mail", rerank: true }, 400, "This server has no reranker"],
    [
      { group: "a", question: "x", schema: "mail", rerank: "http://evil/" },
      400,
      'rerank: expected true or false, got "http://evil/"',
    ],
    [{ question: "x", schema: "mail" }, 400, "group: expected the name of a group, got nothing"],
    [{ group: "a", question: "x", schema: "nosuch" }, 400, "There is no schema 'nosuch'"],
    [{ group: "a", question: "x", schema: "mail", tokens: -1 }, 400, "tokens: expected a number from 0, got -1"],
    [{ group: "a", question: "x", schema: "mail", filter: "true) or (" }, 400, ""],
    [
      { group: "a", question: "x", schema: "mail", from: ["subject from mail where true or"] },
      400,
      "from[0]: expected the name of",
    ],
    [
      { group: "a", question: "x", schema: "mail", near: { field: "vec", embedder: "a) b" } },
      400,
      "near.embedder: expected the name of",
    ],
    [{ group: "a", question: "x", schema: "mail", pasages: 1 }, 400, "no member 'pasages'"],
    [[], 400, "The body: expected an object, got []"],
  ])("%o is refused", async (body, status, message) => {
    const it = await setting(says("never"));
    const answered = await post(it, body);
    expect(answered.status).toBe(status);
    expect(answered.json.root.errors[0].message).toContain(message);
  });
});
