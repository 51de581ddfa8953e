/** What gateways over one object store tell each other, where who listens at an address is another by now. */
import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, ServerResponse, request as sendRequest } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { serialize } from "node:v8";
import type { PeerCall, PeerReply } from "@brooklet/object-store";
import { expect, onTestFinished, test, vi } from "vitest";
import { freePort } from "../../../tools/free-port.mjs";
import { CALL_BYTES_MAX, listenToPeers, type PeerListener } from "../src/node/peers.ts";

const SECRET = new Uint8Array(32).fill(7);
const CALL: PeerCall = {
  kind: "load",
  key: "g:alice",
  load: { operations: new Uint8Array([1]) } as never,
  timeoutMs: 1_000,
};
const DONE: PeerReply = [{ operation: 0, outcome: { status: 200 } }] as never;

interface Message {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/** Anything that answers at an address, any unless it is said. */
async function stranger(
  answer: (asked: Omit<Message, "status">) => Promise<Message>,
  at = "http://127.0.0.1:0",
): Promise<string> {
  const server = createServer((incoming, response) => {
    void buffer(incoming)
      .then((body) => answer({ headers: incoming.headers, body }))
      .then(({ status, headers, body }) => {
        const seal = headers["x-brooklet-seal"];
        response.writeHead(status, seal === undefined ? {} : { "x-brooklet-seal": seal }).end(body);
      });
  }).listen(Number(new URL(at).port), "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** An address that nobody listens at. */
const freeAddress = async (): Promise<string> => `http://127.0.0.1:${await freePort()}`;

/** A gateway that does what it is asked and notes it. */
async function gateway(secret = SECRET): Promise<PeerListener & { readonly asked: PeerCall[] }> {
  const asked: PeerCall[] = [];
  const listener = await listenToPeers(await freeAddress());
  listener.begin(secret, async (call) => {
    asked.push(call);
    return DONE;
  });
  onTestFinished(() => listener.close().catch(() => undefined));
  return { ...listener, close: () => listener.close(), asked };
}

/** Sends what was sent elsewhere. */
function passOn(address: string, { headers, body }: Omit<Message, "status">): Promise<Message> {
  return new Promise((resolve, reject) => {
    const sent = sendRequest(address, { method: "POST", headers }, (incoming) => {
      buffer(incoming).then(
        (told) => resolve({ status: incoming.statusCode ?? 0, headers: incoming.headers, body: told }),
        reject,
      );
    });
    sent.once("error", reject);
    sent.end(body);
  });
}

test("a call reaches another gateway, and its reply comes back", async () => {
  const [one, other] = [await gateway(), await gateway()];
  expect(await one.port.call(other.port.address, CALL)).toEqual(DONE);
  expect(other.asked).toEqual([CALL]);
});

test("an address where nobody listens, or gateways of another store, did nothing", async () => {
  const [one, foreign] = [await gateway(), await gateway(new Uint8Array(32))];
  expect(await one.port.call(await freeAddress(), CALL)).toBeUndefined();
  expect(await one.port.call(foreign.port.address, CALL)).toBeUndefined();
  expect(foreign.asked).toEqual([]);
});

test.each([
  ["is larger than others read", CALL_BYTES_MAX, 200],
  ["is too large for the other", 1, 413],
])("a call that %s did nothing", async (_, length, status) => {
  const one = await gateway();
  const address = await stranger(async () => ({ status, headers: {}, body: Buffer.from("") }));
  const call = { ...CALL, load: { operations: new Uint8Array(length) } as never };
  expect(await one.port.call(address, call)).toBeUndefined();
});

test.each([
  ["what nobody of ours writes", Buffer.from("<html>welcome</html>")],
  ["a reply that is well made", serialize(DONE)],
])("a server that is none of ours acknowledges nothing: %s", async (_, body) => {
  const one = await gateway();
  const address = await stranger(async () => ({ status: 200, headers: {}, body }));
  await expect(one.port.call(address, CALL)).rejects.toThrow("none of this store's gateways");
});

test("a reply counts for the call that it answers, and not for one that is the same", async () => {
  const [one, other, third] = [await gateway(), await gateway(), await gateway()];
  const { address } = other.port;
  const ended = vi.spyOn(ServerResponse.prototype, "end");
  expect(await one.port.call(address, CALL)).toEqual(DONE);
  const seal = (ended.mock.contexts[0] as ServerResponse).getHeader("x-brooklet-seal");
  const body = ended.mock.calls[0]?.[0] as unknown as Buffer;
  ended.mockRestore();
  await other.close();
  await stranger(async () => ({ status: 200, headers: { "x-brooklet-seal": String(seal) }, body }), address);
  await expect(third.port.call(address, CALL)).rejects.toThrow("none of this store's gateways");
});

test("a call to one gateway is taken by no other", async () => {
  const [one, other] = [await gateway(), await gateway()];
  const address = await stranger((asked) => passOn(other.port.address, asked));
  expect(await one.port.call(address, CALL)).toBeUndefined();
  expect(other.asked).toEqual([]);
});
