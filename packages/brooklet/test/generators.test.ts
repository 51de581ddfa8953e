/**
 * Fields that a language model is asked for when a document is put, as services.xml declares them: what it is asked, what
 * becomes of its answer, and what an operation answers when it fails. Over the real core, with a stand-in for the model.
 */
import process from "node:process";
import { Writer } from "@brooklet/core";
import { createGateway, type Gateway } from "@brooklet/gateway";
import { HashEmbedder } from "@brooklet/models";
import { describe, expect, onTestFinished, test } from "vitest";
import { type ChatServer, chatServer, says } from "../../answers/test/chat-server.ts";

/** What was built: threads are started from there. */
const built = new URL("../dist/node/threads.js", import.meta.url).href;
const { openCluster } = (await import(built)) as typeof import("../src/node/threads.ts");

const SCHEMA = `schema note {
  document note {
    field title type string { indexing: summary | index }
    field body type string { indexing: summary | index }
  }
  field questions type array<string> { indexing: input body | generate asking | summary | index }
  field vec type tensor<float>(x[32]) {
    indexing: input body | generate summing | embed e | attribute
    attribute { distance-metric: prenormalized-angular }
  }
  rank-profile near { inputs { query(q) tensor<float>(x[32]) } first-phase { expression: closeness(field, vec) } }
}`;

const generator = (id: string, config: string): string =>
  `<component id="${id}" class="ai.vespa.llm.generation.LanguageModelFieldGenerator">
    <config name="ai.vespa.llm.generation.language-model-field-generator">${config}</config></component>`;

const services = (url: string): string => `<services version="1.0">
  <container id="default" version="1.0">
    <component id="openai" class="ai.vespa.llm.clients.OpenAI">
      <config name="ai.vespa.llm.clients.llm-client">
        <apiKeySecretRef>generatorsTestKey</apiKeySecretRef><endpoint>${url}</endpoint><model>small</model>
        <temperature>0.2</temperature><maxTokens>90</maxTokens>
      </config>
    </component>
    ${generator("asking", "<providerId>openai</providerId><promptTemplateFile>files/ask.txt</promptTemplateFile>")}
    ${generator("summing", "<promptTemplate>Sum up: {input}</promptTemplate><responseFormatType>TEXT</responseFormatType>")}
  </container>
  <content id="note" version="1.0"><redundancy>1</redundancy>
    <documents><document type="note" mode="streaming"/></documents>
    <nodes><node hostalias="n" distribution-key="0"/></nodes></content></services>`;

interface Setting {
  readonly gateway: Gateway;
  readonly server: ChatServer;
}

async function setting(answer: Parameters<typeof chatServer>[0], threads = 0): Promise<Setting> {
  const server = await chatServer(answer);
  const cluster = openCluster({ threads, models: { embedders: [new HashEmbedder("e")], onNotice: () => undefined } });
  onTestFinished(() => cluster.close());
  const files = [
    "services.xml",
    services(server.url),
    "schemas/note.sd",
    SCHEMA,
    "files/ask.txt",
    "Three about {input}?",
  ];
  await cluster.deploy(files.reduce((writer, text) => writer.text(text), new Writer().varint(3)).finish());
  return { gateway: createGateway({ cluster }), server };
}

interface Said {
  readonly status: number;
  readonly text: string;
}

async function send({ gateway }: Setting, method: string, fields: object, more = ""): Promise<Said> {
  const target = `http://localhost/document/v1/n/note/group/a/1${more}`;
  const response = await gateway.fetch(target, { method, body: JSON.stringify({ fields }) });
  return { status: response.status, text: await response.text() };
}

async function found({ gateway }: Setting, parameters: Readonly<Record<string, string>>): Promise<readonly object[]> {
  const query = new URLSearchParams({ "streaming.groupname": "a", timeout: "20s", ...parameters });
  const response = await gateway.fetch(`http://localhost/search/?${query}`);
  const { root } = (await response.json()) as { root: { children?: readonly { fields: object }[]; errors?: unknown } };
  expect(root.errors).toBeUndefined();
  return (root.children ?? []).map(({ fields }) => fields);
}

/** Three questions where an answer of a form is asked for, otherwise a text. */
const answers: Parameters<typeof chatServer>[0] = (asked, response) => {
  const prompt = asked.body.messages[0]?.content ?? "";
  const said =
    asked.body["response_format"] === undefined
      ? `sum of ${prompt}`
      : JSON.stringify({ "note.questions": ["Whence pirates?", prompt] });
  says(said)(asked, response);
};

