/** Requests to an S3 service by Node's own client: signed as others sign them, and answered whole or not at all. */
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { testObjectStore } from "@brooklet/object-store/contract";
import { AwsClient } from "aws4fetch";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { REQUIRED, startS3, versitygw } from "../../object-store/test/servers.ts";
import { nodeTransport, Signer, s3 } from "../src/node/s3.ts";
import type { S3Credentials } from "../src/object-store.ts";

const ACCESS = { accessKeyId: "key", secretAccessKey: "secret/+=", region: "eu-central-1" };

/** A service that answers as a test has it, and where it is. */
async function serving(listener: RequestListener): Promise<{ readonly origin: string; readonly server: Server }> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, server };
}

describe("a signature", () => {
  test("is the one that another library makes, whatever is asked", async () => {
    const names = [
      "a",
      "bucket/3/log/000000000124",
      "x y/z",
      "ü€🐟",
      "a+b",
      "(a)*!'",
      "%2F",
      "snapshot/2026-11-26T03-00-00.000Z-0a",
    ];
    const all = [{}, { "if-none-match": "*" }, { "if-match": '"abc"  d' }, { range: "bytes=0-9" }];
    for (const sessionToken of [undefined, "token=="]) {
      const { region, ...keys } = ACCESS;
      const access = { ...keys, ...(sessionToken !== undefined && { sessionToken }) };
      const other = new AwsClient({ ...access, region, service: "s3", retries: 0 });
      const signer = new Signer(region);
      for (const [day, name] of names.entries())
        for (const method of ["GET", "PUT", "DELETE"] as const)
          for (const headers of all)
            for (const isListing of [false, true]) {
              const now = new Date(Date.UTC(2026, 0, 1 + day, 13, 14, 15));
              const encoded = encodeURIComponent(name).replace(
                /[!'()*]/g,
                (it) => `%${it.charCodeAt(0).toString(16).toUpperCase()}`,
              );
              const path = encoded.replaceAll("%2F", name === "%2F" ? "%2F" : "/");
              const target = isListing
                ? `/bucket/?list-type=2&prefix=${encoded}&start-after=${encoded}`
                : `/bucket/${path}`;
              const ours = signer.headersOf({ method, target, headers }, "localhost:9000", now, access);
              const datetime = ours["x-amz-date"] ?? "";
              const theirs = await other.sign(`http://localhost:9000${target}`, { method, headers, aws: { datetime } });
              expect(ours["authorization"], `${method} ${target}`).toBe(theirs.headers.get("authorization"));
            }
    }
  });
});

describe("an answer", () => {
  test("is given whole, with its status and its ETag; the connection is kept", async () => {
    const large = Uint8Array.from({ length: 3 << 20 }, (_, index) => (index * 31) & 0xff);
    const ports = new Set<number | undefined>();
    const { origin } = await serving((request, response) => {
      ports.add(request.socket.remotePort);
      request.resume();
      request.on("end", () => {
        response.writeHead(request.method === "PUT" ? 412 : 200, { etag: '"tag"' });
        response.end(request.method === "PUT" ? "" : large);
      });
    });
    const transport = nodeTransport(ACCESS);
    const request = { method: "GET", origin, target: "/a", headers: {} } as const;
    const { status, tag, bytes } = await transport.send(request);
    expect([status, tag, Buffer.compare(bytes, large)]).toEqual([200, '"tag"', 0]);
    const body = new Uint8Array(1 << 20);
    expect((await transport.send({ ...request, method: "PUT", body })).status).toBe(412);
    expect(ports.size).toBe(1);
    await transport.close?.();
  });

  test("that ends before its end is none", async () => {
    const { origin } = await serving((_, response) => {
      response.writeHead(200, { "content-length": "100" });
      response.write("only this");
      setImmediate(() => response.socket?.destroy());
    });
    const transport = nodeTransport(ACCESS);
    await expect(transport.send({ method: "GET", origin, target: "/a", headers: {} })).rejects.toThrow(
      /aborted|before the end/,
    );
  });

  test("that does not come, or does not end, is waited for as long as it is said", async () => {
    const { origin } = await serving(({ url }, response) => {
      if (url === "/half") response.write("half");
    });
    const transport = nodeTransport({ ...ACCESS, timeoutMs: 50 });
    for (const target of ["/none", "/half"])
      await expect(transport.send({ method: "GET", origin, target, headers: {} })).rejects.toThrow();
  });

  test("comes where the other side ended a connection that was kept", async () => {
    let asked = 0;
    const { origin } = await serving((request, response) => {
      asked += 1;
      // The second request on a connection finds it reset.
      if (asked === 2) request.socket.resetAndDestroy();
      else response.end("answer");
    });
    const transport = nodeTransport(ACCESS);
    const request = { method: "GET", origin, target: "/a", headers: {} } as const;
    for (let time = 0; time < 3; time += 1)
      expect(Buffer.from((await transport.send(request)).bytes).toString()).toBe("answer");
    expect(asked).toBe(4);
    await transport.close?.();
  });

  test("to a write on a condition is nobody's where the other side ended the connection: it may have been done", async () => {
    let asked = 0;
    const { origin } = await serving((request, response) => {
      asked += 1;
      request.resume();
      if (asked === 2) request.socket.resetAndDestroy();
      else response.end();
    });
    const transport = nodeTransport(ACCESS);
    const write = {
      method: "PUT",
      origin,
      target: "/a",
      headers: { "if-none-match": "*" },
      body: Buffer.from("one"),
    } as const;
    await transport.send(write);
    await expect(transport.send(write)).rejects.toThrow();
    expect(asked).toBe(2);
    await transport.close?.();
  });

  test("is an error where nobody listens", async () => {
    const { origin, server } = await serving(() => undefined);
    await new Promise((resolve) => server.close(resolve));
    await expect(nodeTransport(ACCESS).send({ method: "GET", origin, target: "/", headers: {} })).rejects.toMatchObject(
      {
        code: "ECONNREFUSED",
      },
    );
  });
});

describe.skipIf(!REQUIRED && versitygw() === undefined)("a store by Node's own client", () => {
  let service: Awaited<ReturnType<typeof startS3>>;
  beforeAll(async () => {
    service = await startS3();
  });
  afterAll(() => service?.stop());
  for (const [name, check] of testObjectStore(async () => s3({ ...service.options, prefix: "by-node" })))
    test(name, check);

  test.each([
    ["Node's own client", {}],
    ["fetch", { fetch }],
  ])("asks who signs with each request, by %s", async (_, more) => {
    const { accessKeyId, secretAccessKey, bucket, endpoint = "" } = service.options;
    const right = { accessKeyId, secretAccessKey };
    let given: readonly S3Credentials[] = [right, { ...right, secretAccessKey: "ended" }, right, right];
    const credentials = async () => {
      const [first = right, ...others] = given;
      given = others;
      return first;
    };
    const store = s3({ bucket, endpoint, credentials, ...more });
    expect(await store.log.read("bucket/none", 0)).toBeUndefined();
    await expect(store.log.read("bucket/none", 0)).rejects.toMatchObject({ status: 403 });
    expect(await store.log.read("bucket/none", 0)).toBeUndefined();
    expect(given).toHaveLength(1);
    await store.close?.();
  });

  test("whose credentials are wrong is told what the service says", async () => {
    const store = s3({ ...service.options, secretAccessKey: "another" });
    await expect(store.log.read("bucket/0", 0)).rejects.toMatchObject({ name: "S3Error", status: 403 });
    await store.close?.();
  });
});
