import type { ServerResponse } from "node:http";
import { describe, expect, test } from "vitest";
import { type ChatEndpoint, ChatError, type ChatEvent, chat, rewrittenQuestion } from "../src/index.ts";
import { chatServer, chunk, END, says } from "./chat-server.ts";

const MESSAGES = [{ role: "user", content: "Hello" }] as const;
const QUICK: Partial<ChatEndpoint> = { attempts: 1 };

async function all(endpoint: ChatEndpoint, signal?: AbortSignal, stream?: boolean): Promise<ChatEvent[]> {
  const events: ChatEvent[] = [];
  const request = { messages: MESSAGES, ...(signal ? { signal } : {}), ...(stream === undefined ? {} : { stream }) };
  for await (const event of chat(endpoint, request)) events.push(event);
  return events;
}

async function failure(work: Promise<unknown>): Promise<ChatError> {
  const error = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(ChatError);
  return error as ChatError;
}

describe("a language model", () => {
  test("is asked as endpoints expect it, and its tokens come as it says them", async () => {
    const server = await chatServer(says("Hel", "lo", ""));
    const endpoint = { url: server.url, model: "m", apiKey: "secret", parameters: { temperature: 0.5 } };
    expect(await all(endpoint)).toEqual([
      { type: "token", text: "Hel" },
      { type: "token", text: "lo" },
      { type: "token", text: "" },
      { type: "finish", reason: "stop" },
    ]);
    expect(server.asked).toEqual([
      {
        path: "/v1/chat/completions",
        authorization: "Bearer secret",
        body: { model: "m", messages: MESSAGES, temperature: 0.5, stream: true },
      },
    ]);
  });

  test("may answer at once instead", async () => {
    const server = await chatServer(says("Hel", "lo"));
    expect(await all({ url: server.url, model: "m" }, undefined, false)).toEqual([
      { type: "token", text: "Hello" },
      { type: "finish", reason: "stop" },
    ]);
    expect(server.asked[0]?.authorization).toBe("Bearer none");
    expect(server.asked[0]?.body).not.toHaveProperty("stream");
  });

  test("may say in every chunk that nothing went wrong", async () => {
    const server = await chatServer((_, response) => {
      const said = { choices: [{ index: 0, delta: { content: "yes" } }], error: null };
      response.writeHead(200, { "content-type": "text/event-stream" }).end(`data: ${JSON.stringify(said)}\n\n${END}`);
    });
    expect((await all({ url: server.url, model: "m" }))[0]).toEqual({ type: "token", text: "yes" });
  });

  test("calls no tools: that it wanted to is told", async () => {
    const call = { index: 0, id: "c", function: { name: "send_mail", arguments: "{}" } };
    const server = await chatServer((_, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      const further = { index: 0, function: { arguments: "{}" } };
      for (const piece of [call, further, further])
        response.write(`data: ${JSON.stringify({ choices: [{ delta: { tool_calls: [piece] } }] })}\n\n`);
      response.end(END);
    });
    const events: ChatEvent[] = [];
    const asked = { messages: MESSAGES };
    const told = (async () => {
      for await (const event of chat({ url: server.url, model: "m" }, asked)) events.push(event);
    })();
    // Nothing else is said: it waits for what does not come.
    await expect(told).rejects.toMatchObject({
      failure: "malformed",
      message: "The language model only called 'send_mail': it has no tools",
    });
    expect(events.filter(({ type }) => type === "toolCall")).toEqual([{ type: "toolCall", name: "send_mail" }]);
  });

  test("is asked again while it is busy, and not after it has begun", async () => {
    const busy = await chatServer((asked, response, count) => {
      if (count < 3) response.writeHead(503, { "retry-after": "0" }).end();
      else says("yes")(asked, response);
    });
    expect(await all({ url: busy.url, model: "m" })).toHaveLength(2);
    const broken = await chatServer((_, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write(chunk("begun"), () => response.destroy());
    });
    expect((await failure(all({ url: broken.url, model: "m" }))).failure).toBe("malformed");
    expect(broken.asked).toHaveLength(1);
  });

  test("that asked for patience is not late while it is given some", async () => {
    const server = await chatServer((asked, response, count) => {
      if (count === 1) response.writeHead(503, { "retry-after": "3" }).end();
      else says("yes")(asked, response);
    });
    const events = await all({ url: server.url, model: "m", idleTimeoutMs: 2_900 });
    expect(events[0]).toEqual({ type: "token", text: "yes" });
  });

  test.each([
    [401, "refused", 1],
    [429, "overloaded", 2],
    [500, "refused", 2],
  ])("that answers %i is told, without the key", async (status, expected, tries) => {
    const server = await chatServer((_, response) => {
      response.writeHead(status, { "retry-after": "0" }).end("the key secret-key is wrong");
    });
    const error = await failure(all({ url: server.url, model: "m", apiKey: "secret-key", attempts: 2 }));
    expect([error.failure, error.status, server.asked.length]).toEqual([expected, status, tries]);
    expect(JSON.stringify(error, Object.getOwnPropertyNames(error))).not.toContain("secret-key");
  });

  test.each([
    ['{"error":{"message":"at most 8192 tokens, secret-key"}}', ": at most 8192 tokens, …"],
    ['{"object":"error","message":"at most 8192 tokens"}', ": at most 8192 tokens"],
    ['[{"error":{"code":400,"message":"at most 8192 tokens"}}]', ": at most 8192 tokens"],
    ['{"detail":"at most 8192 tokens, secret-key"}', ": at most 8192 tokens, …"],
    ['{"detail":[{"loc":["body","messages"],"msg":"at most 8192 tokens"}]}', ": at most 8192 tokens"],
    ["[]", ""],
    ["<html>at most 8192 tokens</html>", ""],
    ["{}", ""],
  ])("that refuses for good is told with its reason, as in %s", async (body, expected) => {
    const server = await chatServer((_, response) => void response.writeHead(400).end(body));
    const error = await failure(all({ url: server.url, model: "m", apiKey: "secret-key" }));
    expect([error.failure, error.status, error.message.split("status 400")[1]]).toEqual(["refused", 400, expected]);
  });

  test("that asks for more patience than there is is not waited for", async () => {
    const server = await chatServer((_, response) => void response.writeHead(429, { "retry-after": "60" }).end());
    const error = await failure(all({ url: server.url, model: "m" }));
    expect([error.failure, error.status, server.asked.length]).toEqual(["overloaded", 429, 1]);
  });

  test("may keep its stream open with comments and events of nothing", async () => {
    const server = await chatServer((_, response) => {
      const kept = [": kept", "data:", "data: ", "event: ping\r\ndata:"].map((line) => `${line}\r\n\r\n`);
      response.writeHead(200, { "content-type": "Text/Event-Stream; charset=utf-8" });
      response.end([...kept, chunk("yes").replaceAll("\n", "\r\n"), ...kept, END].join(""));
    });
    expect(await all({ url: server.url, model: "m" })).toEqual([
      { type: "token", text: "yes" },
      { type: "finish", reason: "stop" },
    ]);
  });

  test("says texts in parts, and not what it thinks", async () => {
    const thought = { type: "thinking", thinking: [{ type: "text", text: "hm" }] };
    const said = { type: "text", text: "Friday" };
    const streamed = await chatServer((_, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      for (const content of [[thought], [thought, said], " it is"])
        response.write(`data: ${JSON.stringify({ choices: [{ delta: { content } }] })}\n\n`);
      response.end(END);
    });
    const whole = await chatServer((_, response) => {
      const choices = [{ message: { content: [thought, said] }, finish_reason: "stop" }];
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ choices }));
    });
    const textOf = async (url: string): Promise<string> =>
      (await all({ url, model: "m" })).map((event) => (event.type === "token" ? event.text : "")).join("");
    expect([await textOf(streamed.url), await textOf(whole.url)]).toEqual(["Friday it is", "Friday"]);
  });

  test("that fails in a stream with a text is told with it", async () => {
    const server = await chatServer((_, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" }).end(`data: {"error":"out of memory"}\n\n`);
    });
    expect((await failure(all({ url: server.url, model: "m" }))).message).toBe(
      "The language model failed: out of memory",
    );
  });

  test.each([
    ["as vLLM does", 'data: {"object":"error","message":"out of memory","code":500}'],
    ["by the type of what it says", 'data: {"type":"error","message":"out of memory"}'],
    ["in a list", 'data: [{"error":{"message":"out of memory"}}]'],
    ["by an event of that name", 'event: error\ndata: {"message":"out of memory"}'],
    ["in a text by an event of that name", "event: error\ndata: out of memory"],
  ])("that fails in the middle of a stream %s is told", async (_, event) => {
    const server = await chatServer((_asked, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" }).end(`${chunk("begun")}${event}\n\n${END}`);
    });
    const error = await failure(all({ url: server.url, model: "m" }));
    expect([error.failure, error.message]).toEqual(["refused", "The language model failed: out of memory"]);
  });

  test("that fails with a status of success is told with its reason", async () => {
    const server = await chatServer((_, response) => {
      response.writeHead(200, { "content-type": "application/json" }).end(`{"error":{"message":"no such model"}}`);
    });
    const error = await failure(all({ url: server.url, model: "m" }));
    expect([error.failure, error.message]).toEqual(["refused", "The language model failed: no such model"]);
  });

  test.each([
    ["in a token", chunk("begun"), "malformed"],
    ["before a token", "data: [DONE]\n\n", "malformed"],
    ["with a line that is no event", `${chunk("begun")}{"error":"out of memory"}\n\n`, "malformed"],
  ])("whose stream ends %s has not answered", async (_, body, expected) => {
    const server = await chatServer((_asked, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" }).end(body);
    });
    expect((await failure(all({ url: server.url, model: "m" }))).failure).toBe(expected);
  });

  test.each([
    ["a reason", `data: ${JSON.stringify({ choices: [{ delta: {}, finish_reason: "length" }] })}\n\n`, "length"],
    ["its last line", "data: [DONE]\n\n", undefined],
  ])("may end its stream with %s alone", async (_, end, reason) => {
    const server = await chatServer((_asked, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" }).end(chunk("all") + end);
    });
    const finish = reason === undefined ? [] : [{ type: "finish", reason }];
    expect(await all({ url: server.url, model: "m" })).toEqual([{ type: "token", text: "all" }, ...finish]);
  });

  test.each([
    ["is kept open", () => undefined],
    ["breaks off", (response: ServerResponse) => void response.destroy()],
  ])("has answered when it said why it ended, also where its stream then %s", async (_, then) => {
    const end = `data: ${JSON.stringify({ choices: [{ delta: {}, finish_reason: "stop" }] })}\n\n`;
    const server = await chatServer((_asked, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write(chunk("all") + end, () => then(response));
    });
    expect(await all({ url: server.url, model: "m" })).toEqual([
      { type: "token", text: "all" },
      { type: "finish", reason: "stop" },
    ]);
    await expect.poll(() => server.open.size).toBe(0);
  });

  test("that refuses in place of an answer says so in its own words", async () => {
    const refusals = [
      { content: null, refusal: "I can't help." },
      { content: [{ type: "refusal", refusal: "I can't help." }] },
    ];
    for (const said of refusals) {
      const server = await chatServer((asked, response) => {
        const choices = [{ [asked.body.stream ? "delta" : "message"]: said, finish_reason: "stop" }];
        const type = asked.body.stream ? "text/event-stream" : "application/json";
        const body = JSON.stringify({ choices });
        response.writeHead(200, { "content-type": type }).end(asked.body.stream ? `data: ${body}\n\n` : body);
      });
      for (const stream of [true, false]) {
        const [first] = await all({ url: server.url, model: "m" }, undefined, stream);
        expect(first).toEqual({ type: "token", text: "I can't help." });
      }
    }
  });

  test("that says the key in a stream is told without it", async () => {
    const server = await chatServer((_, response) => {
      const data = JSON.stringify({ error: { message: "the key secret-key is wrong" } });
      response.writeHead(200, { "content-type": "text/event-stream" }).end(`data: ${data}\n\n`);
    });
    const error = await failure(all({ url: server.url, model: "m", apiKey: "secret-key" }));
    expect(error.message).toBe("The language model failed: the key … is wrong");
  });

  test("that nobody answers for is told", async () => {
    const url = "http://user:password@127.0.0.1:1/v1/?key=secret";
    const { failure: kind, message } = await failure(all({ url, model: "m", ...QUICK }));
    expect(kind).toBe("unreachable");
    expect(message).not.toMatch(/password|secret/);
  });

  test("does not lead anywhere else", async () => {
    const elsewhere = await chatServer(says("stolen"));
    const server = await chatServer((_, response) => {
      response.writeHead(307, { location: `${elsewhere.url}chat/completions` }).end();
    });
    expect((await failure(all({ url: server.url, model: "m", ...QUICK }))).failure).toBe("refused");
    expect(elsewhere.asked).toEqual([]);
  });

  test.each([
    ["not JSON", "data: {\n\n", "malformed"],
    ["nothing", "", "malformed"],
    ["an error", 'data: {"error":{"message":"no"}}\n\n', "refused"],
    ["too much", chunk("x".repeat(10_000)).repeat(1_000), "too long"],
    ["one event of 10 MiB", `data: ${"x".repeat(10 << 20)}\n\n`, "malformed"],
  ])("that says %s is refused", async (_, body, expected) => {
    const server = await chatServer((_asked, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" }).end(body);
    });
    expect((await failure(all({ url: server.url, model: "m", ...QUICK }))).failure).toBe(expected);
  });

  test("that says nothing in time is left", async () => {
    const server = await chatServer((_, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write(chunk("one "));
    });
    const endpoint = { url: server.url, model: "m", idleTimeoutMs: 50 };
    expect((await failure(all(endpoint))).failure).toBe("timed out");
    expect((await failure(all({ ...endpoint, idleTimeoutMs: 5_000, timeoutMs: 50 }))).failure).toBe("timed out");
  });

  test("is left at once when the caller aborts, or goes away", async () => {
    const server = await chatServer((_, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write(chunk("one "));
    });
    const aborting = new AbortController();
    const aborted = all({ url: server.url, model: "m" }, aborting.signal);
    aborted.catch(() => undefined);
    await expect.poll(() => server.open.size).toBe(1);
    aborting.abort(new Error("enough"));
    await expect(aborted).rejects.toThrow("enough");
    for await (const _ of chat({ url: server.url, model: "m" }, { messages: MESSAGES })) break;
    await expect.poll(() => server.open.size).toBe(0);
    await expect(all({ url: server.url, model: "m" }, AbortSignal.abort(new Error("before")))).rejects.toThrow(
      "before",
    );
    expect(server.asked).toHaveLength(2);
  });
});

test.each([
  ["breaks off", { delta: {}, finish_reason: "length" }],
  ["calls a tool", { delta: { tool_calls: [{ function: { name: "send_mail" } }] } }],
])("a question whose rewriting %s is asked as it is", async (_, last) => {
  const server = await chatServer((_, response) => {
    const end = `data: ${JSON.stringify({ choices: [last] })}\n\n`;
    response.writeHead(200, { "content-type": "text/event-stream" }).end(chunk("Is the dep") + end);
  });
  const history = [{ role: "user", content: "What about my deposit?" }] as const;
  expect(await rewrittenQuestion("Is it paid back?", history, { url: server.url, model: "m" })).toBe(
    "Is it paid back?",
  );
});
