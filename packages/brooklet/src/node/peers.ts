/**
 * How gateways over one object store reach each other on Node: HTTP between them, on an address of its own. What is sent and replied is
 * sealed with the secret of the store, which only they know; a call that is not is answered 403, and neither is looked at. The seal of a
 * call holds for one address, that of a reply for one call. Gateways of releases that seal otherwise refuse each other so, and take
 * buckets over, as those do that cannot reach each other. It is no interface of ours for others.
 */
import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
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

/** A call that is larger is not read, nor sent: who was asked for it does it. */
export const CALL_BYTES_MAX: number = 64 << 20;
const SEAL = "x-brooklet-seal";
/** What no call before had, so that no reply to one before is taken for this one's. */
const NONCE = "x-brooklet-nonce";
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
    const seal = String(incoming.headers[SEAL]);
    const call = `call ${this.#url.origin} ${incoming.headers[NONCE]}`;
    if (bytes === undefined || begun === undefined || !isSealed(begun.secret, call, bytes, seal)) {
      response.writeHead(bytes === undefined ? TOO_LARGE : FORBIDDEN, { connection: "close" }).end();
      return;
    }
    try {
      const reply = serialize(await begun.answer(deserialize(bytes) as PeerCall));
      response.setHeader(SEAL, sealOf(begun.secret, `reply ${seal}`, reply)).end(reply);
    } catch {
      // It may have been done, or not.
      response.writeHead(FAILED).end();
    }
  }

  #call(address: string, call: PeerCall): Promise<PeerReply | undefined> {
    const begun = this.#begun;
    if (begun === undefined) return Promise.resolve(undefined);
    const bytes = serialize(call);
    if (bytes.length > CALL_BYTES_MAX) return Promise.resolve(undefined);
    const nonce = randomBytes(16).toString("hex");
    const seal = sealOf(begun.secret, `call ${address} ${nonce}`, bytes);
    const headers = { [SEAL]: seal, [NONCE]: nonce, "content-length": bytes.length };
    return new Promise((resolve, reject) => {
      const timeout = call.timeoutMs + ANSWER_MS;
      const sent = sendRequest(address, { method: "POST", agent: this.#agent, headers, timeout }, (incoming) => {
        replyOf(incoming, begun.secret, seal).then(resolve, reject);
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

/** The reply to the call with a seal; nothing if that was refused. */
async function replyOf(incoming: IncomingMessage, secret: Uint8Array, call: string): Promise<PeerReply | undefined> {
  const body = await bodyOf(incoming);
  if (incoming.statusCode === FORBIDDEN || incoming.statusCode === TOO_LARGE) return undefined;
  if (incoming.statusCode !== 200 || body === undefined) throw new Error(`a server answered ${incoming.statusCode}`);
  if (!isSealed(secret, `reply ${call}`, body, String(incoming.headers[SEAL])))
    throw new Error("what answered is none of this store's gateways");
  return deserialize(body) as PeerReply;
}

/** What holds for these bytes as what they are said to be, and for nothing else. */
function sealOf(secret: Uint8Array, said: string, bytes: Uint8Array): string {
  return createHmac("sha256", secret).update(`peer ${said}\n`).update(bytes).digest("hex");
}

function isSealed(secret: Uint8Array, said: string, bytes: Uint8Array, seal: string): boolean {
  const expected = Buffer.from(sealOf(secret, said, bytes));
  const given = Buffer.from(seal);
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
