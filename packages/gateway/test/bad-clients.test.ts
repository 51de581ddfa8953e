/**
 * Clients that stall, flood and lie (T12): each is sent away within its limit, nothing of it is left, and who asks as one should is
 * answered meanwhile. `BROOKLET_BAD_CLIENTS` for more of each kind.
 */
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { once } from "node:events";
import http from "node:http";
import net from "node:net";
import process from "node:process";
import { expect, onTestFinished, test } from "vitest";
import { type ConnectionLimits, type RunningServer, type ServerOptions, startServer } from "../src/node/index.ts";
import { fakeCluster } from "./fake-cluster.ts";

const CLIENTS = Number(process.env["BROOKLET_BAD_CLIENTS"] ?? 40);
const PATH = "/document/v1/ns/mail/group/u1/x";
const MANY: Partial<ConnectionLimits> = { connections: 10_000, connectionsOfAddress: 10_000 };
/**
 * Short, so that a test need not wait for long, and long enough for who asks as one should on a machine that others use. Whoever sends much
 * is given the limits of time that servers have: to read thousands of requests, or a thousand streams, takes this process longer than these,
 * and a head that came meanwhile is read too late.
 */
const UNREAD: Partial<ConnectionLimits> = {
  ...MANY,
  idleTimeoutMs: 1_500,
  sendTimeoutMs: 1_500,
  sendBytesPerSecond: 1 << 30,
};
const LIMITS: Partial<ConnectionLimits> = {
  ...UNREAD,
  headersTimeoutMs: 1_500,
  requestTimeoutMs: 1_500,
  streamTimeoutMs: 1_500,
};

/** Frames of HTTP/2. */
const PREFACE = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
function frame(type: number, flags: number, stream: number, payload: Uint8Array = new Uint8Array(0)): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}
const SETTINGS = frame(4, 0, 0);
/** `:method: GET`, `:scheme: http`, `:path: /`, `:authority` of this machine. */
const GET_HEADERS = Buffer.concat([Buffer.from([0x82, 0x86, 0x84, 0x41, 0x09]), Buffer.from("localhost")]);
const http2Opening = Buffer.concat([Buffer.from(PREFACE), SETTINGS]);
const repeated = (bytes: Buffer, count: number): Buffer => Buffer.concat(Array.from({ length: count }, () => bytes));

/** What a client does with its connection. It ends when the server ends it. */
type BadClient = (socket: net.Socket) => Promise<unknown>;

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Sends parts one after another for as long as they are taken. */
async function drip(socket: net.Socket, parts: () => string | Buffer, everyMs: number): Promise<void> {
  while (!socket.destroyed && socket.writable) {
    socket.write(parts());
    await pause(everyMs);
  }
}

/** Those who take their time. */
const SLOW: Readonly<Record<string, BadClient>> = {
  "headers byte by byte": (socket) => drip(socket, () => "x", 100),
  "a head without an end": async (socket) => {
    socket.write("GET / HTTP/1.1\r\nHost: localhost\r\n");
    await drip(socket, () => "a: b\r\n", 100);
  },
  "a body byte by byte": async (socket) => {
    socket.write(`POST ${PATH} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\n`);
    await drip(socket, () => "x", 100);
  },
  "a body that never comes": async (socket) => {
    socket.write(`POST ${PATH} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{`);
  },
  "an end in the middle of a body": async (socket) => {
    socket.end(`POST ${PATH} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{"fields"`);
  },
  "a disconnection in the middle of a body": async (socket) => {
    socket.write(`POST ${PATH} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{"fields"`);
    await pause(20);
    socket.resetAndDestroy();
  },
  "nothing at all": async () => undefined,
  "half of a connection": async (socket) => {
    socket.end();
  },
  "HTTP/2: nothing after the first frame": async (socket) => {
    socket.write(http2Opening);
  },
};

/** Those who send much and read nothing. */
const DEAF: Readonly<Record<string, BadClient>> = {
  "requests in one packet, of which no answer is read": async (socket) => {
    socket.pause();
    const one = "GET /state/v1/metrics HTTP/1.1\r\nHost: localhost\r\n\r\n";
    // As long as they are taken; then it waits to be sent away, which who does not read does not hear of.
    for (let turn = 0; turn < 20; turn += 1) {
      socket.write(one.repeat(100));
      await pause(20);
    }
    socket.resume();
  },
};

