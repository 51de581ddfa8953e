/**
 * How gateways over one object store reach each other on Node: HTTP between them, on an address of its own. What is sent is sealed with
 * the secret of the store, which only they know; anything else is answered 403 and not looked at. It is no interface of ours for others.
 */
import { createHmac, timingSafeEqual } from "node:crypto";
import {
  Agent,
  createServer,
  type IncomingMessage,
  type Server,
  type ServerResponse,
  request as sendRequest,
} from "node:http";
import { deserialize, serialize } from "node:v8";
import type { PeerCall, PeerPort, PeerReply } from "@brooklet/object-store";

/** A call that is larger is not read. */
const CALL_BYTES_MAX = 64 << 20;
const SEAL = "x-brooklet-seal";
const FORBIDDEN = 403;
const TOO_LARGE = 413;
const FAILED = 500;
/** The request was not sent, or nobody was there to take it. */
const NOBODY = new Set(["ECONNREFUSED", "ENOTFOUND", "EHOSTUNREACH", "ENETUNREACH", "EADDRNOTAVAIL"]);

/** A listener for other gateways. */
export interface PeerListener {
  readonly port: PeerPort;
  /** From here on calls are answered, and sealed with this. */
  begin(secret: Uint8Array, answer: (call: PeerCall) => Promise<PeerReply>): void;
  close(): Promise<void>;
}

/** Listens at the host and port of an address (`http://10.0.0.5:7070`), which is where others reach it. */
export async function listenToPeers(address: string): Promise<PeerListener> {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (url?.protocol !== "http:" || url.port === "" || url.pathname !== "/")
    throw new TypeError(`other servers reach this one at an address as http://10.0.0.5:7070, not '${address}'`);
  const listener = new HttpPeers(url);
  await listener.listen();
  return listener;
}

class HttpPeers implements PeerListener {
  readonly port: PeerPort;
  readonly #url: URL;
  readonly #server: Server;
  readonly #agent: Agent = new Agent({ keepAlive: true });
  #begun: { readonly secret: Uint8Array; readonly answer: (call: PeerCall) => Promise<PeerReply> } | undefined;

  constructor(url: URL) {
    this.#url = url;
    this.port = { address: url.origin, call: (address, call) => this.#call(address, call) };
    this.#server = createServer((incoming, response) => {
      this.#serve(incoming, response).catch(() => response.destroy());
    });
  }

  listen(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#server.once("error", reject);
      this.#server.listen(Number(this.#url.port), this.#url.hostname, () => {
        this.#server.unref();
        resolve();
      });
    });
  }

  begin(secret: Uint8Array, answer: (call: PeerCall) => Promise<PeerReply>): void {
    this.#begun = { secret, answer };
  }

  async close(): Promise<void> {
    this.#agent.destroy();
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #serve(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const bytes = await bodyOf(incoming);
    const begun = this.#begun;
    if (bytes === undefined || begun === undefined || !isSealed(begun.secret, bytes, incoming.headers[SEAL])) {
      response.writeHead(bytes === undefined ? TOO_LARGE : FORBIDDEN, { connection: "close" }).end();
      return;
    }
    try {
      const reply = await begun.answer(deserialize(bytes) as PeerCall);
      response.end(serialize(reply));
    } catch {
      // It may have been done, or not.
      response.writeHead(FAILED).end();
    }
  }

  #call(address: string, call: PeerCall): Promise<PeerReply | undefined> {
    const begun = this.#begun;
    if (begun === undefined) return Promise.resolve(undefined);
    const bytes = serialize(call);
    const headers = { [SEAL]: sealOf(begun.secret, bytes), "content-length": bytes.length };
    return new Promise((resolve, reject) => {
      const timeout = call.timeoutMs + ANSWER_MS;
      const sent = sendRequest(address, { method: "POST", agent: this.#agent, headers, timeout }, (incoming) => {
        bodyOf(incoming).then((body) => {
          if (incoming.statusCode === FORBIDDEN) resolve(undefined);
          else if (incoming.statusCode !== 200 || body === undefined)
            reject(new Error(`a server answered ${incoming.statusCode}`));
          else resolve(deserialize(body) as PeerReply);
        }, reject);
      });
      sent.once("timeout", () => sent.destroy(new Error("a server did not answer")));
      sent.once("error", (error: NodeJS.ErrnoException) =>
        NOBODY.has(error.code ?? "") ? resolve(undefined) : reject(error),
      );
      sent.end(bytes);
    });
  }
}
/** Beyond the time of the operation itself. */
const ANSWER_MS = 1_000;

function sealOf(secret: Uint8Array, bytes: Uint8Array): string {
  return createHmac("sha256", secret).update("peer").update(bytes).digest("hex");
}

function isSealed(secret: Uint8Array, bytes: Uint8Array, seal: unknown): boolean {
  const expected = Buffer.from(sealOf(secret, bytes));
  const given = Buffer.from(String(seal));
  return given.length === expected.length && timingSafeEqual(given, expected);
}

/** Nothing: it is too large. */
async function bodyOf(incoming: IncomingMessage): Promise<Buffer | undefined> {
  const parts: Buffer[] = [];
  let length = 0;
  for await (const part of incoming as AsyncIterable<Buffer>) {
    length += part.length;
    if (length > CALL_BYTES_MAX) return undefined;
    parts.push(part);
  }
  return Buffer.concat(parts);
}