describe("a field generator", () => {
  test("asks the language model, and the field has what it answers", async () => {
    process.env["VESPA_SECRET_GENERATORS_TEST_KEY"] = "key of the test";
    onTestFinished(() => void delete process.env["VESPA_SECRET_GENERATORS_TEST_KEY"]);
    const it = await setting(answers);
    expect(await send(it, "POST", { title: "one", body: "Buccaneers." })).toMatchObject({ status: 200 });
    const schema = {
      type: "object",
      properties: { "note.questions": { type: "array", items: { type: "string" } } },
      required: ["note.questions"],
      additionalProperties: false,
    };
    const common = { model: "small", temperature: 0.2, max_completion_tokens: 90 };
    const asking = { role: "user", content: "Three about Buccaneers.?" };
    expect(
      it.server.asked
        .map(({ body }) => body)
        .sort((a, b) => Number("response_format" in b) - Number("response_format" in a)),
    ).toEqual([
      {
        ...common,
        messages: [asking],
        response_format: { type: "json_schema", json_schema: { name: "structured-output", schema } },
      },
      { ...common, messages: [{ role: "user", content: "Sum up: Buccaneers." }] },
    ]);
    expect(new Set(it.server.asked.map(({ authorization }) => authorization))).toEqual(
      new Set(["Bearer key of the test"]),
    );
    const told = await (await it.gateway.fetch("http://localhost/brooklet/v1/models")).json();
    // One language model makes both fields; what is made of them is embedded.
    expect(told).toMatchObject({
      models: [
        { id: "e", kind: "embedder", calls: [{ items: 0 }, { purpose: "document", items: 1 }] },
        { id: "openai", kind: "generator", state: "ready", batches: 2, calls: [{ calls: 0 }, { calls: 2, items: 2 }] },
      ],
    });
    const [hit] = await found(it, { yql: "select questions from note where questions contains 'pirates'" });
    expect(hit).toEqual({ questions: ["Whence pirates?", "Three about Buccaneers.?"] });
    const near = { yql: "select title from note where {targetHits:1}nearestNeighbor(vec,q)", ranking: "near" };
    const [nearest] = await found(it, { ...near, "input.query(q)": 'embed(e,"sum of Sum up: Buccaneers.")' });
    expect(nearest).toEqual({ title: "one" });
  });

  test("is not asked where its input is not set, and an answer of another form is no value", async () => {
    const it = await setting(says("no JSON"));
    expect(await send(it, "POST", { title: "one" })).toMatchObject({ status: 200 });
    expect(it.server.asked).toEqual([]);
    expect(await send(it, "POST", { title: "two", body: "b" })).toMatchObject({ status: 200 });
    expect(await found(it, { yql: "select title, questions from note where true" })).toEqual([{ title: "two" }]);
  });

  test.each([
    [401, 500],
    [429, 429],
    [503, 429],
  ])("fails the operation when the model answers %i", async (status, expected) => {
    const it = await setting((_, response) => void response.writeHead(status, { "retry-after": "0" }).end());
    const said = await send(it, "POST", { title: "one", body: "b" });
    expect(said).toMatchObject({ status: expected });
    expect(said.text).toContain(`answered with status ${status}`);
    expect(await found(it, { yql: "select title from note where true" })).toEqual([]);
  });

  test.each([
    ["nonsense", "<html>"],
    ["nothing", ""],
    ["no choice", '{"choices":[]}'],
  ])("fails the operation when the model answers %s, as one that is not there", async (_, answer) => {
    const it = await setting((_asked, response) => void response.end(answer));
    const said = await send(it, "POST", { title: "one", body: "b" });
    expect([said.status, JSON.parse(said.text)]).toEqual([
      503,
      expect.objectContaining({ code: "UNAVAILABLE", outcome: "not_applied" }),
    ]);
    expect(await found(it, { yql: "select title from note where true" })).toEqual([]);
  });

  test("fails the operation when the model answers too late, and lets go of it", async () => {
    const it = await setting(() => undefined);
    expect(await send(it, "POST", { title: "one", body: "b" }, "?timeout=300ms")).toMatchObject({ status: 504 });
    await expect.poll(() => it.server.open.size).toBe(0);
    expect(await found(it, { yql: "select title from note where true" })).toEqual([]);
  });

  test("is asked anew by an update of its input, and by no other", async () => {
    const it = await setting(answers);
    await send(it, "POST", { title: "one", body: "Buccaneers." });
    expect(await send(it, "PUT", { title: { assign: "two" } })).toMatchObject({ status: 200 });
    expect(it.server.asked).toHaveLength(2);
    expect(await send(it, "PUT", { body: { assign: "Corsairs." } })).toMatchObject({ status: 200 });
    expect(it.server.asked).toHaveLength(4);
    const [hit] = await found(it, { yql: "select title, questions from note where true" });
    expect(hit).toEqual({ title: "two", questions: ["Whence pirates?", "Three about Corsairs.?"] });
  });

  test("asks eight questions at a time, with threads too", async () => {
    let most = 0;
    // Nothing is answered before eight wait, so that a ninth would be seen.
    const waiting: (() => void)[] = [];
    const it = await setting((asked, response, count) => {
      most = Math.max(most, it.server.open.size);
      waiting.push(() => answers(asked, response, count));
      if (most >= 8) setTimeout(() => waiting.splice(0).forEach((answer) => void answer()), 20);
    }, 2);
    const puts = Array.from({ length: 20 }, (_, index) =>
      it.gateway.fetch(`http://localhost/document/v1/n/note/group/a/${index}`, {
        method: "POST",
        body: JSON.stringify({ fields: { body: `text ${index}` } }),
      }),
    );
    expect((await Promise.all(puts)).map(({ status }) => status)).toEqual(puts.map(() => 200));
    expect(it.server.asked).toHaveLength(40);
    expect(most).toBe(8);
  });
});