/** Those who send too much, or what is none. */
const FLOODS: Readonly<Record<string, BadClient>> = {
  "headers of 100 KiB and more": async (socket) => {
    socket.write(`GET / HTTP/1.1\r\nHost: localhost\r\nx: ${"y".repeat(300_000)}\r\n\r\n`);
  },
  "HTTP/2: streams that are reset at once": async (socket) => {
    socket.write(http2Opening);
    for (let stream = 1; stream < 2_000; stream += 2)
      socket.write(
        Buffer.concat([frame(1, 0x4 | 0x1, stream, GET_HEADERS), frame(3, 0, stream, Buffer.from([0, 0, 0, 8]))]),
      );
  },
  "HTTP/2: a head that goes on and on": async (socket) => {
    socket.write(Buffer.concat([http2Opening, frame(1, 0, 1, GET_HEADERS)]));
    const more = frame(9, 0, 1, Buffer.from([0x00, 0x01, 0x61, 0x01, 0x62]));
    await drip(socket, () => repeated(more, 50), 5);
  },
  "HTTP/2: pings": async (socket) => {
    socket.write(http2Opening);
    await drip(socket, () => repeated(frame(6, 0, 0, Buffer.alloc(8)), 20), 5);
  },
  "HTTP/2: settings": async (socket) => {
    socket.write(http2Opening);
    await drip(socket, () => repeated(SETTINGS, 20), 5);
  },
  "bytes of something else": async (socket) => {
    socket.write(Buffer.from(Array.from({ length: 2_000 }, (_, at) => (at * 7_919) % 256)));
  },
};

async function start(options: Partial<ServerOptions> = {}): Promise<RunningServer> {
  const server = await startServer(fakeCluster(), { port: 0, connectionLimits: LIMITS, ...options });
  onTestFinished(() => server.close(0));
  return server;
}

/**
 * Lets clients do as they do; settles when the last of them was sent away, which on a busy machine takes as long as what they send: the limit
 * is that of the test. With `waitMs` it is how many were not until then.
 */
async function attacked(
  port: number,
  bad: BadClient,
  count: number,
  waitMs = Number.POSITIVE_INFINITY,
): Promise<number> {
  const sockets = Array.from({ length: count }, () =>
    net.connect({ port, host: "127.0.0.1", noDelay: true, allowHalfOpen: true }),
  );
  onTestFinished(() => sockets.forEach((socket) => void socket.destroy()));
  const closed = sockets.map(async (socket) => {
    socket.on("error", () => undefined);
    // Who sends more than is taken is not served by waiting for it.
    socket.on("end", () => socket.destroy());
    socket.resume();
    const ended = new Promise((resolve) => socket.once("close", resolve));
    await once(socket, "connect");
    void bad(socket);
    await ended;
  });
  let left = count;
  for (const one of closed) void one.then(() => (left -= 1));
  const endMs = performance.now() + waitMs;
  while (left > 0 && performance.now() < endMs) await pause(25);
  return left;
}

/** Stores a document, on a connection of its own. */
function put(port: number): Promise<number> {
  return new Promise((resolve) => {
    const request = http.request({ host: "127.0.0.1", port, path: PATH, method: "POST", agent: false }, (incoming) => {
      incoming.resume().once("end", () => resolve(incoming.statusCode ?? 0));
    });
    request.once("error", () => resolve(0));
    request.end("{}");
  });
}

/** Asks again and again as one should. How often that failed, and how often it was done. */
function honest(port: number): () => Promise<{ failed: number; done: number }> {
  let isOver = false;
  const result = { failed: 0, done: 0 };
  const asking = (async () => {
    while (!isOver) {
      result[(await put(port)) === 200 ? "done" : "failed"] += 1;
      await pause(5);
    }
  })();
  return async () => {
    isOver = true;
    await asking;
    return result;
  };
}

