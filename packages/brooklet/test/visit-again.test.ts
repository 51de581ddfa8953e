/** What the commands that read do of a server that is away for a while, or behind a proxy whose pages are HTML. */
import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { freePort } from "../../../tools/free-port.mjs";
import { runCommandLine } from "../src/command/program.ts";
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

/** Runs a command: what it ends with, and the lines that it prints and says. */
async function ran(
  words: readonly string[],
): Promise<{ readonly code: number; readonly printed: string; readonly warned: string }> {
  const [printed, warned]: [string[], string[]] = [[], []];
  const code = await runCommandLine(words, {
    print: (line) => void printed.push(line),
    warn: (line) => void warned.push(line),
    progress: () => undefined,
    input: (async function* () {})(),
    untilEnded: () => Promise.resolve(),
  });
  return { code, printed: printed.join("\n"), warned: warned.join("\n") };
}

/** What a command ends with, and the code of its failure as JSON has it. */
async function ended(...words: readonly string[]): Promise<readonly unknown[]> {
  const { code, printed } = await ran([...words, "--json"]);
  const { error } = JSON.parse(printed.split("\n").at(-1) ?? "") as { readonly error: { readonly code: string } };
  return [code, error.code];
}

test.each([[["visit"]], [["forget", "a"]], [["bench", "--group", "a"]], [["groups"]]])(
  "%j of a server that is not there ends with 1 and the code for it",
  async (words) => {
    const url = `http://127.0.0.1:${await freePort()}`;
    expect(await ended(...words, "--url", url)).toEqual([1, "UNREACHABLE"]);
    expect(await ran([...words, "--url", url])).toMatchObject({ warned: expect.stringMatching(/\? \(UNREACHABLE\)$/) });
  },
);

test("a visit that its server refuses or ends is a failure with its code; one that cannot be asked is a wrong call", async () => {
  const page = '{"put":"id:n:n::1","fields":{}}\n{"continuation":{"token":"next","percentFinished":50}}\n';
  const clusters = `{"message":"no cluster '*', only 'c'"}`;
  const visited = async (status: number, body: string): Promise<readonly unknown[]> => {
    const url = await listening((request, response) => {
      if (request.url?.includes("cluster=%2A") === true) response.writeHead(400).end(clusters);
      else if (request.url?.includes("continuation=next") === true) response.writeHead(status).end(body);
      else response.end(page);
    });
    return await ended("visit", "--url", url);
  };
  expect(await visited(500, '{"message":"stored bytes","code":"STORE_CORRUPT"}')).toEqual([1, "STORE_CORRUPT"]);
  expect(await visited(403, '{"message":"no","code":"SCOPE_REFUSED"}')).toEqual([1, "SCOPE_REFUSED"]);
  expect(await visited(200, '{"message":{"text":"stored bytes","severity":"error"}}\n')).toEqual([1, "FAILED"]);
  expect(await visited(400, '{"message":"no such type"}')).toEqual([2, "USAGE"]);
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
