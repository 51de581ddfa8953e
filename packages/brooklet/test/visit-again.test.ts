/** What the commands that read do of a server that is away for a while, or behind a proxy whose pages are HTML. */
import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { freePort } from "../../../tools/free-port.mjs";
import { ask, messageOf } from "../src/command/server.ts";
import { contentClusters, visitLines } from "../src/command/visit.ts";

const SOON = { firstWaitMs: 1, longestWaitMs: 2 };
const PAGE =
  "<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body><center><h1>502 Bad Gateway</h1></center></body></html>";

async function listening(listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, "127.0.0.1");
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  await once(server, "listening");
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test("what is refused for now is asked for once more, and told in words where it stays so", async () => {
  let asked = 0;
  const url = await listening((request, response) => {
    asked += 1;
    if (request.url === "/never" || asked < 4) response.writeHead(502).end(PAGE);
    else response.end("here");
  });
  expect(await (await ask({ url }, "/soon", false, SOON)).text()).toBe("here");
  expect(asked).toBe(4);
  const answer = await ask({ url }, "/never", false, SOON);
  expect([answer.status, messageOf(await answer.text()), asked]).toEqual([502, "502 Bad Gateway", 12]);
});

test("a server that was never there is told of at once, one that was is waited for", async () => {
  const nobody = `http://127.0.0.1:${await freePort()}`;
  const away = `${nobody} cannot be reached (ECONNREFUSED): is the server running?`;
  const slow = { firstWaitMs: 60_000, longestWaitMs: 60_000 };
  await expect(ask({ url: nobody }, "/", false, slow)).rejects.toThrow(away);
  await expect(ask({ url: nobody }, "/", true, SOON)).rejects.toThrow(away);
});

test("a visit goes on after a proxy that does not reach its server, and prints nothing twice", async () => {
  let asked = 0;
  const url = await listening((request, response) => {
    asked += 1;
    if (asked % 2 === 1) return void response.writeHead(502).end(PAGE);
    const isSecond = request.url?.includes("continuation=next") === true;
    const document = `{"put":"id:n:n::${isSecond ? 2 : 1}","fields":{}}\n`;
    response.end(isSecond ? document : `${document}{"continuation":{"token":"next","percentFinished":50}}\n`);
  });
  const lines: string[] = [];
  for await (const line of visitLines({ url }, {})) lines.push(line);
  expect(lines).toEqual(['{"put":"id:n:n::1","fields":{}}', '{"put":"id:n:n::2","fields":{}}']);
  expect(asked).toBe(4);
});

test("a visit that is refused is told of in words, of a page too", async () => {
  for (const [body, words] of [
    ['{"message":"no such type"}', "no such type"],
    ["<h1>Not\n allowed</h1>", "Not allowed"],
  ] as const) {
    const url = await listening((_, response) => response.writeHead(400).end(body));
    await expect(visitLines({ url }, {}).next()).rejects.toThrow(`the server ended the visit: ${words}`);
    await expect(contentClusters({ url })).rejects.toThrow(`${url} has no documents: ${words}`);
  }
});