const KINDS = [
  ...Object.entries(SLOW).map(([kind, bad]) => ({ kind, bad, connectionLimits: LIMITS })),
  ...Object.entries(DEAF).map(([kind, bad]) => ({ kind, bad, connectionLimits: UNREAD })),
  ...Object.entries(FLOODS).map(([kind, bad]) => ({ kind, bad, connectionLimits: MANY })),
];

test.each(KINDS)(`${CLIENTS} clients: $kind`, async ({ bad, connectionLimits }) => {
  const { port } = await start({ connectionLimits });
  const ask = honest(port);
  expect(await attacked(port, bad, CLIENTS)).toBe(0);
  const { failed, done } = await ask();
  expect(failed).toBe(0);
  expect(done).toBeGreaterThan(0);
});

test("the server lets go of those who do not close their half when they are sent away", async () => {
  const sockets: net.Socket[] = [];
  const note = (message: unknown): void => void sockets.push((message as { readonly socket: net.Socket }).socket);
  subscribe("net.server.socket", note);
  onTestFinished(() => void unsubscribe("net.server.socket", note));
  const { port } = await start();
  const kinds: Readonly<Record<string, BadClient>> = {
    ...SLOW,
    "a part of a request line": (socket) => drip(socket, () => "G", 100),
    "an expectation that is not met": async (socket) => {
      socket.write(`POST ${PATH} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\nExpect: a miracle\r\n\r\n`);
      await drip(socket, () => "x", 100);
    },
    "what is no request, after one that asks for another protocol": async (socket) => {
      socket.write("GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
      await drip(socket, () => "x", 100);
    },
  };
  for (const bad of Object.values(kinds)) {
    const socket = net.connect({ port, host: "127.0.0.1", allowHalfOpen: true });
    onTestFinished(() => void socket.destroy());
    socket.on("error", () => undefined).resume();
    await once(socket, "connect");
    void bad(socket);
  }
  await expect.poll(() => sockets.length).toBe(Object.keys(kinds).length);
  const held = (): readonly string[] => Object.keys(kinds).filter((_, at) => sockets[at]?.destroyed === false);
  await expect.poll(held, { timeout: 10_000 }).toEqual([]);
});

test("a connection ends with the last request that it may carry, whatever else comes (L-idle)", async () => {
  const { port } = await start({ connectionLimits: { ...LIMITS, requestsOfConnection: 3 } });
  const socket = net.connect({ port, host: "127.0.0.1" }).on("error", () => undefined);
  onTestFinished(() => void socket.destroy());
  let said = "";
  socket.setEncoding("latin1").on("data", (text: string) => (said += text));
  const ended = once(socket, "close");
  void drip(socket, () => "GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n", 50);
  await Promise.race([ended, pause(3_000)]);
  const answers = said.split("HTTP/1.1 ").slice(1);
  expect(answers.map((one) => `${one.slice(0, 3)} ${/^connection: (\S+)/im.exec(one)?.[1]}`)).toEqual([
    "200 keep-alive",
    "200 keep-alive",
    "200 close",
  ]);
});

test("sabotage: without limits of time those who stall stay", async () => {
  const never = 1_000_000;
  const endless = {
    ...LIMITS,
    headersTimeoutMs: never,
    requestTimeoutMs: never,
    streamTimeoutMs: never,
    idleTimeoutMs: never,
  };
  const { port } = await start({ connectionLimits: endless });
  for (const kind of [
    "a head without an end",
    "a body that never comes",
    "nothing at all",
    "HTTP/2: nothing after the first frame",
  ]) {
    const bad = SLOW[kind];
    if (bad === undefined) throw new Error(kind);
    expect(await attacked(port, bad, 3, 3_000), kind).toBe(3);
  }
});

test("sabotage: without a limit of pings who only sends those stays", async () => {
  const { port } = await start({ connectionLimits: { ...LIMITS, controlFrames: 1_000_000 } });
  const slowly: BadClient = async (socket) => {
    socket.write(http2Opening);
    await drip(socket, () => repeated(frame(6, 0, 0, Buffer.alloc(8)), 20), 50);
  };
  expect(await attacked(port, slowly, 3, 2_000)).toBe(3);
  const limited = await start();
  expect(await attacked(limited.port, slowly, 3)).toBe(0);
});
