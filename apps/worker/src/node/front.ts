/**
 * What the platform has before a Worker: HTTP/2, which the usual feed clients speak alone, as well as HTTP/1.1. The runtime on this
 * machine has only the latter. A connection is told apart by its first bytes; requests are passed on as they are.
 */
import http from "node:http";
import http2 from "node:http2";
import net from "node:net";
import { pipeline } from "node:stream";

const HOST = "127.0.0.1";
/** How HTTP/2 begins; no method of HTTP/1.1 does. */
const PREFACE = "PRI";
/**
 * How long a connection to the runtime waits to be used again. The runtime closes one that has waited for five seconds, and what is
 * sent over it in that moment is lost: it is closed from here long before.
 */
export const IDLE_MS = 1_000;
/** How long a client's connection waits: longer than clients keep theirs, for the same reason. */
const CLIENT_IDLE_MS = 75_000;
/** Told where the runtime did not answer. Feed clients ask again after a 503; a 502 ends an operation of theirs. */
const UNANSWERED = {
  status: 503,
  headers: { "content-type": "application/json", "retry-after": "1" },
  body: JSON.stringify({
    message: "The runtime ended the connection before it answered; ask again",
    outcome: "unknown",
    code: "UNAVAILABLE",
  }),
};
/** Headers that are about a connection, which is another one behind this. */
const OF_CONNECTION: ReadonlySet<string> = new Set([
  "connection",
  "host",
  "http2-settings",
  "keep-alive",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

/** A port before a Worker. */
export interface Front {
  readonly url: string;
  close(): Promise<void>;
}

/** Listens on a port of this machine, any that is free if it is 0. Rejects where it is taken. */
export async function startFront(target: string, port: number): Promise<Front> {
  const agent = new http.Agent({ keepAlive: true, timeout: IDLE_MS });
  const pass = (request: Asked, response: Answering): void => passOn(request, response, target, agent);
  const http1 = http.createServer({ keepAliveTimeout: CLIENT_IDLE_MS }, pass);
  const plain2 = http2.createServer(pass);
  const sockets = new Set<net.Socket>();
  const listener = net.createServer((socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
    socket.on("error", () => socket.destroy());
    socket.once("readable", () => {
      const first = socket.read() as Buffer | null;
      if (first === null) return;
      socket.unshift(first);
      const server = first.subarray(0, PREFACE.length).toString("latin1") === PREFACE ? plain2 : http1;
      server.emit("connection", socket);
    });
  });
  await new Promise<void>((listening, taken) => {
    listener.once("error", taken);
    listener.listen(port, HOST, listening);
  });
  return {
    url: `http://${HOST}:${(listener.address() as net.AddressInfo).port}`,
    close: async () => {
      const closed = new Promise((ended) => listener.close(ended));
      for (const socket of sockets) socket.destroy();
      agent.destroy();
      await closed;
    },
  };
}

type Asked = http.IncomingMessage | http2.Http2ServerRequest;
type Answering = http.ServerResponse | http2.Http2ServerResponse;

function passOn(request: Asked, response: Answering, target: string, agent: http.Agent): void {
  const { hostname, port, host } = new URL(target);
  const asked = http.request({
    agent,
    hostname,
    port,
    method: request.method ?? "GET",
    path: request.url ?? "/",
    headers: { ...headersThrough(request.headers), host },
  });
  asked.once("error", () => {
    if (response.headersSent) response.destroy();
    else response.writeHead(UNANSWERED.status, UNANSWERED.headers).end(UNANSWERED.body);
  });
  asked.once("response", (answer) => {
    response.writeHead(answer.statusCode ?? 502, headersThrough(answer.headers));
    pipeline(answer, response as http.ServerResponse, () => undefined);
  });
  response.once("close", () => asked.destroy());
  pipeline(request, asked, () => undefined);
}

/** The headers that are about what is asked or answered. */
function headersThrough(headers: http.IncomingHttpHeaders): http.OutgoingHttpHeaders {
  return Object.fromEntries(
    Object.entries(headers).filter(([name]) => !name.startsWith(":") && !OF_CONNECTION.has(name)),
  );
}
