/** A stand-in for endpoints with the OpenAI interface, on a port of this machine: it says what it is told to say. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";

/** What was asked of it. */
export interface AskedModel {
  readonly path: string;
  readonly authorization: string | undefined;
  readonly body: {
    readonly model: string;
    readonly stream?: boolean;
    readonly messages: readonly { readonly role: string; readonly content: string }[];
  } & Readonly<Record<string, unknown>>;
}

/** A server that is running. */
export interface ChatServer {
  /** The base address, with a slash at its end. */
  readonly url: string;
  readonly asked: AskedModel[];
  /** Connections that are open. */
  connections(): Promise<number>;
  /** Answers under way. */
  readonly open: Set<ServerResponse>;
}

/** One chunk of a stream. */
export const chunk = (content: string): string =>
  `data: ${JSON.stringify({ object: "chat.completion.chunk", choices: [{ index: 0, delta: { content }, finish_reason: null }] })}\n\n`;

/** The end of a stream. */
export const END = `data: ${JSON.stringify({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }] })}\n\ndata: [DONE]\n\n`;

/** Answers with these tokens, streamed. */
export function says(...tokens: readonly string[]): (asked: AskedModel, response: ServerResponse) => void {
  return ({ body }, response) => {
    if (body.stream === true) {
      response.writeHead(200, { "content-type": "text/event-stream" });
      for (const token of tokens) response.write(chunk(token));
      response.end(END);
    } else {
      response.writeHead(200, { "content-type": "application/json" });
      const message = { role: "assistant", content: tokens.join("") };
      response.end(JSON.stringify({ choices: [{ index: 0, message, finish_reason: "stop" }] }));
    }
  };
}

/** Starts one for the length of a test. */
export async function chatServer(
  answer: (asked: AskedModel, response: ServerResponse, count: number) => void,
): Promise<ChatServer> {
  const asked: AskedModel[] = [];
  const open = new Set<ServerResponse>();
  const server: Server = createServer((request: IncomingMessage, response: ServerResponse) => {
    open.add(response);
    response.once("close", () => open.delete(response));
    let text = "";
    request.setEncoding("utf8").on("data", (part: string) => {
      text += part;
    });
    request.once("end", () => {
      const body = JSON.parse(text) as AskedModel["body"];
      asked.push({ path: request.url ?? "", authorization: request.headers.authorization, body });
      answer(asked.at(-1) as AskedModel, response, asked.length);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/v1/`,
    asked,
    open,
    connections: () =>
      new Promise((resolve, reject) =>
        server.getConnections((error, count) => (error ? reject(error) : resolve(count))),
      ),
  };
}
