/** `brooklet feed` in bulk against a server that refuses for the moment, loses connections and breaks off its answers. */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { FedOperation } from "@brooklet/partition";
import { describe, expect, onTestFinished, test } from "vitest";
import { freePort } from "../../../tools/free-port.mjs";
import { feedServer } from "../src/command/feed/feed-server.ts";

const SOON = { firstWaitMs: 1, longestWaitMs: 2 };

interface Operation {
  readonly put?: string;
  readonly update?: string;
  readonly remove?: string;
}

/** What is to come of an operation that arrives for the n-th time; "lost" ends the connection, with it done or not; of "unsaid" the answer has no word. */
type Fate = 200 | 400 | 429 | 503 | "lost before" | "lost after" | "unsaid";

interface Flaky {
  readonly url: string;
  /** The operations that were done, by the names of their documents, in order. */
  readonly done: string[];
  /** How many batches came. */
  readonly batches: () => number;
}

const BUSY: { status: number; body: string; headers?: Readonly<Record<string, string>> } = {
  status: 429,
  body: '{"code":"OVERLOADED","message":"too much","outcome":"not_applied"}',
};

async function flaky(fate: (id: string, time: number) => Fate, refusing = 0, refusal = BUSY, port = 0): Promise<Flaky> {
  const done: string[] = [];
  const times = new Map<string, number>();
  let batches = 0;
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    batches += 1;
    if (batches <= refusing) {
      // With something read of it first, so that it is known to have been sent.
      await once(request, "data");
      response.writeHead(refusal.status, refusal.headers).end(refusal.body);
      return;
    }
    response.writeHead(200);
    let text = "";
    for await (const part of request.setEncoding("utf8") as AsyncIterable<string>) text += part;
    let number = 0;
    for (const line of text.split("\n").slice(0, -1)) {
      const operation = JSON.parse(line) as Operation;
      const id = operation.put ?? operation.update ?? operation.remove ?? "";
      times.set(id, (times.get(id) ?? 0) + 1);
      const comes = fate(id, times.get(id) ?? 0);
      if (comes === 200 || comes === "lost after") done.push(line);
      // What was told before it has been sent, and the connection ends within a line.
      if (comes === "lost before" || comes === "lost after") return void response.write("{", () => response.destroy());
      const failure = { code: comes === 400 ? "INVALID_DOCUMENT" : "TAIL_FULL", message: "no", outcome: "not_applied" };
      const told = { operation: number, id, status: comes, ...(comes === 200 ? {} : failure) };
      if (comes !== "unsaid") response.write(`${JSON.stringify(told)}\n`);
      number += 1;
    }
    response.end(`{"operations":${number}}\n`);
  };
  const server = createServer((request, response) => void serve(request, response)).listen(port, "127.0.0.1");
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  await once(server, "listening");
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, done, batches: () => batches };
}

