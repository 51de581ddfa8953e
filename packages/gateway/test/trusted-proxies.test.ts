import { once } from "node:events";
import http2 from "node:http2";
import net from "node:net";
import { expect, onTestFinished, test } from "vitest";
import type { AuditEvent } from "../src/index.ts";
import { type ServerOptions, StartError, startServer } from "../src/node/index.ts";
import { TrustedProxies } from "../src/node/trusted-proxies.ts";
import { fakeCluster } from "./fake-cluster.ts";

const KEY = "Zk3Q0m7Jw1xUe8bVt5Yc2rNf6aHsLpDg9oKiTqXuEyA";

test.each([
  [["10.0.0.0/8"], "10.1.2.3", "203.0.113.9", "203.0.113.9"],
  [["10.0.0.0/8"], "10.1.2.3", "198.51.100.1, 203.0.113.9, 10.9.9.9", "203.0.113.9"],
  [["10.0.0.0/8"], "10.1.2.3", "10.9.9.8, 10.9.9.9", "10.9.9.8"],
  [["10.0.0.0/8"], "203.0.113.7", "198.51.100.1", "203.0.113.7"],
  [[], "10.1.2.3", "198.51.100.1", "10.1.2.3"],
  [["10.0.0.0/8"], "10.1.2.3", undefined, "10.1.2.3"],
  [["10.0.0.0/8"], "10.1.2.3", "nonsense", "10.1.2.3"],
  [["10.0.0.0/8"], "10.1.2.3", "203.0.113.9, unknown, 10.9.9.9", "10.9.9.9"],
  [["10.0.0.0/8"], "10.1.2.3", "203.0.113.9:4711", "203.0.113.9"],
  [["10.0.0.0/8"], "::ffff:10.1.2.3", "2001:db8::7", "2001:db8::7"],
  [["fd00::/8"], "fd00::1", "[2001:db8::7]:4711", "2001:db8::7"],
  [["127.0.0.1"], "127.0.0.1", "::ffff:192.0.2.4", "192.0.2.4"],
])("proxies %j, connected by %s, forwarded for %s: %s", (networks, remote, forwarded, address) => {
  const proxies = new TrustedProxies(networks);
  expect(proxies.addressOf(remote, (name) => (name === "x-forwarded-for" ? forwarded : undefined))).toBe(address);
});

test.each(["10.0.0.0/33", "10.0.0.0/", "fd00::/129", "example.com", "10.0.0.0/8/8", "", "10.0.0.0/-1"])(
  "'%s' is no network, and a server does not start with it",
  async (network) => {
    expect(() => new TrustedProxies([network])).toThrow(StartError);
    await expect(startServer(fakeCluster(), { port: 0, trustedProxies: [network] })).rejects.toThrow(StartError);
  },
);

/** A server that notes from which addresses it was asked with a wrong key. */
async function noting(options: Partial<ServerOptions>): Promise<{ port: number; addresses: () => unknown[] }> {
  const events: AuditEvent[] = [];
  const audit = (event: AuditEvent): void => void events.push(event);
  const server = await startServer(fakeCluster(), { port: 0, adminKeys: [KEY], audit, ...options });
  onTestFinished(() => server.close(100));
  return { port: server.port, addresses: () => events.map(({ address }) => address) };
}

test("who is wrong behind a proxy waits alone, and is told apart in the audit log, by either protocol", async () => {
  const { port, addresses } = await noting({ trustedProxies: ["127.0.0.0/8"] });
  const wrong = async (from: string): Promise<number> => {
    const headers = { authorization: "Bearer wrong", "x-forwarded-for": `1.2.3.4, ${from}` };
    return (await fetch(`http://127.0.0.1:${port}/`, { headers })).status;
  };
  for (let at = 0; at < 10; at += 1) expect(await wrong("203.0.113.9")).toBe(401);
  expect(await wrong("203.0.113.9")).toBe(429);
  expect(await wrong("203.0.113.10")).toBe(401);
  const session = http2.connect(`http://127.0.0.1:${port}`);
  onTestFinished(() => void session.destroy());
  const asked = { ":path": "/", ":authority": "localhost", authorization: "Bearer wrong" };
  const stream = session.request({ ...asked, "x-forwarded-for": "203.0.113.9" });
  const [headers] = (await once(stream, "response")) as [http2.IncomingHttpHeaders];
  expect(headers[":status"]).toBe(429);
  expect(new Set(addresses())).toEqual(new Set(["203.0.113.9", "203.0.113.10"]));
});

test("sabotage: where nobody said who the proxy is, nobody is believed", async () => {
  const { port, addresses } = await noting({});
  await fetch(`http://127.0.0.1:${port}/`, {
    headers: { authorization: "Bearer wrong", "x-forwarded-for": "203.0.113.9" },
  });
  expect(addresses()).toEqual(["127.0.0.1"]);
});

/** Whether each of so many connections is still open after it was answered. */
async function connections(port: number, wanted: number): Promise<number> {
  let open = 0;
  const sockets = Array.from({ length: wanted }, () => net.connect(port, "127.0.0.1"));
  onTestFinished(() => sockets.forEach((socket) => void socket.destroy()));
  await Promise.all(
    sockets.map(async (socket) => {
      socket.on("error", () => undefined);
      const ended = new Promise<boolean>((resolve) => socket.once("close", () => resolve(false)));
      socket.write("GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n");
      const answered = new Promise<boolean>((resolve) => socket.once("data", () => resolve(true)));
      if (await Promise.race([answered, ended])) open += 1;
    }),
  );
  return open;
}

test("an address has so many connections as the operator says, and a proxy as many as there are", async () => {
  const limits = { connectionLimits: { connectionsOfAddress: 5 } };
  expect(await connections((await noting(limits)).port, 12)).toBe(5);
  expect(await connections((await noting({ ...limits, trustedProxies: ["127.0.0.1"] })).port, 12)).toBe(12);
});