async function fed(
  url: string,
  lines: readonly string[],
  chunk = 50,
  waits = SOON,
  told: FedOperation[] = [],
): Promise<FedOperation[]> {
  async function* input(): AsyncGenerator<Uint8Array> {
    const bytes = new TextEncoder().encode(lines.map((line) => `${line}\n`).join(""));
    for (let at = 0; at < bytes.length; at += chunk) {
      yield bytes.subarray(at, at + chunk);
      // Answers come while the feed is read.
      if (at % 1_000 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
  }
  for await (const operations of feedServer({ url }, input(), waits)) told.push(...operations);
  return told.sort((left, right) => left.number - right.number);
}

const put = (id: string, value = 1): string => `{"put":"id:n:n:g=a:${id}","fields":{"n":${value}}}`;
const named = (id: string): string => `id:n:n:g=a:${id}`;
const puts = (count: number): string[] => Array.from({ length: count }, (_, at) => put(String(at)));
const statuses = (told: readonly FedOperation[]): unknown[] =>
  told.map(({ outcome }) => (outcome.status === 200 ? 200 : `${outcome.code} ${outcome.outcome}`));

describe("a feed in bulk", () => {
  test("sends again what is refused for the moment, and tells each operation once", async () => {
    const { url, done } = await flaky((id, time) => (id.endsWith("7") && time <= 3 ? (time === 2 ? 429 : 503) : 200));
    const told = await fed(url, puts(200));
    expect(told.map(({ number, id, outcome }) => [number, id, outcome.status])).toEqual(
      puts(200).map((_, at) => [at, named(String(at)), 200]),
    );
    expect([...done].sort()).toEqual(puts(200).sort());
  });

  test("gives up a server whose answers end whole, without a word of what is sent", async () => {
    const silent = await flaky(() => "unsaid");
    const message = expect.stringContaining("ended without a word of what was sent");
    await expect(fed(silent.url, puts(5))).rejects.toThrow(expect.objectContaining({ code: "UNREACHABLE", message }));
    expect(silent.batches()).toBe(3);
    const told: FedOperation[] = [];
    const partly = await flaky((id) => (id === named("3") ? "unsaid" : 200));
    await expect(fed(partly.url, puts(5), 50, SOON, told)).rejects.toThrow(expect.objectContaining({ message }));
    expect(statuses(told)).toEqual([200, 200, 200, 200]);
    // One that finds its words again is not given up.
    const later = await flaky((_, time) => (time < 3 ? "unsaid" : 200));
    expect(statuses(await fed(later.url, puts(2)))).toEqual([200, 200]);
  });

  test("gives up after ten times, and goes on with the others", async () => {
    let times = 0;
    const { url } = await flaky((id) => {
      if (id !== named("3")) return 200;
      times += 1;
      return 503;
    });
    expect(statuses(await fed(url, puts(5)))).toEqual([200, 200, 200, "TAIL_FULL not_applied", 200]);
    expect(times).toBe(10);
  });

  test("what is refused for good is not sent again", async () => {
    const { url, batches } = await flaky((id) => (id === named("3") ? 400 : 200));
    expect(statuses(await fed(url, puts(5), 10_000))).toEqual([200, 200, 200, "INVALID_DOCUMENT not_applied", 200]);
    expect(batches()).toBe(1);
  });

  test("goes on after a lost connection, and sends again what may be done twice", async () => {
    for (const comes of ["lost before", "lost after"] as const) {
      const { url, done } = await flaky((id, time) => (id.endsWith("9") && time === 1 ? comes : 200));
      const told = await fed(url, puts(100));
      expect(statuses(told)).toEqual(puts(100).map(() => 200));
      expect(new Set(done)).toEqual(new Set(puts(100)));
    }
  });

  test.each([
    ["refused after that", [put("1")], () => 503 as const, "TAIL_FULL unknown"],
    ["refused for good after that", [put("1")], () => 400 as const, "INVALID_DOCUMENT unknown"],
    ["overtaken after that", [put("1"), put("1", 2)], (time: number) => (time === 2 ? 503 : 200), "TAIL_FULL unknown"],
  ] as const)("does not know what came of what was lost once and %s", async (_, lines, later, first) => {
    const { url, done } = await flaky((__, time) => (time === 1 ? "lost after" : later(time)));
    const [told] = statuses(await fed(url, lines, 10_000));
    expect(told).toBe(first);
    expect(done[0]).toBe(put("1"));
  });

  test("does not send again what computes with what is stored, or depends on it", async () => {
    const unsafe = [
      `{"update":"${named("x")}","fields":{"n":{"increment":1}}}`,
      `{"put":"${named("x")}","fields":{},"condition":"n.n == 1"}`,
      `{"remove":"${named("x")}","condition":"n.n == 1"}`,
    ];
    for (const line of unsafe) {
      const { url, done } = await flaky((id, time) => (id === named("x") && time === 1 ? "lost after" : 200));
      const told = await fed(url, [put("1"), line, put("2")]);
      expect(statuses(told)).toEqual([200, "UNREACHABLE unknown", 200]);
      expect(done.filter((one) => one === line).length).toBe(1);
    }
    const assigning = `{"update":"${named("x")}","fields":{"n":{"assign":1},"m":{"assign":null}}}`;
    const { url } = await flaky((id, time) => (id === named("x") && time === 1 ? "lost after" : 200));
    expect(statuses(await fed(url, [put("1"), assigning, put("2")]))).toEqual([200, 200, 200]);
    // Refused for the moment it was not done, and may be sent again.
    const refused = await flaky((id, time) => (id === named("x") && time === 1 ? 503 : 200));
    expect(statuses(await fed(refused.url, [put("1"), unsafe[0] ?? "", put("2")]))).toEqual([200, 200, 200]);
  });

  test("an operation never comes after a later one on its document", async () => {
    // The second put is done in the same batch in which the first is refused.
    const both = [put("x", 1), put("x", 2), put("y")];
    const { url, done } = await flaky((id, time) => (id === named("x") && time === 1 ? 503 : 200));
    const told = await fed(url, both, 10_000);
    expect(statuses(told)).toEqual(["TAIL_FULL not_applied", 200, 200]);
    expect(done.filter((line) => line !== put("y"))).toEqual([put("x", 2)]);
    // Where both are refused they are sent again in their order.
    const again = await flaky((id, time) => (id === named("x") && time <= 2 ? 503 : 200));
    expect(statuses(await fed(again.url, both, 10_000))).toEqual([200, 200, 200]);
    expect(again.done.filter((line) => line !== put("y"))).toEqual([put("x", 1), put("x", 2)]);
  });

  test("waits for a server that takes no feeds at the moment, and gives up one that never does", async () => {
    const busy = await flaky(() => 200, 4);
    expect(statuses(await fed(busy.url, puts(3)))).toEqual([200, 200, 200]);
    expect(busy.batches()).toBe(5);
    const asking = await flaky(() => 200, 1, { ...BUSY, headers: { "retry-after": "1" } });
    const beganMs = performance.now();
    expect(statuses(await fed(asking.url, puts(3)))).toEqual([200, 200, 200]);
    expect(performance.now() - beganMs).toBeGreaterThanOrEqual(1_000);
    const never = await flaky(() => 200, 1_000);
    await expect(fed(never.url, puts(3))).rejects.toMatchObject({ code: "OVERLOADED" });
    expect(never.batches()).toBe(10);
  });

  test("waits for a server that is away, to which nothing was sent, and gives up after ten times", async () => {
    const lines = [put("1"), `{"update":"${named("x")}","fields":{"n":{"increment":1}}}`];
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    let [failures, comesAfter] = [0, Number.POSITIVE_INFINITY];
    const waits = {
      get firstWaitMs(): number {
        failures += 1;
        if (failures === comesAfter) void flaky(() => 200, 0, BUSY, port);
        return 50;
      },
      longestWaitMs: 50,
    };
    const away = /^http:\/\/127\.0\.0\.1:\d+ cannot be reached \(.*ECONNREFUSED.*\): is the server running\?$/;
    await expect(fed(url, lines, 50, waits)).rejects.toMatchObject({
      code: "UNREACHABLE",
      outcome: "not_applied",
      message: expect.stringMatching(away),
    });
    expect(failures).toBe(9);
    [failures, comesAfter] = [0, 5];
    expect(statuses(await fed(url, lines, 50, waits))).toEqual([200, 200]);
  });

  test("gives up a server that first refuses and then tells nothing", async () => {
    const { url, batches } = await flaky(() => "lost before", 4);
    await expect(fed(url, [put("1")])).rejects.toMatchObject({ code: "UNREACHABLE", outcome: "unknown" });
    expect(batches()).toBe(7);
  });

  test.each([502, 503, 504])("after the %s of a proxy it sends again only what may be done twice", async (status) => {
    const lines = [put("1"), `{"update":"${named("x")}","fields":{"n":{"increment":1}}}`];
    const proxy = await flaky(() => 200, 1, { status, body: "<h1>Service Unavailable</h1>" });
    expect(statuses(await fed(proxy.url, lines, 10_000))).toEqual([200, "UNEXPECTED_ANSWER unknown"]);
    expect(proxy.done).toEqual([put("1")]);
    const stopping = '{"code":"UNAVAILABLE","message":"it stops","outcome":"not_applied"}';
    const server = await flaky(() => 200, 1, { status: 503, body: stopping });
    expect(statuses(await fed(server.url, lines, 10_000))).toEqual([200, 200]);
  });

  test("a batch that is too long for what stands before the server is sent in parts; what alone is too long fails", async () => {
    const sent: number[] = [];
    const { url: behind, done } = await flaky(() => 200);
    const front = createServer(async (request, response) => {
      const length = Number(request.headers["content-length"]);
      sent.push(length);
      const parts: Uint8Array[] = [];
      for await (const part of request as AsyncIterable<Uint8Array>) parts.push(part);
      if (length > 300) return void response.writeHead(413).end("<h1>Request Entity Too Large</h1>");
      const answer = await fetch(behind + (request.url ?? ""), { method: "POST", body: Buffer.concat(parts) });
      response.writeHead(answer.status).end(await answer.text());
    }).listen(0, "127.0.0.1");
    onTestFinished(() => {
      front.close();
      front.closeAllConnections();
    });
    await once(front, "listening");
    const url = `http://127.0.0.1:${(front.address() as AddressInfo).port}`;
    const long = `{"put":"${named("long")}","fields":{"s":"${"x".repeat(400)}"}}`;
    const counting = `{"update":"${named("x")}","fields":{"n":{"increment":1}}}`;
    // More of them than times that a server is asked which refuses all.
    const tooLong = Array.from({ length: 12 }, () => long);
    const lines = [...puts(20), ...tooLong, counting];
    const told = await fed(url, lines, 100_000);
    const refused = tooLong.map(() => "TOO_LARGE not_applied");
    expect(statuses(told)).toEqual([...puts(20).map(() => 200), ...refused, 200]);
    expect(told[20]?.outcome.status).toBe(413);
    expect(done).toEqual([...puts(20), counting]);
    // Once it is known what is taken, no more is tried.
    expect(sent.filter((length) => length > 700).length).toBeLessThan(6);
  });

  test("batches grow while they are answered soon", async () => {
    const lengths: number[] = [];
    const server = createServer(async (request, response) => {
      lengths.push(Number(request.headers["content-length"]));
      let text = "";
      for await (const part of request.setEncoding("utf8") as AsyncIterable<string>) text += part;
      const told = text
        .split("\n")
        .slice(0, -1)
        .map((_, operation) => `{"operation":${operation},"status":200}\n`);
      response.end(`${told.join("")}{"operations":${told.length}}\n`);
    }).listen(0, "127.0.0.1");
    onTestFinished(() => {
      server.close();
      server.closeAllConnections();
    });
    await once(server, "listening");
    const long = `{"put":"${named("1")}","fields":{"s":"${"x".repeat(99_000)}"}}`;
    const lines = Array.from({ length: 200 }, () => long);
    const told = await fed(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, lines, 1 << 26);
    expect(told).toHaveLength(200);
    expect(lengths[0]).toBeLessThan(1_000_000);
    expect(Math.max(...lengths)).toBeGreaterThan(1_500_000);
    expect(Math.max(...lengths)).toBeLessThan(17_000_000);
  });

  test("what is no operation ends it, after those before", async () => {
    const { url, done } = await flaky(() => 200);
    await expect(fed(url, [put("1"), put("2"), "null"])).rejects.toThrow("'n' stands where operation 3 should begin");
    expect(done).toEqual([put("1"), put("2")]);
  });
});
